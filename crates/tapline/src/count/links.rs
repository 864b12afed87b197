//! The link state of the interfaces of a count.

use abi::clock::monotonic_ns;
use netlink::Link;

/// The state of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkState {
    /// Up, with carrier.
    Up,
    /// Administratively down.
    Down,
    /// Administratively up, without carrier.
    NoCarrier,
}

impl LinkState {
    /// Its name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::NoCarrier => "no-carrier",
        }
    }

    pub(super) fn of(link: &Link) -> Self {
        let flags = link.flags.unwrap_or_default();
        if !flags.is_up() {
            Self::Down
        } else if flags.has_carrier() {
            Self::Up
        } else {
            Self::NoCarrier
        }
    }
}

/// An interface of a count and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountedLink {
    /// Its name.
    pub link: String,
    /// Its index.
    pub index: u32,
    /// Its state.
    pub state: LinkState,
    /// Total time in which it was not [`LinkState::Up`], nanoseconds.
    pub down_ns: u64,
}

/// Tracks the state of an interface, with the time of its last change (`CLOCK_MONOTONIC`).
#[derive(Debug)]
pub(super) struct LinkMonitor {
    known: CountedLink,
    since_ns: u64,
}

impl LinkMonitor {
    /// Assumes that the interface is up until a link event.
    pub fn new(link: String, index: u32, now_ns: u64) -> Self {
        Self {
            known: CountedLink {
                link,
                index,
                state: LinkState::Up,
                down_ns: 0,
            },
            since_ns: now_ns,
        }
    }

    /// The current state.
    pub fn now(&self) -> CountedLink {
        let mut known = self.known.clone();
        known.down_ns += self.down_since(monotonic_ns());
        known
    }

    /// Whether a link event is about this interface and changes its state.
    pub fn is_news(&self, link: &Link) -> bool {
        link.ifindex().0 == self.known.index && LinkState::of(link) != self.known.state
    }

    /// Records a new state.
    pub fn note(&mut self, state: LinkState) -> CountedLink {
        let now_ns = monotonic_ns();
        self.known.down_ns += self.down_since(now_ns);
        (self.known.state, self.since_ns) = (state, now_ns);
        self.now()
    }

    fn down_since(&self, now_ns: u64) -> u64 {
        match self.known.state {
            LinkState::Up => 0,
            _ => now_ns.saturating_sub(self.since_ns),
        }
    }
}
