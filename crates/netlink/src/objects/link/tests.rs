//! Kinds that no kernel at hand may have, in bytes; and that nested pairs have an end.

use super::{FlowInfo, Ip6Tnl, Netkit, NetkitMode, NetkitPolicy, NetkitScrub, Veth};
use crate::codec::{HEADER_BYTES, Request};
use crate::object::Object;
use crate::schema::{Arguments, Unnamed};
use crate::values::interface::IfName;
use crate::verb::Verb;
use crate::{Link, LinkKind};

fn named(name: &str) -> Link {
    Link::named(IfName::new(name).expect("a name"))
}

/// The attributes of the message that adds `link`.
fn said(link: &Link) -> Vec<u8> {
    let mut request = Request::default();
    link.encode(Verb::Add, &mut request)
        .expect("a valid request");
    request.bytes()[HEADER_BYTES + 16..].to_vec()
}

/// An attribute as `struct nlattr` has it: length and type of 16 bits each, filled up to 4 bytes.
fn attribute(kind: u16, payload: &[u8]) -> Vec<u8> {
    let length = 4 + payload.len() as u16;
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

const NESTED: u16 = 0x8000;

/// Of the numbers in include/uapi/linux/if_link.h: IFLA_IFNAME 3, IFLA_LINKINFO 18, IFLA_INFO_KIND 1.
#[test]
fn a_wireguard_link_is_a_name_and_a_kind() {
    let kind = attribute(1, b"wireguard\0");
    let expected = [attribute(3, b"wg0\0"), attribute(0x12 | NESTED, &kind)].concat();
    let wanted = named("wg0").kind(LinkKind::Wireguard);
    assert_eq!(said(&wanted), expected);
}

/// Of the numbers in include/uapi/linux/if_link.h of Linux 6.14: IFLA_INFO_DATA 2; IFLA_NETKIT_PEER_INFO 1
/// with a `struct ifinfomsg`, IFLA_NETKIT_POLICY 3, IFLA_NETKIT_PEER_POLICY 4, IFLA_NETKIT_MODE 5,
/// IFLA_NETKIT_SCRUB 6, IFLA_NETKIT_HEADROOM 8; NETKIT_L3 1, NETKIT_DROP 2, NETKIT_PASS 0.
#[test]
fn a_netkit_pair_is_said_and_reported_as_the_headers_have_it() {
    let peer = [vec![0; 16], attribute(3, b"far0\0")].concat();
    let settings = [
        attribute(5, &1_u32.to_ne_bytes()),
        attribute(3, &2_u32.to_ne_bytes()),
        attribute(4, &0_u32.to_ne_bytes()),
        attribute(6, &0_u32.to_ne_bytes()),
        attribute(8, &64_u16.to_ne_bytes()),
    ]
    .concat();
    let info = |data: &[u8]| {
        let info = [attribute(1, b"netkit\0"), attribute(2 | NESTED, data)].concat();
        [attribute(3, b"nk0\0"), attribute(0x12 | NESTED, &info)].concat()
    };
    let alone = Netkit::new()
        .mode(NetkitMode::L3)
        .policy(NetkitPolicy::Blackhole)
        .peer_policy(NetkitPolicy::Forward)
        .scrub(NetkitScrub::None)
        .headroom(64);
    let pair = alone.clone().peer(Box::new(named("far0")));
    let expected = info(&[attribute(1 | NESTED, &peer), settings.clone()].concat());
    assert_eq!(said(&named("nk0").kind(pair)), expected);

    let body = [vec![0; 16], info(&settings)].concat();
    let told = Link::decode(&body).expect("well formed").expect("a link");
    assert_eq!(told.link_kind(), Some(&LinkKind::from(alone)));
}

/// The kind that `type KIND WORDS` describes.
fn parsed(kind: &str, words: &str) -> LinkKind {
    let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
    let mut lookup = Unnamed;
    let mut words = Arguments::new(&words, &mut lookup);
    let mut parsed = LinkKind::named(kind);
    while let Some(word) = words.next() {
        let is_known = parsed.parse_keyword(word, &mut words).expect("a value");
        assert!(is_known, "{word}");
    }
    parsed
}

/// The settings in the requests of `ip link add new0 type KIND WORDS` (iproute2 6.1), as strace shows them.
#[test]
fn ipsec_interfaces_and_bareudp_are_described_as_ip_does() {
    let port = attribute(1, &[0x19, 0xeb]);
    let all = [
        port.clone(),
        attribute(2, &[8, 0]),
        attribute(3, &100_u16.to_ne_bytes()),
        attribute(4, &[]),
    ];
    for (kind, words, settings) in [
        ("xfrm", "if_id 0x5", attribute(2, &5_u32.to_ne_bytes())),
        ("xfrm", "external", attribute(3, &[])),
        (
            "bareudp",
            "dstport 6635 ethertype mpls_uc",
            [port, attribute(2, &[0x88, 0x47])].concat(),
        ),
        (
            "bareudp",
            "dstport 6635 ethertype ipv4 srcportmin 100 multiproto",
            all.concat(),
        ),
    ] {
        let name = [kind.as_bytes(), b"\0"].concat();
        let info = [attribute(1, &name), attribute(2 | NESTED, &settings)].concat();
        let expected = [attribute(3, b"new0\0"), attribute(0x12 | NESTED, &info)].concat();
        let link = named("new0").kind(parsed(kind, words));
        assert_eq!(said(&link), expected, "{kind} {words}");
    }
}

/// `get_u8(&uval, *argv, 16)` and `get_u32(&uval, *argv, 16)`, ip/link_ip6tnl.c and ip/link_gre6.c of iproute2.
#[test]
fn the_traffic_class_and_the_flow_label_of_a_tunnel_are_hexadecimal() {
    let expected = FlowInfo::new(0x10, 0x345);
    for words in ["tclass 10 flowlabel 345", "tc 0x10 fl 0x345"] {
        let LinkKind::Ip6Tnl(Ip6Tnl { flowinfo, .. }) = parsed("ip6tnl", words) else {
            panic!("{words}");
        };
        assert_eq!(flowinfo, Some(expected), "{words}");
    }
    for [word, value] in [["tclass", "100"], ["flowlabel", "100000"], ["tclass", "+1"]] {
        let words = [value.to_owned()];
        let mut lookup = Unnamed;
        let mut words = Arguments::new(&words, &mut lookup);
        let result = LinkKind::named("ip6gre").parse_keyword(word, &mut words);
        result.expect_err("out of range, or a sign");
    }
}

/// Each pair has another in its other end: 64 KiB of that would be some hundred levels.
#[test]
fn pairs_within_pairs_are_read_to_the_first() {
    let mut link = named("deep0").kind(Veth::to(named("end0")));
    for _ in 0..300 {
        link = named("deep0").kind(Veth::to(link));
    }
    let body = [vec![0; 16], said(&link)].concat();
    let told = Link::decode(&body).expect("well formed").expect("a link");
    let end = told.link_kind().and_then(LinkKind::peer).expect("its end");
    assert_eq!((end.name, end.link_kind()), (link.name, None));
}

/// What is wrong with a link written down like this.
fn wrong_with(json: &str) -> String {
    let read = serde_json::from_str::<Link>(json);
    read.expect_err(json).to_string()
}

#[test]
fn a_bad_value_of_a_known_kind_is_named() {
    for (data, field) in [
        (
            r#""info_kind":"vlan","info_data":{"id":70000}"#,
            "info_data.id: ",
        ),
        (
            r#""info_data":{"id":true},"info_kind":"vlan""#,
            "info_data.id: ",
        ),
        (
            r#""info_kind":"vlan","info_data":{"protocol":"frob"}"#,
            "info_data.protocol: ",
        ),
        (r#""info_kind":"vlan","info_data":5"#, "info_data: "),
        (
            r#""info_kind":"veth","info_data":{"peer":{"mtu":"x"}}"#,
            "info_data.peer.mtu: ",
        ),
        (
            r#""info_kind":"veth","info_data":{"peer":{"linkinfo":{"info_kind":"vrf","info_data":{"table":-1}}}}"#,
            "info_data.peer.linkinfo: info_data.table: ",
        ),
        (
            r#""info_slave_kind":"bridge","info_slave_data":{"learning":7}"#,
            "info_slave_data.learning: ",
        ),
        (
            r#""info_kind":"gretap","info_data":{"local":"2001:db8::1"}"#,
            "info_data.local: ",
        ),
    ] {
        let text = wrong_with(&format!(r#"{{"linkinfo":{{{data}}}}}"#));
        assert!(text.contains(field), "{data}: {text}");
    }
    // Alone, too.
    let kind = serde_json::from_str::<LinkKind>(r#"{"info_kind":"vxlan","info_data":{"id":[]}}"#);
    let text = kind.expect_err("a list is no number").to_string();
    assert!(text.contains("info_data.id: "), "{text}");
}

#[test]
fn what_is_not_known_of_a_kind_is_passed_over() {
    let read = |json: &str| serde_json::from_str::<LinkKind>(json).expect(json);
    let vlan = LinkKind::from(super::Vlan::new().id(5));
    for json in [
        r#"{"info_kind":"vlan","info_data":{"id":5,"frob":[1,{"a":null}]}}"#,
        r#"{"info_data":{"id":5},"info_kind":"vlan","more":1.5}"#,
    ] {
        assert_eq!(read(json), vlan, "{json}");
    }
    let other = LinkKind::named("frob");
    assert_eq!(
        read(r#"{"info_kind":"frob","info_data":{"id":70000}}"#),
        other
    );
    assert_eq!(read(r#"{"info_kind":"dummy"}"#), LinkKind::Dummy);
    assert_eq!(
        read(r#"{"info_kind":"vlan","info_data":null}"#),
        LinkKind::named("vlan")
    );
}
