//! A stranger who has taken the program over, for tests: does what the environment variable names, right behind the set-up.
//! Only in builds with debug assertions.

use std::env;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What the stranger does: `read PATH`, `write PATH`, `connect ADDRESS` or `exec PROGRAM`.
const ACT: &str = "TAPLINE_TEST_TAKEOVER";

/// Does it, and prints how it ended.
pub fn happen() {
    let Ok(act) = env::var(ACT) else {
        return;
    };
    let result = match act.split_once(' ') {
        Some(("read", path)) => fs::read(path).map(drop),
        Some(("write", path)) => OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map(drop),
        Some(("connect", address)) => TcpStream::connect(address).map(drop),
        Some(("exec", program)) => Err(Command::new(program).exec()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    eprintln!("takeover: {result:?}");
}
