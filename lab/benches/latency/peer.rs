//! Other readers: a small loop over libpcap, and programs that write to a pipe.

use std::io::{BufReader, Read};
use std::sync::mpsc::Sender;
use std::time::Duration;

use abi::clock::realtime_ns;
use pcap::{Capture, Precision};
use tapline::latency::Delays;
use tapline_lab::tool;

use crate::harness::{Running, each_packet};
use crate::reader::{End, Finished, RING_BYTES, SNAPLEN, Stalls, measured};
use crate::task::Rig;

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
        each_packet(&mut handle, |stamp_ns, _| {
            delays.record(stamp_ns, realtime_ns());
            stalls.stall();
        });
        delays
    })
}

/// Runs tcpdump or dumpcap, which write a capture file to a pipe.
pub fn process(rig: &Rig, name: &str, arguments: &str, ready: &Sender<End>) -> Finished {
    if tool::find(name).is_none() {
        ready.send(Box::new(|| {})).expect("the bench waits");
        return measured(Delays::default);
    }
    let mut command = rig.receiver.command(name);
    command.args(["-i", &rig.interface()]);
    command.args(arguments.split(' '));
    let (mut running, pipe) = Running::start_piped(command);
    // Both print the output's name once they capture.
    running.wait_until(|text| text.contains("istening on") || text.contains("File:"));
    let before = running.used();
    let end = Box::new(running.interrupter());
    ready.send(end).expect("the bench waits");
    let mut after = before;
    let mut delays = Delays::default();
    let mut pipe = BufReader::new(pipe);
    let scale = skip_file_header(&mut pipe);
    while let Some(stamp_ns) = next_stamp(&mut pipe, scale) {
        delays.record(stamp_ns, realtime_ns());
        if delays.histogram.count().is_multiple_of(1000) {
            after = running.used();
        }
    }
    running.finish();
    Finished {
        delays,
        used: after.since(before),
    }
}

/// Skips the header of a pcap file. Returns the nanoseconds per unit of its time stamps.
fn skip_file_header(pipe: &mut impl Read) -> u64 {
    let mut header = [0; 24];
    match pipe.read_exact(&mut header) {
        Ok(()) if header[..4] == 0xa1b2_3c4d_u32.to_ne_bytes() => 1,
        _ => 1000,
    }
}

/// Reads the next whole record and returns its time stamp; `None` at the end.
fn next_stamp(pipe: &mut impl Read, scale: u64) -> Option<u64> {
    let mut header = [0; 16];
    pipe.read_exact(&mut header).ok()?;
    let (words, _) = header.as_chunks();
    let [seconds, fraction, bytes] = [0, 1, 2].map(|at| u32::from_ne_bytes(words[at]));
    let mut packet = [0; SNAPLEN as usize];
    pipe.read_exact(packet.get_mut(..bytes as usize)?).ok()?;
    Some(u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * scale)
}
