//! Addresses that tapline adds are shown correctly by iproute2, and the other way round.

use std::net::Ipv4Addr;

use crate::witness::{
    assert_error, assert_invalid, assert_unfit, events, host, json, parse, refused, refused_with,
    run,
};
use netlink::{Addr, AddrProtocol, Broadcast, Family, IfIndex, Lifetime, Object, Scope, Watch};
use rustix::io::Errno;
use serde_json::Value;
use tapline_lab::Host;
use tapline_lab::skip::{Feature, kernel_at_least, without};

/// What `ip` shows of the addresses of `dev`.
#[track_caller]
fn shown(host: &Host, dev: &str) -> Vec<Value> {
    let links = json(host, &format!("ip address show dev {dev}"));
    links[0]["addr_info"].as_array().expect("a list").clone()
}

/// Kernels that say why they refuse an address.
const ADDRESS_REFUSALS: Feature = Feature {
    name: "words for refused addresses",
    probe: || kernel_at_least(6, 6),
};

/// Kernels that know who made an address. Older ones ignore it.
const ADDRESS_PROTOCOLS: Feature = Feature {
    name: "protocols of addresses",
    probe: || kernel_at_least(5, 18),
};

/// Each key that `ip` shows is in our JSON, with the same value. Life times run down: ours are between those that `ip` shows before
/// and after.
#[track_caller]
fn assert_as_shown(host: &Host, dev: &str, index: IfIndex) {
    let before = shown(host, dev);
    let listing = host.netlink().list(&Addr::new().dev(index));
    let ours: Vec<Value> = (listing.expect("addresses").items.iter())
        .map(|addr| serde_json::to_value(addr).expect("JSON"))
        .collect();
    let shown = shown(host, dev);
    assert_eq!([ours.len(), before.len()], [shown.len(); 2]);
    for ((ours, before), shown) in ours.iter().zip(&before).zip(&shown) {
        for (key, value) in shown.as_object().expect("an object") {
            let is_between = match [value, &ours[key], &before[key]].map(Value::as_u64) {
                [Some(least), Some(ours), Some(most)] => (least..=most).contains(&ours),
                _ => ours[key] == *value,
            };
            assert!(is_between, "{key} of {ours:#}, {shown:#}");
        }
        for (key, value) in ours.as_object().expect("an object") {
            let told = shown.get(key);
            // iproute2 6.1 does not know of protocols.
            let ours_alone = ["dev", "protocol"].contains(&key.as_str());
            let known = told.is_some() || *value == Value::Bool(false) || ours_alone;
            assert!(known, "{key} of {shown:#}");
        }
        let read: Addr = serde_json::from_value(ours.clone()).expect("our own JSON");
        assert_eq!(serde_json::to_value(&read).expect("JSON"), *ours);
    }
}

#[test]
fn an_ipv4_address_is_made_with_all_that_belongs_to_it() {
    let (host, a, _) = host();
    let wanted = Addr::on(a, parse("192.0.2.1/24"))
        .broadcast(Broadcast::Ones)
        .label("a:one".to_owned())
        .scope(Scope::Link)
        .valid_life_time(Lifetime(5000))
        .preferred_life_time(Lifetime(4000))
        .noprefixroute(true)
        .metric(77);
    let wanted = if without(&ADDRESS_PROTOCOLS) {
        wanted
    } else {
        wanted.protocol(AddrProtocol::Other(42))
    };
    let mut netlink = host.netlink();
    netlink.add(&wanted).expect("added");
    let shown = &shown(&host, "a")[0];
    assert_eq!(shown["local"], "192.0.2.1");
    assert_eq!(shown["prefixlen"], 24);
    assert_eq!(shown["broadcast"], "192.0.2.255");
    assert_eq!(shown["label"], "a:one");
    assert_eq!(shown["scope"], "link");
    assert_eq!(shown["noprefixroute"], true);
    assert_eq!(shown["dynamic"], true);
    assert_eq!(shown["metric"], 77);
    assert!(
        shown["valid_life_time"]
            .as_u64()
            .is_some_and(|left| (4990..=5000).contains(&left))
    );
    assert!(
        shown["preferred_life_time"]
            .as_u64()
            .is_some_and(|left| (3990..=4000).contains(&left))
    );
    let key = Addr::new().dev(a).local(parse("192.0.2.1"));
    let told = netlink.get(&key).expect("it is there");
    let mut lasting = wanted.clone();
    (lasting.valid_life_time, lasting.preferred_life_time) = (None, None);
    assert!(told.matches(&lasting), "{told:#?}");
    netlink.del(&key).expect("one of any prefix");
    assert_eq!(
        host.netlink()
            .list(&Addr::new().dev(a).family(Family::V4))
            .expect("none")
            .items,
        []
    );
}

