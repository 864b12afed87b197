//! The handle that changes a running capture.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bpf::Sampling;
use ring::{DeliveryMode, DirectionFilter, RingOpenError, RingOptionError};

use super::super::plan::mode::Mode;
use super::error::ChangeError;
use super::messages::{Message, MessageSender};
use super::pending::PendingChanges;
use super::requested::Change;
use super::settings::RunningSettings;
use crate::packet_filter::Filter;

/// Changes delivery, buffer and filter of a running capture, from any thread. Clones change the same capture. No
/// packet is lost or repeated by a change.
///
/// Where a ring has to be replaced, another one is opened beside it and takes over. Packets of the old ring
/// are delivered first.
///
/// A process that forks keeps the old ring alive until the child calls execve(2). The next change waits for that, a second at most,
/// and is refused afterwards ([`RingOpenError::Busy`]). Changes of several readers are not refused then, and lose packets.
///
/// The packet rings of several readers are replaced together. Their buffer is that of the whole interface.
///
/// A change of a [`HotplugCapture`](super::super::HotplugCapture) reaches each interface, also those that come up later. If one of them
/// refuses it, none is changed; [`set_mode`](Self::set_mode) says what differs. An interface that is going down is passed over.
///
/// | back end | delivery, spin | buffer | stall | filter, snaplen, sampling, direction |
/// |---|---|---|---|---|
/// | TPACKET_V2 | immediate | a second ring of the fanout group takes over | the same | the same |
/// | TPACKET_V3 | a second ring takes over | the same | the same | the same |
/// | ring buffers of XDP | immediate | the program switches to other buffers; refused with several readers | no effect | a second program takes over; [a snaplen above that of the start](ChangeError::LongerSnaplen) and the direction are refused |
/// | shared memory in drop mode | immediate | a second program with other memory takes over; refused with several readers | no effect | a second program takes over; snaplen as the buffer; direction refused |
/// | AF_XDP | immediate | [refused](ChangeError::Fixed) | no effect | a second program takes over; the snaplen changes at once; direction refused |
#[derive(Clone, Debug)]
pub struct Control {
    /// Of all readers.
    pending: Vec<Arc<PendingChanges>>,
    /// Of the interfaces of a hotplug capture, which its only reader reads.
    members: MemberChanges,
    messages: MessageSender,
}

/// The pending changes of interfaces that come and go. Clones share them.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct MemberChanges(Arc<Mutex<Vec<Arc<PendingChanges>>>>);

impl MemberChanges {
    fn list(&self) -> MutexGuard<'_, Vec<Arc<PendingChanges>>> {
        // No panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds those of an interface, and forgets those of captures that are over.
    pub fn add(&self, pending: Arc<PendingChanges>) {
        let mut list = self.list();
        list.retain(|one| !one.is_over());
        list.push(pending);
    }
}

impl Control {
    pub(in super::super) fn new(
        pending: Vec<Arc<PendingChanges>>,
        messages: MessageSender,
    ) -> Self {
        Self {
            pending,
            members: MemberChanges::default(),
            messages,
        }
    }

    /// Of a hotplug capture, with `pending` for its reader.
    pub(in super::super) fn of_group(
        pending: Arc<PendingChanges>,
        members: MemberChanges,
        messages: MessageSender,
    ) -> Self {
        Self {
            pending: vec![pending],
            members,
            messages,
        }
    }

    /// Changes `delivery` and `spin` of [`CaptureOptions`](super::super::CaptureOptions). Packets that wait
    /// for a batch are delivered within a millisecond.
    ///
    /// Replaces a TPACKET_V3 ring, by one that suits the delivery if no back end was selected. Blocks for
    /// this, some ten milliseconds. With several readers,
    /// [`max_delay`](super::super::ParallelCapture::max_delay) never shrinks.
    ///
    /// # Errors
    /// [`ChangeError`]; [`RingOpenError::Busy`](ring::RingOpenError::Busy) in it until the reader has finished the
    /// ring that was replaced before ([`Control::wait`]).
    pub fn set_delivery(&self, delivery: DeliveryMode, spin: Duration) -> Result<(), ChangeError> {
        self.change(Change::Delivery(delivery, spin))
    }

    /// Changes `buffer_bytes` of [`CaptureOptions`](super::super::CaptureOptions).
    ///
    /// Blocks as [`set_delivery`](Self::set_delivery) does; with ring buffers of XDP that long per CPU.
    ///
    /// # Errors
    /// As [`set_delivery`](Self::set_delivery), and [`ChangeError::Fixed`] for AF_XDP sockets.
    pub fn set_buffer(&self, bytes: usize) -> Result<(), ChangeError> {
        self.change(Change::Buffer(bytes))
    }

    /// Changes `stall` of [`CaptureOptions`](super::super::CaptureOptions).
    ///
    /// Blocks as [`set_buffer`](Self::set_buffer) does.
    ///
    /// # Errors
    /// As [`set_delivery`](Self::set_delivery).
    pub fn set_stall(&self, stall: Option<Duration>) -> Result<(), ChangeError> {
        self.change(Change::Stall(stall))
    }

    /// Changes the filter: `None` accepts every packet. Each packet passes the filter before or the filter
    /// after, and counts once. Names are resolved before this returns.
    ///
    /// Blocks as [`set_buffer`](Self::set_buffer) does.
    ///
    /// # Errors
    /// As [`set_delivery`](Self::set_delivery); [`ChangeError::Memory`] with the error of a filter that cannot be compiled.
    pub fn set_filter(&self, filter: Option<Filter>) -> Result<(), ChangeError> {
        self.change(Change::Filter(filter))
    }

