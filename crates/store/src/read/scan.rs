//! Parts of a regular capture file, scanned side by side by several threads.

use std::ops::Range;

use super::format::{Decoded, Event, Frame};
use super::input::{Input, RegularFile};
use super::pcapng::begins_section;
use super::reader::{Decoder, Reader};
use crate::model::Packet;

/// A part is read in pieces that stay in a core's second-level cache until they have been scanned.
const BUFFER_BYTES: usize = (256 << 10) + (8 << 10);

/// Bytes read behind a part's end, for the rest of its last block.
const READ_AHEAD_BYTES: u64 = 4 << 10;

/// With fewer bytes in the window, more are read before a block is taken for an unusual one.
const WINDOW_BYTES_MIN: usize = 4 << 10;

/// Longer blocks are never native: no reader accepts the longest.
const NATIVE_BLOCK_BYTES_MAX: usize = 1 << 20;

/// The start of a block or record in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Bytes of the capture before it.
    pub offset: u64,
    /// Blocks or records before it, for errors.
    pub blocks: u64,
}

impl Reader {
    /// The current position.
    pub fn position(&mut self) -> Position {
        Position {
            offset: self.input.offset(),
            blocks: *self.decoder.blocks(),
        }
    }

    /// Continues at `position`, backwards or forwards, with the interfaces read so far.
    ///
    /// Works only for captures with a [`Self::part_scanner`]; others stay where they are. If no block
    /// begins there, the next read reports a corrupt block. After an end or an error nothing is read.
    #[inline]
    pub fn seek(&mut self, position: Position) {
        if self.input.regular_file().is_some() {
            self.input.seek(position.offset, u64::MAX);
            *self.decoder.blocks() = position.blocks;
        }
    }

    /// A scanner for parts of this file, with the byte order and interfaces of the current section.
    ///
    /// `None` if the input is not a regular file, or is compressed.
    pub fn part_scanner(&self) -> Option<PartScanner> {
        let has_native_blocks = match &self.decoder {
            Decoder::Pcap(_) => false,
            Decoder::Pcapng(pcapng) => pcapng.has_native_blocks(),
        };
        let file = self.input.regular_file()?.clone();
        Some(PartScanner::new(
            file,
            self.decoder.clone(),
            has_native_blocks,
        ))
    }

