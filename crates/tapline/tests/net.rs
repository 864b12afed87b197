//! The netlink handle and its example, in a network namespace.

use std::time::Duration;

use lab::Host;
use tapline::Namespace;
use tapline::net::{Addr, Event, IfIndex, Link, LinkKind, OnError};

/// The program of this name in `examples`, which Cargo builds with the tests.
fn example(name: &str) -> String {
    let test = std::env::current_exe().expect("the path of the test program");
    let target = test.ancestors().nth(2).expect("the folder of the build");
    let path = target.join("examples").join(name);
    path.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn the_example_creates_a_link_and_reports_its_address() {
    let host = Host::new("example");
    let output = host
        .command(&example("netlink"))
        .output()
        .expect("the example runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("192.0.2.1/24 is on example0"), "{text}");
}

#[test]
fn a_handle_works_in_its_namespace() {
    let host = Host::new("handle");
    let namespace = Namespace::from(host.namespace().try_clone().expect("a descriptor"));
    let mut net = tapline::net()
        .namespace(namespace)
        .open()
        .expect("a handle");
    let named = |name: &str| Link::named(name.parse().expect("a name"));
    let mut watch = net.watch(Link::new()).expect("a watch");
    let Event::Added(loopback) = watch.next().expect("an event") else {
        panic!("the first event is not the loopback");
    };
    assert_eq!(loopback.ifindex(), IfIndex(1));

    let dummy = named("dummy7").kind(LinkKind::Dummy);
    let link = net.create(&dummy).expect("created");
    net.set(&Link::at(link.ifindex()).mtu(1400)).expect("set");
    assert_eq!(net.get(&named("dummy7")).expect("read").mtu, Some(1400));
    let addr = Addr::on(link.ifindex(), "192.0.2.7/24".parse().expect("a prefix"));
    net.add(&addr).expect("added");
    net.replace(&addr.clone().metric(9)).expect("replaced");
    let listed = net.list(&addr).expect("a list");
    assert_eq!(listed.items.len(), 1);
    let mut batch = net.batch(OnError::Stop);
    batch.del(&addr).del(&Link::at(link.ifindex()));
    assert!(batch.finish().is_done());

    let mut removed = false;
    while !removed {
        let events = watch.next_batch(Duration::from_secs(5)).expect("events");
        assert!(!events.is_empty(), "no event for the deletion");
        removed = events
            .iter()
            .any(|event| matches!(event, Event::Removed(gone) if gone.ifindex() == link.ifindex()));
    }
    assert!(watch.next_batch(Duration::ZERO).expect("none").is_empty());
}
