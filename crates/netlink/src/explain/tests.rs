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
