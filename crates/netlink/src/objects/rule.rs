//! Routing policy rules: which routing table a packet is looked up in.

use crate::header::RuleHeader;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request, attributes};
use crate::error::{InvalidRequest, RequestTarget, reject_if};
use crate::object::Object;
use crate::objects::route::{RouteProtocol, RouteTable};
use crate::schema::{
    AttributeCodec, AttributeSet, AttributeType, BigEndian, FieldMatcher, Flatten, InvalidValue,
    Native, NumberOrName, Parsed, Unnamed, attribute_set, c_number, fixed_size,
    from_number_or_name, join, number_enum, push, text_field_values, text_form,
};
use crate::uapi::{
    AF_INET, AF_INET6, FIB_RULE_INVERT, FRA_DST, FRA_PRIORITY, FRA_SRC, FRA_SUPPRESS_IFGROUP,
    FRA_SUPPRESS_PREFIXLEN, FRA_TABLE, RTM_GETRULE, RTM_NEWRULE, RTNLGRP_IPV4_RULE,
    RTNLGRP_IPV6_RULE,
};
use crate::values::ds_field::DsField;
use crate::values::interface::IfName;
use crate::values::prefix::{Family, Prefix};
use crate::verb::{MessageTypes, Verb};

number_enum! {
    /// The action of a rule.
    pub enum RuleAction: u8 {
        /// Look up in a table.
        ToTable = FR_ACT_TO_TBL, "to_tbl";
        /// Continue with another rule.
        Goto = FR_ACT_GOTO, "goto";
        /// No action.
        Nop = FR_ACT_NOP, "nop";
        /// Drop silently.
        Blackhole = FR_ACT_BLACKHOLE, "blackhole";
        /// Reject with ICMP network unreachable.
        Unreachable = FR_ACT_UNREACHABLE, "unreachable";
        /// Reject with ICMP prohibited.
        Prohibit = FR_ACT_PROHIBIT, "prohibit";
    }
}

attribute_set! {
    /// A routing policy rule: selects packets and the routing table for them.
    ///
    /// Fields that are not given match everything. Equals `ip rule add [from NETWORK] [iif NAME] … lookup TABLE`: without
    /// a table, an action, `goto` and `l3mdev`, a new rule looks up in the table main. A rule without any field is neither
    /// added nor deleted: the kernel would delete the first one.
    ///
    /// # Source
    /// `fib_nl2rule` and `fib_nl_fill_rule`, net/core/fib\_rules.c.
    pub struct Rule {
        @header {
            /// Its family. Default: that of the networks, otherwise IPv4.
            family: Family;
            /// The source network.
            "from" src: Prefix;
            /// The destination network.
            "to" dst: Prefix;
            /// The type of service.
            "tos" | "dsfield" tos: DsField;
            /// Its action. Default: look up in a table.
            action: RuleAction;
        }
        @flags {
            /// Whether the selection is inverted.
            "not" not = FIB_RULE_INVERT;
            /// Whether the target of `goto` is missing. Read-only.
            unresolved @reported = FIB_RULE_UNRESOLVED;
            /// Whether the ingress link is missing. Read-only.
            iif_detached @reported = FIB_RULE_IIF_DETACHED;
            /// Whether the egress link is missing. Read-only.
            oif_detached @reported = FIB_RULE_OIF_DETACHED;
        }
        @parts {
            FRA_DST: AttributeType::Ip;
            FRA_SRC: AttributeType::Ip;
        }
        /// Its priority. Rules are evaluated in ascending order.
        "priority" | "preference" | "pref" | "order" priority: u32 = FRA_PRIORITY;
        /// The ingress link; `lo` selects packets of this host. Always a name: a rule may wait for a link that does not exist yet.
        "iif" | "dev" iif: IfName = FRA_IIFNAME;
        /// The egress link of a bound socket, by its name.
        "oif" oif: IfName = FRA_OIFNAME;
        /// The firewall mark.
        fwmark: u32 = FRA_FWMARK;
        /// The mask for the firewall mark.
        fwmask: u32 = FRA_FWMASK;
        /// The routing table. Default: main, if the action is to look up.
        "lookup" | "table" table: RouteTable = FRA_TABLE;
        /// The priority of the next rule.
        "goto" goto: u32 = FRA_GOTO;
        /// Whether the table is that of the packet's VRF.
        "l3mdev" l3mdev: bool = FRA_L3MDEV;
        /// The user ids: `5` or `5-6`.
        "uidrange" uidrange: Range<u32> = FRA_UID_RANGE;
        /// The IP protocol: 6 TCP, 17 UDP.
        "ipproto" ipproto: u8 = FRA_IP_PROTO;
        /// The source ports: `80` or `80-90`.
        "sport" sport: Range<u16> = FRA_SPORT_RANGE;
        /// The destination ports: `80` or `80-90`.
        "dport" dport: Range<u16> = FRA_DPORT_RANGE;
        /// The tunnel id.
        "tun_id" tun_id: u64 as BigEndian = FRA_TUN_ID;
        /// Ignore routes with a prefix length of at most this.
        "suppress_prefixlength" | "sup_pl" suppress_prefixlen: i32 = FRA_SUPPRESS_PREFIXLEN;
        /// Ignore routes over links of this group.
        "suppress_ifgroup" | "sup_group" suppress_ifgroup: i32 = FRA_SUPPRESS_IFGROUP;
        /// Realms: source in the upper half, destination in the lower.
        flow: u32 = FRA_FLOW;
        /// Origin.
        "protocol" | "proto" protocol: RouteProtocol = FRA_PROTOCOL;
    }
}

