//! Links and addresses, compared with iproute2, also after each change.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use crate::witness::{ip_json, refused_with};
use netlink::{Addr, IfIndex, IfName, Link, LinkFlags, MacAddress, Prefix, Veth};
use rustix::io::Errno;
use serde_json::{Value, json};
use tapline_lab::{Host, Net};

fn flags(link: &Link) -> LinkFlags {
    link.flags.expect("flags")
}

/// A link in the words of `ip -json -details link`, as far as that shows what we know.
fn as_ip_shows(link: &Link) -> Value {
    let flags = flags(link);
    json!({
        "ifindex": link.ifindex().0,
        "ifname": link.ifname().to_string(),
        "mtu": link.mtu,
        "operstate": link.state.map(|state| state.to_string()),
        "address": link.address.map(|mac| mac.to_string()),
        "promiscuity": link.promiscuity,
        "num_tx_queues": link.tx_queue_count,
        "num_rx_queues": link.rx_queue_count,
        "kind": link.kind_name(),
        "up": flags.is_up(),
        "carrier": flags.has_carrier(),
        "noarp": flags.is_without_arp(),
        "loopback": flags.is_loopback(),
        "promiscuous": flags.is_promiscuous(),
    })
}

fn as_we_ask(shown: &Value) -> Value {
    let flags = shown["flags"].as_array().expect("flags");
    let has = |name: &str| flags.contains(&Value::from(name));
    let mut asked = json!({
        "kind": shown["linkinfo"]["info_kind"],
        "up": has("UP"),
        "carrier": has("LOWER_UP"),
        "noarp": has("NOARP"),
        "loopback": has("LOOPBACK"),
        "promiscuous": has("PROMISC"),
    });
    for key in [
        "ifindex",
        "ifname",
        "mtu",
        "operstate",
        "address",
        "promiscuity",
        "num_tx_queues",
        "num_rx_queues",
    ] {
        asked[key] = shown[key].clone();
    }
    asked
}

#[track_caller]
fn assert_links_as_shown(host: &Host) {
    let listing = host.netlink().links().expect("links");
    let ours: Vec<_> = listing.items.iter().map(as_ip_shows).collect();
    let shown = ip_json(host, &["link", "show"]);
    let shown: Vec<_> = shown
        .as_array()
        .expect("links")
        .iter()
        .map(as_we_ask)
        .collect();
    assert_eq!((ours, listing.interrupted), (shown, false));
}

#[test]
fn a_new_host_has_a_loopback() {
    let host = Host::new("host");
    let listing = host.netlink().links().expect("links");
    assert_eq!(listing.items.len(), 1);
    assert!(listing.items[0].is_loopback());
    assert_links_as_shown(&host);
}

#[test]
fn a_link_is_what_ip_shows() {
    let [left, right] = Net::new().pair();
    assert_links_as_shown(&left);
    assert_links_as_shown(&right);
    assert_eq!(left.link().lower, Some(right.interface().index));
}

#[test]
fn changes_are_made() {
    let [left, _right] = Net::new().pair();
    let (mut netlink, index) = (left.netlink(), left.interface().index);
    let mac = MacAddress([2, 9, 8, 7, 6, 5]);
    let changes = [
        Link::at(index).mtu(9000).address(mac.into()),
        Link::at(index).arp(true),
        Link::at(index).up(false),
    ];
    for change in changes {
        netlink.set(&change).expect("changed");
        assert_links_as_shown(&left);
    }
    let link = netlink.link(index).expect("the link");
    assert_eq!((link.mtu, link.mac()), (Some(9000), Some(mac)));
    assert!(!flags(&link).is_up() && !flags(&link).is_without_arp());
}

