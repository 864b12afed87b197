//! The control thread, which carries out changes of a running capture beside its reader.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bpf::Sampling;
use ring::{DeliveryMode, DirectionFilter, RingOpenError};

use super::super::plan::backend::Backend;
use super::error::ChangeError;
use super::hand_over::{HandOver, NewRings, RunOptions};
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

    /// Whether rings of `backend` cannot be changed so, although they can be replaced.
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

/// The control thread. It stays in the network namespace of the interfaces, wherever reader and caller are,
/// and the reader does not wait for the kernel.
pub struct ControlThread {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl ControlThread {
    /// Starts the thread. If that fails, every change is refused.
    pub fn begin(
        interfaces: Vec<HandOverResult>,
        now: RunOptions,
        namespace: Option<Namespace>,
        pending: Arc<PendingChanges>,
    ) -> Self {
        let (messages, received) = channel();
        let work = Work {
            interfaces,
            now,
            pending,
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
    /// In the order of the interfaces.
    interfaces: Vec<HandOverResult>,
    now: RunOptions,
    pending: Arc<PendingChanges>,
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
        let mut fixed = (self.interfaces.iter()).filter_map(|interface| interface.as_ref().err());
        if let Some(&backend) = fixed.find(|&&backend| change.replaces(backend)) {
            return Err(ChangeError::Fixed { backend });
        }
        let mut others = (self.interfaces.iter()).filter_map(|interface| interface.as_ref().ok());
        if let Some(other) = others.find(|other| change.is_fixed(other.backend())) {
            return Err(ChangeError::FixedFilter {
                backend: other.backend(),
            });
        }
        let replacements = self.replace(&options, change)?;
        (self.pending).add(options.delivery, options.spin, replacements);
        self.now = options;
        Ok(())
    }

    /// Replaces all rings that the change concerns, or none.
    fn replace(
        &mut self,
        options: &RunOptions,
        change: &Change,
    ) -> Result<Vec<(usize, NewRings)>, ChangeError> {
        let is_busy = self.pending.is_settling();
        let mut ready = Vec::new();
        for (number, interface) in self.interfaces.iter_mut().enumerate() {
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
        let mut replacements = Vec::new();
        for (number, ready) in ready {
            match ready.take_over() {
                Ok(rings) => replacements.push((number, rings)),
                Err(error) => {
                    // The rings before it receive packets already and have to be read.
                    (self.pending).add(self.now.delivery, self.now.spin, replacements);
                    return Err(error);
                }
            }
        }
        Ok(replacements)
    }
}
