//! Communication with the kernel, tested without one: against a fake kernel, through failing transports, and from a
//! recording. The tests compare the requests that the fake kernel receives.

use netlink::transport::{FakeKernel, Fault, Faulty, RecordedDatagram, Recorder, Replay};
use netlink::{
    Addr, Cause, Event, IfIndex, IfName, ItemResult, Link, LinkKind, Neigh, Netlink, NetlinkError,
    OnError, PortState, PortVlan, PortVlanFlags, Prefix, QosMapping, Route, RouteTable, Rule, Vlan,
    Watch,
};
use tapline_netlink as netlink;

fn link(number: u32) -> Link {
    let name = IfName::new(format!("if{number}")).expect("a name");
    Link::named(name).kind(LinkKind::Dummy)
}

fn with_links(count: u32) -> FakeKernel {
    let kernel = FakeKernel::new();
    let mut netlink = kernel.netlink().expect("a socket");
    for number in 0..count {
        netlink.add(&link(number)).expect("added");
    }
    kernel
}

fn errno(error: &netlink::NetlinkError) -> Option<rustix::io::Errno> {
    error.errno().map(rustix::io::Errno::from_raw_os_error)
}

#[test]
fn verbs_do_what_they_say() {
    let kernel = with_links(3);
    let mut netlink = kernel.netlink().expect("a socket");
    let made = netlink.create(&link(3).mtu(9000)).expect("made");
    assert_eq!((made.index, made.mtu), (Some(IfIndex(4)), Some(9000)));
    netlink.set(&Link::at(IfIndex(4)).up(true)).expect("set up");
    let told = netlink.link_named("if3").expect("there");
    assert_eq!((told.up, told.mtu), (Some(true), Some(9000)));
    let taken = netlink.add(&link(3)).expect_err("taken");
    assert_eq!(errno(&taken), Some(rustix::io::Errno::EXIST));
    netlink.del(&link(0)).expect("removed");
    let missing = netlink.link_named("if0").expect_err("gone");
    assert_eq!(missing.to_string(), "cannot get link if0");
    assert_eq!(errno(&missing), Some(rustix::io::Errno::NODEV));
    let up = netlink.list(&Link::new().up(true)).expect("a list");
    assert_eq!(up.items, [told]);
}

#[test]
fn a_list_longer_than_a_datagram_is_whole() {
    let kernel = with_links(2000);
    let listing = kernel.netlink().expect("a socket").links().expect("a list");
    assert_eq!((listing.items.len(), listing.interrupted), (2000, false));
}

fn faulty(kernel: &FakeKernel, faults: impl IntoIterator<Item = Fault>) -> Netlink {
    Netlink::over(Faulty::new(kernel.socket().expect("a socket"), faults))
}

#[test]
fn an_interrupted_list_is_requested_again() {
    let kernel = with_links(2000);
    for fault in [Fault::Interrupted, Fault::Truncated, Fault::Overrun] {
        for at in 0..4 {
            let faults = std::iter::repeat_n(Fault::None, at).chain([fault]);
            let listing = faulty(&kernel, faults).links();
            let listing = listing.unwrap_or_else(|error| panic!("{fault:?} at {at}: {error}"));
            assert_eq!((listing.items.len(), listing.interrupted), (2000, false));
        }
    }
}

#[test]
fn a_list_that_keeps_changing_is_reported_as_interrupted() {
    let kernel = with_links(10);
    let listing = faulty(&kernel, [Fault::Interrupted; 100]).links();
    assert!(listing.expect("a list").interrupted);
    // Each time something is lost, and the end of the list with it.
    let error = faulty(&kernel, [Fault::Overrun; 100]).links();
    assert!(error.is_err());
}

#[test]
fn an_object_that_was_cut_off_is_asked_for_again() {
    let kernel = with_links(1);
    let told = faulty(&kernel, [Fault::Truncated]).link_named("if0");
    assert_eq!(told.expect("told").index, Some(IfIndex(1)));
}

