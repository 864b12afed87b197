//! Counting on a veth pair under full load, compared with other ways to count.
//!
//! One CPU sends and, between batches, runs the receiver's driver, program and stack. The cost of a way of counting is
//! the drop in the rate. A program that copies packets to user space uses another CPU in addition. Each trial reads the
//! counters once, like a reader that polls once a second.

use tapline::count::IngressHook;
use wire::protocol::ip::UDP;

use crate::harness::{Column, Flow, Report, column};
use crate::way::{Rig, Way};
use crate::{ENDS, hosts_and_ports};

const FRAME_BYTES: usize = 128;

/// The filter that every packet of the load matches.
const SENT: &str = "udp port 53";

const COLUMNS: [Column; 5] = [
    column("passed, packets/s", 1.0, 0),
    column("counted, ppm", 1.0, 0),
    column("sender and kernel, ns a packet", 1.0, 0),
    column("programs, ns a packet", 1.0, 1),
    column("sum", 1.0, 0),
];

pub fn measure(packets: u64, report: &mut Report) {
    let seventeen = [hosts_and_ports(16), vec![SENT.into()]].concat();
    let (xdp, tc) = (IngressHook::Auto, IngressHook::Tc);
    let ways = [
        ("nothing counts", Way::Nothing),
        (
            "tapline, XDP, 1 class: all packets",
            Way::Tapline(xdp, vec![String::new()]),
        ),
        (
            "tapline, XDP, 1 class: udp port 53",
            Way::Tapline(xdp, vec![SENT.into()]),
        ),
        (
            "tapline, XDP, 17 classes",
            Way::Tapline(xdp, seventeen.clone()),
        ),
        ("tapline, tc, 17 classes", Way::Tapline(tc, seventeen)),
        ("nftables, 1 counter: all packets", Way::Nftables("")),
        (
            "nftables, 1 counter: udp dport 53",
            Way::Nftables("udp dport 53"),
        ),
        ("tcpdump -s 68 -w - udp port 53 | wc -c", Way::Tcpdump(SENT)),
    ];
    let mut rig = Rig::build(Flow::new(UDP, ENDS, [40_000, 53]).frame(FRAME_BYTES));
    for _ in report.rounds("under load") {
        for (name, way) in &ways {
            let figures = rig.trial(way, packets);
            let table = report.table("Counting at full speed over veth", &COLUMNS);
            table.add(name, figures.as_ref().map_or(&[], <[f64; 5]>::as_slice));
        }
    }
}
