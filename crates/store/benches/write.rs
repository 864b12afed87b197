//! What a packet costs on its way into a file.
//!
//! `cargo bench -p tapline-store --bench write [FOLDER]` writes 96-byte packets with direction and
//! queue to a stream that takes everything (the encoder alone) and to a file in FOLDER
//! (default `/dev/shm`), five rounds each, and prints nanoseconds per packet: least and most.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use tapline_store::model::{Direction, Interface, LinkType, Packet};
use tapline_store::write::{CaptureFile, CaptureFileOptions, Compression, Format, Output};

const PACKETS: u64 = 3_000_000;
const ROUNDS: usize = 5;

fn options(output: Output, buffer_bytes: usize) -> CaptureFileOptions {
    let mut options = CaptureFileOptions::new(output, vec![Interface::new(LinkType::ETHERNET, 96)]);
    options.buffer_bytes = buffer_bytes;
    options
}

fn nothing() -> Output {
    Output::Stream {
        writer: Box::new(std::io::sink()),
        name: "nothing".into(),
    }
}

/// Nanoseconds per packet.
fn round(options: CaptureFileOptions, packet: Packet<'_>) -> f64 {
    let mut file = CaptureFile::create(options, 0).expect("a file");
    let begin = Instant::now();
    for number in 0..PACKETS {
        let timestamp_ns = Some(1_795_245_300_000_000_000 + number);
        file.write(black_box(&Packet {
            timestamp_ns,
            ..packet
        }))
        .expect("a packet is written");
    }
    file.close(&[]).expect("the file is closed");
    begin.elapsed().as_nanos() as f64 / PACKETS as f64
}

fn measure(what: &str, packet: Packet<'_>, options: impl Fn() -> CaptureFileOptions) {
    let rounds: Vec<f64> = (0..ROUNDS).map(|_| round(options(), packet)).collect();
    let least = rounds.iter().copied().fold(f64::MAX, f64::min);
    let most = rounds.iter().copied().fold(0.0, f64::max);
    println!("{what:<44} {least:6.1} .. {most:6.1} ns");
}

fn main() {
    let argument = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    let folder = PathBuf::from(argument.unwrap_or_else(|| "/dev/shm".into()));
    let path = folder.join(format!("tapline-bench-{}.pcapng", std::process::id()));
    let bytes: Vec<u8> = (0..96).collect();
    let plain = Packet {
        original_len: 128,
        ..Packet::new(0, &bytes)
    };
    let packet = Packet {
        direction: Some(Direction::In),
        queue: Some(1),
        ..plain
    };
    let large_bytes: Vec<u8> = (0..=u8::MAX).cycle().take(1514).collect();
    let large = Packet {
        bytes: &large_bytes,
        ..packet
    };

    measure("pcapng, no options, to nothing", plain, || {
        options(nothing(), 1 << 20)
    });
    for kib in [64, 256, 1024] {
        measure(&format!("pcapng, {kib} KiB, to nothing"), packet, || {
            options(nothing(), kib << 10)
        });
        measure(
            &format!("pcapng, {kib} KiB, to {}", folder.display()),
            packet,
            || options(Output::Path(path.clone()), kib << 10),
        );
    }
    measure("pcap ns, to nothing", packet, || {
        let mut options = options(nothing(), 1 << 20);
        options.format = Format::PcapNanos;
        options
    });
    measure("pcapng, 1514 bytes, snaplen 0, to nothing", large, || {
        let mut options = options(nothing(), 1 << 20);
        options.interfaces[0].snaplen = 0;
        options
    });
    measure("pcapng, zstd 1, to nothing", packet, || {
        let mut options = options(nothing(), 1 << 20);
        options.compression = Compression::Zstd { level: 1 };
        options
    });
    // The bench's own file; nobody else is to have it.
    let _ = std::fs::remove_file(path);
}