#[test]
fn a_veth_is_made_as_asked_across_namespaces() {
    let (here, there) = (Host::new("here"), Host::new("there"));
    let end = |name, last, mtu| {
        Link::named(IfName::new(name).expect("a name"))
            .address(MacAddress([2, 0, 0, 0, 0, last]).into())
            .mtu(mtu)
            .tx_queue_count(2)
            .rx_queue_count(2)
    };
    let ends = [end("near", 1, 1400), end("far", 2, 1300)];
    let far_end = ends[1]
        .clone()
        .in_namespace(there.namespace().try_clone().expect("a descriptor"));
    let veth = ends[0].clone().kind(Veth::to(far_end));
    let near = here.netlink().create(&veth).expect("a veth");
    let far = there.netlink().link_named("far").expect("the other end");
    assert_eq!((near.lower, far.lower), (far.index, near.index));
    for (link, end) in [(&near, &ends[0]), (&far, &ends[1])] {
        assert_eq!(
            (link.name, link.address, link.mtu),
            (end.name, end.address, end.mtu)
        );
        assert_eq!(
            (link.rx_queue_count, link.tx_queue_count),
            (Some(2), Some(2))
        );
        assert_eq!(link.kind_name(), Some("veth"));
    }
    assert_links_as_shown(&here);
    assert_links_as_shown(&there);
}

#[test]
fn a_link_is_moved_and_removed() {
    let [left, right] = Net::new().pair();
    let away = Host::new("away");
    let change = Link::at(left.interface().index)
        .in_namespace(away.namespace().try_clone().expect("a descriptor"));
    left.netlink().set(&change).expect("moved");
    let name = left.interface().name.to_string();
    let moved = away.netlink().link_named(&name).expect("it is there");
    assert_eq!(left.netlink().links().expect("links").items.len(), 1);
    away.netlink()
        .del(&Link::at(moved.ifindex()))
        .expect("removed");
    refused_with(right.netlink().link(right.interface().index), Errno::NODEV);
}

#[test]
fn alternative_names_and_aliases_are_reported_and_found() {
    let [left, _right] = Net::new().pair();
    let name = left.interface().name.to_string();
    let long = "a-name-that-is-longer-than-fifteen-bytes";
    for arguments in [
        vec![
            "link", "property", "add", "dev", &name, "altname", long, "altname", "short",
        ],
        vec!["link", "set", "dev", &name, "alias", "uplink to the core"],
    ] {
        assert!(
            left.command("ip")
                .args(arguments)
                .status()
                .expect("ip runs")
                .success()
        );
    }
    for name in [&name, long, "short"] {
        let link = left.netlink().link_named(name).expect("found");
        assert_eq!(link.ifindex(), left.interface().index);
        assert_eq!(
            link.alternative_names,
            Some(vec![long.into(), "short".into()])
        );
        assert_eq!(link.alias.as_deref(), Some("uplink to the core"));
    }
}

#[test]
fn a_capture_shows_as_promiscuity() {
    let [left, _right] = Net::new().pair();
    let name = left.interface().name.to_string();
    left.netlink().link_named(&name).expect("the link");
    assert_eq!(left.link().promiscuity, Some(0));
    let status = left
        .command("ip")
        .args(["link", "set", "dev", &name, "promisc", "on"])
        .status();
    assert!(status.expect("ip runs").success());
    assert_eq!(left.link().promiscuity, Some(1));
    assert!(flags(&left.link()).is_promiscuous());
}

#[test]
fn counters_are_those_of_sysfs_for_each_name() {
    let [left, right] = Net::new().pair();
    let target = (right.interface().v4, 7000);
    let receiver = right.run(|| UdpSocket::bind(target)).expect("a socket");
    let deadline = Some(Duration::from_secs(10));
    receiver.set_read_timeout(deadline).expect("a deadline");
    let sender = left.run(|| UdpSocket::bind("0.0.0.0:0")).expect("a socket");
    for _ in 0..7 {
        sender.send_to(&[0; 100], target).expect("sent");
        assert_eq!(receiver.recv(&mut [0; 200]).expect("received"), 100);
    }
    let sent = left.counters();
    assert_eq!(
        (sent.tx_packets, sent.tx_bytes),
        (7, 7 * (14 + 20 + 8 + 100))
    );
    let shown = &ip_json(
        &right,
        &["link", "show", "dev", &right.interface().name.to_string()],
    )[0];
    let (shown, ours) = (&shown["stats64"], right.counters());
    assert_eq!(shown["rx"]["packets"], ours.rx_packets);
    assert_eq!(shown["rx"]["bytes"], ours.rx_bytes);
    assert_eq!(shown["rx"]["dropped"], ours.rx_dropped);
    assert_eq!(shown["rx"]["multicast"], ours.multicast);
    assert_eq!(shown["tx"]["packets"], ours.tx_packets);
    assert_eq!(shown["tx"]["bytes"], ours.tx_bytes);
    assert_eq!(shown["tx"]["collisions"], ours.collisions);
}

