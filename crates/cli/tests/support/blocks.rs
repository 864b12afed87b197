//! The blocks of a pcapng file as one line each, in the words of the specification, whatever the byte order and the
//! unit of time. Independent of the reader under test.

use std::collections::BTreeMap;
use std::fmt::Write;

pub const SECTION: u32 = 0x0a0d_0d0a;
const MAGIC: u32 = 0x1a2b_3c4d;

/// Whose options a program replaces or adds: `shb_userappl`, `if_tsresol`, `if_tsoffset`.
const OWN: [(u32, u16); 3] = [(SECTION, 4), (1, 9), (1, 14)];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The type of block: those of packets are all alike, except simple ones.
    pub what: &'static str,
    /// The interface, counted through all sections.
    pub interface: Option<usize>,
    /// Everything but the interface and the options.
    pub text: String,
    /// Code and value of each option.
    pub options: Vec<String>,
}

struct Order(bool);

impl Order {
    fn number(&self, bytes: &[u8]) -> u64 {
        let fold = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if self.0 {
            bytes.iter().fold(0, fold)
        } else {
            bytes.iter().rev().fold(0, fold)
        }
    }

    fn word(&self, bytes: &[u8], index: usize) -> u32 {
        self.number(&bytes[4 * index..][..4]) as u32
    }

    /// The options, and where they end.
    fn options<'a>(&self, bytes: &'a [u8]) -> Vec<(u16, &'a [u8])> {
        let (mut all, mut at) = (Vec::new(), 0);
        while at + 4 <= bytes.len() {
            let code = self.number(&bytes[at..at + 2]) as u16;
            let length = self.number(&bytes[at + 2..at + 4]) as usize;
            if code == 0 {
                break;
            }
            all.push((code, &bytes[at + 4..][..length]));
            at += 4 + length.next_multiple_of(4);
        }
        all
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The unit and offset of an interface's time stamps.
#[derive(Clone, Copy)]
struct Clock {
    resolution: u8,
    offset_s: i64,
}

impl Clock {
    fn nanoseconds(self, ticks: u64) -> i128 {
        let exponent = u32::from(self.resolution & 0x7f);
        let ns = if self.resolution & 0x80 == 0 {
            i128::from(ticks) * 1_000_000_000 / 10_i128.pow(exponent)
        } else {
            (i128::from(ticks) * 1_000_000_000) >> exponent
        };
        ns + i128::from(self.offset_s) * 1_000_000_000
    }
}

/// The lines of all blocks.
pub fn lines(file: &str) -> Vec<Line> {
    parse(&std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}")))
}

pub fn parse(mut bytes: &[u8]) -> Vec<Line> {
    let (mut order, mut first, mut clocks) = (Order(false), 0, Vec::<Clock>::new());
    let mut lines = Vec::new();
    while bytes.len() >= 12 {
        if order.word(bytes, 0) == SECTION {
            order = Order(u32::from_be_bytes(*bytes[8..].first_chunk().expect("magic")) == MAGIC);
            first += clocks.len();
            clocks.clear();
        }
        let length = order.word(bytes, 1) as usize;
        let block = Block {
            kind: order.word(bytes, 0),
            body: &bytes[8..length - 4],
            order: &order,
            first,
        };
        if block.kind == 1 {
            clocks.push(block.clock());
        }
        lines.push(block.line(&clocks));
        bytes = &bytes[length.next_multiple_of(4)..];
    }
    lines
}

struct Block<'a> {
    kind: u32,
    body: &'a [u8],
    order: &'a Order,
    first: usize,
}

