//! How a back end replaces the rings of an interface while they are read.

use std::time::Duration;

use ring::DeliveryMode;

use super::super::plan::backend::Backend;
use super::super::plan::options::CaptureOptions;
use super::super::read::ring::RingReader;
use super::error::ChangeError;

/// The options that can be changed while a capture runs.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    pub delivery: DeliveryMode,
    pub spin: Duration,
    pub buffer_bytes: usize,
    pub stall: Option<Duration>,
}

impl From<&CaptureOptions> for RunOptions {
    fn from(options: &CaptureOptions) -> Self {
        Self {
            delivery: options.delivery,
            spin: options.spin,
            buffer_bytes: options.buffer_bytes,
            stall: options.stall,
        }
    }
}

/// Replaces the rings of one interface, one set after another.
pub trait HandOver: Send {
    /// Back end of the newest rings.
    fn backend(&self) -> Backend;

    /// Name of the interface.
    fn link(&self) -> &str;

    /// Opens rings with these options, in the network namespace of the first ones. They receive no packets
    /// yet; dropping them changes nothing.
    fn prepare(&mut self, options: &RunOptions) -> Result<Box<dyn Replacement + '_>, ChangeError>;
}

/// Rings that are ready to take over.
pub trait Replacement {
    /// From here on packets enter these rings, and none the rings before. Returns one ring per queue.
    fn take_over(self: Box<Self>) -> Result<Vec<RingReader>, ChangeError>;
}
