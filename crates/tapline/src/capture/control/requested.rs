//! A requested change of a running capture.

use std::time::Duration;

use bpf::Sampling;
use ring::{DeliveryMode, DirectionFilter};

use super::super::plan::backend::Backend;
use super::super::plan::mode::Mode;
use crate::packet_filter::Filter;

/// A change of one option, or of the interfaces.
#[derive(Clone, Debug)]
pub enum Change {
    Delivery(DeliveryMode, Duration),
    Buffer(usize),
    Stall(Option<Duration>),
    Filter(Option<Filter>),
    Snaplen(u32),
    Sampling(Option<Sampling>),
    Direction(DirectionFilter),
    /// Another interface.
    Add(String),
    /// One interface fewer.
    Remove(String),
    /// The mode of an interface, or of all.
    Mode(Option<String>, Mode),
}

impl Change {
    /// Whether a ring of `backend`, or the program in front of it, has to be replaced for it.
    pub fn replaces(&self, backend: Backend) -> bool {
        match self {
            Self::Delivery(..) => backend == Backend::PacketV3,
            Self::Stall(_) => matches!(backend, Backend::PacketV2 | Backend::PacketV3),
            _ => true,
        }
    }

    /// Whether it concerns which packets are kept, and how much of them.
    pub fn is_of_filter(&self) -> bool {
        !matches!(self, Self::Delivery(..) | Self::Buffer(_) | Self::Stall(_))
    }
}
