//! The documented differences from libpcap and from the kernel (crates/filter/DIFFERENCES.md), each checked in the
//! engines that differ.

use filter::{Filter, FilterErrorReason, FilterOptions, FilterTarget, LinkType, NoNames};
use tapline_lab::oracle::{
    Class, Compiled, End, Engine, KernelSocket, Libpcap, Packet, Rules, SNAPLEN, Subject, trace,
};

fn options(link: LinkType) -> FilterOptions {
    Subject::options(link, FilterTarget::File)
}

#[track_caller]
fn both(link: LinkType, text: &str) -> Subject {
    match Subject::compile(text, &options(link)) {
        Compiled::Both(subject) => subject,
        Compiled::Ours(_, said) => panic!("{text}: libpcap: {said:?}"),
        Compiled::Theirs(error) => panic!("{text}: {error}"),
        Compiled::Neither => panic!("{text}: nobody takes it"),
    }
}

/// The value of all our engines, and the class of libpcap's difference.
#[track_caller]
fn compare(link: LinkType, text: &str, bytes: &[u8]) -> (u32, Option<Class>) {
    let mut subject = both(link, text);
    let packet = Packet::whole(bytes.to_vec());
    let ours = subject
        .ours(&packet)
        .unwrap_or_else(|difference| panic!("{text}: {difference}"));
    let class = subject.theirs_beside(&packet, ours);
    (
        ours,
        class.unwrap_or_else(|difference| panic!("{text}: {difference}")),
    )
}

fn kernel(text: &str, options: &FilterOptions, bytes: &[u8]) -> u32 {
    let (Compiled::Both(subject) | Compiled::Ours(subject, _)) = Subject::compile(text, options)
    else {
        panic!("{text}");
    };
    let mut kernel = KernelSocket::new();
    kernel.attach(subject.classic());
    kernel.value(&Packet::whole(bytes.to_vec()))
}

/// An IPv4 packet of `protocol` over Ethernet, with `bytes` behind its header.
fn ethernet4(protocol: u8, bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 34];
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    frame[23] = protocol;
    frame.extend_from_slice(bytes);
    frame
}

#[test]
fn a_shift_by_32_and_more_is_the_kernels() {
    let text = "1 << ether[0] = 2";
    let packet = [33, 0];
    assert_eq!(
        compare(LinkType::Ethernet, text, &packet),
        (SNAPLEN, Some(Class::Rules))
    );
    assert_eq!(kernel(text, &options(LinkType::Ethernet), &packet), 2);
    let text = "8 >> ether[0] = 8";
    assert_eq!(
        compare(LinkType::Ethernet, text, &[32]),
        (SNAPLEN, Some(Class::Rules))
    );
    assert_eq!(kernel(text, &options(LinkType::Ethernet), &[32]), 1);
}

#[test]
fn an_offset_that_wraps_is_the_kernels() {
    // The index is -1, and the packet's byte 13 is the second one of the EtherType.
    let text = "ip[ip[0] - 1] = 0";
    let mut packet = vec![7; 40];
    packet[12..15].copy_from_slice(&[8, 0, 0]);
    assert_eq!(
        compare(LinkType::Ethernet, text, &packet),
        (SNAPLEN, Some(Class::Rules))
    );
    assert_eq!(kernel(text, &options(LinkType::Ethernet), &packet), 40);
}

#[test]
fn packets_cut_short_may_match_before_they_refuse() {
    let frame = ethernet4(17, &[0, 1, 0, 2, 0, 8, 0, 0]);
    let cases = [
        (
            LinkType::Ethernet,
            "llc or dst port 20 or ip",
            Class::CutForThem,
        ),
        (
            LinkType::Ethernet,
            "not (not net ::/0) or ip src net 0.0.0.0/0",
            Class::CutForThem,
        ),
        (
            LinkType::Ethernet,
            "(ip src host 1.2.3.4 and udp) or udp or src port 5",
            Class::CutForThem,
        ),
    ];
    for (link, text, expected) in cases {
        let classes: Vec<_> = (0..=frame.len())
            .filter_map(|end| compare(link, text, &frame[..end]).1)
            .collect();
        assert!(classes.contains(&expected), "{text}: {classes:?}");
        // The whole packet is no matter of dispute.
        assert_eq!(compare(link, text, &frame).1, None, "{text}");
    }
}

