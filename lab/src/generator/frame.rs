//! Builds frames to send.

/// Offset of the sequence number in a [`udp_frame`]: the first 8 bytes of the payload.
pub const SEQUENCE_AT: u16 = 42;

/// Returns an Ethernet frame of `bytes` bytes, without frame check sequence. It holds a UDP datagram from 198.18.0.1
/// port 9 to 198.18.0.2 port 9 without UDP checksum. The MAC addresses are 02:00:00:00:00:01 and 02:00:00:00:00:02; the
/// payload is zero.
///
/// RFC 2544 reserves these IP addresses for benchmarks. A host with neither the MAC nor the IP address drops the frame
/// in its stack, so nobody replies.
///
/// # Panics
/// If `bytes` is too small for the sequence number (less than 50) or too large for an IPv4 packet.
pub fn udp_frame(bytes: usize) -> Vec<u8> {
    assert!(
        bytes >= SEQUENCE_AT as usize + 8,
        "no room for the sequence number"
    );
    let ip_bytes = u16::try_from(bytes - 14).expect("an IPv4 packet has at most 65535 bytes");
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
    let mut header = [
        0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2,
    ];
    header[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    frame.extend([0, 9, 0, 9]);
    frame.extend((ip_bytes - 20).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(bytes, 0);
    frame
}

/// Computes the Internet checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes
        .as_chunks()
        .0
        .iter()
        .map(|b| u32::from(u16::from_be_bytes(*b)))
        .sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}