/// An inclusive range of numbers, written `80` or `80-90`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "NumberOrName")]
#[serde(bound(
    serialize = "Self: Into<String>",
    deserialize = "Self: TryFrom<NumberOrName, Error: fmt::Display>"
))]
pub struct Range<T: Copy> {
    /// The first.
    pub first: T,
    /// The last.
    pub last: T,
}

impl<T: Copy> Range<T> {
    /// The range from `first` to `last`.
    pub fn new(first: T, last: T) -> Self {
        Self { first, last }
    }

    /// The range with one number.
    pub fn one(number: T) -> Self {
        Self::new(number, number)
    }
}

impl<T: Copy + fmt::Display + PartialEq> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            self.first.fmt(f)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

impl<T: Copy + TryFrom<i128>> FromStr for Range<T> {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Parsed<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (c_number(first), c_number(last)) {
            (Some(first), Some(last)) => Ok(Self { first, last }),
            _ => Err(InvalidValue::new("a range", Some(text))),
        }
    }
}

text_form!(Range<u16>, Range<u32>);
from_number_or_name!(Range<u16>, Range<u32>);
text_field_values!(Range<u16>, Range<u32>);

// Two consecutive numbers (`struct fib_rule_uid_range`, `struct fib_rule_port_range`).
fixed_size! {
    Native: Range<u16> = Bytes, |range| join::<2, 4>(range.first.to_ne_bytes(), range.last.to_ne_bytes()),
        |[a, b, c, d]: [u8; 4]| Range::new(u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d]));
    Native: Range<u32> = Bytes, |range| join::<4, 8>(range.first.to_ne_bytes(), range.last.to_ne_bytes()),
        |[a, b, c, d, last @ ..]: [u8; 8]| Range::new(u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes(last));
}

