//! Carrying out changes of a running capture, beside its reader.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ring::{Delivery, OpenError, PacketRing, Successor};

use super::backend::Backend;
use super::line::{Changeable, Line};
use super::wish::Wish;

/// Why a capture was not changed; it goes on as before.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChangeError {
    /// What is asked for belongs to a ring of this kind from its start to its end: the buffer of all but
    /// packet rings; in TPACKET_V3, where the kernel lets no ring take over from another, the delivery too.
    Fixed {
        /// How the packets cross the kernel border.
        backend: Backend,
    },
    /// An interface's ring cannot be replaced: the options contradict each other, or the kernel refused.
    /// [`OpenError::Busy`]: the change before is not complete.
    Ring(OpenError),
    /// The capture is over, or it got no thread for changes.
    Over,
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed { backend } => {
                let backend = backend.name();
                write!(f, "a ring of {backend} cannot be changed while it is read")
            }
            Self::Ring(error) => error.fmt(f),
            Self::Over => f.write_str("the capture is over"),
        }
    }
}

impl Error for ChangeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Ring(error) => error.source(),
            Self::Fixed { .. } | Self::Over => None,
        }
    }
}

/// What is to be changed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Delivery(Delivery, Duration),
    Buffer(usize),
}

/// What the thread is told.
pub(super) enum Message {
    Change(Change, Sender<Result<(), ChangeError>>),
    Over,
}

/// The thread that replaces rings. It is in the network namespace of the interfaces when the reader and
/// whoever asks are elsewhere; and the reader does not wait while the kernel does.
pub(super) struct Changer {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

/// What a lane has, by its place, to be changed with.
pub(super) type Place = Result<Line, Backend>;

impl Changer {
    /// Where no thread can be had, every change is refused.
    pub fn begin(lanes: Vec<Place>, now: Changeable, wish: Arc<Wish>) -> Self {
        let (messages, received) = channel();
        let work = Work { lanes, now, wish };
        let thread = thread::Builder::new().name("tapline-change".into());
        Self {
            messages,
            thread: thread.spawn(move || work.go_on(&received)).ok(),
        }
    }

    pub fn messages(&self) -> Sender<Message> {
        self.messages.clone()
    }
}

/// Carries out no more changes; what is under way is complete when this returns.
impl Drop for Changer {
    fn drop(&mut self) {
        // It has ended already if it does not receive.
        let _ = self.messages.send(Message::Over);
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, there is nothing to be done about it here.
            let _ = thread.join();
        }
    }
}

struct Work {
    lanes: Vec<Place>,
    now: Changeable,
    wish: Arc<Wish>,
}

impl Work {
    fn go_on(mut self, messages: &Receiver<Message>) {
        while let Ok(Message::Change(change, answer)) = messages.recv() {
            // Whoever asked may have left.
            let _ = answer.send(self.carry_out(change));
        }
    }

    fn carry_out(&mut self, change: Change) -> Result<(), ChangeError> {
        let mut wanted = self.now;
        match change {
            Change::Delivery(delivery, spin) => (wanted.delivery, wanted.spin) = (delivery, spin),
            Change::Buffer(bytes) => wanted.buffer_bytes = bytes,
        }
        let is_buffer = matches!(change, Change::Buffer(_));
        let is_fixed = |backend: &Backend| is_buffer || *backend == Backend::PacketV3;
        let mut fixed = self.lanes.iter().filter_map(|lane| lane.as_ref().err());
        if let Some(&backend) = fixed.find(|backend| is_fixed(backend)) {
            return Err(ChangeError::Fixed { backend });
        }
        let rings = self.replace(&wanted, is_buffer)?;
        self.now = wanted;
        self.wish.deliver(wanted.delivery, wanted.spin, rings);
        Ok(())
    }

    /// Has all rings that have to be replaced taken over by others, or none.
    fn replace(
        &mut self,
        wanted: &Changeable,
        is_buffer: bool,
    ) -> Result<Vec<(usize, PacketRing)>, ChangeError> {
        let lines = self.lanes.iter_mut().enumerate();
        let lines = lines.filter_map(|(number, lane)| Some((number, lane.as_mut().ok()?)));
        let successors: Result<Vec<(usize, Successor<'_>)>, OpenError> = lines
            .filter(|(_, line)| is_buffer || line.gathers())
            .map(|(number, line)| Ok((number, line.prepare(wanted)?)))
            .collect();
        let mut rings = Vec::new();
        for (number, successor) in successors.map_err(ChangeError::Ring)? {
            match successor.take_over() {
                Ok(ring) => rings.push((number, ring)),
                Err(error) => {
                    // Those before it have packets by now, and are to be read.
                    self.wish.deliver(self.now.delivery, self.now.spin, rings);
                    return Err(ChangeError::Ring(error));
                }
            }
        }
        Ok(rings)
    }
}
