//! Indexes that grow with the files, compared with indexes of the finished files.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::num::{NonZeroU64, NonZeroUsize};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::write_support::*;
use tapline_store::index::{Index, Key, index_path};
use tapline_store::model::{Interface, LinkType, Packet, Process};
use tapline_store::write::{
    CaptureFile, CaptureFileOptions, Compression, Format, IndexCounts, Output, Rotation, WriteError,
};

/// A UDP datagram of flow `number`, `length` octets in all.
fn datagram(number: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    bytes.extend((length as u16 - 14).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, 17, 0, 0, 10]);
    bytes.extend(&(number as u32).to_be_bytes()[1..]);
    bytes.extend([10, 200, 0, 1]);
    bytes.extend((1024 + number as u16 % 50_000).to_be_bytes());
    bytes.extend([0, 53, 0, 0, 0, 0]);
    bytes.resize(length, number as u8);
    bytes
}

/// Datagrams of 2000 flows; of so many that their keys do not fit if they are short.
fn write_datagrams(file: &mut CaptureFile, numbers: std::ops::Range<u64>, length: usize) {
    let flows = if length < 100 { 20_000 } else { 2000 };
    for number in numbers {
        let bytes = datagram(number % flows, length);
        let packet = Packet::new(QUARTER_PAST + number * 1001, &bytes);
        file.write(&packet).expect("a packet is written");
    }
}

fn indexed(path: &Path) -> CaptureFileOptions {
    CaptureFileOptions {
        index: true,
        ..options(path)
    }
}

/// Whether the index beside the file is the one that reading the file makes.
#[track_caller]
fn assert_complete(path: &Path) {
    let live = fs::read(index_path(path)).expect("an index");
    let built = Index::build(path).expect("a capture");
    assert!(live == built.encode(), "{}", path.display());
    assert_eq!(built.encoded_bytes, live.len() as u64);
    let bytes = fs::metadata(path).expect("the file").len();
    assert_eq!(built.bytes, bytes);
    assert!(live.len() as u64 <= (bytes / 400).max(4096), "{bytes}");
}

/// The index beside the file, which describes its beginning.
#[track_caller]
fn part(path: &Path) -> Index {
    let file = File::open(path).expect("the file");
    let index = Index::of(&file, path).expect("a valid index");
    let index = index.expect("it is there");
    let built = Index::build(path).expect("a capture");
    assert!(built.extents.starts_with(&index.extents));
    assert!(index.bytes <= built.bytes);
    index
}

fn counts(file: &CaptureFile) -> IndexCounts {
    file.indexes().expect("indexes are wanted")
}

#[test]
fn every_format_gets_the_index_that_reading_it_makes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format, length) in [
        ("ng", Format::Pcapng, 1000),
        ("micros", Format::PcapMicros, 1000),
        ("nanos", Format::PcapNanos, 333),
        ("small", Format::Pcapng, 60),
    ] {
        let path = folder.path().join(name);
        let mut options = indexed(&path);
        options.format = format;
        let mut file = CaptureFile::create(options, 0).unwrap();
        let index = index_path(&path);
        assert_eq!(part(&path).bytes, 0, "{name}");
        let count = (9 << 20) / length as u64;
        write_datagrams(&mut file, 0..count, length);
        file.close(&[statistics(0)]).unwrap();
        assert_complete(&path);
        let written = counts(&file);
        assert_eq!((written.complete, written.incomplete), (1, 0));
        assert_eq!(written.bytes, fs::metadata(&index).unwrap().len());
        let index = part(&path);
        let third = index.extents.iter().filter(|extent| extent.packets > 0);
        assert!(third.count() >= 2 || length == 60, "{name}");
    }
}

#[test]
fn those_who_can_read_a_capture_can_read_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    let mut file = CaptureFile::create(options(&path), 0).unwrap();
    write_datagrams(&mut file, 0..10, 100);
    file.close(&[statistics(0)]).unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let umask = lines.find_map(|line| line.strip_prefix("Umask:")).unwrap();
    let umask = u32::from_str_radix(umask.trim(), 8).unwrap();
    let mode_of_index = || {
        let index = fs::metadata(index_path(&path)).unwrap();
        index.permissions().mode() & 0o777
    };
    let own_group = fs::metadata(&path).unwrap().gid();
    let other_group = own_group + 1;
    for (mode, group, expected) in [
        (0o600, own_group, 0o600),
        (0o640, own_group, 0o640 & !umask),
        (0o644, own_group, 0o644 & !umask),
        (0o640, other_group, 0o600),
        (0o644, other_group, 0o644 & !umask),
    ] {
        if chown(&path, None, Some(group)).is_err() {
            println!("skipped: only root gives a file to any group");
            return;
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Index::build(&path).unwrap().write(&path).unwrap();
        assert_eq!(mode_of_index(), expected, "{mode:o} {group}");
        fs::remove_file(index_path(&path)).unwrap();
        let mut file = CaptureFile::create(indexed(&path), 0).unwrap();
        write_datagrams(&mut file, 0..10, 100);
        file.close(&[statistics(0)]).unwrap();
        assert_eq!(mode_of_index(), expected, "live, {mode:o} {group}");
    }
}

