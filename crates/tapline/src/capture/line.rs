//! What follows the rings of an interface while they are read.

use std::time::Duration;

use ring::{Delivery, OpenError, PacketRing, Relay, Step, Successor};

use super::backend::Backend;
use super::change::ChangeError;
use super::holding;
use super::intake::{IntakeLine, NextIntake};
use super::mirror::{MirrorLine, NextMirror};
use super::source::Source;
use super::take_over::TakenOver;

/// Opens the rings of one interface, one set after the other.
pub(super) enum Line {
    Packet(Box<PacketLine>),
    Intake(Box<IntakeLine>),
    Mirror(Box<MirrorLine>),
}

/// What is ready to take over and gets no packet yet. Dropping it changes nothing.
pub(super) enum Ready<'l> {
    Packet(Successor<'l>),
    Intake(NextIntake<'l>),
    Mirror(NextMirror<'l>),
}

/// What can be changed while a capture runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changeable {
    pub delivery: Delivery,
    pub spin: Duration,
    pub buffer_bytes: usize,
    pub stall: Option<Duration>,
}

impl Line {
    /// Of what kind its newest ring is.
    pub fn backend(&self) -> Backend {
        match self {
            Self::Packet(line) => line.relay.backend().into(),
            Self::Intake(_) | Self::Mirror(_) => Backend::XdpRingbuf,
        }
    }

    /// Rings as `wanted`; to be called in the network namespace of the first.
    pub fn prepare(&mut self, wanted: &Changeable) -> Result<Ready<'_>, ChangeError> {
        Ok(match self {
            Self::Packet(line) => Ready::Packet(line.prepare(wanted)?),
            Self::Intake(line) => Ready::Intake(line.prepare(wanted.buffer_bytes)?),
            Self::Mirror(line) => Ready::Mirror(line.prepare(wanted.buffer_bytes)?),
        })
    }

    /// Its interface.
    pub fn link(&self) -> &str {
        match self {
            Self::Packet(line) => &line.link,
            Self::Intake(line) => line.link(),
            Self::Mirror(line) => line.link(),
        }
    }
}

impl Ready<'_> {
    /// From here on packets come into these rings, and none into those before.
    pub fn take_over(self) -> Result<TakenOver, ChangeError> {
        match self {
            Self::Packet(successor) => Ok(TakenOver {
                sources: vec![Source::Packet(successor.take_over()?)],
                intake: None,
            }),
            Self::Intake(next) => next.take_over(),
            Self::Mirror(next) => next.take_over(),
        }
    }
}

/// Opens packet rings.
pub(super) struct PacketLine {
    link: String,
    relay: Relay,
    /// Of the ring that was opened last.
    options: ring::Options,
}

impl PacketLine {
    /// Opens the first ring. Where the kernel has no groups of rings there is one ring only.
    pub fn open(
        link: &str,
        options: ring::Options,
    ) -> Result<(PacketRing, Option<Line>), OpenError> {
        match Relay::open(link, &options) {
            Ok((ring, relay)) => {
                let link = link.to_owned();
                let line = Self {
                    link,
                    relay,
                    options,
                };
                Ok((ring, Some(Line::Packet(Box::new(line)))))
            }
            Err(OpenError::Setup(error)) if error.step == Step::Fanout => {
                Ok((PacketRing::open(link, &options)?, None))
            }
            Err(error) => Err(error),
        }
    }

    fn prepare(&mut self, wanted: &Changeable) -> Result<Successor<'_>, OpenError> {
        self.options.buffer_bytes = wanted.buffer_bytes;
        self.options.stall = wanted.stall;
        holding::share(&mut self.options, wanted.delivery);
        self.relay.prepare(&self.options)
    }
}
