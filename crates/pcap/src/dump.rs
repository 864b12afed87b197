//! Writing capture files: `pcap_dump` and its kin. A `pcap_dumper_t` is the stream, as in libpcap.

use std::ffi::{CStr, c_char, c_int, c_long, c_uchar};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{ERROR, PRECISION_NANO, pcap_pkthdr};
use crate::datalinks;
use crate::guard::guard;
use crate::handle::{State, pcap_t, state};
use crate::stream::{self, standard_output};
use crate::text::{last_os_error, text};

const HEADER_BYTES: usize = 24;
const MAGIC_MICRO: u32 = 0xa1b2_c3d4;
const MAGIC_NANO: u32 = 0xa1b2_3c4d;

/// An output file.
pub type pcap_dumper_t = libc::FILE;

/// The header of a file with the packets of a handle, in the byte order of this machine.
fn header(state: &State) -> [u8; HEADER_BYTES] {
    let magic = if state.precision == PRECISION_NANO {
        MAGIC_NANO
    } else {
        MAGIC_MICRO
    };
    let version = u32::from_ne_bytes(
        [2_u16, 4]
            .map(u16::to_ne_bytes)
            .as_flattened()
            .try_into()
            .unwrap_or_default(),
    );
    let words = [
        magic,
        version,
        0,
        0,
        state.snaplen.unsigned_abs(),
        u32::from(datalinks::to_file(state.datalink)),
    ];
    let mut bytes = [0; HEADER_BYTES];
    bytes.copy_from_slice(words.map(u32::to_ne_bytes).as_flattened());
    bytes
}

/// # Safety
/// `file` is an open stream.
unsafe fn put(file: *mut libc::FILE, bytes: &[u8]) -> bool {
    // SAFETY: as many bytes as there are, to an open stream.
    unsafe { stream::write(file, bytes.as_ptr(), bytes.len()) }
}

/// # Safety
/// `file` is an open stream.
unsafe fn begin(state: &mut State, file: *mut libc::FILE, name: &str) -> *mut pcap_dumper_t {
    // SAFETY: promised by the caller.
    if unsafe { put(file, &header(state)) } {
        return file;
    }
    state.fail(
        ERROR,
        &format!("Can't write to {name}: {}", last_os_error()),
    );
    ptr::null_mut()
}

/// Runs `body` with the state of an activated handle.
unsafe fn with(
    handle: *mut pcap_t,
    body: impl FnOnce(&mut State) -> *mut pcap_dumper_t,
) -> *mut pcap_dumper_t {
    guard(ptr::null_mut(), || {
        // SAFETY: promised by the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ptr::null_mut();
        };
        if state.is_created() {
            state.fail(ERROR, "not-yet-activated pcap_t passed to pcap_dump_open");
            return ptr::null_mut();
        }
        body(state)
    })
}

/// Size of the buffer of a file, bytes. The C library's own is a page, which costs a write(2) for some thirty packets.
const BUFFER_BYTES: usize = 64 << 10;

/// The buffers of the streams that were opened here, by the address of the stream.
static BUFFERS: Mutex<Vec<(usize, Box<[u8]>)>> = Mutex::new(Vec::new());

fn buffers() -> MutexGuard<'static, Vec<(usize, Box<[u8]>)>> {
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut buffers = buffers();
        // A stream at the same address has been closed by the program itself.
        buffers.retain(|(stream, _)| *stream != file.addr());
        buffers.push((file.addr(), buffer));
    }
}

/// Closes a stream and frees its buffer.
///
/// # Safety
/// `file` is an open stream that nobody uses any more.
unsafe fn close(file: *mut libc::FILE) {
    let mut buffers = buffers();
    // SAFETY: promised by the caller.
    unsafe { libc::fclose(file) };
    buffers.retain(|(stream, _)| *stream != file.addr());
}

/// Creates a file; `-` is standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump_open(
    handle: *mut pcap_t,
    path: *const c_char,
) -> *mut pcap_dumper_t {
    // SAFETY: a handle and a string of the caller.
    unsafe { dump_to(handle, path, c"wb", begin) }
}

