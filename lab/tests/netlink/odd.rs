//! Unusual names, indices, namespaces and addresses: the result is the same as with ip(8), or the error states the
//! problem.

use std::net::IpAddr;
use std::process::Output;

use crate::witness::{self, drain, name, refused_with, wait_for_events};
use netlink::{
    Addr, Cause, Event, Fdb, Group, IfIndex, IfName, Link, LinkKind, MacAddress, Namespace, Neigh,
    Netlink, NetlinkError, Nexthop, Object, Prefix, Route, Rule, Veth, Watch,
};
use rustix::io::Errno;
use tapline_lab::Host;

fn ifb(text: &str) -> Link {
    Link::named(name(text)).kind(LinkKind::Ifb)
}

fn ip(host: &Host, words: &[&str]) -> Output {
    host.command("ip").args(words).output().expect("ip runs")
}

/// Names of links: what ip(8) makes we make, what it refuses we refuse, and what is there we find.
#[test]
fn interface_names_are_valid_if_ip_accepts_them() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    for text in [
        "a",
        "fifteen-bytes-x",
        "sixteen-bytes-xx",
        "é",
        "ü-ö",
        "a%b",
        "...",
        ".",
        "..",
        "a/b",
        "a:b",
        "a b",
        "\u{1}",
        "\u{7f}",
        "\"",
        "{}",
        "日本",
        "-",
        "1",
        "@",
    ] {
        // The `@` behind a name is its lower link to ip(8), a `-` in front an option, and `%` a number to come.
        let by_ip = ip(&host, &["link", "add", "name", text, "type", "ifb"])
            .status
            .success();
        if by_ip {
            let told = netlink.link_named(text).expect("what ip made is found");
            assert_eq!(told.ifname().as_bytes(), text.as_bytes());
            netlink.del(&told).expect("removed");
        }
        let by_us = IfName::new(text)
            .is_ok_and(|name| netlink.add(&Link::named(name).kind(LinkKind::Ifb)).is_ok());
        assert_eq!(by_us, by_ip, "{text:?}");
        if by_us {
            let shown = ip(&host, &["link", "show", "dev", text]);
            assert!(shown.status.success(), "{text:?}");
            netlink.del(&Link::called(text)).expect("removed");
        }
    }
}

/// Alternative names have up to 127 bytes (`ALTIFNAMSIZ`).
#[test]
fn an_alternative_name_is_one_for_us_when_it_is_one_for_ip() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let index = netlink.create(&ifb("i0")).expect("made").ifindex();
    let long = "x".repeat(127);
    let too_long = "x".repeat(128);
    for text in [
        "second",
        "é-日本-ü",
        "a b",
        "a/b",
        "a:b",
        "..",
        "\"",
        &long,
        &too_long,
    ] {
        let by_ip = ip(
            &host,
            &["link", "property", "add", "dev", "i0", "altname", text],
        );
        let by_ip = by_ip.status.success();
        if by_ip {
            assert_eq!(
                netlink.link_named(text).expect("found").index,
                Some(index),
                "{text:?}"
            );
            assert!(
                ip(
                    &host,
                    &["link", "property", "del", "dev", "i0", "altname", text]
                )
                .status
                .success()
            );
        }
        let wanted = Link::at(index).alternative_names(vec![text.to_owned()]);
        let by_us = netlink.set(&wanted);
        // The kernel takes some that ip(8) refuses itself.
        assert!(by_us.is_ok() || !by_ip, "{text:?}: {by_us:?}");
        assert_eq!(by_us.is_ok(), text.len() < 128, "{text:?}: {by_us:?}");
        if by_us.is_ok() {
            let told = netlink.link(index).expect("told").alternative_names;
            assert_eq!(told, wanted.alternative_names);
            netlink.del_alternative_names(&wanted).expect("removed");
        }
        let error = netlink.link_named(text).expect_err("there is no such link");
        assert!(error.errno().is_some(), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!("cannot get link {text}{}", words(&error))
        );
    }
}

/// What the kernel says to it, in brackets.
fn words(error: &NetlinkError) -> String {
    match &error.cause {
        Cause::Refused(refusal) => match (&refusal.path, &refusal.message) {
            (Some(path), Some(text)) => format!(" ({path}: {text})"),
            (Some(only), None) | (None, Some(only)) => format!(" ({only})"),
            (None, None) => String::new(),
        },
        cause => panic!("{cause:?}"),
    }
}

#[test]
fn a_namespace_that_is_gone_is_reported() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    // A process that has ended, and a file that is no namespace.
    let mut child = host.command("/bin/true").spawn().expect("it runs");
    let pid = child.id();
    child.wait().expect("it ends");
    for (elsewhere, errno) in [
        (ifb("i0").namespace_pid(pid), Errno::SRCH),
        (
            ifb("i0").in_namespace(Namespace::open("/dev/null").expect("a file")),
            Errno::INVAL,
        ),
    ] {
        let error = netlink
            .add(&elsewhere)
            .expect_err("there is no such namespace");
        assert!(
            error.to_string().starts_with("cannot add link i0"),
            "{error}"
        );
        let said = error.errno().map(Errno::from_raw_os_error);
        assert!(
            said == Some(errno) || said == Some(Errno::INVAL),
            "{error:?}"
        );
        netlink.link_named("i0").expect_err("it was not made");
    }
    // The other end of a pair goes with its namespace, and this end with it.
    let other = Host::new("other");
    let far =
        Link::named(name("far")).in_namespace(other.namespace().try_clone().expect("a descriptor"));
    let near = netlink
        .create(&Link::named(name("near")).kind(Veth::to(far)))
        .expect("a pair");
    let mut watch = host.watch();
    drain(&mut watch);
    drop(other);
    let index = near.ifindex();
    wait_until(
        &mut watch,
        |event| matches!(event, Event::Removed(link) if link.ifindex() == index),
    );
    refused_with(netlink.set(&Link::at(index).up(true)), Errno::NODEV);
}

