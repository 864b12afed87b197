//! Tunnels, over IPv4 and IPv6.

use crate::witness::{index, named, parse};
use netlink::{
    DontFragment, EncapFlags, EncapPort, FlowInfo, Geneve, Gre, GreInput, GreKey, GreOutput, Hops,
    Ip6Gre, Ip6Tnl, Ip6TnlMode, Ip6TunnelFlags, Ipip, IpipMode, LinkKind, PortRange, Sit, SitFlags,
    SitMode, Tos, Ttl, TunnelEncap, Vxlan,
};

use super::compare::{compare, host, shown};

#[test]
fn vxlans() {
    let Some(host) = host() else { return };
    let vxlan = || Vxlan::new().id(42);
    compare(&host, None, vxlan().port(4789), "id 42 dstport 4789");
    let index = index(&host, "lower0");
    let wanted = vxlan()
        .remote(parse("239.1.1.1"))
        .local(parse("10.0.0.1"))
        .link(index);
    let wanted = wanted
        .port_range(PortRange {
            low: 1000,
            high: 2000,
        })
        .port(4789);
    let wanted = wanted
        .learning(false)
        .proxy(true)
        .rsc(true)
        .l2miss(true)
        .l3miss(true);
    let wanted = wanted
        .ttl(Hops(9))
        .tos(Tos(0x10))
        .ageing(55)
        .limit(77)
        .udp_csum(true);
    let line = "vni 42 group 239.1.1.1 local 10.0.0.1 dev lower0 srcport 1000 2000 dstport 4789 \
        nolearning proxy rsc l2miss l3miss ttl 9 tos 0x10 ageing 55 maxaddress 77 udpcsum";
    compare(&host, None, wanted, line);
    let wanted = vxlan()
        .remote6(parse("fd00::9"))
        .local6(parse("fd00::1"))
        .port(4789);
    let wanted = wanted
        .label(0x12345)
        .df(DontFragment::Set)
        .udp_zero_csum6_tx(true);
    let wanted = wanted
        .udp_zero_csum6_rx(true)
        .remcsum_tx(true)
        .remcsum_rx(true);
    let line = "id 42 remote fd00::9 local fd00::1 dstport 4789 flowlabel 0x12345 df set \
        udp6zerocsumtx udp6zerocsumrx remcsumtx remcsumrx";
    compare(&host, None, wanted, line);
    let wanted = vxlan()
        .remote(parse("10.0.0.9"))
        .port(4789)
        .gbp(true)
        .ttl_inherit(true);
    compare(
        &host,
        None,
        wanted,
        "id 42 remote 10.0.0.9 dstport 4789 gbp ttl inherit",
    );
    let wanted = Vxlan::new()
        .external(true)
        .learning(false)
        .vnifilter(true)
        .port(4789);
    compare(
        &host,
        None,
        wanted,
        "external nolearning vnifilter dstport 4789",
    );
    let wanted = Vxlan::new()
        .external(true)
        .learning(false)
        .gpe(true)
        .port(4790);
    compare(&host, None, wanted, "external nolearning gpe dstport 4790");
}

#[test]
fn geneves() {
    let Some(host) = host() else { return };
    let geneve = || Geneve::new().id(42);
    let wanted = geneve()
        .remote(parse("10.0.0.9"))
        .port(6082)
        .ttl(Hops(9))
        .tos(Tos(1));
    let wanted = wanted.df(DontFragment::Inherit).udp_csum(false);
    let line = "id 42 remote 10.0.0.9 dstport 6082 ttl 9 tos inherit df inherit noudpcsum";
    compare(&host, None, wanted, line);
    let wanted = geneve()
        .remote6(parse("fd00::9"))
        .label(7)
        .ttl_inherit(true);
    let wanted = wanted.udp_zero_csum6_tx(true).udp_zero_csum6_rx(true);
    let line = "id 42 remote fd00::9 flowlabel 7 ttl inherit udp6zerocsumtx udp6zerocsumrx";
    compare(&host, None, wanted, line);
    compare(&host, None, Geneve::new().external(true), "external");
}

