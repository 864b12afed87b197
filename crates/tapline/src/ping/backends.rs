//! The engine of a run: over sockets, or in the kernel.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use probe::Prober;
use probe::targets::Targets;

use super::changes::TargetControl;
use super::engine::{Engine, EngineState};
use super::error::PingError;
use super::event::PingEvent;
use super::options::{Backend, PingOptions};
use super::summary::{Ended, PingSummary};
use super::xdp::XdpEngine;
use crate::send::SendPath;
use crate::stop::Stop;

/// The engine of the requested back end.
#[derive(Debug)]
pub(super) enum AnyEngine {
    Sockets(Box<Engine>),
    Xdp(Box<XdpEngine>),
}

/// Calls the method of either engine.
macro_rules! either {
    ($self:ident, $engine:ident => $call:expr) => {
        match $self {
            AnyEngine::Sockets($engine) => $call,
            AnyEngine::Xdp($engine) => $call,
        }
    };
}

impl AnyEngine {
    pub fn open(targets: Targets, options: &PingOptions) -> Result<Self, PingError> {
        if options.backend == Some(Backend::Xdp) {
            return XdpEngine::open(targets, options).map(|engine| Self::Xdp(Box::new(engine)));
        }
        Engine::open(targets, options).map(|engine| Self::Sockets(Box::new(engine)))
    }

    pub fn wake_on(&self, stop: &Stop) -> io::Result<()> {
        either!(self, engine => engine.wake_on(stop))
    }

    pub fn start_name_watch(&mut self) -> io::Result<()> {
        either!(self, engine => engine.start_name_watch())
    }

    pub fn control(&self) -> TargetControl {
        either!(self, engine => engine.control())
    }

    pub fn prober(&self) -> &Prober {
        either!(self, engine => engine.prober())
    }

    pub fn backend(&self) -> Backend {
        match self {
            Self::Sockets(engine) => engine.backend(),
            Self::Xdp(_) => Backend::Xdp,
        }
    }

    pub fn send_path(&self) -> Option<SendPath> {
        match self {
            Self::Sockets(_) => None,
            Self::Xdp(engine) => Some(engine.send_path()),
        }
    }

    pub fn end_sending(&mut self) -> io::Result<()> {
        either!(self, engine => engine.end_sending())
    }

    pub fn ended(&self) -> Ended {
        either!(self, engine => engine.ended())
    }

    pub fn into_summary(self, ended: Ended) -> PingSummary {
        either!(self, engine => engine.into_summary(ended))
    }

    pub fn on_readable(
        &mut self,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> io::Result<EngineState> {
        either!(self, engine => engine.on_readable(observe))
    }

    pub fn run(
        &mut self,
        observe: &mut impl FnMut(PingEvent, &Prober),
        stop: &Stop,
        max_wait_ns: u64,
    ) -> io::Result<Ended> {
        match self {
            Self::Sockets(engine) => engine.run(observe, stop, max_wait_ns),
            Self::Xdp(engine) => engine.run(observe, stop),
        }
    }

    /// Reads the replies that have arrived.
    pub fn receive(&mut self, observe: &mut impl FnMut(PingEvent, &Prober)) {
        if let Self::Sockets(engine) = self {
            engine.receive(observe);
        }
    }
}

/// Readable when there is something to do.
impl AsFd for AnyEngine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        either!(self, engine => engine.as_fd())
    }
}
