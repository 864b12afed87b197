//! Messages with wrong lengths or truncated at any byte: parsers stop, and report the offset. The messages are
//! tapline's requests, with each of their bytes changed.

use netlink::codec::{Request, messages};
use netlink::explain::{Explanation, explain};
use netlink::{
    Addr, Bond, Bridge, Fdb, Gre, Group, Hop, IfIndex, IfName, KernelError, Link, LinkKind,
    MacAddress, Mdb, Metrics, NamespaceNumber, Neigh, Nexthop, Object, PortVlan, Prefix,
    QosMapping, Route, Rule, Stats, Verb, Veth, Vlan, Vxlan,
};
use tapline_netlink as netlink;

/// What a byte of a length, of a type or of a number is changed into.
const BYTES: [u8; 8] = [0, 1, 3, 4, 5, 0x7f, 0x80, 0xff];

fn said<O: Object>(object: &O) -> Vec<u8> {
    let mut request = Request::default();
    object
        .encode(Verb::Add, &mut request)
        .expect("it can be said");
    request.finish(1);
    request.bytes().to_vec()
}

fn link(kind: impl Into<LinkKind>) -> Vec<u8> {
    let name = |text| IfName::new(text).expect("a name");
    let link = Link::named(name("one")).up(true).mtu(1400).kind(kind);
    said(&link.address(MacAddress([2, 0, 0, 0, 0, 9]).into()))
}

/// A message of each kind, and links with lists, pairs and structs in them.
fn seeds() -> Vec<Vec<u8>> {
    let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
    let ip = |text: &str| text.parse::<std::net::IpAddr>().expect("an address");
    let (dev, mac) = (IfIndex(3), MacAddress([2, 0, 0, 0, 0, 9]));
    let peer = Link::named(IfName::new("two").expect("a name")).mtu(1400);
    let mapping = vec![QosMapping { from: 1, to: 2 }, QosMapping { from: 3, to: 4 }];
    let hop = |text| Hop::new().dev(dev).weight(7).gateway(ip(text));
    let route = Route::to(prefix("192.0.2.0/24")).metric(7);
    let metrics = Metrics::new().mtu(1400).congestion("cubic".to_owned());
    vec![
        link(Veth::to(peer)),
        link(Vlan::new().id(7).egress_qos(mapping)),
        link(Bridge::new().ageing_time(7).vlan_filtering(true)),
        link(Bond::new().arp_ip_target(vec![[10, 0, 0, 1].into(), [10, 0, 0, 2].into()])),
        link(Vxlan::new().id(7).remote([10, 0, 0, 9].into()).port(4789)),
        link(Gre::new().local([10, 0, 0, 1].into())),
        said(&Addr::on(dev, prefix("10.0.0.1/24"))),
        said(&Neigh::on(dev, [10, 0, 0, 2]).lladdr(mac.into())),
        said(&Fdb::on(dev, mac).dst(ip("10.0.0.9"))),
        said(
            &route
                .clone()
                .nexthops(vec![hop("10.0.0.7"), hop("10.0.0.8")]),
        ),
        said(&route.dev(dev).metrics(Box::new(metrics))),
        said(&Nexthop::new().id(5).group(Group::of([1, 2, 3]))),
        said(&Rule::new().src(prefix("10.0.0.0/8")).priority(900)),
        said(&Mdb::on(
            dev,
            IfIndex(4),
            "239.1.1.1".parse().expect("a group"),
        )),
        said(&PortVlan::range(dev, 5..=9)),
        said(&NamespaceNumber::new().nsid(7).pid(3)),
    ]
}

/// Reads the bytes as everything they may be.
fn read(bytes: &[u8]) -> Explanation {
    for message in messages(bytes).flatten() {
        let body = message.body;
        let _ = (
            Link::decode(body),
            Addr::decode(body),
            Neigh::decode(body),
            Fdb::decode(body),
        );
        let _ = (
            Route::decode(body),
            Nexthop::decode(body),
            Rule::decode(body),
            Stats::decode(body),
        );
        let _ = (NamespaceNumber::decode(body), KernelError::decode(message));
        let mut objects = 0;
        let _ = Mdb::new().decode_each(body, |_| objects += 1);
        let _ = PortVlan::new().decode_each(body, |_| objects += 1);
        // Each takes an attribute at least.
        assert!(objects <= body.len() / 2);
    }
    let mut explanation = Explanation::default();
    if let Err(malformed) = explain(bytes, &mut explanation) {
        assert!(malformed.at <= bytes.len(), "{malformed}");
    }
    for line in &explanation.lines {
        assert!(line.at + line.bytes <= bytes.len(), "{line}");
    }
    explanation
}

#[test]
fn the_seeds_are_known() {
    for seed in seeds() {
        let lines = read(&seed).lines;
        assert!(lines.len() >= 3, "{lines:?}");
        assert!(!lines[0].name.starts_with("message"), "{:?}", lines[0]);
    }
}

#[test]
fn every_byte_may_be_another() {
    for seed in seeds() {
        for at in 0..seed.len() {
            for byte in BYTES {
                let mut bytes = seed.clone();
                bytes[at] = byte;
                read(&bytes);
            }
        }
    }
}

/// With a length that tells of it, and without.
#[test]
fn it_may_end_anywhere() {
    for seed in seeds() {
        for end in 0..seed.len() {
            let mut bytes = seed[..end].to_vec();
            read(&bytes);
            if let Some(length) = bytes.get_mut(..4) {
                length.copy_from_slice(&(end as u32).to_ne_bytes());
                read(&bytes);
            }
        }
    }
}

/// Each pair of bytes as the length of an attribute that ends at any place, or beyond the message.
#[test]
fn every_length_may_be_any() {
    for seed in seeds() {
        for at in (16..seed.len().saturating_sub(1)).step_by(2) {
            for length in (0..seed.len() as u16 + 8).chain([u16::MAX - 3, u16::MAX]) {
                let mut bytes = seed.clone();
                bytes[at..at + 2].copy_from_slice(&length.to_ne_bytes());
                read(&bytes);
            }
        }
    }
}