#[test]
fn ip_over_ipv4() {
    let Some(host) = host() else { return };
    let line = "remote 10.0.0.9 local 10.0.0.1 mode ipip ttl 9 tos 0x10";
    let ends = Ipip::new()
        .remote(parse("10.0.0.9"))
        .local(parse("10.0.0.1"));
    let wanted = ends
        .clone()
        .proto(IpipMode::Ipip)
        .ttl(Ttl(9))
        .tos(Tos(0x10));
    compare(&host, None, wanted.clone(), line);
    let wanted = ends.clone().proto(IpipMode::Any).pmtudisc(false).fwmark(5);
    let line = "remote 10.0.0.9 local 10.0.0.1 mode any nopmtudisc fwmark 0x5";
    compare(&host, None, wanted, line);
    let wanted = Sit::new()
        .remote(parse("10.0.0.9"))
        .local(parse("10.0.0.1"))
        .ttl(Ttl(9))
        .proto(SitMode::Ip6ip);
    compare(
        &host,
        None,
        wanted,
        "remote 10.0.0.9 local 10.0.0.1 ttl 9 mode ip6ip",
    );
    let wanted = Sit::new().remote(parse("0.0.0.0")).local(parse("10.0.0.1"));
    let wanted = wanted
        .ttl(Ttl(9))
        .proto(SitMode::Any)
        .flags(SitFlags::new().isatap(true));
    compare(
        &host,
        None,
        wanted,
        "remote any local 10.0.0.1 ttl 9 mode any isatap",
    );
}

#[test]
fn a_tunnel_that_would_be_in_udp() {
    // This kernel has no encapsulation behind an IP header (CONFIG_NET_FOU_IP_TUNNELS), and keeps its options.
    let Some(host) = host() else { return };
    let flags = EncapFlags::new().csum(true).remcsum(true);
    let wanted = Ipip::new()
        .remote(parse("10.0.0.9"))
        .local(parse("10.0.0.1"))
        .proto(IpipMode::Ipip)
        .encap(TunnelEncap::None);
    let wanted = wanted
        .encap_flags(flags)
        .encap_sport(EncapPort(0))
        .encap_dport(5555);
    let line = "remote 10.0.0.9 local 10.0.0.1 mode ipip encap none encap-sport auto encap-dport 5555 \
        encap-csum encap-remcsum";
    compare(&host, None, wanted, line);
}

#[test]
fn ip_over_ipv6() {
    let Some(host) = host() else { return };
    // What ip says where nothing is given is given here.
    let csum6 = EncapFlags::new().csum6(true);
    let ends = || {
        let ends = Ip6Tnl::new()
            .remote(parse("fd00::9"))
            .local(parse("fd00::1"));
        ends.ttl(Ttl(9)).encap_flags(csum6)
    };
    let wanted = ends().proto(Ip6TnlMode::Any).encap_limit(3);
    let wanted = wanted.flowinfo(FlowInfo::new(0x12, 0x345));
    let flags = Ip6TunnelFlags::new().ignore_encap_limit(false);
    let flags = flags.use_orig_tclass(false).use_orig_flowlabel(false);
    let line = "mode any remote fd00::9 local fd00::1 hoplimit 9 encap-udp6-csum encaplimit 3 \
        tclass 12 flowlabel 345";
    compare(&host, None, wanted.flags(flags), line);
    let flags = Ip6TunnelFlags::new()
        .ignore_encap_limit(true)
        .use_orig_tclass(true);
    let flags = flags.rcv_dscp_copy(true).allow_local_remote(true);
    let wanted = ends().proto(Ip6TnlMode::Ipip6).encap_limit(4).flags(flags);
    let line = "mode ipip6 remote fd00::9 local fd00::1 hoplimit 9 encap-udp6-csum encaplimit 4 encaplimit none \
        tclass inherit dscp inherit \
        allow-localremote";
    compare(&host, None, wanted, line);
}