#[test]
fn an_ipv6_address_is_made_with_all_that_belongs_to_it() {
    let (host, a, _) = host();
    let wanted = Addr::on(a, parse("2001:db8::1/64"))
        .nodad(true)
        .home(true)
        .mngtmpaddr(true)
        .metric(55)
        .valid_life_time(Lifetime(5000));
    let mut netlink = host.netlink();
    netlink.add(&wanted).expect("added");
    let shown = shown(&host, "a");
    let shown = shown
        .iter()
        .find(|shown| shown["local"] == "2001:db8::1")
        .expect("shown");
    for flag in ["nodad", "home", "mngtmpaddr", "dynamic"] {
        assert_eq!(shown[flag], true, "{flag} of {shown:#}");
    }
    assert_eq!(shown["family"], "inet6");
    assert_eq!(shown["metric"], 55);
    let told = netlink
        .get(&Addr::on(a, parse("2001:db8::1/64")))
        .expect("told");
    assert_eq!(told.scope, Some(Scope::Global));
    assert_eq!(told.preferred_life_time, told.valid_life_time);
    netlink
        .del(&Addr::on(a, parse("2001:db8::1/64")))
        .expect("removed");
    netlink
        .get(&Addr::on(a, parse("2001:db8::1/64")))
        .expect_err("it is gone");
}

#[test]
fn what_iproute2_makes_is_read_back_as_meant() {
    let (host, a, _) = host();
    for line in [
        "ip addr add 192.0.2.1/24 brd + dev a label a:x",
        "ip addr add 192.0.2.2/24 dev a",
        "ip addr add 198.51.100.1 peer 198.51.100.2/30 dev a metric 9",
        "ip addr add 2001:db8::1/64 dev a nodad home",
        "ip addr add 2001:db8::2/64 dev a nodad valid_lft 900 preferred_lft 0",
        "ip addr add 2001:db8::3 peer 2001:db8::4/128 dev a nodad",
        "ip addr add fe80::7/64 dev a scope link nodad noprefixroute",
    ] {
        run(&host, line);
    }
    assert_as_shown(&host, "a", a);
    assert_as_shown(&host, "lo", IfIndex(1));
    let of = |text| {
        host.netlink()
            .get(&Addr::new().dev(a).local(parse(text)))
            .expect("told")
    };
    assert_eq!(of("192.0.2.2").secondary, Some(true));
    assert_eq!(of("198.51.100.1").peer, Some(parse("198.51.100.2")));
    assert_eq!(of("198.51.100.1").prefixlen, Some(30));
    assert_eq!(of("2001:db8::2").deprecated, Some(true));
    assert_eq!(of("2001:db8::3").peer, Some(parse("2001:db8::4")));
    assert_eq!(of("2001:db8::1").valid_life_time, Some(Lifetime::FOREVER));
    assert_eq!(of("fe80::7").scope, Some(Scope::Link));
}

#[test]
fn verbs_do_what_they_say() {
    let (host, a, b) = host();
    let mut netlink = host.netlink();
    let address = Addr::on(a, parse("192.0.2.1/24"));
    netlink.add(&address).expect("added");
    refused_with(netlink.add(&address), Errno::EXIST);
    netlink
        .replace(&address.clone().metric(9))
        .expect("replaced");
    assert_eq!(shown(&host, "a")[0]["metric"], 9);
    netlink
        .set(&address.clone().valid_life_time(Lifetime(77)))
        .expect("changed");
    assert_eq!(shown(&host, "a")[0]["dynamic"], true);
    netlink
        .add(&Addr::on(b, parse("192.0.2.2/24")))
        .expect("added");
    netlink
        .add(&Addr::on(b, parse("2001:db8::2/64")).nodad(true))
        .expect("added");
    let count = |filter: Addr| host.netlink().list(&filter).expect("a list").items.len();
    let global = |filter: Addr| filter.scope(Scope::Global);
    assert_eq!(count(global(Addr::new().dev(b))), 2);
    assert_eq!(count(Addr::new().dev(b).family(Family::V4)), 1);
    assert_eq!(count(global(Addr::new())), 3);
    assert_eq!(count(Addr::new().broadcast(Broadcast::Ones)), 0);
    netlink.del(&address).expect("removed");
    refused_with(netlink.del(&address), Errno::ADDRNOTAVAIL);
    refused_with(netlink.list(&Addr::new().dev(IfIndex(4711))), Errno::NODEV);
}

