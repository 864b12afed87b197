//! Writing capture files: `pcap_dump` and its kin. A `pcap_dumper_t` is the stream, as in libpcap.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_long, c_uchar};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::datalinks;
use crate::ffi::abi::{ERROR, PRECISION_NANO, pcap_pkthdr};
use crate::ffi::guard::{guard, guard_with};
use crate::ffi::stream::{self, standard_output};
use crate::ffi::text::{last_os_error, text};
use crate::handle::{State, pcap_t, reporting, state};

const HEADER_BYTES: usize = 24;
const MAGIC_MICRO: u32 = 0xa1b2_c3d4;
const MAGIC_NANO: u32 = 0xa1b2_3c4d;
/// The magic number of files with longer packet headers.
const MAGIC_PATCHED: u32 = 0xa1b2_cd34;
/// The magic number of files with other packet headers.
const MAGIC_NAVTEL: u32 = 0xa12b_3c4d;
const VERSION: [u16; 2] = [2, 4];

/// An output file.
pub type pcap_dumper_t = libc::FILE;

/// The header of a file, in the byte order of this machine.
struct Header {
    magic: u32,
    version: [u16; 2],
    snaplen: u32,
    link_type: u32,
}

impl Header {
    /// The header of a file with the packets of a handle.
    fn of(state: &State, name: &str) -> Result<Self, String> {
        let link_type = datalinks::to_file(state.datalink).ok_or_else(|| {
            let number = state.datalink;
            format!("{name}: link-layer type {number} isn't supported in savefiles")
        })?;
        Ok(Self {
            magic: match state.precision {
                PRECISION_NANO => MAGIC_NANO,
                _ => MAGIC_MICRO,
            },
            version: VERSION,
            snaplen: state.snaplen.cast_unsigned(),
            link_type: u32::from(link_type) | state.datalink_ext,
        })
    }

    fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.magic.to_ne_bytes());
        bytes[4..8].copy_from_slice(self.version.map(u16::to_ne_bytes).as_flattened());
        bytes[16..20].copy_from_slice(&self.snaplen.to_ne_bytes());
        bytes[20..].copy_from_slice(&self.link_type.to_ne_bytes());
        bytes
    }

    fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        let word = |at: usize| {
            let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            u32::from_ne_bytes(bytes)
        };
        Self {
            magic: word(0),
            version: [[bytes[4], bytes[5]], [bytes[6], bytes[7]]].map(u16::from_ne_bytes),
            snaplen: word(16),
            link_type: word(20),
        }
    }

    /// Whether packets for a file with this header can be appended to one with the header `there`.
    fn check(&self, there: &Self) -> Result<(), String> {
        let refused = match there.magic {
            MAGIC_MICRO | MAGIC_NANO if there.magic != self.magic => {
                "different time stamp precision, cannot append to file"
            }
            MAGIC_MICRO | MAGIC_NANO if there.version != VERSION => {
                let [major, minor] = there.version;
                return Err(format!("version is {major}.{minor}, cannot append to file"));
            }
            MAGIC_MICRO | MAGIC_NANO if there.link_type != self.link_type => {
                "different linktype, cannot append to file"
            }
            MAGIC_MICRO | MAGIC_NANO if there.snaplen != self.snaplen => {
                "different snaplen, cannot append to file"
            }
            MAGIC_MICRO | MAGIC_NANO => return Ok(()),
            magic => match magic.swap_bytes() {
                MAGIC_MICRO | MAGIC_NANO => "different byte order, cannot append to file",
                MAGIC_PATCHED | MAGIC_NAVTEL => "not a pcap file to which we can append",
                _ if matches!(magic, MAGIC_PATCHED | MAGIC_NAVTEL) => {
                    "not a pcap file to which we can append"
                }
                _ => "not a pcap file",
            },
        };
        Err(refused.to_owned())
    }
}

/// # Safety
/// `file` is an open stream.
unsafe fn put(file: *mut libc::FILE, bytes: &[u8]) -> bool {
    // SAFETY: as many bytes as there are, to an open stream.
    unsafe { stream::write(file, bytes.as_ptr(), bytes.len()) }
}

/// Writes the header. Closes the stream if that fails, as libpcap does.
///
/// # Safety
/// `file` is an open stream.
unsafe fn begin(
    file: *mut libc::FILE,
    header: &Header,
    name: &str,
) -> Result<*mut pcap_dumper_t, String> {
    // SAFETY: promised by the caller.
    if unsafe { put(file, &header.bytes()) } {
        return Ok(file);
    }
    let message = format!("Can't write to {name}: {}", last_os_error());
    if file != standard_output() {
        // SAFETY: promised by the caller, who gets an error in its place.
        unsafe { close(file) };
    }
    Err(message)
}

