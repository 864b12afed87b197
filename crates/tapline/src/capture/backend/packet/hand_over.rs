//! Replacing a packet ring: a second ring of its fanout group takes over.

use ring::{HandoverGroup, PacketRing, PreparedRing, RingOpenError, SetupStep};

use super::super::super::control::error::ChangeError;
use super::super::super::control::hand_over::{
    HandOver, NewFilter, NewRings, Replacement, RunOptions,
};
use super::super::super::plan::backend::Backend;
use super::super::super::plan::options::CaptureOptions;
use super::super::super::read::ring::RingReader;
use super::blocks;
use super::shared::SharedRing;
use super::successor::{choose_filter, ring_options};

/// Opens the packet rings of one interface, one after another.
pub struct PacketHandOver {
    link: String,
    group: HandoverGroup,
    /// Options of the newest ring.
    options: ring::RingOptions,
    /// Options of the capture.
    capture: CaptureOptions,
    /// The filter in front of the newest ring, as [`RunOptions`] numbers it.
    filter_version: u64,
}

/// A ring that is ready to take over.
struct PacketReplacement<'r> {
    ring: PreparedRing<'r>,
    /// Its filter, if it has another one than the ring before.
    filter: Option<FilteredOptions>,
    newest: Newest<'r>,
}

/// A filter, and the options of a ring behind it.
struct FilteredOptions {
    filter: NewFilter,
    version: u64,
    options: ring::RingOptions,
}

/// What a [`PacketHandOver`] knows of the newest ring.
struct Newest<'r> {
    options: &'r mut ring::RingOptions,
    filter_version: &'r mut u64,
}

impl PacketHandOver {
    /// Opens the first ring. Without threads, and on a kernel without groups that hand over, it cannot be replaced. In a
    /// fanout group that shares packets it stays, and its filter can be replaced.
    pub fn open(
        link: &str,
        options: ring::RingOptions,
        capture: &CaptureOptions,
    ) -> Result<(PacketRing, Option<Box<dyn HandOver>>), RingOpenError> {
        if !capture.threads {
            return Ok((PacketRing::open(link, &options)?, None));
        }
        if options.fanout.is_some() {
            let ring = PacketRing::open(link, &options)?;
            let shared = SharedRing::new(&ring, capture).ok();
            return Ok((ring, shared.map(|shared| Box::new(shared) as _)));
        }
        match HandoverGroup::open(link, &options) {
            Ok((ring, group)) => {
                let link = link.to_owned();
                let hand_over = Self {
                    link,
                    group,
                    options,
                    capture: capture.clone(),
                    filter_version: 0,
                };
                Ok((ring, Some(Box::new(hand_over))))
            }
            Err(RingOpenError::Setup(error)) if error.step == SetupStep::Fanout => {
                Ok((PacketRing::open(link, &options)?, None))
            }
            Err(error) => Err(error),
        }
    }
}

impl HandOver for PacketHandOver {
    fn backend(&self) -> Backend {
        self.group.version().into()
    }

    fn link(&self) -> &str {
        &self.link
    }

    fn prepare(&mut self, options: &RunOptions) -> Result<Box<dyn Replacement + '_>, ChangeError> {
        self.options.buffer_bytes = options.buffer_bytes;
        self.options.stall = options.stall;
        blocks::divide_batch(&mut self.options, options.delivery);
        if options.filter_version != self.filter_version {
            return self.prepare_filtered(options);
        }
        Ok(Box::new(PacketReplacement {
            ring: self.group.prepare(&self.options)?,
            filter: None,
            newest: Newest {
                options: &mut self.options,
                filter_version: &mut self.filter_version,
            },
        }))
    }
}

impl PacketHandOver {
    /// A ring with another filter, snaplen, sampling or direction.
    fn prepare_filtered(
        &mut self,
        options: &RunOptions,
    ) -> Result<Box<dyn Replacement + '_>, ChangeError> {
        let chosen = choose_filter(&self.link, &self.capture, options)?;
        let mut ring = ring_options(&chosen.options, chosen.ring);
        // All rings of the group have one; the program narrows it.
        ring.direction = self.capture.direction;
        Ok(Box::new(PacketReplacement {
            ring: self.group.prepare(&ring)?,
            filter: Some(FilteredOptions {
                filter: chosen.filter,
                version: options.filter_version,
                options: ring,
            }),
            newest: Newest {
                options: &mut self.options,
                filter_version: &mut self.filter_version,
            },
        }))
    }
}

impl Replacement for PacketReplacement<'_> {
    fn take_over(self: Box<Self>) -> Result<NewRings, ChangeError> {
        let Self {
            ring,
            filter,
            newest,
        } = *self;
        let ring = RingReader::Packet(Box::new(ring.take_over()?));
        let filter = filter.map(|filtered| {
            *newest.options = filtered.options;
            *newest.filter_version = filtered.version;
            filtered.filter
        });
        Ok(NewRings {
            rings: vec![ring],
            filter,
        })
    }
}