#[test]
fn alternatives_side_by_side_may_ask_for_bytes_earlier() {
    // 802.3 without the bytes of LLC: an address that matches comes second here, first there.
    let text = "ip proto 6 or ip src host 1.2.3.4 or udp port 5";
    let mut frame = ethernet4(17, &[]);
    frame[26..30].copy_from_slice(&[1, 2, 3, 4]);
    assert_eq!(
        compare(LinkType::Ethernet, text, &frame),
        (0, Some(Class::CutForUs))
    );
    frame.extend([0; 8]);
    assert_eq!(compare(LinkType::Ethernet, text, &frame), (SNAPLEN, None));
}

#[test]
fn every_load_asks_for_its_protocol() {
    let text = "1 + udp[8] > 9";
    let mut subject = both(LinkType::Ethernet, text);
    // Of ARP; where UDP's payload would be stands a large number.
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&[8, 6]);
    frame[22] = 0xff;
    let packet = Packet::whole(frame);
    assert_eq!(subject.ours(&packet).unwrap(), 0);
    let theirs = trace(subject.theirs()[0].instructions(), &packet, Rules::Libpcap);
    assert_eq!((theirs.value, theirs.end), (SNAPLEN, End::Returned));
}

#[test]
fn operands_that_are_loads_are_no_constants() {
    for text in ["len >> ip[32] = 0", "1 / ip[0] = 1"] {
        match Subject::compile(text, &options(LinkType::Raw)) {
            Compiled::Ours(_, Some(said)) => {
                assert!(
                    said.contains("shift by more") || said.contains("division by"),
                    "{said}"
                );
            }
            _ => panic!("libpcap takes {text}"),
        }
    }
}

#[test]
fn division_by_a_computed_zero_is_an_arithmetic_error() {
    let text = "1 / (2 - 2) = 1";
    let error = Filter::new(text, &options(LinkType::Raw), &NoNames)
        .err()
        .unwrap();
    assert!(
        matches!(error.reason, FilterErrorReason::Arithmetic(_)),
        "{error}"
    );
    let theirs = Libpcap::new(text, LinkType::Raw, false).unwrap();
    let packet = Packet::whole(vec![0; 60]);
    let theirs = trace(theirs.instructions(), &packet, Rules::Libpcap);
    assert_eq!((theirs.value, theirs.end), (0, End::Divided));
}

