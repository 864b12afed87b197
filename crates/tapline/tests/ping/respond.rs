//! The responder: its replies compared with the kernel's, the requests that it leaves to the kernel, and its rate
//! limit.

use std::time::Duration;

use tapline::capture::{Backend, Capture};
use tapline::ping::{EchoAnswerCounts, RespondError, Responder, XdpAttachMode};
use wire::build::{Extension, Frame, IpFrame};
use wire::checksum::internet;
use wire::{FragmentFields, Icmpv4Fields, Ipv4Fields, Ipv6Fields, MacAddress};

use crate::send::paths::pass_all;
use crate::support::{Pair, options};

/// The counters as numbers: answered, limited, damaged, passed.
fn numbers(counts: EchoAnswerCounts) -> [u64; 4] {
    [
        counts.answered,
        counts.limited,
        counts.damaged,
        counts.passed,
    ]
}

fn respond(pair: &Pair, rate_pps: Option<u32>) -> Responder {
    respond_in(pair, rate_pps, None)
}

fn respond_in(pair: &Pair, rate_pps: Option<u32>, mode: Option<XdpAttachMode>) -> Responder {
    let link = pair.right.interface().name.to_string();
    let options = tapline::ping::respond(link).rate_pps(rate_pps).mode(mode);
    pair.right.run(|| options.open()).unwrap()
}

/// The Ethernet header of a frame from left to right.
fn frame(pair: &Pair) -> Frame {
    let (left, right) = (pair.left.interface(), pair.right.interface());
    Frame::ethernet(MacAddress(left.mac.0), MacAddress(right.mac.0))
}

fn ipv4(pair: &Pair, change: impl FnOnce(&mut Ipv4Fields)) -> IpFrame {
    let (left, right) = (pair.left.interface(), pair.right.interface());
    let mut fields = Ipv4Fields::new(left.v4, right.v4);
    change(&mut fields);
    frame(pair).ipv4_with(fields)
}

fn ipv6(pair: &Pair, extensions: &[Extension<'_>]) -> IpFrame {
    let (left, right) = (pair.left.interface(), pair.right.interface());
    let mut fields = Ipv6Fields::new(left.v6, right.v6);
    fields.traffic_class = 0x48;
    fields.flow_label = 0x1_2345;
    frame(pair).ipv6_with(fields, extensions)
}

/// Echo requests of all kinds of lengths, with padding or without.
fn requests(pair: &Pair) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for bytes in (0..40_u16).chain([56, 57, 63, 64, 65, 1000, 1451, 1452]) {
        let payload: Vec<u8> = (0..bytes)
            .map(|at| (at.wrapping_mul(7) + bytes) as u8)
            .collect();
        let v4 = ipv4(pair, |fields| fields.dscp = 0x12);
        let v6 = ipv6(pair, &[]);
        for frame in [v4, v6] {
            let mut frame = frame.echo_request(0x1234, bytes).payload(&payload);
            frame.resize(frame.len().max(60), 0xee);
            frames.push(frame);
        }
    }
    frames
}

/// What arrives at left when it sends `frames`.
fn answers(pair: &Pair, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let options = options(&pair.left, Backend::PacketV3).snaplen(2000);
    let options = options.packets(frames.len() as u64);
    let options = options.filter("icmp[0] == 0 or icmp6[0] == 129").unwrap();
    let capture = pair.left.run(|| Capture::open(options));
    let mut capture = capture.unwrap();
    pair.left.send(frames);
    let mut answers = Vec::new();
    while let Some(packet) = capture.next().unwrap() {
        answers.push(packet.data().to_vec());
    }
    answers
}

/// Clears what may differ: identification and checksum of IPv4, which is verified, and the flow label of IPv6. Cuts off
/// the padding of the frame, which the kernel's answer does not have.
fn comparable(mut frame: Vec<u8>) -> Vec<u8> {
    if frame[12..14] == [0x08, 0x00] {
        assert_eq!(internet(&frame[14..34]), 0, "{frame:02x?}");
        let bytes = u16::from_be_bytes([frame[16], frame[17]]);
        frame.truncate(14 + usize::from(bytes));
        frame[18..20].fill(0);
        frame[24..26].fill(0);
    } else {
        let bytes = u16::from_be_bytes([frame[18], frame[19]]);
        frame.truncate(54 + usize::from(bytes));
        frame[15] &= 0xf0;
        frame[16..18].fill(0);
    }
    frame
}

