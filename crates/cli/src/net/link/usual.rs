//! What ip(8) says of a new link where nothing is said, and what it says to who makes one.

use netlink::{IpipMode, Link, LinkKind, SitMode, Ttl};

/// Hops of packets of a tunnel over IPv6 (`DEFAULT_TNL_HOP_LIMIT`, ip/tunnel.h).
const HOPS: Ttl = Ttl(64);
/// How many tunnels they may go into (`IPV6_DEFAULT_TNL_ENCAP_LIMIT`, include/uapi/linux/ip6_tunnel.h).
const ENCAP_LIMIT: u8 = 4;

/// Completes a link that is to be made: the kernel would take 0 for hops and limit, and what the kind is called
/// for what it carries (`iptunnel_parse_opt`, ip/link_iptnl.c; ip/link_ip6tnl.c; ip/link_gre6.c).
pub fn complete(link: &mut Link) {
    let kind = link.linkinfo.as_mut().and_then(|info| info.kind.as_mut());
    let (external, ttl, encap_limit) = match kind {
        Some(LinkKind::Ipip(tunnel)) if tunnel.external != Some(true) => {
            tunnel.proto.get_or_insert(IpipMode::Any);
            return;
        }
        // What is not its own to know is not learned.
        Some(LinkKind::Vxlan(vxlan)) if vxlan.external == Some(true) => {
            vxlan.learning.get_or_insert(false);
            return;
        }
        Some(LinkKind::Sit(tunnel)) => {
            // Here the kernel would take 64 hops.
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
        ttl.get_or_insert(HOPS);
        encap_limit.get_or_insert(ENCAP_LIMIT);
    }
}

/// What is not as who makes it may think.
pub fn advice(link: &Link) -> Option<&'static str> {
    match link.link_kind() {
        Some(LinkKind::Vxlan(vxlan)) if vxlan.port.is_none() => Some(
            "without dstport the kernel's 8472 is used, not the 4789 of RFC 7348 ('dstport 0' means it)",
        ),
        _ => None,
    }
}
