//! The two vocabularies, and what only one of the two has.

use super::rows::Rows;

/// Paths of theirs, and ours for the same; with a point at the end beginnings of them.
const NAMES: &[(&str, &str)] = &[
    ("addr.cacheinfo.ifapreferred", "preferredlifetime"),
    ("addr.cacheinfo.ifavalid", "validlifetime"),
    ("addr.header.index", "dev"),
    ("addr.header.prefixlen", "prefixlen"),
    ("addr.header.scope", "scope"),
    ("addr.routepriority", "metric"),
    ("fdb.cacheinfo.updated", "updated"),
    ("fdb.cacheinfo.used", "used"),
    ("fdb.controller", "master"),
    ("fdb.header.ifindex", "dev"),
    ("fdb.header.state", "state"),
    ("fdb.ifindex", "viaif"),
    ("fdb.linklayeraddress", "mac"),
    ("fdb.sourcevni", "srcvni"),
    ("link.afspecunspec.inet6.addrgenmode", "inet6addrgenmode"),
    ("link.controller", "master"),
    ("link.header.index", "index"),
    ("link.header.linklayertype", "hardware"),
    ("link.ifalias", "alias"),
    ("link.ifname", "name"),
    ("link.link", "lower"),
    ("link.linknetnsid", "lowernamespace"),
    ("link.linkinfo.bond.missedmax", "linkinfo.bond.arpmissedmax"),
    ("link.linkinfo.bond.activeport", "linkinfo.bond.activeslave"),
    (
        "link.linkinfo.bond.allportsactive",
        "linkinfo.bond.allslavesactive",
    ),
    (
        "link.linkinfo.bond.packetsperport",
        "linkinfo.bond.packetsperslave",
    ),
    (
        "link.linkinfo.bond.peernotifdelay",
        "linkinfo.bond.peernotifydelay",
    ),
    (
        "link.linkinfo.bond.broadcastneigh",
        "linkinfo.bond.broadcastneighbor",
    ),
    (
        "link.linkinfo.bondport.bondportstate",
        "linkinfo.bondport.state",
    ),
    (
        "link.linkinfo.bridgeport.broadcastflood",
        "linkinfo.bridgeport.bcastflood",
    ),
    (
        "link.linkinfo.bridgeport.flush",
        "linkinfo.bridgeport.fdbflush",
    ),
    (
        "link.linkinfo.bridgeport.hairpinmode",
        "linkinfo.bridgeport.hairpin",
    ),
    (
        "link.linkinfo.bridgeport.backupnexthopid",
        "linkinfo.bridgeport.backupnhid",
    ),
    (
        "link.linkinfo.bridgeport.neighsupress",
        "linkinfo.bridgeport.neighsuppress",
    ),
    ("link.linkinfo.bridgeport.portid", "linkinfo.bridgeport.id"),
    (
        "link.linkinfo.bridgeport.portnumber",
        "linkinfo.bridgeport.no",
    ),
    (
        "link.linkinfo.bridgeport.protect",
        "linkinfo.bridgeport.rootblock",
    ),
    (
        "link.linkinfo.bridgeport.unicastflood",
        "linkinfo.bridgeport.flood",
    ),
    ("link.linkinfo.vrfport.tableid", "linkinfo.vrfport.table"),
    ("link.linkinfo.vrf.tableid", "linkinfo.vrf.table"),
    ("link.linkinfo.vxlan.group", "linkinfo.vxlan.remote"),
    ("link.linkinfo.vxlan.group6", "linkinfo.vxlan.remote6"),
    (
        "link.linkinfo.vxlan.ttlinheritflag",
        "linkinfo.vxlan.ttlinherit",
    ),
    (
        "link.linkinfo.vxlan.udpzerocsumrx",
        "linkinfo.vxlan.udpzerocsum6rx",
    ),
    (
        "link.linkinfo.vxlan.udpzerocsumtx",
        "linkinfo.vxlan.udpzerocsum6tx",
    ),
    ("link.mode", "linkmode"),
    ("link.netnsfd", "namespacefd"),
    ("link.netnspid", "namespacepid"),
    ("link.numrxqueues", "rxqueuecount"),
    ("link.numtxqueues", "txqueuecount"),
    ("link.operstate", "state"),
    ("link.parentdevbusname", "parentbus"),
    ("link.parentdevname", "parentdevice"),
    ("link.permaddress", "permanentaddress"),
    ("link.proplist.altifname", "alternativenames"),
    ("link.stats64.", "statistics."),
    ("link.txqueuelen", "txqlen"),
    ("neigh.cacheinfo.", ""),
    ("neigh.controller", "master"),
    ("neigh.destination", "dst"),
    ("neigh.header.ifindex", "dev"),
    ("neigh.header.state", "state"),
    ("neigh.linklayeraddress", "lladdr"),
    ("nsid.id", "nsid"),
    ("route.encap.ip.destination", "encap.dst"),
    ("route.encap.ip.source", "encap.src"),
    ("route.encap.ip.", "encap."),
    ("route.encap.ip6.destination", "encap.dst"),
    ("route.encap.ip6.source", "encap.src"),
    ("route.encap.ip6.", "encap."),
    ("route.encap.mpls.destination.label", "encap.dst"),
    ("route.encap.mpls.ttl", "encap.ttl"),
    ("route.encap.seg6.seg6.mode", "encap.mode"),
    ("route.encap.seg6.seg6.segments", "encap.segs"),
    ("route.encaptype", "encap.type"),
    ("route.header.kind", "type"),
    ("route.header.protocol", "protocol"),
    ("route.header.scope", "scope"),
    ("route.metrics.ccalgo", "metrics.congestion"),
    ("route.multipath.attributes.", "nexthops."),
    ("route.multipath.hops", "nexthops.weight"),
    ("route.multipath.interfaceindex", "nexthops.dev"),
    ("route.oif", "dev"),
    ("route.preference", "pref"),
    ("route.prefsource", "prefsrc"),
    ("route.priority", "metric"),
    ("rule.header.action", "action"),
    ("rule.iifname", "iif"),
    ("rule.ipprotocol", "ipproto"),
    ("rule.ipprotocol.other", "ipproto"),
    ("rule.oifname", "oif"),
    ("stats.header.ifindex", "dev"),
    ("stats.link64.", "stats64."),
];

