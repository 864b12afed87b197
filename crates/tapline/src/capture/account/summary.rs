//! The summary of a capture: why it ended, and what became of the packets.

use std::error::Error;
use std::fmt;
use std::io;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use bpf::socket_filter::CountingFilterError;
use bpf::{XdpAttachError, XdpMode};
use ring::{BlockLayout, DeviceClockState, InterfaceInfo, TimestampSource};

use super::super::plan::backend::{Backend, FallBack, FilterPlace};
use super::loss_account::Account;
use super::reader_time::ReaderTime;
use super::stamp_counts::TimestampCounts;
use crate::hwtstamp::StampError;

/// Why a capture ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ended {
    /// It was stopped or finished.
    Stopped,
    /// The packet limit was reached.
    Packets,
    /// The time limit was reached.
    Duration,
    /// An interface went down.
    LinkDown {
        /// Its name.
        link: String,
    },
    /// An interface was removed.
    LinkRemoved {
        /// Its name.
        link: String,
    },
    /// All network namespaces of the capture were deleted.
    NamespaceRemoved,
    /// The consumer failed.
    Consumer(Box<dyn Error + Send + Sync>),
    /// Waiting for packets failed.
    Wait(io::Error),
}

impl Ended {
    /// Whether the job failed, as opposed to ending because of a limit, a stop or an interface.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Consumer(_) | Self::Wait(_))
    }
}

/// How the AF_XDP sockets of an interface receive, as the kernel granted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sockets {
    /// The driver of each queue receives straight into the packet memory. Otherwise packets are copied.
    #[doc(alias = "XDP_ZEROCOPY")]
    pub zero_copy: bool,
    /// The kernel signals when it needs a wake-up, so that it is not called otherwise.
    #[doc(alias = "XDP_USE_NEED_WAKEUP")]
    pub need_wakeup: bool,
    /// Budget of busy polling: packets that the driver handles in one round. `None` without busy polling.
    #[doc(alias = "SO_BUSY_POLL_BUDGET")]
    pub busy_poll: Option<NonZeroU16>,
}

impl Sockets {
    /// What is true of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            zero_copy: self.zero_copy && other.zero_copy,
            need_wakeup: self.need_wakeup && other.need_wakeup,
            busy_poll: self.busy_poll.and(other.busy_poll),
        }
    }
}

/// An interface of an open capture.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenInterface<'c> {
    /// Its name, index and link type.
    pub link: &'c InterfaceInfo,
    /// How its packets cross from the kernel.
    pub backend: Backend,
    /// Number of its rings.
    pub rings: usize,
    /// Memory of all its rings, bytes.
    pub buffer_bytes: usize,
    /// The blocks of its rings, which are alike, and why they have their size; `None` unless the back end is
    /// [`Backend::PacketV3`].
    pub blocks: Option<BlockLayout>,
    /// Where its filter runs; `None` without one.
    pub filter: Option<FilterPlace>,
    /// Where its XDP program runs, if there is one.
    pub xdp_mode: Option<XdpMode>,
    /// How its AF_XDP sockets receive, if there are any.
    pub sockets: Option<Sockets>,
    /// Why it uses AF_XDP sockets although shared memory would suit the options.
    pub fall_back: Option<FallBack>,
    /// Why the XDP program does not run in the driver, if that was tried first.
    pub native_refusal: Option<&'c XdpAttachError>,
    /// Source of its time stamps.
    pub timestamps: TimestampSource,
    /// Why that is not the hardware, if it was tried first.
    pub timestamp_refusal: Option<&'c StampError>,
    /// The end of the capture restores which packets it stamps in hardware, or settings of its device. Requires
    /// `CAP_NET_ADMIN` then.
    pub restores_settings: bool,
}

/// The account of one interface. Packets that the consumer lost after it took them are known for all
/// interfaces together only; with several interfaces they count as delivered here.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InterfaceAccount {
    /// Name of the interface.
    pub name: String,
    /// What became of its packets.
    pub account: Account,
    /// How its packets crossed from the kernel.
    pub backend: Backend,
    /// Where its filter ran; `None` without one.
    pub filter: Option<FilterPlace>,
    /// Number of its rings.
    pub rings: usize,
    /// Where its XDP program ran, if there was one.
    pub xdp_mode: Option<XdpMode>,
    /// How its AF_XDP sockets received, if there were any.
    pub sockets: Option<Sockets>,
    /// Why it used AF_XDP sockets although shared memory would have suited the options.
    pub fall_back: Option<FallBack>,
    /// Why the XDP program did not run in the driver, if that was tried first.
    pub native_refusal: Option<Arc<XdpAttachError>>,
    /// Why the filter did not count refused packets. [`Account::filtered`] is unknown then.
    pub uncounted: Option<Arc<CountingFilterError>>,
    /// Selected source of its time stamps.
    pub timestamps: TimestampSource,
    /// Delivered packets by the source of their time stamps.
    pub timestamp_counts: TimestampCounts,
    /// Why the hardware did not stamp packets, if it was to.
    pub timestamp_refusal: Option<Arc<StampError>>,
    /// The clock behind hardware time stamps, as it was last read.
    pub device_clock: Option<DeviceClockState>,
}

