//! pcapng blocks and options as they are in a file, so that a copy keeps what no field describes.
//!
//! Files are written in the byte order of this machine. The numbers of known blocks and options are
//! converted to it. Contents of unknown ones stay as they are.
//!
//! # Source
//! draft-ietf-opsawg-pcapng.

pub use crate::byte_order::ByteOrder;

/// Types of blocks.
pub mod kind {
    /// Section Header Block.
    pub const SECTION: u32 = 0x0a0d_0d0a;
    /// Interface Description Block.
    pub const INTERFACE: u32 = 1;
    /// Name Resolution Block.
    pub const NAMES: u32 = 4;
    /// Interface Statistics Block.
    pub const STATISTICS: u32 = 5;
    /// Enhanced Packet Block.
    pub const PACKET: u32 = 6;
    /// systemd Journal Export Block.
    pub const JOURNAL: u32 = 9;
    /// Decryption Secrets Block.
    pub const SECRETS: u32 = 10;
    /// Custom Block that programs may copy.
    pub const CUSTOM: u32 = 0x0bad;
    /// Custom Block that programs must not copy to changed files. It is copied, as by other programs.
    pub const CUSTOM_UNCOPIED: u32 = 0x4000_0bad;
}

/// `opt_endofopt`.
const END: u16 = 0;
/// `opt_comment`.
pub const COMMENT: u16 = 1;
/// Custom options: text or bytes, which programs may copy or not.
const CUSTOM_OPTIONS: [u16; 4] = [2988, 2989, 19372, 19373];

/// The options of a block, as in the file: code, length, value padded to four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// The options without `opt_endofopt`.
    pub bytes: &'a [u8],
    /// The byte order of their numbers.
    pub order: ByteOrder,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<'a> Options<'a> {
    /// No options.
    pub const NONE: Self = Self {
        bytes: &[],
        order: ByteOrder::NATIVE,
    };

    /// The options at the start of `bytes`, up to `opt_endofopt` or to an incomplete one.
    pub fn parse(bytes: &'a [u8], order: ByteOrder) -> Self {
        let length = Self { bytes, order }
            .into_iter()
            .map_while(|option| (option.code != END).then_some(option.bytes.len()))
            .sum();
        Self {
            bytes: bytes.get(..length).unwrap_or_default(),
            order,
        }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends them in the byte order of this machine to `out`. `block` is the type of their block.
    pub fn append_to(self, block: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(self.bytes);
        self.make_native(block, &mut out[start..]);
    }

    /// Converts a copy of the options to the byte order of this machine.
    pub(crate) fn make_native(self, block: u32, copy: &mut [u8]) {
        if self.order == ByteOrder::NATIVE {
            return;
        }
        let mut at = 0;
        for option in self {
            let length = option.bytes.len();
            if let Some(copy) = copy.get_mut(at..at + length) {
                swap_words(copy, &[2, 2]);
                let value = 4 + option.value.len();
                swap_value(block, option, &mut copy[4..value]);
            }
            at += length;
        }
    }
}

/// An option with its value as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// Its code.
    pub code: u16,
    /// Its value.
    pub value: &'a [u8],
    /// The whole option with its padding.
    pub bytes: &'a [u8],
}

impl<'a> IntoIterator for Options<'a> {
    type Item = RawOption<'a>;
    type IntoIter = OptionsIter<'a>;

    fn into_iter(self) -> OptionsIter<'a> {
        OptionsIter(self)
    }
}

/// The options one by one.
#[derive(Clone, Debug)]
pub struct OptionsIter<'a>(Options<'a>);

impl<'a> Iterator for OptionsIter<'a> {
    type Item = RawOption<'a>;

    fn next(&mut self) -> Option<RawOption<'a>> {
        let Options { bytes, order } = self.0;
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let [code, length] = [[head[0], head[1]], [head[2], head[3]]].map(|pair| order.u16(pair));
        let length = usize::from(length);
        let value = rest.get(..length)?;
        let end = 4 + length.next_multiple_of(4);
        let (bytes, rest) = bytes.split_at_checked(end)?;
        self.0.bytes = rest;
        Some(RawOption { code, value, bytes })
    }
}

/// Appends an option in the byte order of this machine. A longer value than 65 535 bytes is cut.
pub fn append_option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(u16::MAX.into())];
    out.extend(code.to_ne_bytes());
    out.extend((value.len() as u16).to_ne_bytes());
    out.extend(value);
    out.resize(out.len() + value.len().next_multiple_of(4) - value.len(), 0);
}

/// A block that describes neither a packet nor an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// Its type.
    pub kind: u32,
    /// The byte order of its numbers.
    pub order: ByteOrder,
    /// What is between its two lengths.
    pub body: &'a [u8],
}

