//! What happens in a run.

use std::io;

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
}

impl<F: FnMut(&Event<'_>, &Prober)> Observer for F {
    fn event(&mut self, event: &Event<'_>, prober: &Prober) {
        self(event, prober);
    }
}
