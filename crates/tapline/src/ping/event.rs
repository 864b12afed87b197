//! What happens in a run.

use std::io;
use std::time::Duration;

use probe::{Message, Probe, Prober, Verdict};

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A probe was handed over to the kernel.
    Sent {
        /// The probe.
        probe: Probe,
    },
    /// This host did not send a probe.
    Dropped {
        /// The probe.
        probe: Probe,
        /// Why.
        error: &'a io::Error,
    },
    /// A message came and was counted.
    Answer {
        /// What it is.
        verdict: Verdict,
        /// What it says.
        message: Message<'a>,
        /// When it came, nanoseconds of `CLOCK_REALTIME`.
        wall_ns: Option<u64>,
    },
    /// A probe's time is over.
    Lost {
        /// The probe.
        probe: Probe,
    },
    /// The wall clock was set: answers that came at that moment are not timed.
    ClockStep {
        /// By how much, nanoseconds.
        by_ns: i64,
    },
    /// The time between two ticks is over.
    Tick {
        /// Answers that the kernel has dropped up to now because they were not read in time; `None` when it does not
        /// say.
        overruns: Option<u64>,
    },
}

/// Is told what happens, in the thread of the run.
pub trait Observer {
    /// Something happened; `prober` knows everything up to now.
    fn event(&mut self, event: &Event<'_>, prober: &Prober);

    /// How long after its probe was sent an answer may be told of that came before; half of the timeout at most.
    ///
    /// [`Pinger::run`](super::Pinger::run), which asks at its start, then reads answers of up to eight probes at once,
    /// where the next probe is due before. They are stamped already: no figure changes by it, but that where the wall
    /// clock is set all that are unread are not timed. Before losses, ticks and the end all are read.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}

impl<F: FnMut(&Event<'_>, &Prober)> Observer for F {
    fn event(&mut self, event: &Event<'_>, prober: &Prober) {
        self(event, prober);
    }
}
