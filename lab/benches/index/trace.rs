//! The capture files: flows that begin and end, the same in every run.

use std::net::Ipv4Addr;
use std::path::Path;

use store::index::Index;
use store::model::{Interface, LinkType, Packet};
use store::write::{CaptureFile, CaptureFileOptions, Output};
use tapline_lab::oracle::Random;
use wire::protocol::ip::TCP;

use crate::harness::Flow;

/// Packets of a flow on average.
const FLOW_PACKETS: u64 = 10;

/// What the packets of a file are like.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    /// Frames: lengths and the share of each in percent.
    pub sizes: &'static [(usize, u64)],
    /// Flows at a time.
    pub active: u32,
}

/// Frames of 523 bytes on average.
pub const MIXED: Traffic = Traffic {
    sizes: &[(66, 42), (300, 30), (1434, 28)],
    active: 500,
};

/// The shortest frames, each of another flow than those before.
pub const SHORT: Traffic = Traffic {
    sizes: &[(66, 100)],
    active: 50_000,
};

/// What a file has.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    pub packets: u64,
    /// Bytes of its frames.
    pub frame_bytes: u64,
}

/// The flow of this number in a file, from its client.
pub fn flow(file: u8, number: u64) -> Flow {
    let [.., a, b, c] = number.to_be_bytes();
    let server = Ipv4Addr::new(198, 51, 100, (number % 200) as u8);
    let client = Ipv4Addr::new(10, file, b, c);
    let port = 1024 + (number * 7 + u64::from(a)) as u16 % 60_000;
    Flow::new(TCP, [client, server], [port, 443])
}

/// The filter that selects it.
pub fn filter(flow: &Flow) -> String {
    let Flow {
        source,
        destination,
        ports: [port, other],
        ..
    } = flow;
    format!("host {source} and host {destination} and port {port} and port {other}")
}

/// Writes about `bytes` bytes to `path`, and the index beside them.
pub fn write(path: &Path, file: u8, traffic: Traffic, bytes: u64) -> Written {
    let interface = Interface::new(LinkType::ETHERNET, 262_144);
    let mut options = CaptureFileOptions::new(Output::Path(path.to_owned()), vec![interface]);
    options.index = true;
    let mut capture = CaptureFile::create(options, 0).expect("room for the file");
    let mut random = Random::new(file.into());
    let mut written = Written {
        packets: 0,
        frame_bytes: 0,
    };
    while capture.bytes_written() < bytes {
        let number = written.packets / FLOW_PACKETS + u64::from(random.below(traffic.active));
        let size = chosen(traffic.sizes, random.below(100).into());
        let mut flow = flow(file, number);
        if random.one_in(2) {
            (flow.source, flow.destination) = (flow.destination, flow.source);
            flow.ports.reverse();
        }
        let frame = flow.frame(size);
        let time_ns = 1_700_000_000_000_000_000 + written.packets * 4000;
        let packet = Packet::new(time_ns, &frame);
        capture.write(&packet).expect("room for the file");
        written.packets += 1;
        written.frame_bytes += frame.len() as u64;
    }
    capture.close(&[]).expect("room for the file");
    let index = capture.indexes().expect("an index");
    assert_eq!((index.complete, index.failure), (1, None));
    written
}

/// Whether the index beside a file is the one that reading the file makes.
pub fn has_right_index(path: &Path) -> bool {
    let index = std::fs::read(store::index::index_path(path)).expect("an index");
    Index::build(path).expect("a capture").encode() == index
}

fn chosen(sizes: &[(usize, u64)], mut place: u64) -> usize {
    for &(size, share) in sizes {
        if place < share {
            return size;
        }
        place -= share;
    }
    sizes[0].0
}
