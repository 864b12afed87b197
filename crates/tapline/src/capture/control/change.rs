//! The control thread, which carries out changes of a running capture beside its reader.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bpf::Sampling;
use ring::{DeliveryMode, DirectionFilter, RingOpenError};

use super::super::plan::backend::Backend;
use super::error::ChangeError;
use super::hand_over::{HandOver, RunOptions};
use super::pending::PendingChanges;
use crate::packet_filter::Filter;
use netlink::Namespace;

/// A change of one option.
#[derive(Clone, Debug)]
pub enum Change {
    Delivery(DeliveryMode, Duration),
    Buffer(usize),
    Stall(Option<Duration>),
    Filter(Option<Filter>),
    Snaplen(u32),
    Sampling(Option<Sampling>),
    Direction(DirectionFilter),
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

/// What replaces the rings of an interface, or the back end whose rings cannot be replaced.
pub type HandOverResult = Result<Box<dyn HandOver>, Backend>;

/// A reader whose capture is changed.
pub struct Member {
    /// In the order of the interfaces.
    pub interfaces: Vec<HandOverResult>,
    pub pending: Arc<PendingChanges>,
}

/// The control thread. It stays in the network namespace of the interfaces, wherever reader and caller are,
/// and the reader does not wait for the kernel.
pub struct ControlThread {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl ControlThread {
    /// Starts the thread. If that fails, every change is refused.
    pub fn begin(members: Vec<Member>, now: RunOptions, namespace: Option<Namespace>) -> Self {
        let (messages, received) = channel();
        let work = Work { members, now };
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
}

impl Work {
    fn run(mut self, messages: &Receiver<Message>) {
        while let Ok(Message::Change(change, answer)) = messages.recv() {
            // The caller may have gone.
            let _ = answer.send(self.carry_out(&change));
        }
    }

    fn carry_out(&mut self, change: &Change) -> Result<(), ChangeError> {
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
        }
        let pending: Vec<_> = (self.members.iter())
            .map(|member| member.pending.clone())
            .collect();
        let held: Option<Vec<_>> = pending.iter().map(|one| one.begin_change()).collect();
        let _held = held.ok_or(ChangeError::Over)?;
        for interface in self.members.iter().flat_map(|member| &member.interfaces) {
            let backend = match interface {
                Ok(hand_over) => hand_over.backend(),
                Err(backend) => *backend,
            };
            if change.is_fixed(backend) {
                return Err(ChangeError::FixedFilter { backend });
            }
            if interface.is_err() && change.replaces(backend) {
                return Err(ChangeError::Fixed { backend });
            }
        }
        replace(&mut self.members, &options, change, &self.now)?;
        self.now = options;
        Ok(())
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
        for (number, interface) in member.interfaces.iter_mut().enumerate() {
            let Ok(hand_over) = interface else { continue };
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
                    replacements.push((number, new));
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
