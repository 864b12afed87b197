//! The control thread, which carries out changes of a running capture beside its reader.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bpf::Sampling;
use ring::{DeliveryMode, DirectionFilter, InterfaceInfo, RingOpenError};

use super::super::error::CaptureError;
use super::super::plan::backend::Backend;
use super::super::plan::mode::Mode;
use super::super::plan::options::{CaptureOptions, DROP_BUFFER_BYTES};
use super::error::ChangeError;
use super::hand_over::{HandOverResult, RunOptions};
use super::new_interface::NewInterface;
use super::pending::{PendingChanges, Step};
use crate::packet_filter::Filter;
use netlink::Namespace;

/// Interfaces that a capture can have had, one after another.
const MAX_INTERFACES: usize = 16_384;

/// A change of one option, or of the interfaces.
#[derive(Clone, Debug)]
pub enum Change {
    Delivery(DeliveryMode, Duration),
    Buffer(usize),
    Stall(Option<Duration>),
    Filter(Option<Filter>),
    Snaplen(u32),
    Sampling(Option<Sampling>),
    Direction(DirectionFilter),
    /// Another interface.
    Add(String),
    /// One interface fewer.
    Remove(String),
    /// The mode of an interface, or of all.
    Mode(Option<String>, Mode),
}

impl Change {
    /// Whether a ring of `backend` has to be replaced for it.
    fn replaces(&self, backend: Backend) -> bool {
        match self {
            Self::Delivery(..) => backend == Backend::PacketV3,
            Self::Stall(_) => matches!(backend, Backend::PacketV2 | Backend::PacketV3),
            _ => true,
        }
    }

    fn is_of_filter(&self) -> bool {
        !matches!(self, Self::Delivery(..) | Self::Buffer(_) | Self::Stall(_))
    }

    /// Whether rings of `backend` cannot be changed so.
    fn is_fixed(&self, backend: Backend) -> bool {
        let is_packet = matches!(backend, Backend::PacketV2 | Backend::PacketV3);
        self.is_of_filter() && !is_packet
    }
}

/// A message to the control thread.
pub enum Message {
    Change(Change, Sender<Result<(), ChangeError>>),
    Over,
}

/// A reader whose capture is changed.
pub struct Member {
    /// Those that it ever had, in their order.
    pub interfaces: Vec<Slot>,
    pub pending: Arc<PendingChanges>,
}

/// An interface of a reader.
pub struct Slot {
    pub link: InterfaceInfo,
    /// The number by which packets refer to it.
    pub number: u32,
    pub mode: Mode,
    /// What replaces its rings. `None`: it has been removed.
    pub hand_over: Option<HandOverResult>,
}

/// The control thread. It stays in the network namespace of the interfaces, wherever reader and caller are,
/// and the reader does not wait for the kernel.
pub struct ControlThread {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl ControlThread {
    /// Starts the thread. If that fails, every change is refused.
    ///
    /// With the options of the `capture`, interfaces can be added and removed. There is one member then.
    pub fn begin(
        members: Vec<Member>,
        now: RunOptions,
        namespace: Option<Namespace>,
        capture: Option<CaptureOptions>,
    ) -> Self {
        let (messages, received) = channel();
        let mode = capture
            .as_ref()
            .map_or(Mode::Mirror, |capture| capture.mode);
        let work = Work {
            members,
            now,
            capture,
            mode,
        };
        let thread = thread::Builder::new().name("tapline-control".into());
        let run = move || match namespace {
            // If it cannot be entered, the messages are dropped unanswered.
            Some(namespace) => drop(namespace.run(move || work.run(&received))),
            None => work.run(&received),
        };
        Self {
            messages,
            thread: thread.spawn(run).ok(),
        }
    }

