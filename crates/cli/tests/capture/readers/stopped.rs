//! Several readers of which one is idle, stopped, or has no CPU. The hosts and senders are those of `files`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use lab::generator::pin_to_cpu;
use lab::wait;
use serde_json::{Value, json};

use super::files::{
    COUNT, assert_complete, has_run, late, seen, send, send_from_both, start, stop,
};
use crate::support::run::Running;
use crate::support::{number, text};

#[test]
fn a_silent_queue_does_not_hold_the_others_back() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("file.pcapng"));
    let (running, _) = start(
        &folder,
        &format!("--queues all --direction in -U -w {file}"),
    );
    send(0, COUNT);
    // While the capture runs, and before any packet of the other queue.
    wait::until("all packets are in the file", || {
        let bytes = std::fs::metadata(&file).map_or(0, |file| file.len());
        bytes > COUNT * 128
    });
    let summary = stop(running, COUNT);
    let readers = summary.0["readers"].as_array().expect("readers");
    let delivered: Vec<_> = readers.iter().map(|one| number(one, "delivered")).collect();
    assert_eq!(delivered, [COUNT, 0]);
    assert_eq!(late(&seen(&file)), 0);
}

/// Both readers on a CPU that a third thread keeps busy, beside the senders.
#[test]
fn readers_without_a_cpu_lose_no_order_that_they_do_not_report() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("--queues all --cpus 1 --direction in -w {file}");
    let (running, begun) = start(&folder, &line);
    let cpus = begun["readers"].as_array().expect("readers").iter();
    assert!(cpus.map(|reader| number(reader, "cpu")).eq([1, 1]));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            pin_to_cpu(1).expect("the CPU is there");
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        send_from_both();
        is_over.store(true, Ordering::Relaxed);
    });
    let summary = stop(running, 2 * COUNT);
    let seen = seen(&file);
    assert_complete(&seen, true);
    assert_eq!(late(&seen), number(&summary.0["merge"], "late"));
}

/// A thread that ptrace(2) stops until this is dropped.
struct Stopped(Child);

impl Stopped {
    /// Stops the thread called `name` of a program.
    fn thread(running: &Running, name: &str) -> Self {
        const SCRIPT: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
process, name = sys.argv[1:]
tasks = f"/proc/{process}/task"
[thread] = [int(one) for one in os.listdir(tasks) if open(f"{tasks}/{one}/comm").read().strip() == name]
def ptrace(request):
    if libc.ptrace(request, thread, None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
ptrace(0x4206)  # PTRACE_SEIZE
ptrace(0x4207)  # PTRACE_INTERRUPT
os.waitpid(thread, 0x40000000)  # __WALL
print("stopped", flush=True)
sys.stdin.read()
ptrace(17)  # PTRACE_DETACH
"#;
        let mut command = lab::tool::command("python3");
        let process = running.pid().as_raw_nonzero().to_string();
        command.args(["-c", SCRIPT, &process, name]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("a line");
        assert_eq!(line, "stopped\n");
        Self(child)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let ended = self.0.wait();
        assert!(thread::panicking() || ended.is_ok_and(|status| status.success()));
    }
}

/// The others' packets are written after the longest delay, and those of the stopped one when it goes on: none is lost.
#[test]
fn a_stopped_reader_holds_the_others_back_no_longer_than_stated() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("--queues all --direction in -U -w {file}");
    let (mut running, _) = start(&folder, &line);
    // Both readers are at work.
    send(0, 1);
    send(1, 1);
    running.event(|event| event["event"] == "stats" && number(event, "delivered") >= 2);
    let stopped = Stopped::thread(&running, "reader-0");
    let size = || std::fs::metadata(&file).map_or(0, |file| file.len());
    send_from_both();
    wait::until("the packets of one queue are in the file", || {
        size() > COUNT * 128
    });
    drop(stopped);
    let summary = stop(running, 2 + 2 * COUNT);
    summary.conserves(2 + 2 * COUNT);
    let seen = seen(&file);
    assert_eq!(seen.len() as u64, 2 + 2 * COUNT);
    assert_complete(&seen[2..], true);
    // Those of the stopped reader came after younger ones of the other.
    let late = late(&seen);
    assert_eq!(late, number(&summary.0["merge"], "late"));
    assert!(late > 0 && seen[2].payload.starts_with("01"), "{late}");
}

/// Longer than any packet waits for older ones.
#[test]
fn what_a_reader_delivers_after_three_seconds_is_late_counted_and_complete() {
    const STALL_NS: u64 = 3_000_000_000;
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("--queues all --direction in -w {file}");
    let (mut running, _) = start(&folder, &line);
    // Both readers are at work.
    send(0, 1);
    send(1, 1);
    running.event(|event| event["event"] == "stats" && number(event, "delivered") >= 2);
    let stopped = Stopped::thread(&running, "reader-0");
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let stopped_ns = now.expect("a time").as_nanos() as u64;
    // All packets of the stopped reader are older than those of the other.
    send(0, COUNT);
    send(1, COUNT);
    // The program's own clock says how long the reader was away.
    let is_over =
        |event: &Value| event["event"] == "stats" && number(event, "at_ns") > stopped_ns + STALL_NS;
    let stats = running.event(is_over);
    // Those of the other reader only, and all of them.
    assert_eq!(number(&stats, "delivered"), 2 + COUNT);
    drop(stopped);
    let summary = stop(running, 2 + 2 * COUNT);
    let delay_ns = number(&summary.0["merge"], "max_delay_ns");
    assert!(delay_ns < STALL_NS, "{delay_ns}");
    summary.conserves(2 + 2 * COUNT);
    summary.has(&json!({"written": 2 + 2 * COUNT, "lost": {"ring": 0, "reader": 0, "writer": 0}}));
    let seen = seen(&file);
    assert_complete(&seen[2..], true);
    // All of the other had been written.
    let late = late(&seen);
    assert_eq!(late, COUNT);
    assert_eq!(late, number(&summary.0["merge"], "late"));
    let readers = summary.0["readers"].as_array().expect("readers");
    let by_reader: Vec<_> = readers.iter().map(|one| number(one, "late")).collect();
    assert_eq!(by_reader, [COUNT, 0]);
}
