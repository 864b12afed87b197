//! Frames with every combination of link headers, IP headers, tunnels and inner packets.

use crate::corpus::packets::Packet;

/// A packet without its link header, and its EtherType.
type Typed = (u16, Vec<u8>);
type Named<T> = (&'static str, T);

pub const OUTER4: [[u8; 4]; 2] = [[192, 0, 2, 1], [192, 0, 2, 2]];
pub const INNER4: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];

/// A frame, the names of its parts, and whether it has a tunnel.
pub struct Frame {
    pub name: String,
    pub bytes: Vec<u8>,
    pub is_tunnelled: bool,
}

impl Frame {
    pub fn packet(&self) -> Packet {
        Packet {
            link: 1,
            snaplen: 262_144,
            bytes: self.bytes.clone(),
            original_len: self.bytes.len() as u32,
        }
    }
}

fn ports(source: u16, destination: u16) -> Vec<u8> {
    [source.to_be_bytes(), destination.to_be_bytes()].concat()
}

pub fn tcp(port: u16) -> (u8, Vec<u8>) {
    let rest = [0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 1, 0, 0, 0, 0, 0];
    (6, [ports(40000, port), rest.to_vec()].concat())
}

pub fn udp(port: u16, payload: &[u8]) -> (u8, Vec<u8>) {
    let length = (8 + payload.len()) as u16;
    let header = [
        ports(40000, port),
        length.to_be_bytes().to_vec(),
        vec![0, 0],
    ]
    .concat();
    (17, [header, payload.to_vec()].concat())
}

fn sctp(port: u16) -> (u8, Vec<u8>) {
    let chunk = [0, 0, 0, 1, 0, 0, 0, 0, 14, 0, 0, 4];
    (132, [ports(40000, port), chunk.to_vec()].concat())
}

fn icmp() -> (u8, Vec<u8>) {
    (1, vec![8, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0])
}

pub fn ipv4((protocol, payload): &(u8, Vec<u8>), ends: [[u8; 4]; 2]) -> Typed {
    let length = (20 + payload.len()) as u16;
    let mut header = vec![0x45, 0];
    header.extend(length.to_be_bytes());
    header.extend([0, 1, 0, 0, 64, *protocol, 0, 0]);
    header.extend(ends.concat());
    header.extend(payload);
    (0x0800, header)
}

pub fn ipv6(chain: &[u8], (protocol, payload): &(u8, Vec<u8>), site: u8) -> Typed {
    let (mut next, mut body) = (*protocol, payload.clone());
    for &kind in chain.iter().rev() {
        let rest = match kind {
            44 => vec![next, 0, 0, 0, 0, 0, 0, 7],
            51 => [vec![next, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], vec![0; 12]].concat(),
            43 => [vec![next, 2, 4, 0, 0, 0, 0, 0], vec![0x20; 16]].concat(),
            _ => vec![next, 0, 1, 4, 0, 0, 0, 0],
        };
        body.splice(0..0, rest);
        next = kind;
    }
    let mut header = vec![0x60, 0, 0, 0];
    header.extend((body.len() as u16).to_be_bytes());
    header.extend([next, 64]);
    for last in [1, 2] {
        header.extend([0xfd, site]);
        header.extend([0; 13]);
        header.push(last);
    }
    header.extend(body);
    (0x86dd, header)
}

fn with_type(prefix: &[u8], (kind, payload): &Typed) -> Vec<u8> {
    [prefix, &kind.to_be_bytes(), payload].concat()
}

pub fn ethernet(packet: &Typed) -> Vec<u8> {
    with_type(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], packet)
}

/// The packet behind link headers.
pub fn behind(link: &str, packet: &Typed) -> Typed {
    let labels = |count: u8| {
        let label = |at| [0, 1, u8::from(at + 1 == count), 64];
        let labels: Vec<u8> = (0..count).flat_map(label).collect();
        [labels, packet.1.clone()].concat()
    };
    let tag = |kind: u16, packet: &Typed| (kind, with_type(&[0, 7], packet));
    match link {
        "vlan" => tag(0x8100, packet),
        "qinq" => tag(0x88a8, &tag(0x8100, packet)),
        "4 tags" => tag(0x88a8, &tag(0x8100, &tag(0x8100, &tag(0x8100, packet)))),
        "mpls" => (0x8847, labels(1)),
        "8 labels" => (0x8847, labels(8)),
        "vlan, mpls" => tag(0x8100, &(0x8847, labels(2))),
        "pppoe" => {
            let kind: u16 = if packet.0 == 0x0800 { 0x21 } else { 0x57 };
            let length = (packet.1.len() + 2) as u16;
            let header = [vec![0x11, 0, 0, 9], length.to_be_bytes().to_vec()].concat();
            (0x8864, with_type(&header, &(kind, packet.1.clone())))
        }
        _ => packet.clone(),
    }
}