/// Opens a file for a handle; null, with the error in the handle, if that fails.
unsafe fn with(
    handle: *mut pcap_t,
    open: impl FnOnce(&State) -> Result<*mut pcap_dumper_t, String>,
) -> *mut pcap_dumper_t {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ptr::null_mut()) };
    guard_with(failed, || {
        // SAFETY: promised by the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ptr::null_mut();
        };
        open(state).unwrap_or_else(|message| {
            state.fail(ERROR, &message);
            ptr::null_mut()
        })
    })
}

/// Size of the buffer of a file, bytes. The C library's own is a page, which costs a write(2) for some thirty packets.
const BUFFER_BYTES: usize = 64 << 10;

/// The buffers of the streams that were opened here, by the address of the stream.
static BUFFERS: Mutex<Vec<(usize, Box<[u8]>)>> = Mutex::new(Vec::new());

/// Takes the buffer of a stream out of the list.
fn take_buffer(file: *mut libc::FILE) -> Option<Box<[u8]>> {
    let mut buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
    let place = buffers
        .iter()
        .position(|(stream, _)| *stream == file.addr())?;
    Some(buffers.swap_remove(place).1)
}

/// Gives a stream that was just opened a larger buffer, if it is a file on a disk or a device. Who reads a pipe wants packets soon.
fn enlarge_buffer(file: *mut libc::FILE) {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: an open stream.
    let descriptor = unsafe { libc::fileno(file) };
    // SAFETY: the kernel writes a `struct stat` there.
    if unsafe { libc::fstat(descriptor, status.as_mut_ptr()) } != 0 {
        return;
    }
    // SAFETY: the call succeeded.
    let mode = unsafe { status.assume_init() }.st_mode;
    if !matches!(mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFCHR) {
        return;
    }
    let mut buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
    let place = buffer.as_mut_ptr().cast();
    // SAFETY: nothing was read or written yet, and the buffer lives until the stream is closed.
    if unsafe { libc::setvbuf(file, place, libc::_IOFBF, BUFFER_BYTES) } == 0 {
        // A stream at the same address has been closed by the program itself.
        drop(take_buffer(file));
        let mut buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.push((file.addr(), buffer));
    }
}

/// Closes a stream and frees its buffer.
///
/// # Safety
/// `file` is an open stream that nobody uses any more.
unsafe fn close(file: *mut libc::FILE) {
    // Another stream may get the address as soon as this one is closed.
    let buffer = take_buffer(file);
    // SAFETY: promised by the caller.
    unsafe { libc::fclose(file) };
    drop(buffer);
}

/// Creates a file; `-` is standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump_open(
    handle: *mut pcap_t,
    path: *const c_char,
) -> *mut pcap_dumper_t {
    let open = |state: &State| {
        // SAFETY: a string of C.
        let path = unsafe { text(path) };
        let name = shown(path);
        if state.is_created() {
            return Err(format!(
                "{name}: not-yet-activated pcap_t passed to pcap_dump_open"
            ));
        }
        // SAFETY: the stream was just opened.
        unsafe { open_path(state, path, c"wb", begin) }
    };
    // SAFETY: a handle of the caller.
    unsafe { with(handle, open) }
}

fn shown(path: Option<&CStr>) -> Cow<'_, str> {
    path.map_or("(null)".into(), CStr::to_string_lossy)
}

/// Opens a file and begins to write to it; `-` is standard output, which begins a file in any case.
///
/// # Safety
/// `start` may be called with a stream opened in `mode`.
unsafe fn open_path(
    state: &State,
    path: Option<&CStr>,
    mode: &CStr,
    start: unsafe fn(*mut libc::FILE, &Header, &str) -> Result<*mut pcap_dumper_t, String>,
) -> Result<*mut pcap_dumper_t, String> {
    let name = shown(path);
    let header = Header::of(state, &name)?;
    let path = path.ok_or("A null pointer was supplied as the file name")?;
    if path.to_bytes() == b"-" {
        // SAFETY: an open stream.
        return unsafe { begin(standard_output(), &header, "standard output") };
    }
    // SAFETY: two strings that live.
    let file = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
    if file.is_null() {
        return Err(format!("{name}: {}", last_os_error()));
    }
    enlarge_buffer(file);
    // SAFETY: opened above.
    unsafe { start(file, &header, &name) }
}

/// Writes to a stream of the caller, which `pcap_dump_close` closes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump_fopen(
    handle: *mut pcap_t,
    file: *mut libc::FILE,
) -> *mut pcap_dumper_t {
    let open = |state: &State| {
        let header = Header::of(state, "stream")?;
        // SAFETY: an open stream of the caller.
        unsafe { begin(file, &header, "stream") }
    };
    // SAFETY: a handle of the caller.
    unsafe { with(handle, open) }
}

