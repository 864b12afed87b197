//! Rotation: which packet goes to which file, the names of the files, and which are kept.

use std::ffi::OsStr;
use std::io::Write;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::read_support::{Seen, other_reader};
use crate::write_support::*;
use tapline_store::model::{Packet, Statistics};
use tapline_store::write::{
    CaptureFile, CaptureFileOptions, Compression, Format, Output, Rotation, WriteError,
};

const SECOND: u64 = 1_000_000_000;

/// Options with the given rotation for `capture.pcapng` in `folder`, and two interfaces.
fn rotated(folder: &Path, rotation: Rotation) -> CaptureFileOptions {
    let mut options = options(&folder.join("capture.pcapng"));
    options.interfaces.push(ethernet());
    options.rotation = rotation;
    options.statistics = Box::new(|| vec![statistics(0), statistics(1)]);
    options
}

fn bytes(count: u64) -> Rotation {
    Rotation {
        bytes: NonZeroU64::new(count),
        ..Rotation::default()
    }
}

fn interval(ns: u64) -> Rotation {
    Rotation {
        interval_ns: NonZeroU64::new(ns),
        ..Rotation::default()
    }
}

fn packets(count: u64) -> Rotation {
    Rotation {
        packets: NonZeroU64::new(count),
        ..Rotation::default()
    }
}

/// Writes a packet of 60 octets at each of `seconds` after [`QUARTER_PAST`].
fn write_at(file: &mut CaptureFile, seconds: &[u64]) {
    for &second in seconds {
        let bytes = frame(second, 60);
        file.write(&Packet::new(QUARTER_PAST + second * SECOND, &bytes))
            .unwrap();
    }
}

/// The seconds after [`QUARTER_PAST`] of each packet, by file.
fn seconds(files: &[PathBuf]) -> Vec<Vec<u64>> {
    let second = |packet: Seen| (packet.time_ns.unwrap() - QUARTER_PAST) / SECOND;
    let of_file = |file: &PathBuf| other_reader(file).unwrap().into_iter().map(second);
    files.iter().map(|file| of_file(file).collect()).collect()
}

/// Local time as `date` prints it.
fn date(seconds: u64) -> String {
    run("date", [format!("-d@{seconds}"), "+%Y%m%d%H%M%S".into()])
        .trim()
        .to_owned()
}

/// The files on disk. Checks that each is complete and that the writer lists the same files.
fn complete_files(folder: &Path, file: &CaptureFile) -> Vec<PathBuf> {
    let files = listed(folder);
    let listed: Vec<&Path> = file.files().map(|made| made.path.as_path()).collect();
    assert_eq!(files, listed);
    // A file of all sections: tshark takes long to start.
    let mut sections = tempfile::NamedTempFile::new().unwrap();
    for made in file.files() {
        assert_eq!(count(&made.path), made.packets);
        assert_eq!(std::fs::metadata(&made.path).unwrap().len(), made.bytes);
        sections
            .write_all(&std::fs::read(&made.path).unwrap())
            .unwrap();
    }
    let text = structure(sections.path());
    let of_files: Vec<&str> = text.split("Block: Section Header Block").skip(1).collect();
    assert_eq!(of_files.len(), files.len(), "{text}");
    for text in of_files {
        let blocks = |kind: &str| text.matches(&format!("Block: {kind} Block")).count();
        assert_eq!(blocks("Interface Description"), 2, "{text}");
        assert_eq!(blocks("Interface Statistics"), 2, "{text}");
    }
    let total =
        |of: fn(&tapline_store::write::CreatedFile) -> u64| file.files().map(of).sum::<u64>();
    assert_eq!(
        total(|made| made.packets) + file.removed().packets,
        file.packets_written()
    );
    assert_eq!(
        total(|made| made.bytes) + file.removed().bytes,
        file.bytes_written()
    );
    files
}

fn close(mut file: CaptureFile) -> CaptureFile {
    file.close(&[statistics(0), statistics(1)]).unwrap();
    file
}

