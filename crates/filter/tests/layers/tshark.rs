use std::collections::HashSet;
use std::fs;
use std::process::Command;

/// Whether tshark accepts each frame with the display filter `display`. Every frame is dissected on its own.
pub fn accepted_by_tshark(frames: &[&[u8]], display: &str) -> Vec<bool> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames.pcap");
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 262_144, 1] {
        file.extend(word.to_be_bytes());
    }
    for frame in frames {
        for word in [1, 0, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_be_bytes());
        }
        file.extend_from_slice(frame);
    }
    fs::write(&path, file).unwrap();
    let output = Command::new("tshark")
        .args([
            "-n",
            "-o",
            "ip.defragment:FALSE",
            "-o",
            "ipv6.defragment:FALSE",
        ])
        .args(["-T", "fields", "-e", "frame.number", "-Y", display, "-r"])
        .arg(&path)
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{display}: {complaint}");
    let numbers = String::from_utf8(output.stdout).unwrap();
    let accepted: HashSet<usize> = numbers.lines().map(|line| line.parse().unwrap()).collect();
    (1..=frames.len())
        .map(|number| accepted.contains(&number))
        .collect()
}