impl Object for Rule {
    /// Rules may differ in any field, so the key is the complete encoding.
    type Key = Vec<u8>;

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWRULE);
    const HEADER_BYTES: usize = RuleHeader::BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE];
    const HAS_GET: bool = false;

    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        reject_if!(
            matches!(
                verb,
                Verb::Set | Verb::Replace | Verb::Append | Verb::Prepend
            ),
            "a rule cannot be changed; delete it and add another"
        );
        if matches!(verb, Verb::List | Verb::Get) {
            let header = RuleHeader {
                family: self.family_said().map_or(0, u8::from),
                ..RuleHeader::default()
            };
            request.begin(RTM_GETRULE, Verb::List.flags(), &header.emit());
            return Ok(());
        }
        let family = self.check()?;
        reject_if!(
            verb == Verb::Add && self.is_empty(),
            "a rule needs a network, a priority, an action or another field"
        );
        if verb == Verb::Del {
            self.check_key()?;
        }
        let length = |prefix: Option<Prefix>| prefix.map_or(0, |prefix| prefix.len);
        let header = RuleHeader {
            family: family.into(),
            dst_len: length(self.dst),
            src_len: length(self.src),
            tos: self.tos.unwrap_or_default().0,
            table: 0,
            action: self.action_for(verb).into(),
            flags: self.flag_bits().0 & FIB_RULE_INVERT,
        };
        request.begin(Self::MESSAGES.of(verb), verb.flags(), &header.emit());
        for (kind, prefix) in [(FRA_SRC, self.src), (FRA_DST, self.dst)] {
            if let Some(prefix) = prefix.filter(|prefix| !prefix.is_everything()) {
                crate::objects::route::put_ip(kind, prefix, request);
            }
        }
        AttributeSet::encode_attributes(self, request);
        if verb == Verb::Add && self.looks_up_in_main() {
            request.u32(FRA_TABLE, RouteTable::Main.into());
        }
        Ok(())
    }

    fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = RuleHeader::split(body)?;
        if header.family != AF_INET && header.family != AF_INET6 {
            return Ok(false);
        }
        self.clear();
        self.family = Some(header.family.into());
        self.tos = (header.tos != 0).then_some(DsField(header.tos));
        self.action = Some(header.action.into());
        self.set_flag_bits(header.flags, header.flags);
        self.table = Some(u32::from(header.table).into());
        // The kernel omits priority 0.
        self.priority = Some(0);
        for attribute in attributes(rest, RuleHeader::BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                FRA_DST => self.dst = Some(prefix(header.dst_len, attribute)?),
                FRA_SRC => self.src = Some(prefix(header.src_len, attribute)?),
                // All bits set means no condition.
                FRA_SUPPRESS_PREFIXLEN | FRA_SUPPRESS_IFGROUP if attribute.u32()? == u32::MAX => {}
                _ => self.decode_attribute(attribute)?,
            }
        }
        self.table = self.table.filter(|table| *table != RouteTable::Unspec);
        self.l3mdev = self.l3mdev.filter(|l3mdev| *l3mdev);
        Ok(true)
    }

    /// Without an action that is 0, which deletion ignores, and without a priority that is not given: the kernel then
    /// chooses one.
    fn decode_request(body: &[u8]) -> Result<Option<Self>, Malformed> {
        let Some(mut rule) = Self::decode(body)? else {
            return Ok(None);
        };
        let (_, rest) = RuleHeader::split(body)?;
        let mut kinds = attributes(rest, RuleHeader::BYTES).flatten();
        let has_priority = kinds.any(|attribute| attribute.kind == FRA_PRIORITY);
        rule.remove_reported();
        rule.action = rule.action.filter(|action| u8::from(*action) != 0);
        rule.priority = rule.priority.filter(|_| has_priority);
        Ok(Some(rule))
    }

    fn check_key(&self) -> Result<(), InvalidRequest> {
        reject_if!(
            self.matches_any_rule(),
            "the request matches every rule (add a priority, prefix, table or another field)"
        );
        Ok(())
    }

    fn key(&self) -> Option<Vec<u8>> {
        let mut request = Request::default();
        Object::encode(self, Verb::Del, &mut request).ok()?;
        Some(request.body().to_vec())
    }

    fn target(&self) -> RequestTarget {
        // Messages use 0 for no priority.
        match self.priority.filter(|priority| *priority != 0) {
            Some(priority) => RequestTarget::Rule(priority),
            None if self.is_empty() => RequestTarget::Rules,
            None => RequestTarget::RuleLike(self.description()),
        }
    }

    fn matchers(&self) -> Vec<FieldMatcher<Self>> {
        AttributeSet::field_matchers(self)
    }

    fn has_same_configuration(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

fn prefix(len: u8, attribute: Attribute<'_>) -> Result<Prefix, Malformed> {
    let ip = <Native as AttributeCodec<IpAddr>>::decode(attribute)?;
    Ok(Prefix { ip, len })
}

impl Rule {
    /// Its fields, for errors.
    fn description(&self) -> String {
        let mut text = self
            .action
            .map_or_else(String::new, |action| action.to_string());
        self.format_fields(&mut Unnamed, &mut |word, value| {
            let space = if text.is_empty() { "" } else { " " };
            push(&mut text, format_args!("{space}{word} {value}"));
        });
        text
    }

    /// Its realms: source (0 is none) and destination.
    pub fn realms(&self) -> Option<(u16, u16)> {
        self.flow.map(|flow| ((flow >> 16) as u16, flow as u16))
    }

    /// Whether no field but the family is given.
    fn is_empty(&self) -> bool {
        let nothing = Self {
            family: self.family,
            ..Self::default()
        };
        *self == nothing
    }

    /// Whether the kernel takes it for the first rule, whatever that is, when it deletes: it ignores zeros, except for the
    /// priority and the realms, and whether the selection is inverted (`rule_find`, net/core/fib\_rules.c).
    fn matches_any_rule(&self) -> bool {
        let ports = |range: Option<Range<u16>>| {
            range.is_some_and(|range| range.first != 0 && range.last != 0)
        };
        let is_limited = |bits: Option<i32>| bits.is_some_and(|bits| bits != -1);
        let network = |network: Option<Prefix>| network.is_some_and(|it| !it.is_everything());
        let conditions = [
            network(self.src) || network(self.dst),
            self.tos.is_some_and(|tos| tos.0 != 0),
            u8::from(self.action_for(Verb::Del)) != 0,
            self.priority.is_some() || self.flow.is_some(),
            self.iif.is_some() || self.oif.is_some(),
            self.fwmark.is_some_and(|mark| mark != 0),
            self.fwmask.is_some_and(|mask| mask != 0),
            self.table.is_some_and(|table| u32::from(table) != 0),
            self.l3mdev == Some(true) || self.uidrange.is_some(),
            self.ipproto.is_some_and(|protocol| protocol != 0),
            ports(self.sport) || ports(self.dport),
            self.tun_id.is_some_and(|id| id != 0),
            is_limited(self.suppress_prefixlen) || is_limited(self.suppress_ifgroup),
            self.protocol.is_some_and(|origin| u8::from(origin) != 0),
        ];
        !conditions.contains(&true)
    }

    /// Whether a new rule gets the table main because nothing else says what it does.
    fn looks_up_in_main(&self) -> bool {
        self.table.is_none()
            && self.l3mdev != Some(true)
            && self.action_for(Verb::Add) == RuleAction::ToTable
    }

    fn family_said(&self) -> Option<Family> {
        let network = self.src.or(self.dst).map(Prefix::family);
        self.family.or(network)
    }

    /// The family, if the request is valid.
    fn check(&self) -> Result<Family, InvalidRequest> {
        let family = self.family_said().unwrap_or(Family::V4);
        for network in [self.src, self.dst].into_iter().flatten() {
            // The default prefix of IPv4 is accepted for any family.
            reject_if!(
                network.family() != family && !network.is_everything(),
                "{network} does not belong to family {family}"
            );
            if network.len > network.family().bits() {
                let bits = network.family().bits();
                return Err(InvalidRequest::new(format!(
                    "the prefix length of {family} is at most {bits}"
                )));
            }
        }
        Ok(family)
    }

    fn action_for(&self, verb: Verb) -> RuleAction {
        match self.action {
            Some(action) => action,
            None if self.goto.is_some() => RuleAction::Goto,
            // Deletion without an action matches any.
            None if verb == Verb::Del => RuleAction::Other(0),
            None => RuleAction::ToTable,
        }
    }
}