#[test]
fn a_batch_has_an_answer_for_each_item() {
    let kernel = with_links(10);
    let mut netlink = kernel.netlink().expect("a socket");
    let mut batch = netlink.batch(OnError::Continue);
    for number in 0..1000 {
        batch.add(&link(number));
    }
    let outcome = batch.finish();
    assert_eq!((outcome.item_count, outcome.failed.len()), (1000, 10));
    assert!(matches!(outcome.result(9), Some(ItemResult::Failed(error))
        if errno(error) == Some(rustix::io::Errno::EXIST)));
    assert!(matches!(outcome.result(10), Some(ItemResult::Done)));
    assert_eq!(netlink.links().expect("a list").items.len(), 1000);
}

/// Texts and lists that an attribute cannot hold, and why.
fn unsendable() -> Vec<(Link, String)> {
    let name = |number: u32| format!("{number:0>100}");
    let mapping = |number| QosMapping {
        from: number,
        to: 1,
    };
    let qos = (0..9000).map(mapping).collect();
    let length =
        |path: &str, bytes| format!("{path} has {bytes} bytes, and an attribute at most 65535");
    vec![
        (link(0).alias("a".repeat(65_546)), length("ifalias", 65_551)),
        (
            link(0).alternative_names(vec!["b".repeat(70_000)]),
            length("prop-list.alt-ifname", 70_005),
        ),
        (
            link(0).alternative_names((0..700).map(name).collect()),
            length("prop-list", 75_604),
        ),
        (
            link(0).kind(Vlan::new().id(7).egress_qos(qos)),
            length("linkinfo.data.vlan-egress-qos", 108_004),
        ),
        (
            link(0).alias("ab\0cd".to_owned()),
            "ifalias contains a zero byte".to_owned(),
        ),
    ]
}

#[test]
fn what_an_attribute_cannot_hold_is_refused() {
    for (link, expected) in unsendable() {
        let kernel = with_links(1);
        let before = kernel.netlink().expect("a socket").links().expect("a list");
        let (recorder, recording) = Recorder::new(kernel.socket().expect("a socket"));
        let mut netlink = Netlink::over(recorder);
        let refused = netlink.set(&link).expect_err("too long");
        assert!(
            matches!(&refused.cause, Cause::Invalid(invalid) if invalid.reason == expected),
            "{refused:?}"
        );
        let mut batch = netlink.batch(OnError::Continue);
        batch.set(&self::link(0).mtu(1300)).set(&link);
        batch.set(&self::link(0).mtu(1400));
        let summary = batch.finish();
        assert_eq!(summary.failed.len(), 1);
        assert!(
            matches!(&summary.failed[0], (1, NetlinkError { cause: Cause::Invalid(invalid), .. })
                if invalid.reason == expected),
            "{:?}",
            summary.failed
        );
        let after = kernel.netlink().expect("a socket").links().expect("a list");
        assert_eq!(after.items[0].mtu, Some(1400));
        assert_eq!(after.items.len(), before.items.len());
        // What went to the kernel says its own length everywhere.
        for datagram in recording.datagrams() {
            if let RecordedDatagram::Sent(bytes) = datagram {
                assert!(bytes.len() < 1000, "{} bytes were sent", bytes.len());
            }
        }
    }
}

#[test]
fn a_batch_whose_answer_is_lost_takes_nothing_for_done() {
    let kernel = with_links(10);
    let mut netlink = faulty(&kernel, [Fault::Overrun]);
    let mut batch = netlink.batch(OnError::Continue);
    batch.add(&link(100)).add(&link(101));
    let outcome = batch.finish();
    assert_eq!(outcome.failed.len(), 2);
    assert!(matches!(outcome.failed[0].1.cause, Cause::NoReply));
}

#[test]
fn a_reply_that_cannot_be_read_once_is_read_again() {
    let kernel = with_links(1);
    let mut netlink = faulty(&kernel, [Fault::Failed]);
    let mut batch = netlink.batch(OnError::Undo);
    batch.add(&link(100)).add(&link(0));
    let outcome = batch.finish();
    // The kernel refuses the second. The first was carried out, so that it is undone.
    assert_eq!((outcome.failed.len(), outcome.failed[0].0), (1, 1));
    assert!(matches!(outcome.result(0), Some(ItemResult::Undone)));
    assert_eq!(netlink.links().expect("a list").items.len(), 1);
    let twice = faulty(&kernel, [Fault::Failed; 2]).links();
    assert!(twice.is_err());
}

