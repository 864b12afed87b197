//! Whether there is memory for a run: a machine that has none left ends programs of others.

use std::fs;

use tapline::probe::Forecast;

use crate::failure::{Exit, Failure};
use crate::units::{amount, grouped};

/// Refuses a run whose statistics do not fit.
pub fn refuse_too_large(forecast: &Forecast) -> Result<(), Failure> {
    match available_bytes() {
        Some(bytes) if bytes < forecast.memory_bytes => {
            let targets = grouped(forecast.targets.into());
            let [wanted, bytes] = [forecast.memory_bytes, bytes].map(|bytes| amount(bytes as f64));
            let line = format!(
                "the statistics of {targets} targets take {wanted}B of memory, and {bytes}B are available"
            );
            Err(Failure::new(Exit::Failed, line))
        }
        _ => Ok(()),
    }
}

/// What can be had without taking it from anybody; `None` when the kernel does not say.
///
/// # Source
/// `MemAvailable` in proc_meminfo(5).
fn available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}
