//! The thread that follows and changes interfaces beside the reader: the reader needs no privileges, and waits for no interface that
//! opens.

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abi::signal::with_signals_blocked;
use rustix::event::{PollFd, PollFlags};

use super::super::control::controller::FREE;
use super::super::control::messages::{Message, Wake};
use super::opener::{Event, Opener};
use crate::stop::{Stop, Stopper};
use crate::wait::wait;

/// Events that wait for the reader. The thread waits while there are more: the kernel keeps changes, or says that it lost some,
/// and then they are compared with what there is.
const MAX_WAITING: usize = 64;

/// Requests that are carried out before interfaces are looked at again.
const REQUESTS_PER_ROUND: usize = 16;

/// Longest wait for changes in one call.
const FOREVER: Duration = Duration::MAX;

/// The reader's end of the thread: its events, and the means to stop it.
pub struct Follower {
    /// `None` once the thread is to end.
    events: Option<Receiver<Event>>,
    wake: Wake,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

/// Requested changes of the running capture.
pub struct Requests {
    pub messages: Receiver<Message>,
    /// Readable while there may be some.
    pub wake: Wake,
}

impl Follower {
    /// Starts the thread, with the privileges of the calling one.
    pub fn start(mut opener: Opener, requests: Requests) -> io::Result<Self> {
        let (sender, events) = sync_channel(MAX_WAITING);
        let wake = Wake::new()?;
        let stop = Stop::new()?;
        let stopper = stop.stopper();
        let sender = Events {
            sender,
            wake: WakeAtEnd(wake.clone()),
        };
        let thread = thread::Builder::new().name("interfaces".into());
        let run = move || {
            let Err(end) = follow(&mut opener, &requests, &sender, &stop);
            let last = match end {
                End::Unheard => return,
                End::NoNamespacesLeft => Event::NoNamespacesLeft,
                End::Broken(error) => Event::Broken(error),
            };
            // If the reader is gone, nobody wants to know.
            let _ = sender.send(last);
        };
        let thread = with_signals_blocked(|| thread.spawn(run))?;
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
        self.wake.as_fd()
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
    NoNamespacesLeft,
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

/// Follows and makes changes until `stop`, until the reader is gone or until there can be no more.
fn follow(
    opener: &mut Opener,
    requests: &Requests,
    events: &Events,
    stop: &Stop,
) -> Result<Infallible, End> {
    let mut is_free = true;
    loop {
        if opener.is_over() {
            return Err(End::NoNamespacesLeft);
        }
        let time = if is_free { FOREVER } else { FREE };
        if wait_for_changes(opener, requests, stop, time).map_err(End::Broken)? {
            return Err(End::Unheard);
        }
        // Before members that have ended and messages are looked at: what comes later sets it again.
        requests.wake.clear();
        opener.events(|event| events.send(event))?;
        for _ in 0..REQUESTS_PER_ROUND {
            let Ok(message) = requests.messages.try_recv() else {
                break;
            };
            requests.wake.set();
            opener.answer(message, &mut |event| events.send(event))?;
        }
        is_free = opener.free_dropped();
    }
}

/// Waits for changes of interfaces, for requests, or for `stop`, but not longer than `time`. Returns whether that was requested.
fn wait_for_changes(
    opener: &Opener,
    requests: &Requests,
    stop: &Stop,
    time: Duration,
) -> io::Result<bool> {
    let mut descriptors = vec![
        PollFd::new(stop, PollFlags::IN),
        PollFd::new(&requests.wake, PollFlags::IN),
    ];
    let mounts = opener.mounts();
    descriptors.extend(mounts.map(|mounts| PollFd::from_borrowed_fd(mounts, PollFlags::PRI)));
    let links = opener.links();
    descriptors.extend(links.map(|links| PollFd::from_borrowed_fd(links, PollFlags::IN)));
    wait(&mut descriptors, time)?;
    Ok(!descriptors[0].revents().is_empty())
}
