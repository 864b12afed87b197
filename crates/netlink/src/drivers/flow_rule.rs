//! Rules that choose the queue of a flow, with the words of `ethtool -N`.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use abi::ethtool::{ANY_LOCATION, FlowSpec};

use crate::error::InvalidRequest;
use crate::values::interface::MacAddress;

/// What a rule is for also has a VLAN tag (`FLOW_EXT`).
const WITH_TAG: u32 = 0x8000_0000;
/// The queue of packets that are dropped (`RX_CLS_FLOW_DISC`).
const DROP: u64 = u64::MAX;
/// Where the tag is in `FlowSpec::extension`, bytes.
const TAG_AT: usize = 10;

/// Packets of one protocol, for rules and hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlowType {
    /// Any Ethernet frame.
    Ether,
    /// IPv4, whatever it carries.
    Ip4,
    /// TCP over IPv4.
    Tcp4,
    /// UDP over IPv4.
    Udp4,
    /// SCTP over IPv4.
    Sctp4,
    /// IPv6, whatever it carries.
    Ip6,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over IPv6.
    Udp6,
    /// SCTP over IPv6.
    Sctp6,
}

use FlowType::{Ether, Ip4, Ip6, Sctp4, Sctp6, Tcp4, Tcp6, Udp4, Udp6};

impl FlowType {
    /// All of them.
    pub const ALL: [Self; 9] = [Ether, Ip4, Tcp4, Udp4, Sctp4, Ip6, Tcp6, Udp6, Sctp6];

    /// Its name in ethtool(8).
    pub const fn name(self) -> &'static str {
        match self {
            Ether => "ether",
            Ip4 => "ip4",
            Tcp4 => "tcp4",
            Udp4 => "udp4",
            Sctp4 => "sctp4",
            Ip6 => "ip6",
            Tcp6 => "tcp6",
            Udp6 => "udp6",
            Sctp6 => "sctp6",
        }
    }

    /// The type with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flow| flow.name() == name)
    }

    /// Its number in rules.
    fn of_rules(self) -> u32 {
        match self {
            Ether => 0x12,
            Ip4 => 0x0d,
            Tcp4 => 1,
            Udp4 => 2,
            Sctp4 => 3,
            Ip6 => 0x0e,
            Tcp6 => 5,
            Udp6 => 6,
            Sctp6 => 7,
        }
    }

    /// Its number where the fields of a hash are set.
    pub(super) fn of_hashes(self) -> u32 {
        match self {
            Ip4 => 0x10,
            Ip6 => 0x11,
            other => other.of_rules(),
        }
    }

    /// The fields of a packet that a rule compares: word, first byte, and form.
    ///
    /// # Source
    /// `union ethtool_flow_union`, linux/ethtool.h.
    fn fields(self) -> &'static [(&'static str, usize, Form)] {
        use Form::{Ipv4, Ipv6, Mac, Number};
        match self {
            Ether => &[("dst", 0, Mac), ("src", 6, Mac), ("proto", 12, Number(2))],
            Ip4 => &[
                ("src-ip", 0, Ipv4),
                ("dst-ip", 4, Ipv4),
                ("tos", 12, Number(1)),
                ("l4proto", 14, Number(1)),
            ],
            Tcp4 | Udp4 | Sctp4 => &[
                ("src-ip", 0, Ipv4),
                ("dst-ip", 4, Ipv4),
                ("src-port", 8, Number(2)),
                ("dst-port", 10, Number(2)),
                ("tos", 12, Number(1)),
            ],
            Ip6 => &[
                ("src-ip", 0, Ipv6),
                ("dst-ip", 16, Ipv6),
                ("tclass", 36, Number(1)),
                ("l4proto", 37, Number(1)),
            ],
            Tcp6 | Udp6 | Sctp6 => &[
                ("src-ip", 0, Ipv6),
                ("dst-ip", 16, Ipv6),
                ("src-port", 32, Number(2)),
                ("dst-port", 34, Number(2)),
                ("tclass", 36, Number(1)),
            ],
        }
    }
}

