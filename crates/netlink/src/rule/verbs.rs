//! How rules are spoken of.

use std::net::IpAddr;

use super::{Rule, RuleAction};
use crate::codec::{Attribute, Malformed, Request, attributes as read_attributes, split};
use crate::error::Subject;
use crate::object::{Messages, Object, Unfit, Verb};
use crate::prefix::{Family, Prefix};
use crate::route::{Detail, RouteTable};
use crate::table::{Code, Entry, Native, Shape, Table};
use crate::uapi::{
    AF_INET, AF_INET6, FIB_RULE_IIF_DETACHED, FIB_RULE_INVERT, FIB_RULE_OIF_DETACHED,
    FIB_RULE_UNRESOLVED, FRA_DST, FRA_SRC, FRA_SUPPRESS_IFGROUP, FRA_SUPPRESS_PREFIXLEN,
    RTM_DELRULE, RTM_GETRULE, RTM_NEWRULE, RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE,
};

const HEADER_BYTES: usize = 12;

impl Object for Rule {
    /// The kernel keeps rules that differ in anything: all that they have tells them apart.
    type Key = Vec<u8>;

    const MESSAGES: Messages = Messages {
        new: RTM_NEWRULE,
        del: RTM_DELRULE,
        get: RTM_GETRULE,
    };
    const HEADER_BYTES: usize = HEADER_BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE];
    const HAS_GET: bool = false;

    fn entries() -> &'static [Entry] {
        static ENTRIES: std::sync::LazyLock<Vec<Entry>> = std::sync::LazyLock::new(|| {
            let entry = |kind, constant| Entry {
                kind,
                constant,
                shape: Shape::Ip,
            };
            let mut entries = vec![entry(FRA_DST, "FRA_DST"), entry(FRA_SRC, "FRA_SRC")];
            entries.extend(<Rule as Table>::entries());
            entries
        });
        &ENTRIES
    }

    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        if matches!(verb, Verb::Set | Verb::Replace | Verb::Append) {
            return Err(Unfit::new("a rule can be added or removed, not changed"));
        }
        if matches!(verb, Verb::List | Verb::Get) {
            let mut header = [0; HEADER_BYTES];
            header[0] = self.family_said().map_or(0, u8::from);
            request.begin(RTM_GETRULE, Verb::List.flags(), &header);
            return Ok(());
        }
        let family = self.check()?;
        request.begin(
            Self::MESSAGES.of(verb),
            verb.flags(),
            &self.header(verb, family),
        );
        for (kind, prefix) in [(FRA_SRC, self.src), (FRA_DST, self.dst)] {
            if let Some(prefix) = prefix.filter(|prefix| !prefix.is_everything()) {
                crate::route::put_ip(kind, prefix, request);
            }
        }
        Table::put(self, request);
        Ok(())
    }

    fn parse(body: &[u8]) -> Result<Option<Self>, Malformed> {
        let (header, rest) = split::<HEADER_BYTES>("rule header", 0, body)?;
        let [
            family,
            dst_len,
            src_len,
            tos,
            table,
            _,
            _,
            action,
            f0,
            f1,
            f2,
            f3,
        ] = *header;
        if family != AF_INET && family != AF_INET6 {
            return Ok(None);
        }
        let flags = u32::from_ne_bytes([f0, f1, f2, f3]);
        let has = |flag| (flags & flag != 0).then_some(true);
        let mut rule = Self {
            family: Some(family.into()),
            tos: (tos != 0).then_some(tos),
            action: Some(action.into()),
            not: has(FIB_RULE_INVERT),
            unresolved: has(FIB_RULE_UNRESOLVED),
            iif_detached: has(FIB_RULE_IIF_DETACHED),
            oif_detached: has(FIB_RULE_OIF_DETACHED),
            table: Some(u32::from(table).into()),
            // Without the attribute the kernel means the first.
            priority: Some(0),
            ..Self::default()
        };
        for attribute in read_attributes(rest, HEADER_BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                FRA_DST => rule.dst = Some(prefix(dst_len, attribute)?),
                FRA_SRC => rule.src = Some(prefix(src_len, attribute)?),
                // All bits: there is no such condition.
                FRA_SUPPRESS_PREFIXLEN | FRA_SUPPRESS_IFGROUP if attribute.u32()? == u32::MAX => {}
                _ => rule.take(attribute)?,
            }
        }
        rule.table = rule.table.filter(|table| *table != RouteTable::Unspec);
        rule.l3mdev = rule.l3mdev.filter(|l3mdev| *l3mdev);
        Ok(Some(rule))
    }

    fn key(&self) -> Option<Vec<u8>> {
        let mut request = Request::default();
        Object::put(self, Verb::Del, &mut request).ok()?;
        Some(request.body().to_vec())
    }

    fn matches(&self, wanted: &Self) -> bool {
        Table::matches(self, wanted)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    fn settable(self) -> Self {
        Self {
            unresolved: None,
            iif_detached: None,
            oif_detached: None,
            ..self
        }
    }

    fn subject(&self) -> Subject {
        // In a message 0 is also none.
        match self.priority.filter(|priority| *priority != 0) {
            Some(priority) => Subject::Rule(priority),
            None if self.says_nothing() => Subject::Rules,
            None => Subject::RuleLike(self.words(Detail::Usual).trim_end().to_owned()),
        }
    }
}

fn prefix(len: u8, attribute: Attribute<'_>) -> Result<Prefix, Malformed> {
    let ip = <Native as Code<IpAddr>>::take(attribute)?;
    Ok(Prefix { ip, len })
}

impl Rule {
    /// Whether all rules are like it.
    fn says_nothing(&self) -> bool {
        let nothing = Self {
            family: self.family,
            ..Self::default()
        };
        *self == nothing
    }

    fn family_said(&self) -> Option<Family> {
        let network = self.src.or(self.dst).map(Prefix::family);
        self.family.or(network)
    }

    /// The family, if all that is said fits together.
    fn check(&self) -> Result<Family, Unfit> {
        let family = self.family_said().unwrap_or(Family::V4);
        for network in [self.src, self.dst].into_iter().flatten() {
            // All of IPv4 may stand for everything.
            if network.family() != family && !network.is_everything() {
                return Err(Unfit::new(format!("{network} is not of family {family}")));
            }
            if network.len > network.family().bits() {
                let bits = network.family().bits();
                return Err(Unfit::new(format!(
                    "a prefix of {family} has at most {bits} bits"
                )));
            }
        }
        Ok(family)
    }

    fn header(&self, verb: Verb, family: Family) -> [u8; HEADER_BYTES] {
        let length = |prefix: Option<Prefix>| prefix.map_or(0, |prefix| prefix.len);
        let flags = if self.not == Some(true) {
            FIB_RULE_INVERT
        } else {
            0
        };
        let [f0, f1, f2, f3] = flags.to_ne_bytes();
        let (dst, src) = (length(self.dst), length(self.src));
        let action = u8::from(self.action_for(verb));
        [
            family.into(),
            dst,
            src,
            self.tos.unwrap_or(0),
            0,
            0,
            0,
            action,
            f0,
            f1,
            f2,
            f3,
        ]
    }

    fn action_for(&self, verb: Verb) -> RuleAction {
        match self.action {
            Some(action) => action,
            None if self.goto.is_some() => RuleAction::Goto,
            // In a removal nothing said is anything.
            None if verb == Verb::Del => RuleAction::Other(0),
            None => RuleAction::ToTable,
        }
    }
}
