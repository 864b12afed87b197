//! The upper bound of the rig: sends requests and receives replies without processing them.

use std::io::IoSlice;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use abi::bpf::{SockFilter, attach_classic};
use bpf::{LiveFrames, XdpAttachMode, XdpLink};
use rustix::net::{
    AddressFamily, MMsgHdr, RecvFlags, SendAncillaryBuffer, SendFlags, SocketType, connect,
    ipproto, recv, sendmmsg, sendto, socket,
};
use tapline::ping::COOKIE_BYTES;
use tapline::ping::machine::EchoRequest;
use tapline_lab::generator::send_frames;
use wire::MacAddress;
use wire::build::Frame;
use wire::protocol::ip;

use crate::harness::{empty_program, pause, thread_time};
use crate::rig::{PEER, Rig, on_subject_cpu};

/// Messages per system call.
const BATCH: usize = 64;

/// Sends requests through a raw socket, many per system call.
pub fn raw(rig: &Rig, count: u64) -> [f64; 2] {
    let message = request();
    measured(rig, || {
        let socket = deaf_socket();
        let slices = [IoSlice::new(&message)];
        let mut sent = 0;
        while sent < count {
            let mut control: [_; BATCH] = std::array::from_fn(|_| SendAncillaryBuffer::default());
            let mut batch: Vec<MMsgHdr<'_>> = control
                .iter_mut()
                .map(|control| MMsgHdr::new(&slices, control))
                .collect();
            let more = sendmmsg(&socket, &mut batch, SendFlags::empty());
            sent += more.expect("the kernel takes them") as u64;
        }
    })
}

/// Sends requests as whole frames through a packet socket, one per system call.
pub fn packet(rig: &Rig, count: u64) -> [f64; 2] {
    let frame = frame(rig, PEER.parse().expect("an address"));
    let out = rig.left.interface().index;
    measured(rig, || {
        let frames = (0..count).map(|_| &frame);
        send_frames(out, frames).expect("the kernel takes them");
    })
}

/// Probes each of `targets` once a second through a raw socket, for `seconds` seconds. Sends a quarter of them at a
/// time, one per system call, and reads replies in between. Returns the CPU usage in % and the number of replies.
pub fn steady(rig: &Rig, targets: &[Ipv4Addr], seconds: u32) -> (f64, u64) {
    let message = request();
    let ask = || {
        let socket = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP));
        let socket = socket.expect("root");
        let start = Instant::now();
        let mut read = 0;
        for _ in 0..seconds {
            for group in targets.chunks(targets.len().div_ceil(4)) {
                for some in group.chunks(8) {
                    for &target in some {
                        let to = SocketAddr::new(target.into(), 0);
                        let sent = sendto(&socket, &message, SendFlags::DONTWAIT, &to);
                        sent.expect("the kernel takes it");
                    }
                    while recv(&socket, &mut [0; 2048], RecvFlags::DONTWAIT).is_ok() {
                        read += 1;
                    }
                }
                pause(Duration::from_millis(250));
            }
        }
        let share = thread_time().as_secs_f64() / start.elapsed().as_secs_f64();
        (100.0 * share, read)
    };
    on_subject_cpu(|| rig.left.run(ask))
}

/// Sends a request to each of `targets` once a second through a packet socket, for `seconds` seconds, a quarter of them
/// at a time. Reads nothing. Returns the CPU usage in %.
pub fn steady_frames(rig: &Rig, targets: &[Ipv4Addr], seconds: u32) -> f64 {
    let frames: Vec<_> = targets.iter().map(|&target| frame(rig, target)).collect();
    let group = targets.len().div_ceil(4);
    let out = rig.left.interface().index;
    let ask = || {
        let start = Instant::now();
        let rounds = (0..seconds).flat_map(|_| frames.iter().enumerate());
        let paced = rounds.inspect(|(number, _)| {
            if number % group == 0 {
                pause(Duration::from_millis(250));
            }
        });
        send_frames(out, paced.map(|(_, frame)| frame)).expect("the kernel takes them");
        100.0 * thread_time().as_secs_f64() / start.elapsed().as_secs_f64()
    };
    on_subject_cpu(|| rig.left.run(ask))
}

/// As [`steady_frames`], as XDP frames. A program at the interface drops the replies.
pub fn steady_xdp_frames(rig: &Rig, targets: &[Ipv4Addr], seconds: u32) -> f64 {
    let frames: Vec<_> = targets.iter().map(|&target| frame(rig, target)).collect();
    let out = rig.left.interface().index.0;
    let ask = || {
        let taken = XdpLink::attach(&empty_program(), out, XdpAttachMode::Native);
        let _taken = taken.expect("no other program is attached");
        let mut live = LiveFrames::open(out).expect("frames can be sent");
        let (start, before) = (Instant::now(), thread_time());
        for _ in 0..seconds {
            for group in frames.chunks(frames.len().div_ceil(4)) {
                for frame in group {
                    assert!(live.push(frame), "there is room");
                }
                let sent = live.send().expect("the kernel takes them").sent;
                assert_eq!(sent as usize, group.len(), "the driver takes them");
                pause(Duration::from_millis(250));
            }
        }
        let used = thread_time().saturating_sub(before);
        100.0 * used.as_secs_f64() / start.elapsed().as_secs_f64()
    };
    on_subject_cpu(|| rig.left.run(ask))
}

/// Replies per second, and per second of CPU time.
fn measured(rig: &Rig, send: impl FnOnce() + Send) -> [f64; 2] {
    let (before, start) = (rig.arrived(), Instant::now());
    let cpu = on_subject_cpu(|| {
        rig.left.run(|| {
            send();
            thread_time()
        })
    });
    let seconds = start.elapsed().as_secs_f64();
    let answered = (rig.arrived() - before) as f64;
    [answered / seconds, answered / cpu.as_secs_f64()]
}

fn request() -> Vec<u8> {
    EchoRequest::icmpv4(1, &[])
        .write(1, &[0; COOKIE_BYTES])
        .to_vec()
}

/// A raw socket to the peer that receives nothing.
fn deaf_socket() -> OwnedFd {
    let socket = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).expect("root");
    let refuse = SockFilter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: 0,
    };
    attach_classic(socket.as_fd(), &[refuse]).expect("a filter");
    let peer: SocketAddr = format!("{PEER}:0").parse().expect("an address");
    connect(&socket, &peer).expect("a route");
    socket
}

/// An Ethernet frame to the peer with a request to `target`, as the kernel would build it.
pub fn frame(rig: &Rig, target: Ipv4Addr) -> Vec<u8> {
    let (from, to) = (rig.left.interface(), rig.right.interface());
    let [source, destination] = [from.mac, to.mac].map(|mac| MacAddress(mac.0));
    let frame = Frame::ethernet(source, destination).ipv4(from.v4, target);
    frame.payload(ip::ICMPV4, &request())
}
