use pcap::{Active, Capture, Error};

/// Hands each packet and its time stamp in nanoseconds to `consume`, until the loop is broken. `handle` has been asked
/// for nanoseconds.
pub fn each_packet(handle: &mut Capture<Active>, mut consume: impl FnMut(u64, &[u8])) {
    loop {
        match handle.next_packet() {
            Ok(packet) => {
                // With nanoseconds asked for, the field of microseconds holds them.
                let time = packet.header.ts;
                let ns = time.tv_sec * 1_000_000_000 + time.tv_usec;
                consume(ns.cast_unsigned(), packet.data);
            }
            Err(Error::TimeoutExpired) => {}
            Err(_) => return,
        }
    }
}