/// A handle keeps its namespace.
#[test]
fn a_handle_outlives_the_host() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    drop(host);
    netlink.add(&ifb("i0")).expect("made");
    assert_eq!(netlink.links().expect("links").items.len(), 2);
}

#[test]
fn an_index_that_is_used_again_is_another_link() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let mut watch = host.watch();
    drain(&mut watch);
    let addr = |text: &str| Addr::on(IfIndex(77), text.parse().expect("a prefix"));
    netlink.add(&ifb("first").index(IfIndex(77))).expect("made");
    netlink.add(&addr("10.0.0.1/24")).expect("added");
    netlink.del(&Link::named(name("first"))).expect("removed");
    netlink
        .add(&ifb("second").index(IfIndex(77)))
        .expect("made");
    let mut told = Vec::new();
    while let Some(event) = watch.try_next().expect("events") {
        match event {
            Event::Added(link) => told.push(("added", link.ifname().to_string())),
            Event::Removed(link) => told.push(("removed", link.ifname().to_string())),
            _ => {}
        }
    }
    let expected = [
        ("added", "first"),
        ("removed", "first"),
        ("added", "second"),
    ];
    assert_eq!(told, expected.map(|(what, name)| (what, name.to_owned())));
    let known = watch.known().find(|link| link.ifindex() == IfIndex(77));
    assert_eq!(known.expect("known").ifname(), name("second"));
    // What stood on the first is not on the second.
    assert_eq!(
        netlink
            .list(&Addr::new().dev(IfIndex(77)))
            .expect("a list")
            .items,
        []
    );
    let error = netlink
        .del(&addr("10.0.0.1/24"))
        .expect_err("it went with the first");
    assert!(error.is_absence(), "{error:?}");
    let error = netlink
        .add(&ifb("third").index(IfIndex(77)))
        .expect_err("it is taken");
    let taken = [Errno::EXIST, Errno::BUSY].map(|errno| Some(errno.raw_os_error()));
    assert!(taken.contains(&error.errno()), "{error:?}");
}

fn refused<O: Object>(netlink: &mut Netlink, object: &O) {
    match netlink.add(object) {
        Ok(()) => panic!("{object:?} was added"),
        Err(error) => match &error.cause {
            Cause::Invalid(unfit) => assert!(!unfit.reason.is_empty()),
            Cause::Refused(_) => {}
            cause => panic!("{object:?}: {cause:?}"),
        },
    }
}

/// An address of one family where another is meant, and prefixes that are too long.
#[test]
fn families_do_not_mix_and_prefixes_have_an_end() {
    let (host, a, _) = witness::host();
    let mut netlink = host.netlink();
    let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
    let (v4, v6) = (ip("10.0.0.1"), ip("2001:db8::1"));
    let long = [
        Prefix { ip: v4, len: 33 },
        Prefix { ip: v6, len: 129 },
        Prefix { ip: v4, len: 255 },
    ];
    for prefix in long {
        refused(&mut netlink, &Addr::on(a, prefix));
        refused(&mut netlink, &Route::to(prefix).dev(a));
        refused(&mut netlink, &Rule::new().src(prefix));
        refused(&mut netlink, &Rule::new().dst(prefix));
    }
    for (one, other) in [(v4, v6), (v6, v4)] {
        let network = Prefix { ip: one, len: 32 };
        refused(&mut netlink, &Addr::on(a, network).peer(other));
        refused(&mut netlink, &Route::to(network).gateway(other).dev(a));
        refused(&mut netlink, &Route::to(network).prefsrc(other).dev(a));
        refused(
            &mut netlink,
            &Rule::new().src(network).dst(Prefix { ip: other, len: 32 }),
        );
        let hop = Nexthop::new().id(5).gateway(one).dev(a);
        refused(&mut netlink, &hop.family(netlink::Family::of(other)));
        let neigh = Neigh::on(a, one).lladdr(MacAddress([2, 0, 0, 0, 0, 9]).into());
        refused(&mut netlink, &neigh.family(netlink::Family::of(other)));
    }
    refused(
        &mut netlink,
        &Fdb::on(a, MacAddress([2, 0, 0, 0, 0, 9])).vlan(5000),
    );
    refused(&mut netlink, &Nexthop::new().id(6).group(Group::of([])));
    assert_eq!(netlink.list(&Nexthop::new()).expect("a list").items, []);
    let rules = netlink.list(&Rule::new()).expect("a list").items;
    assert!(
        rules
            .iter()
            .all(|rule| rule.src.is_none_or(Prefix::is_everything)),
        "{rules:?}"
    );
}

/// Takes events until `wanted` is one.
#[track_caller]
fn wait_until(watch: &mut Watch<Link>, wanted: impl Fn(&Event<Link>) -> bool) {
    loop {
        while let Some(event) = watch.try_next().expect("events") {
            if wanted(&event) {
                return;
            }
        }
        wait_for_events(watch, "no event");
    }
}
