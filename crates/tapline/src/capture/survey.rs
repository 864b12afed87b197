//! The interfaces' own counters and state, asked for beside the reader.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netlink::{IfIndex, LinkStatistics, Netlink, NetlinkError};
use rustix::io::Errno;

/// Time between two questions at least.
const LEAST: Duration = Duration::from_millis(10);

/// What is known of an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub presence: Presence,
    /// `None` where it does not tell, or is not there.
    pub statistics: Option<LinkStatistics>,
}

/// Whether an interface is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Up,
    Down,
    Gone,
    /// It could not be asked for now.
    Unknown,
}

impl State {
    /// Asks interface `index`. The kernel answers under a lock (`rtnl_mutex`) that whoever sets up an
    /// interface holds, often for tens of milliseconds.
    pub fn ask(netlink: &mut Netlink, index: IfIndex) -> Self {
        let (presence, statistics) = match netlink.link(index) {
            Ok(link) if link.up == Some(true) => (Presence::Up, link.statistics),
            Ok(link) => (Presence::Down, link.statistics),
            Err(error) if is_gone(&error) => (Presence::Gone, None),
            Err(_) => (Presence::Unknown, None),
        };
        Self {
            presence,
            statistics,
        }
    }
}

fn is_gone(error: &NetlinkError) -> bool {
    error.errno() == Some(Errno::NODEV.raw_os_error())
}

/// Asks all interfaces again and again in a thread of its own, so that no packet waits for an answer.
/// The thread ends when this is dropped.
pub(super) struct Survey {
    states: Arc<Mutex<Vec<State>>>,
    /// Says that it is over by being dropped.
    open: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Survey {
    /// Asks `links` by `netlink` every `interval`. Until the first answers, and where no thread can be
    /// had, `states` hold.
    pub fn begin(
        mut netlink: Netlink,
        links: Vec<IfIndex>,
        states: Vec<State>,
        interval: Duration,
    ) -> Self {
        let states = Arc::new(Mutex::new(states));
        let shared = Arc::clone(&states);
        let (open, over) = channel::<()>();
        let interval = interval.max(LEAST);
        let ask = move || {
            while over.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let answers = links.iter().map(|&link| State::ask(&mut netlink, link));
                let answers = answers.collect();
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = answers;
            }
        };
        let thread = thread::Builder::new().name("tapline-survey".into());
        Self {
            states,
            open: Some(open),
            thread: thread.spawn(ask).ok(),
        }
    }

    /// The latest answers, in the order of the interfaces. Waits for no answer.
    pub fn states(&self) -> Vec<State> {
        let states = self.states.lock();
        states.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Survey {
    fn drop(&mut self) {
        self.open = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, there is nothing to be done about it here.
            let _ = thread.join();
        }
    }
}
