//! DNS messages.

use std::fmt;

use super::name::DnsName;
use super::record::{DnsQuestion, DnsRecord, DnsSection, DnsType};
use crate::error::{Truncated, split_header};
use crate::escaped::{u16_at, u32_at};

/// Most questions and records that are parsed of a message; so a message of 64 KiB cannot print megabytes.
const MAX_PARSED: usize = 64;

/// A DNS message.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-------------------------------+-+-------+-+-+-+-+-+-+-+-------+
/// |          identifier           |R| opcode|A|T|R|R|0|A|C| rcode |
/// +-------------------------------+-+-------+A+C+D+A+-+D+D+-------+
/// |           questions           |            answers            |
/// +-------------------------------+-------------------------------+
/// |       authority records       |       additional records      |
/// +-------------------------------+-------------------------------+
/// |                questions, then records ...                    |
/// +---------------------------------------------------------------+
/// ```
///
/// `Display` prints queries as `4711+ A? example.com.` and responses as
/// `4711 1/0/0 A? example.com. A 192.0.2.1`, with tcpdump's marks: `+` recursion desired, `-` not available,
/// `*` authoritative, `|` truncated, `$` authentic data, `%` checking disabled. The alternate form (`{:#}`) adds
/// names and TTLs of the records, and those of all sections.
///
/// # Source
/// RFC 1035, 4.1; RFC 4035, 3.1.6; RFC 6762 for multicast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dns<'a> {
    header: &'a [u8; 12],
    message: &'a [u8],
}

/// The flags of a [`Dns`] message: the second word of its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DnsFlags(pub u16);

impl DnsFlags {
    /// Response.
    pub const RESPONSE: Self = Self(0x8000);
    /// Authoritative answer.
    pub const AUTHORITATIVE: Self = Self(0x0400);
    /// Truncated.
    pub const TRUNCATED: Self = Self(0x0200);
    /// Recursion desired.
    pub const RECURSION_DESIRED: Self = Self(0x0100);
    /// Recursion available.
    pub const RECURSION_AVAILABLE: Self = Self(0x0080);
    /// Authentic data.
    pub const AUTHENTIC: Self = Self(0x0020);
    /// Checking disabled.
    pub const CHECKING_DISABLED: Self = Self(0x0010);

    /// Whether all of `flags` are set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Operation, 0 for a query.
    pub const fn opcode(self) -> u8 {
        (self.0 >> 11 & 0xf) as u8
    }

    /// Response code, 0 for success.
    pub const fn rcode(self) -> u8 {
        (self.0 & 0xf) as u8
    }
}

impl<'a> Dns<'a> {
    /// Length of the header.
    pub const LEN: usize = 12;

    /// Parses the message `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes for the header.
    pub fn parse(bytes: &'a [u8], at: usize) -> Result<Self, Truncated> {
        let (header, _) = split_header("DNS", bytes, at)?;
        Ok(Self {
            header,
            message: bytes,
        })
    }

    /// Identifier.
    pub fn id(&self) -> u16 {
        self.word(0)
    }

    /// Flags, operation and response code.
    pub fn flags(&self) -> DnsFlags {
        DnsFlags(self.word(2))
    }

    /// Number of questions according to the header.
    pub fn question_count(&self) -> u16 {
        self.word(4)
    }

    /// Numbers of answers, authority records and additional records according to the header.
    pub fn record_counts(&self) -> [u16; 3] {
        [self.word(6), self.word(8), self.word(10)]
    }

