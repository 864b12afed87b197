//! Packets of a capture file.
//!
//! The reader reads ahead. A program that asks for the stream (`pcap_file`) may look at its position, or set it to another
//! record: from then on the position of a regular pcap file is behind the packet that was read last, and reading goes on where the
//! program has set it.

use std::ffi::c_int;

use tapline::file::model::Interface;
use tapline::file::read::{ByteOrder, ErrorKind, Item, ReadError, Reader};
use tapline::filter::classic::ClassicProgram;

use crate::datalinks::{self, EN10MB};
use crate::ffi::abi::{MAX_SNAPLEN, PRECISION_MICRO, PRECISION_NANO};
use crate::ffi::stream::{self, Stream, standard_input};
use crate::ffi::text::{chain, strerror};
use crate::file::header::{FileHeader, HEADER_BYTES};
use crate::packet::{Packet, Ready};

/// Interfaces of a file that are looked at before its first packet. A file describes them before their packets.
const MOST_BEFORE_FIRST: usize = 1 << 20;

/// The largest buffer that libpcap begins to read a file with.
const BUFFER_BYTES: c_int = 2048;

/// An open file.
pub struct Offline {
    reader: Reader,
    file: *mut libc::FILE,
    /// The header of a pcap file.
    header: Option<FileHeader>,
    /// The first interface: all others have to be like it, because a handle has one link-layer header type.
    first: Interface,
    /// Where the next record of a regular pcap file begins.
    position: Option<i64>,
    /// Whether the program may look at the stream.
    is_shared: bool,
    has_ended: bool,
    /// The error that ended the reading.
    failed: Option<String>,
}

impl Offline {
    /// Reads the beginning of `file`, which is closed with the handle. `is_fresh`: nobody has read from it.
    pub fn open(file: *mut libc::FILE, is_fresh: bool, precision: c_int) -> Result<Self, String> {
        let position = stream::offset(file);
        let mut stream = Stream::new(file, is_fresh);
        let header = FileHeader::read(&mut stream)?;
        if !matches!(precision, PRECISION_MICRO | PRECISION_NANO) {
            let text = format!(
                "unknown time stamp resolution {}",
                precision.cast_unsigned()
            );
            return Err(text);
        }
        let mut reader = Reader::from_stream(stream).map_err(|error| opening(&error))?;
        let first = first_interface(&mut reader)?;
        let position = position.filter(|_| header.is_some());
        Ok(Self {
            reader,
            file,
            header,
            first,
            position: position.map(|position| position + (HEADER_BYTES as u64).cast_signed()),
            is_shared: false,
            has_ended: false,
            failed: None,
        })
    }

    /// The next packet that passes `filter`.
    #[inline]
    pub fn ready(
        &mut self,
        snaplen: c_int,
        filter: Option<&ClassicProgram>,
    ) -> Result<Ready, String> {
        if self.is_shared {
            self.follow()?;
        }
        let record_bytes = self.header.as_ref().map(FileHeader::record_bytes);
        loop {
            let item = match self.reader.next_item() {
                Ok(item) => item,
                Err(error) => return Err(self.fail(&error, snaplen)),
            };
            let packet = match item {
                None => {
                    self.has_ended = true;
                    return self.failed.clone().map_or(Ok(Ready::End), Err);
                }
                Some(Item::Packet(packet)) => packet,
                Some(Item::Interface { interface, .. }) => {
                    check_alike(interface, &self.first)?;
                    continue;
                }
                Some(_) => continue,
            };
            let mut captured = packet.bytes.len() as u32;
            if let (Some(position), Some(header)) = (&mut self.position, record_bytes) {
                *position += i64::from(header + captured);
                if self.is_shared {
                    stream::seek(self.file, *position);
                }
            }
            if record_bytes.is_some() {
                captured = captured.min(snaplen.unsigned_abs());
            }
            let bytes = &packet.bytes[..captured as usize];
            let accepts = |filter: &ClassicProgram| filter.run(bytes, packet.original_len) != 0;
            if !filter.is_none_or(accepts) {
                continue;
            }
            return Ok(Ready::Packet(Packet {
                data: packet.bytes.as_ptr(),
                captured,
                len: packet.original_len,
                time_ns: packet.timestamp_ns.unwrap_or(0),
                carried_s: self.reader.carried_seconds(),
            }));
        }
    }

    /// Reads on where the program has set the stream, and at the end of a file that may have grown.
    #[cold]
    fn follow(&mut self) -> Result<(), String> {
        let (Some(position), Some(header)) = (self.position, &self.header) else {
            return Ok(());
        };
        let Some(wanted) = stream::offset(self.file) else {
            return Ok(());
        };
        if wanted == position && !self.has_ended {
            return Ok(());
        }
        let mut stream = Stream::new(self.file, false);
        stream.put_back(header.bytes());
        self.reader = Reader::from_stream(stream).map_err(|error| opening(&error))?;
        self.position = Some(wanted);
        (self.has_ended, self.failed) = (false, None);
        Ok(())
    }

    /// The caller's stream, whose position follows the packets from here on.
    pub fn share(&mut self) -> *mut libc::FILE {
        if let (Some(position), false) = (self.position, self.is_shared) {
            stream::seek(self.file, position);
        }
        self.is_shared = true;
        self.file
    }