fn addresses_as_shown(host: &Host) -> BTreeSet<String> {
    let shown = ip_json(host, &["address", "show"]);
    let links = shown.as_array().expect("links").iter();
    let addresses = links.flat_map(|link| {
        let entries = link["addr_info"].as_array().expect("addresses").iter();
        entries.map(|entry| {
            format!(
                "{} {} {}",
                link["ifindex"], entry["local"], entry["prefixlen"]
            )
        })
    });
    addresses.collect()
}

#[track_caller]
fn assert_addresses_as_shown(host: &Host, count: usize) {
    let listing = host.netlink().addresses().expect("addresses");
    let ours = listing.items.iter().map(|entry| {
        let Prefix {
            ip,
            len: prefix_len,
        } = entry.prefix().expect("a prefix");
        format!("{} {:?} {prefix_len}", entry.ifindex(), ip.to_string())
    });
    let ours: BTreeSet<_> = ours.collect();
    assert_eq!(ours, addresses_as_shown(host));
    assert_eq!(ours.len(), count);
}

#[test]
fn addresses_are_what_ip_shows() {
    let [left, _right] = Net::new().pair();
    // Two on the loopback, two on the link.
    assert_addresses_as_shown(&left, 4);
    let (mut netlink, index) = (left.netlink(), left.interface().index);
    let extra = [
        Prefix::new(IpAddr::from([192, 0, 2, 1]), 32),
        Prefix::new(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 48),
    ];
    for address in extra {
        let is_ipv6 = address.ip.is_ipv6();
        let mut address = Addr::on(index, address);
        // Duplicates are looked for in IPv6 alone.
        address.nodad = is_ipv6.then_some(true);
        netlink.add(&address).expect("added");
    }
    assert_addresses_as_shown(&left, 6);
    let listing = netlink.addresses().expect("addresses");
    assert!(listing.items.iter().all(|entry| !entry.is_tentative()));
    for address in extra {
        netlink.del(&Addr::on(index, address)).expect("removed");
    }
    assert_addresses_as_shown(&left, 4);
}

#[test]
fn a_refusal_carries_the_kernels_words() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let [left, _right] = Net::new().pair();
    let change = Link::at(left.interface().index).mtu(1);
    let error = left.netlink().set(&change).expect_err("too small");
    // The text is that of dev_set_mtu_ext, net/core/dev.c.
    let text = format!(
        "cannot set link {} (mtu less than device minimum)",
        left.interface().index
    );
    assert_eq!(error.to_string(), text);
    assert_eq!(error.errno(), Some(Errno::INVAL.raw_os_error()));

    let error = netlink.link_named("nowhere").expect_err("there is none");
    assert_eq!(error.to_string(), "cannot get link nowhere");
    assert_eq!(error.errno(), Some(Errno::NODEV.raw_os_error()));
    refused_with(netlink.link(IfIndex(4711)), Errno::NODEV);
    for name in ["", "a\0b", &"x".repeat(300)] {
        netlink.link_named(name).expect_err("there cannot be one");
    }
    // The handle is as good as before.
    assert!(netlink.link_named("lo").is_ok());
}

#[test]
fn a_thousand_links_are_listed_whole() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    for number in 0..500 {
        let end = |side| Link::named(IfName::new(format!("{side}{number}")).expect("a name"));
        let veth = end("a").kind(Veth::to(end("b")));
        netlink.add(&veth).expect("a veth");
    }
    let listing = netlink.links().expect("links");
    assert_eq!((listing.items.len(), listing.interrupted), (1001, false));
    assert_links_as_shown(&host);
}
