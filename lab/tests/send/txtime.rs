//! Packets that the queueing discipline sends at their planned times, under user-mode-linux, which has `fq` and `etf`.

use std::time::Duration;

use netlink::{Link, Netlink, TrafficHandle};
use serde_json::Value;
use tapline::capture::Backend;
use tapline::send::{Rate, SendPath, SendQueue};
use tapline_lab::{Host, Net, tool};

use crate::UML;

const PACKETS: u64 = 20;
const GAP_NS: u64 = 20_000_000;

fn discipline(host: &Host) -> Option<String> {
    let name = host.interface().name;
    let link: Link = host.run(|| {
        Netlink::open()
            .unwrap()
            .link_named(&name.to_string())
            .unwrap()
    });
    link.qdisc
}

/// Runs tc(8) and returns its output.
fn tc(host: &Host, line: &str) -> String {
    let output = host.command("tc").args(line.split(' ')).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A frame of 60 bytes to the longest of `mtu`: of each size one without and one with a VLAN tag, which the MTU does not count.
/// It ends with its number.
fn frame(number: u64, mtu: u64) -> Vec<u8> {
    let mut frame = vec![0xff; 12];
    if number % 2 == 1 {
        frame.extend([0x81, 0x00, 0x00, 0x07]);
    }
    frame.extend([0x88, 0xb5]);
    let longest = frame.len() as u64 + mtu;
    let bytes = 60 + (longest - 60) * (number / 2) / (PACKETS / 2 - 1);
    frame.extend((frame.len() as u64 + 1..bytes).map(|place| (place + number) as u8));
    frame.push(number as u8);
    frame
}

#[test]
fn the_queueing_discipline_sends_no_packet_before_its_time() {
    if UML.has_run() {
        return;
    }
    let etf = " clockid CLOCK_TAI delta 500000 skip_sock_check";
    for (kind, options, mtu) in [
        ("fq", "", 1500),
        ("fq", "", 9000),
        ("etf", etf, 1500),
        ("etf", etf, 9000),
    ] {
        let [left, right] = Net::new().pair();
        for host in [&left, &right] {
            host.ip(&format!("link set {} mtu {mtu}", host.interface().name));
        }
        let name = left.interface().name;
        tc(
            &left,
            &format!("qdisc replace dev {name} root {kind}{options}"),
        );
        assert_eq!(discipline(&left).as_deref(), Some(kind));
        let capture = tapline::capture(right.interface().name.to_string())
            .backend(Backend::PacketV2)
            .duration(Duration::from_secs(30));
        let mut capture = right.run(|| capture.open()).unwrap();
        let timed = tapline::send(name.to_string())
            .path(SendPath::Timed)
            .rate(Rate::Absolute);
        let mut sender = left.run(|| timed.open()).unwrap();
        let offset_ns = abi::clock::realtime_ns() - abi::clock::monotonic_ns();
        let start_ns = abi::clock::monotonic_ns() + 100_000_000;
        let mut queue = SendQueue::default();
        for number in 0..PACKETS {
            queue.push(start_ns + number * GAP_NS, &frame(number, mtu));
        }
        assert!(sender.transmit(&queue).unwrap());
        let summary = sender.finish().unwrap();
        assert_eq!(
            (summary.submitted, summary.path),
            (PACKETS, SendPath::Timed)
        );
        // etf refuses a packet whose time has passed, and drops one that it could not send in time: on a busy machine.
        assert!(
            summary.accepted == PACKETS || kind == "etf",
            "{kind}: {summary}"
        );
        let delivered = summary.delivered.unwrap();
        assert!(
            delivered == PACKETS || (kind == "etf" && delivered > 0),
            "{delivered}"
        );
        // The kernel's counter and its reports agree.
        assert_eq!(delivered + summary.missed, summary.accepted, "{kind}");
        for _ in 0..delivered {
            let packet = capture.next().unwrap().expect("every packet arrives");
            let number = u64::from(*packet.data().last().unwrap());
            assert_eq!(packet.data(), frame(number, mtu), "{kind}, MTU {mtu}");
            let arrived_ns = packet.time().as_nanos().unwrap() - offset_ns;
            let planned_ns = start_ns + number * GAP_NS;
            // The clocks of both are converted; etf may send `delta` earlier.
            let is_early = arrived_ns + 1_000_000 < planned_ns;
            assert!(
                !is_early,
                "{kind}: {number} came {} ns early",
                planned_ns - arrived_ns
            );
        }
    }
}

#[test]
fn a_discipline_without_times_is_refused() {
    if UML.has_run() {
        return;
    }
    let [left, _right] = Net::new().pair();
    let timed = tapline::send(left.interface().name.to_string()).path(SendPath::Timed);
    let refused = left.run(|| timed.open()).err().expect("refused");
    let source = std::error::Error::source(&refused).expect("the reason");
    assert!(
        source.to_string().contains("noqueue keeps no times"),
        "{source}"
    );
    assert!(tool::find("tc").is_some());
}

/// `mq` has a discipline for each queue of the device.
#[test]
fn the_disciplines_of_all_queues_keep_times() {
    if UML.has_run() {
        return;
    }
    let [left, _right] = Net::new().pair();
    for line in [
        "link add many0 numtxqueues 2 type veth peer name many1 numrxqueues 2",
        "link set many0 up",
        "link set many1 up",
    ] {
        let status = left.command("ip").args(line.split(' ')).status();
        assert!(status.unwrap().success(), "{line}");
    }
    let timed = || {
        let timed = tapline::send("many0").path(SendPath::Timed);
        left.run(|| timed.open())
    };
    tc(&left, "qdisc replace dev many0 root handle 1: mq");
    tc(&left, "qdisc replace dev many0 parent 1:1 fq");
    let refused = timed().err().expect("one queue has another discipline");
    let source = std::error::Error::source(&refused).expect("the reason");
    assert!(source.to_string().contains("mq (fq, "), "{source}");
    tc(&left, "qdisc replace dev many0 parent 1:2 fq");
    let shown: Value =
        serde_json::from_str(&tc(&left, "-json qdisc show dev many0 invisible")).unwrap();
    let shown: Vec<_> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|qdisc| {
            let text = |key: &str| qdisc[key].as_str().map(Into::into).unwrap_or_default();
            (text("kind"), text("parent"))
        })
        .collect();
    let index = left.run(|| Netlink::open().unwrap().link_named("many0").unwrap().index);
    let listed = left.run(|| Netlink::open().unwrap().qdiscs(index.unwrap()).unwrap());
    let listed: Vec<(String, String)> = listed
        .items
        .into_iter()
        .map(|qdisc| {
            let is_root = qdisc.parent == TrafficHandle::ROOT;
            let parent = (!is_root).then(|| qdisc.parent.to_string());
            (qdisc.kind, parent.unwrap_or_default())
        })
        .collect();
    assert_eq!((listed.len(), listed), (3, shown));
    let mut sender = timed().unwrap();
    sender.inject(&[0xff; 60]).unwrap();
    let summary = sender.finish().unwrap();
    assert_eq!((summary.accepted, summary.delivered), (1, Some(1)));
}