#[test]
fn a_file_holds_the_packets_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let options = rotated(folder.path(), packets(3));
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_at(&mut file, &[0, 1, 2, 3, 4, 5, 6]);
    let file = close(file);
    let files = complete_files(folder.path(), &file);
    assert_eq!(seconds(&files), [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    let start = QUARTER_PAST / SECOND;
    let names: Vec<String> = files.iter().map(|file| name(file)).collect();
    let expected =
        |number: u64, second: u64| format!("capture_{number:05}_{}.pcapng", date(start + second));
    assert_eq!(names, [expected(1, 0), expected(2, 3), expected(3, 6)]);
}

#[test]
fn no_file_is_larger_than_it_may_be_and_none_is_much_smaller() {
    let folder = tempfile::tempdir().unwrap();
    let options = rotated(folder.path(), bytes(5000));
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_frames(&mut file, QUARTER_PAST, 200, 60);
    let mut comment_free = statistics(0);
    comment_free.comment = None;
    file.close(&[
        comment_free.clone(),
        Statistics {
            interface: 1,
            ..comment_free
        },
    ])
    .unwrap();
    complete_files(folder.path(), &file);
    let sizes: Vec<u64> = file.files().map(|made| made.bytes).collect();
    let comments = 2 * 24;
    for size in &sizes[..sizes.len() - 1] {
        assert!((5000 - 92..=5000 + comments).contains(size), "{sizes:?}");
    }
    assert_eq!(file.packets_written(), 200);
}

#[test]
fn a_file_holds_one_packet_however_small_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let options = rotated(folder.path(), bytes(1));
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_at(&mut file, &[0, 1, 2]);
    let file = close(file);
    assert_eq!(
        seconds(&complete_files(folder.path(), &file)),
        [[0], [1], [2]]
    );
}

#[test]
fn files_change_where_the_clock_does() {
    let folder = tempfile::tempdir().unwrap();
    let options = rotated(folder.path(), interval(10 * SECOND));
    let mut file = CaptureFile::create(options, QUARTER_PAST + 7 * SECOND).unwrap();
    // The late packet at 9 stays in the file of 10; 35 skips two intervals.
    write_at(&mut file, &[7, 9, 10, 9, 19, 35, 39]);
    let file = close(file);
    let files = complete_files(folder.path(), &file);
    assert_eq!(seconds(&files), [vec![7, 9], vec![10, 9, 19], vec![35, 39]]);
    let start = QUARTER_PAST / SECOND;
    for (file, second) in files.iter().zip([7, 10, 30]) {
        assert!(name(file).contains(&date(start + second)), "{file:?}");
    }
}

#[test]
fn a_tick_ends_an_idle_files_interval() {
    let folder = tempfile::tempdir().unwrap();
    let options = rotated(folder.path(), interval(10 * SECOND));
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_at(&mut file, &[5]);
    file.tick(QUARTER_PAST + 9 * SECOND).unwrap();
    assert_eq!(file.files().len(), 1);
    file.tick(QUARTER_PAST + 10 * SECOND).unwrap();
    assert_eq!(file.files().len(), 2);
    // The first is complete on disk while the second is being written.
    let first = file.files().next().unwrap().clone();
    assert_eq!((first.packets, count(&first.path)), (1, 1));
    file.tick(QUARTER_PAST + 11 * SECOND).unwrap();
    write_at(&mut file, &[12]);
    let file = close(file);
    assert_eq!(seconds(&complete_files(folder.path(), &file)), [[5], [12]]);
}

#[test]
fn rules_work_together() {
    let folder = tempfile::tempdir().unwrap();
    let rules = Rotation {
        packets: NonZeroU64::new(3),
        ..interval(10 * SECOND)
    };
    let rules = Rotation {
        bytes: NonZeroU64::new(1000),
        ..rules
    };
    let mut options = rotated(folder.path(), rules);
    options.interfaces[0].description = Some("x".repeat(100));
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_at(&mut file, &[0, 1, 2, 3, 11, 12]);
    let large = frame(13, 600);
    file.write(&Packet::new(QUARTER_PAST + 13 * SECOND, &large))
        .unwrap();
    let file = close(file);
    let files = complete_files(folder.path(), &file);
    assert_eq!(
        seconds(&files),
        [vec![0, 1, 2], vec![3], vec![11, 12], vec![13]]
    );
}

#[test]
fn only_so_many_files_are_kept_and_no_others_are_touched() {
    let folder = tempfile::tempdir().unwrap();
    let stranger = folder.path().join("capture_00000_20000101000000.pcapng");
    std::fs::write(&stranger, "not ours").unwrap();
    let rules = Rotation {
        keep: NonZeroUsize::new(2),
        ..packets(1)
    };
    let options = rotated(folder.path(), rules);
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_at(&mut file, &[0, 1, 2]);
    assert_eq!(listed(folder.path()).len(), 3);
    // A file that somebody took away is no reason to stop.
    std::fs::remove_file(&file.files().next().unwrap().path).unwrap();
    write_at(&mut file, &[3, 4]);
    let file = close(file);
    std::fs::remove_file(&stranger).unwrap();
    assert_eq!(seconds(&complete_files(folder.path(), &file)), [[3], [4]]);
    assert_eq!((file.removed().files, file.removed().packets), (3, 3));
    assert_eq!(file.packets_written(), 5);
}

