//! A packet ring that shares the packets of its interface with others: it stays, and its filter changes in place.

use std::io;

use ring::{LiveFilter, PacketRing, RingFilter, RingOpenError};

use super::super::super::control::error::ChangeError;
use super::super::super::control::hand_over::{
    HandOver, NewFilter, NewRings, Replacement, RunOptions,
};
use super::super::super::plan::backend::Backend;
use super::super::super::plan::options::CaptureOptions;
use super::successor::choose_filter;

/// Replaces the filter of a ring whose fanout group shares packets. Another ring cannot take over: members that join or
/// leave change which packets the others get.
pub struct SharedRing {
    link: String,
    backend: Backend,
    filter: LiveFilter,
    /// Options of the capture.
    capture: CaptureOptions,
    /// The filter in place, as [`RunOptions`] numbers it.
    filter_version: u64,
    has_exact_filter: bool,
}

/// A filter that is ready to replace the one before.
struct SharedReplacement<'r> {
    ring: &'r mut SharedRing,
    program: RingFilter,
    filter: NewFilter,
    version: u64,
}

impl SharedRing {
    pub fn new(ring: &PacketRing, capture: &CaptureOptions) -> io::Result<Self> {
        Ok(Self {
            link: ring.interface().name.clone(),
            backend: ring.version().into(),
            filter: ring.live_filter()?,
            capture: capture.clone(),
            filter_version: 0,
            has_exact_filter: false,
        })
    }
}

impl HandOver for SharedRing {
    fn backend(&self) -> Backend {
        self.backend
    }

    fn link(&self) -> &str {
        &self.link
    }

    fn has_exact_filter(&mut self) {
        self.has_exact_filter = true;
    }

    fn prepare(&mut self, options: &RunOptions) -> Result<Box<dyn Replacement + '_>, ChangeError> {
        let link = || self.link.clone();
        if options.filter_version == self.filter_version {
            return Err(ChangeError::SharedRings { link: link() });
        }
        let most = self.capture.snaplen;
        if options.snaplen > most {
            return Err(ChangeError::SharedSnaplen { most });
        }
        if self.has_exact_filter {
            return Err(ChangeError::SharedSplit { link: link() });
        }
        let chosen = choose_filter(&self.link, &self.capture, options)?;
        if chosen.filter.exact.is_some() {
            return Err(ChangeError::SharedSplit { link: link() });
        }
        Ok(Box::new(SharedReplacement {
            ring: self,
            program: chosen.ring,
            filter: chosen.filter,
            version: options.filter_version,
        }))
    }
}

impl Replacement for SharedReplacement<'_> {
    fn take_over(self: Box<Self>) -> Result<NewRings, ChangeError> {
        let Self {
            ring,
            program,
            filter,
            version,
        } = *self;
        ring.filter.replace(&program).map_err(RingOpenError::from)?;
        ring.filter_version = version;
        Ok(NewRings {
            rings: Vec::new(),
            filter: Some(filter),
        })
    }
}
