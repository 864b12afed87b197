//! Carrying out changes of a running capture, beside its reader.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ring::{Delivery, OpenError};

use super::backend::Backend;
use super::error::CaptureError;
use super::line::{Changeable, Line};
use super::mode::SHORT_SNAPLEN;
use super::take_over::TakenOver;
use super::wish::Wish;

/// Why a capture was not changed; it goes on as before.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChangeError {
    /// What is asked for belongs to a ring of this kind from its start to its end: the buffer of AF_XDP
    /// sockets, since the kernel binds one packet memory to a queue (`xp_assign_dev`,
    /// net/xdp/xsk_buff_pool.c); and where the kernel lets no packet ring take over from another, before
    /// Linux 4.12, the buffer and the stall, and in TPACKET_V3 the delivery.
    Fixed {
        /// How the packets cross the kernel border.
        backend: Backend,
    },
    /// An interface's ring cannot be replaced: the options contradict each other, or the kernel refused.
    /// [`OpenError::Busy`]: the change before is not complete.
    Ring(OpenError),
    /// There is no other memory, or no program to fill it.
    Memory(Box<CaptureError>),
    /// The program of an interface goes on with the memory that it has.
    HandOver {
        /// The interface.
        link: String,
        /// What the kernel answered; ENOLINK: the interface is gone.
        source: io::Error,
    },
    /// The capture is over, or it got no thread for changes.
    Over,
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed {
                backend: Backend::Xdp,
            } => write!(
                f,
                "the buffer of an AF_XDP socket cannot be changed while it is read (begin with \
                 the buffer that is needed, or with a snaplen of at most {SHORT_SNAPLEN})"
            ),
            Self::Fixed { backend } => {
                let backend = backend.name();
                write!(
                    f,
                    "a ring of {backend} cannot be changed while it is read (needs Linux 4.12)"
                )
            }
            Self::Ring(error) => error.fmt(f),
            Self::Memory(error) => error.fmt(f),
            Self::HandOver { link, .. } => write!(f, "cannot hand packets of {link} over"),
            Self::Over => f.write_str("the capture is over"),
        }
    }
}

impl Error for ChangeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Ring(error) => error.source(),
            Self::Memory(error) => error.source(),
            Self::HandOver { source, .. } => Some(source),
            Self::Fixed { .. } | Self::Over => None,
        }
    }
}

impl From<OpenError> for ChangeError {
    fn from(error: OpenError) -> Self {
        Self::Ring(error)
    }
}

impl From<CaptureError> for ChangeError {
    fn from(error: CaptureError) -> Self {
        Self::Memory(Box::new(error))
    }
}

/// What is to be changed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Delivery(Delivery, Duration),
    Buffer(usize),
    Stall(Option<Duration>),
}

impl Change {
    /// Whether a ring of `backend` is replaced for it.
    fn replaces(self, backend: Backend) -> bool {
        match self {
            Self::Delivery(..) => backend == Backend::PacketV3,
            Self::Buffer(_) => true,
            Self::Stall(_) => matches!(backend, Backend::PacketV2 | Backend::PacketV3),
        }
    }
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

/// What an interface can be changed with.
pub(super) type Place = Result<Line, Backend>;

impl Changer {
    /// Where no thread can be had, every change is refused.
    pub fn begin(places: Vec<Place>, now: Changeable, wish: Arc<Wish>) -> Self {
        let (messages, received) = channel();
        let work = Work { places, now, wish };
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
    /// In the order of the interfaces.
    places: Vec<Place>,
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
            Change::Stall(stall) => wanted.stall = stall,
        }
        let mut fixed = (self.places.iter()).filter_map(|place| place.as_ref().err());
        if let Some(&backend) = fixed.find(|&&backend| change.replaces(backend)) {
            return Err(ChangeError::Fixed { backend });
        }
        let taken_over = self.replace(&wanted, change)?;
        self.now = wanted;
        (self.wish).deliver(wanted.delivery, wanted.spin, taken_over);
        Ok(())
    }

    /// Has all rings that have to be replaced taken over by others, or none.
    fn replace(
        &mut self,
        wanted: &Changeable,
        change: Change,
    ) -> Result<Vec<(usize, TakenOver)>, ChangeError> {
        let is_busy = self.wish.is_settling();
        let mut ready = Vec::new();
        for (number, place) in self.places.iter_mut().enumerate() {
            let Ok(line) = place else { continue };
            if !change.replaces(line.backend()) {
                continue;
            }
            if is_busy {
                let link = line.link().to_owned();
                return Err(OpenError::Busy { link }.into());
            }
            ready.push((number, line.prepare(wanted)?));
        }
        let mut taken_over = Vec::new();
        for (number, ready) in ready {
            match ready.take_over() {
                Ok(one) => taken_over.push((number, one)),
                Err(error) => {
                    // Those before it have packets by now, and are to be read.
                    (self.wish).deliver(self.now.delivery, self.now.spin, taken_over);
                    return Err(error);
                }
            }
        }
        Ok(taken_over)
    }
}
