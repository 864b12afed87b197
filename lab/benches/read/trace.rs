//! The capture file to read: known packets, the same in every run.

use std::net::Ipv4Addr;
use std::path::Path;

use store::model::{Interface, LinkType, Packet};
use store::write::{CaptureFile, CaptureFileOptions, Output, WriteError};
use wire::protocol::ip::{TCP, UDP};

use crate::harness::Flow;

/// Bytes per packet (small, medium, large), and the share of each in percent.
const SIZES: [(usize, u32); 3] = [(66, 42), (300, 30), (1434, 28)];

/// Few enough that the table of connections in which tcpdump counts relative sequence numbers (919 chains) is not what
/// the printing is measured by: with a new connection in each packet it takes minutes.
const CLIENTS: u16 = 1000;

/// A kind of traffic and its share in a thousand packets.
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

/// The filters of the table select these shares.
const KINDS: [Kind; 6] = [
    kind(1, TCP, 22, 1),
    kind(20, UDP, 53, 2),
    kind(500, TCP, 443, 3),
    kind(279, TCP, 80, 4),
    kind(100, UDP, 4500, 5),
    kind(100, TCP, 8443, 6),
];

/// Writes `packets` packets to `path`, 10 µs apart. Returns the size of the file.
pub fn write(path: &Path, packets: u64) -> Result<u64, WriteError> {
    let interface = Interface::new(LinkType::ETHERNET, 262_144);
    let mut options = CaptureFileOptions::new(Output::Path(path.to_owned()), vec![interface]);
    options.buffer_bytes = 1 << 20;
    let mut file = CaptureFile::create(options, 0)?;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for number in 0..packets {
        random = next(random);
        let kind = chosen(&KINDS, (random >> 8) as u32 % 1000, |kind| kind.share);
        let &(bytes, _) = chosen(&SIZES, (random >> 32) as u32 % 100, |size| size.1);
        let time_ns = 1_700_000_000_000_000_000 + number * 10_000;
        file.write(&Packet::new(time_ns, &flow(kind, random).frame(bytes)))?;
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

/// Selects one of `choices` by `place`, weighted by `share`.
fn chosen<T>(choices: &[T], mut place: u32, share: impl Fn(&T) -> u32) -> &T {
    for choice in choices {
        if place < share(choice) {
            return choice;
        }
        place -= share(choice);
    }
    &choices[choices.len() - 1]
}

/// Packets to or from the server, of one of [`CLIENTS`] clients with one connection to each server.
fn flow(kind: &Kind, random: u64) -> Flow {
    let [a, b, _, _, flag, ..] = random.to_le_bytes();
    let number = u16::from_le_bytes([a, b]) % CLIENTS;
    let [high, low] = number.to_be_bytes();
    let client = Ipv4Addr::new(10, 0, high, low);
    let client_port = 32_768 | number;
    if flag & 1 == 0 {
        Flow::new(
            kind.protocol,
            [client, kind.server],
            [client_port, kind.port],
        )
    } else {
        Flow::new(
            kind.protocol,
            [kind.server, client],
            [kind.port, client_port],
        )
    }
}
