//! File contents after write errors, and that the counters match.

use std::error::Error;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::write_support::*;
use tapline_store::model::Packet;
use tapline_store::write::{
    CaptureFile, CaptureFileOptions, ChunkMerge, Compression, Format, Output, PacketChunk,
    WriteError,
};

/// Writes frames until the file system is full.
fn fill(file: &mut CaptureFile, length: usize) -> WriteError {
    let write = |number| {
        let bytes = frame(number, length);
        file.write(&Packet::new(QUARTER_PAST + number, &bytes))
            .err()
    };
    (0..100_000).find_map(write).expect("the disk gets full")
}

/// Fills the disk, then optionally frees space.
fn fill_the_disk(path: &Path, format: Format, compression: Compression, relief: bool) {
    let ballast = path.with_extension("ballast");
    std::fs::write(&ballast, [0; 12 << 10]).unwrap();
    let mut options = options(path);
    options.format = format;
    options.compression = compression;
    options.buffer_bytes = 24 << 10;
    let mut file = CaptureFile::create(options, 0).unwrap();
    let error = fill(&mut file, 99);
    let source = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>())
        .unwrap();
    assert_eq!(source.kind(), ErrorKind::StorageFull);
    let WriteError::Write {
        file: named,
        bytes_written,
        packets_lost,
        ..
    } = error
    else {
        panic!("{error}")
    };
    let made = file.files().next().unwrap().clone();
    let path = &made.path;
    assert_eq!(&named, path);
    assert_eq!(bytes_written, std::fs::metadata(path).unwrap().len());
    assert_eq!(packets_lost, file.packets_lost());
    assert!(packets_lost > 0);
    assert_eq!(
        file.packets_written() + packets_lost,
        file.packets_accepted()
    );

    std::fs::remove_file(&ballast).unwrap();
    if relief {
        write_frames(&mut file, QUARTER_PAST, 20, 99);
    } else {
        let room = std::fs::write(&ballast, vec![0; 64 << 10]).unwrap_err();
        assert_eq!(room.kind(), ErrorKind::StorageFull);
    }
    // Without relief the statistics fit into what the partial block left of its page, or they do
    // not: the file is whole either way.
    let closed = file.close(&[statistics(0)]);
    let is_known = matches!(
        closed,
        Err(WriteError::Write {
            packets_lost: 0,
            ..
        })
    );
    assert!(closed.is_ok() || (is_known && !relief), "{closed:?}");
    assert_eq!(
        file.packets_written() + packets_lost,
        file.packets_accepted()
    );
    assert_eq!(file.bytes_written(), std::fs::metadata(path).unwrap().len());
    let readable = if compression == Compression::None {
        path.clone()
    } else {
        // Outside of the small file system there is room for the plain file.
        let plain = path.parent().unwrap().parent().unwrap().join("plain");
        run(
            "zstd",
            [OsStr::new("-dqfo"), plain.as_os_str(), path.as_os_str()],
        );
        plain
    };
    assert_eq!(count(&readable), file.packets_written());
    std::fs::remove_file(path).unwrap();
    if !relief {
        std::fs::remove_file(&ballast).unwrap();
    }
}