#[test]
fn answers_equal_those_of_the_kernel() {
    let pair = Pair::new();
    let frames = requests(&pair);
    let compare = |frames| answers(&pair, frames).into_iter().map(comparable);
    let expected: Vec<_> = compare(&frames).collect();
    assert_eq!(expected.len(), frames.len());
    for in_driver in [false, true] {
        // The peer takes what a program in the driver transmits only with a program of its own.
        let _pass = in_driver.then(|| pass_all(&pair.left));
        let mode = in_driver.then_some(XdpAttachMode::Native);
        let responder = respond_in(&pair, None, mode);
        assert_eq!(responder.avoids_peer(), !in_driver);
        let found: Vec<_> = compare(&frames).collect();
        assert_eq!(found, expected, "in the driver: {in_driver}");
        let counts = responder.finish().unwrap().counts;
        assert_eq!(numbers(counts), [frames.len() as u64, 0, 0, 0]);
    }
}

/// The kernel answers some of these, and drops the others.
#[test]
fn other_packets_go_to_the_kernel_and_are_counted() {
    let pair = Pair::new();
    let echo = |frame: IpFrame| frame.echo_request(7, 1).payload(&[1; 30]);
    let whole = echo(ipv4(&pair, |_| ()));
    let whole6 = echo(ipv6(&pair, &[]));
    let changed = |frame: &[u8], at: usize, value: u8| {
        let mut frame = frame.to_vec();
        frame[at] = value;
        frame
    };
    let (left, right) = (pair.left.interface(), pair.right.interface());
    let from = |source: [u8; 4]| echo(ipv4(&pair, |fields| fields.source = source.into()));
    let reply = Icmpv4Fields {
        kind: 0,
        code: 0,
        checksum: 0,
        parameter: [0; 4],
    };
    let fragment = Extension::Fragment(FragmentFields {
        identification: 1,
        ..FragmentFields::default()
    });
    let damaged = [
        changed(&whole, 60, 0xff),
        changed(&whole, 24, 0),
        changed(&whole6, 80, 0xff),
    ];
    let passed = [
        // To another host, to a group, and from one.
        changed(&whole, 5, 0x77),
        changed(&whole, 0, 0x03),
        changed(&whole, 6, 0x03),
        echo(frame(&pair).ipv4(left.v4, [10, 1, 0, 9].into())),
        echo(frame(&pair).ipv4(left.v4, [10, 1, 0, 255].into())),
        echo(frame(&pair).ipv4(left.v4, [224, 0, 0, 1].into())),
        echo(frame(&pair).ipv4(left.v4, [127, 0, 0, 1].into())),
        echo(frame(&pair).ipv6(left.v6, "fd00:1::9".parse().unwrap())),
        // Sources that no host has.
        from([0, 0, 0, 1]),
        from([127, 0, 0, 1]),
        from([224, 0, 0, 1]),
        from([255, 255, 255, 255]),
        echo(frame(&pair).ipv6("::1".parse().unwrap(), right.v6)),
        echo(frame(&pair).ipv6("ff02::1".parse().unwrap(), right.v6)),
        // Fragments and extension headers.
        echo(ipv4(&pair, |fields| fields.more_fragments = true)),
        echo(ipv4(&pair, |fields| fields.fragment_offset = 8)),
        echo(ipv6(&pair, &[fragment])),
        echo(ipv6(&pair, &[Extension::Destination(&[0; 6])])),
        // A VLAN tag, other messages, and packets that end early.
        echo(frame(&pair).vlan(7).ipv4(left.v4, right.v4)),
        ipv4(&pair, |_| ()).icmp(reply).payload(&[1; 30]),
        ipv4(&pair, |_| ()).udp(1, 2).payload(&[1; 30]),
        changed(&whole, 17, 200),
        changed(&whole, 17, 27),
        changed(&whole6, 19, 200),
        changed(&whole, 14, 0x46),
        changed(&whole, 14, 0x65),
    ];
    let responder = respond(&pair, None);
    pair.left.send(&damaged);
    pair.left.send(&passed);
    pair.left.send([&whole, &whole6]);
    let counts = responder.finish().unwrap().counts;
    assert_eq!(
        numbers(counts),
        [2, 0, damaged.len() as u64, passed.len() as u64]
    );
}

/// `tapline ping` sends up to 256 probes at once.
#[test]
fn a_group_of_probes_is_below_the_limit() {
    let pair = Pair::new();
    let responder = respond(&pair, Some(10_000));
    let request = &requests(&pair)[0];
    pair.left.send(std::iter::repeat_n(request, 256));
    let counts = responder.finish().unwrap().counts;
    assert_eq!(numbers(counts), [256, 0, 0, 0]);
}

