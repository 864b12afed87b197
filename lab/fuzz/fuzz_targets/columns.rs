#![no_main]

use columns::{PacketRow, PacketRows, Rows};

// Packets with any bytes, in columns: each is a row.
//
// A packet is: link type, length (1 byte), bytes.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut rows = PacketRows::default();
    let (mut rest, mut count) = (bytes, 0);
    while let Some((&[kind, len], behind)) = rest.split_first_chunk::<2>() {
        let (packet, behind) = behind.split_at(behind.len().min(usize::from(len)));
        rest = behind;
        let link_type = [1, 1, 1, 101, 113, 228, 229, 276, 0, 9, 104, 12][usize::from(kind) % 12];
        rows.add(&PacketRow {
            time_ns: Some(u64::from(kind) << 56),
            interface: "",
            direction: None,
            bytes: packet,
            original_bytes: u64::MAX,
            link_type,
            packet_id: None,
        });
        count += 1;
    }
    let batch = rows.take();
    assert_eq!(batch.num_rows(), count);
});
