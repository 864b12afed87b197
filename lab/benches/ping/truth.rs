//! Measures the kernel's round-trip times with libpcap on an interface: from the time stamp of the request to that of the
//! reply.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use pcap::{Active, Capture, Precision};
use tapline_lab::Host;

use crate::harness::{each_packet, pause};

const SNAPLEN: i32 = 64;
const RING_BYTES: i32 = 64 << 20;
const TIMEOUT_MS: i32 = 100;

/// Kernel round-trip times, by target and request number (from 0).
pub type Truth = HashMap<(IpAddr, u32), RoundTrip>;

/// A request and its reply by the kernel's time stamps, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    pub sent_ns: u64,
    pub ns: u64,
}

/// Captures on the interface of `host` while `job` runs.
pub fn at<T>(host: &Host, job: impl FnOnce() -> T) -> (Truth, T) {
    let (ready, is_ready) = channel();
    thread::scope(|scope| {
        let capture = scope.spawn(|| {
            host.run(|| {
                let interface = host.interface().name.to_string();
                let handle = Capture::from_device(&*interface).expect("a device");
                let handle = handle
                    .snaplen(SNAPLEN)
                    .buffer_size(RING_BYTES)
                    .precision(Precision::Nano)
                    .timeout(TIMEOUT_MS);
                let mut handle = handle.open().expect("libpcap opens it");
                handle.filter("icmp or icmp6", true).expect("a filter");
                ready
                    .send(handle.breakloop_handle())
                    .expect("the bench waits");
                read(&mut handle)
            })
        });
        let end = is_ready.recv().expect("the capture begins");
        let done = job();
        // Wait for packets that the reader has not received yet.
        pause(2 * Duration::from_millis(TIMEOUT_MS as u64));
        end.breakloop();
        (capture.join().expect("the capture ends"), done)
    })
}

fn read(handle: &mut Capture<Active>) -> Truth {
    let mut truth = Truth::new();
    let mut counts: HashMap<IpAddr, u32> = HashMap::new();
    // Pending requests, by host, identifier and sequence number.
    let mut sent: HashMap<(IpAddr, [u8; 4]), (u32, u64)> = HashMap::new();
    each_packet(handle, |ns, frame| match echo(frame) {
        Some((true, host, key)) => {
            let count = counts.entry(host).or_default();
            sent.insert((host, key), (*count, ns));
            *count += 1;
        }
        Some((false, host, key)) => {
            if let Some((number, sent_ns)) = sent.remove(&(host, key)) {
                let ns = ns.saturating_sub(sent_ns);
                truth.insert((host, number), RoundTrip { sent_ns, ns });
            }
        }
        None => {}
    });
    truth
}

/// Parses an echo frame: whether it is a request, the remote host, and the identifier with the sequence number.
fn echo(frame: &[u8]) -> Option<(bool, IpAddr, [u8; 4])> {
    let packet = frame.get(14..)?;
    let first = *packet.first()?;
    let (header, [request, reply], [source, destination]) = match first >> 4 {
        6 => (40, [128, 129], [8, 24]),
        _ => (usize::from(first & 0x0f) * 4, [8, 0], [12, 16]),
    };
    let message: [u8; 8] = packet.get(header..)?.first_chunk().copied()?;
    let at = match message[0] {
        kind if kind == request => destination,
        kind if kind == reply => source,
        _ => return None,
    };
    let address = packet.get(at..)?;
    let host = if first >> 4 == 6 {
        Ipv6Addr::from(*address.first_chunk::<16>()?).into()
    } else {
        Ipv4Addr::from(*address.first_chunk::<4>()?).into()
    };
    Some((message[0] == request, host, *message.last_chunk()?))
}

/// Median and 99th percentile.
pub fn quantiles(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    [50, 99].map(|percent| {
        values
            .get(last * percent / 100)
            .copied()
            .unwrap_or(f64::NAN)
    })
}
