//! Memory allocations of the readers.

use crate::read_support::build::{LITTLE, frame};
use crate::read_support::stream;
use tapline_store::read::Reader;

fn pcapng(packets: u64) -> Vec<u8> {
    let start = [LITTLE.section(&[]), LITTLE.interface(1, 0, &[])].concat();
    let options = [
        LITTLE.option(2, &LITTLE.u32(1)),
        LITTLE.option(6, &LITTLE.u32(3)),
    ]
    .concat();
    let packet = |ticks| LITTLE.enhanced(0, ticks, &frame(1), &options);
    [start, (0..packets).flat_map(packet).collect()].concat()
}

fn pcap(packets: u32) -> Vec<u8> {
    let record = |number| LITTLE.record((number, 0), (60, 60), &frame(1));
    let records: Vec<u8> = (0..packets).flat_map(record).collect();
    [LITTLE.pcap_header(0xa1b2_c3d4, (2, 4), 1), records].concat()
}

#[test]
fn no_packet_costs_an_allocation() {
    for bytes in [pcapng(20_000), pcap(20_000)] {
        let readers = [Reader::from_bytes(bytes.clone()), stream(&bytes, 64 << 10)];
        for mut reader in readers.map(|reader| reader.expect("a capture")) {
            reader.next_packet().expect("read").expect("first");
            let mut packets = 1;
            let used = allocation_counter::measure(|| {
                while reader.next_packet().expect("read").is_some() {
                    packets += 1;
                }
            });
            assert_eq!((packets, used.count_total), (20_000, 0));
        }
    }
}

#[test]
fn a_length_without_bytes_allocates_nothing() {
    let mut bytes = pcapng(1);
    bytes.extend(LITTLE.words(&[6, 128 << 20, 0]));
    let used = allocation_counter::measure(|| {
        let mut reader = stream(&bytes, 100).expect("a capture");
        reader.next_packet().expect("read").expect("first");
        reader.next_packet().expect_err("truncated");
    });
    assert!(used.bytes_max < 300 << 10, "{}", used.bytes_max);
}
