//! The control thread, which carries out changes of a running capture beside its reader.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ring::{InterfaceInfo, RingOpenError};

use super::super::error::CaptureError;
use super::super::plan::mode::Mode;
use super::super::plan::options::{CaptureOptions, DROP_BUFFER_BYTES};
use super::error::ChangeError;
use super::hand_over::{HandOverResult, Replacement, RunOptions};
use super::new_interface::{InterfaceOpener, NewInterface};
use super::pending::{PendingChanges, Step};
use super::requested::Change;
use super::settings::RunningSettings;

/// Interfaces that a capture can have had, one after another.
const MAX_INTERFACES: usize = 16_384;

/// Interval at which rings that were replaced are checked, until they are read.
const FREE: Duration = Duration::from_millis(10);

/// A message to the control thread.
pub enum Message {
    Change(Change, Sender<Result<(), ChangeError>>),
    Settings(Sender<RunningSettings>),
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
    /// Starts the thread. If that fails, every change is refused. `capture` has the buffer of whole interfaces.
    pub fn begin(
        members: Vec<Member>,
        capture: CaptureOptions,
        opener: Box<dyn InterfaceOpener>,
    ) -> Self {
        let (messages, received) = channel();
        let namespace = capture.namespace.clone();
        let work = Work {
            members,
            now: RunOptions::from(&capture),
            mode: capture.mode,
            capture,
            opener,
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
    /// Options with which the capture began.
    capture: CaptureOptions,
    /// Mode of interfaces that are added.
    mode: Mode,
    opener: Box<dyn InterfaceOpener>,
}

impl Work {
    fn run(mut self, messages: &Receiver<Message>) {
        let mut is_free = true;
        loop {
            let time = if is_free { Duration::MAX } else { FREE };
            match messages.recv_timeout(time) {
                Ok(Message::Change(change, answer)) => {
                    // The caller may have gone.
                    let _ = answer.send(self.carry_out(&change));
                }
                Ok(Message::Settings(answer)) => {
                    let _ = answer.send(self.settings());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Message::Over) | Err(RecvTimeoutError::Disconnected) => return,
            }
            is_free = self.free_dropped();
        }
    }

    /// Frees rings that were replaced and are read; returns whether all are.
    fn free_dropped(&mut self) -> bool {
        let slots = self.members.iter_mut().flat_map(|one| &mut one.interfaces);
        let hand_overs = slots.filter_map(|slot| slot.hand_over.as_mut()?.as_mut().ok());
        let mut is_free = true;
        for hand_over in hand_overs {
            is_free &= hand_over.free_dropped();
        }
        is_free
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

    fn settings(&self) -> RunningSettings {
        let now = self.now.clone();
        let modes = self
            .open()
            .map(|(_, slot)| (slot.link.name.clone(), slot.mode));
        RunningSettings {
            delivery: now.delivery,
            spin: now.spin,
            buffer_bytes: now.buffer_bytes,
            stall: now.stall,
            snaplen: now.snaplen,
            sampling: now.sampling,
            direction: now.direction.unwrap_or(self.capture.direction),
            modes: modes.collect(),
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
        // The first reader carries out what concerns the rings of all.
        let slots = self.members[0].interfaces.iter();
        for hand_over in slots.filter_map(|slot| slot.hand_over.as_ref()) {
            if let Err(backend) = *hand_over
                && change.replaces(backend)
            {
                return Err(ChangeError::Fixed { backend });
            }
        }
        let replaced = replace(&mut self.members, &options, change, &self.now);
        if replaced.is_ok() {
            self.now = options;
        } else if change.is_of_filter() {
            // An interface may have the new filter: with a number of its own, the filter before is another one again.
            self.now.filter_version = options.filter_version + 1;
        }
        replaced
    }
}

/// Interfaces that come and go.
impl Work {
    /// The options of an interface that is opened now.
    fn options(&self, mode: Mode) -> CaptureOptions {
        let mut options = self.capture.clone();
        self.now.clone().apply(&mut options);
        if mode != self.capture.mode {
            // Selected for the other mode.
            (options.backend, options.busy_poll) = (None, None);
            options.mode = mode;
            if mode == Mode::Drop {
                options.buffer_bytes = options.buffer_bytes.max(DROP_BUFFER_BYTES);
            }
        }
        options
    }

    fn is_settling(&self) -> bool {
        self.members.iter().any(|one| one.pending.is_settling())
    }

    /// Gives each reader its step.
    fn add_steps(&self, steps: impl IntoIterator<Item = Step>) {
        for (member, step) in self.members.iter().zip(steps) {
            (member.pending).add(self.now.delivery, self.now.spin, vec![step]);
        }
    }

    /// Interfaces that are captured, with their places, which are the same for all readers.
    fn open(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let slots = self.members[0].interfaces.iter().enumerate();
        slots.filter(|(_, slot)| slot.hand_over.is_some())
    }

    /// Notes the parts of an interface for the changes that follow.
    fn append(&mut self, parts: &mut [NewInterface], mode: Mode) {
        for (member, part) in self.members.iter_mut().zip(parts) {
            member.interfaces.push(Slot::of(part, mode));
        }
    }

    fn add(&mut self, link: &str) -> Result<(), ChangeError> {
        let options = self.options(self.mode);
        if self.open().any(|(_, slot)| slot.link.name == link) {
            let link = link.to_owned();
            return Err(CaptureError::LinkTwice { link }.into());
        }
        let slots = &self.members[0].interfaces;
        if slots.len() >= MAX_INTERFACES {
            return Err(ChangeError::TooManyInterfaces);
        }
        let last = slots.iter().map(|slot| slot.number).max();
        let number = last.map_or(0, |last| last + 1);
        let mut parts = self.opener.open(link, number, &options)?;
        self.append(&mut parts, options.mode);
        self.opener.added(&parts);
        self.add_steps(parts.into_iter().map(|part| Step::Add(Box::new(part))));
        Ok(())
    }

    fn remove(&mut self, link: &str) -> Result<(), ChangeError> {
        let found = self.open().find(|(_, slot)| slot.link.name == link);
        let place = found.map(|(place, _)| place);
        let link = link.to_owned();
        let Some(place) = place else {
            return Err(ChangeError::NotCaptured { link });
        };
        if self.open().count() == 1 {
            return Err(ChangeError::LastInterface { link });
        }
        if self.is_settling() {
            return Err(RingOpenError::Busy { link }.into());
        }
        for member in &mut self.members {
            member.interfaces[place].hand_over = None;
        }
        self.add_steps(std::iter::repeat_with(|| Step::Remove(place)));
        Ok(())
    }

    /// Opens the interfaces once more, one after another, and leaves it to the readers to close the rings before.
    fn set_mode(&mut self, link: Option<&str>, mode: Mode) -> Result<(), ChangeError> {
        let options = self.options(mode);
        let is_meant = |slot: &Slot| link.is_none_or(|link| slot.link.name == link);
        let meant = self.open().filter(|(_, slot)| is_meant(slot));
        let meant: Vec<usize> = meant.map(|(place, _)| place).collect();
        if let (Some(link), true) = (link, meant.is_empty()) {
            let link = link.to_owned();
            return Err(ChangeError::NotCaptured { link });
        }
        let is_busy = self.is_settling();
        for place in meant {
            let slot = &self.members[0].interfaces[place];
            if slot.mode == mode {
                continue;
            }
            let link = slot.link.name.clone();
            if is_busy {
                return Err(RingOpenError::Busy { link }.into());
            }
            let link_type = slot.link.link_type;
            let mut own = options.clone();
            own.required.link_type = Some(link_type);
            let mut parts = self.opener.open(&link, slot.number, &own)?;
            if (parts.iter()).any(|part| part.interface.link.link_type != link_type) {
                return Err(ChangeError::OtherLinkType { link, mode });
            }
            for member in &mut self.members {
                member.interfaces[place].hand_over = None;
            }
            self.append(&mut parts, mode);
            self.opener.exchanged(&parts);
            let parts = parts.into_iter();
            self.add_steps(parts.map(|part| Step::Exchange(place, Box::new(part))));
        }
        if link.is_none() {
            self.mode = mode;
        }
        Ok(())
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

/// The rings of one reader that are ready to take over, with the places of their interfaces.
struct Prepared<'m> {
    pending: &'m PendingChanges,
    replacements: Vec<(usize, Box<dyn Replacement + 'm>)>,
}

/// Replaces all rings that the change concerns, or those of the interfaces before one that fails.
fn replace(
    members: &mut [Member],
    options: &RunOptions,
    change: &Change,
    before: &RunOptions,
) -> Result<(), ChangeError> {
    let prepared = members
        .iter_mut()
        .map(|member| prepare(member, options, change))
        .collect::<Result<Vec<_>, _>>()?;
    let pending: Vec<_> = prepared.iter().map(|one| one.pending).collect();
    let (steps, result) = take_over(prepared);
    let current = match result {
        Ok(()) => options,
        Err(_) => before,
    };
    for (pending, steps) in pending.into_iter().zip(steps) {
        pending.add(current.delivery, current.spin, steps);
    }
    result
}

fn prepare<'m>(
    member: &'m mut Member,
    options: &RunOptions,
    change: &Change,
) -> Result<Prepared<'m>, ChangeError> {
    let is_busy = member.pending.is_settling();
    let mut replacements = Vec::new();
    for (place, slot) in member.interfaces.iter_mut().enumerate() {
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
        replacements.push((place, hand_over.prepare(change, options)?));
    }
    Ok(Prepared {
        pending: &member.pending,
        replacements,
    })
}

/// Lets the rings take over, one interface after another, until one fails. Returns the steps of each reader.
///
/// The first ring of an interface directs the packets to those of all readers, so the rings of the other readers follow
/// before the next interface: a reader has to read whatever gets packets.
fn take_over(prepared: Vec<Prepared<'_>>) -> (Vec<Vec<Step>>, Result<(), ChangeError>) {
    let mut steps: Vec<Vec<Step>> = prepared.iter().map(|_| Vec::new()).collect();
    let replacements = prepared.into_iter().enumerate();
    let mut replacements: Vec<_> = replacements
        .flat_map(|(reader, one)| {
            (one.replacements.into_iter()).map(move |(place, ready)| (place, reader, ready))
        })
        .collect();
    replacements.sort_by_key(|&(place, reader, _)| (place, reader));
    let mut failed: Option<(usize, ChangeError)> = None;
    for (place, reader, ready) in replacements {
        if failed.as_ref().is_some_and(|&(at, _)| at < place) {
            break;
        }
        match ready.take_over() {
            Ok(new) => steps[reader].push(Step::Rings(place, new)),
            // The rings that receive packets already have to be read, so the readers behind it follow.
            Err(error) => failed = failed.or(Some((place, error))),
        }
    }
    (steps, failed.map_or(Ok(()), |(_, error)| Err(error)))
}

#[cfg(test)]
mod tests;
