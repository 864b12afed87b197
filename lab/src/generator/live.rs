//! The fast generator, based on XDP live frames.

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

/// Maximum frames per system call: the width of the kernel's field.
const CALL_FRAMES: u64 = u32::MAX as u64;
/// How long to wait for in-flight frames on a veth while none arrives.
const SETTLE: Duration = Duration::from_secs(2);
/// Maximum number of rounds that resend dropped frames.
const ROUNDS: u32 = 1000;

/// Frame counts of a send. Frames in neither `delivered` nor `dropped` were lost: the interface is down or its peer
/// does not accept redirected frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames passed to the kernel.
    pub submitted: u64,
    /// Frames that reached the peer.
    pub delivered: u64,
    /// Frames dropped because the peer's queue was full.
    pub dropped: u64,
    /// Time from the first to the last frame passed to the kernel.
    pub duration: Duration,
}

impl Sent {
    /// Delivered packets per second.
    pub fn delivered_pps(&self) -> f64 {
        self.delivered as f64 / self.duration.as_secs_f64()
    }
}

/// Sends copies of one frame at full speed or at a fixed rate.
///
/// The receiving driver and stack run on the same CPU, between batches.
///
/// Every method panics on failure, so that the panic points to the line of the test.
#[derive(Debug)]
pub struct Generator {
    options: GeneratorOptions,
    netlink: Netlink,
    program: LiveProgram,
    peer: Option<XdpLink>,
    /// Keeps the program attached to an interface, which makes test runs cheap.
    own: Option<XdpLink>,
}

impl Generator {
    /// Loads the generator's program. Call it on the sending host.
    ///
    /// # Panics
    /// Without root, on kernels before Linux 5.18, and in the machine's own namespace.
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

    /// Makes interface `peer`, the other end of the link, accept the generator's frames and counts them there. All
    /// frames continue into the stack. Call it on the receiving host. The program stays attached until the generator is
    /// dropped.
    ///
    /// Not needed if the interface already has an XDP program or GRO. In that case `delivered` is the sending
    /// interface's transmit count, which includes other traffic. Each run (each group, at a fixed rate) then takes
    /// about 25 ms longer unless [`attach_own`](Self::attach_own) is used.
    ///
    /// # Panics
    /// If the interface has another XDP program, and in the machine's own namespace.
    #[track_caller]
    pub fn attach_peer(&mut self, peer: IfIndex) {
        refuse_this_machine();
        self.peer = Some(self.program.attach(peer));
    }

    /// Makes runs as cheap as with [`attach_peer`](Self::attach_peer) when the peer has its own XDP program. Attaches
    /// the generator's program to the sending interface; packets received there continue into the stack. Call it on the
    /// sending host. The program stays attached until the generator is dropped.
    ///
    /// # Panics
    /// If the interface has another XDP program, and in the machine's own namespace.
    #[track_caller]
    pub fn attach_own(&mut self) {
        refuse_this_machine();
        self.own = Some(self.program.attach(self.options.out));
    }

    /// Passes exactly `count` frames to the kernel, at `rate_pps` or at full speed. Waits until each frame has arrived
    /// or was dropped (at most 2 s for lost frames) and returns the counts. Call it on the sending host.
    ///
    /// A rate is kept by absolute times, in groups of about 200 µs. After a delay, overdue frames are sent at once.
    ///
    /// # Panics
    /// If the kernel reports an error.
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

    /// Sends until exactly `count` frames have arrived, replacing dropped frames. Returns the sum of all rounds.
    ///
    /// # Panics
    /// As [`Generator::send`], if frames are lost, and if 1000 rounds are not enough.
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
            // After a signal ends the sleep early, there may be nothing to send.
            if due > sent {
                sent += self.call((due - sent).min(CALL_FRAMES));
            }
        }
        Duration::from_nanos(monotonic_ns() - start_ns)
    }

    /// Makes the kernel run the program `frames` times. A signal may end the run early.
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

    /// Returns the current counts: program runs, arrivals, drops.
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
    /// This CPU's softirq or its kernel thread empties the receiving queue. There is no descriptor to wait on, so this
    /// thread yields the CPU between two reads of the counters.
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

/// Pins the calling thread to one CPU.
///
/// # Errors
/// EINVAL if this process cannot use such a CPU.
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

/// Sleeps until `CLOCK_MONOTONIC` reaches `time_ns`, or until a signal.
fn sleep_until(time_ns: u64) {
    let time = Timespec {
        tv_sec: (time_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (time_ns % 1_000_000_000).cast_signed(),
    };
    let _ = rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &time);
}