/// Opens a file and begins to write to it; `-` is standard output, which begins a file in any case.
///
/// # Safety
/// `handle` is null or a handle, `path` null or a string. `start` may be called with a stream opened in `mode`.
unsafe fn dump_to(
    handle: *mut pcap_t,
    path: *const c_char,
    mode: &CStr,
    start: unsafe fn(&mut State, *mut libc::FILE, &str) -> *mut pcap_dumper_t,
) -> *mut pcap_dumper_t {
    let body = |state: &mut State| {
        // SAFETY: a string of C.
        let Some(path) = (unsafe { text(path) }) else {
            state.fail(ERROR, "A null pointer was supplied as the file name");
            return ptr::null_mut();
        };
        if path.to_bytes() == b"-" {
            // SAFETY: an open stream.
            return unsafe { begin(state, standard_output(), "standard output") };
        }
        let Some(file) = open(state, path, mode) else {
            return ptr::null_mut();
        };
        // SAFETY: opened above.
        let dumper = unsafe { start(state, file, &path.to_string_lossy()) };
        if dumper.is_null() {
            // SAFETY: opened above, and nobody else has it.
            unsafe { close(file) };
        }
        dumper
    };
    // SAFETY: a handle of the caller.
    unsafe { with(handle, body) }
}

fn open(state: &mut State, path: &CStr, mode: &CStr) -> Option<*mut libc::FILE> {
    // SAFETY: two strings that live.
    let file = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
    if file.is_null() {
        state.fail(
            ERROR,
            &format!("{}: {}", path.to_string_lossy(), last_os_error()),
        );
        return None;
    }
    enlarge_buffer(file);
    Some(file)
}

/// Writes to a stream of the caller, which `pcap_dump_close` closes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump_fopen(
    handle: *mut pcap_t,
    file: *mut libc::FILE,
) -> *mut pcap_dumper_t {
    // SAFETY: an open stream of the caller.
    let body = |state: &mut State| unsafe { begin(state, file, "stream") };
    // SAFETY: a handle of the caller.
    unsafe { with(handle, body) }
}

/// Appends to a file with the same link-layer header type, snaplen and precision, or creates it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dump_open_append(
    handle: *mut pcap_t,
    path: *const c_char,
) -> *mut pcap_dumper_t {
    // SAFETY: a handle and a string of the caller.
    unsafe { dump_to(handle, path, c"ab+", append) }
}

/// # Safety
/// `file` is an open stream for reading and appending.
unsafe fn append(state: &mut State, file: *mut libc::FILE, name: &str) -> *mut pcap_dumper_t {
    let mut there = [0; HEADER_BYTES];
    // SAFETY: promised by the caller.
    unsafe { libc::rewind(file) };
    // SAFETY: as many bytes as there is room for.
    let read = unsafe { libc::fread(there.as_mut_ptr().cast(), 1, HEADER_BYTES, file) };
    if read == 0 {
        // SAFETY: promised by the caller.
        return unsafe { begin(state, file, name) };
    }
    let ours = header(state);
    let is_alike = read == HEADER_BYTES && there == ours;
    if !is_alike {
        let text =
            format!("{name}: not a capture file to which packets of this kind can be appended");
        state.fail(ERROR, &text);
        return ptr::null_mut();
    }
    // A stream that was read is positioned before it is written.
    // SAFETY: promised by the caller.
    unsafe { libc::fseek(file, 0, libc::SEEK_END) };
    file
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
    let fields = [
        header.ts.tv_sec.cast_unsigned() as u32,
        header.ts.tv_usec.cast_unsigned() as u32,
        header.caplen,
        header.len,
    ];
    let fields = fields.map(u32::to_ne_bytes);
    let bytes = header.caplen as usize;
    if bytes > MOST_IN_ONE {
        // A half record at the end of a full disk would make what follows unreadable.
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
