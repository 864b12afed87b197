//! The syntax of `tapline link`.

use tapline::filter::similar_word;
use tapline::net::schema::{Arguments, InvalidValue, Parsed};
use tapline::net::{Family, IpipMode, Link, LinkKind, NetlinkError, SitMode, Ttl, Verb};

use super::parse;
use super::print::{Part, print};
use crate::failure::{Exit, Failure};
use crate::net::handle::{NetHandle, TYPE_REQUIRED};
use crate::net::names::Names;
use crate::net::output::{DetailLevel, Record};
use crate::net::syntax::CommandSyntax;
use crate::net::verbs::{self, Action, Verbs};

impl CommandSyntax for Link {
    const OBJECT: &'static str = "link";
    const VERBS: Verbs = verbs::LINK;

    fn parse_arguments(verb: Verb, _: Option<Family>, words: &mut Arguments<'_>) -> Parsed<Self> {
        let mut link = parse::link(verb, words)?;
        if verb == Verb::Add {
            if link.link_kind().is_none() {
                return Err(InvalidValue::new(TYPE_REQUIRED, None));
            }
            set_defaults(&mut link);
        }
        Ok(link)
    }

    fn advice(&self, verb: Verb) -> Option<&'static str> {
        match self.link_kind() {
            Some(LinkKind::Vxlan(vxlan)) if verb == Verb::Add && vxlan.port.is_none() => Some(
                "without dstport the kernel uses port 8472, not 4789 of RFC 7348 ('dstport 0' selects 8472 explicitly)",
            ),
            _ => None,
        }
    }

    /// Suggests a link type after the kernel has refused one, because the kernel may support types that `KINDS` lacks.
    fn refusal_advice(&self, verb: Verb, error: &NetlinkError) -> Option<String> {
        let is_unknown = error.errno() == Some(libc::EOPNOTSUPP) && verb == Verb::Add;
        match self.link_kind() {
            Some(LinkKind::Other { info_kind }) if is_unknown => {
                Some(match similar_word(info_kind, KINDS) {
                    Some(kind) => format!("did you mean '{kind}'?"),
                    None => format!("types are, for example, {}", KINDS.join(", ")),
                })
            }
            _ => None,
        }
    }

    fn is_one(&self) -> bool {
        self.index.is_some()
    }

    /// `property add|del dev NAME altname NAME …` adds or removes alternative names.
    fn special(handle: &mut NetHandle, _: &str, words: &[String]) -> Result<Exit, Failure> {
        let usage = || {
            let line = "link: use 'property add|del dev NAME altname NAME'";
            Failure::new(Exit::Usage, line)
        };
        let actions = [verbs::LINK[0], verbs::LINK[4]];
        let (first, rest) = words.split_first().ok_or_else(usage)?;
        let matches = |(name, _): &&(&str, Action)| !first.is_empty() && name.starts_with(first);
        let (_, action) = actions.iter().find(matches).ok_or_else(usage)?;
        let parse = |words: &mut Arguments<'_>| parse::link(Verb::Set, words);
        let link = handle.parse(Self::OBJECT, rest, parse)?;
        if link.index.is_none() || link.alternative_names.is_none() {
            return Err(usage());
        }
        let result = if *action == Action::Verb(Verb::Add) {
            handle.netlink.set(&link)
        } else {
            handle.netlink.del_alternative_names(&link)
        };
        result.map_err(|error| handle.failure(error))?;
        Ok(Exit::Done)
    }

    fn print(&self, record: &mut Record, names: &mut Names, level: DetailLevel) {
        print(self, record, names, level, Part::Link);
    }
}

/// Types of links that can be added.
const KINDS: [&str; 24] = [
    "bareudp",
    "bond",
    "bridge",
    "dummy",
    "geneve",
    "gre",
    "gretap",
    "ifb",
    "ip6gre",
    "ip6gretap",
    "ip6tnl",
    "ipip",
    "ipvlan",
    "macvlan",
    "macvtap",
    "netkit",
    "nlmon",
    "sit",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
    "wireguard",
    "xfrm",
];

/// Hop limit of tunnels over IPv6 (`DEFAULT_TNL_HOP_LIMIT`, ip/tunnel.h).
const HOP_LIMIT: Ttl = Ttl(64);
/// Encapsulation limit (`IPV6_DEFAULT_TNL_ENCAP_LIMIT`, include/uapi/linux/ip6_tunnel.h).
const ENCAP_LIMIT: u8 = 4;

/// Sets what ip(8) sends by default for a new link. The kernel's own defaults differ: 0 for both limits, and a
/// tunnel's payload from its kind (`iptunnel_parse_opt`, ip/link_iptnl.c; ip/link_ip6tnl.c; ip/link_gre6.c).
fn set_defaults(link: &mut Link) {
    let kind = link.linkinfo.as_mut().and_then(|info| info.kind.as_mut());
    let (external, ttl, encap_limit) = match kind {
        Some(LinkKind::Ipip(tunnel)) if tunnel.external != Some(true) => {
            tunnel.proto.get_or_insert(IpipMode::Any);
            return;
        }
        Some(LinkKind::Vxlan(vxlan)) if vxlan.external == Some(true) => {
            vxlan.learning.get_or_insert(false);
            return;
        }
        Some(LinkKind::Sit(tunnel)) => {
            // Here the kernel's default is 64.
            tunnel.ttl.get_or_insert(Ttl(0));
            tunnel.proto.get_or_insert(SitMode::Any);
            return;
        }
        Some(LinkKind::Ip6Tnl(tunnel)) => {
            (tunnel.external, &mut tunnel.ttl, &mut tunnel.encap_limit)
        }
        Some(LinkKind::Ip6Gre(tunnel) | LinkKind::Ip6Gretap(tunnel)) => {
            (tunnel.external, &mut tunnel.ttl, &mut tunnel.encap_limit)
        }
        _ => return,
    };
    if external != Some(true) {
        ttl.get_or_insert(HOP_LIMIT);
        encap_limit.get_or_insert(ENCAP_LIMIT);
    }
}
