use proptest::prelude::*;

use super::*;
use crate::{IfIndex, IfName, Link, Object, Verb, Veth};

#[test]
fn a_request_is_told_line_by_line() {
    let name = |text| IfName::new(text).expect("a name");
    let peer = Link::named(name("vb")).mtu(1400);
    let veth = Link::named(name("va"))
        .master(IfIndex(7))
        .kind(Veth::to(peer));
    let mut request = crate::codec::Request::default();
    veth.put(Verb::Add, &mut request).expect("it can be said");
    request.finish(3);
    let mut explanation = Explanation::default();
    explain(request.bytes(), &mut explanation).expect("well formed");
    let text: Vec<_> = explanation.lines.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "    0  RTM_NEWLINK: length 104, flags 0x605 [request ack excl create], sequence 3, port 0",
            "   16    ifinfomsg: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
            "   32    ifname: \"va\"",
            "   40    master: 7",
            "   48    linkinfo",
            "   52      kind: \"veth\"",
            "   64      data",
            "   68        info-peer: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
            "   88          ifname: \"vb\"",
            "   96          mtu: 1400",
        ]
    );
}

/// Each kind of object is known: its first attribute has a name.
#[test]
fn messages_of_every_kind_are_known() {
    let addr = crate::Addr::on(IfIndex(3), "10.0.0.1/24".parse().expect("a prefix"));
    let route = crate::Route::to("192.0.2.0/24".parse().expect("a prefix")).dev(IfIndex(3));
    let rule = crate::Rule::new().priority(900);
    let nexthop = crate::Nexthop::new().id(5).dev(IfIndex(3));
    let neigh = crate::Neigh::on(IfIndex(3), [10, 0, 0, 2]);
    let mut request = crate::codec::Request::default();
    let end = |request: &mut crate::codec::Request| {
        request.finish(0);
        request.fill_up();
    };
    addr.put(Verb::Add, &mut request).expect("it can be said");
    end(&mut request);
    route.put(Verb::Add, &mut request).expect("it can be said");
    end(&mut request);
    rule.put(Verb::Add, &mut request).expect("it can be said");
    end(&mut request);
    nexthop
        .put(Verb::Add, &mut request)
        .expect("it can be said");
    end(&mut request);
    Object::put(&neigh, Verb::Get, &mut request).expect("it can be said");
    end(&mut request);
    let mut explanation = Explanation::default();
    explain(request.bytes(), &mut explanation).expect("well formed");
    let text: Vec<_> = explanation.lines.iter().map(ToString::to_string).collect();
    for words in [
        "local: 10.0.0.1",
        "dst: 192.0.2.0",
        "oif: 3",
        "priority: 900",
        "id: 5",
        "dst: 10.0.0.2",
    ] {
        assert!(
            text.iter().any(|line| line.ends_with(words)),
            "{words}: {text:#?}"
        );
    }
    assert!(
        !text.iter().any(|line| line.contains("attribute")),
        "{text:#?}"
    );
}

proptest! {
    /// Whatever the bytes: it ends, and no line stands outside of them.
    #[test]
    fn any_bytes_are_told(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0_u16..120) {
        let mut datagram = ((16 + bytes.len()) as u32).to_ne_bytes().to_vec();
        datagram.extend(kind.to_ne_bytes());
        datagram.extend([0; 10]);
        datagram.extend(bytes);
        let mut explanation = Explanation::default();
        let _ = explain(&datagram, &mut explanation);
        prop_assert!(explanation.lines.iter().all(|line| line.at + line.bytes <= datagram.len()));
    }
}

/// `IFLA_EXT_MASK` is 29; 9 are `RTEXT_FILTER_VF` and `RTEXT_FILTER_SKIP_STATS` (include/uapi/linux/rtnetlink.h).
#[test]
fn what_a_question_asks_for_is_told_by_its_bits() {
    let told = |mask: u32| {
        let mut request = crate::codec::Request::default();
        request.begin(18, 1, &[0; 16]);
        request.u32(29, mask);
        request.finish(0);
        let mut explanation = Explanation::default();
        explain(request.bytes(), &mut explanation).expect("well formed");
        explanation.lines.last().map(|line| line.value.clone())
    };
    assert_eq!(told(9).as_deref(), Some("0x9 [vf skip-stats]"));
    assert_eq!(told(0x102).as_deref(), Some("0x102 [brvlan 0x100]"));
    assert_eq!(told(0).as_deref(), Some("0x0 []"));
}
