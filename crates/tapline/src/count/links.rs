//! Whether the interfaces of a count can have packets at all.

use abi::clock::monotonic_ns;
use netlink::Link;

/// Whether packets can come and go at an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkState {
    /// They can.
    Up,
    /// It is switched off.
    Down,
    /// It is switched on, and nothing is at the other end.
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

/// An interface of a count, and how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountedLink {
    /// Its name.
    pub link: String,
    /// Its index.
    pub index: u32,
    /// How it is.
    pub state: LinkState,
    /// Time for which it was not [`LinkState::Up`] so far, nanoseconds.
    pub down_ns: u64,
}

/// The same, with when it changed (`CLOCK_MONOTONIC`).
#[derive(Debug)]
pub(super) struct Watched {
    known: CountedLink,
    since_ns: u64,
}

impl Watched {
    /// It is up until something else is heard.
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

    /// How it is now.
    pub fn now(&self) -> CountedLink {
        let mut known = self.known.clone();
        known.down_ns += self.down_since(monotonic_ns());
        known
    }

    /// Whether what is told of `link` is of this one, and another state.
    pub fn is_news(&self, link: &Link) -> bool {
        link.ifindex().0 == self.known.index && LinkState::of(link) != self.known.state
    }

    /// It is in `state` from now on.
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
