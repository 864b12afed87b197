//! Writing capture files.

use std::mem::MaybeUninit;
use std::num::{NonZeroU64, NonZeroUsize};
use std::time::{SystemTime, UNIX_EPOCH};

use tapline::file::model::{Interface, LinkType};
use tapline::file::write::{
    CaptureFile, CaptureFileOptions, Compression, Format, Output as Destination, Rotation,
    WriteError,
};
use tapline::signal::without_sigpipe;

use crate::arguments::{Options, Text, array, options, put};
use crate::error::tapline_error;
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::packet::{tapline_interface, tapline_packet};
use crate::status::tapline_status;

/// A capture file that is being written.
pub struct tapline_writer(());

/// The format of a capture file.
#[repr(u32)]
pub enum tapline_format {
    /// pcapng with nanoseconds.
    Pcapng = 0,
    /// pcap with microseconds: one link type; queue, direction and drops of a packet are left out.
    Pcap = 1,
    /// pcap with nanoseconds.
    PcapNs = 2,
}

/// How to write a file.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_writer_options {
    /// `sizeof(tapline_writer_options)`.
    pub size: usize,
    /// The interfaces, to which packets refer by position. Default: one of Ethernet packets, without a name.
    pub interfaces: *const tapline_interface,
    /// Number of the interfaces.
    pub interface_count: usize,
    /// A `tapline_format`.
    pub format: u32,
    /// Not 0: compress with Zstandard, and append `.zst` to a name without it.
    pub zstd: u32,
    /// Start a new file before one has more bytes than this. Default: never.
    pub rotate_bytes: u64,
    /// Start a new file at multiples of this time since 1970, by the times of the packets. Default: never.
    pub rotate_ns: u64,
    /// Start a new file after this many packets. Default: never.
    pub rotate_packets: u64,
    /// Keep this many files, the current one included, and remove the oldest ones. Default: all.
    pub keep_files: u64,
}

// SAFETY: `repr(C)`, its size first, and integers and a pointer after it: zeros are the defaults.
unsafe impl Options for tapline_writer_options {
    const NAME: &'static str = "tapline_writer_options";
}

struct Open {
    file: CaptureFile,
    /// Whether its reader may go away: a pipe, and no file on a disk.
    is_stream: bool,
}

impl Open {
    /// Calls `body`, whose writes must not end the process.
    fn write<R>(&mut self, body: impl FnOnce(&mut CaptureFile) -> R) -> R {
        let file = &mut self.file;
        if self.is_stream {
            without_sigpipe(|| body(file))
        } else {
            body(file)
        }
    }
}

impl Object for Open {
    type Handle = tapline_writer;
    type Shared = ();
    const KIND: Kind = Kind::Writer;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Open> = Table::new();
        &TABLE
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        match &error {
            WriteError::UnknownInterface { .. }
            | WriteError::LinkTypeDiffers { .. }
            | WriteError::PacketTooLong { .. }
            | WriteError::TimeOutOfRange { .. }
            | WriteError::CannotRotate => {
                Self::from_source(tapline_status::InvalidArgument, &error)
            }
            _ => Self::system(&error),
        }
    }
}

/// # Safety
/// `given` comes from C.
unsafe fn described(given: &tapline_interface) -> Result<Interface, Error> {
    if given.reserved != 0 {
        // A later version may give it a meaning, which this one would not know.
        return Err(Error::argument("reserved of an interface is not 0"));
    }
    let mut interface = Interface::new(LinkType(given.link_type), given.snaplen);
    // SAFETY: a string of C, or null.
    let name = unsafe { Text::of(given.name) };
    interface.name = name
        .optional("the name of an interface")?
        .map(str::to_owned);
    Ok(interface)
}

/// Creates the capture file `path`, with mode 0600; an existing file is overwritten. Close it with
/// `tapline_writer_close`, which tells whether all packets are written.
///
/// With a limit for a new file, `dir/stem.pcapng` stands for `dir/stem_00001_20261121071500.pcapng` and so on: a counter
/// and the local time of the file's start. Each file is complete.
///
/// Errors: NOT_FOUND without the directory, PRIVILEGE, SYSTEM; INVALID_ARGUMENT for interfaces of different link types in a
/// pcap file.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_writer_create(
    path: Text<'_>,
    writer_options: *const tapline_writer_options,
    out_writer: Option<&mut MaybeUninit<*mut tapline_writer>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_writer = out_writer.ok_or_else(|| Error::null("out_writer"))?;
        // SAFETY: an option struct of C.
        let given = unsafe { options(writer_options) }?;
        // SAFETY: an array of C.
        let listed = unsafe { array(given.interfaces, given.interface_count, "interfaces") }?;
        let mut interfaces = Vec::with_capacity(listed.len());
        for given in listed {
            // SAFETY: an element of it.
            interfaces.push(unsafe { described(given) }?);
        }
        if interfaces.is_empty() {
            interfaces.push(Interface::new(LinkType(1), 0));
        }
        let path = path.path("path")?;
        let destination = Destination::Path(path.to_owned());
        let mut wanted = CaptureFileOptions::new(destination, interfaces);
        wanted.format = match given.format {
            0 => Format::Pcapng,
            1 => Format::PcapMicros,
            2 => Format::PcapNanos,
            other => return Err(Error::value("format", other)),
        };
        if given.zstd != 0 {
            wanted.compression = Compression::Zstd { level: 0 };
        }
        wanted.rotation = Rotation {
            bytes: NonZeroU64::new(given.rotate_bytes),
            interval_ns: NonZeroU64::new(given.rotate_ns),
            interval_offset_ns: 0,
            packets: NonZeroU64::new(given.rotate_packets),
            keep: NonZeroUsize::new(given.keep_files as usize),
        };
        if wanted.rotation.keep.is_some() && !wanted.rotation.is_any() {
            return Err(Error::argument(
                "keep_files requires a limit for a new file",
            ));
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let file = without_sigpipe(|| CaptureFile::create(wanted, now.as_nanos() as u64))?;
        // With a limit for a new file there is none of this name.
        let is_stream = path.metadata().is_ok_and(|metadata| !metadata.is_file());
        out_writer.write(Open::table().insert(Open { file, is_stream }, ())?);
        Ok(tapline_status::Ok)
    })
}

