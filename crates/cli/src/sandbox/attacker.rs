//! An attacker who has taken the program over, for tests: does what the environment variable names, right behind the set-up.
//! Only in builds with debug assertions.

use std::env;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use tapline::attacker::attempt;

/// What the attacker does: `read PATH`, `write PATH`, `connect ADDRESS`, `exec PROGRAM`, `panic`, or `call NAME …` of some system
/// calls.
const ACT: &str = "TAPLINE_TEST_ATTACKER";

/// Where: the name of a list of system calls. Everywhere but in [`BESIDE`] if it is missing.
const PLACE: &str = "TAPLINE_TEST_ATTACKER_IN";

/// Threads and processes beside the one that parses.
const BESIDE: [&str; 3] = ["command", "processes", "signals"];

/// Whether the program ends then.
const ENDS: &str = "TAPLINE_TEST_ATTACKER_ENDS";

/// Does it, and prints how it ended: a line for each call.
pub fn act(place: &str) {
    let Ok(act) = env::var(ACT) else {
        return;
    };
    let is_here = match env::var(PLACE) {
        Ok(chosen) => chosen == place,
        Err(_) => !BESIDE.contains(&place),
    };
    if !is_here {
        return;
    }
    if let Some(("call", names)) = act.split_once(' ') {
        for name in names.split(' ') {
            match attempt(name) {
                Some(result) => eprintln!("attacker: {name}: {result:?}"),
                None => eprintln!("attacker: {name}: unknown"),
            }
        }
        return end();
    }
    let result = match act.split_once(' ') {
        Some(("read", path)) => fs::read(path).map(drop),
        Some(("write", path)) => OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map(drop),
        Some(("connect", address)) => TcpStream::connect(address).map(drop),
        Some(("exec", program)) => Err(Command::new(program).exec()),
        None if act == "panic" => panic!("taken over"),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    eprintln!("attacker: {result:?}");
    end();
}

fn end() {
    if env::var_os(ENDS).is_some() {
        std::process::exit(0);
    }
}
