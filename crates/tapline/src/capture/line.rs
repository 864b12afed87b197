//! A packet ring that another can follow.

use std::time::Duration;

use ring::{Backend, Delivery, OpenError, PacketRing, Relay, Step, Successor};

/// Opens the rings of one lane, one after the other, in the network namespace of the first.
pub(super) struct Line {
    relay: Relay,
    /// Of the ring that was opened last.
    options: ring::Options,
}

/// What can be changed while a capture runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changeable {
    pub delivery: Delivery,
    pub spin: Duration,
    pub buffer_bytes: usize,
}

impl Line {
    /// Opens the first ring. Where the kernel has no groups of rings there is one ring only.
    pub fn open(
        link: &str,
        options: ring::Options,
    ) -> Result<(PacketRing, Option<Self>), OpenError> {
        match Relay::open(link, &options) {
            Ok((ring, relay)) => Ok((ring, Some(Self { relay, options }))),
            Err(OpenError::Setup(error)) if error.step == Step::Fanout => {
                Ok((PacketRing::open(link, &options)?, None))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the newest ring gathers packets by itself, as it was told to when it was opened.
    pub fn gathers(&self) -> bool {
        self.relay.backend() == Backend::PacketV3
    }

    /// A ring as `wanted`, which gets no packet yet.
    pub fn prepare(&mut self, wanted: &Changeable) -> Result<Successor<'_>, OpenError> {
        self.options.delivery = wanted.delivery;
        self.options.buffer_bytes = wanted.buffer_bytes;
        self.relay.prepare(&self.options)
    }
}