#[test]
fn blocks_between_the_packets_are_indexed_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed.pcapng");
    let mut file = CaptureFile::create(indexed(&path), 0).unwrap();
    write_datagrams(&mut file, 0..5000, 1200);
    file.add_interface(Interface::new(LinkType(101), 96))
        .unwrap();
    file.add_process(&Process::new(7)).unwrap();
    let bytes = datagram(3, 200);
    let mut raw = Packet::new(QUARTER_PAST, &bytes[14..]);
    raw.interface = 1;
    file.write(&raw).unwrap();
    file.note("a note", QUARTER_PAST).unwrap();
    let mut untimed = Packet::new(0, &bytes);
    untimed.timestamp_ns = None;
    file.write(&untimed).unwrap();
    write_datagrams(&mut file, 0..5000, 1200);
    let long = vec![0; 300 << 10];
    write_datagrams(&mut file, 0..1, 60);
    file.flush().unwrap();
    // No reader accepts it: the index ends there.
    file.write(&Packet::new(QUARTER_PAST, &long)).unwrap();
    file.flush().unwrap();
    let failed = counts(&file);
    assert_eq!((failed.complete, failed.incomplete), (0, 1));
    assert!(failed.failure.is_some());
    file.close(&[]).unwrap();
    assert_eq!(counts(&file), failed);

    let path = folder.path().join("whole.pcapng");
    let mut file = CaptureFile::create(indexed(&path), 0).unwrap();
    file.add_interface(Interface::new(LinkType(101), 96))
        .unwrap();
    file.write(&raw).unwrap();
    file.write(&untimed).unwrap();
    file.note("a note", QUARTER_PAST).unwrap();
    file.add_process(&Process::new(7)).unwrap();
    file.write(&raw).unwrap();
    file.close(&[statistics(0), statistics(1)]).unwrap();
    assert_complete(&path);
    let client = Key::Address("10.0.0.3".parse().unwrap());
    let server = Key::Address("10.200.0.2".parse().unwrap());
    let with = part(&path).extents;
    let with: Vec<_> = with.iter().filter(|extent| extent.packets > 0).collect();
    assert_eq!(with.len(), 2);
    assert!(with.iter().all(|extent| extent.may_have(client)));
    assert!(!with.iter().any(|extent| extent.may_have(server)));
}

/// More notes than there is room for extents. Those that no extent of their own has are in extents that every reader reads.
#[test]
fn blocks_among_the_packets_do_not_make_an_index_longer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.pcapng");
    let mut file = CaptureFile::create(indexed(&path), 0).unwrap();
    let count = 60_000;
    for number in 0..count {
        write_datagrams(&mut file, number..number + 1, 100);
        file.note("a note", QUARTER_PAST).unwrap();
    }
    file.close(&[statistics(0)]).unwrap();
    assert_complete(&path);
    let mut extents = part(&path).extents;
    extents.retain(|extent| extent.packets > 0);
    let packets = extents.iter().map(|extent| u64::from(extent.packets));
    assert_eq!(packets.sum::<u64>(), count);
    let nobody = Key::Address("192.0.2.1".parse().unwrap());
    let (read, passed): (Vec<_>, Vec<_>) = extents
        .into_iter()
        .partition(|extent| extent.may_have(nobody));
    assert!(passed.iter().all(|extent| extent.packets == 1));
    let most = read.iter().map(|extent| extent.packets).max();
    assert!(passed.len() > 10 && most > Some(1000), "{most:?}");
    let mut noted = read.iter().filter(|extent| extent.packets > 1);
    assert!(noted.all(|extent| extent.times_ns == [0, u64::MAX]));
}

