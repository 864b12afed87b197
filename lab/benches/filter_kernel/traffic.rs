//! The frames that filters are run on.

/// A frame, and what it is.
pub struct Frame {
    pub name: &'static str,
    pub bytes: Vec<u8>,
}

/// Those of the notes' tables: a ping, and a full segment of a web server.
pub fn frames() -> [Frame; 2] {
    [
        Frame {
            name: "ICMP, 64 B",
            bytes: ip4(64, 1, [0; 4]),
        },
        Frame {
            name: "TCP from port 80, 1514 B",
            bytes: ip4(1514, 6, [0, 80, 0x9c, 0x40]),
        },
    ]
}

/// An IPv4 packet from 178.79.150.233 to 198.18.0.1.
fn ip4(bytes: u16, protocol: u8, ports: [u8; 4]) -> Vec<u8> {
    let mut frame = vec![0; usize::from(bytes)];
    frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    frame[16..18].copy_from_slice(&(bytes - 14).to_be_bytes());
    frame[22..24].copy_from_slice(&[64, protocol]);
    frame[26..34].copy_from_slice(&[178, 79, 150, 233, 198, 18, 0, 1]);
    frame[34..38].copy_from_slice(&ports);
    frame[46] = 0x50;
    frame
}
