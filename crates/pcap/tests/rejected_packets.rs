//! Packets that the filter of a handle rejects: calls still return, and filters see tagged packets as the kernel does.

use std::path::PathBuf;

use lab::generator::udp_frame;
use lab::{Host, Net};

use crate::support::{BOTH, Library, compile, start};

fn program() -> PathBuf {
    compile("refused", &[])
}

/// An interface that sends without end does not keep a call from ending whose packets are the received ones. The two threads would
/// have sent their last frame long before.
#[test]
fn calls_return_after_the_timeout_while_packets_are_refused_by_direction() {
    for device in [None, Some("any")] {
        let [_left, right] = Net::new().pair();
        let own = right.interface().name.to_string();
        let arguments = ["sent", device.unwrap_or(&own), &own];
        let lines = start(&right, Library::Tapline, &program(), &arguments).finish();
        let expected = [
            "dispatch 0",
            "next_ex 0",
            "nonblocking 0",
            "sending 1",
            "sending 1",
        ];
        assert_eq!(lines, expected, "{device:?}");
    }
}

/// A frame with the VLAN tag 5.
fn tagged(mut frame: Vec<u8>) -> Vec<u8> {
    frame.splice(12..12, [0x81, 0, 0, 5]);
    frame
}

/// What a filter selects on `any`. `accepted` is the number of packets.
fn selected(library: Library, mode: &str, filter: &str, accepted: u64) -> Vec<String> {
    let [left, right]: [Host; 2] = Net::new().pair();
    let mut running = start(&right, library, &program(), &[mode, "any", filter]);
    running.ready();
    let [short, long] = [60, 200].map(udp_frame);
    left.send([
        tagged(short.clone()),
        tagged(long.clone()),
        short,
        long,
        tagged(udp_frame(300)),
        udp_frame(300),
    ]);
    running.tell(accepted);
    running.finish()
}

/// libpcap's filter runs in the kernel. The lengths of the packets with their cooked headers are 62, 202 and 302, whether or not
/// they have a tag.
#[test]
fn filters_on_any_see_tagged_packets_as_the_kernel_does() {
    for (filter, accepted) in [
        ("udp and greater 100", 4),
        ("udp and not less 203", 2),
        ("udp", 6),
        ("not udp or greater 203", 2),
    ] {
        for mode in ["early", "late"] {
            let [libpcap, tapline] = BOTH.map(|library| selected(library, mode, filter, accepted));
            assert_eq!(libpcap, tapline, "{mode} {filter}");
            let end = ["loop 0", "next_ex 0"];
            assert_eq!(libpcap[libpcap.len() - 2..], end, "{mode} {filter}");
            assert_eq!(libpcap.len() as u64, accepted + 2, "{mode} {filter}");
        }
    }
}

/// The table of docs/guide/existing-tools.md.
#[test]
fn packets_on_loopback_count_once_and_no_thread_is_started() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [_left, right] = Net::new().pair();
        right.ip("link set lo up");
        start(&right, library, &program(), &["loopback", "lo", "-"]).finish()
    });
    assert_eq!(libpcap[..11], tapline[..11]);
    assert_eq!(libpcap[10..], ["loop 0", "received 20", "threads 1"]);
    assert_eq!(tapline[10..], ["loop 0", "received 10", "threads 1"]);
}