/// The first extent has room for the addresses of its flows alone.
#[test]
fn addresses_of_too_many_flows_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.pcapng");
    let mut file = CaptureFile::create(indexed(&path), 0).unwrap();
    let flows = 45_000;
    for number in 0..400_000 {
        let bytes = datagram(number * 7919 % flows, 60);
        let packet = Packet::new(QUARTER_PAST + number, &bytes);
        file.write(&packet).expect("a packet is written");
    }
    file.close(&[statistics(0)]).unwrap();
    assert_complete(&path);
    let extents = part(&path).extents;
    let first = extents.iter().find(|extent| extent.packets > 0);
    let first = first.expect("an extent with packets");
    assert!(u64::from(first.packets) >= flows);
    let has = |number: u64| {
        let [.., a, b, c] = number.to_be_bytes();
        first.may_have(Key::Address([10, a, b, c].into()))
    };
    assert!((0..flows).all(has));
    assert!(first.may_have(Key::Address([10, 200, 0, 1].into())));
    // Four of these are expected.
    assert!((flows..flows + 1000).filter(|&number| has(number)).count() < 20);
    // None of these ports is there, so the index does without ports.
    assert!((1..4).all(|port| first.may_have(Key::Port(port))));
}

#[test]
fn each_file_of_a_rotation_has_its_index_while_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = indexed(&folder.path().join("capture.pcapng"));
    options.rotation = Rotation {
        packets: NonZeroU64::new(6000),
        keep: NonZeroUsize::new(2),
        ..Rotation::default()
    };
    options.statistics = Box::new(|| vec![statistics(0)]);
    let mut file = CaptureFile::create(options, QUARTER_PAST).unwrap();
    write_datagrams(&mut file, 0..13_000, 1000);
    file.flush().unwrap();
    // The running one is valid up to its last extent.
    let running = file.files().last().unwrap().path.clone();
    let index = part(&running);
    assert!(index.bytes < fs::metadata(&running).unwrap().len());
    write_datagrams(&mut file, 13_000..17_900, 1000);
    file.flush().unwrap();
    let grown = part(&running);
    assert!(grown.bytes > index.bytes && grown.bytes > 4 << 20);
    write_datagrams(&mut file, 17_900..20_000, 1000);
    file.close(&[statistics(0)]).unwrap();
    let kept: Vec<PathBuf> = file.files().map(|made| made.path.clone()).collect();
    assert_eq!(kept.len(), 2);
    let both = |path: &PathBuf| [path.clone(), index_path(path)];
    let expected: Vec<_> = kept.iter().flat_map(both).collect();
    assert_eq!(listed(folder.path()), expected);
    for path in &kept {
        assert_complete(path);
    }
    assert_eq!((counts(&file).complete, counts(&file).incomplete), (4, 0));
}

#[test]
fn an_index_that_cannot_be_written_does_not_end_the_capture() {
    let folder = tempfile::tempdir().unwrap();
    let pattern = folder.path().join("capture.pcapng");
    let rotated = || {
        let mut options = indexed(&pattern);
        options.rotation.packets = NonZeroU64::new(10);
        CaptureFile::create(options, QUARTER_PAST)
    };
    // The names are those of the times.
    let mut file = rotated().unwrap();
    write_datagrams(&mut file, 0..30, 100);
    file.close(&[]).unwrap();
    let made: Vec<PathBuf> = file.files().map(|made| made.path.clone()).collect();
    let second = index_path(&made[1]);
    fs::remove_file(&second).unwrap();
    symlink("/dev/full", &second).unwrap();
    let mut file = rotated().unwrap();
    write_datagrams(&mut file, 0..30, 100);
    file.close(&[]).unwrap();
    let written = counts(&file);
    assert_eq!((written.complete, written.incomplete), (2, 1));
    assert!(written.failure.unwrap().contains("No space left on device"));
    assert_eq!((file.packets_written(), file.packets_lost()), (30, 0));
    for path in &made {
        assert_eq!(count(path), 10);
    }
    assert_complete(&made[0]);
    assert_complete(&made[2]);

    // At the first file it is a mistake of the user.
    let first = index_path(&made[0]);
    fs::remove_file(&first).unwrap();
    fs::create_dir(&first).unwrap();
    let refused = rotated().err().unwrap();
    assert!(
        matches!(&refused, WriteError::Create { file, .. } if *file == first),
        "{refused}"
    );
}

#[test]
fn what_has_no_offsets_is_not_indexed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let refused = |options: CaptureFileOptions| CaptureFile::create(options, 0).err().unwrap();
    let mut compressed = indexed(&path);
    compressed.compression = Compression::Zstd { level: 1 };
    let mut stream = indexed(&path);
    stream.output = Output::Stream {
        writer: Box::new(io::sink()),
        name: "sink".into(),
    };
    for (options, reason) in [
        (compressed, "offsets in a compressed file lead nowhere"),
        (stream, "only a regular file can be indexed"),
    ] {
        assert!(refused(options).to_string().ends_with(reason));
        assert!(listed(folder.path()).is_empty());
    }
    let device = refused(indexed(Path::new("/dev/null")));
    assert!(matches!(device, WriteError::CannotIndex { .. }), "{device}");
}

