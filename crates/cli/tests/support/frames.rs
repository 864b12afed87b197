//! Frames to send.

/// An Ethernet frame of `length` octets with an experimental EtherType and its number.
pub fn frame(number: u32, length: usize) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 1, 0x88, 0xb5];
    bytes.extend(number.to_be_bytes());
    bytes.extend((0..length).map(|place| (place * 7) as u8 ^ number as u8));
    bytes.truncate(length);
    bytes
}

/// `count` such frames.
pub fn frames(count: u32, length: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| frame(number, length)).collect()
}

/// The number in a frame of [`frame`].
pub fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[14..18].try_into().expect("four octets"))
}

/// `frame` with `tags` (EtherType and tag control) after its addresses.
pub fn tagged(frame: &[u8], tags: &[(u16, u16)]) -> Vec<u8> {
    let mut bytes = frame[..12].to_vec();
    for (kind, control) in tags {
        bytes.extend(kind.to_be_bytes());
        bytes.extend(control.to_be_bytes());
    }
    bytes.extend(&frame[12..]);
    bytes
}

/// A UDP datagram, with the addresses of the test hosts.
pub fn udp(payload: &[u8]) -> Vec<u8> {
    let mut frame = lab::generator::udp_frame(50.max(42 + payload.len()));
    frame[42..42 + payload.len()].copy_from_slice(payload);
    frame
}

/// Frames of all lengths and tags that a trunk carries.
pub fn trunk() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [14, 15, 33, 60, 64, 1024, 1514]
        .into_iter()
        .zip(0..)
        .map(|(length, number)| frame(number, length))
        .collect();
    let plain = frame(100, 200);
    all.push(tagged(&plain, &[(0x8100, 7)]));
    all.push(tagged(&plain, &[(0x8100, 0xeffe)]));
    // A priority tag: no VLAN.
    all.push(tagged(&plain, &[(0x8100, 5 << 13)]));
    all.push(tagged(&plain, &[(0x88a8, 30), (0x8100, 40)]));
    all.push(tagged(&plain, &[(0x88a8, 30)]));
    all.push(tagged(&udp(b"on a trunk"), &[(0x8100, 99)]));
    // To all, to a group, to somebody else.
    for destination in [[0xff; 6], [1, 0, 0x5e, 0, 0, 9], [2, 0, 0, 0, 9, 9]] {
        let mut frame = frame(200, 80);
        frame[..6].copy_from_slice(&destination);
        all.push(frame);
    }
    all.push(udp(b"hello"));
    all
}