impl Block<'_> {
    fn clock(&self) -> Clock {
        let options: BTreeMap<u16, &[u8]> = self
            .order
            .options(&self.body[8..])
            .into_iter()
            .rev()
            .collect();
        Clock {
            resolution: options.get(&9).map_or(6, |value| value[0]),
            offset_s: options
                .get(&14)
                .map_or(0, |value| self.order.number(value).cast_signed()),
        }
    }

    fn line(&self, clocks: &[Clock]) -> Line {
        let word = |index| self.order.word(self.body, index);
        let packet = |interface: usize, captured: usize| {
            let time = u64::from(word(1)) << 32 | u64::from(word(2));
            let text = format!(
                "time {} of {} bytes {}",
                clocks[interface].nanoseconds(time),
                word(4),
                hex(&self.body[20..][..captured])
            );
            let options = &self.body[20 + captured.next_multiple_of(4)..];
            (Some(interface), text, options)
        };
        let mut drops = None;
        let (what, (interface, text, options)) = match self.kind {
            SECTION => ("section", (None, String::new(), &self.body[16..])),
            1 => {
                let link = self.order.number(&self.body[..2]);
                let text = format!("link {link} snaplen {}", word(1));
                ("interface", (Some(clocks.len() - 1), text, &self.body[8..]))
            }
            2 => {
                let interface = self.order.number(&self.body[..2]) as usize;
                drops = Some(self.order.number(&self.body[2..4])).filter(|&it| it != 0xffff);
                ("packet", packet(interface, word(3) as usize))
            }
            6 => ("packet", packet(word(0) as usize, word(3) as usize)),
            3 => {
                let text = format!("of {} bytes {}", word(0), hex(&self.body[4..]));
                ("simple packet", (Some(0), text, &[][..]))
            }
            5 => {
                let time = u64::from(word(1)) << 32 | u64::from(word(2));
                let ns = clocks[word(0) as usize].nanoseconds(time);
                let text = format!("time {ns}");
                (
                    "statistics",
                    (Some(word(0) as usize), text, &self.body[12..]),
                )
            }
            4 => ("names", self.names()),
            10 => {
                let length = word(1) as usize;
                let text = format!("{:x} {}", word(0), hex(&self.body[8..][..length]));
                let rest = &self.body[8 + length.next_multiple_of(4)..];
                ("secrets", (None, text, rest))
            }
            0x0bad | 0x4000_0bad => {
                let text = format!("{:x} {} {}", self.kind, word(0), hex(&self.body[4..]));
                ("custom", (None, text, &[][..]))
            }
            9 => ("journal", (None, hex(self.body), &[][..])),
            kind => (
                "unknown",
                (None, format!("{kind:x} {}", hex(self.body)), &[][..]),
            ),
        };
        let mut shown: Vec<_> = self
            .order
            .options(options)
            .into_iter()
            .filter(|(code, _)| !OWN.contains(&(self.kind, *code)))
            .map(|(code, value)| {
                let clock = interface.and_then(|interface| clocks.get(interface));
                format!("{code} {}", self.value(code, value, clock.copied()))
            })
            .collect();
        shown.extend(drops.map(|drops| format!("4 {drops}")));
        Line {
            what,
            interface: interface.map(|interface| self.first + interface),
            text,
            options: shown,
        }
    }

    fn names(&self) -> (Option<usize>, String, &[u8]) {
        let (mut text, mut at) = (String::new(), 0);
        while at + 4 <= self.body.len() {
            let kind = self.order.number(&self.body[at..at + 2]);
            let length = self.order.number(&self.body[at + 2..at + 4]) as usize;
            text = format!("{text}{kind} {} ", hex(&self.body[at + 4..][..length]));
            at += 4 + length.next_multiple_of(4);
            if kind == 0 {
                break;
            }
        }
        (None, text, &self.body[at..])
    }

    /// The value of an option.
    fn value(&self, code: u16, value: &[u8], clock: Option<Clock>) -> String {
        let number = |bytes| self.order.number(bytes).to_string();
        match (self.kind, code) {
            (_, 2988 | 2989 | 19372 | 19373) => {
                format!("{} {}", number(&value[..4]), hex(&value[4..]))
            }
            (2 | 6, 2) | (6, 4..=6) | (5, 4..=8) | (1, 8 | 10 | 16 | 17) => number(value),
            (2 | 6, 3) if value[0] == 5 => format!("toeplitz {}", number(&value[1..])),
            (6, 7) if value[0] != 0 => format!("{} {}", value[0], number(&value[1..])),
            (6, 8) => format!("{} {}", number(&value[..4]), number(&value[4..])),
            (5, 2 | 3) => {
                let ticks = self.order.number(&value[..4]) << 32 | self.order.number(&value[4..]);
                clock.map_or(String::new(), |clock| clock.nanoseconds(ticks).to_string())
            }
            _ => hex(value),
        }
    }
}

/// Builds a file in either byte order.
pub struct Build {
    pub is_big: bool,
    pub bytes: Vec<u8>,
}

impl Build {
    pub fn u16(&self, number: u16) -> Vec<u8> {
        let bytes = number.to_be_bytes();
        self.turned(&bytes)
    }

    pub fn u32(&self, number: u32) -> Vec<u8> {
        self.turned(&number.to_be_bytes())
    }

    pub fn u64(&self, number: u64) -> Vec<u8> {
        self.turned(&number.to_be_bytes())
    }

    fn turned(&self, bytes: &[u8]) -> Vec<u8> {
        if self.is_big {
            bytes.to_vec()
        } else {
            bytes.iter().rev().copied().collect()
        }
    }

    /// Adds a block with this fixed part and these options.
    pub fn block(&mut self, kind: u32, fixed: &[Vec<u8>], options: &[(u16, Vec<u8>)]) {
        let mut body = padded(&fixed.concat());
        for (code, value) in options {
            body.extend([self.u16(*code), self.u16(value.len() as u16), padded(value)].concat());
        }
        if !options.is_empty() {
            body.extend([0; 4]);
        }
        let length = self.u32(body.len() as u32 + 12);
        let block = [self.u32(kind), length.clone(), body, length].concat();
        self.bytes.extend(block);
    }
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
