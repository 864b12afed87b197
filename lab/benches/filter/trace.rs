//! Frames in memory.

use std::net::Ipv4Addr;

use wire::MacAddress;
use wire::build::Frame;
use wire::protocol::ip::{ICMPV4 as ICMP, TCP, UDP};

use crate::harness::Flow;

/// Frames in consecutive slots.
pub struct Trace {
    pub name: &'static str,
    bytes: Vec<u8>,
    /// Offset and length of each frame.
    frames: Vec<(usize, usize)>,
    /// Passes over the trace per figure.
    pub passes: u32,
}

/// The host at one end of all frames in the mixed trace: 178.79.150.233.
const HOST: Ipv4Addr = Ipv4Addr::new(178, 79, 150, 233);
/// The hosts of the other traces.
const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
const MIXED_FRAMES: usize = 19_589;
const PEERS: u64 = 200;
const FLOOD_FRAMES: usize = 961_180;
const ONE_FRAME_TIMES: usize = 200_000;

/// A pseudo-random number generator (xorshift64*), the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn percent(&mut self) -> u64 {
        self.next() % 100
    }
}

impl Trace {
    pub fn mixed_web() -> Self {
        let mut trace = Self::new("mixed web", 10);
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for _ in 0..MIXED_FRAMES {
            let length = match random.percent() {
                0..40 => 66,
                40..88 => 1514,
                _ => 200 + (random.next() % 1200) as usize,
            };
            let frame = web_frame(&mut random, length);
            trace.push(&frame, length.next_multiple_of(16));
        }
        trace
    }

    /// The same frames in VXLAN, the longest shortened to fit.
    pub fn vxlan() -> Self {
        let mut trace = Self::new("web in VXLAN", 10);
        for frame in Self::mixed_web().frames() {
            let frame = &frame[..frame.len().min(1450)];
            let inside = [&[8, 0, 0, 0, 0, 0, 7, 0], frame].concat();
            let [near, far] = [1, 2].map(|last| MacAddress([2, 0, 0, 0, 0, last]));
            let frame = (Frame::ethernet(near, far).ipv4(ENDS[0], ENDS[1]))
                .udp(40_000, 4789)
                .payload(&inside);
            trace.push(&frame, frame.len().next_multiple_of(16));
        }
        trace
    }

    pub fn ping_flood() -> Self {
        let mut trace = Self::new("ping flood", 1);
        let mut frame = Flow::new(ICMP, ENDS, [0, 0]).frame(64);
        for number in 0..FLOOD_FRAMES as u32 {
            frame[38..42].copy_from_slice(&number.to_be_bytes());
            trace.push(&frame, 80);
        }
        trace
    }

    /// One frame repeated: the cost of a filter with everything in cache.
    pub fn one_frame() -> Self {
        let mut trace = Self::new("one frame", 1);
        let frame = Flow::new(TCP, ENDS, [0x8000, 80]).frame(64);
        trace.push(&frame, 64);
        trace.frames = vec![trace.frames[0]; ONE_FRAME_TIMES];
        trace
    }

    fn new(name: &'static str, passes: u32) -> Self {
        Self {
            name,
            bytes: Vec::new(),
            frames: Vec::new(),
            passes,
        }
    }

    fn push(&mut self, frame: &[u8], slot: usize) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frame);
        self.bytes.resize(start + slot, 0);
        self.frames.push((start, frame.len()));
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let frame = |&(start, length): &(usize, usize)| &self.bytes[start..start + length];
        self.frames.iter().map(frame)
    }
}

fn web_frame(random: &mut Random, length: usize) -> Vec<u8> {
    let protocol = if random.percent() < 98 { TCP } else { UDP };
    let peer = (random.next() % PEERS) as u8;
    let peer = Ipv4Addr::new(93, 184, peer / 16, peer.wrapping_mul(37));
    let peer_port = (32_768 + random.next() % 28_000) as u16;
    let port = if random.percent() < 60 { 80 } else { 443 };
    let is_answer = random.percent() < 50;
    let flow = if is_answer {
        Flow::new(protocol, [HOST, peer], [port, peer_port])
    } else {
        Flow::new(protocol, [peer, HOST], [peer_port, port])
    };
    flow.frame(length)
}