impl fmt::Display for FlowType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a field is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    Ipv4,
    Ipv6,
    Mac,
    /// Of this many bytes.
    Number(usize),
}

/// A rule of a device: the queue of the packets that have the given fields. Its text is what `ethtool -N` takes, with masks
/// behind a slash: `flow-type udp4 src-ip 10.0.0.0/8 dst-port 4789 action 2 loc 7`. An action of -1 drops the packets.
/// Without `loc` the rule gets a free place. Bits of a mask that are 1 are compared.
///
/// Linux has more kinds of rules. They are shown as far as these words go, and cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRule {
    pub(super) spec: FlowSpec,
}

impl FlowRule {
    /// The packets it is for; `None` if they are of another kind.
    pub fn flow_type(&self) -> Option<FlowType> {
        let number = self.spec.flow_type & !WITH_TAG;
        FlowType::ALL
            .into_iter()
            .find(|flow| flow.of_rules() == number)
    }

    /// The queue; `None` if the packets are dropped.
    pub fn queue(&self) -> Option<u64> {
        (self.spec.queue != DROP).then_some(self.spec.queue)
    }

    /// Its number among the device's rules; `None` before it has one. Rules with low numbers come first.
    pub fn location(&self) -> Option<u32> {
        (self.spec.location != ANY_LOCATION).then_some(self.spec.location)
    }

    /// The same rule with this number, or with any.
    #[must_use]
    pub fn at(mut self, location: Option<u32>) -> Self {
        self.spec.location = location.unwrap_or(ANY_LOCATION);
        self
    }
}

impl FromStr for FlowRule {
    type Err = InvalidRequest;

    fn from_str(text: &str) -> Result<Self, InvalidRequest> {
        let mut words = text.split_ascii_whitespace();
        let wrong = |reason: String| InvalidRequest::new(reason);
        let flow = match (words.next(), words.next()) {
            (Some("flow-type"), Some(name)) => FlowType::named(name),
            _ => None,
        };
        let names = FlowType::ALL.map(FlowType::name).join("|");
        let flow = flow.ok_or_else(|| wrong(format!("a rule begins with 'flow-type {names}'")))?;
        let mut spec = FlowSpec::new(flow.of_rules());
        let (mut fields, mut mask) = (bytes(spec.fields), bytes(spec.field_mask));
        if flow == Ip4 {
            // The version, which the kernel requires (`ETH_RX_NFC_IP4`).
            fields[13] = 1;
        }
        let mut queue = None;
        while let Some(word) = words.next() {
            let value = words.next();
            let value = value.ok_or_else(|| wrong(format!("a value is missing after '{word}'")))?;
            let invalid = || wrong(format!("{value:?} is not a value of '{word}'"));
            match word {
                "action" if value == "-1" => queue = Some(DROP),
                "action" => {
                    let number: u32 = value.parse().map_err(|_| invalid())?;
                    queue = Some(number.into());
                }
                "loc" => {
                    let number = value.parse().ok();
                    spec.location = number
                        .filter(|&number| number < 1 << 31)
                        .ok_or_else(invalid)?;
                }
                "vlan" => {
                    let (tag, tag_mask) = Form::Number(2).parse(value).ok_or_else(invalid)?;
                    spec.flow_type |= WITH_TAG;
                    put(&mut spec.extension, TAG_AT, &tag);
                    put(&mut spec.extension_mask, TAG_AT, &tag_mask);
                }
                word => {
                    let known = flow.fields().iter().find(|field| field.0 == word);
                    let &(_, at, form) = known.ok_or_else(|| {
                        let known: Vec<_> = flow.fields().iter().map(|field| field.0).collect();
                        let known = known.join(", ");
                        wrong(format!(
                            "a rule for {flow} has no '{word}' (it has {known}, vlan, action, loc)"
                        ))
                    })?;
                    let (value, value_mask) = form.parse(value).ok_or_else(invalid)?;
                    fields[at..][..value.len()].copy_from_slice(&value);
                    mask[at..][..value.len()].copy_from_slice(&value_mask);
                }
            }
        }
        spec.fields = words_of(&fields);
        spec.field_mask = words_of(&mask);
        let missing = "a rule needs an action: the number of a queue, or -1 to drop";
        spec.queue = queue.ok_or_else(|| wrong(missing.to_owned()))?;
        Ok(Self { spec })
    }
}