#[test]
fn a_watch_reports_changes_that_come_without_a_notification() {
    let kernel = with_links(2);
    let mut watch = kernel.watch(Link::new(), 8).expect("a watch");
    for _ in 0..2 {
        assert!(watch.has_pending());
        assert!(matches!(watch.try_next(), Ok(Some(Event::Added(_)))));
    }
    // The end of the list has not been seen yet.
    assert!(watch.has_pending());
    assert!(matches!(watch.try_next(), Ok(None)));
    assert!(!watch.has_pending());
    let mut netlink = kernel.netlink().expect("a socket");
    netlink.add(&link(2)).expect("added");
    // A notification has come instead.
    assert!(!watch.has_pending());
    assert!(matches!(watch.try_next(), Ok(Some(Event::Added(_)))));
    // The list after an overrun.
    (3..20).for_each(|number| netlink.add(&link(number)).expect("added"));
    assert!(matches!(watch.try_next(), Ok(Some(Event::Overrun))));
    for _ in 3..20 {
        assert!(watch.has_pending());
        assert!(matches!(watch.try_next(), Ok(Some(Event::Added(_)))));
    }
}

/// The state that results from all events of a watch so far.
fn follow(watch: &mut Watch<Link>, names: &mut Vec<IfIndex>) -> usize {
    let mut overruns = 0;
    while let Some(event) = watch.try_next().expect("an event") {
        match event {
            Event::Added(link) => names.push(link.ifindex()),
            Event::Removed(link) => names.retain(|index| *index != link.ifindex()),
            Event::Overrun => overruns += 1,
            _ => {}
        }
    }
    names.sort_unstable();
    overruns
}

#[test]
fn a_watch_that_was_overrun_ends_up_right() {
    let kernel = with_links(5);
    let mut netlink = kernel.netlink().expect("a socket");
    let mut watch = kernel.watch(Link::new(), 20).expect("a watch");
    let mut known = Vec::new();
    assert_eq!(follow(&mut watch, &mut known), 0);
    assert_eq!(known, [1, 2, 3, 4, 5].map(IfIndex));
    for number in 100..200 {
        netlink.add(&link(number)).expect("added");
    }
    for number in 0..5 {
        netlink.del(&link(number)).expect("removed");
    }
    assert_eq!(follow(&mut watch, &mut known), 1);
    let there = netlink.links().expect("a list").items;
    assert_eq!(known, there.iter().map(Link::ifindex).collect::<Vec<_>>());
    assert_eq!(watch.known().len(), 100);
    netlink.del(&link(150)).expect("removed");
    assert_eq!(follow(&mut watch, &mut known), 0);
    assert_eq!(known.len(), 99);
}

#[test]
fn a_recorded_conversation_is_played_again() {
    let kernel = with_links(3);
    let talk = |netlink: &mut Netlink| {
        netlink.set(&link(1).mtu(1234)).expect("set");
        let refused = netlink.add(&link(2)).expect_err("taken").to_string();
        (netlink.links().expect("a list").items, refused)
    };
    let (recorder, recording) = Recorder::new(kernel.socket().expect("a socket"));
    let answers = talk(&mut Netlink::over(recorder));
    let text = serde_json::to_string(&recording.datagrams()).expect("JSON");
    let script: Vec<RecordedDatagram> = serde_json::from_str(&text).expect("JSON");
    let mut again = Netlink::over(Replay::new(script.clone()).expect("a descriptor"));
    assert_eq!(talk(&mut again), answers);
    // Something else is not answered.
    let mut other = Netlink::over(Replay::new(script).expect("a descriptor"));
    assert!(other.links().is_err());
}