/// The child of the next test: writes forever and says when an extent is complete.
fn write_until_killed(path: &Path) {
    let mut file = CaptureFile::create(indexed(path), 0).unwrap();
    let mut told = 0;
    for round in 0..1 << 20 {
        write_datagrams(&mut file, round * 100..(round + 1) * 100, 1000);
        let bytes = counts(&file).bytes;
        if bytes > told {
            told = bytes;
            println!("\nindexed {bytes}");
        }
    }
    // Nothing is completed on the way out, should the parent be gone.
    std::mem::forget(file);
}

#[test]
fn a_killed_process_leaves_an_index_of_the_beginning() {
    if let Some(path) = std::env::var_os(FILE) {
        return write_until_killed(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    for place in [2, 3, 5] {
        let path = folder.path().join(format!("{place}.pcapng"));
        let mut child = again(&[], &path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let indexed = lines.map(|line| line.unwrap());
        let mut indexed = indexed.filter(|line| line.starts_with("indexed "));
        assert!(indexed.nth(place - 1).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        let index = part(&path);
        // The first line is of an index without extents.
        assert!(index.extents.len() >= place - 1);
        assert!(index.bytes < Index::build(&path).unwrap().bytes);
    }
}

#[test]
fn an_index_that_was_only_begun_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut file = CaptureFile::create(indexed(&path), 0).unwrap();
    write_datagrams(&mut file, 0..10, 100);
    file.close(&[]).unwrap();
    let mut whole = Vec::new();
    let mut index = File::open(index_path(&path)).unwrap();
    index.read_to_end(&mut whole).unwrap();
    let capture = File::open(&path).unwrap();
    for begun in 0..8 {
        fs::write(index_path(&path), &whole[..begun]).unwrap();
        assert!(Index::of(&capture, &path).unwrap().is_none());
    }
}

/// Reruns itself in a mount namespace with a file system of 64 KiB.
#[test]
fn a_full_disk_leaves_the_index_of_what_is_there() {
    if let Some(path) = std::env::var_os(FILE).map(PathBuf::from) {
        let folder = path.parent().unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=64k", "tmpfs"].map(std::ffi::OsStr::new);
        run("mount", mount.into_iter().chain([folder.as_os_str()]));
        let mut options = indexed(&path);
        options.buffer_bytes = 24 << 10;
        let mut file = CaptureFile::create(options, 0).unwrap();
        let write = |number| {
            let bytes = datagram(number, 200);
            file.write(&Packet::new(QUARTER_PAST + number, &bytes))
                .err()
        };
        let error = (0..10_000).find_map(write).expect("the disk gets full");
        assert!(matches!(error, WriteError::Write { .. }), "{error}");
        // Whether the statistics still fit does not matter here.
        let _ = file.close(&[statistics(0)]);
        assert!(file.packets_lost() > 0);
        // The index is on its first page, which it has.
        assert_eq!((counts(&file).complete, counts(&file).incomplete), (1, 0));
        assert_complete(&path);

        // A file system of one page holds the beginning of the index alone.
        let small = folder.join("small");
        fs::create_dir(&small).unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=4k", "tmpfs"].map(std::ffi::OsStr::new);
        run("mount", mount.into_iter().chain([small.as_os_str()]));
        let long = std::env::temp_dir().join(format!("tapline-long-{}", std::process::id()));
        fs::create_dir(&long).unwrap();
        let long = long.join("long.pcapng");
        symlink(small.join("index"), index_path(&long)).unwrap();
        fs::write(small.join("index"), "").unwrap();
        let mut file = CaptureFile::create(indexed(&long), 0).unwrap();
        write_datagrams(&mut file, 0..12_000, 1000);
        file.close(&[]).unwrap();
        assert_eq!(file.packets_lost(), 0);
        let written = counts(&file);
        assert_eq!((written.complete, written.incomplete), (0, 1));
        let index = part(&long);
        assert!(index.bytes < Index::build(&long).unwrap().bytes);
        fs::remove_dir_all(long.parent().unwrap()).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mount_point = folder.path().join("small");
    fs::create_dir(&mount_point).unwrap();
    let unshare = [
        "unshare",
        "--map-root-user",
        "--mount",
        "--propagation",
        "private",
    ];
    let output = again(&unshare, &mount_point.join("file")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "it ran: {said}");
}
