//! Times at which packets arrive at the far end, by the kernel's stamps.

use std::time::Duration;

use pcap::{Active, Capture, Error, Precision};
use tapline_lab::Host;

use crate::harness::pause;

const SNAPLEN: i32 = 64;
const RING_BYTES: i32 = 128 << 20;
/// The kernel hands over a block of the ring after this time, full or not.
const TIMEOUT_MS: i32 = 10;

/// Holds the packets that arrive at a host. They stay in the ring until they are read: nothing runs beside the sender.
pub struct Arrivals(Capture<Active>);

impl Arrivals {
    pub fn at(host: &Host) -> Self {
        let name = host.interface().name.to_string();
        let handle = host.run(|| {
            let handle = Capture::from_device(name.as_str()).expect("a device");
            let handle = handle.snaplen(SNAPLEN).buffer_size(RING_BYTES);
            let handle = handle.precision(Precision::Nano).timeout(TIMEOUT_MS);
            let mut handle = handle.open().expect("libpcap opens it");
            handle.filter("udp port 9", true).expect("a filter");
            handle
        });
        Self(handle)
    }

    /// The times of all packets so far, in nanoseconds.
    pub fn times(self) -> Vec<u64> {
        pause(5 * Duration::from_millis(TIMEOUT_MS as u64));
        // Blocking, libpcap waits for the next packet, however long.
        let mut handle = self.0.setnonblock().expect("a socket");
        let mut times = Vec::new();
        loop {
            match handle.next_packet() {
                Ok(packet) => {
                    // In nanosecond mode the microsecond field holds nanoseconds.
                    let time = packet.header.ts;
                    let ns = time.tv_sec * 1_000_000_000 + time.tv_usec;
                    times.push(ns.cast_unsigned());
                }
                Err(Error::TimeoutExpired) => return times,
                Err(error) => panic!("the far end cannot be read: {error}"),
            }
        }
    }
}

/// How late each packet is against one packet per gap. The schedule is moved so that the earliest packet is on time.
pub fn lateness(times: &[u64], gap_ns: u64) -> Vec<f64> {
    let early = times.iter().enumerate().map(|(number, &time)| {
        let planned = number as u64 * gap_ns;
        i128::from(time) - i128::from(planned)
    });
    let early: Vec<_> = early.collect();
    let earliest = early.iter().min().copied().unwrap_or(0);
    early.iter().map(|time| (time - earliest) as f64).collect()
}

/// The gaps between packets.
pub fn gaps(times: &[u64]) -> Vec<f64> {
    let gaps = times.windows(2).map(|pair| pair[1] as f64 - pair[0] as f64);
    gaps.collect()
}

/// The value that so many thousandths of the values do not exceed.
pub fn quantile(values: &[f64], thousandths: usize) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let place = values.len().saturating_sub(1) * thousandths / 1000;
    values.get(place).copied().unwrap_or(f64::NAN)
}