    /// Changes the snaplen, bytes per packet. A capture file truncates packets to the snaplen with which it
    /// began, so that a later one can only be smaller there.
    ///
    /// Blocks as [`set_buffer`](Self::set_buffer) does.
    ///
    /// # Errors
    /// As [`set_filter`](Self::set_filter); [`ChangeError::FixedSnaplen`] with shared memory in drop mode,
    /// [`ChangeError::LongerSnaplen`] with ring buffers of XDP.
    pub fn set_snaplen(&self, bytes: u32) -> Result<(), ChangeError> {
        if bytes == 0 {
            return Err(RingOpenError::from(RingOptionError::SnaplenZero).into());
        }
        self.change(Change::Snaplen(bytes))
    }

    /// Changes the sampling of accepted packets; `None` keeps all.
    ///
    /// Blocks as [`set_buffer`](Self::set_buffer) does.
    ///
    /// # Errors
    /// As [`set_filter`](Self::set_filter).
    pub fn set_sampling(&self, sampling: Option<Sampling>) -> Result<(), ChangeError> {
        self.change(Change::Sampling(sampling))
    }

    /// Changes the direction of a capture that began with both directions. The kernel filter decides.
    ///
    /// Blocks as [`set_buffer`](Self::set_buffer) does.
    ///
    /// # Errors
    /// As [`set_filter`](Self::set_filter); [`ChangeError::FixedDirection`].
    /// # Privileges
    /// `CAP_BPF`.
    pub fn set_direction(&self, direction: DirectionFilter) -> Result<(), ChangeError> {
        self.change(Change::Direction(direction))
    }

    /// Captures from interface `link`, too, with the options of the others. Packets refer to it by the next number, and
    /// [`Consumer::interface`](super::super::Consumer::interface) is called before the first of them.
    ///
    /// A [`HotplugCapture`](super::super::HotplugCapture) captures again from an interface that was removed. If it captures from interfaces
    /// of certain names, it also takes another name, in each of its namespaces. Such an interface may come up later.
    ///
    /// # Errors
    /// [`ChangeError::Memory`] with the reason why it cannot be captured, e.g. that it is captured already;
    /// [`ChangeError::Awaited`]. Several readers refuse an interface with other receive queues than theirs.
    /// # Privileges
    /// As [`Capture::open`](super::super::Capture::open).
    pub fn add_interface(&self, link: impl Into<String>) -> Result<(), ChangeError> {
        self.change(Change::Add(link.into()))
    }

    /// Captures from interface `link` no more. Packets in its rings are delivered, and its account stays part of the
    /// summary. An interface that has been removed can be added again, under another number.
    ///
    /// In a [`HotplugCapture`](super::super::HotplugCapture) the interface of this name does not join again when it comes up, until it is added.
    /// The last one can be removed, too.
    ///
    /// # Errors
    /// [`ChangeError::NotCaptured`]; [`ChangeError::LastInterface`]; [`RingOpenError::Busy`](ring::RingOpenError::Busy) in it while another change is
    /// not complete ([`Control::wait`]).
    pub fn remove_interface(&self, link: impl Into<String>) -> Result<(), ChangeError> {
        self.change(Change::Remove(link.into()))
    }

    /// Changes the mode of interface `link`, or of all interfaces and those that are added later. Each packet that passes
    /// the filter is delivered once. One that does not counts once, unless it is between the XDP program and the packet socket
    /// when the counting passes from the one to the other: then it may count twice as filtered, or not. A driver may lose packets
    /// when an XDP program is attached or detached.
    ///
    /// Drop mode gets a buffer of at least [`DROP_BUFFER_BYTES`](super::super::DROP_BUFFER_BYTES), and captures received
    /// packets only.
    ///
    /// # Errors
    /// As [`remove_interface`](Self::remove_interface), and [`ChangeError::Memory`] with the reason why the mode is not
    /// available. With several interfaces, those before the one that failed have changed.
    /// # Privileges
    /// As [`Capture::open`](super::super::Capture::open).
    pub fn set_mode(&self, link: Option<String>, mode: Mode) -> Result<(), ChangeError> {
        self.change(Change::Mode(link, mode))
    }

    /// The settings that are in force. `None`: the capture is over.
    pub fn settings(&self) -> Option<RunningSettings> {
        let (answer, answered) = channel();
        self.messages.send(Message::Settings(answer)).ok()?;
        answered.recv().ok()
    }

    /// Wakes the readers that sleep, so that its [`Consumer`](super::super::Consumer) becomes idle.
    pub fn wake(&self) {
        self.pending.iter().for_each(|one| one.wake());
    }

    /// Waits until all replaced rings have been read and freed, or until the capture is over. The reading
    /// thread must not call this: it would wait for itself.
    pub fn wait(&self) {
        self.replacing().iter().for_each(|one| one.wait());
    }

    /// As [`wait`](Self::wait), at most for this time. Returns whether all have been read or the capture is over.
    pub fn wait_for(&self, time: Duration) -> bool {
        let begun = Instant::now();
        (self.replacing().iter()).all(|one| one.wait_for(time.saturating_sub(begun.elapsed())))
    }

    /// Whose rings may have been replaced.
    fn replacing(&self) -> Vec<Arc<PendingChanges>> {
        let mut all = self.pending.clone();
        all.extend_from_slice(&self.members.list());
        all
    }

    fn change(&self, change: Change) -> Result<(), ChangeError> {
        let (answer, answered) = channel();
        let message = Message::Change(change, answer);
        self.messages.send(message)?;
        answered.recv().unwrap_or(Err(ChangeError::Over))
    }
}
