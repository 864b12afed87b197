//! The netlink handle, in a network namespace.

use std::time::Duration;

use lab::Host;
use tapline::Namespace;
use tapline::net::{Addr, Event, IfIndex, Link, OnError, Veth};

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

    let pair = named("veth7").kind(Veth::to(named("veth8")));
    let link = net.create(&pair).expect("created");
    net.set(&Link::at(link.ifindex()).mtu(1400)).expect("set");
    assert_eq!(net.get(&named("veth7")).expect("read").mtu, Some(1400));
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
