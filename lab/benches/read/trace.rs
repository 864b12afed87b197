//! The capture that is read: known packets, the same in every run.

use std::net::Ipv4Addr;
use std::path::Path;

use store::model::{Interface, LinkType, Packet};
use store::write::{CaptureFile, CaptureFileOptions, Output, WriteError};

/// Bytes of a packet, in the order small, middle, large, and how often of a hundred each is.
const SIZES: [(usize, u32); 3] = [(66, 42), (300, 30), (1434, 28)];

/// The longest frame.
const MOST_BYTES: usize = 1434;

/// Ethernet, IPv4 without options, and the first words of TCP or UDP.
const HEADER_BYTES: usize = 14 + 20 + 20;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A kind of traffic and how often of a thousand it is.
struct Kind {
    share: u32,
    protocol: u8,
    port: u16,
    server: Ipv4Addr,
}

const fn kind(share: u32, protocol: u8, port: u16, last: u8) -> Kind {
    Kind {
        share,
        protocol,
        port,
        server: Ipv4Addr::new(198, 51, 100, last),
    }
}

/// The shares are those that the filters of the table select.
const KINDS: [Kind; 6] = [
    kind(1, TCP, 22, 1),
    kind(20, UDP, 53, 2),
    kind(500, TCP, 443, 3),
    kind(279, TCP, 80, 4),
    kind(100, UDP, 4500, 5),
    kind(100, TCP, 8443, 6),
];

/// Writes `packets` packets to `path`, 10 µs apart; gives the bytes of the file.
pub fn write(path: &Path, packets: u64) -> Result<u64, WriteError> {
    let interface = Interface::new(LinkType::ETHERNET, 262_144);
    let mut options = CaptureFileOptions::new(Output::Path(path.to_owned()), vec![interface]);
    options.buffer_bytes = 1 << 20;
    let mut file = CaptureFile::create(options, 0)?;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut frame = [0; MOST_BYTES];
    for number in 0..packets {
        random = next(random);
        let kind = chosen(&KINDS, (random >> 8) as u32 % 1000, |kind| kind.share);
        let &(bytes, _) = chosen(&SIZES, (random >> 32) as u32 % 100, |size| size.1);
        fill(&mut frame, kind, bytes, random);
        let time_ns = 1_700_000_000_000_000_000 + number * 10_000;
        file.write(&Packet::new(time_ns, &frame[..bytes]))?;
    }
    file.close(&[])?;
    Ok(file.bytes_written())
}

/// xorshift64, Marsaglia 2003.
fn next(mut random: u64) -> u64 {
    random ^= random << 13;
    random ^= random >> 7;
    random ^ random << 17
}

/// The one of `choices` that `place` falls on when each takes as much room as its share.
fn chosen<T>(choices: &[T], mut place: u32, share: impl Fn(&T) -> u32) -> &T {
    for choice in choices {
        if place < share(choice) {
            return choice;
        }
        place -= share(choice);
    }
    &choices[choices.len() - 1]
}

/// Headers of a frame of `bytes`, to or from the server; the payload stays as it is.
fn fill(frame: &mut [u8; MOST_BYTES], kind: &Kind, bytes: usize, random: u64) {
    let [a, b, c, d, flag, ..] = random.to_le_bytes();
    let client = Ipv4Addr::new(10, a, b, c);
    let (source, target) = if flag & 1 == 0 {
        (client, kind.server)
    } else {
        (kind.server, client)
    };
    let client_port = 32_768 | u16::from_le_bytes([c, d]);
    let ports = if flag & 1 == 0 {
        [client_port, kind.port]
    } else {
        [kind.port, client_port]
    };
    let header = &mut frame[..HEADER_BYTES];
    header.fill(0);
    header[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    header[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
    header[12..14].copy_from_slice(&[8, 0]);
    header[14] = 0x45;
    header[16..18].copy_from_slice(&((bytes - 14) as u16).to_be_bytes());
    header[22] = 64;
    header[23] = kind.protocol;
    header[26..30].copy_from_slice(&source.octets());
    header[30..34].copy_from_slice(&target.octets());
    header[34..38].copy_from_slice(ports.map(u16::to_be_bytes).as_flattened());
    if kind.protocol == TCP {
        header[46..48].copy_from_slice(&[0x50, 0x10]);
    } else {
        header[38..40].copy_from_slice(&((bytes - 34) as u16).to_be_bytes());
    }
}
