//! Sandboxes of the threads and the process that do not parse packets.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;

use super::calls::{COMMAND, PROCESSES, SIGNALS};
use super::trace::{trace_signals, trace_thread};
use super::{PINGS, compare, scene};
use crate::support::run::{Ended, begin, command};
use crate::support::{Scene, output};

#[test]
fn waiting_for_a_command_makes_the_calls_of_its_list() {
    let scene = scene();
    let line = format!("capture -i lo {PINGS}");
    compare(&COMMAND, &trace_thread(&scene.right, &COMMAND, &line));
}

#[test]
fn finding_processes_makes_the_calls_of_its_list() {
    let scene = scene();
    // Its socket is open as long as the capture runs.
    let sends = "-- bash -c 'exec 3<>/dev/udp/127.0.0.1/9; echo x >&3; exec sleep 1000'";
    let line = format!("capture -i lo --who -c 1 udp {sends}");
    compare(&PROCESSES, &trace_thread(&scene.right, &PROCESSES, &line));
}

/// It writes to a pipe that nobody reads, so that the first signal does not end it.
#[test]
fn waiting_for_signals_makes_the_calls_of_its_list() {
    let scene = scene();
    let path = scene.file("pipe");
    output(&scene.right, "/usr/bin/mkfifo", &path);
    let both = std::fs::File::options().read(true).write(true).open(&path);
    let _stalled = both.expect("a pipe");
    let line = format!("capture -i right0 -q --user root -w {path}");
    let made = trace_signals(&scene.right, &line, || scene.generate(20_000, None));
    compare(&SIGNALS, &made);
}

/// Takes the process that looks up processes over, which then does `act`.
fn taken_over(act: &str) -> (Ended, String) {
    let (ours, theirs) = UnixStream::pair().expect("a connection");
    let mut helper = command("process-helper");
    helper.env("TAPLINE_TEST_ATTACKER", act);
    helper.env("TAPLINE_TEST_ATTACKER_IN", PROCESSES.name);
    // What an attacker gets in the program as it is.
    helper.env_remove("TAPLINE_TEST_STRICT");
    helper.stdin(OwnedFd::from(theirs));
    helper.stdout(std::process::Stdio::piped());
    helper.stderr(std::process::Stdio::piped());
    let running = begin(helper);
    drop(ours);
    let ended = running.finish();
    let mut lines = ended.stderr.iter();
    let got = lines.find_map(|line| line.strip_prefix("attacker: "));
    let got = got.unwrap_or_default().to_owned();
    (ended, got)
}

/// It has the right to read everything, and to trace: no other one can be made of it.
#[test]
fn who_takes_over_the_search_for_processes_writes_nothing_and_connects_to_nobody() {
    let scene = Scene::new();
    let file = scene.write("file", "before");
    for act in [
        format!("write {file}"),
        format!("write {file}-new"),
        "write /proc/self/mem".to_owned(),
        "connect 127.0.0.1:9".to_owned(),
        "call bpf".to_owned(),
        "call socket-unix".to_owned(),
        "call tgkill-another".to_owned(),
    ] {
        let (ended, got) = taken_over(&act);
        let refusal = format!("code: {},", libc::ENOSYS);
        assert!(got.contains(&refusal), "{act}: {got} {ended:?}");
    }
    assert_eq!(std::fs::read(&file).expect("a file"), b"before");
    for act in [
        "exec /bin/true",
        "call ptrace",
        "call process_vm_writev",
        "call mount",
    ] {
        let (ended, got) = taken_over(act);
        let signal = ended.status.signal();
        assert_eq!(signal, Some(libc::SIGSYS), "{act}: {got} {ended:?}");
    }
    assert_eq!(taken_over("read /etc/shadow").1, "Ok(())");
}
