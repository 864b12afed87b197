//! Keeps idle CPUs awake while packets are sent at short gaps, so that timers interrupt them sooner.

use std::fs::{File, OpenOptions};
use std::io::Write;

/// The file in which a program asks for a largest latency of idle CPUs, as a 32-bit number of microseconds. The request ends
/// with the descriptor, so also when the process is killed.
const LATENCY_FILE: &str = "/dev/cpu_dma_latency";

/// CPUs stay awake for gaps up to this. It costs power, and waking up matters less for longer gaps.
const MAX_GAP_NS: u64 = 2_000_000;

/// Sleeps before the request: a few packets are not worth it.
const MIN_SLEEPS: u32 = 8;

/// Whether idle CPUs stay awake. A halted CPU, above all a virtual one, takes microseconds to tens of them to wake up.
///
/// # Source
/// Documentation/power/pm_qos_interface.rst.
#[derive(Debug, Default)]
pub struct AwakeCpus {
    request: Option<File>,
    /// Since the last end, counted up to [`MIN_SLEEPS`].
    sleeps: u32,
    /// Only root may ask, and not every kernel has the file.
    is_refused: bool,
}

impl AwakeCpus {
    /// Before a sleep: asks for it if the gaps are short, and ends it if they are long.
    pub fn adapt(&mut self, gap_ns: u64) {
        if gap_ns == 0 || gap_ns > MAX_GAP_NS {
            self.end();
        } else if self.sleeps < MIN_SLEEPS {
            self.sleeps += 1;
        } else if self.request.is_none() && !self.is_refused {
            self.request = request();
            self.is_refused = self.request.is_none();
        }
    }

    pub fn end(&mut self) {
        self.request = None;
        self.sleeps = 0;
    }
}

fn request() -> Option<File> {
    let mut file = OpenOptions::new().write(true).open(LATENCY_FILE).ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}
