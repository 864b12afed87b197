//! Child processes.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};

/// Makes the kernel kill the child of `command` when the thread that spawns it ends.
///
/// It holds however that thread ends, even when its whole process is killed, so such a child never
/// outlives it. It is the thread that counts: a child spawned on a short-lived thread dies with that.
///
/// # Source
/// prctl(2), `PR_SET_PDEATHSIG`.
#[doc(alias = "PR_SET_PDEATHSIG")]
pub fn end_with_thread(command: &mut Command) {
    let ask = || set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from);
    // SAFETY: between fork and exec the closure makes one system call with plain arguments; it neither
    // allocates nor locks, and an error is made of the bare errno.
    unsafe { command.pre_exec(ask) };
}