/// Writes `count` packets, such as a batch of a reader. They are copied into a buffer of 256 KiB, which is written when
/// it is full. `tapline_writer_write_packets` of tapline/cursor.h writes the packets of a cursor.
///
/// Errors: SYSTEM if the buffer could not be written (disk full); INVALID_ARGUMENT for a packet of an unknown interface, one
/// of more than 16 MiB, or one whose time a pcap file cannot store: after February 2106. Packets before the wrong one are
/// written.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_writer_write(
    writer: *mut tapline_writer,
    packets: *const tapline_packet,
    count: usize,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: an array of C.
        let packets = unsafe { array(packets, count, "packets") }?;
        Open::table().with(writer, |open| {
            open.write(|file| {
                for packet in packets {
                    // SAFETY: a packet of C, with its bytes.
                    let record = unsafe { packet.record() }?;
                    file.write(&record)?;
                }
                Ok(tapline_status::Ok)
            })
        })
    })
}

/// Adds an interface behind those of the file, for packets that come later, and writes its position to `out_position` unless
/// that is null. So a pcapng file whose interfaces appear later can be copied: `tapline_reader_interface` has them after each
/// batch, before its packets are written. Writes what is in the buffer, and the description of the interface.
///
/// Errors: as `tapline_writer_write`; INVALID_ARGUMENT if a pcap file has another link type. The interface is not added then.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_writer_add_interface(
    writer: *mut tapline_writer,
    interface: *const tapline_interface,
    out_position: Option<&mut MaybeUninit<u32>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: a struct of C.
        let given = unsafe { array(interface, 1, "interface") }?;
        // SAFETY: an element of that array.
        let described = unsafe { described(&given[0]) }?;
        let add = |file: &mut CaptureFile| file.add_interface(described);
        let position = Open::table().with(writer, |open| Ok(open.write(add)?))?;
        if out_position.is_some() {
            put(out_position, position, "out_position")?;
        }
        Ok(tapline_status::Ok)
    })
}

/// Writes what is in the buffer.
///
/// Errors: as `tapline_writer_write`.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_writer_flush(
    writer: *mut tapline_writer,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        Open::table().with(writer, |open| Ok(open.write(CaptureFile::flush)?))?;
        Ok(tapline_status::Ok)
    })
}

/// Writes what is left, closes the file, and returns the number of packets in it unless `out_packets` is null. Does
/// nothing if `writer` is null. The handle is invalid afterwards, also if writing fails. Exception: after IN_USE the writer
/// stays open.
///
/// Errors: as `tapline_writer_write`.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_writer_close(
    writer: *mut tapline_writer,
    out_packets: Option<&mut MaybeUninit<u64>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if writer.is_null() {
            return Ok(tapline_status::Ok);
        }
        let mut open = Open::table().take(writer)?;
        open.write(|file| file.close(&[]))?;
        if out_packets.is_some() {
            put(out_packets, open.file.packets_written(), "out_packets")?;
        }
        Ok(tapline_status::Ok)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_a_writer_that_a_defect_has_changed_is_an_error() {
        let destination = Destination::Path("/dev/null".into());
        let interfaces = vec![Interface::new(LinkType(1), 0)];
        let file = CaptureFile::create(CaptureFileOptions::new(destination, interfaces), 0);
        let file = file.expect("a file");
        let writer = Open::table().insert(
            Open {
                file,
                is_stream: true,
            },
            (),
        );
        let writer = writer.expect("a handle");
        let defect = || Open::table().with(writer, |_| panic!("a defect"));
        assert_eq!(guard(None, defect), tapline_status::Internal);
        for expected in [tapline_status::Internal, tapline_status::InvalidHandle] {
            let mut packets = MaybeUninit::new(7);
            let status = tapline_writer_close(writer, Some(&mut packets), None);
            assert_eq!(status, expected);
            // SAFETY: it was written before the call.
            assert_eq!(unsafe { packets.assume_init() }, 7);
        }
    }
}
