//! The size of rings that no flag gives: by the rate of the interface and by the memory that is left.

use std::fs;

use serde_json::{Value, json};
use tapline::capture::{CaptureOptions, DROP_BUFFER_BYTES, Mode};

use super::source;
use crate::args::CaptureArgs;
use crate::process::memory;
use crate::values::units::binary;

/// Ring size of each interface that comes and goes.
const HOTPLUG_BYTES: usize = 4 << 20;

/// The rate for which the usual sizes are. Faster interfaces get larger rings.
pub const USUAL_MBPS: u64 = 10_000;

/// How many times the usual size a ring of a fast interface gets at most.
const GROWTH_MAX: u64 = 8;

/// All rings together take at most this part of the available memory.
const MEMORY_SHARE: u64 = 4;

/// A smaller ring is not worth it.
const LEAST_BYTES: u64 = 1 << 20;

/// The ring size of each interface, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferChoice {
    pub bytes: usize,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Flag,
    Usual,
    Rate { mbps: u64 },
    Memory { available: u64 },
}

impl BufferChoice {
    /// The size of `--buffer`, or one that suits the interfaces and the machine.
    pub fn new(args: &CaptureArgs) -> Self {
        if let Some(bytes) = args.buffer {
            return Self {
                bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
                reason: Reason::Flag,
            };
        }
        let is_hotplug = source::namespaces(&args.netns, &args.interface).is_some();
        let usual = match args.mode.mode {
            Mode::Drop => DROP_BUFFER_BYTES,
            _ if is_hotplug => HOTPLUG_BYTES,
            _ => CaptureOptions::default().buffer_bytes,
        };
        // How many interfaces come is not known.
        let fastest = args
            .interface
            .iter()
            .filter_map(|name| speed_mbps(name))
            .max();
        let fastest = fastest.filter(|_| !is_hotplug).unwrap_or(0);
        let available = memory::available_bytes();
        Self::choose(usual, fastest, available, args.interface.len().max(1))
    }

    fn choose(usual: usize, mbps: u64, available: Option<u64>, interfaces: usize) -> Self {
        let growth = mbps.div_ceil(USUAL_MBPS).clamp(1, GROWTH_MAX);
        let wanted = usual as u64 * growth;
        let share = available.map_or(u64::MAX, |bytes| {
            (bytes / MEMORY_SHARE / interfaces as u64).max(LEAST_BYTES)
        });
        let reason = match available {
            Some(available) if share < wanted => Reason::Memory { available },
            _ if growth > 1 => Reason::Rate { mbps },
            _ => Reason::Usual,
        };
        // Whole megabytes: other sizes look like a mistake.
        let bytes = wanted.min(share) >> 20 << 20;
        Self {
            bytes: bytes as usize,
            reason,
        }
    }

    /// Why it is not the usual size, for people; empty if it is.
    pub fn words(self) -> String {
        match self.reason {
            Reason::Flag | Reason::Usual => String::new(),
            Reason::Rate { mbps } => format!("; for {} Gbit/s", mbps / 1000),
            Reason::Memory { available } => {
                let available = binary(usize::try_from(available).unwrap_or(usize::MAX));
                format!("; {available} of memory are available")
            }
        }
    }

    pub fn json(self) -> Value {
        let (reason, mbps, available) = match self.reason {
            Reason::Flag => ("flag", None, None),
            Reason::Usual => ("usual", None, None),
            Reason::Rate { mbps } => ("rate", Some(mbps), None),
            Reason::Memory { available } => ("memory", None, Some(available)),
        };
        json!({"bytes": self.bytes, "reason": reason, "speed_mbps": mbps, "available_bytes": available})
    }
}

/// The rate of an interface in Mbit/s, as its driver says. `None` if it has none, as `lo`.
pub fn speed_mbps(interface: &str) -> Option<u64> {
    let is_plain = !interface.contains('/') && interface != "..";
    let text = is_plain.then(|| fs::read_to_string(format!("/sys/class/net/{interface}/speed")));
    text?.ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_grow_with_the_rate_and_shrink_with_the_memory() {
        const MIB: usize = 1 << 20;
        let choose = |mbps, available: Option<u64>, interfaces| {
            let choice =
                BufferChoice::choose(128 * MIB, mbps, available.map(|mib| mib << 20), interfaces);
            (
                choice.bytes / MIB,
                choice.json()["reason"].clone(),
                choice.words(),
            )
        };
        let usual = (128, "usual".into(), String::new());
        for (mbps, available, interfaces) in
            [(0, None, 1), (10_000, Some(512), 1), (1_000, Some(1024), 2)]
        {
            assert_eq!(choose(mbps, available, interfaces), usual);
        }
        for (mbps, bytes) in [(25_000, 384), (40_000, 512), (800_000, 1024)] {
            let words = format!("; for {} Gbit/s", mbps / 1000);
            assert_eq!(choose(mbps, None, 1), (bytes, "rate".into(), words));
        }
        for (mbps, available, interfaces, bytes) in [
            (0, 510, 1, 127),
            (100_000, 1000, 1, 250),
            (0, 512, 2, 64),
            (0, 0, 1, 1),
        ] {
            let (chosen, reason, words) = choose(mbps, Some(available), interfaces);
            assert_eq!((chosen, reason), (bytes, "memory".into()));
            assert!(words.ends_with(" of memory are available"), "{words}");
        }
    }
}