#[test]
fn requests_above_the_limit_are_dropped_and_counted() {
    let pair = Pair::new();
    let responder = respond(&pair, Some(1));
    let before = pair.right.counters().tx_packets;
    let request = &requests(&pair)[0];
    pair.left.send(std::iter::repeat_n(request, 1000));
    let sent = pair.right.counters().tx_packets - before;
    let summary = responder.finish().unwrap();
    let [answered, limited, ..] = numbers(summary.counts);
    assert_eq!((answered + limited, answered), (1000, sent));
    // One of the burst, and one each second.
    assert!((1..=summary.duration.as_secs() + 2).contains(&answered));
}

#[test]
fn addresses_are_followed_and_prefixes_count() {
    let pair = Pair::new();
    let mut responder = respond(&pair, None);
    let to = |address: [u8; 4]| {
        let frame = frame(&pair).ipv4(pair.left.interface().v4, address.into());
        frame.echo_request(7, 1).payload(&[1; 30])
    };
    let frames = [to([10, 1, 0, 2]), to([10, 1, 0, 77]), to([192, 0, 2, 9])];
    pair.left.send(&frames);
    assert_eq!(responder.counts().unwrap().answered, 1);
    pair.right.ip("address add 10.1.0.77/24 dev right0");
    pair.right.ip("route add local 192.0.2.0/24 dev lo");
    pair.right.run(|| responder.refresh()).unwrap();
    pair.left.send(&frames);
    assert_eq!(responder.counts().unwrap().answered, 4);
    pair.right.ip("address del 10.1.0.77/24 dev right0");
    pair.right.run(|| responder.refresh()).unwrap();
    pair.left.send(&frames);
    assert_eq!(responder.counts().unwrap().answered, 6);
    let _ = responder.finish().unwrap();
}

mod vrf {
    use super::*;

    /// Compared with what the kernel says is local there.
    #[test]
    fn the_addresses_of_a_vrf_are_answered_in_it() {
        if crate::VM.has_run() {
            return;
        }
        let pair = Pair::new();
        let to = |address: [u8; 4]| {
            let frame = frame(&pair).ipv4(pair.left.interface().v4, address.into());
            frame.echo_request(7, 1).payload(&[1; 30])
        };
        let frames = [to([10, 1, 0, 2]), to([192, 0, 2, 9])];
        // Another address of the host, outside of the VRF.
        pair.right.ip("address add 192.0.2.9/32 dev lo");
        let mut responder = respond(&pair, None);
        pair.left.send(&frames);
        assert_eq!(numbers(responder.counts().unwrap())[..1], [2]);
        for line in [
            "link add red type vrf table 100",
            "link set red up",
            "link set right0 master red",
        ] {
            pair.right.ip(line);
        }
        let local = pair.right.ip("route show table 100 type local");
        assert!(
            local.contains("10.1.0.2") && !local.contains("192.0.2.9"),
            "{local}"
        );
        pair.right.run(|| responder.refresh()).unwrap();
        pair.left.send(&frames);
        let [answered, .., passed] = numbers(responder.counts().unwrap());
        assert_eq!(answered, 3);
        assert!(passed >= 1, "the other one goes to the kernel");
        let _ = responder.finish().unwrap();
    }
}

#[test]
fn another_mac_address_of_the_interface_is_followed() {
    let pair = Pair::new();
    let mut responder = respond(&pair, None);
    let old = requests(&pair).remove(0);
    let mac = [2, 0, 0, 0, 0, 0x77];
    let mut new = old.clone();
    new[..6].copy_from_slice(&mac);
    pair.right.ip("link set right0 address 02:00:00:00:00:77");
    pair.left.send([&old]);
    assert_eq!(numbers(responder.counts().unwrap()), [1, 0, 0, 0]);
    pair.right.run(|| responder.refresh()).unwrap();
    pair.left.send([&old, &new, &new]);
    assert_eq!(numbers(responder.counts().unwrap()), [3, 0, 0, 1]);
    let _ = responder.finish().unwrap();
}

#[test]
fn the_responder_ends_when_its_interface_is_removed() {
    let pair = Pair::new();
    let mut responder = respond(&pair, None);
    pair.right.ip("link delete right0");
    let stopper = responder.stopper();
    let mut ticks = 0;
    let ended = responder.run(Duration::from_millis(100), |_| {
        ticks += 1;
        if ticks == 50 {
            stopper.stop();
        }
    });
    let Err(RespondError::Removed { link }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(link, "right0");
}
