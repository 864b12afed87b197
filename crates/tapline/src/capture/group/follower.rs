//! The thread that follows interfaces beside the reader: the reader needs no privileges, and waits for no interface that opens.

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

use super::opener::{Event, Opener};
use crate::stop::{Stop, Stopper};
use crate::wait::wait;

/// Events that wait for the reader. The thread waits while there are more: the kernel keeps changes, or says that it lost some,
/// and then they are compared with what there is.
const MAX_WAITING: usize = 64;

/// Longest wait for changes in one call.
const FOREVER: Duration = Duration::MAX;

/// The thread, and what it has to say.
pub struct Follower {
    /// `None` once the thread is to end.
    events: Option<Receiver<Event>>,
    wake: Wake,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

/// Readable while there may be events.
#[derive(Clone, Debug)]
struct Wake(Arc<OwnedFd>);

impl Wake {
    fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(event)))
    }

    fn set(&self) {
        // Fails only if the counter of 64 bits is full; the event is readable then.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    fn clear(&self) {
        // Fails only if the event is not readable, which is the purpose.
        let _ = rustix::io::read(&*self.0, &mut [0; 8]);
    }
}

impl Follower {
    /// Starts the thread, with the privileges of the calling one.
    pub fn start(mut opener: Opener) -> io::Result<Self> {
        let (sender, events) = sync_channel(MAX_WAITING);
        let wake = Wake::new()?;
        let stop = Stop::new()?;
        let stopper = stop.stopper();
        let sender = Events {
            sender,
            wake: WakeAtEnd(wake.clone()),
        };
        let thread = thread::Builder::new().name("interfaces".into());
        let thread = thread.spawn(move || {
            let Err(end) = follow(&mut opener, &sender, &stop);
            let last = match end {
                End::Unheard => return,
                End::Over => Event::Over,
                End::Broken(error) => Event::Broken(error),
            };
            // If the reader is gone, nobody wants to know.
            let _ = sender.send(last);
        })?;
        Ok(Self {
            events: Some(events),
            wake,
            stopper,
            thread: Some(thread),
        })
    }

    /// What has happened since the last call, at most [`MAX_WAITING`] events; the descriptor stays readable if there may be more.
    /// Does not wait.
    pub fn take(&self) -> Vec<Event> {
        self.wake.clear();
        let mut taken = Vec::new();
        while let Some(events) = &self.events {
            if taken.len() >= MAX_WAITING {
                self.wake.set();
                break;
            }
            match events.try_recv() {
                Ok(event) => taken.push(event),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    let error = io::Error::other("the thread that opens interfaces has ended");
                    taken.push(Event::Broken(error));
                    break;
                }
            }
        }
        taken
    }
}

/// Readable when [`Follower::take`] may have events.
impl AsFd for Follower {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.0.as_fd()
    }
}

/// Ends the thread. An interface that it is opening is closed again.
impl Drop for Follower {
    fn drop(&mut self) {
        self.stopper.stop();
        // Ends the thread's wait for room in the channel.
        self.events = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been reported already.
            let _ = thread.join();
        }
    }
}

/// The sending end. The end of the thread, however it comes, closes the channel and then wakes the reader.
struct Events {
    sender: SyncSender<Event>,
    wake: WakeAtEnd,
}

struct WakeAtEnd(Wake);

impl Drop for WakeAtEnd {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Why the thread ends.
enum End {
    /// The reader is gone, or wants to hear no more.
    Unheard,
    /// No namespace is left, and none can follow.
    Over,
    /// Changes cannot be waited for any more.
    Broken(io::Error),
}

impl Events {
    /// Waits for room. Fails if the reader is gone.
    fn send(&self, event: Event) -> Result<(), End> {
        let sent = self.sender.send(event).map_err(|_| End::Unheard);
        self.wake.0.set();
        sent
    }
}

/// Follows changes until `stop`, until the reader is gone or until there can be no more.
fn follow(opener: &mut Opener, events: &Events, stop: &Stop) -> Result<Infallible, End> {
    loop {
        if opener.is_over() {
            return Err(End::Over);
        }
        if wait_for_changes(opener, stop).map_err(End::Broken)? {
            return Err(End::Unheard);
        }
        opener.events(|event| events.send(event))?;
    }
}

/// Waits for changes of interfaces, or for `stop`. Returns whether that was requested.
fn wait_for_changes(opener: &Opener, stop: &Stop) -> io::Result<bool> {
    let mut descriptors = vec![PollFd::new(stop, PollFlags::IN)];
    let mounts = opener.mounts();
    descriptors.extend(mounts.map(|mounts| PollFd::from_borrowed_fd(mounts, PollFlags::PRI)));
    let links = opener.links();
    descriptors.extend(links.map(|links| PollFd::from_borrowed_fd(links, PollFlags::IN)));
    wait(&mut descriptors, FOREVER)?;
    Ok(!descriptors[0].revents().is_empty())
}
