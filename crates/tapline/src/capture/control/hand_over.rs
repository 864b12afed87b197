//! How a back end replaces the rings of an interface while they are read.

use std::time::Duration;

use bpf::Sampling;
use ring::{DeliveryMode, DirectionFilter};

use super::super::account::kernel_filter::KernelFilter;
use super::super::plan::backend::Backend;
use super::super::plan::mode::Mode;
use super::super::plan::options::{CaptureOptions, DROP_BUFFER_BYTES};
use super::super::read::exact_filter::ExactFilter;
use super::super::read::ring::RingReader;
use super::error::ChangeError;
use super::requested::Change;
use super::settings::RunningSettings;
use crate::packet_filter::Filter;

/// The options that can be changed while a capture runs.
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub delivery: DeliveryMode,
    pub spin: Duration,
    pub buffer_bytes: usize,
    pub stall: Option<Duration>,
    pub filter: Option<Filter>,
    pub snaplen: u32,
    pub sampling: Option<Sampling>,
    /// The direction that was set while the capture runs. The kernel filter narrows that of the start to it.
    pub direction: Option<DirectionFilter>,
    /// Changes with filter, snaplen, sampling and direction: a ring with another one needs another kernel filter.
    pub filter_version: u64,
}

impl RunOptions {
    /// These options after `change`; the same if it concerns interfaces.
    pub fn changed(&self, change: &Change) -> Self {
        let mut options = self.clone();
        options.filter_version += u64::from(change.is_of_filter());
        match change.clone() {
            Change::Delivery(delivery, spin) => (options.delivery, options.spin) = (delivery, spin),
            Change::Buffer(bytes) => options.buffer_bytes = bytes,
            Change::Stall(stall) => options.stall = stall,
            Change::Filter(filter) => options.filter = filter,
            Change::Snaplen(bytes) => options.snaplen = bytes,
            Change::Sampling(sampling) => options.sampling = sampling,
            Change::Direction(direction) => options.direction = Some(direction),
            Change::Add(_) | Change::Remove(_) | Change::Mode(..) => {}
        }
        options
    }

    /// The options of an interface that joins now, in a capture that began with `capture`.
    pub fn of_new_interface(&self, capture: &CaptureOptions, mode: Mode) -> CaptureOptions {
        let mut options = capture.clone();
        self.clone().apply(&mut options);
        if mode != capture.mode {
            // Selected for the other mode.
            (options.backend, options.busy_poll) = (None, None);
            options.mode = mode;
            if mode == Mode::Drop {
                options.buffer_bytes = options.buffer_bytes.max(DROP_BUFFER_BYTES);
            }
        }
        options
    }

    /// These options as settings of a capture that began with `capture`, with interfaces in these modes.
    pub fn settings(
        &self,
        capture: &CaptureOptions,
        modes: Vec<(String, Mode)>,
    ) -> RunningSettings {
        RunningSettings {
            delivery: self.delivery,
            spin: self.spin,
            buffer_bytes: self.buffer_bytes,
            stall: self.stall,
            snaplen: self.snaplen,
            sampling: self.sampling,
            direction: self.direction.unwrap_or(capture.direction),
            modes,
        }
    }

    /// Sets these options in `options`.
    pub fn apply(self, options: &mut CaptureOptions) {
        options.delivery = self.delivery;
        options.spin = self.spin;
        options.buffer_bytes = self.buffer_bytes;
        options.stall = self.stall;
        options.filter = self.filter;
        options.snaplen = self.snaplen;
        options.sampling = self.sampling;
        options.narrowed = self.direction;
    }
}

impl From<&CaptureOptions> for RunOptions {
    fn from(options: &CaptureOptions) -> Self {
        Self {
            delivery: options.delivery,
            spin: options.spin,
            buffer_bytes: options.buffer_bytes,
            stall: options.stall,
            filter: options.filter.clone(),
            snaplen: options.snaplen,
            sampling: options.sampling,
            direction: options.narrowed,
            filter_version: 0,
        }
    }
}

/// What carries out changes of an interface, or the back end that cannot. One of several readers that share the rings of an
/// XDP program does so for all.
pub type HandOverResult = Result<Box<dyn HandOver>, Backend>;

/// Replaces the rings of one interface, one set after another, or the program in front of them.
pub trait HandOver: Send {
    /// Back end of the newest rings.
    fn backend(&self) -> Backend;

    /// Name of the interface.
    fn link(&self) -> &str;

    /// Frees rings that were replaced and are read. Returns whether all that were replaced are.
    fn free_dropped(&mut self) -> bool {
        true
    }

    /// Ends the flow into the newest rings if that lets the reader have the packets of their last blocks at once. They are to leave.
    fn put_to_rest(&mut self) {}

    /// Several readers share its rings from now on, so that no other rings can take over.
    fn share(&mut self) {}

    /// Prepares `change`, after which these are the options, in the network namespace of the first rings: opens others,
    /// which receive no packets yet, or loads a program. Dropping it changes nothing.
    fn prepare(
        &mut self,
        change: &Change,
        options: &RunOptions,
    ) -> Result<Box<dyn Replacement + '_>, ChangeError>;
}

/// Rings, or a program in front of the present ones, that are ready to take over.
pub trait Replacement: Send {
    /// From here on packets enter these rings, and none the rings before; or meet this program.
    fn take_over(self: Box<Self>) -> Result<NewRings, ChangeError>;
}

/// Rings that have taken over.
pub struct NewRings {
    /// One per queue; none if the present rings continue.
    pub rings: Vec<RingReader>,
    /// The filter in front of them, unless it is that of the rings before.
    pub filter: Option<NewFilter>,
}

impl From<Vec<RingReader>> for NewRings {
    fn from(rings: Vec<RingReader>) -> Self {
        Self {
            rings,
            filter: None,
        }
    }
}

/// The filter of rings that have taken over.
pub struct NewFilter {
    pub kernel: Box<dyn KernelFilter>,
    /// What the reader adds to it.
    pub exact: Option<ExactFilter>,
}