/// Appends to a file with the same link-layer header type, snaplen and precision, or creates it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump_open_append(
    handle: *mut pcap_t,
    path: *const c_char,
) -> *mut pcap_dumper_t {
    let open = |state: &State| {
        // SAFETY: a string of C.
        let path = unsafe { text(path) };
        // SAFETY: the stream was just opened.
        unsafe { open_path(state, path, c"ab+", append) }
    };
    // SAFETY: a handle of the caller.
    unsafe { with(handle, open) }
}

/// Checks the header of a file, or writes one. Closes the stream if that fails.
///
/// # Safety
/// `file` is an open stream for reading and appending.
unsafe fn append(
    file: *mut libc::FILE,
    header: &Header,
    name: &str,
) -> Result<*mut pcap_dumper_t, String> {
    let mut there = [0; HEADER_BYTES];
    // SAFETY: promised by the caller.
    unsafe { libc::rewind(file) };
    // SAFETY: as many bytes as there is room for.
    let read = unsafe { libc::fread(there.as_mut_ptr().cast(), 1, HEADER_BYTES, file) };
    // SAFETY: promised by the caller.
    let has_failed = read < HEADER_BYTES && unsafe { libc::ferror(file) } != 0;
    let refused = match read {
        _ if has_failed => Some(last_os_error()),
        0 => None,
        HEADER_BYTES => header.check(&Header::parse(&there)).err(),
        _ => Some("truncated pcap file header".to_owned()),
    };
    if let Some(refused) = refused {
        // SAFETY: promised by the caller, who gets an error in its place.
        unsafe { close(file) };
        return Err(format!("{name}: {refused}"));
    }
    // A stream that was read is positioned before it is written.
    // SAFETY: promised by the caller.
    unsafe { libc::fseek(file, 0, libc::SEEK_END) };
    if read == 0 {
        // SAFETY: promised by the caller.
        return unsafe { begin(file, header, name) };
    }
    Ok(file)
}

/// Header of a packet in a file.
const RECORD_BYTES: usize = 16;

/// Packets up to this length are written with their header in one call.
const MOST_IN_ONE: usize = 2048;

/// Writes a packet: a function for `pcap_loop`, with the file as its first argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump(
    file: *mut c_uchar,
    header: *const pcap_pkthdr,
    packet: *const c_uchar,
) {
    let file: *mut libc::FILE = file.cast();
    // SAFETY: a header of the caller.
    let Some(header) = (unsafe { header.as_ref() }) else {
        return;
    };
    // Behind what could not be written, nobody could read what follows.
    // SAFETY: an open stream of the caller.
    if unsafe { libc::ferror(file) } != 0 {
        return;
    }
    let fields = [
        header.ts.tv_sec.cast_unsigned() as u32,
        header.ts.tv_usec.cast_unsigned() as u32,
        header.caplen,
        header.len,
    ];
    let fields = fields.map(u32::to_ne_bytes);
    let bytes = header.caplen as usize;
    if bytes > MOST_IN_ONE {
        // SAFETY: an open stream of the caller.
        if unsafe { put(file, fields.as_flattened()) } {
            // SAFETY: as many bytes as the header says, to an open stream.
            unsafe { stream::write(file, packet, bytes) };
        }
        return;
    }
    let mut record = MaybeUninit::<[u8; RECORD_BYTES + MOST_IN_ONE]>::uninit();
    let start: *mut u8 = record.as_mut_ptr().cast();
    // SAFETY: the record begins with room for the fields.
    unsafe { start.copy_from_nonoverlapping(fields.as_ptr().cast(), RECORD_BYTES) };
    // SAFETY: inside the record.
    let place = unsafe { start.add(RECORD_BYTES) };
    // SAFETY: as many bytes of the caller as the header says, at most `MOST_IN_ONE`.
    unsafe { place.copy_from_nonoverlapping(packet, bytes) };
    // SAFETY: as many bytes as were copied, to an open stream of the caller.
    unsafe { stream::write(file, start, RECORD_BYTES + bytes) };
}

/// The stream of a file.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_dump_file(file: *mut pcap_dumper_t) -> *mut libc::FILE {
    file
}

/// The position in a file, bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump_ftell(file: *mut pcap_dumper_t) -> c_long {
    // SAFETY: an open stream of the caller.
    unsafe { libc::ftell(file) }
}

/// The position in a file, bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump_ftell64(file: *mut pcap_dumper_t) -> i64 {
    // SAFETY: an open stream of the caller.
    unsafe { libc::ftello(file) }
}

/// Writes what is buffered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump_flush(file: *mut pcap_dumper_t) -> c_int {
    // SAFETY: an open stream of the caller.
    match unsafe { libc::fflush(file) } {
        0 => 0,
        _ => ERROR,
    }
}

/// Closes a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump_close(file: *mut pcap_dumper_t) {
    // SAFETY: an open stream of the caller, who does not use it any more.
    guard((), || unsafe { close(file) });
}
