#![no_main]

use std::fs;
use std::io::Write;

use tapline::capture::FollowedKeys;
use tapline::read::KeyLog;

// A key log, as a whole and as one that grows: the first byte says where it is cut in two. A log without other lines has
// the same secrets both ways.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&cut, log)) = bytes.split_first() else {
        return;
    };
    let (one, two) = log.split_at(usize::from(cut).min(log.len()));
    let path = std::env::temp_dir().join(format!("tapline-key-log-{}", std::process::id()));
    let mut file = fs::File::create(&path).expect("a file");
    let mut keys = FollowedKeys::open(&path).expect("a log");
    for part in [one, two, b"\n"] {
        file.write_all(part).expect("written");
        let secrets = keys.next_secrets();
        assert!(secrets.is_none_or(|body| body.len() % 4 == 0 && body.len() <= log.len() + 12));
    }
    let counts = keys.counts();
    match KeyLog::parse(log) {
        Ok(_) => assert!(counts.secrets() > 0 && counts.ignored_lines() == 0),
        Err(_) => assert!(counts.secrets() == 0 || counts.ignored_lines() > 0),
    }
    fs::remove_file(&path).expect("removed");
});