    pub fn messages(&self) -> Sender<Message> {
        self.messages.clone()
    }
}

/// Ends the thread. A change that is being carried out is complete when this returns.
impl Drop for ControlThread {
    fn drop(&mut self) {
        // A thread that does not receive has ended.
        let _ = self.messages.send(Message::Over);
        if let Some(thread) = self.thread.take() {
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}

struct Work {
    /// At least one.
    members: Vec<Member>,
    now: RunOptions,
    /// Options of the capture, unless its interfaces are fixed.
    capture: Option<CaptureOptions>,
    /// Mode of interfaces that are added.
    mode: Mode,
}

impl Work {
    fn run(mut self, messages: &Receiver<Message>) {
        while let Ok(Message::Change(change, answer)) = messages.recv() {
            // The caller may have gone.
            let _ = answer.send(self.carry_out(&change));
        }
    }

    fn carry_out(&mut self, change: &Change) -> Result<(), ChangeError> {
        let pending: Vec<_> = (self.members.iter())
            .map(|member| member.pending.clone())
            .collect();
        let held: Option<Vec<_>> = pending.iter().map(|one| one.begin_change()).collect();
        let _held = held.ok_or(ChangeError::Over)?;
        match change {
            Change::Add(link) => self.add(link),
            Change::Remove(link) => self.remove(link),
            Change::Mode(link, mode) => self.set_mode(link.as_deref(), *mode),
            change => self.set(change),
        }
    }

    /// Changes an option.
    fn set(&mut self, change: &Change) -> Result<(), ChangeError> {
        let mut options = self.now.clone();
        options.filter_version += u64::from(change.is_of_filter());
        match change.clone() {
            Change::Delivery(delivery, spin) => (options.delivery, options.spin) = (delivery, spin),
            Change::Buffer(bytes) => options.buffer_bytes = bytes,
            Change::Stall(stall) => options.stall = stall,
            Change::Filter(filter) => options.filter = filter,
            Change::Snaplen(bytes) => options.snaplen = bytes,
            Change::Sampling(sampling) => options.sampling = sampling,
            Change::Direction(direction) => options.direction = Some(direction),
            Change::Add(_) | Change::Remove(_) | Change::Mode(..) => {}
        }
        let slots = self.members.iter().flat_map(|member| &member.interfaces);
        for hand_over in slots.filter_map(|slot| slot.hand_over.as_ref()) {
            let backend = match hand_over {
                Ok(hand_over) => hand_over.backend(),
                Err(backend) => *backend,
            };
            if change.is_fixed(backend) {
                return Err(ChangeError::FixedFilter { backend });
            }
            if hand_over.is_err() && change.replaces(backend) {
                return Err(ChangeError::Fixed { backend });
            }
        }
        replace(&mut self.members, &options, change, &self.now)?;
        self.now = options;
        Ok(())
    }
}

/// Interfaces that come and go, of a capture with a single reader.
impl Work {
    /// The options of an interface that is opened now.
    fn options(&self, mode: Mode) -> Result<CaptureOptions, ChangeError> {
        let capture = self.capture.as_ref().ok_or(ChangeError::FixedInterfaces)?;
        let mut options = capture.clone();
        self.now.clone().apply(&mut options);
        if mode != capture.mode {
            // Selected for the other mode.
            (options.backend, options.busy_poll) = (None, None);
            options.mode = mode;
            if mode == Mode::Drop {
                options.buffer_bytes = options.buffer_bytes.max(DROP_BUFFER_BYTES);
            }
        }
        Ok(options)
    }

    fn add(&mut self, link: &str) -> Result<(), ChangeError> {
        let options = self.options(self.mode)?;
        let member = &mut self.members[0];
        if member.open().any(|(_, slot)| slot.link.name == link) {
            let link = link.to_owned();
            return Err(CaptureError::LinkTwice { link }.into());
        }
        if member.interfaces.len() >= MAX_INTERFACES {
            return Err(ChangeError::TooManyInterfaces);
        }
        let numbers = member.interfaces.iter().map(|slot| slot.number);
        let number = numbers.max().map_or(0, |last| last + 1);
        let mut new = NewInterface::open(link, number, &options)?;
        member.interfaces.push(Slot::of(&mut new, options.mode));
        let steps = vec![Step::Add(Box::new(new))];
        (member.pending).add(self.now.delivery, self.now.spin, steps);
        Ok(())
    }

    fn remove(&mut self, link: &str) -> Result<(), ChangeError> {
        if self.capture.is_none() {
            return Err(ChangeError::FixedInterfaces);
        }
        let member = &mut self.members[0];
        let found = member.open().find(|(_, slot)| slot.link.name == link);
        let place = found.map(|(place, _)| place);
        let link = link.to_owned();
        let Some(place) = place else {
            return Err(ChangeError::NotCaptured { link });
        };
        if member.open().count() == 1 {
            return Err(ChangeError::LastInterface { link });
        }
        if member.pending.is_settling() {
            return Err(RingOpenError::Busy { link }.into());
        }
        member.interfaces[place].hand_over = None;
        let steps = vec![Step::Remove(place)];
        (member.pending).add(self.now.delivery, self.now.spin, steps);
        Ok(())
    }

    /// Opens the interfaces once more, one after another, and leaves it to the reader to close the rings before.
    fn set_mode(&mut self, link: Option<&str>, mode: Mode) -> Result<(), ChangeError> {
        let options = self.options(mode)?;
        let member = &mut self.members[0];
        let is_meant = |slot: &Slot| link.is_none_or(|link| slot.link.name == link);
        let meant = member.open().filter(|(_, slot)| is_meant(slot));
        let meant: Vec<usize> = meant.map(|(place, _)| place).collect();
        if let (Some(link), true) = (link, meant.is_empty()) {
            let link = link.to_owned();
            return Err(ChangeError::NotCaptured { link });
        }
        let is_busy = member.pending.is_settling();
        for place in meant {
            let slot = &mut member.interfaces[place];
            if slot.mode == mode {
                continue;
            }
            let link = slot.link.name.clone();
            if is_busy {
                return Err(RingOpenError::Busy { link }.into());
            }
            let mut new = NewInterface::open(&link, slot.number, &options)?;
            if new.interface.link.link_type != slot.link.link_type {
                return Err(ChangeError::OtherLinkType { link, mode });
            }
            slot.hand_over = None;
            member.interfaces.push(Slot::of(&mut new, mode));
            let steps = vec![Step::Exchange(place, Box::new(new))];
            (member.pending).add(self.now.delivery, self.now.spin, steps);
        }
        if link.is_none() {
            self.mode = mode;
        }
        Ok(())
    }
}

impl Member {
    /// The interfaces that are captured, with their places.
    fn open(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let slots = self.interfaces.iter().enumerate();
        slots.filter(|(_, slot)| slot.hand_over.is_some())
    }
}

impl Slot {
    fn of(new: &mut NewInterface, mode: Mode) -> Self {
        Self {
            link: new.interface.link.clone(),
            number: new.interface.number,
            mode,
            hand_over: Some(new.interface.take_hand_over(&new.queues)),
        }
    }
}

/// Replaces all rings that the change concerns, or none.
fn replace(
    members: &mut [Member],
    options: &RunOptions,
    change: &Change,
    before: &RunOptions,
) -> Result<(), ChangeError> {
    let mut prepared = Vec::with_capacity(members.len());
    for member in members {
        let is_busy = member.pending.is_settling();
        let mut ready = Vec::new();
        for (number, slot) in member.interfaces.iter_mut().enumerate() {
            let Some(Ok(hand_over)) = &mut slot.hand_over else {
                continue;
            };
            if !change.replaces(hand_over.backend()) {
                continue;
            }
            if is_busy {
                let link = hand_over.link().to_owned();
                return Err(RingOpenError::Busy { link }.into());
            }
            ready.push((number, hand_over.prepare(options)?));
        }
        prepared.push((&member.pending, ready));
    }
    let mut keeps_rings = false;
    for (pending, ready) in prepared {
        let mut replacements = Vec::new();
        for (number, ready) in ready {
            match ready.take_over() {
                Ok(new) => {
                    keeps_rings |= new.rings.is_empty();
                    replacements.push(Step::Rings(number, new));
                }
                Err(error) => {
                    // The rings before it receive packets already and have to be read.
                    pending.add(before.delivery, before.spin, replacements);
                    return Err(error);
                }
            }
        }
        pending.add(options.delivery, options.spin, replacements);
    }
    if keeps_rings {
        // The counters of the filters before are final when the next change comes.
        let _ = ring::LiveFilter::wait();
    }
    Ok(())
}