#[test]
fn words_of_memory_have_one_use() {
    // Data of 802.11 with an LLC header, of type IPv4.
    let mut frame = vec![0; 60];
    frame[0] = 8;
    frame[24..32].copy_from_slice(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    let (ours, class) = compare(LinkType::Wlan, "len > 9 and ip", &frame);
    assert_eq!((ours, class), (SNAPLEN, Some(Class::Unset)));
    assert_eq!(
        compare(LinkType::Wlan, "ip and len > 9", &frame),
        (SNAPLEN, None)
    );
}

#[test]
fn a_chain_of_headers_ends() {
    // An authentication header that says it is followed by itself.
    let mut frame = ethernet4(51, &[51, 3, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        compare(LinkType::Ethernet, "ip protochain 41", &frame),
        (0, Some(Class::Endless))
    );
    frame[34] = 41;
    assert_eq!(
        compare(LinkType::Ethernet, "ip protochain 41", &frame),
        (SNAPLEN, None)
    );
}

#[test]
fn terms_that_libpcap_1_10_gets_wrong() {
    let value = |text: &str, bytes: &[u8]| {
        let options = options(LinkType::Ipv4);
        let (Compiled::Both(mut subject) | Compiled::Ours(mut subject, _)) =
            Subject::compile(text, &options)
        else {
            panic!("{text}");
        };
        subject.ours(&Packet::whole(bytes.to_vec())).unwrap()
    };
    assert_eq!(value("byte 0 & 1", &[0xfe]), 0);
    assert_eq!(value("byte 0 & 1", &[3]), SNAPLEN);
    assert_eq!(value("byte 1 | 1", &[0, 0]), SNAPLEN);
    assert_eq!(value("ip multicast", &[0xef; 20]), SNAPLEN);
    assert_eq!(value("ip multicast", &[0xf0; 20]), 0);
    // What is left out of the comparison is left out for one of the two.
    for (text, bytes, matches) in [
        ("byte 0 & 1", [1; 20], true),
        ("ip multicast", [0xf0; 20], false),
    ] {
        let theirs = Libpcap::new(text, LinkType::Ipv4, false).unwrap();
        let packet = Packet::whole(bytes.to_vec());
        let taken = trace(theirs.instructions(), &packet, Rules::Libpcap).value != 0;
        assert_eq!(
            taken != matches,
            Libpcap::is_faulty(text, LinkType::Ipv4),
            "{text}"
        );
    }
}

/// Whether our program and libpcap's accept a packet.
#[track_caller]
fn accept(link: LinkType, text: &str, bytes: &[u8]) -> [bool; 2] {
    let filter = Subject::compile(text, &options(link));
    let (Compiled::Both(mut subject) | Compiled::Ours(mut subject, _)) = filter else {
        panic!("{text}");
    };
    let packet = Packet::whole(bytes.to_vec());
    let ours = subject.ours(&packet).unwrap();
    let theirs = Libpcap::new(text, link, false).unwrap();
    let theirs = trace(theirs.instructions(), &packet, Rules::Libpcap);
    [ours, theirs.value].map(|value| value != 0)
}

/// Whether libpcap is older than 1.11, which mended what these tests show.
fn is_1_10() -> bool {
    Libpcap::is_faulty("byte 0 & 1", LinkType::Ipv4)
}

/// Zeros with some bytes at a place.
fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 60];
    packet[at..][..bytes.len()].copy_from_slice(bytes);
    packet
}

#[test]
fn words_of_a_few_link_types_that_libpcap_1_10_gets_wrong() {
    let isis = |at: usize, start: &[u8], kind: u8| {
        let mut packet = with(at, start);
        packet[at + start.len() + 3] = kind;
        packet
    };
    let rows = [
        // The upper three bits of the type are reserved.
        (
            LinkType::Ethernet,
            "isis proto 17",
            isis(14, &[0xfe, 0xfe, 3, 0x83], 0xf1),
            true,
        ),
        (
            LinkType::Ethernet,
            "l1",
            isis(14, &[0xfe, 0xfe, 3, 0x83], 0xf2),
            true,
        ),
        (
            LinkType::Ethernet,
            "iih",
            isis(14, &[0xfe, 0xfe, 3, 0x83], 0xf1),
            true,
        ),
        (LinkType::SunAtm, "vpi != 5", with(1, &[7]), true),
        (LinkType::Mtp2, "sio != 3", with(0, &[]), true),
        (LinkType::Slip, "outbound", vec![7; 60], false),
        // From the CPU, to a port.
        (LinkType::DsaMarvell, "outbound", with(12, &[0x40]), true),
        // IP of RFC 1051.
        (LinkType::Arcnet, "ip", with(2, &[0xf0]), false),
        (LinkType::ArcnetLinux, "ip", with(4, &[0xf0]), false),
        (LinkType::Arcnet, "link dst $12", with(1, &[0x12]), true),
        (
            LinkType::CiscoHdlc,
            "lsp",
            isis(0, &[0x0f, 0, 0xfe, 0xfe, 3, 0x83], 18),
            true,
        ),
    ];
    let is_wrong = is_1_10();
    for (link, text, packet, expected) in rows {
        let accepted = accept(link, text, &packet);
        assert_eq!(
            accepted,
            [expected, expected != is_wrong],
            "{link:?}: {text}"
        );
    }
}

