//! DNS questions and records.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::name::DnsName;
use crate::escaped::{Escaped, Hex, u16_at, u32_at};

/// Most printed bytes of a text.
const TEXT_BYTES: usize = 80;

/// The type of a record or question. `Display` prints its name, or `TYPE65280`.
///
/// # Source
/// IANA, DNS Parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DnsType(pub u16);

impl DnsType {
    /// EDNS, RFC 6891.
    pub const OPT: Self = Self(41);

    fn name(self) -> &'static str {
        match self.0 {
            1 => "A",
            2 => "NS",
            5 => "CNAME",
            6 => "SOA",
            12 => "PTR",
            13 => "HINFO",
            15 => "MX",
            16 => "TXT",
            17 => "RP",
            18 => "AFSDB",
            24 => "SIG",
            25 => "KEY",
            28 => "AAAA",
            29 => "LOC",
            33 => "SRV",
            35 => "NAPTR",
            36 => "KX",
            37 => "CERT",
            39 => "DNAME",
            41 => "OPT",
            43 => "DS",
            44 => "SSHFP",
            46 => "RRSIG",
            47 => "NSEC",
            48 => "DNSKEY",
            50 => "NSEC3",
            51 => "NSEC3PARAM",
            52 => "TLSA",
            59 => "CDS",
            60 => "CDNSKEY",
            61 => "OPENPGPKEY",
            64 => "SVCB",
            65 => "HTTPS",
            99 => "SPF",
            249 => "TKEY",
            250 => "TSIG",
            251 => "IXFR",
            252 => "AXFR",
            255 => "ANY",
            256 => "URI",
            257 => "CAA",
            _ => "",
        }
    }
}

impl fmt::Display for DnsType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "" => write!(f, "TYPE{}", self.0),
            name => f.write_str(name),
        }
    }
}

/// What a DNS message asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DnsQuestion<'a> {
    /// The name asked about.
    pub name: DnsName<'a>,
    /// The type of the records asked for.
    pub kind: DnsType,
    /// The class, 1 for the Internet. In multicast DNS the top bit asks for a unicast answer.
    pub class: u16,
}

/// The section of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsSection {
    /// Answers.
    Answer,
    /// Name servers with authority.
    Authority,
    /// Additional records.
    Additional,
}

/// A record. `Display` prints its type and data: `MX 10 mail.example.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DnsRecord<'a> {
    /// Where it stands.
    pub section: DnsSection,
    /// The name that it belongs to.
    pub name: DnsName<'a>,
    /// Its type.
    pub kind: DnsType,
    /// Its class; for OPT the UDP payload size.
    pub class: u16,
    /// Seconds for which it may be cached; for OPT flags.
    pub ttl: u32,
    /// Its data.
    pub data: &'a [u8],
    pub(super) message: &'a [u8],
    /// Offset of the data in the message.
    pub(super) at: usize,
}

impl<'a> DnsRecord<'a> {
    /// The name at byte `skip` of the data.
    fn name_at(&self, skip: usize) -> Option<(DnsName<'a>, usize)> {
        let (name, end) = DnsName::split(self.message, self.at + skip)?;
        (end <= self.at + self.data.len()).then_some((name, end - self.at))
    }

    /// Prints the data; `None` if it does not fit the type.
    fn write_data(&self, f: &mut fmt::Formatter<'_>) -> Option<fmt::Result> {
        let data = self.data;
        Some(match self.kind.0 {
            1 => write!(f, " {}", Ipv4Addr::from_octets(data.try_into().ok()?)),
            28 => write!(f, " {}", Ipv6Addr::from_octets(data.try_into().ok()?)),
            2 | 5 | 12 | 39 => write!(f, " {}", self.name_at(0)?.0),
            6 => {
                let (server, skip) = self.name_at(0)?;
                let (mailbox, skip) = self.name_at(skip)?;
                write!(f, " {server} {mailbox} {}", u32_at(data, skip)?)
            }
            15 | 64 | 65 => write!(f, " {} {}", u16_at(data, 0)?, self.name_at(2)?.0),
            16 | 99 => write_texts(f, data),
            33 => {
                let (priority, weight) = (u16_at(data, 0)?, u16_at(data, 2)?);
                let (port, target) = (u16_at(data, 4)?, self.name_at(6)?.0);
                write!(f, " {target}:{port} {priority} {weight}")
            }
            41 => write!(f, " UDPsize={}", self.class),
            43 => write!(f, " {} {} {}", u16_at(data, 0)?, data.get(2)?, data.get(3)?),
            46 => write!(f, " {}", DnsType(u16_at(data, 0)?)),
            256 => {
                let target = Escaped::new(data.get(4..)?, TEXT_BYTES);
                write!(f, " {} {} \"{target}\"", u16_at(data, 0)?, u16_at(data, 2)?)
            }
            257 => {
                let (tag, value) = data
                    .get(2..)?
                    .split_at_checked(usize::from(*data.get(1)?))?;
                let (tag, value) = (Escaped::new(tag, 15), Escaped::new(value, TEXT_BYTES));
                write!(f, " {} {tag} \"{value}\"", data.first()?)
            }
            _ if data.is_empty() => Ok(()),
            _ => write!(f, " 0x{}", Hex(data)),
        })
    }
}

impl fmt::Display for DnsRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        self.write_data(f)
            .unwrap_or_else(|| f.write_str(" <invalid>"))
    }
}

/// Texts of at most 255 bytes each.
fn write_texts(f: &mut fmt::Formatter<'_>, mut data: &[u8]) -> fmt::Result {
    while let Some((&len, rest)) = data.split_first() {
        let len = usize::from(len).min(rest.len());
        let (text, rest) = rest.split_at(len);
        write!(f, " \"{}\"", Escaped::new(text, TEXT_BYTES))?;
        data = rest;
    }
    Ok(())
}
