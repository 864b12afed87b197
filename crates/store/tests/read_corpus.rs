//! Reads every file of the corpus and compares with editcap, tcpdump and tshark.

use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::read_support::{corpus, made, other_reader, read_all, stream, tshark};
use tapline_store::read::Reader;

/// Calls `check` for each file, on two threads.
fn for_each_file(check: impl Fn(&Path) + Sync) {
    let files = [corpus(), made()].concat();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            check(file);
        }
    };
    std::thread::scope(|scope| {
        for thread in [scope.spawn(work), scope.spawn(work)] {
            thread.join().expect("the thread's own assertion");
        }
    });
}

#[test]
fn every_file_reads_as_other_readers_read_it() {
    let packets = Mutex::new(0);
    for_each_file(|path| {
        if is_mixed(path) {
            return;
        }
        let ours = read_all(Reader::open(path));
        let Some(mut theirs) = other_reader(path) else {
            assert!(ours.error.is_some(), "{path:?}: only we read it");
            return;
        };
        *packets.lock().expect("lock") += theirs.len();
        assert_eq!(ours.error, None, "{path:?}");
        assert_eq!(ours.packets.len(), theirs.len(), "{path:?}");
        for (number, (ours, theirs)) in ours.packets.iter().zip(&mut theirs).enumerate() {
            // pcap has 32 bits for the seconds; writers truncate them.
            let era = ours.time_ns.expect("time") / (1_000_000_000 << 32);
            theirs.time_ns = theirs
                .time_ns
                .map(|time| time + era * (1_000_000_000 << 32));
            // Of more microseconds than a second has editcap keeps the nanoseconds modulo 2^32.
            if path.ends_with("timestamp_invalid_micro.pcap") {
                let difference = ours.time_ns.expect("time") - theirs.time_ns.expect("time");
                assert_eq!(difference % (1 << 32), 0, "{path:?} packet {number}");
                theirs.time_ns = ours.time_ns;
            }
            assert_eq!(ours, theirs, "{path:?} packet {number}");
        }
    });
    assert!(
        *packets.lock().expect("lock") > 3000,
        "the other readers did read"
    );
}

/// Files with packets of several link types, which pcap does not support.
fn is_mixed(path: &Path) -> bool {
    made().iter().any(|made| made == path) && path.to_string_lossy().contains(".pcapng")
}

#[test]
fn pcapng_is_read_as_tshark_reads_it() {
    for_each_file(|path| {
        if path.to_string_lossy().contains(".pcapng") {
            let told = read_all(Reader::open(path));
            let ours = told.packets.iter().map(|packet| {
                let time = packet.time_ns.map(i128::from);
                (packet.original_len, packet.bytes.len() as u32, time)
            });
            assert_eq!(
                (ours.collect(), told.error.is_none()),
                tshark(path),
                "{path:?}"
            );
        }
    });
}

#[test]
fn mapping_memory_stream_and_compression_give_the_same() {
    for_each_file(|path| {
        let bytes = std::fs::read(path).expect("read");
        let mapped = read_all(Reader::open(path));
        assert_eq!(
            mapped,
            read_all(Reader::from_bytes(bytes.clone())),
            "{path:?}"
        );
        for chunk in [7, 4096, usize::MAX] {
            assert_eq!(
                mapped,
                read_all(stream(&bytes, chunk)),
                "{path:?} by {chunk}"
            );
        }
        // Only one layer of compression is taken off.
        if path
            .extension()
            .is_some_and(|extension| extension == "gz" || extension == "zst")
        {
            return;
        }
        let (left, right) = bytes.split_at(bytes.len() / 3);
        for compress in [gzip, zstd_frame] {
            // Two members or frames, joined within a packet.
            let joined = [compress(left), compress(right)].concat();
            assert_eq!(
                mapped,
                read_all(Reader::from_bytes(joined.clone())),
                "{path:?}"
            );
            assert_eq!(mapped, read_all(stream(&joined, 1000)), "{path:?}");
        }
    });
}

#[test]
fn compressed_files_are_read_by_path() {
    let path = corpus()
        .into_iter()
        .find(|path| path.ends_with("dcb_pfc.pcap"))
        .expect("file");
    let plain = read_all(Reader::open(&path));
    assert!(!plain.packets.is_empty());
    for tool in ["gzip", "zstd"] {
        let output = std::process::Command::new(tool)
            .arg("-c")
            .arg(&path)
            .output()
            .expect(tool);
        let mut file = tempfile::NamedTempFile::new().expect("file");
        file.write_all(&output.stdout).expect("write");
        assert_eq!(plain, read_all(Reader::open(file.path())), "{tool}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("write");
    encoder.finish().expect("finish")
}

fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("encode")
}
