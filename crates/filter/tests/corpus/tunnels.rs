//! Frames with tags and tunnels, as the kernel and switches create them.

/// An IPv4 packet over `protocol` with `payload`, with four bytes of options if `has_options`.
pub fn ip4(protocol: u8, has_options: bool, payload: &[u8]) -> Vec<u8> {
    let words = if has_options { 6 } else { 5 };
    let mut packet = vec![0; words * 4];
    packet[0] = 0x40 | words as u8;
    packet[9] = protocol;
    packet[12..16].copy_from_slice(&[10, 0, 0, 1]);
    packet[16..20].copy_from_slice(&[10, 0, 0, 2]);
    packet.extend(payload);
    packet
}

pub fn ip6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 40];
    packet[0] = 0x60;
    packet[6] = protocol;
    packet[23] = 1;
    packet[39] = 2;
    packet.extend(payload);
    packet
}

pub fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0xc0, 0];
    segment.extend(port.to_be_bytes());
    segment.extend([0; 4]);
    segment.extend(payload);
    segment
}

pub fn tcp(port: u16) -> Vec<u8> {
    let mut segment = udp(port, &[]);
    segment.extend([0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0]);
    segment
}

pub fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(kind.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A tag or a label, followed by payloads with their EtherTypes.
fn tagged(kind: u16, tag: u16, (inner, payload): &(u16, Vec<u8>)) -> (u16, Vec<u8>) {
    let mut bytes = tag.to_be_bytes().to_vec();
    bytes.extend(inner.to_be_bytes());
    bytes.extend(payload);
    (kind, bytes)
}

fn labelled(label: u32, is_last: bool, payload: &[u8]) -> (u16, Vec<u8>) {
    let mut bytes = (label << 12 | u32::from(is_last) << 8 | 64)
        .to_be_bytes()
        .to_vec();
    bytes.extend(payload);
    (0x8847, bytes)
}

fn session(number: u16, (kind, payload): &(u16, Vec<u8>)) -> (u16, Vec<u8>) {
    let mut bytes = vec![0x11, 0];
    bytes.extend(number.to_be_bytes());
    bytes.extend([0, 0]);
    let protocol = if *kind == 0x86dd { 0x57u16 } else { 0x21 };
    bytes.extend(protocol.to_be_bytes());
    bytes.extend(payload);
    (0x8864, bytes)
}

fn vxlan(network: u32, frame: &[u8]) -> Vec<u8> {
    let mut bytes = vec![8, 0, 0, 0];
    bytes.extend((network << 8).to_be_bytes());
    bytes.extend(frame);
    udp(4789, &bytes)
}

fn geneve(network: u32, kind: u16, options: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![options, 0];
    bytes.extend(kind.to_be_bytes());
    bytes.extend((network << 8).to_be_bytes());
    bytes.extend(vec![0; usize::from(options) * 4]);
    bytes.extend(payload);
    udp(6081, &bytes)
}

/// Frames of all kinds, also nested.
pub fn frames() -> Vec<Vec<u8>> {
    let arp = [[0, 1, 8, 0, 6, 4, 0, 1].as_slice(), &[7; 20]].concat();
    let plain = [
        (0x0800, ip4(6, false, &tcp(80))),
        (0x0800, ip4(6, true, &tcp(443))),
        (0x0800, ip4(17, false, &udp(53, &[9; 8]))),
        (0x86dd, ip6(6, &tcp(80))),
        (0x0806, arp),
    ];
    let mut wrapped = Vec::new();
    for inner in &plain {
        wrapped.push(inner.clone());
        for (kind, tag) in [(0x8100, 10), (0x8100, 20), (0x88a8, 10), (0x9100, 0x700a)] {
            wrapped.push(tagged(kind, tag, inner));
        }
        wrapped.push(tagged(0x8100, 10, &tagged(0x8100, 20, inner)));
        wrapped.push(tagged(0x88a8, 30, &tagged(0x8100, 10, inner)));
        wrapped.push(labelled(5, true, &inner.1));
        let (_, last) = labelled(6, true, &inner.1);
        wrapped.push(labelled(5, false, &last));
        wrapped.push(tagged(0x8100, 10, &labelled(5, true, &inner.1)));
        wrapped.push(session(7, inner));
        wrapped.push(tagged(0x8100, 10, &session(8, inner)));
        let frame = ethernet(inner.0, &inner.1);
        let (inner_kind, inner_bytes) = tagged(0x8100, 10, inner);
        let inner_tagged = ethernet(inner_kind, &inner_bytes);
        for payload in [
            vxlan(100, &frame),
            vxlan(200, &inner_tagged),
            geneve(100, 0x6558, 0, &frame),
            geneve(200, 0x6558, 2, &inner_tagged),
            geneve(100, inner.0, 1, &inner.1),
        ] {
            wrapped.push((0x0800, ip4(17, false, &payload)));
            wrapped.push((0x86dd, ip6(17, &payload)));
            wrapped.push(tagged(0x8100, 10, &(0x0800, ip4(17, true, &payload))));
        }
    }
    let frames = wrapped.iter().map(|(kind, bytes)| ethernet(*kind, bytes));
    frames.collect()
}
