//! How many readers a capture has if no flag says it: by the rate of the interface and by the CPUs that are free.
//!
//! Several readers that merge into one file take more CPU time per packet than one, and one takes millions of packets per second. So
//! several are worth it where one cannot keep up, which the rate of the interface tells in advance.

use std::fs;

use serde_json::{Value, json};
use tapline::capture::{CaptureOptions, ReaderOptions, TimestampSource};

use super::files;
use crate::args::CaptureArgs;
use crate::capture::buffer::{USUAL_MBPS, speed_mbps};
use crate::capture::source;
use crate::failure::Failure;
use crate::output;

/// The readers of a capture, and why.
#[derive(Clone, Debug)]
pub struct ReaderChoice {
    /// `None`: a single one.
    pub readers: Option<ReaderOptions>,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Flag,
    /// One is enough, or suits the flags.
    Usual,
    /// Several for an interface of this rate.
    Rate {
        mbps: u64,
    },
    /// One for an interface of this rate, because the CPUs are busy.
    Busy {
        mbps: u64,
    },
}

impl ReaderChoice {
    /// The readers of `--queues`, or what suits a capture with `options`.
    pub fn new(args: &CaptureArgs, options: &CaptureOptions) -> Result<Self, Failure> {
        if args.readers.queues.is_some() {
            return Ok(Self {
                readers: files::options(args, options)?,
                reason: Reason::Flag,
            });
        }
        let fastest = args.interface.iter().filter_map(|name| speed_mbps(name));
        let queues = args.interface.iter().map(|name| queue_count(name));
        let (mbps, queues) = (fastest.max().unwrap_or(0), queues.max().unwrap_or(0));
        if !gains(mbps, queues) || !suits_several(args, options) {
            return Ok(Self::one(Reason::Usual));
        }
        // Whoever opens the interface says what is wrong with it.
        let automatic = ReaderOptions::automatic(options).ok().flatten();
        Ok(match automatic {
            Some(readers) => Self {
                readers: Some(readers),
                reason: Reason::Rate { mbps },
            },
            None => Self::one(Reason::Busy { mbps }),
        })
    }

    fn one(reason: Reason) -> Self {
        Self {
            readers: None,
            reason,
        }
    }

    /// A single reader, if several were chosen and no flag asked for them.
    pub fn without_several(&self) -> Option<Self> {
        matches!(self.reason, Reason::Rate { .. }).then(|| Self::one(Reason::Usual))
    }

    pub fn json(&self) -> Value {
        let (reason, mbps) = match self.reason {
            Reason::Flag => ("flag", None),
            Reason::Usual => ("usual", None),
            Reason::Rate { mbps } => ("rate", Some(mbps)),
            Reason::Busy { mbps } => ("busy", Some(mbps)),
        };
        json!({"reason": reason, "speed_mbps": mbps})
    }

    /// Why there are several, or not, where that is no matter of flags.
    pub fn line(&self) -> Option<String> {
        match self.reason {
            Reason::Flag | Reason::Usual => None,
            Reason::Rate { mbps } => Some(format!(
                "several readers for an interface of {} Gbit/s (--queues 1 has one)",
                mbps / 1000
            )),
            Reason::Busy { mbps } => Some(format!(
                "one reader for an interface of {} Gbit/s, because the other CPUs are busy (--queues 2 has two)",
                mbps / 1000
            )),
        }
    }
}

/// Whether several readers can take more than one from the interface.
fn gains(mbps: u64, queues: usize) -> bool {
    mbps > USUAL_MBPS && queues > 1
}

/// Whether several readers do what the flags ask for, and nobody waits for single packets.
fn suits_several(args: &CaptureArgs, options: &CaptureOptions) -> bool {
    let path = args.output.write.as_deref();
    let is_into_file = path.is_some_and(|path| !output::is_stdout(path));
    let stays = source::namespaces(&args.netns, &args.interface).is_none();
    let is_short = args.count.is_some();
    let is_one_stream = args.who || args.own_sockets || args.record.record.is_some();
    let may_lack_clock = options.timestamps == TimestampSource::Hardware;
    let changes_device = !args.ethtool.is_empty() || args.mode.busy_poll.is_some();
    is_into_file && stays && !(is_short || is_one_stream || may_lack_clock || changes_device)
}

/// Receive queues of an interface; 0 if it has none.
fn queue_count(interface: &str) -> usize {
    let is_plain = !interface.contains('/') && interface != "..";
    let queues = is_plain.then(|| fs::read_dir(format!("/sys/class/net/{interface}/queues")));
    let Some(Ok(queues)) = queues else {
        return 0;
    };
    let names = queues.flatten().map(|queue| queue.file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with("rx-"))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_readers_are_for_fast_interfaces_with_several_queues() {
        let table = [
            (0, 64, false),
            (10_000, 64, false),
            (25_000, 1, false),
            (25_000, 2, true),
            (400_000, 64, true),
        ];
        for (mbps, queues, expected) in table {
            assert_eq!(
                gains(mbps, queues),
                expected,
                "{mbps} Mbit/s, {queues} queues"
            );
        }
    }

    #[test]
    fn the_reason_is_reported() {
        let rate = ReaderChoice {
            readers: Some(ReaderOptions::default()),
            reason: Reason::Rate { mbps: 100_000 },
        };
        assert_eq!(
            rate.json(),
            json!({"reason": "rate", "speed_mbps": 100_000})
        );
        assert!(rate.line().is_some_and(|line| line.contains("100 Gbit/s")));
        let one = rate.without_several().expect("one");
        assert_eq!(one.json(), json!({"reason": "usual", "speed_mbps": null}));
        assert!(one.without_several().is_none() && one.line().is_none());
        let busy = ReaderChoice::one(Reason::Busy { mbps: 25_000 });
        assert!(
            busy.line()
                .is_some_and(|line| line.starts_with("one reader for"))
        );
    }
}
