//! The builder of a count.

use std::time::Duration;

use super::count::Count;
use super::error::CountError;
use super::group_key::GroupBy;
use super::options::{CountClass, CountDirection, CountLayer, CountOptions, IngressHook};
use crate::packet_filter::Filter;
use crate::stop::Stop;

/// The class of a count for which no class was given.
const ALL: &str = "all";

/// Starts to build a count on `interface`.
///
/// Without any [`class`](CountBuilder::class), the count has the class `all` for all packets.
pub fn count(interface: impl Into<String>) -> CountBuilder {
    CountBuilder {
        options: CountOptions {
            interfaces: vec![interface.into()],
            ..CountOptions::default()
        },
        stop: None,
    }
}

/// Builds a [`Count`]. Created by [`count`].
#[derive(Debug)]
#[must_use = "nothing is counted before `open`"]
pub struct CountBuilder {
    options: CountOptions,
    stop: Option<Stop>,
}

impl CountBuilder {
    /// Also counts on this interface.
    pub fn interface(mut self, interface: impl Into<String>) -> Self {
        self.options.interfaces.push(interface.into());
        self
    }

    /// Also counts the packets that match `filter`, under `name`. An empty filter matches all packets.
    ///
    /// # Errors
    /// Those of the filter's syntax.
    pub fn class<F, E>(mut self, name: impl Into<String>, filter: F) -> Result<Self, E>
    where
        F: TryInto<Filter, Error = E>,
    {
        self.options.classes.push(CountClass {
            name: name.into(),
            filter: Some(filter.try_into()?),
        });
        Ok(self)
    }

    /// Counts received packets, sent packets, or both. Default: both.
    pub fn direction(mut self, direction: CountDirection) -> Self {
        self.options.direction = direction;
        self
    }

    /// Splits each class into groups. Default: no groups.
    pub fn by(mut self, key: GroupBy) -> Self {
        self.options.by = Some(key);
        self
    }

    /// The maximum number of groups of all classes. Default: 4096.
    pub fn max_groups(mut self, groups: u32) -> Self {
        self.options.groups = groups;
        self
    }

    /// Also counts stamped packets by stream. Default: no.
    pub fn streams(mut self) -> Self {
        self.options.streams = true;
        self
    }

    /// Which bytes count. Default: those of the Ethernet frame.
    pub fn layer(mut self, layer: CountLayer) -> Self {
        self.options.layer = layer;
        self
    }

    /// The length of an interval. Default: 1 s.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.options.interval = interval;
        self
    }

    /// Ends the count after this time. Default: never.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.options.duration = Some(duration);
        self
    }

    /// The hook for received packets. Default: XDP in the driver, or else tc.
    pub fn ingress(mut self, hook: IngressHook) -> Self {
        self.options.ingress = hook;
        self
    }

    /// Ends the count on this stop request, for example that of a signal handler. Default: a stop of its
    /// own ([`Count::stopper`]).
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Attaches the programs and starts to count.
    ///
    /// # Errors
    /// As [`Count::open`].
    pub fn open(mut self) -> Result<Count, CountError> {
        if self.options.classes.is_empty() {
            let name = ALL.to_owned();
            self.options.classes.push(CountClass { name, filter: None });
        }
        match self.stop {
            Some(stop) => Count::open_with_stop(self.options, stop),
            None => Count::open(self.options),
        }
    }
}
