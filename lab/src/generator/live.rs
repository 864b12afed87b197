//! The fast generator.

use std::io;
use std::time::Duration;

use abi::bpf::{BPF_F_TEST_XDP_LIVE_FRAMES, TestRun};
use abi::namespace::NetNamespace;
use bpf::XdpLink;
use netlink::{IfIndex, Netlink};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::options::GeneratorOptions;
use super::pace::Pace;
use super::program::LiveProgram;
use crate::net::refuse_the_machine;

/// Frames in one system call at most: the width of its field.
const CALL_FRAMES: u64 = u32::MAX as u64;
/// How long frames may be under way between the two ends of a veth without one of them arriving.
const SETTLE: Duration = Duration::from_secs(2);
/// Rounds in which dropped frames are sent again.
const ROUNDS: u32 = 1000;

/// What became of frames. Those that are in none of the counts vanished: the interface is down or
/// its peer takes no redirected frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames handed to the kernel.
    pub submitted: u64,
    /// Frames that reached the far end.
    pub delivered: u64,
    /// Frames dropped because the far end's queue was full.
    pub dropped: u64,
    /// From the first to the last frame handed to the kernel.
    pub duration: Duration,
}

impl Sent {
    /// Delivered packets per second.
    pub fn delivered_pps(&self) -> f64 {
        self.delivered as f64 / self.duration.as_secs_f64()
    }
}

/// Sends copies of one frame as fast as the kernel can, or at a rate.
///
/// The receiving end's work (its driver and stack) runs on the same CPU, between the batches.
///
/// Each method panics on failure, so that the test's own line is reported.
#[derive(Debug)]
pub struct Generator {
    options: GeneratorOptions,
    netlink: Netlink,
    program: LiveProgram,
    peer: Option<XdpLink>,
    /// Keeps the program attached somewhere, so that runs of it are cheap.
    own: Option<XdpLink>,
}

impl Generator {
    /// Loads the generator's program. Call it on the sending host.
    ///
    /// # Panics
    /// Without root, before Linux 5.18, and in the machine's own namespace.
    #[track_caller]
    pub fn new(options: GeneratorOptions) -> Self {
        refuse_this_machine();
        let netlink = Netlink::open().expect("a netlink socket");
        let program = LiveProgram::load(&options);
        Self {
            options,
            netlink,
            program,
            peer: None,
            own: None,
        }
    }

    /// Makes interface `peer`, the other end of the link, take the generator's frames and counts
    /// them there; all go on into the stack. Call it on the receiving host; it lasts until the
    /// generator is dropped.
    ///
    /// Leave it out when the interface has an XDP program already or GRO. Then delivered is what
    /// the sending interface counts as sent, other traffic included, and each run (each group of a
    /// paced one) takes some 25 ms longer, unless [`attach_own`](Self::attach_own) helps.
    ///
    /// # Panics
    /// When the interface has another XDP program, and in the machine's own namespace.
    #[track_caller]
    pub fn attach_peer(&mut self, peer: IfIndex) {
        refuse_this_machine();
        self.peer = Some(self.program.attach(peer));
    }

    /// Makes runs as cheap as with a peer, where the far end has an XDP program of its own: the
    /// generator's is attached to the sending interface, whose incoming packets all go on into the
    /// stack. Call it on the sending host; it lasts until the generator is dropped.
    ///
    /// # Panics
    /// When the interface has another XDP program, and in the machine's own namespace.
    #[track_caller]
    pub fn attach_own(&mut self) {
        refuse_this_machine();
        self.own = Some(self.program.attach(self.options.out));
    }

    /// Hands exactly `count` frames to the kernel, at `rate_pps` or as fast as it goes, waits until
    /// each has arrived or was dropped (2 s for one that vanished), and tells how many did. Call
    /// it on the sending host.
    ///
    /// A rate is kept by absolute times, in groups of about 200 µs' worth; after a delay what is
    /// overdue goes out at once.
    ///
    /// # Panics
    /// When the kernel refuses.
    #[track_caller]
    pub fn send(&mut self, count: u64, rate_pps: Option<u64>) -> Sent {
        refuse_this_machine();
        let before = self.counts();
        let duration = self.submit(count, rate_pps);
        Sent {
            duration,
            ..self.settle(&before)
        }
    }

