//! Reading capture files.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;

use tapline::Stopper;
use tapline::read::{Read, ReadError};

use crate::arguments::{Options, Text, options, put};
use crate::error::{c_string, tapline_error};
use crate::expression;
use crate::failure::{Error, os_error};
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::packet::{tapline_interface, tapline_packet};
use crate::status::tapline_status;

/// An open capture file: pcap or pcapng, also compressed.
pub struct tapline_reader(());

/// What to read of a file.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_reader_options<'a> {
    /// `sizeof(tapline_reader_options)`.
    pub size: usize,
    /// Packets to read, in the language of pcap-filter(7). Default: all.
    pub filter: Text<'a>,
    /// End after this many packets. Default: never.
    pub max_packets: u64,
}

// SAFETY: `repr(C)`, its size first, and integers and strings after it: zeros are the defaults.
unsafe impl Options for tapline_reader_options<'_> {
    const NAME: &'static str = "tapline_reader_options";
}

/// A batch ends with the packet that reaches one of these.
const MAX_BATCH: usize = 128;
const MAX_BATCH_BYTES: usize = 1 << 16;

struct Open {
    read: Read,
    /// The last batch, lent to C until the next call: the packets, and their bytes.
    packets: Vec<tapline_packet>,
    bytes: Vec<u8>,
    /// A failure behind the packets of the last batch.
    pending: Option<Error>,
    first: FirstPacket,
    names: Vec<CString>,
}

/// The first packet. A call for the interfaces before the first batch reads it, so that its interface is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstPacket {
    Unread,
    /// It is in the next batch.
    Read,
    Lent,
}

impl Object for Open {
    type Handle = tapline_reader;
    type Shared = Stopper;
    const KIND: Kind = Kind::Reader;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Open> = Table::new();
        &TABLE
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        let status = match &error {
            ReadError::Open { .. } | ReadError::Io(_) | ReadError::Write(_) => {
                return Self::system(&error);
            }
            // What the system does not read is not damaged, e.g. a directory.
            ReadError::Input(_) | ReadError::Incomplete(_) if os_error(&error).is_some() => {
                return Self::system(&error);
            }
            ReadError::Input(_) | ReadError::Incomplete(_) => tapline_status::Damaged,
            ReadError::Filter { .. } | ReadError::FilterRejectsAll => tapline_status::Syntax,
            _ => tapline_status::InvalidArgument,
        };
        Self::from_source(status, &error)
    }
}

/// Opens the capture file `path`. Close it with `tapline_reader_close`. Blocks until the beginning of a pipe is there.
///
/// Errors: NOT_FOUND, PRIVILEGE, DAMAGED if it is no capture file, SYNTAX of the filter, SYSTEM if it cannot be read, e.g.
/// a directory.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_reader_open(
    path: Text<'_>,
    reader_options: *const tapline_reader_options<'_>,
    out_reader: Option<&mut MaybeUninit<*mut tapline_reader>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_reader = out_reader.ok_or_else(|| Error::null("out_reader"))?;
        // SAFETY: an option struct of C.
        let given = unsafe { options(reader_options) }?;
        let mut wanted = tapline::read(path.path("path")?);
        if let Some(text) = given.filter.optional("filter")? {
            let Ok(filtered) = wanted.filter(expression::filter(text)?);
            wanted = filtered;
        }
        if let Some(packets) = NonZeroU64::new(given.max_packets) {
            wanted = wanted.count(packets);
        }
        let read = wanted.open()?;
        let stopper = read.stopper();
        let open = Open {
            read,
            packets: Vec::with_capacity(MAX_BATCH),
            bytes: Vec::with_capacity(2 * MAX_BATCH_BYTES),
            pending: None,
            first: FirstPacket::Unread,
            names: Vec::new(),
        };
        out_reader.write(Open::table().insert(open, stopper)?);
        Ok(tapline_status::Ok)
    })
}