impl InterfaceAccount {
    /// The account of an interface that continued with another back end, which has the account `next`.
    pub(in super::super) fn followed_by(self, next: Self) -> Self {
        Self {
            account: [self.account, next.account].into_iter().sum(),
            timestamp_counts: self.timestamp_counts + next.timestamp_counts,
            ..next
        }
    }
}

/// The result of a capture. Displayed, it is the account in one line:
/// `120 packets received = 100 delivered + 20 filtered + 0 lost`.
#[derive(Debug)]
#[non_exhaustive]
#[must_use]
pub struct CaptureSummary {
    /// Why it ended.
    pub ended: Ended,
    /// What became of the packets.
    pub account: Account,
    /// The same by interface.
    pub links: Vec<InterfaceAccount>,
    /// From the opening of the rings to the end of reception.
    pub duration: Duration,
    /// CPU time of the reader thread, or of all readers and the merger; `None` if the kernel does not report it.
    pub reader_time: Option<ReaderTime>,
    /// The readers of a [`ParallelCapture`](super::super::ParallelCapture); empty with a single one.
    pub readers: Vec<ReaderAccount>,
    /// The receive queues that were not read, if only some were selected. Their packets are in no account.
    pub unread_queues: Vec<u32>,
    /// How the packets of several readers were merged; `None` with a single one or with several files.
    pub merge: Option<MergeSummary>,
}

/// The account of one of several readers. Packets that the file lost after it accepted them count as delivered here.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReaderAccount {
    /// The receive queue that it alone read, if that is known.
    pub queue: Option<u32>,
    /// The CPU on which it ran.
    pub cpu: usize,
    /// What became of its packets. The first reader has the losses of interface and driver, and in drop mode what the XDP
    /// program counted for queues and CPUs that no reader has.
    pub account: Account,
    /// Packets that were written after younger ones of other readers.
    pub late: u64,
    /// Its CPU time; `None` if the kernel does not report it.
    pub time: Option<ReaderTime>,
}

/// How the packets of several readers were merged into one file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MergeSummary {
    /// Packets that were written after younger ones.
    pub late: u64,
    /// Most memory for packets that wait for older ones, bytes.
    pub memory_bytes: usize,
    /// Longest time for which a packet waits for older ones.
    pub max_delay: Duration,
    /// CPU time of the merging thread; `None` if the kernel does not report it.
    pub time: Option<ReaderTime>,
}

impl CaptureSummary {
    /// Where the filter ran: split if it was on any interface, `None` without one.
    pub fn filter(&self) -> Option<FilterPlace> {
        let mut places = self.links.iter().filter_map(|link| link.filter);
        let first = places.next()?;
        let is_split = |place| place == FilterPlace::Split;
        Some(if is_split(first) || places.any(is_split) {
            FilterPlace::Split
        } else {
            FilterPlace::Kernel
        })
    }

    /// Delivered packets by the source of their time stamps.
    pub fn timestamp_counts(&self) -> TimestampCounts {
        let counts = self.links.iter().map(|link| link.timestamp_counts);
        counts.fold(TimestampCounts::default(), |sum, counts| sum + counts)
    }

    /// The source of all time stamps; `None` if packets have several. Without packets, the selected one.
    pub fn timestamp_source(&self) -> Option<TimestampSource> {
        let counts = self.timestamp_counts();
        if counts.total() > 0 {
            return counts.source();
        }
        let mut selected = self.links.iter().map(|link| link.timestamps);
        let first = selected.next().unwrap_or(TimestampSource::Kernel);
        selected.all(|source| source == first).then_some(first)
    }

    /// Number of rings of all interfaces.
    pub fn rings(&self) -> usize {
        self.links.iter().map(|link| link.rings).sum()
    }

    /// How the AF_XDP sockets of all interfaces received; `None` if there were none.
    pub fn sockets(&self) -> Option<Sockets> {
        let sockets = self.links.iter().filter_map(|link| link.sockets);
        sockets.reduce(Sockets::and)
    }

    /// Why AF_XDP sockets were used although shared memory would have suited the options: of the first
    /// interface with a reason.
    pub fn fall_back(&self) -> Option<FallBack> {
        self.links.iter().find_map(|link| link.fall_back)
    }

    /// Why an XDP program did not run in the driver: of the first interface with a reason.
    pub fn native_refusal(&self) -> Option<&XdpAttachError> {
        (self.links.iter()).find_map(|link| link.native_refusal.as_deref())
    }

    /// Where the XDP programs ran: generic if one did, `None` if there were none.
    pub fn xdp_mode(&self) -> Option<XdpMode> {
        let mut modes = self.links.iter().filter_map(|link| link.xdp_mode);
        let first = modes.next()?;
        Some(if modes.any(|mode| mode == XdpMode::Generic) {
            XdpMode::Generic
        } else {
            first
        })
    }
}

impl fmt::Display for CaptureSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Account {
            delivered,
            filtered,
            lost,
            ..
        } = self.account;
        let known = |count: Option<u64>| count.map_or("unknown".to_owned(), |n| n.to_string());
        write!(
            f,
            "{} packets received = {delivered} delivered + {} filtered + {} lost",
            known(self.account.received()),
            known(filtered),
            lost.total(),
        )?;
        let mut separator = " (";
        for (place, count) in lost.places() {
            if count != Some(0) {
                write!(f, "{separator}{place} {}", known(count))?;
                separator = ", ";
            }
        }
        if separator == ", " {
            f.write_str(")")?;
        }
        Ok(())
    }
}