#[test]
fn a_file_that_cannot_be_removed_is_named_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let rules = Rotation {
        keep: NonZeroUsize::new(1),
        ..packets(1)
    };
    let mut file = CaptureFile::create(rotated(folder.path(), rules), QUARTER_PAST).unwrap();
    write_at(&mut file, &[0]);
    let first = file.files().next().unwrap().path.clone();
    // A folder in the file's place cannot be unlinked.
    std::fs::rename(&first, folder.path().join("moved")).unwrap();
    std::fs::create_dir(&first).unwrap();
    let bytes = frame(1, 60);
    let packet = Packet::new(QUARTER_PAST + SECOND, &bytes);
    let failure = file.write(&packet).unwrap_err();
    assert!(matches!(failure, WriteError::Remove { file, .. } if file == first));
    file.write(&packet).unwrap();
    file.close(&[]).unwrap();
    assert_eq!((file.packets_accepted(), file.packets_written()), (2, 2));
    assert_eq!(count(&file.files().next_back().unwrap().path), 1);
}

#[test]
fn the_next_file_is_tried_again_where_it_could_not_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, away) = (folder.path().join("inside"), folder.path().join("away"));
    std::fs::create_dir(&inside).unwrap();
    let mut file = CaptureFile::create(rotated(&inside, packets(1)), QUARTER_PAST).unwrap();
    write_at(&mut file, &[0]);
    std::fs::rename(&inside, &away).unwrap();
    let bytes = frame(1, 60);
    let packet = Packet::new(QUARTER_PAST + SECOND, &bytes);
    assert!(matches!(
        file.write(&packet).unwrap_err(),
        WriteError::Create { .. }
    ));
    assert!(matches!(
        file.write(&packet).unwrap_err(),
        WriteError::Create { .. }
    ));
    std::fs::rename(&away, &inside).unwrap();
    file.write(&packet).unwrap();
    let file = close(file);
    assert_eq!(seconds(&complete_files(&inside, &file)), [[0], [1]]);
}

#[test]
fn an_interface_added_later_begins_every_later_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = rotated(folder.path(), packets(2));
    options.interfaces.pop();
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_at(&mut file, &[0]);
    assert_eq!(file.add_interface(ethernet()).unwrap(), 1);
    write_at(&mut file, &[1, 2]);
    let file = close(file);
    assert_eq!(
        seconds(&complete_files(folder.path(), &file)),
        [vec![0, 1], vec![2]]
    );
}

#[test]
fn each_file_has_the_statistics_of_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = rotated(folder.path(), packets(1));
    let received = Arc::new(AtomicU64::new(7001));
    let shared = Arc::clone(&received);
    options.statistics = Box::new(move || {
        let received = Some(shared.fetch_add(1, Ordering::Relaxed));
        vec![Statistics {
            received,
            ..Statistics::default()
        }]
    });
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_at(&mut file, &[0, 1, 2]);
    file.close(&[Statistics {
        received: Some(7003),
        ..Statistics::default()
    }])
    .unwrap();
    for (made, received) in file.files().zip(7001..) {
        let expected = format!("Number of Received Packets = {received}");
        assert!(structure(&made.path).contains(&expected));
    }
    assert_eq!(file.files().len(), 3);
}

#[test]
fn pcap_and_compressed_files_rotate_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = rotated(folder.path(), packets(2));
    options.output = Output::Path(folder.path().join("capture.pcap"));
    options.format = Format::PcapNanos;
    options.compression = Compression::Zstd { level: 1 };
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_at(&mut file, &[0, 1, 2]);
    file.close(&[statistics(0)]).unwrap();
    let files = listed(folder.path());
    assert_eq!(files.len(), 2);
    assert_eq!(
        file.bytes_written(),
        files.iter().map(|f| f.metadata().unwrap().len()).sum()
    );
    for (file, expected) in files.iter().zip([2, 1]) {
        assert!(name(file).ends_with(".pcap.zst"));
        run("zstd", [OsStr::new("-dq"), file.as_os_str()]);
        assert_eq!(count(&file.with_extension("")), expected);
    }
}

#[test]
fn a_compressed_file_changes_when_it_is_large_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = rotated(folder.path(), bytes(3000));
    options.compression = Compression::Zstd { level: 1 };
    options.buffer_bytes = 16 << 10;
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_frames(&mut file, QUARTER_PAST, 2000, 60);
    let file = close(file);
    let sizes: Vec<u64> = file.files().map(|made| made.bytes).collect();
    assert!(sizes.len() > 2, "{sizes:?}");
    for &size in &sizes[..sizes.len() - 1] {
        // The limit is reached, and exceeded by no more than a frame and the statistics.
        assert!((3000..3000 + (16 << 10)).contains(&size), "{sizes:?}");
    }
    assert_eq!(file.packets_written(), 2000);
}

#[test]
fn a_stream_cannot_rotate() {
    let mut options = options(Path::new("unused"));
    options.output = Output::Stream {
        writer: Box::new(std::io::sink()),
        name: "sink".into(),
    };
    options.rotation = packets(1);
    assert!(matches!(
        CaptureFile::create(options, 0),
        Err(WriteError::CannotRotate)
    ));
}
