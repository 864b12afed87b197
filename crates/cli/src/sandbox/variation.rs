//! Variations of the lists of system calls, for tests: one call is left out, or a call that is not allowed ends the process.
//! Only in builds with debug assertions.

use std::env;

use libc::c_long;

/// What is left out: `LIST NUMBER` for a call, `LIST bpf NUMBER` for a command of bpf(2). Instead of the name of a list, `every`
/// means all lists, and `sockets` the calls of commands that open sockets.
const WITHOUT: &str = "TAPLINE_TEST_WITHOUT";

/// Set if calls that are not allowed end the process.
const STRICT: &str = "TAPLINE_TEST_STRICT";

/// Whether a call that is not allowed ends the process, so that no test can miss it.
pub fn is_strict() -> bool {
    env::var_os(STRICT).is_some()
}

/// Whether `call` is left out of a list.
pub fn lacks(list: &str, opens_sockets: bool, call: c_long) -> bool {
    left_out(list, opens_sockets).is_some_and(|left| left == call.to_string())
}

/// Whether a command of bpf(2) is left out of a list.
pub fn lacks_bpf(list: &str, command: u32) -> bool {
    left_out(list, false).is_some_and(|left| left == format!("bpf {command}"))
}

/// What is left out of a list.
fn left_out(list: &str, opens_sockets: bool) -> Option<String> {
    let without = env::var(WITHOUT).ok()?;
    let (chosen, what) = without.split_once(' ')?;
    let is_chosen = match chosen {
        "every" => true,
        "sockets" => opens_sockets,
        name => name == list,
    };
    is_chosen.then(|| what.to_owned())
}