    /// Calls `take` for each of the next packets that are completely in the buffer and have no options, until `take` returns
    /// `false`. Returns the number of these packets.
    ///
    /// Reads nothing, so it never blocks, and takes less time for a packet than [`Self::next_item`], which reads everything else.
    /// [`Self::last_packet`] stays the same.
    ///
    /// # Errors
    /// That of `take`.
    #[inline]
    pub fn take_buffered<E>(
        &mut self,
        mut take: impl FnMut(&Packet<'_>) -> Result<bool, E>,
    ) -> Result<u64, E> {
        if self.has_ended() {
            return Ok(0);
        }
        let take = |packet: &Packet<'_>, _| take(packet);
        let window = self.input.window();
        let (used, packets, result) = match &self.decoder {
            Decoder::Pcap(pcap) => take_plain(window, |rest| pcap.plain(rest), take),
            Decoder::Pcapng(pcapng) => take_plain(window, |rest| pcapng.plain(rest), take),
        };
        self.input.consume(used);
        *self.decoder.blocks() += packets;
        result.map(|()| packets)
    }

    /// Calls `take` for each of the next packets that are completely in the buffer. The packets come without their options, which
    /// are not checked.
    ///
    /// Reads nothing. [`Self::last_packet`] stays the same.
    #[inline]
    pub(crate) fn take_without_options(&mut self, take: impl FnMut(Frame<'_>)) {
        if self.has_ended() {
            return;
        }
        let (bytes, packets) = self.decoder.without_options(self.input.window(), take);
        self.input.consume(bytes);
        *self.decoder.blocks() += packets;
    }

    /// As [`Self::take_without_options`], for the packets at the start of `blocks`, which follow a capture in memory that has been
    /// read. Returns the number of their bytes. The others follow by [`Self::continue_with`].
    #[inline]
    pub(crate) fn take_from(&mut self, blocks: &[u8], take: impl FnMut(Frame<'_>)) -> usize {
        let (bytes, packets) = self.decoder.without_options(blocks, take);
        self.input.pass(bytes);
        *self.decoder.blocks() += packets;
        bytes
    }

    /// A decoder for blocks that a [`PartScanner`] of this file found.
    pub fn block_decoder(&self) -> BlockDecoder {
        BlockDecoder {
            input: Input::memory(Vec::new()),
            decoder: self.decoder.clone(),
            decoded: Decoded::empty(),
        }
    }
}

impl Decoder {
    /// Calls `take` for the packets at the start of `window`, without options. Returns their bytes and their number.
    #[inline]
    fn without_options(&self, window: &[u8], take: impl FnMut(Frame<'_>)) -> (usize, u64) {
        match self {
            Self::Pcap(pcap) => {
                let next = |rest| {
                    let (packet, block_bytes) = pcap.plain(rest)?;
                    Some(Frame {
                        interface: packet.interface,
                        timestamp_ns: packet.timestamp_ns,
                        bytes: packet.bytes,
                        block_bytes,
                    })
                };
                take_frames(window, next, take)
            }
            Self::Pcapng(pcapng) => take_frames(window, |rest| pcapng.frame(rest), take),
        }
    }
}

/// Calls `take` for the packets at the start of `window`, as `next` decodes them. Returns their bytes and their number.
#[inline]
fn take_frames<'a>(
    window: &'a [u8],
    next: impl Fn(&'a [u8]) -> Option<Frame<'a>>,
    mut take: impl FnMut(Frame<'a>),
) -> (usize, u64) {
    let (mut rest, mut packets) = (window, 0);
    while let Some(frame) = next(rest) {
        rest = rest.get(frame.block_bytes..).unwrap_or_default();
        packets += 1;
        take(frame);
    }
    (window.len() - rest.len(), packets)
}

/// Calls `take` for the packets at the start of `window` that `plain` can decode, with the length of each block. Returns their bytes,
/// their number and the error of `take`.
#[inline]
fn take_plain<'a, E>(
    window: &'a [u8],
    plain: impl Fn(&'a [u8]) -> Option<(Packet<'a>, usize)>,
    mut take: impl FnMut(&Packet<'_>, usize) -> Result<bool, E>,
) -> (usize, u64, Result<(), E>) {
    let (mut rest, mut packets) = (window, 0);
    let mut result = Ok(true);
    while let Ok(true) = result
        && let Some((packet, length)) = plain(rest)
    {
        rest = rest.get(length..).unwrap_or_default();
        packets += 1;
        result = take(&packet, length);
    }
    (window.len() - rest.len(), packets, result.map(|_| ()))
}

/// The block or record of a scanned packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketBlock<'a> {
    /// Its bytes, as in the file.
    pub bytes: &'a [u8],
    /// Whether a pcapng file with the same interfaces can contain these bytes unchanged.
    ///
    /// Whether the packet is an Enhanced Packet Block without options, of the first section, in this machine's byte
    /// order, with time stamps in nanoseconds.
    pub is_native: bool,
}

/// A scanned part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Offset of its first block. It is confirmed if the part before ends there.
    pub start: u64,
    /// Offset behind its last block.
    pub end: u64,
    /// Number of blocks or records.
    pub blocks: u64,
    /// Number of packets.
    pub packets: u64,
    /// Whether it ends before its bound, at a block that only the [`Reader`] can interpret.
    pub is_cut: bool,
}

/// Scans the packets of any part of a capture file. Made by [`Reader::part_scanner`].
///
/// The start of a part is a guess, which only the end of the part before can confirm. A scan stops
/// before everything but packets that may change how packets are decoded (an interface, a section), at
/// statistics and at errors: the [`Reader`] reads these. Each clone has its own buffer. `Send`.
pub struct PartScanner {
    file: RegularFile,
    /// The decoder as it was when the scanner was made.
    initial: Decoder,
    has_native_blocks: bool,
    input: Input,
    decoder: Decoder,
    decoded: Decoded,
}

impl Clone for PartScanner {
    fn clone(&self) -> Self {
        Self::new(
            self.file.clone(),
            self.initial.clone(),
            self.has_native_blocks,
        )
    }
}

impl PartScanner {
    fn new(file: RegularFile, initial: Decoder, has_native_blocks: bool) -> Self {
        Self {
            input: Input::file(file.clone(), BUFFER_BYTES),
            decoder: initial.clone(),
            decoded: Decoded::empty(),
            file,
            initial,
            has_native_blocks,
        }
    }

    /// Length of the file.
    pub fn file_bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Scans the part in `range`: from the first offset at which a packet seems to begin, to the end of
    /// the block that contains the last byte.
    ///
    /// Calls `see` for each packet with its block. Does not allocate per packet.
    pub fn scan(
        &mut self,
        range: Range<u64>,
        see: impl FnMut(&Packet<'_>, PacketBlock<'_>),
    ) -> Part {
        let start = self.guess_start(&range).unwrap_or(range.end);
        self.scan_from(start, range.end, see)
    }

    /// Scans the part that begins with the block at `start`, to the end of the block that contains the
    /// last byte before `bound`.
    pub fn scan_from(
        &mut self,
        start: u64,
        bound: u64,
        mut see: impl FnMut(&Packet<'_>, PacketBlock<'_>),
    ) -> Part {
        let mut part = Part {
            start,
            end: start,
            blocks: 0,
            packets: 0,
            is_cut: false,
        };
        self.seek(start, bound);
        while part.end < bound {
            let window = self.input.window();
            let plain = match &self.decoder {
                Decoder::Pcap(pcap) => pcap.plain(window),
                Decoder::Pcapng(pcapng) => pcapng.plain(window),
            };
            let Some((packet, length)) = plain else {
                if self.fill_window() {
                    continue;
                }
                if self.scan_unusual(&mut part, &mut see) {
                    continue;
                }
                part.is_cut = true;
                self.decoder = self.initial.clone();
                self.decoded = Decoded::empty();
                break;
            };
            let block = PacketBlock {
                bytes: &window[..length],
                is_native: self.has_native_blocks && length <= NATIVE_BLOCK_BYTES_MAX,
            };
            see(&packet, block);
            self.input.consume(length);
            part.end += length as u64;
            part.packets += 1;
            part.blocks += 1;
        }
        part
    }

    /// Reads more if the window is almost empty. Returns `false` if there is no more, or no need.
    fn fill_window(&mut self) -> bool {
        let before = self.input.window().len();
        before < WINDOW_BYTES_MIN
            && self
                .input
                .fill(WINDOW_BYTES_MIN)
                .is_ok_and(|now| now > before)
    }

    /// Scans a block that is not plain, as the [`Reader`] does. Returns `false` if only that can.
    fn scan_unusual(
        &mut self,
        part: &mut Part,
        see: &mut impl FnMut(&Packet<'_>, PacketBlock<'_>),
    ) -> bool {
        if matches!(self.decoder, Decoder::Pcapng(_)) && begins_section(self.input.window()) {
            return false;
        }
        match self.decoder.step(&mut self.input, &mut self.decoded) {
            Ok(Some(Event::Packet)) => {
                let block = PacketBlock {
                    bytes: self.input.consumed_since(part.end),
                    is_native: false,
                };
                see(&self.decoded.packet.lend(&self.input), block);
                part.packets += 1;
            }
            Ok(None) => {}
            // Also at the end of the file, which the reader is to find.
            Ok(Some(_)) | Err(_) => return false,
        }
        part.end = self.input.offset();
        part.blocks += 1;
        true
    }

    fn guess_start(&mut self, range: &Range<u64>) -> Option<u64> {
        self.seek(range.start, range.end);
        self.input.fill(1).ok()?;
        let window = self.input.window();
        let within = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let reaches_end = range.start + window.len() as u64 >= self.file.bytes();
        let within = within.min(window.len());
        let index = match &self.decoder {
            Decoder::Pcap(pcap) => pcap.find_record(window, within, reaches_end),
            Decoder::Pcapng(pcapng) => pcapng.find_packet(window, range.start, within, reaches_end),
        };
        index.map(|index| range.start + index as u64)
    }

    fn seek(&mut self, offset: u64, bound: u64) {
        self.input
            .seek(offset, bound.saturating_add(READ_AHEAD_BYTES));
    }
}

/// Decodes blocks that were copied out of a file. Made by [`Reader::block_decoder`].
pub struct BlockDecoder {
    input: Input,
    decoder: Decoder,
    decoded: Decoded,
}

impl BlockDecoder {
    /// Starts with the first of `blocks`, which are whole. Returns the bytes that were loaded before.
    pub fn load(&mut self, blocks: Vec<u8>) -> Vec<u8> {
        self.input.replace_memory(blocks)
    }

    /// Decodes the next packet.
    pub fn next_packet(&mut self) -> Option<Packet<'_>> {
        match self.decoder.advance(&mut self.input, &mut self.decoded) {
            Ok(Event::Packet) => Some(self.decoded.packet.lend(&self.input)),
            Ok(_) | Err(_) => None,
        }
    }

    /// Skips the next `bytes` bytes and returns them.
    pub fn take(&mut self, bytes: usize) -> &[u8] {
        let index = self.input.index();
        let bytes = bytes.min(self.input.window().len());
        self.input.consume(bytes);
        self.input.slice(index, bytes)
    }
}
