//! The blocks that describe a capture: section, interfaces, statistics.

use super::{COMMENT, INTERFACE, SECTION, STATISTICS, option_head};
use crate::block::{Options, RawOption, kind};
use crate::model::{Interface, Section, Statistics};

/// Builds a block with options.
struct BlockBuilder {
    bytes: Vec<u8>,
    has_options: bool,
}

impl BlockBuilder {
    fn new(kind: u32) -> Self {
        // The second word becomes the length.
        let bytes = [kind.to_ne_bytes(), [0; 4]].concat();
        Self {
            bytes,
            has_options: false,
        }
    }

    fn word(&mut self, word: u32) {
        self.bytes.extend(word.to_ne_bytes());
    }

    /// A time stamp: the upper half first in both byte orders.
    fn time(&mut self, timestamp_ns: u64) {
        self.word((timestamp_ns >> 32) as u32);
        self.word(timestamp_ns as u32);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.has_options = true;
        self.word(option_head(code, value.len() as u16));
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn text(&mut self, code: u16, text: Option<&String>) {
        if let Some(text) = text {
            self.option(
                code,
                &text.as_bytes()[..text.floor_char_boundary(TEXT_BYTES_MAX)],
            );
        }
    }

    /// Options of another file.
    fn raw(&mut self, options: Options<'_>, block: u32) {
        self.has_options |= !options.is_empty();
        options.append_to(block, &mut self.bytes);
    }

    fn counter(&mut self, code: u16, value: Option<u64>) {
        if let Some(value) = value {
            self.option(code, &value.to_ne_bytes());
        }
    }

    fn option_time(&mut self, code: u16, timestamp_ns: Option<u64>) {
        if let Some(time) = timestamp_ns {
            self.has_options = true;
            self.word(option_head(code, 8));
            self.time(time);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.has_options {
            self.word(0);
        }
        let length = (self.bytes.len() + 4) as u32;
        self.word(length);
        self.bytes[4..8].copy_from_slice(&length.to_ne_bytes());
        self.bytes
    }
}

/// Maximum bytes of text in an option. A longer text is truncated at a whole character. One byte is
/// reserved for the octet before a filter.
const TEXT_BYTES_MAX: usize = u16::MAX as usize - 1;

/// `shb_userappl`.
const APPLICATION: u16 = 4;
/// `if_tsresol` and `if_tsoffset`.
const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;

/// Calls `see` with each of `options` whose code is not in `codes`.
fn each_except(options: Options<'_>, codes: &[u16], mut see: impl FnMut(Options<'_>)) {
    for RawOption { code, bytes, .. } in options {
        if !codes.contains(&code) {
            see(Options { bytes, ..options });
        }
    }
}

/// The Section Header Block, with an unspecified section length.
pub(in super::super) fn section(section: &Section, options: Options<'_>) -> Vec<u8> {
    let mut block = BlockBuilder::new(SECTION);
    block.word(0x1A2B_3C4D);
    block.word(option_head(1, 0)); // version 1.0, laid out as a code and a length are
    block.bytes.extend((-1_i64).to_ne_bytes());
    if !options.is_empty() {
        each_except(options, &[APPLICATION], |other| {
            block.raw(other, kind::SECTION);
        });
        block.text(APPLICATION, section.application.as_ref());
        return block.finish();
    }
    block.text(COMMENT, section.comment.as_ref());
    block.text(2, section.hardware.as_ref());
    block.text(3, section.os.as_ref());
    block.text(APPLICATION, section.application.as_ref());
    block.finish()
}

/// An Interface Description Block.
///
/// The unit of time stamps is nanoseconds without an offset, whatever `interface` says: the times of a
/// [`Packet`](crate::model::Packet) are in nanoseconds since 1970. If there are `options`, the others are written
/// instead of the fields.
pub(in super::super) fn interface(interface: &Interface, options: Options<'_>) -> Vec<u8> {
    let mut block = BlockBuilder::new(INTERFACE);
    block.word(option_head(interface.link_type.0, 0));
    block.word(interface.snaplen);
    if !options.is_empty() {
        let mut has_resolution = false;
        each_except(options, &[OFFSET], |other| {
            // In its place among the others.
            if other.into_iter().any(|option| option.code == RESOLUTION) {
                if !has_resolution {
                    block.option(RESOLUTION, &[9]);
                }
                has_resolution = true;
            } else {
                block.raw(other, kind::INTERFACE);
            }
        });
        if !has_resolution {
            block.option(RESOLUTION, &[9]);
        }
        return block.finish();
    }
    block.text(COMMENT, interface.comment.as_ref());
    block.text(2, interface.name.as_ref());
    block.text(3, interface.description.as_ref());
    if let Some(mac) = interface.mac {
        block.option(6, &mac);
    }
    block.counter(8, interface.speed_bps);
    block.option(RESOLUTION, &[9]); // 10^-9 s
    if let Some(filter) = &interface.filter {
        // A leading 0 announces a filter expression.
        let text = &filter[..filter.floor_char_boundary(TEXT_BYTES_MAX)];
        block.option(11, &[&[0], text.as_bytes()].concat());
    }
    block.text(12, interface.os.as_ref());
    block.text(15, interface.hardware.as_ref());
    block.finish()
}

/// An Interface Statistics Block. Its own time defaults to the end of the capture.
///
/// If there are `options`, they are written instead of the fields, except the times.
pub(in super::super) fn statistics(statistics: &Statistics, options: Options<'_>) -> Vec<u8> {
    let mut block = BlockBuilder::new(STATISTICS);
    block.word(statistics.interface);
    block.time(statistics.timestamp_ns.or(statistics.end_ns).unwrap_or(0));
    if !options.is_empty() {
        for option in options {
            match option.code {
                2 => block.option_time(2, statistics.start_ns),
                3 => block.option_time(3, statistics.end_ns),
                _ => {
                    let bytes = option.bytes;
                    block.raw(Options { bytes, ..options }, kind::STATISTICS);
                }
            }
        }
        return block.finish();
    }
    block.text(COMMENT, statistics.comment.as_ref());
    block.option_time(2, statistics.start_ns);
    block.option_time(3, statistics.end_ns);
    block.counter(4, statistics.received);
    block.counter(5, statistics.interface_dropped);
    block.counter(6, statistics.filter_accepted);
    block.counter(7, statistics.os_dropped);
    block.counter(8, statistics.delivered);
    block.finish()
}
