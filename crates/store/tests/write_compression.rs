//! Compression into independent frames.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::write_support::*;
use tapline_store::write::{CaptureFile, Compression};

fn compressed(path: &Path, level: i32) -> CaptureFile {
    let mut options = options(path);
    options.compression = Compression::Zstd { level };
    CaptureFile::create(options, 0).unwrap()
}

/// Counts packets with `zstd -dc FILE | tshark -r -`.
fn piped_count(file: &Path) -> usize {
    let mut zstd = Command::new("zstd")
        .arg("-dcq")
        .arg(file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let tshark = Command::new("tshark")
        .args(["-n", "-r", "-", "-T", "fields", "-e", "frame.number"])
        .stdin(zstd.stdout.take().unwrap())
        .output()
        .unwrap();
    assert!(zstd.wait().unwrap().success());
    assert!(
        tshark.status.success(),
        "{}",
        String::from_utf8_lossy(&tshark.stderr)
    );
    String::from_utf8(tshark.stdout).unwrap().lines().count()
}

#[test]
fn frames_in_a_row_are_one_capture_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng.zst");
    let mut file = compressed(&path, 3);
    for burst in 0..5 {
        write_frames(
            &mut file,
            QUARTER_PAST + burst * 1_000_000,
            100,
            60 + burst as usize,
        );
        file.flush().unwrap();
    }
    file.close(&[statistics(0)]).unwrap();
    assert_eq!(
        file.bytes_written(),
        std::fs::metadata(&path).unwrap().len()
    );
    assert_eq!(file.files().next().unwrap().bytes, file.bytes_written());
    // The beginning, five bursts, the statistics: each a frame, each with a checksum.
    let text = run("zstd", [OsStr::new("-lv"), path.as_os_str()]);
    assert!(
        text.contains("# Zstandard Frames: 7") || text.contains("Number of Frames: 7"),
        "{text}"
    );
    assert!(text.contains("Check: XXH64"), "{text}");
    run("zstd", [OsStr::new("-tq"), path.as_os_str()]);
    assert_eq!(piped_count(&path), 500);
}

#[test]
fn the_name_says_that_it_is_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = compressed(&folder.path().join("file.pcapng"), 0);
    file.close(&[]).unwrap();
    let made = file.files().next().unwrap();
    assert_eq!(name(&made.path), "file.pcapng.zst");
    assert_eq!(listed(folder.path()), std::slice::from_ref(&made.path));
}

#[test]
fn what_was_flushed_is_readable_though_the_end_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng.zst");
    let mut file = compressed(&path, 1);
    write_frames(&mut file, QUARTER_PAST, 100, 60);
    file.flush().unwrap();
    write_frames(&mut file, QUARTER_PAST, 100, 60);
    assert_eq!(
        (file.packets_accepted(), file.packets_written()),
        (200, 100)
    );
    assert_eq!(piped_count(&path), 100);
}

#[test]
fn any_level_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    for level in [-5, 0, 19, 1000] {
        let path = folder.path().join("file.pcapng.zst");
        let mut file = compressed(&path, level);
        write_frames(&mut file, QUARTER_PAST, 10, 60);
        file.close(&[]).unwrap();
        assert_eq!(piped_count(&path), 10);
    }
}