    /// The stream.
    pub fn file(&self) -> *mut libc::FILE {
        self.file
    }

    /// Its link-layer header type, `DLT_…`.
    pub fn datalink(&self) -> c_int {
        datalinks::from_file(self.first.link_type.0)
    }

    /// What a pcap file says about the link-layer header beside its type.
    pub fn datalink_ext(&self) -> u32 {
        self.header.as_ref().map_or(0, FileHeader::link_type_ext)
    }

    /// Bytes of libpcap's buffer for reading: those of a packet of a pcap file, else those of a block.
    pub fn buffer_bytes(&self) -> c_int {
        match self.header {
            Some(_) => self.snaplen().min(BUFFER_BYTES),
            None => BUFFER_BYTES,
        }
    }

    /// Maximum bytes of a packet.
    pub fn snaplen(&self) -> c_int {
        let snaplen = snaplen_of(&self.first);
        let is_patched = self.header.as_ref().is_some_and(FileHeader::is_patched);
        if is_patched && self.datalink() == EN10MB {
            // Such a file may have an Ethernet header more.
            return snaplen.saturating_add(14);
        }
        snaplen
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

    /// Keeps an error, which later calls report too. A file that ends inside a packet is at its end then, as is a pcapng file.
    #[cold]
    fn fail(&mut self, error: &ReadError, snaplen: c_int) -> String {
        let message = self.message(error, snaplen);
        if error.kind != ErrorKind::Truncated && self.header.is_some() {
            self.failed = Some(message.clone());
        }
        message
    }

    /// The text for an error: libpcap's, except for damaged pcapng files.
    fn message(&self, error: &ReadError, snaplen: c_int) -> String {
        if let Some(io) = &error.source {
            let text = io.raw_os_error().map(strerror);
            return match text {
                Some(text) => format!("error reading dump file: {text}"),
                None => chain(error),
            };
        }
        let Some(header) = &self.header else {
            return of_pcapng(error);
        };
        match error.kind {
            ErrorKind::Truncated => header.truncated(error.needed, error.available, snaplen),
            ErrorKind::Corrupt => self.too_long(header, snaplen),
            _ => chain(error),
        }
    }

    /// The text for a packet that is longer than any.
    fn too_long(&self, header: &FileHeader, snaplen: c_int) -> String {
        let mut record = [0; 16];
        let captured = self.position.and_then(|position| {
            let mut stream = Stream::at(self.file, position);
            stream.fill(&mut record).ok().filter(|&bytes| bytes == 16)?;
            Some(header.captured(&record))
        });
        let most = most_bytes(self.datalink());
        match captured {
            Some(captured) if captured > snaplen.unsigned_abs() => format!(
                "invalid packet capture length {captured}, bigger than snaplen of {snaplen}"
            ),
            Some(captured) => {
                format!("invalid packet capture length {captured}, bigger than maximum of {most}")
            }
            None => format!("invalid packet capture length, bigger than maximum of {most}"),
        }
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

/// The description of the first interface.
fn first_interface(reader: &mut Reader) -> Result<Interface, String> {
    for _ in 0..MOST_BEFORE_FIRST {
        match reader.next_item().map_err(|error| opening(&error))? {
            Some(Item::Interface { interface, .. }) => return Ok(interface.clone()),
            Some(_) => {}
            None => break,
        }
    }
    Err("the capture file has no Interface Description Blocks".to_owned())
}

fn check_alike(interface: &Interface, first: &Interface) -> Result<(), String> {
    let [ours, theirs] = [interface, first].map(|interface| {
        (
            datalinks::from_file(interface.link_type.0),
            snaplen_of(interface),
        )
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

/// The snaplen of a handle for that of a file, where 0 and absurd ones are no limit.
fn snaplen_of(interface: &Interface) -> c_int {
    match c_int::try_from(interface.snaplen) {
        Ok(0) | Err(_) => most_bytes(datalinks::from_file(interface.link_type.0)),
        Ok(snaplen) => snaplen,
    }
}

/// The most bytes that a packet of a link-layer header type can have.
fn most_bytes(datalink: c_int) -> c_int {
    match datalink {
        231 => 128 << 20, // DBUS
        249 => 1 << 20,   // USBPCAP
        279 => 8 << 20,   // EBHSCR
        _ => MAX_SNAPLEN,
    }
}

fn opening(error: &ReadError) -> String {
    match error.kind {
        ErrorKind::NotACapture if error.source.is_none() => "unknown file format".to_owned(),
        _ => of_pcapng(error),
    }
}

/// The text for an error in a pcapng file. Blocks are read in two parts, of which the first has 8 bytes.
fn of_pcapng(error: &ReadError) -> String {
    let (needed, available) = match (error.needed, error.available) {
        (needed, available @ 8..) => (needed.saturating_sub(8), available - 8),
        (_, available) => (8, available),
    };
    match error.kind {
        ErrorKind::Truncated => {
            format!(
                "truncated pcapng dump file; tried to read {needed} bytes, only got {available}"
            )
        }
        _ => chain(error),
    }
}
