//! Packets of a capture file.

use std::ffi::c_int;

use tapline::file::model::Interface;
use tapline::file::read::{ByteOrder, DetectedFormat, ErrorKind, Item, ReadError, Reader};
use tapline::filter::classic::ClassicProgram;

use crate::abi::MAX_SNAPLEN;
use crate::datalinks;
use crate::lent::{Lent, Ready};
use crate::stream::{Stream, standard_input};
use crate::text::chain;

/// Interfaces of a file that are looked at before its first packet. A file describes them before their packets.
const MOST_BEFORE_FIRST: usize = 1 << 20;

/// An open file.
pub struct Offline {
    reader: Reader,
    file: *mut libc::FILE,
    /// The first interface: all others have to be like it, because a handle has one link-layer header type.
    first: Interface,
}

impl Offline {
    /// Reads the beginning of `file`, which is closed with the handle. `is_fresh`: nobody has read from it.
    pub fn open(file: *mut libc::FILE, is_fresh: bool) -> Result<Self, String> {
        let stream = Stream::new(file, is_fresh);
        let mut reader = Reader::from_stream(stream).map_err(|error| opening(&error))?;
        for _ in 0..MOST_BEFORE_FIRST {
            match reader.next_item().map_err(|error| opening(&error))? {
                Some(Item::Interface { interface, .. }) => {
                    let first = interface.clone();
                    return Ok(Self {
                        reader,
                        file,
                        first,
                    });
                }
                Some(_) => {}
                None => break,
            }
        }
        Err("the capture file has no Interface Description Blocks".to_owned())
    }

    /// The next packet that passes `filter`.
    #[inline]
    pub fn ready(
        &mut self,
        snaplen: c_int,
        filter: Option<&ClassicProgram>,
    ) -> Result<Ready, String> {
        let is_pcap = self.reader.header().format == DetectedFormat::Pcap;
        loop {
            let item = self.reader.next_item().map_err(|error| reading(&error))?;
            let packet = match item {
                None => return Ok(Ready::End),
                Some(Item::Packet(packet)) => packet,
                Some(Item::Interface { interface, .. }) => {
                    check_alike(interface, &self.first)?;
                    continue;
                }
                Some(_) => continue,
            };
            let accepted =
                filter.is_none_or(|filter| filter.run(packet.bytes, packet.original_len) != 0);
            if !accepted {
                continue;
            }
            let mut captured = packet.bytes.len() as u32;
            if is_pcap {
                captured = captured.min(snaplen.unsigned_abs());
            }
            return Ok(Ready::Packet(Lent {
                data: packet.bytes.as_ptr(),
                captured,
                len: packet.original_len,
                time_ns: packet.timestamp_ns.unwrap_or(0),
            }));
        }
    }

    /// Its link-layer header type, `DLT_…`.
    pub fn datalink(&self) -> c_int {
        datalinks::from_file(self.first.link_type.0)
    }

    /// Maximum bytes of a packet.
    pub fn snaplen(&self) -> c_int {
        snaplen_of(self.first.snaplen)
    }

    /// The caller's stream.
    pub fn file(&self) -> *mut libc::FILE {
        self.file
    }

    /// Whether the byte order is not that of this machine.
    pub fn is_swapped(&self) -> bool {
        let native = if cfg!(target_endian = "big") {
            ByteOrder::Big
        } else {
            ByteOrder::Little
        };
        self.reader.header().byte_order != native
    }

    /// Major and minor version of the format.
    pub fn version(&self) -> (u16, u16) {
        self.reader.header().version
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        if self.file != standard_input() {
            // SAFETY: an open stream that the caller has given to the handle.
            unsafe { libc::fclose(self.file) };
        }
    }
}

fn check_alike(interface: &Interface, first: &Interface) -> Result<(), String> {
    let [ours, theirs] = [interface, first].map(|interface| {
        let number = interface.link_type.0;
        (datalinks::from_file(number), snaplen_of(interface.snaplen))
    });
    if ours.0 != theirs.0 {
        return Err(format!(
            "an interface has a type {} different from the type of the first interface",
            interface.link_type.0
        ));
    }
    if ours.1 != theirs.1 {
        return Err(format!(
            "an interface has a snapshot length {} different from the snapshot length of the first interface",
            interface.snaplen
        ));
    }
    Ok(())
}

/// The snaplen of a handle for one in a file, where 0 and absurd ones are no limit.
fn snaplen_of(snaplen: u32) -> c_int {
    match c_int::try_from(snaplen) {
        Ok(0) | Err(_) => MAX_SNAPLEN,
        Ok(snaplen) => snaplen,
    }
}

fn opening(error: &ReadError) -> String {
    match error.kind {
        ErrorKind::NotACapture if error.source.is_none() => "unknown file format".to_owned(),
        _ => chain(error),
    }
}

fn reading(error: &ReadError) -> String {
    match error.kind {
        ErrorKind::Truncated => format!(
            "truncated dump file; tried to read {} bytes, only got {}",
            error.needed, error.available
        ),
        _ => chain(error),
    }
}