    /// The questions, as far as they can be parsed, at most 64.
    pub fn questions(&self) -> impl Iterator<Item = DnsQuestion<'a>> {
        self.parse_questions()
    }

    /// The records, as far as they can be parsed, at most 64.
    pub fn records(&self) -> impl Iterator<Item = DnsRecord<'a>> {
        let mut questions = self.parse_questions();
        let asked = questions.by_ref().count();
        let is_complete = asked == usize::from(self.question_count());
        let mut at = questions.at;
        let (message, counts) = (self.message, self.record_counts());
        let kinds = [
            DnsSection::Answer,
            DnsSection::Authority,
            DnsSection::Additional,
        ];
        let all = kinds
            .into_iter()
            .zip(counts)
            .flat_map(|(kind, count)| std::iter::repeat_n(kind, usize::from(count)));
        all.take(if is_complete { MAX_PARSED } else { 0 })
            .map_while(move |section| {
                let (record, end) = split_record(message, at, section)?;
                at = end;
                Some(record)
            })
    }

    /// Response code, with the 8 bits that EDNS adds (RFC 6891, 6.1.3).
    pub fn extended_rcode(&self) -> u16 {
        let low = u16::from(self.flags().rcode());
        let edns = self.records().find(|record| record.kind == DnsType::OPT);
        edns.map_or(low, |record| (record.ttl >> 24) as u16 * 16 + low)
    }

    fn parse_questions(&self) -> Questions<'a> {
        Questions {
            message: self.message,
            at: Self::LEN,
            left: usize::from(self.question_count()).min(MAX_PARSED),
        }
    }

    /// Whether this is likely a message, for payloads of ports that other protocols may use.
    pub(crate) fn is_plausible(&self) -> bool {
        let counts = self.record_counts();
        let is_known = matches!(self.flags().opcode(), 0..=2 | 4..=6);
        let first = self.questions().next();
        is_known && self.question_count() <= 16 && counts[0] <= 1024 && first.is_some()
    }

    fn word(self, at: usize) -> u16 {
        u16::from_be_bytes([self.header[at], self.header[at + 1]])
    }

    fn write_marks(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = self.flags();
        let is_response = flags.contains(DnsFlags::RESPONSE);
        let marks = [
            (
                flags.contains(DnsFlags::RECURSION_DESIRED) && !is_response,
                "+",
            ),
            (flags.contains(DnsFlags::AUTHORITATIVE), "*"),
            (
                is_response && !flags.contains(DnsFlags::RECURSION_AVAILABLE),
                "-",
            ),
            (flags.contains(DnsFlags::TRUNCATED), "|"),
            (flags.contains(DnsFlags::AUTHENTIC), "$"),
            (flags.contains(DnsFlags::CHECKING_DISABLED), "%"),
        ];
        (marks.iter().filter(|(is_set, _)| *is_set)).try_for_each(|(_, mark)| f.write_str(mark))?;
        match opcode_name(flags.opcode()) {
            "" => write!(f, " opcode {}", flags.opcode()),
            "query" => Ok(()),
            name => write!(f, " {name}"),
        }?;
        let rcode = self.extended_rcode();
        match rcode_name(rcode) {
            "" => write!(f, " rcode {rcode}"),
            "NoError" => Ok(()),
            name => write!(f, " {name}"),
        }
    }

    fn write_records(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_long = f.alternate();
        let is_shown = |record: &DnsRecord<'_>| is_long || record.section == DnsSection::Answer;
        let mut separator = " ";
        let mut section = DnsSection::Answer;
        let mut shown = 0;
        for record in self.records().filter(is_shown) {
            if record.section != section {
                section = record.section;
                f.write_str(match section {
                    DnsSection::Additional => " additional:",
                    _ => " authority:",
                })?;
                separator = " ";
            }
            f.write_str(separator)?;
            separator = ", ";
            if is_long && record.kind != DnsType::OPT {
                write!(f, "{} {}s ", record.name, record.ttl)?;
            }
            write!(f, "{record}")?;
            shown += 1;
        }
        let counts = self.record_counts().map(usize::from);
        let all = if is_long {
            counts.iter().sum()
        } else {
            counts[0]
        };
        match all - shown.min(all) {
            0 => Ok(()),
            more => write!(f, " [{more} more]"),
        }
    }
}

impl fmt::Display for Dns<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id())?;
        self.write_marks(f)?;
        let [answers, authority, additional] = self.record_counts();
        if self.flags().contains(DnsFlags::RESPONSE) {
            write!(f, " {answers}/{authority}/{additional}")?;
        }
        let mut parsed = 0;
        for question in self.questions() {
            write!(f, " {}", question.kind)?;
            if question.class & 0x8000 != 0 {
                f.write_str(" (QU)")?;
            }
            write!(f, "? {}", question.name)?;
            parsed += 1;
        }
        match usize::from(self.question_count()) - parsed {
            0 => self.write_records(f),
            more => write!(f, " [{more} more questions]"),
        }
    }
}

struct Questions<'a> {
    message: &'a [u8],
    at: usize,
    left: usize,
}

impl<'a> Iterator for Questions<'a> {
    type Item = DnsQuestion<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (name, end) = DnsName::split(self.message, self.at)?;
        let kind = DnsType(u16_at(self.message, end)?);
        let class = u16_at(self.message, end + 2)?;
        self.at = end + 4;
        Some(DnsQuestion { name, kind, class })
    }
}

/// The record at byte `at` of `message`, and the offset after it.
fn split_record(message: &[u8], at: usize, section: DnsSection) -> Option<(DnsRecord<'_>, usize)> {
    let (name, end) = DnsName::split(message, at)?;
    let len = usize::from(u16_at(message, end + 8)?);
    let at = end + 10;
    let record = DnsRecord {
        section,
        name,
        kind: DnsType(u16_at(message, end)?),
        class: u16_at(message, end + 2)?,
        ttl: u32_at(message, end + 4)?,
        data: message.get(at..at + len)?,
        message,
        at,
    };
    Some((record, at + len))
}

fn opcode_name(opcode: u8) -> &'static str {
    match opcode {
        0 => "query",
        1 => "inverse query",
        2 => "status",
        4 => "notify",
        5 => "update",
        6 => "stateful",
        _ => "",
    }
}

fn rcode_name(rcode: u16) -> &'static str {
    match rcode {
        0 => "NoError",
        1 => "FormErr",
        2 => "ServFail",
        3 => "NXDomain",
        4 => "NotImp",
        5 => "Refused",
        6 => "YXDomain",
        7 => "YXRRSet",
        8 => "NXRRSet",
        9 => "NotAuth",
        10 => "NotZone",
        16 => "BadVers",
        23 => "BadCookie",
        _ => "",
    }
}
