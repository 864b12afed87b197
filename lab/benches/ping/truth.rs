//! How long the kernel took: from its stamp of a request on its way out to that of the answer on its
//! way in, by libpcap on the interface.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use pcap::{Capture, Error, Precision};

use crate::rig::{Rig, pause};

const SNAPLEN: i32 = 64;
const RING_BYTES: i32 = 64 << 20;
const TIMEOUT_MS: i32 = 100;

const REQUEST: u8 = 8;
const REPLY: u8 = 0;

/// Round trips of the kernel in nanoseconds, by target and number of the request to it, from 0.
pub type Truth = HashMap<(Ipv4Addr, u32), u64>;

/// Captures while `job` runs.
pub fn beside<T>(rig: &Rig, job: impl FnOnce() -> T) -> (Truth, T) {
    let (ready, is_ready) = channel();
    thread::scope(|scope| {
        let capture = scope.spawn(|| {
            rig.left.run(|| {
                let handle = Capture::from_device(&*rig.interface()).expect("a device");
                let handle = handle
                    .snaplen(SNAPLEN)
                    .buffer_size(RING_BYTES)
                    .precision(Precision::Nano)
                    .timeout(TIMEOUT_MS);
                let mut handle = handle.open().expect("libpcap opens it");
                handle.filter("icmp", true).expect("a filter");
                ready
                    .send(handle.breakloop_handle())
                    .expect("the bench waits");
                read(&mut handle)
            })
        });
        let end = is_ready.recv().expect("the capture begins");
        let done = job();
        // What is still on its way to the reader.
        pause(2 * Duration::from_millis(TIMEOUT_MS as u64));
        end.breakloop();
        (capture.join().expect("the capture ends"), done)
    })
}

fn read(handle: &mut Capture<pcap::Active>) -> Truth {
    let mut truth = Truth::new();
    let mut counts: HashMap<Ipv4Addr, u32> = HashMap::new();
    // Requests on their way, by host, identifier and sequence.
    let mut sent: HashMap<(Ipv4Addr, [u8; 4]), (u32, u64)> = HashMap::new();
    loop {
        let packet = match handle.next_packet() {
            Ok(packet) => packet,
            Err(Error::TimeoutExpired) => continue,
            Err(_) => return truth,
        };
        // With nanoseconds asked for, the field of microseconds holds them.
        let time = packet.header.ts;
        let ns = (time.tv_sec * 1_000_000_000 + time.tv_usec).cast_unsigned();
        let Some((kind, host, key)) = echo(packet.data) else {
            continue;
        };
        if kind == REQUEST {
            let count = counts.entry(host).or_default();
            sent.insert((host, key), (*count, ns));
            *count += 1;
        } else if let Some((number, sent_ns)) = sent.remove(&(host, key)) {
            truth.insert((host, number), ns.saturating_sub(sent_ns));
        }
    }
}

/// Of a frame with an echo of ICMP its type, the other host, and identifier with sequence.
fn echo(frame: &[u8]) -> Option<(u8, Ipv4Addr, [u8; 4])> {
    let packet = frame.get(14..)?;
    let header = usize::from(packet.first()? & 0x0f) * 4;
    let message = packet.get(header..header + 8)?;
    let address = |at: usize| {
        let bytes = packet.get(at..at + 4)?;
        Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?))
    };
    let host = match message[0] {
        REQUEST => address(16)?,
        REPLY => address(12)?,
        _ => return None,
    };
    Some((message[0], host, message[4..8].try_into().ok()?))
}