    /// Sends until exactly `count` frames have arrived: what was dropped is replaced. The sum of
    /// all rounds is returned.
    ///
    /// # Panics
    /// As [`Generator::send`], when frames vanish, and when 1000 rounds are not enough.
    #[track_caller]
    pub fn deliver(&mut self, count: u64, rate_pps: Option<u64>) -> Sent {
        let mut sum = Sent::default();
        for _ in 0..ROUNDS {
            if sum.delivered == count {
                return sum;
            }
            let round = self.send(count - sum.delivered, rate_pps);
            assert_eq!(
                round.delivered + round.dropped,
                round.submitted,
                "{round:?}: the interface is down or its peer takes no redirected frames"
            );
            sum.submitted += round.submitted;
            sum.delivered += round.delivered;
            sum.dropped += round.dropped;
            sum.duration += round.duration;
        }
        panic!("only {sum:?} of {count} frames were delivered");
    }

    #[track_caller]
    fn submit(&self, count: u64, rate_pps: Option<u64>) -> Duration {
        let start_ns = monotonic_ns();
        let mut sent = 0;
        while sent < count {
            let due = match rate_pps.map(Pace::new) {
                None => count,
                Some(pace) => {
                    sleep_until(start_ns + pace.wake_ns(sent));
                    pace.due(monotonic_ns() - start_ns).min(count)
                }
            };
            // A sleep that a signal cut short leaves nothing due.
            if due > sent {
                sent += self.call((due - sent).min(CALL_FRAMES));
            }
        }
        Duration::from_nanos(monotonic_ns() - start_ns)
    }

    /// Has the kernel run the program `frames` times; a signal may end that early.
    #[track_caller]
    fn call(&self, frames: u64) -> u64 {
        let before = self.program.runs();
        let run = TestRun {
            data: &self.options.frame,
            repeat: frames as u32,
            flags: BPF_F_TEST_XDP_LIVE_FRAMES,
            batch_frames: self.options.batch_frames,
            ..TestRun::default()
        };
        match self.program.program.test_run(&run, &mut []) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                panic!("the kernel sends no live frames: {error}")
            }
            _ => self.program.runs() - before,
        }
    }

    /// The present counts: runs of the program, arrivals, drops.
    #[track_caller]
    fn counts(&mut self) -> Sent {
        let link = self.netlink.link(self.options.out);
        let link = link.expect("the sending interface").statistics;
        let link = link.expect("the kernel counts");
        Sent {
            submitted: self.program.runs(),
            delivered: match self.peer {
                Some(_) => self.program.received(),
                None => link.tx_packets,
            },
            dropped: link.tx_dropped,
            duration: Duration::ZERO,
        }
    }

    /// Waits until the frames sent since `before` have arrived or were dropped, or no more arrive.
    ///
    /// The receiving queue is emptied by this CPU's softirq or its kernel thread, which needs the
    /// CPU and has no descriptor to wait on, so the CPU is offered between two looks.
    #[track_caller]
    fn settle(&mut self, before: &Sent) -> Sent {
        let mut seen = Sent::default();
        let mut seen_ns = monotonic_ns();
        loop {
            let now = self.counts();
            let sent = Sent {
                submitted: now.submitted - before.submitted,
                delivered: now.delivered - before.delivered,
                dropped: now.dropped - before.dropped,
                duration: Duration::ZERO,
            };
            if sent != seen {
                (seen, seen_ns) = (sent, monotonic_ns());
            }
            let overdue = monotonic_ns() - seen_ns > SETTLE.as_nanos() as u64;
            if sent.delivered + sent.dropped >= sent.submitted || overdue {
                return sent;
            }
            std::thread::yield_now();
        }
    }
}

/// Keeps the calling thread on one CPU.
///
/// # Errors
/// EINVAL when there is no such CPU for this process.
pub fn pin_to_cpu(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(Into::into)
}

#[track_caller]
pub(super) fn refuse_this_machine() {
    refuse_the_machine(&NetNamespace::current().expect("the thread can tell where it is"));
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Sleeps until `CLOCK_MONOTONIC` shows `time_ns`, or a signal comes.
fn sleep_until(time_ns: u64) {
    let time = Timespec {
        tv_sec: (time_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (time_ns % 1_000_000_000).cast_signed(),
    };
    let _ = rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &time);
}