#[test]
fn the_direction_in_a_switchs_tag_is_no_ancillary_data() {
    for link in [LinkType::DsaBroadcom, LinkType::DsaMarvell] {
        for text in ["inbound", "outbound"] {
            let Compiled::Ours(..) = Subject::compile(text, &options(link)) else {
                assert!(!is_1_10(), "{text}");
                continue;
            };
            let theirs = Libpcap::new(text, link, false).unwrap();
            let loads = theirs
                .instructions()
                .iter()
                .map(|instruction| instruction.k);
            // Offsets from here on are not in the packet (linux/filter.h, SKF_AD_OFF).
            assert_eq!(loads.max() >= Some(0xffff_f000), is_1_10(), "{text}");
        }
    }
}

#[test]
fn headers_behind_no_tunnel_are_read_from_the_first_byte_on() {
    // From its first byte on, it reads like the EtherType of IPv4, a header of IPv4 with 32 bytes, and a port 5 of UDP.
    let mut frame = with(0, &[8, 0]);
    frame[9] = 17;
    frame[32..34].copy_from_slice(&[0, 5]);
    let text = "geneve or udp port 5";
    let mut subject = both(LinkType::Ethernet, text);
    let packet = Packet::whole(frame);
    assert_eq!(subject.ours(&packet).unwrap(), SNAPLEN);
    let theirs = subject.theirs()[0].instructions();
    assert!(trace(theirs, &packet, Rules::Libpcap).reads_unset);
    // A Geneve packet has offsets of its own.
    let mut frame = ethernet4(17, &[0, 5, 0x17, 0xc1, 0, 16, 0, 0, 0, 0, 0x65, 0x58]);
    frame.extend([0; 60]);
    let packet = Packet::whole(frame);
    assert_eq!(subject.ours(&packet).unwrap(), SNAPLEN);
    let theirs = subject.theirs()[0].instructions();
    assert!(!trace(theirs, &packet, Rules::Libpcap).reads_unset);
}

#[test]
fn what_cannot_match_is_refused() {
    let cases = [
        (LinkType::from_number(165), "ip", true),
        (LinkType::from_number(165), "tcp port 80", true),
        (LinkType::from_number(132), "host 1.2.3.4", false),
        (LinkType::from_number(132), "tcp port 80", false),
        (LinkType::from_number(136), "esis", false),
        (LinkType::from_number(183), "host 1.2.3.4", false),
        (LinkType::Ethernet, "byte 0 = 256", true),
    ];
    for (link, text, is_mended) in cases {
        let ours = Filter::new(text, &options(link), &NoNames);
        assert!(ours.is_err(), "{link:?}: {text}");
        let theirs = Libpcap::new(text, link, false);
        assert_eq!(theirs.is_ok(), is_1_10() || !is_mended, "{link:?}: {text}");
    }
}

#[test]
fn a_packet_without_a_device_ends_the_kernels_program() {
    let options = Subject::options(LinkType::Raw, FilterTarget::Socket);
    let text = "len > 3 and ifindex 1";
    // The value is what was loaded last: the length.
    assert_eq!(kernel(text, &options, &[0x45; 30]), 30);
    let Compiled::Ours(mut subject, None) = Subject::compile(text, &options) else {
        panic!("{text}");
    };
    let mut packet = Packet::whole(vec![0x45; 30]);
    packet.ancillary = KernelSocket::ancillary();
    assert_eq!(subject.ours(&packet).unwrap(), 0);
}
