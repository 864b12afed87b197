//! What became of the packets.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use probe::Histogram;

use super::options::SendPath;

/// The result of a send job. Displayed, it is the account in one line:
/// `1000 packets submitted = 1000 accepted + 0 failed, 1000 delivered`.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct SendSummary {
    /// Packets that the job tried to send.
    pub submitted: u64,
    /// Packets that the kernel took.
    pub accepted: u64,
    /// The accepted packets that were sent on the second interface; `None` without one.
    pub second_accepted: Option<u64>,
    /// Bytes of the accepted packets, from the link-layer header on, without FCS.
    pub bytes: u64,
    /// Packets that the device sent, by its own counters. `None` if the device counts none, or if others sent
    /// packets on it meanwhile.
    pub delivered: Option<u64>,
    /// Accepted packets that the queueing discipline `etf` dropped, since their time had passed. 0 on other paths.
    pub missed: u64,
    /// Packets that the kernel refused for good, by error number.
    pub failed: BTreeMap<i32, u64>,
    /// Frames above the MTU that were skipped. They are not submitted.
    pub skipped: u64,
    /// Frames above the MTU that were cut.
    pub truncated: u64,
    /// Sends repeated because the device's queue was full.
    pub retries: u64,
    /// How packets reached the device.
    pub path: SendPath,
    /// From the first packet to the last.
    pub duration: Duration,
    /// By how much the plan was moved, because the sender was more than 20 ms behind it: it was not scheduled, the device was
    /// full, or the source had no packets. Packets of 20 ms follow at once then, and the others later. The most of all
    /// threads. 0 with [`Rate::Absolute`](super::Rate::Absolute), which is never moved.
    pub postponed: Duration,
    /// From the planned time of each packet to the system call that sent it. Empty without pacing. It is 0 where the call
    /// comes first and the packet waits in the kernel until its planned time.
    pub lateness: Histogram,
    /// From the planned times of some packets to the time stamps that the kernel made when the driver took them, for at most
    /// 1000 packets per second and thread. Empty without pacing, if packets went out together, and where the path or the
    /// driver makes no stamps.
    pub stamped_lateness: Histogram,
    /// The job was stopped before all packets were sent.
    pub is_stopped: bool,
}

impl SendSummary {
    /// Packets that the kernel refused for good.
    pub fn all_failed(&self) -> u64 {
        self.failed.values().sum()
    }
}

impl fmt::Display for SendSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} packets submitted = {} accepted + {} failed, ",
            self.submitted,
            self.accepted,
            self.all_failed()
        )?;
        match self.delivered {
            Some(delivered) => write!(f, "{delivered} delivered"),
            None => f.write_str("delivered unknown"),
        }
    }
}
