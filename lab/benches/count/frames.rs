//! The frames that are counted.

/// A frame, and what it is.
pub struct Frame {
    pub name: &'static str,
    pub bytes: Vec<u8>,
}

/// Each from 10.1.0.1 to 10.2.0.2, or the same in IPv6.
pub fn frames() -> [Frame; 5] {
    let frame = |name, bytes| Frame { name, bytes };
    let tcp = ip4(1514, 6, [0x9c, 0x40, 0x01, 0xbb]);
    let (addresses, rest) = tcp.split_at(12);
    let tagged = [addresses, &[0x81, 0, 0, 7], rest].concat();
    [
        frame("TCP to 443, 1514 B", tcp.clone()),
        frame("UDP to 53, 64 B", ip4(64, 17, [0x9c, 0x40, 0, 53])),
        frame("IPv6 TCP, 1514 B", ip6(1514, 6, [0x9c, 0x40, 0x01, 0xbb])),
        frame("ICMP, 64 B", ip4(64, 1, [8, 0, 0, 0])),
        frame("VLAN, TCP, 1518 B", tagged),
    ]
}

pub fn ip4(bytes: u16, protocol: u8, ports: [u8; 4]) -> Vec<u8> {
    let mut frame = vec![0; usize::from(bytes)];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    frame[16..18].copy_from_slice(&(bytes - 14).to_be_bytes());
    frame[22..24].copy_from_slice(&[64, protocol]);
    frame[26..34].copy_from_slice(&[10, 1, 0, 1, 10, 2, 0, 2]);
    frame[34..38].copy_from_slice(&ports);
    frame[46] = 0x50;
    frame
}

fn ip6(bytes: u16, protocol: u8, ports: [u8; 4]) -> Vec<u8> {
    let mut frame = vec![0; usize::from(bytes)];
    frame[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]);
    frame[18..20].copy_from_slice(&(bytes - 54).to_be_bytes());
    frame[20..22].copy_from_slice(&[protocol, 64]);
    frame[22..24].copy_from_slice(&[0x20, 0x01]);
    frame[38..40].copy_from_slice(&[0x20, 0x02]);
    frame[54..58].copy_from_slice(&ports);
    frame[66] = 0x50;
    frame
}