impl fmt::Display for FlowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        let (fields, mask) = (bytes(spec.fields), bytes(spec.field_mask));
        match self.flow_type() {
            Some(flow) => {
                write!(f, "flow-type {flow}")?;
                for &(word, at, form) in flow.fields() {
                    let mask = &mask[at..][..form.bytes()];
                    if mask.iter().any(|byte| *byte != 0) {
                        let value = &fields[at..][..form.bytes()];
                        write!(f, " {word} {}", form.text(value, mask))?;
                    }
                }
            }
            None => write!(f, "flow-type {:#x}", spec.flow_type)?,
        }
        if spec.flow_type & WITH_TAG != 0 {
            let [tag, mask] = [spec.extension, spec.extension_mask].map(bytes);
            let [tag, mask] = [&tag, &mask].map(|bytes| &bytes[TAG_AT..][..2]);
            write!(f, " vlan {}", Form::Number(2).text(tag, mask))?;
        }
        match self.queue() {
            Some(queue) => write!(f, " action {queue}")?,
            None => write!(f, " action -1")?,
        }
        match self.location() {
            Some(location) => write!(f, " loc {location}"),
            None => Ok(()),
        }
    }
}

impl Form {
    fn bytes(self) -> usize {
        match self {
            Self::Ipv4 => 4,
            Self::Ipv6 => 16,
            Self::Mac => 6,
            Self::Number(bytes) => bytes,
        }
    }

    /// The value and its mask: `VALUE`, `VALUE/MASK`, for addresses of IP also `VALUE/LENGTH`.
    fn parse(self, text: &str) -> Option<(Vec<u8>, Vec<u8>)> {
        let (value, mask) = match text.split_once('/') {
            Some((value, mask)) => (value, Some(mask)),
            None => (text, None),
        };
        let mut value = self.value(value)?;
        let mask = match mask {
            None => vec![0xff; value.len()],
            Some(mask) => self.length(mask).or_else(|| self.value(mask))?,
        };
        // Equal rules have equal bits, also where they compare nothing.
        for (byte, mask) in value.iter_mut().zip(&mask) {
            *byte &= mask;
        }
        Some((value, mask))
    }

    /// The mask of a prefix with this length.
    fn length(self, text: &str) -> Option<Vec<u8>> {
        let length: usize = text.parse().ok()?;
        let is_ip = matches!(self, Self::Ipv4 | Self::Ipv6);
        if !is_ip || length > self.bytes() * 8 {
            return None;
        }
        let byte = |index: usize| match length.saturating_sub(index * 8) {
            8.. => 0xff,
            bits => !(0xff_u16 >> bits) as u8,
        };
        Some((0..self.bytes()).map(byte).collect())
    }