#[test]
fn what_is_on_a_link_is_kept_and_goes_with_it() {
    let kernel = with_links(2);
    let mut netlink = kernel.netlink().expect("a socket");
    let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
    let own = Addr::on(IfIndex(1), prefix("10.0.0.1/24"));
    netlink.add(&own).expect("added");
    let taken = netlink.add(&own).expect_err("taken");
    assert_eq!(errno(&taken), Some(rustix::io::Errno::EXIST));
    let route = |text: &str| Route::to(prefix(text)).dev(IfIndex(1));
    netlink
        .add(&route("192.0.2.0/24").metric(7))
        .expect("added");
    netlink.add(&route("2001:db8::/32")).expect("added");
    netlink
        .add(&Route::to(prefix("198.51.100.0/24")).dev(IfIndex(2)))
        .expect("added");
    let neigh = Neigh::on(IfIndex(1), [10, 0, 0, 2]);
    let neigh = neigh.lladdr("02:00:00:00:00:02".parse().expect("an address"));
    netlink.add(&neigh).expect("added");
    // These three, and the local route of the address.
    assert_eq!(netlink.list(&Route::new()).expect("routes").items.len(), 4);
    netlink.del(&route("192.0.2.0/24")).expect("removed");
    let missing = netlink.del(&route("192.0.2.0/24")).expect_err("gone");
    assert_eq!(errno(&missing), Some(rustix::io::Errno::SRCH));

    let mut watch = kernel.watch(Route::new(), 20).expect("a watch");
    while watch.try_next().expect("an event").is_some() {}
    netlink.del(&link(0)).expect("removed");
    assert!(matches!(watch.try_next(), Ok(Some(Event::Removed(_)))));
    assert!(
        netlink
            .list(&Addr::new())
            .expect("addresses")
            .items
            .is_empty()
    );
    assert!(
        netlink
            .list(&Neigh::new())
            .expect("neighbours")
            .items
            .is_empty()
    );
    let left = netlink.list(&Route::new()).expect("routes").items;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].dev, Some(IfIndex(2)));
}

/// As the kernel does (`vxlan_handle_lowerdev_unregister`, drivers/net/vxlan/vxlan_core.c; `ip_tunnel_dellink`,
/// net/ipv4/ip\_tunnel.c). `netlink::transport::fake` in `lab` compares more kinds with the kernel itself.
#[test]
fn a_vxlan_goes_with_its_link_and_a_tunnel_stays() {
    let kernel = with_links(1);
    let mut netlink = kernel.netlink().expect("a socket");
    let lower = IfIndex(1);
    let named = |text: &str| Link::named(text.parse().expect("a name"));
    let vxlan = |link| netlink::Vxlan::new().id(7).link(link);
    let refused = netlink.add(&named("x0").kind(vxlan(IfIndex(9))));
    let refused = errno(&refused.expect_err("no such link"));
    assert_eq!(refused, Some(rustix::io::Errno::NODEV));
    netlink
        .add(&named("x0").kind(vxlan(lower)))
        .expect("a VXLAN");
    let tunnel = named("t0").kind(netlink::Ipip::new());
    netlink.add(&tunnel.lower(lower)).expect("a tunnel");
    let mut watch = kernel.watch(Link::new(), 20).expect("a watch");
    while watch.try_next().expect("an event").is_some() {}
    netlink.del(&link(0)).expect("deleted");
    for _ in 0..2 {
        assert!(matches!(watch.try_next(), Ok(Some(Event::Removed(_)))));
    }
    let left = netlink.links().expect("a list").items;
    assert_eq!(
        left.iter().map(Link::ifname).collect::<Vec<_>>(),
        [named("t0").ifname()]
    );
}

/// As the kernel does, which `netlink::route::rule` in `lab` tests: the default table and priority, and what a deletion hits.
#[test]
fn rules_are_stored_and_deleted_as_by_the_kernel() {
    let kernel = FakeKernel::new().keeping::<Rule>();
    let mut netlink = kernel.netlink().expect("a socket");
    let from = |text: &str| Rule::new().src(text.parse().expect("a prefix"));
    netlink.add(&from("10.2.0.0/16")).expect("added");
    netlink.add(&from("10.2.0.0/16")).expect("added");
    netlink
        .add(&from("10.3.0.0/16").priority(9))
        .expect("added");
    netlink
        .add(&Rule::new().table(7.into()).priority(50))
        .expect("added");
    let listed = |netlink: &mut Netlink| {
        let rules = netlink.list(&Rule::new()).expect("rules").items;
        let rules = rules.into_iter().map(|rule| (rule.priority, rule.table));
        rules.collect::<Vec<_>>()
    };
    let main = Some(RouteTable::Main);
    assert_eq!(
        listed(&mut netlink),
        [
            (Some(9), main),
            (Some(50), Some(7.into())),
            (Some(32_764), main),
            (Some(32_765), main)
        ]
    );
    let again = netlink.add(&from("10.3.0.0/16").priority(9));
    assert_eq!(
        errno(&again.expect_err("there")),
        Some(rustix::io::Errno::EXIST)
    );
    for nothing in [Rule::new(), Rule::new().not(true)] {
        let invalid = netlink.del(&nothing).expect_err("nothing").cause;
        assert!(matches!(invalid, Cause::Invalid(_)), "{invalid:?}");
    }
    netlink.del(&from("10.2.0.0/16")).expect("the first");
    netlink
        .del(&Rule::new().table(7.into()))
        .expect("the only one");
    assert_eq!(
        listed(&mut netlink),
        [(Some(9), main), (Some(32_765), main)]
    );
    let gone = netlink.del(&Rule::new().table(7.into())).expect_err("gone");
    assert_eq!(errno(&gone), Some(rustix::io::Errno::NOENT));
}

