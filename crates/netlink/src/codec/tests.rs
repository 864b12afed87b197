use proptest::prelude::*;

use super::*;
use crate::uapi::{
    NLM_F_ACK_TLVS, NLM_F_CAPPED, NLMSG_ERROR, NLMSGERR_ATTR_MISS_TYPE, NLMSGERR_ATTR_MSG,
    NLMSGERR_ATTR_OFFS, RTM_NEWADDR, RTM_NEWLINK,
};
use crate::{Addr, Fdb, Link, Mdb, NamespaceNumber, Neigh, Object, PortVlan, Route, Stats};

fn message(kind: u16, flags: u16, body: &[u8]) -> Message<'_> {
    Message {
        kind,
        flags,
        sequence: 0,
        port: 0,
        body,
    }
}

fn finished(mut request: Request, sequence: u32) -> Vec<u8> {
    request.finish(sequence);
    request.bytes().to_vec()
}

/// A builder emits what the readers read, at any nesting, whatever the payloads' lengths.
#[test]
fn what_is_built_is_read() {
    let mut request = Request::new(RTM_NEWLINK, 0, &[7; 16]);
    request.attribute(1, &[]);
    request.attribute(2, b"abcde");
    request.nested(3, &[9; 8], |request| {
        request.text(4, b"inner");
        request.u32(5, 0x0102_0304);
    });
    let bytes = finished(request, 77);
    let mut read = messages(&bytes);
    let message = read.next().expect("a message").expect("well formed");
    assert!(read.next().is_none());
    assert_eq!(
        (message.kind, message.sequence, message.port),
        (RTM_NEWLINK, 77, 0)
    );
    assert_eq!(message.body[..16], [7; 16]);

    let outer: Vec<_> = attributes(&message.body[16..], 16)
        .map(Result::unwrap)
        .collect();
    assert_eq!(outer.iter().map(|a| a.kind).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((outer[0].bytes, outer[1].bytes), (&b""[..], &b"abcde"[..]));
    let inner = attributes(&outer[2].bytes[8..], outer[2].at + 8);
    let inner: Vec<_> = inner.map(Result::unwrap).collect();
    assert_eq!((inner[0].kind, inner[0].text()), (4, "inner".to_owned()));
    assert_eq!((inner[1].kind, inner[1].u32()), (5, Ok(0x0102_0304)));
    assert_eq!(&message.body[inner[1].at..][..4], inner[1].bytes);
}

/// Its length has 16 bits. A kernel would read what is behind a wrapped length as further attributes.
#[test]
fn an_attribute_that_is_too_long_is_noted() {
    let kinds = |build: &dyn Fn(&mut Request)| -> Option<Vec<u16>> {
        let mut request = Request::new(RTM_NEWLINK, 0, &[7; 16]);
        request.u32(9, 1);
        build(&mut request);
        request.u32(9, 1);
        let noted = request
            .faulty()
            .map(|noted| noted.path.iter().map(|(kind, _)| *kind).collect());
        request.clear();
        assert_eq!(request.faulty(), None);
        noted
    };
    for (bytes, fits) in [
        (65_531, true),
        (65_532, false),
        (65_536, false),
        (1 << 20, false),
    ] {
        let payload = vec![7; bytes];
        let noted = (!fits).then(|| vec![1]);
        assert_eq!(kinds(&|request| request.attribute(1, &payload)), noted);
        // With its NUL.
        let text = &payload[1..];
        assert_eq!(kinds(&|request| request.text(1, text)), noted);
        let nested = |request: &mut Request| request.nested(1, &payload, |_| {});
        assert_eq!(kinds(&nested), noted);
    }
    // The first one, and what is around it.
    let long = vec![0; 70_000];
    let nested = |request: &mut Request| {
        request.nested(3, &[], |request| {
            request.nested(4, &[], |request| request.u32(1, 1));
            request.nested(5, &[], |request| request.attribute(6, &long));
            request.nested(7, &[], |request| request.attribute(8, &long));
        });
    };
    assert_eq!(kinds(&nested), Some(vec![6, 5, 3]));
    // A text ends at its first zero byte.
    let texts = |request: &mut Request| {
        request.nested(3, &[], |request| {
            request.text(4, b"whole");
            request.text(5, b"cut\0off");
        });
    };
    assert_eq!(kinds(&texts), Some(vec![5, 3]));
    // Many short ones.
    let list = |request: &mut Request| {
        request.nested(3, &[], |request| (0..9000).for_each(|_| request.u32(1, 1)));
    };
    assert_eq!(kinds(&list), Some(vec![3]));

    // A message that is discarded takes its attributes with it.
    let mut request = Request::new(RTM_NEWLINK, 0, &[7; 16]);
    request.finish(1);
    let (whole, mark) = (request.bytes().to_vec(), request.mark());
    request.begin(RTM_NEWLINK, 0, &[7; 16]);
    request.attribute(1, &long);
    request.rewind(mark);
    assert_eq!(request.faulty(), None);
    // The one before it is the current one.
    request.finish(1);
    assert_eq!(request.bytes(), whole);
}

#[test]
fn two_messages_in_a_datagram_are_two() {
    let one = finished(Request::new(1, 0, b"odd"), 1);
    // The first is filled up, the second is not.
    let datagram = [one.clone(), vec![0], one].concat();
    let read: Vec<_> = messages(&datagram).map(Result::unwrap).collect();
    assert_eq!(read.len(), 2);
    assert!(read.iter().all(|message| message.body == b"odd"));
}

#[test]
fn a_length_that_does_not_hold_is_located() {
    let mut datagram = finished(Request::new(1, 0, &[]), 1);
    datagram.extend([255, 0, 0, 0]);
    datagram.extend([0; 12]);
    let mut read = messages(&datagram);
    read.next().expect("the first").expect("well formed");
    let error = read.next().expect("the second").expect_err("too long");
    let need = u32::from_ne_bytes([255, 0, 0, 0]) as usize;
    assert_eq!(
        error,
        Malformed {
            layer: "message",
            at: 16,
            need,
            have: 16
        }
    );
    assert!(read.next().is_none());

    for length in 0_u8..4 {
        let bytes = [length, 0, 1, 0, 0, 0, 0, 0];
        let read: Vec<_> = attributes(&bytes, 100).collect();
        let error = Malformed {
            layer: "attribute",
            at: 100,
            need: 4,
            have: usize::from(length),
        };
        assert_eq!(read, [Err(error)], "an attribute must not stand still");
    }
}

#[test]
fn a_refusal_is_read_behind_the_echoed_request() {
    let refused = finished(Request::new(RTM_NEWLINK, 0, &[0; 16]), 1);
    let mut reasons = Request::new(0, 0, &[]);
    reasons.text(NLMSGERR_ATTR_MSG, b"no such thing");
    reasons.u32(NLMSGERR_ATTR_OFFS, 20);
    reasons.u32(NLMSGERR_ATTR_MISS_TYPE, 3);
    let reasons = &finished(reasons, 0)[16..];
    for (flags, echoed) in [(0, &refused[..]), (NLM_F_CAPPED, &refused[..16])] {
        let body = [&(-22_i32).to_ne_bytes()[..], echoed, reasons].concat();
        let message = message(NLMSG_ERROR, flags | NLM_F_ACK_TLVS, &body);
        let refusal = KernelError::decode(message)
            .expect("well formed")
            .expect("a refusal");
        assert_eq!(refusal.source.raw_os_error(), Some(22));
        assert_eq!(refusal.message.as_deref(), Some("no such thing"));
        assert_eq!((refusal.offset, refusal.missing), (Some(20), Some(3)));
    }
    let yes = [&0_i32.to_ne_bytes()[..], &refused[..16]].concat();
    let yes = KernelError::decode(message(NLMSG_ERROR, NLM_F_CAPPED, &yes)).expect("well formed");
    assert!(yes.is_none());
}

/// Reads everything in `bytes` that there is a reader for.
fn read_all(bytes: &[u8]) {
    for kind in [RTM_NEWLINK, RTM_NEWADDR, NLMSG_ERROR] {
        let _ = KernelError::decode(message(kind, NLM_F_ACK_TLVS, bytes));
    }
    let _ = Link::decode(bytes);
    let _ = Addr::decode(bytes);
    let _ = Neigh::decode(bytes);
    let _ = Fdb::decode(bytes);
    let _ = Mdb::default().decode_each(bytes, |_| ());
    let _ = PortVlan::default().decode_each(bytes, |_| ());
    let _ = NamespaceNumber::decode(bytes);
    let _ = Stats::decode(bytes);
    let _ = Route::decode(bytes);
    for message in messages(bytes).flatten() {
        let _ = Link::decode(message.body);
    }
    for attribute in attributes(bytes, 0).flatten() {
        assert!(attribute.at + attribute.bytes.len() <= bytes.len());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_all(&bytes);
    }

    /// Small numbers, so that lengths and types often fit.
    #[test]
    fn near_messages_are_read_without_a_panic(bytes in prop::collection::vec(0_u8..40, 0..300)) {
        read_all(&bytes);
    }

    /// Whatever the lengths are: a message either is noted, or is read as it was written.
    #[test]
    fn attributes_of_any_length_are_read_or_noted(
        lengths in prop::collection::vec(prop_oneof![0_usize..40, 65_500_usize..65_570, 65_536_usize..200_000], 1..4),
        depth in 0_usize..3,
    ) {
        fn put(request: &mut Request, lengths: &[usize], depth: usize) {
            if depth > 0 {
                request.nested(9, &[], |request| put(request, lengths, depth - 1));
            } else {
                for length in lengths {
                    request.attribute(1, &vec![7; *length]);
                }
            }
        }
        let mut request = Request::new(RTM_NEWLINK, 0, &[]);
        put(&mut request, &lengths, depth);
        let padded = |length: &usize| (length + 4).next_multiple_of(4);
        let all: usize = lengths.iter().map(padded).sum();
        let fits = lengths.iter().all(|length| length + 4 <= 65_535) && (depth == 0 || all + 4 * depth <= 65_535);
        prop_assert_eq!(request.faulty().is_none(), fits);
        if fits {
            let mut body = request.body();
            for _ in 0..depth {
                let outer: Vec<_> = attributes(body, 0).map(Result::unwrap).collect();
                prop_assert_eq!(outer.len(), 1);
                body = outer[0].bytes;
            }
            let read: Vec<_> = attributes(body, 0).map(|read| read.expect("well formed").bytes.len()).collect();
            prop_assert_eq!(read, lengths);
        }
    }

    /// Unknown attributes, and bytes that a newer kernel appends to known ones, do not disturb.
    #[test]
    fn a_link_is_read_among_strangers(
        strangers in prop::collection::vec(
            (200_u16..0x3fff, prop::collection::vec(any::<u8>(), 0..40)), 0..10),
        more in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        use crate::uapi::{IFLA_IFNAME, IFLA_MTU};
        let mut header = [0; 16];
        header[4..8].copy_from_slice(&5_u32.to_ne_bytes());
        let mut request = Request::new(RTM_NEWLINK, 0, &header);
        for (kind, bytes) in &strangers {
            request.attribute(*kind, bytes);
        }
        request.attribute(IFLA_MTU, &[&1500_u32.to_ne_bytes()[..], &more].concat());
        request.text(IFLA_IFNAME, b"eth7");
        let link = Link::decode(&finished(request, 0)[16..]).expect("well formed").expect("a link");
        prop_assert_eq!(link.ifindex().0, 5);
        prop_assert_eq!(link.mtu, Some(1500));
        prop_assert_eq!(link.ifname().to_string(), "eth7");
    }
}