    fn value(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Ipv4 => {
                let address: Ipv4Addr = text.parse().ok()?;
                Some(address.octets().to_vec())
            }
            Self::Ipv6 => {
                let address: Ipv6Addr = text.parse().ok()?;
                Some(address.octets().to_vec())
            }
            Self::Mac => {
                let address: MacAddress = text.parse().ok()?;
                Some(address.0.to_vec())
            }
            Self::Number(bytes) => {
                let number: u64 = crate::schema::c_number(text)?;
                let all = number.to_be_bytes();
                let (above, number) = all.split_at(8 - bytes);
                let fits = above.iter().all(|byte| *byte == 0);
                fits.then(|| number.to_vec())
            }
        }
    }

    fn text(self, value: &[u8], mask: &[u8]) -> String {
        let plain = self.plain(value);
        if mask.iter().all(|byte| *byte == 0xff) {
            return plain;
        }
        if matches!(self, Self::Ipv4 | Self::Ipv6) {
            let ones: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
            let length = ones.to_string();
            if self.length(&length).as_deref() == Some(mask) {
                return format!("{plain}/{length}");
            }
        }
        match self {
            Self::Number(_) => format!("{plain}/{:#x}", number(mask)),
            _ => format!("{plain}/{}", self.plain(mask)),
        }
    }

    fn plain(self, value: &[u8]) -> String {
        match self {
            Self::Ipv4 => array(value).map(Ipv4Addr::from).map(|ip| ip.to_string()),
            Self::Ipv6 => array(value).map(Ipv6Addr::from).map(|ip| ip.to_string()),
            Self::Mac => array(value).map(MacAddress).map(|mac| mac.to_string()),
            Self::Number(_) => Some(number(value).to_string()),
        }
        .unwrap_or_default()
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

/// A number in network byte order.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn bytes<const N: usize>(words: [u32; N]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn words_of<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_ne_bytes(*bytes);
    }
    words
}

fn put<const N: usize>(words: &mut [u32; N], at: usize, value: &[u8]) {
    let mut all = bytes(*words);
    all[at..][..value.len()].copy_from_slice(value);
    *words = words_of(&all);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        for text in [
            "flow-type ether dst 02:00:00:00:00:01 proto 34525 action 1",
            "flow-type ether src 02:00:00:00:00:00/ff:ff:ff:00:00:00 action -1 loc 3",
            "flow-type ip4 src-ip 10.0.0.0/8 l4proto 47 action 0",
            "flow-type udp4 dst-ip 10.0.0.1/255.0.0.255 dst-port 4789 vlan 7/0xfff action 2 loc 7",
            "flow-type tcp4 src-port 53/0xff tos 16 action 2147483648",
            "flow-type tcp6 src-ip fd00::/64 dst-ip ::1 dst-port 443 tclass 1 action 3",
            "flow-type ip6 l4proto 58 action 1 loc 0",
        ] {
            let rule: FlowRule = text.parse().expect(text);
            assert_eq!(rule.to_string(), text);
        }
        let rule: FlowRule = "flow-type udp4 src-ip 10.1.2.3/8 src-port 5/0 action 1"
            .parse()
            .expect("a rule");
        assert_eq!(
            rule.to_string(),
            "flow-type udp4 src-ip 10.0.0.0/8 action 1"
        );
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for (text, reason) in [
            ("", "a rule begins with 'flow-type ether|ip4|"),
            ("udp4 action 1", "a rule begins with"),
            ("flow-type udp4", "a rule needs an action"),
            ("flow-type udp4 action", "a value is missing after 'action'"),
            (
                "flow-type udp4 action -2",
                "\"-2\" is not a value of 'action'",
            ),
            (
                "flow-type udp4 dst-port 65536 action 1",
                "\"65536\" is not a value",
            ),
            (
                "flow-type udp4 src-ip ::1 action 1",
                "\"::1\" is not a value",
            ),
            (
                "flow-type udp4 src-ip 1.1.1.1/33 action 1",
                "is not a value",
            ),
            (
                "flow-type ip4 dst-port 5 action 1",
                "a rule for ip4 has no 'dst-port'",
            ),
            (
                "flow-type udp4 action 1 loc 4294967295",
                "is not a value of 'loc'",
            ),
        ] {
            let refused = text.parse::<FlowRule>().expect_err(text).to_string();
            assert!(
                refused.starts_with(reason) || refused.contains(reason),
                "{refused}"
            );
        }
    }
}
