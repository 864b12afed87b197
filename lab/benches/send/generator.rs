//! The generator alone: how fast it builds packets into memory, on one CPU. Nothing is sent.

use std::time::Instant;

use tapline::packet::MacAddress;
use tapline::send::{Fill, Generator, PacketKind, SendQueue, Sizes, VxlanTunnel};

use crate::harness::{Column, Report, column};

const TITLE: &str = "Generator alone, thousands of packets/s by frame size";
const HEADS: [&str; 4] = ["60 B", "512 B", "1514 B", "imix"];
const COLUMNS: [Column; 4] = [
    column(HEADS[0], 1e3, 0),
    column(HEADS[1], 1e3, 0),
    column(HEADS[2], 1e3, 0),
    column(HEADS[3], 1e3, 0),
];

/// Packets of a trial.
const PACKETS: u64 = 2_000_000;
const FLOWS: u64 = 10_000_000;

/// What each packet is like.
struct Shape {
    name: &'static str,
    generator: fn() -> Generator,
}

const SHAPES: [Shape; 6] = [
    Shape {
        name: "UDP, 10 million flows in order",
        generator: || {
            let ports = "1024-65535".parse().expect("ports");
            udp("198.18.0.0/16", "10.0.0.2")
                .source_ports(ports)
                .flows(FLOWS)
        },
    },
    Shape {
        name: "UDP, random addresses",
        generator: || udp("random:198.18.0.0/16", "random:10.0.0.0/16"),
    },
    Shape {
        name: "UDP over IPv6, random addresses",
        generator: || udp("random:fd00::/64", "random:fd01::/64"),
    },
    Shape {
        name: "UDP with stamps",
        generator: || udp("10.0.0.1", "10.0.0.2").stamp(0),
    },
    Shape {
        name: "UDP in VXLAN, addresses in order",
        generator: || {
            udp("198.18.0.0/16", "10.0.0.2").vxlan(VxlanTunnel {
                vni: 7,
                source: "192.0.2.1".parse().expect("an address"),
                destination: "192.0.2.2".parse().expect("an address"),
            })
        },
    },
    Shape {
        name: "TCP SYN, addresses in order",
        generator: || ports(PacketKind::TcpSyn, "198.18.0.0/16", "10.0.0.2"),
    },
];

fn udp(sources: &str, destinations: &str) -> Generator {
    ports(PacketKind::Udp, sources, destinations)
}

fn ports(kind: PacketKind, sources: &str, destinations: &str) -> Generator {
    let mac = |last| Some(MacAddress([2, 0, 0, 0, 0, last]));
    Generator::new(kind)
        .source(sources.parse().expect("addresses"))
        .destination(destinations.parse().expect("addresses"))
        .source_mac(mac(1))
        .destination_mac(mac(2))
        .packets(PACKETS)
}

pub fn measure(report: &mut Report) {
    for _ in report.rounds("generator") {
        for shape in &SHAPES {
            let figures = HEADS.map(|head| pps(shape, head.trim_end_matches(" B")));
            report.table(TITLE, &COLUMNS).add(shape.name, &figures);
        }
    }
    report.note(format!(
        "{TITLE}: {PACKETS} packets into one queue of the library, which is filled again and again. Equal \
         packets, of one flow and size without stamps, are not built again: there is no row for them."
    ));
}

/// Packets per second; NaN if the headers are longer than the frame.
fn pps(shape: &Shape, size: &str) -> f64 {
    let sizes: Sizes = size.parse().expect("a size");
    let Ok(mut source) = (shape.generator)().sizes(sizes).into_source() else {
        return f64::NAN;
    };
    let mut queue = SendQueue::default();
    let start = Instant::now();
    let mut packets = 0;
    loop {
        queue.clear();
        let fill = source(&mut queue).expect("the generator does not fail");
        packets += queue.len();
        if fill == Fill::End {
            return packets as f64 / start.elapsed().as_secs_f64();
        }
    }
}
