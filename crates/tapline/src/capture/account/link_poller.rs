//! Polls counters and state of the interfaces on a second thread, so that the reader never waits for netlink.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abi::signal::with_signals_blocked;
use netlink::{IfIndex, LinkStatistics, Netlink, NetlinkError};
use rustix::io::Errno;

/// Shortest poll interval.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// State and counters of an interface.
#[derive(Clone, Copy, Debug)]
pub struct InterfaceState {
    pub status: InterfaceStatus,
    /// `None` if the interface reports none, or is gone.
    pub statistics: Option<LinkStatistics>,
}

/// Whether an interface exists and is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceStatus {
    Up,
    Down,
    Gone,
    /// The query failed.
    Unknown,
}

impl InterfaceState {
    /// Queries interface `index`. The kernel answers under `rtnl_mutex`, which the configuration of any
    /// interface may hold for tens of milliseconds.
    pub fn query(netlink: &mut Netlink, index: IfIndex) -> Self {
        let (status, statistics) = match netlink.link(index) {
            Ok(link) if link.up == Some(true) => (InterfaceStatus::Up, link.statistics),
            Ok(link) => (InterfaceStatus::Down, link.statistics),
            Err(error) if is_gone(&error) => (InterfaceStatus::Gone, None),
            Err(_) => (InterfaceStatus::Unknown, None),
        };
        Self { status, statistics }
    }
}

fn is_gone(error: &NetlinkError) -> bool {
    error.errno() == Some(Errno::NODEV.raw_os_error())
}

/// A thread that polls all interfaces. It ends when this is dropped.
pub struct LinkPoller {
    states: Arc<Mutex<Vec<InterfaceState>>>,
    /// Dropped to end the thread.
    open: Option<Sender<IfIndex>>,
    thread: Option<JoinHandle<()>>,
}

impl LinkPoller {
    /// Polls `links` every `interval`. Until the first answer, and if no thread can be started, `states`
    /// are reported.
    pub fn begin(
        mut netlink: Netlink,
        mut links: Vec<IfIndex>,
        states: Vec<InterfaceState>,
        interval: Duration,
    ) -> Self {
        let states = Arc::new(Mutex::new(states));
        let shared = Arc::clone(&states);
        let (open, over) = channel();
        let interval = interval.max(MIN_INTERVAL);
        let poll = move || {
            loop {
                match over.recv_timeout(interval) {
                    Ok(link) => {
                        links.push(link);
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                let answers = links
                    .iter()
                    .map(|&link| InterfaceState::query(&mut netlink, link));
                let answers = answers.collect();
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = answers;
            }
        };
        let thread = thread::Builder::new().name("tapline-links".into());
        Self {
            states,
            open: Some(open),
            thread: with_signals_blocked(|| thread.spawn(poll)).ok(),
        }
    }

    /// Polls `link`, too.
    pub fn add(&self, link: IfIndex) {
        if let Some(open) = &self.open {
            // Without a thread the states at the start are reported.
            let _ = open.send(link);
        }
    }

    /// The latest answers, in the order of the interfaces. The last interfaces may have none yet. Does not block.
    pub fn states(&self) -> Vec<InterfaceState> {
        let states = self.states.lock();
        states.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for LinkPoller {
    fn drop(&mut self) {
        self.open = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}