#[test]
fn ports_have_vlans() {
    let kernel = with_links(2);
    let mut netlink = kernel.netlink().expect("a socket");
    let (first, second) = (IfIndex(1), IfIndex(2));
    let mut watch = kernel.watch(PortVlan::new(), 100).expect("a watch");
    let (pvid, untagged) = (PortVlanFlags::PVID, PortVlanFlags::UNTAGGED);
    let add = |netlink: &mut Netlink, vlan: &PortVlan| netlink.add(vlan).expect("added");
    add(
        &mut netlink,
        &PortVlan::on(first, 10).flags(pvid | untagged),
    );
    add(&mut netlink, &PortVlan::range(first, 20..=22));
    add(&mut netlink, &PortVlan::on(second, 10));
    let ids = |netlink: &mut Netlink, filter: &PortVlan| {
        let listing = netlink.list(filter).expect("a list");
        let ids = listing.items.iter().map(|vlan| vlan.vlan.expect("an id"));
        ids.collect::<Vec<_>>()
    };
    assert_eq!(
        ids(&mut netlink, &PortVlan::new().dev(first)),
        [10, 20, 21, 22]
    );
    assert_eq!(ids(&mut netlink, &PortVlan::new()), [10, 20, 21, 22, 10]);

    // Another PVID takes the place of the first. Adding a VLAN again changes its flags.
    add(&mut netlink, &PortVlan::on(first, 21).flags(pvid));
    let found = netlink.get(&PortVlan::on(first, 10)).expect("there");
    assert_eq!(found.flags, Some(untagged));
    assert!(
        netlink
            .get(&PortVlan::on(first, 21))
            .expect("there")
            .is_pvid()
    );

    // Options are those of a VLAN that exists, and start as in the kernel.
    assert_eq!(found.state, Some(PortState::Forwarding));
    let blocking = PortVlan::range(first, 20..=21).state(PortState::Blocking);
    netlink.set(&blocking).expect("set");
    let found = netlink.list(&PortVlan::new().state(PortState::Blocking));
    assert_eq!(found.expect("a list").items.len(), 2);
    let missing = netlink.set(&PortVlan::on(second, 11).state(PortState::Blocking));
    let missing = errno(&missing.expect_err("no such VLAN"));
    assert_eq!(missing, Some(rustix::io::Errno::NOENT));

    netlink
        .del(&PortVlan::range(first, 20..=4094))
        .expect("deleted");
    assert_eq!(ids(&mut netlink, &PortVlan::new().dev(first)), [10]);
    netlink.del(&Link::at(second)).expect("deleted");
    assert_eq!(ids(&mut netlink, &PortVlan::new()), [10]);

    // A watch that saw every change has the same VLANs.
    let mut seen = std::collections::BTreeSet::new();
    while let Some(event) = watch.try_next().expect("an event") {
        match event {
            Event::Added(vlan) => assert!(seen.insert((vlan.dev, vlan.vlan))),
            Event::Removed(vlan) => assert!(seen.remove(&(vlan.dev, vlan.vlan))),
            Event::Changed { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        [(Some(first), Some(10))]
    );
}

#[test]
fn an_object_survives_json() {
    let wanted = link(7).mtu(1400).up(true).alias("for the test".into());
    let text = serde_json::to_string(&wanted).expect("JSON");
    assert_eq!(serde_json::from_str::<Link>(&text).expect("JSON"), wanted);
    assert!(text.contains("\"info_kind\":\"dummy\""), "{text}");
}