impl Block<'_> {
    /// Whether its numbers are in the byte order of this machine, or can be converted to it.
    pub fn is_convertible(&self) -> bool {
        self.order == ByteOrder::NATIVE
            || matches!(
                self.kind,
                kind::NAMES | kind::JOURNAL | kind::SECRETS | kind::CUSTOM | kind::CUSTOM_UNCOPIED
            )
    }

    /// Where the options of a block of names or of secrets begin in its body. `None` for other blocks, and for one without.
    pub fn options_start(&self) -> Option<usize> {
        let Self { order, body, .. } = *self;
        let start = match self.kind {
            kind::NAMES => {
                let mut at = 0;
                let mut records = Options { bytes: body, order }.into_iter();
                // The last one is nrb_record_end.
                records.find(|record| {
                    at += record.bytes.len();
                    record.code == 0
                })?;
                at
            }
            kind::SECRETS => {
                let [_, length] = order.words::<2>(body)?;
                8_usize.saturating_add((length as usize).next_multiple_of(4))
            }
            _ => return None,
        };
        (start < body.len()).then_some(start)
    }

    /// The whole block in the byte order of this machine, as far as [`Self::is_convertible`].
    pub fn encode(&self) -> Vec<u8> {
        let mut body = self.body.to_vec();
        if self.order != ByteOrder::NATIVE {
            match self.kind {
                kind::NAMES => swap_records(self.order, self.body, &mut body),
                kind::SECRETS => swap_words(&mut body, &[4, 4]),
                kind::CUSTOM | kind::CUSTOM_UNCOPIED => swap_words(&mut body, &[4]),
                _ => {}
            }
            if let Some(start) = self.options_start() {
                swap_options(self.order, &self.body[start..], &mut body[start..]);
            }
        }
        encode(self.kind, &body)
    }
}

/// A block in the byte order of this machine.
pub(crate) fn encode(kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = body.len().next_multiple_of(4) - body.len();
    let length = (12 + body.len() + padding) as u32;
    let [kind, length] = [kind, length].map(u32::to_ne_bytes);
    [&kind[..], &length, body, &[0; 3][..padding], &length].concat()
}

/// Reverses the bytes of consecutive numbers of these sizes. Stops at the end of `bytes`.
fn swap_words(mut bytes: &mut [u8], sizes: &[usize]) {
    for &size in sizes {
        let Some((number, rest)) = bytes.split_at_mut_checked(size) else {
            return;
        };
        number.reverse();
        bytes = rest;
    }
}

/// Reverses the numbers in the value of an option.
fn swap_value(block: u32, option: RawOption<'_>, value: &mut [u8]) {
    /// The kind of a hash of the device: Toeplitz.
    const TOEPLITZ: u8 = 5;
    /// Verdicts that are numbers: those of tc and XDP.
    const VERDICT_NUMBERS: [u8; 2] = [1, 2];
    let sizes: &[usize] = match (block, option.code) {
        (kind::PACKET, 3) if option.value.first() == Some(&TOEPLITZ) => {
            return swap_words(&mut value[1..], &[4]);
        }
        (kind::PACKET, 7)
            if option
                .value
                .first()
                .is_some_and(|verdict| VERDICT_NUMBERS.contains(verdict)) =>
        {
            return swap_words(&mut value[1..], &[8]);
        }
        (kind::PACKET, 2 | 6) | (kind::INTERFACE, 10) => &[4],
        (kind::PACKET, 4 | 5) | (kind::INTERFACE, 8 | 14 | 16 | 17) | (kind::STATISTICS, 4..=8) => {
            &[8]
        }
        // Times are two words, the high one first in both byte orders.
        (kind::PACKET, 8) | (kind::STATISTICS, 2 | 3) => &[4, 4],
        (_, code) if CUSTOM_OPTIONS.contains(&code) => &[4],
        _ => &[],
    };
    swap_words(value, sizes);
}

/// Swaps the records of a Name Resolution Block.
fn swap_records(order: ByteOrder, body: &[u8], copy: &mut [u8]) {
    let records = Options { bytes: body, order };
    let mut at = 0;
    for record in records {
        swap_words(&mut copy[at..], &[2, 2]);
        at += record.bytes.len();
        // nrb_record_end
        if record.code == 0 {
            break;
        }
    }
}

fn swap_options(order: ByteOrder, body: &[u8], copy: &mut [u8]) {
    let options = Options::parse(body, order);
    // 0: no known option of these blocks is a number.
    options.make_native(0, copy);
    let end = options.bytes.len();
    swap_words(&mut copy[end..], &[2, 2]);
}
