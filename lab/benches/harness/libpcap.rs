//! Reads packets with libpcap.

use pcap::{Active, Capture, Error};

/// Passes each packet and its time stamp in nanoseconds to `consume`, until the loop is broken. `handle` must be in
/// nanosecond mode.
pub fn each_packet(handle: &mut Capture<Active>, mut consume: impl FnMut(u64, &[u8])) {
    loop {
        match handle.next_packet() {
            Ok(packet) => {
                // In nanosecond mode the microsecond field holds nanoseconds.
                let time = packet.header.ts;
                let ns = time.tv_sec * 1_000_000_000 + time.tv_usec;
                consume(ns.cast_unsigned(), packet.data);
            }
            Err(Error::TimeoutExpired) => {}
            Err(_) => return,
        }
    }
}