/// Words that mean the same: ours, theirs.
pub const SAME: &[(&str, &str)] = &[
    ("0", "default"),
    ("0", "disabled"),
    ("0", "dropped"),
    ("1", "delivered"),
    ("768", "tunnel"),
    ("769", "tunnel6"),
    ("776", "sit"),
    ("778", "ipgre"),
    ("823", "ip6gre"),
    ("any", "hopopts"),
    ("ip6ip6", "ipv6"),
    ("ip6ip", "ipv6"),
    ("ipip6", "ipip"),
    ("1", "ether"),
    ("1", "kernelstp"),
    ("1", "tempquery"),
    ("1", "icmp"),
    ("2", "igmp"),
    ("4", "ipip"),
    ("6", "tcp"),
    ("8021ad", "ieee8021ad"),
    ("8021q", "ieee8021q"),
    ("8023ad", "ieee8023ad"),
    ("772", "loopback"),
    ("65534", "none"),
    ("bridge", "0x0"),
    ("dynamic", "reachable"),
    ("fixed", "0"),
    ("global", "universe"),
    ("gre", "gretun"),
    ("ip6gre", "gretun6"),
    ("ip6gretap", "gretap6"),
    ("kernello", "loopback"),
    ("passthru", "passthrough"),
    ("permanent", "130"),
    ("permanent", "192"),
    ("sit", "sittun"),
    ("stablesecret", "stableprivacy"),
    ("static", "66"),
    ("static", "noarp"),
    ("totbl", "totable"),
];