/// The packet in a tunnel: the protocol and bytes behind the outer IP header.
pub fn tunnelled(tunnel: &str, link: &str, packet: &Typed) -> Option<(u8, Vec<u8>)> {
    let frame = || ethernet(&behind(link, packet));
    let is_plain = link.is_empty();
    let inside = |prefix: &[u8]| [prefix, &packet.1].concat();
    Some(match tunnel {
        "ip" if is_plain => (if packet.0 == 0x0800 { 4 } else { 41 }, packet.1.clone()),
        "gre" => (47, with_type(&[0, 0], &behind(link, packet))),
        "gre, all fields" if is_plain => {
            let kind = packet.0.to_be_bytes();
            let fields = [&[0xb0, 0], &kind[..], &[0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6]].concat();
            (47, inside(&fields))
        }
        "nvgre" => (
            47,
            [&[0x20, 0, 0x65, 0x58, 0, 1, 2, 0][..], &frame()].concat(),
        ),
        "vxlan" => udp(4789, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], &frame()].concat()),
        "geneve" => udp(
            6081,
            &[&[0, 0, 0x65, 0x58, 0, 0, 7, 0][..], &frame()].concat(),
        ),
        "geneve, options" => {
            let header = [2, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 1, 0, 0, 0, 0];
            udp(6081, &[&header[..], &frame()].concat())
        }
        "gtp" if is_plain => {
            let length = (packet.1.len() as u16).to_be_bytes();
            udp(
                2152,
                &inside(&[&[0x30, 0xff], &length[..], &[0, 0, 0, 1]].concat()),
            )
        }
        "gtp, extension" if is_plain => {
            let length = (packet.1.len() as u16 + 8).to_be_bytes();
            let fields = [0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0];
            udp(
                2152,
                &inside(&[&[0x34, 0xff], &length[..], &fields[..]].concat()),
            )
        }
        _ => return None,
    })
}

pub const LINKS: [&str; 8] = [
    "",
    "vlan",
    "qinq",
    "4 tags",
    "mpls",
    "8 labels",
    "vlan, mpls",
    "pppoe",
];
pub const TUNNELS: [&str; 9] = [
    "ip",
    "gre",
    "gre, all fields",
    "nvgre",
    "vxlan",
    "geneve",
    "geneve, options",
    "gtp",
    "gtp, extension",
];
const CHAINS: [Named<&[u8]>; 5] = [
    ("", &[]),
    ("hop-by-hop", &[0]),
    ("fragment", &[44]),
    ("ah", &[51]),
    ("six", &[0, 60, 43, 44, 51, 60]),
];

fn transports() -> [Named<(u8, Vec<u8>)>; 5] {
    [
        ("tcp 80", tcp(80)),
        ("tcp 443", tcp(443)),
        ("udp 53", udp(53, &[])),
        ("sctp 80", sctp(80)),
        ("icmp", icmp()),
    ]
}

/// IP packets with each header chain.
fn packets(transport: &(u8, Vec<u8>), ends: [[u8; 4]; 2], site: u8) -> Vec<(String, Typed)> {
    let mut packets = vec![("ip".to_owned(), ipv4(transport, ends))];
    for (name, chain) in CHAINS {
        packets.push((format!("ip6 {name}"), ipv6(chain, transport, site)));
    }
    packets
}

/// Every combination of link headers, IP headers, and a transport header or a tunnel with a packet inside.
pub fn all() -> Vec<Frame> {
    let mut frames = Vec::new();
    for link in LINKS {
        for (transport, bytes) in transports() {
            for (ip, packet) in packets(&bytes, OUTER4, 1) {
                frames.push(Frame {
                    name: format!("{link} | {ip} | {transport}"),
                    bytes: ethernet(&behind(link, &packet)),
                    is_tunnelled: false,
                });
            }
        }
    }
    for tunnel in TUNNELS {
        for inner_link in LINKS {
            for (transport, bytes) in transports() {
                for (inner_ip, inner) in packets(&bytes, INNER4, 2) {
                    let Some(payload) = tunnelled(tunnel, inner_link, &inner) else {
                        continue;
                    };
                    for (ip, packet) in packets(&payload, OUTER4, 1) {
                        // Each link header once for each tunnel, so that the number of frames stays small.
                        let at = frames.len() % LINKS.len();
                        let link = LINKS[at];
                        frames.push(Frame {
                            name: format!(
                                "{link} | {ip} | {tunnel} | {inner_link} | {inner_ip} | {transport}"
                            ),
                            bytes: ethernet(&behind(link, &packet)),
                            is_tunnelled: true,
                        });
                    }
                }
            }
        }
    }
    frames
}
