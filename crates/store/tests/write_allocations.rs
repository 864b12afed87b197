//! Writing packets allocates nothing.

use crate::write_support::*;
use tapline_store::model::{Direction, Packet};
use tapline_store::write::{CaptureFile, Compression, Format};

#[test]
fn packets_and_full_buffers_allocate_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let zstd = Compression::Zstd { level: 1 };
    for format in [Format::Pcapng, Format::PcapMicros, Format::PcapNanos] {
        for compression in [Compression::None, zstd] {
            let mut options = options(&folder.path().join("file"));
            options.format = format;
            options.compression = compression;
            options.buffer_bytes = 64 << 10;
            let mut file = CaptureFile::create(options, 0).unwrap();
            // The compressor makes its tables with the first full buffers.
            write_frames(&mut file, QUARTER_PAST, 2000, 96);
            let bytes = frame(1, 96);
            let packet = Packet {
                direction: Some(Direction::In),
                queue: Some(1),
                ..Packet::new(QUARTER_PAST, &bytes)
            };
            let counted = allocation_counter::measure(|| {
                for _ in 0..10_000 {
                    file.write(&packet).unwrap();
                }
            });
            assert_eq!(counted.count_total, 0, "{format:?} {compression:?}");
            assert_eq!(file.packets_accepted(), 12_000);
        }
    }
}
