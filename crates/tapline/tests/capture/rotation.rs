//! A capture into rotating files: each file is complete and has the statistics so far.

use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use store::model::{Direction, Statistics};
use store::read::{Item, Reader};
use store::write::{Output, Rotation};
use tapline::capture::Ended;

use crate::support::{
    BACKENDS, Pair, assert_account, concatenated, file_consumer, number, options, packet_count,
    run_open, tshark,
};

/// The first words of the frames' payloads, as tshark reads them from a file.
fn numbers_by_tshark(path: &Path) -> Vec<u32> {
    let payloads = tshark(path, "data.data");
    let numbers = payloads
        .iter()
        .map(|payload| u32::from_str_radix(&payload[..8], 16).unwrap());
    numbers.collect()
}

/// The packet numbers of a file, and the statistics after them.
fn contents(path: &Path) -> (Vec<u32>, Vec<Statistics>) {
    let (mut numbers, mut statistics) = (Vec::new(), Vec::new());
    let mut reader = Reader::open(path).unwrap();
    while let Some(item) = reader.next_item().unwrap() {
        match item {
            Item::Packet(packet) => {
                assert!(statistics.is_empty(), "statistics end the file");
                assert_eq!(packet.direction, Some(Direction::In));
                numbers.push(number(packet.bytes));
            }
            Item::Statistics {
                statistics: one, ..
            } => statistics.push(one.clone()),
            _ => {}
        }
    }
    (numbers, statistics)
}

#[test]
fn each_file_of_a_rotation_is_whole_and_ends_with_the_account_so_far() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let folder = tempfile::tempdir().unwrap();
        let capture = pair.open(options(&pair.right, backend));
        let output = Output::Path(folder.path().join("capture.pcapng"));
        let mut consumer = file_consumer(&capture, output, Duration::from_secs(1), |file| {
            file.rotation = Rotation {
                packets: NonZeroU64::new(300),
                ..Rotation::default()
            };
        });
        let (outcome, ()) = run_open(capture, &mut consumer, |stopper| {
            pair.send(0, 1000);
            pair.until(1000);
            stopper.stop();
        });
        assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
        assert_account(&outcome.account, 1000, 0, 0);
        assert_eq!(consumer.packets_written(), 1000);

        let paths = consumer.paths();
        assert_eq!(paths.len(), 4);
        assert_eq!(consumer.files().len(), 4);
        let all = concatenated(&paths);
        assert_eq!(
            numbers_by_tshark(all.path()),
            (0..1000_u32).collect::<Vec<_>>()
        );
        for (part, path) in (0..).zip(&paths) {
            let expected: Vec<u32> = (part * 300..1000.min(part * 300 + 300)).collect();
            assert_eq!(packet_count(path), expected.len() as u64);
            let (numbers, statistics) = contents(path);
            assert_eq!(numbers, expected);
            let [statistics] = &statistics[..] else {
                panic!("{statistics:?}")
            };
            let so_far = numbers.last().map(|&last| u64::from(last) + 1);
            assert_eq!((statistics.interface, statistics.delivered), (0, so_far));
            assert_eq!(statistics.os_dropped, Some(0));
            assert!(statistics.start_ns <= statistics.end_ns);
        }
        let (_, last) = contents(&paths[3]);
        let counted = (
            last[0].received,
            last[0].filter_accepted,
            last[0].interface_dropped,
        );
        assert_eq!(counted, (Some(1000), Some(1000), Some(0)));
    }
}