#[test]
fn gre_over_ipv4() {
    let Some(host) = host() else { return };
    let ends = || {
        Gre::new()
            .remote(parse("10.0.0.9"))
            .local(parse("10.0.0.1"))
    };
    let line = "remote 10.0.0.9 local 10.0.0.1";
    compare(&host, None, ends(), line);
    compare(&host, None, LinkKind::Gretap(ends()), line);
    let keyed = ends().ikey(GreKey(5)).okey(GreKey(6));
    let flags = (GreInput::new().iseq(true), GreOutput::new().ocsum(true));
    let keyed = keyed
        .iflags(flags.0)
        .oflags(flags.1)
        .ttl(Ttl(9))
        .tos(Tos(1));
    let line = "remote 10.0.0.9 local 10.0.0.1 ikey 5 okey 0.0.0.6 iseq ocsum ttl 9 tos inherit";
    compare(&host, None, keyed.clone(), line);
    compare(&host, None, LinkKind::Gretap(keyed), line);
    let wanted = ends().ignore_df(true).pmtudisc(false);
    let line = "remote 10.0.0.9 local 10.0.0.1 ignore-df nopmtudisc";
    compare(&host, None, LinkKind::Gretap(wanted), line);
    compare(
        &host,
        None,
        LinkKind::Gretap(Gre::new().external(true)),
        "external",
    );
}

#[test]
fn gre_over_ipv6() {
    let Some(host) = host() else { return };
    let ends = || {
        Ip6Gre::new()
            .remote(parse("fd00::9"))
            .local(parse("fd00::1"))
    };
    let csum6 = EncapFlags::new().csum6(true);
    let both = ends().ikey(GreKey(7)).okey(GreKey(7)).ttl(Ttl(9));
    let both = both.encap_limit(4).encap_flags(csum6);
    let both = both.iflags(GreInput::new().ikeyed(true).iseq(true));
    let both = both.oflags(GreOutput::new().okeyed(true).oseq(true));
    let flags = Ip6TunnelFlags::new()
        .ignore_encap_limit(true)
        .use_orig_flowlabel(true);
    let both = both.flags(flags);
    let line = "remote fd00::9 local fd00::1 key 7 ttl 9 seq encap-udp6-csum encaplimit 4 \
        encaplimit none flowlabel inherit";
    compare(&host, None, both.clone(), line);
    compare(&host, None, LinkKind::Ip6Gretap(both), line);
}

/// The kernel resets what a change of such a tunnel leaves out; we say it again.
#[test]
fn a_change_of_a_tunnel_leaves_the_rest() {
    let Some(host) = host() else { return };
    let mut netlink = host.netlink();
    let gre = Gre::new()
        .remote(parse("10.0.0.9"))
        .local(parse("10.0.0.1"))
        .okey(GreKey(6));
    netlink.add(&named("new0").kind(gre)).expect("made");
    let before = shown(&host, "new0")["linkinfo"].clone();
    let change = named("new0").kind(Gre::new().ttl(Ttl(33)));
    netlink.set(&change).expect("changed");
    let mut expected = before;
    expected["info_data"]["ttl"] = 33.into();
    assert_eq!(shown(&host, "new0")["linkinfo"], expected);

    let sit = Sit::new()
        .remote(parse("10.0.0.9"))
        .local(parse("10.0.0.2"))
        .ttl(Ttl(5));
    netlink.add(&named("new1").kind(sit)).expect("made");
    let change = named("new1").kind(Sit::new().remote(parse("10.0.0.8")));
    netlink.set(&change).expect("changed");
    let data = &shown(&host, "new1")["linkinfo"]["info_data"];
    assert_eq!(
        (&data["remote"], &data["local"]),
        (&"10.0.0.8".into(), &"10.0.0.2".into())
    );
    assert_eq!(data["ttl"], 5);
}
