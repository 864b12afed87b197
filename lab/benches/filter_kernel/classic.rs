//! Cost of classic programs as the filter of a socket.
//!
//! A trial sends one frame as a datagram many times and keeps the CPU time of the fastest call, divided by its sends. The
//! kernel runs the filter within the call. A filter that accepts the frame is negated, so that no datagram is ever queued.
//! **Cost** is the time beyond a filter that rejects at once (`ret #0`) on the same frame in the same round.

use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;

use abi::bpf::{SockFilter, attach_classic};
use filter::classic::{Ancillary, ClassicProgram, Instruction};
use filter::{Filter, FilterOptions, LinkType, NoNames};

use crate::harness::{Report, column, thread_time, thread_time_since};

/// Calls per trial, and datagrams per call.
const CALLS: u32 = 10;
const SENDS: u32 = 10_000;

/// A pair of sockets. The receiving one rejects all datagrams.
pub struct Rejecting {
    sender: UnixDatagram,
    _receiver: UnixDatagram,
}

impl Rejecting {
    fn new(program: &ClassicProgram) -> Self {
        let (sender, receiver) = UnixDatagram::pair().expect("two sockets");
        let word = |&Instruction { code, jt, jf, k }: &Instruction| SockFilter { code, jt, jf, k };
        let filter: Vec<SockFilter> = program.instructions().iter().map(word).collect();
        attach_classic(receiver.as_fd(), &filter).expect("the kernel takes the program");
        Self {
            sender,
            _receiver: receiver,
        }
    }

    /// Without a filter: rejects at once.
    pub fn empty() -> Self {
        Self::new(&ClassicProgram::keep(0))
    }

    /// With the filter, or with its negation if it accepts `frame`.
    pub fn of(text: &str, frame: &[u8]) -> Self {
        Self::new(&rejecting(text, frame).0)
    }

    /// Nanoseconds of CPU time per datagram, in the fastest of the calls.
    pub fn fastest_ns(&self, frame: &[u8]) -> f64 {
        let calls = (0..CALLS).map(|_| {
            let start = thread_time();
            for _ in 0..SENDS {
                self.sender.send(frame).expect("a datagram is sent");
            }
            thread_time_since(start).as_nanos() as f64 / f64::from(SENDS)
        });
        calls.fold(f64::INFINITY, f64::min)
    }
}

/// The classic program for `text`, or for its negation if it accepts `frame`; and whether it does.
fn rejecting(text: &str, frame: &[u8]) -> (ClassicProgram, bool) {
    let filter = |text: &str| {
        Filter::new(text, &FilterOptions::new(LinkType::Ethernet), &NoNames).expect("a filter")
    };
    let plain = filter(text);
    let length = u32::try_from(frame.len()).expect("a short frame");
    let is_match = plain.run(frame, length, &Ancillary::default()) != 0;
    let rejecting = if is_match {
        filter(&format!("not ({text})"))
    } else {
        plain
    };
    (rejecting.classic().expect("a classic program"), is_match)
}

/// Makes one table per frame.
pub fn measure(texts: &[&str], frames: &[(&'static str, Vec<u8>)], report: &mut Report) {
    let columns = [
        column("ns per datagram", 1.0, 1),
        column("cost, ns", 1.0, 1),
        column("matches", 1.0, 0),
    ];
    let empty = Rejecting::empty();
    let of_frame = |(title, frame): &(&'static str, Vec<u8>)| {
        let programs: Vec<_> = (texts.iter())
            .map(|text| {
                let (program, is_match) = rejecting(text, frame);
                (Rejecting::new(&program), is_match)
            })
            .collect();
        (format!("Socket filter, {title}"), programs)
    };
    let subjects: Vec<_> = frames.iter().map(of_frame).collect();
    for _ in report.rounds("socket filters") {
        for ((_, frame), (title, programs)) in frames.iter().zip(&subjects) {
            let empty_ns = empty.fastest_ns(frame);
            for (text, (program, is_match)) in texts.iter().zip(programs) {
                let ns = program.fastest_ns(frame);
                let figures = [ns, ns - empty_ns, f64::from(u8::from(*is_match))];
                report.table(title, &columns).add(text, &figures);
            }
        }
    }
}