/// What we know and they do not.
pub const NOT_KNOWN: &[&str] = &[
    // The attributes of tun are not read.
    "link.linkinfo.tun.*",
    "link.linkinfo.gre.ignoredf",
    "link.linkinfo.gretap.ignoredf",
    // Those of `IFLA_GRE_FLAGS`.
    "link.linkinfo.ip6gre.allowlocalremote",
    "link.linkinfo.ip6gretap.allowlocalremote",
];

/// What they tell and we do not keep.
pub const NOT_KEPT: &[&str] = &[
    "addr.cacheinfo.cstamp",
    "addr.cacheinfo.tstamp",
    "fdb.cacheinfo.confirmed",
    "fdb.cacheinfo.refcnt",
    "fdb.extflags.neighbourextflags",
    "fdb.header.kind",
    "link.afspecunspec.inet.devconf.*",
    "link.afspecunspec.inet6.*",
    "link.carrierdowncount",
    "link.carrierupcount",
    "link.groipv4maxsize",
    "link.gsoipv4maxsize",
    "link.linkinfo.bondport.actorportprio",
    "link.linkinfo.bridge.mcastquerierstate.*",
    "link.linkinfo.bridge.other.*",
    "link.linkinfo.bridgeport.other.*",
    "link.linkinfo.gre.other.*",
    "link.linkinfo.gretap.other.*",
    "link.linkinfo.ip6gre.other.*",
    "link.linkinfo.ip6gretap.other.*",
    "link.linkinfo.ip6tnl.ipv6flags.ip6tunnelflags",
    "link.linkinfo.bridge.multiboolopt.*",
    "link.linkinfo.bridgeport.mrpinopen",
    "link.linkinfo.bridgeport.mrpringopen",
    "link.linkinfo.tun.other.*",
    "link.linkinfo.vxlan.reservedbits",
    "link.map.*",
    "link.netnsimmutable",
    // Attributes that they do not know either.
    "link.other.*",
    "link.stats.*",
    "link.tsomaxsegs",
    "link.tsomaxsize",
    "link.xdp.*",
    "neigh.extflags.neighbourextflags",
    "neigh.header.kind",
    "route.cacheinfo.*",
    "route.encap.mpls.destination.*",
    "route.encap.seg6.seg6.hmac",
    "route.header.flags.routeflags",
    "route.multipath.flags.routenexthopflags",
    "rule.other.*",
    "stats.header.filtermask.*",
];

/// Attributes that a request contains in addition to those that the caller set.
pub const SAID_BESIDE: &[&str] = &[
    "addr.preferredlifetime",
    "addr.scope",
    "addr.validlifetime",
    "fdb.flags",
    "link.linkinfo.gre.ikeyed",
    "link.linkinfo.gre.okeyed",
    "link.linkinfo.gretap.ikeyed",
    "link.linkinfo.gretap.okeyed",
    "link.linkinfo.ip6gre.ikeyed",
    "link.linkinfo.ip6gre.okeyed",
    "link.linkinfo.ip6gretap.ikeyed",
    "link.linkinfo.ip6gretap.okeyed",
    "neigh.state",
    "route.protocol",
    "route.scope",
    "route.table",
    "route.type",
    "rule.action",
];

/// Their rows under our names.
pub fn renamed(object: &str, theirs: Rows) -> Rows {
    let mut rows = Rows::new();
    for (path, values) in theirs {
        let full = format!("{object}.{path}");
        let found = NAMES
            .iter()
            .find_map(|(theirs, ours)| match theirs.strip_suffix('.') {
                Some(_) => full
                    .strip_prefix(theirs)
                    .map(|rest| format!("{ours}{rest}")),
                None => (full == *theirs).then(|| (*ours).to_owned()),
            });
        rows.entry(found.unwrap_or(path))
            .or_default()
            .extend(values);
    }
    rows
}