/// Fills the disk with packets of two inputs in turn, which the kernel takes from where they are.
fn fill_the_disk_by_merging(path: &Path) {
    const PACKETS: u64 = 1000;
    let mut file = CaptureFile::create(options(path), 0).unwrap();
    let encoder = file.chunk_encoder();
    let mut merge = ChunkMerge::new(2);
    let mut chunks = [(); 2].map(|()| PacketChunk::new(1 << 17));
    for number in 0..PACKETS {
        let bytes = frame(number, 99);
        let packet = Packet::new(QUARTER_PAST + number, &bytes);
        let chunk = &mut chunks[number as usize % 2];
        assert!(encoder.encode(&packet, chunk).unwrap());
    }
    for (input, chunk) in chunks.into_iter().enumerate() {
        merge.add(input, chunk);
    }
    let mut remaining = u64::MAX;
    let error = merge.write_before(u64::MAX, &mut file, &mut remaining);
    let error = error.unwrap_err();
    let WriteError::Write {
        bytes_written,
        packets_lost,
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(bytes_written, std::fs::metadata(path).unwrap().len());
    let written = file.packets_written();
    assert!(written > 0 && packets_lost > 0, "{written}, {packets_lost}");
    assert_eq!(written + packets_lost, file.packets_accepted());
    merge.discard();
    let counts: Vec<_> = merge.counts().collect();
    let accepted: u64 = counts.iter().map(|input| input.written).sum();
    let discarded: u64 = counts.iter().map(|input| input.discarded).sum();
    assert_eq!(accepted, file.packets_accepted());
    assert_eq!(accepted + discarded, PACKETS);
    // There may be no room for the statistics.
    let _ = file.close(&[statistics(0)]);
    assert_eq!(count(path), written);
    std::fs::remove_file(path).unwrap();
}

/// Reruns itself in a mount namespace with a file system of 64 KiB.
#[test]
fn a_full_disk_leaves_a_readable_file_and_an_exact_account() {
    if let Some(path) = std::env::var_os(FILE).map(PathBuf::from) {
        let folder = path.parent().unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=64k", "tmpfs"].map(OsStr::new);
        run("mount", mount.into_iter().chain([folder.as_os_str()]));
        for format in [Format::Pcapng, Format::PcapMicros] {
            for compression in [Compression::None, Compression::Zstd { level: -50 }] {
                fill_the_disk(&path, format, compression, false);
                fill_the_disk(&path, format, compression, true);
            }
        }
        fill_the_disk_by_merging(&path);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mount_point = folder.path().join("small");
    std::fs::create_dir(&mount_point).unwrap();
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

#[test]
fn a_device_that_is_full_from_the_start_says_so_at_once() {
    let error = CaptureFile::create(options(Path::new("/dev/full")), 0)
        .err()
        .unwrap();
    assert!(matches!(
        error,
        WriteError::Write {
            bytes_written: 0,
            packets_lost: 0,
            ..
        }
    ));
    assert_eq!(error.to_string(), "cannot write to /dev/full after 0 bytes");
    assert_eq!(
        error.source().unwrap().to_string(),
        "No space left on device (os error 28)"
    );
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let error = CaptureFile::create(options(Path::new("/nowhere/file")), 0)
        .err()
        .unwrap();
    assert_eq!(error.to_string(), "cannot create /nowhere/file");
    assert_eq!(
        error.source().unwrap().to_string(),
        "No such file or directory (os error 2)"
    );
}

#[test]
fn a_file_is_made_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut file = CaptureFile::create(options(&path), 0).unwrap();
    file.close(&[]).unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_reader_that_goes_away_is_an_error_every_time() {
    // A stream, since a process that another test is just starting may have a copy of a pipe's end.
    let (mut reader, writer) = UnixStream::pair().unwrap();
    let mut options = options(Path::new("unused"));
    let file = File::from(std::os::fd::OwnedFd::from(writer));
    options.output = Output::Descriptor {
        file,
        name: "standard output".into(),
    };
    let mut file = CaptureFile::create(options, 0).unwrap();
    write_frames(&mut file, QUARTER_PAST, 10, 60);
    file.flush().unwrap();
    // The pipe has all of it before the buffer is full.
    let mut begun = vec![0; file.bytes_written() as usize];
    reader.read_exact(&mut begun).unwrap();
    reader.shutdown(Shutdown::Both).unwrap();
    for written in [10, 10] {
        write_frames(&mut file, QUARTER_PAST, 5, 60);
        let error = file.flush().unwrap_err();
        assert!(
            matches!(&error, WriteError::Write { file, packets_lost: 5, source, .. }
                if file == Path::new("standard output") && source.kind() == ErrorKind::BrokenPipe)
        );
        assert_eq!(file.packets_written(), written);
    }
    assert_eq!((file.packets_accepted(), file.packets_lost()), (20, 10));
    // What was flushed is a whole file.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, begun).unwrap();
    assert_eq!(count(&path), 10);
}

/// Accepts a few octets per write, is interrupted in between, and fails after `limit` octets.
struct Unwilling {
    taken: Arc<Mutex<Vec<u8>>>,
    calls: usize,
    limit: usize,
}

impl Write for Unwilling {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        let mut taken = self.taken.lock().unwrap();
        if self.calls.is_multiple_of(2) {
            return Err(ErrorKind::Interrupted.into());
        }
        let count = data
            .len()
            .min(1 + self.calls % 700)
            .min(self.limit - taken.len());
        if count == 0 {
            return Err(io::Error::from_raw_os_error(5));
        }
        taken.extend(&data[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unwilling(format: Format, limit: usize) -> (CaptureFile, Arc<Mutex<Vec<u8>>>) {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let writer = Unwilling {
        taken: Arc::clone(&taken),
        calls: 0,
        limit,
    };
    let output = Output::Stream {
        writer: Box::new(writer),
        name: "unwilling".into(),
    };
    let mut options = CaptureFileOptions::new(output, vec![ethernet()]);
    options.format = format;
    options.buffer_bytes = 10_000;
    (CaptureFile::create(options, 0).unwrap(), taken)
}

#[test]
fn partial_and_interrupted_writes_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for format in [Format::Pcapng, Format::PcapNanos] {
        let (mut file, taken) = unwilling(format, usize::MAX);
        write_frames(&mut file, QUARTER_PAST, 1000, 75);
        file.close(&[statistics(0)]).unwrap();
        assert_eq!(file.bytes_written(), taken.lock().unwrap().len() as u64);
        std::fs::write(&path, &*taken.lock().unwrap()).unwrap();
        assert_eq!(count(&path), 1000);
    }
}

#[test]
fn a_stream_that_ends_within_a_block_counts_the_whole_ones() {
    // A pcap header has 24 octets, a record of 75 octets 91. Every place of the end is tried.
    for limit in 24..24 + 91 * 3 {
        let (mut file, taken) = unwilling(Format::PcapNanos, limit);
        write_frames(&mut file, QUARTER_PAST, 4, 75);
        let error = file.flush().unwrap_err();
        let whole = (limit as u64 - 24) / 91;
        assert_eq!(file.packets_written(), whole);
        assert!(
            matches!(error, WriteError::Write { bytes_written, packets_lost, .. }
            if bytes_written == limit as u64 && packets_lost == 4 - whole)
        );
        assert_eq!(taken.lock().unwrap().len(), limit);
    }
}

#[test]
fn an_open_file_is_written_from_its_position_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut descriptor = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    descriptor.write_all(b"before").unwrap();
    let mut options = options(&path);
    let output = descriptor.try_clone().unwrap();
    options.output = Output::Descriptor {
        file: output,
        name: "descriptor".into(),
    };
    let mut file = CaptureFile::create(options, 0).unwrap();
    write_frames(&mut file, QUARTER_PAST, 3, 60);
    file.close(&[]).unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().len(),
        6 + file.bytes_written()
    );
    descriptor.seek(SeekFrom::Start(6)).unwrap();
    let mut rest = Vec::new();
    descriptor.read_to_end(&mut rest).unwrap();
    std::fs::write(&path, rest).unwrap();
    assert_eq!(count(&path), 3);
}

#[test]
fn dropping_writes_what_is_in_the_buffer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut file = CaptureFile::create(options(&path), 0).unwrap();
    write_frames(&mut file, QUARTER_PAST, 3, 60);
    drop(file);
    assert_eq!(count(&path), 3);
}