#[test]
fn what_cannot_be_said_is_not_sent() {
    let (host, a, _) = host();
    let mut netlink = host.netlink();
    let v4 = || Addr::on(a, parse("192.0.2.1/24"));
    let v6 = || Addr::on(a, parse("2001:db8::1/64"));
    let unfit = [
        (Addr::new().dev(a), "no address is given"),
        (
            Addr::new().local(parse("192.0.2.1")),
            "no interface is given for the address",
        ),
        (
            v4().prefixlen(33),
            "prefix length 33 is too long for 192.0.2.1",
        ),
        (
            v6().prefixlen(129),
            "prefix length 129 is too long for 2001:db8::1",
        ),
        (
            v4().peer(parse("::1")),
            "the peer ::1 and the address 192.0.2.1 belong to different families",
        ),
        (
            v6().family(Family::V4),
            "2001:db8::1 does not belong to the given family",
        ),
        (
            v4().nodad(true),
            "nodad, optimistic, home and mngtmpaddr apply to IPv6 addresses only",
        ),
        (
            v6().label("a:1".to_owned()),
            "label and broadcast apply to IPv4 addresses only",
        ),
        (
            v6().broadcast(Broadcast::At(Ipv4Addr::BROADCAST)),
            "label and broadcast apply to IPv4 addresses only",
        ),
        (
            v4().label("a:23456789012345".to_owned()),
            "the label \"a:23456789012345\" is longer than 15 bytes",
        ),
    ];
    assert_unfit(&host, unfit);
    assert_invalid(netlink.append(&v4()));
    assert_eq!(netlink.list(&v4()).expect("none").items, []);
}

/// The texts are those of rtm_to_ifaddr, net/ipv4/devinet.c, and inet6_rtm_newaddr, net/ipv6/addrconf.c.
#[test]
fn refusals_carry_the_kernels_words_and_the_place() {
    if without(&ADDRESS_REFUSALS) {
        return;
    }
    let (host, a, _) = host();
    let mut netlink = host.netlink();
    let mut refused_with = |addr: &Addr, text: &str| {
        assert_error(netlink.add(addr), text);
    };
    let early = Addr::on(a, parse("192.0.2.1/24"))
        .valid_life_time(Lifetime(10))
        .preferred_life_time(Lifetime(20));
    refused_with(
        &early,
        "cannot add address 192.0.2.1 of link 3 (ipv4: address lifetime invalid)",
    );
    let absent = Addr::on(IfIndex(4711), parse("192.0.2.1/24"));
    refused_with(
        &absent,
        "cannot add address 192.0.2.1 of link 4711 (ipv4: Device not found)",
    );
    let template = Addr::on(a, parse("2001:db8::1/65")).mngtmpaddr(true);
    refused_with(
        &template,
        "cannot add address 2001:db8::1 of link 3 (ipv6: address with \"mngtmpaddr\" flag must have a prefix length of 64)",
    );
    // ip(8) has the same refusal for the same reason.
    assert!(refused(&host, "ip addr add 192.0.2.1/24 dev lo valid_lft 0").contains("valid_lft"));
}

#[test]
fn addresses_are_watched() {
    let (host, a, _) = host();
    let mut watch = host
        .run(|| Watch::open(Addr::new().dev(a).family(Family::V4)))
        .expect("a watch");
    let address = Addr::on(a, parse("192.0.2.1/24"));
    let mut netlink = host.netlink();
    netlink.add(&address).expect("added");
    netlink
        .replace(&address.clone().valid_life_time(Lifetime(90)))
        .expect("changed");
    netlink
        .add(&Addr::on(IfIndex(1), parse("192.0.2.9/32")))
        .expect("on another link");
    netlink.del(&address).expect("removed");
    let events = events(&mut watch, |addr| (addr.prefix(), addr.valid_life_time));
    let it = Some(parse("192.0.2.1/24"));
    let for_90_s = Some(Lifetime(90));
    assert_eq!(
        events,
        [
            ("added", (it, Some(Lifetime::FOREVER))),
            ("changed", (it, for_90_s)),
            ("removed", (it, for_90_s)),
        ]
    );
}
