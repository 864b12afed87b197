//! Changing the targets of a run from any thread.

use std::io;
use std::sync::Arc;

use probe::targets::Targets;

use super::requests::{Request, TargetRequests};
use crate::ping::error::PingError;
use crate::ping::route::{OnLink, on_link};

/// Adds and removes targets of a running [`Ping`](crate::ping::Ping), from any thread. Clones control the same run.
///
/// The sending thread makes the changes, in order, and reports each as
/// [`PingEvent::TargetChange`](crate::ping::PingEvent::TargetChange). A removed target is reported when its
/// probes in flight have ended. A target is identified by its name if it has one, else by its address and zone.
///
/// Lists of more than [`NeighbourPace::most`](crate::ping::NeighbourPace::most) hosts are paced as the first list is,
/// by the routes of the calling thread's network namespace.
///
/// Sockets exist for the address families of the first list only, unless
/// [`PingOptions::both_families`](crate::ping::PingOptions::both_families) is set.
#[derive(Clone, Debug)]
pub struct TargetControl {
    requests: Arc<TargetRequests>,
    /// Lists of at most this many hosts need no pace for neighbours.
    max_unpaced: u32,
}

impl TargetControl {
    pub(in crate::ping) fn new(requests: Arc<TargetRequests>, max_unpaced: u32) -> Self {
        Self {
            requests,
            max_unpaced,
        }
    }

    /// Adds those of `targets` that the run does not have, with their settings
    /// ([`Targets::with_settings`]). Those that the run has get these settings, and their counts begin again.
    ///
    /// Targets without room, or with settings out of range, are reported as
    /// [`PingEvent::NotAdded`](crate::ping::PingEvent::NotAdded).
    ///
    /// # Errors
    /// [`PingError::Control`] if the run is over, or if 1024 changes wait. [`PingError::Routes`] as
    /// [`PingBuilder::open`](crate::ping::PingBuilder::open).
    pub fn add(&self, targets: Targets) -> Result<(), PingError> {
        let on_link = self.on_link(&targets)?;
        self.send(Request::Add(targets, on_link))
    }

    /// Removes `targets` from the run.
    ///
    /// # Errors
    /// As [`TargetControl::add`].
    pub fn remove(&self, targets: Targets) -> Result<(), PingError> {
        self.send(Request::Remove(targets))
    }

    /// Adds those of `targets` that the run does not have, and removes those of the run that are not among `targets`. The
    /// others keep their statistics.
    ///
    /// Takes time and memory in proportion to the number of targets, on the sending thread.
    ///
    /// # Errors
    /// As [`TargetControl::add`].
    pub fn replace(&self, targets: Targets) -> Result<(), PingError> {
        let on_link = self.on_link(&targets)?;
        self.send(Request::Replace(targets, on_link))
    }

    fn on_link(&self, targets: &Targets) -> Result<Option<OnLink>, PingError> {
        on_link(targets, self.max_unpaced)
    }

    fn send(&self, request: Request) -> Result<(), PingError> {
        let sent = self.requests.add(request);
        sent.map_err(|source: io::Error| PingError::Control { source })
    }
}
