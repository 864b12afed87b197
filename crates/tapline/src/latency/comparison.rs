//! Several settings at once on the same traffic.

use std::thread;
use std::time::Duration;

use abi::process::thread_usage;

use super::delays::Delays;
use super::meter::Meter;
use super::setting::Setting;
use crate::capture::{Backend, Capture, CaptureError, Outcome};
use crate::stop::Stop;

/// What one setting came to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Row {
    /// The name of the setting.
    pub name: String,
    /// How the packets crossed the kernel border.
    pub backend: Backend,
    /// Size of the rings' memory, bytes.
    pub buffer_bytes: usize,
    /// The delays of its packets.
    pub delays: Delays,
    /// Processor time of its reader, which sleeps when nothing comes.
    pub cpu: Duration,
    /// Times its reader slept.
    pub sleeps: u64,
    /// How its capture ended, and its account.
    pub outcome: Outcome,
}

impl Row {
    /// The share of a processor that the reader took, 0 to 1.
    pub fn cpu_share(&self) -> f64 {
        self.cpu.as_secs_f64() / self.outcome.duration.as_secs_f64().max(1e-9)
    }

    /// Sleeps of the reader in a second.
    pub fn sleeps_per_s(&self) -> f64 {
        self.sleeps as f64 / self.outcome.duration.as_secs_f64().max(1e-9)
    }
}

/// Captures with different settings, all of them open.
///
/// Each costs the kernel the work of handing it every packet, which delays the others a little.
pub struct Comparison {
    open: Vec<(String, Capture)>,
}

impl Comparison {
    /// Opens a capture for each of `settings`: packets gather in their rings from here on.
    ///
    /// # Errors
    /// As [`Capture::open`].
    /// # Privileges
    /// As [`Capture::open`].
    pub fn open(settings: Vec<Setting>) -> Result<Self, CaptureError> {
        let open = |setting: Setting| Ok((setting.name, Capture::open(setting.options)?));
        let open: Result<Vec<_>, CaptureError> = settings.into_iter().map(open).collect();
        Ok(Self { open: open? })
    }

    /// Has each capture read by a thread of its own until `stop` or its own limits end it. Blocks until
    /// the threads have ended; their rows come in the order of the settings.
    ///
    /// # Panics
    /// When a thread cannot be started.
    pub fn run(self, stop: &Stop) -> Vec<Row> {
        thread::scope(|scope| {
            let running: Vec<_> = self
                .open
                .into_iter()
                .map(|(name, capture)| scope.spawn(|| measure(name, capture, stop)))
                .collect();
            // A reader that panics is not to look like one that saw nothing.
            let join = |reader: thread::ScopedJoinHandle<'_, Row>| match reader.join() {
                Ok(row) => row,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            running.into_iter().map(join).collect()
        })
    }
}

fn measure(name: String, capture: Capture, stop: &Stop) -> Row {
    let first = capture.links().next();
    let backend = first.map_or(Backend::PacketV3, |link| link.backend);
    let buffer_bytes = capture.links().map(|link| link.buffer_bytes).sum();
    let mut meter = Meter::new(());
    let before = thread_usage();
    let outcome = capture.run(&mut meter, stop);
    let after = thread_usage();
    Row {
        name,
        backend,
        buffer_bytes,
        delays: meter.delays,
        cpu: after.cpu.saturating_sub(before.cpu),
        sleeps: after.waits - before.waits,
        outcome,
    }
}