impl Open {
    /// Copies packets behind those of the batch, until there are `most`. Waits for the first one only.
    fn copy(&mut self, most: usize) {
        while self.pending.is_none()
            && self.packets.len() < most
            && self.bytes.len() < MAX_BATCH_BYTES
        {
            let next = if self.packets.is_empty() {
                self.read.next()
            } else {
                self.read.next_ready()
            };
            match next {
                Ok(Some(packet)) => {
                    let data = packet.data();
                    if self.bytes.try_reserve(data.len()).is_err() {
                        let text = format!("a packet of {} bytes", data.len());
                        self.pending = Some(Error::no_memory(&text));
                        break;
                    }
                    self.packets.push(tapline_packet::of(&packet));
                    self.bytes.extend_from_slice(data);
                }
                Ok(None) => break,
                Err(error) => self.pending = Some(error.into()),
            }
        }
    }

    /// Copies the next packets. Returns whether there are any.
    fn fill(&mut self) -> Result<bool, Error> {
        if self.first != FirstPacket::Read {
            self.packets.clear();
            self.bytes.clear();
        }
        self.first = FirstPacket::Lent;
        self.copy(MAX_BATCH);
        if self.packets.is_empty()
            && let Some(error) = self.pending.take()
        {
            return Err(error);
        }
        // Their bytes do not move any more.
        let mut rest = &self.bytes[..];
        for packet in &mut self.packets {
            let (own, behind) = rest.split_at(packet.captured_len as usize);
            packet.data = own.as_ptr();
            rest = behind;
        }
        Ok(!self.packets.is_empty())
    }
}

/// Reads the next packets into an array of at most 128. The array and the bytes are valid until the next call with this
/// handle, other than `tapline_reader_interface` and `tapline_reader_stop`. Waits while a pipe has no packet, and returns
/// those that have arrived; of a compressed pipe it waits for the whole array. Returns END at the end of the file.
///
/// Errors: DAMAGED behind the last packet that could be read; SYSTEM with ENOMEM if there is no memory for a packet.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_reader_next_batch(
    reader: *mut tapline_reader,
    out_packets: Option<&mut MaybeUninit<*const tapline_packet>>,
    out_count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_packets = out_packets.ok_or_else(|| Error::null("out_packets"))?;
        let out_count = out_count.ok_or_else(|| Error::null("out_count"))?;
        Open::table().with(reader, |open| {
            if !open.fill()? {
                return Ok(tapline_status::End);
            }
            out_packets.write(open.packets.as_ptr());
            out_count.write(open.packets.len());
            Ok(tapline_status::Ok)
        })
    })
}

/// The interfaces of the packets that were read so far, by position. END if there is none at `index`. The name is valid
/// until the reader is closed.
///
/// Before the first batch, this reads the first packet, which is then in that batch: so the interface of a pcap file, and
/// those at the beginning of a pcapng file, are known at once. Blocks while a pipe has no data. If the packet cannot be read,
/// `tapline_reader_next_batch` returns the error.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_reader_interface(
    reader: *mut tapline_reader,
    index: usize,
    out_interface: Option<&mut MaybeUninit<tapline_interface>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        Open::table().with(reader, |open| {
            if open.first == FirstPacket::Unread {
                open.first = FirstPacket::Read;
                open.copy(1);
            }
            let interfaces = open.read.interfaces();
            for interface in &interfaces[open.names.len()..] {
                open.names
                    .push(c_string(interface.name.as_deref().unwrap_or_default()));
            }
            let Some(interface) = interfaces.get(index) else {
                return Ok(tapline_status::End);
            };
            let described = tapline_interface {
                name: match interface.name {
                    Some(_) => open.names[index].as_ptr(),
                    None => std::ptr::null(),
                },
                snaplen: interface.snaplen,
                link_type: interface.link_type.0,
                reserved: 0,
            };
            put(out_interface, described, "out_interface")?;
            Ok(tapline_status::Ok)
        })
    })
}

/// Ends a reader: a call that waits for a pipe returns, and `tapline_reader_next_batch` returns END from then on. Up to 256
/// packets that were there before may still come first.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_reader_stop(
    reader: *const tapline_reader,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        Open::table().shared(reader, |stopper| {
            stopper.stop();
            Ok(tapline_status::Ok)
        })
    })
}

/// Closes a reader. Does nothing if `reader` is null.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_reader_close(
    reader: *mut tapline_reader,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !reader.is_null() {
            Open::table().remove(reader)?;
        }
        Ok(tapline_status::Ok)
    })
}
