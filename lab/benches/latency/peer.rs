//! Readers of others: a small program with libpcap, and programs whose pipe is read.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::Sender;
use std::time::Duration;

use abi::clock::realtime_ns;
use pcap::{Capture, Error, Precision};
use rustix::process::{Pid, Signal, kill_process};
use tapline::latency::Delays;
use tapline_lab::tool;

use crate::kind::{Kind, RING_BYTES, SNAPLEN};
use crate::reader::{End, Finished, Stalls, measured};
use crate::rig::Rig;

/// A loop over `pcap_next_ex`, in immediate mode or with a timeout of 100 ms.
pub fn libpcap(
    rig: &Rig,
    immediate: bool,
    stall: Option<Duration>,
    ready: &Sender<End>,
) -> Finished {
    let handle = Capture::from_device(&*rig.interface()).expect("a device");
    let handle = handle
        .promisc(true)
        .snaplen(SNAPLEN.cast_signed())
        .buffer_size(RING_BYTES.try_into().expect("a small number"))
        .precision(Precision::Nano)
        .timeout(100)
        .immediate_mode(immediate);
    let mut handle = handle
        .open()
        .unwrap_or_else(|error| panic!("libpcap: {error}"));
    let breaker = handle.breakloop_handle();
    let end = Box::new(move || breaker.breakloop());
    ready.send(end).expect("the bench waits");
    measured(|| {
        let mut delays = Delays::default();
        let mut stalls = Stalls::new(stall);
        loop {
            match handle.next_packet() {
                Ok(packet) => {
                    // With nanoseconds asked for, the field of microseconds holds them.
                    let time = packet.header.ts;
                    let stamp_ns = time.tv_sec * 1_000_000_000 + time.tv_usec;
                    delays.record(stamp_ns.cast_unsigned(), realtime_ns());
                    stalls.stall();
                }
                Err(Error::TimeoutExpired) => {}
                Err(_) => return delays,
            }
        }
    })
}

/// tcpdump or dumpcap, writing a capture file into a pipe.
pub fn process(rig: &Rig, kind: Kind, ready: &Sender<End>) -> Finished {
    let (name, arguments) = match kind {
        Kind::Tcpdump => ("tcpdump", "-s 96 -B 16384 --nano -n -U -w -"),
        _ => ("dumpcap", "-s 96 -B 16 -P -q -w -"),
    };
    let Some(program) = tool::find(name) else {
        ready.send(Box::new(|| {})).expect("the bench waits");
        return measured(Delays::default);
    };
    let mut command = rig
        .receiver
        .command(program.to_str().expect("a path of text"));
    command
        .args(["-i", &rig.interface()])
        .args(arguments.split(' '));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let says = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut lines = says.lines().map_while(Result::ok);
    // Both say where packets go once they can come.
    let is_ready = |line: &String| line.contains("istening on") || line.starts_with("File:");
    lines
        .find(is_ready)
        .unwrap_or_else(|| panic!("{name} does not begin"));

    let before = used(&child);
    let pid = Pid::from_child(&child);
    let end = Box::new(move || kill_process(pid, Signal::INT).expect("it is there"));
    ready.send(end).expect("the bench waits");
    let mut after = before;
    let mut delays = Delays::default();
    let mut pipe = BufReader::new(child.stdout.take().expect("a pipe"));
    let scale = skip_file_header(&mut pipe);
    while let Some(stamp_ns) = next_stamp(&mut pipe, scale) {
        delays.record(stamp_ns, realtime_ns());
        if delays.histogram.count().is_multiple_of(1000) {
            after = used(&child);
        }
    }
    child.wait().expect("it ends");
    Finished {
        delays,
        cpu: after.0.saturating_sub(before.0),
        sleeps: after.1 - before.1,
    }
}

/// Processor time and waits of all threads of a process up to now.
fn used(child: &Child) -> (Duration, u64) {
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id()));
    let mut used = (Duration::ZERO, 0);
    for task in tasks.into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let ns = read("schedstat")
            .split(' ')
            .next()
            .and_then(|ns| ns.parse().ok());
        used.0 += Duration::from_nanos(ns.unwrap_or(0));
        let status = read("status");
        let waits = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))
            .and_then(|count| count.trim().parse::<u64>().ok());
        used.1 += waits.unwrap_or(0);
    }
    used
}

/// Nanoseconds of the unit in which a pcap file tells fractions of seconds.
fn skip_file_header(pipe: &mut impl Read) -> u64 {
    let mut header = [0; 24];
    match pipe.read_exact(&mut header) {
        Ok(()) if header[..4] == 0xa1b2_3c4d_u32.to_ne_bytes() => 1,
        _ => 1000,
    }
}

/// The time stamp of the next record, which is read whole; `None` at the end.
fn next_stamp(pipe: &mut impl Read, scale: u64) -> Option<u64> {
    let mut header = [0; 16];
    pipe.read_exact(&mut header).ok()?;
    let word = |at: usize| {
        let bytes = header[at..at + 4].try_into().unwrap_or_default();
        u64::from(u32::from_ne_bytes(bytes))
    };
    let mut bytes = [0; SNAPLEN as usize];
    let kept = bytes.get_mut(..word(8) as usize)?;
    pipe.read_exact(kept).ok()?;
    Some(word(0) * 1_000_000_000 + word(4) * scale)
}
