//! Replacing a packet ring: a second ring of its fanout group takes over.

use std::num::NonZeroUsize;

use ring::{HandoverGroup, PacketRing, PreparedRing, PreparedShare, RingOpenError, SetupStep};

use super::super::super::control::error::ChangeError;
use super::super::super::control::hand_over::{
    HandOver, NewFilter, NewRings, Replacement, RunOptions,
};
use super::super::super::control::requested::Change;
use super::super::super::plan::backend::Backend;
use super::super::super::plan::options::{CaptureOptions, ShareOfPackets};
use super::super::super::read::ring::RingReader;
use super::blocks;
use super::successor::{choose_filter, ring_options};

/// Opens the packet rings of one interface, one after another.
pub struct PacketHandOver {
    link: String,
    group: Group,
    /// Options of the newest ring.
    options: ring::RingOptions,
    backend: Backend,
    /// Options of the capture.
    capture: CaptureOptions,
    /// The filter in front of the newest ring, as [`RunOptions`] numbers it.
    filter_version: u64,
}

/// The fanout group in which a ring is replaced.
enum Group {
    /// By one that gets all packets.
    Alone(HandoverGroup),
    /// Together with those of the other readers.
    Shared(ShareOfPackets),
}

/// A ring that is ready to take over.
enum Prepared<'r> {
    Alone(PreparedRing<'r>),
    Shared(PreparedShare),
}

/// A ring that is ready to take over, with what follows from it.
struct PacketReplacement<'r> {
    ring: Prepared<'r>,
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
    backend: &'r mut Backend,
    filter_version: &'r mut u64,
}

impl PacketHandOver {
    /// Opens the first ring. Without threads, and on a kernel without groups that hand over, it cannot be replaced.
    pub fn open(
        link: &str,
        options: ring::RingOptions,
        capture: &CaptureOptions,
    ) -> Result<(PacketRing, Option<Box<dyn HandOver>>), RingOpenError> {
        let (ring, group) = match capture.shares.first() {
            Some(part) => {
                let ring = part.share.open_ring(part.ring, &options)?;
                (ring, Group::Shared(part.clone()))
            }
            None if !capture.threads => return Ok((PacketRing::open(link, &options)?, None)),
            None => match HandoverGroup::open(link, &options) {
                Ok((ring, group)) => (ring, Group::Alone(group)),
                Err(RingOpenError::Setup(error)) if error.step == SetupStep::Fanout => {
                    return Ok((PacketRing::open(link, &options)?, None));
                }
                Err(error) => return Err(error),
            },
        };
        let hand_over = Self {
            link: link.to_owned(),
            group,
            options,
            backend: ring.version().into(),
            capture: capture.clone(),
            filter_version: 0,
        };
        Ok((ring, Some(Box::new(hand_over))))
    }
}

impl Group {
    fn prepare(&mut self, options: &ring::RingOptions) -> Result<Prepared<'_>, RingOpenError> {
        match self {
            Self::Alone(group) => group.prepare(options).map(Prepared::Alone),
            Self::Shared(part) => {
                let ring = part.share.prepare(part.ring, options)?;
                Ok(Prepared::Shared(ring))
            }
        }
    }

    /// Readers among which the buffer is divided.
    fn readers(&self) -> NonZeroUsize {
        match self {
            Self::Alone(_) => NonZeroUsize::MIN,
            Self::Shared(part) => part.readers,
        }
    }
}

impl Prepared<'_> {
    fn take_over(self) -> Result<PacketRing, RingOpenError> {
        match self {
            Self::Alone(ring) => ring.take_over(),
            Self::Shared(ring) => ring.take_over(),
        }
    }
}

impl HandOver for PacketHandOver {
    fn backend(&self) -> Backend {
        self.backend
    }

    fn free_dropped(&mut self) -> bool {
        match &self.group {
            // Dropping a ring frees it.
            Group::Alone(_) => true,
            Group::Shared(part) => part.share.free_dropped(),
        }
    }

    fn put_to_rest(&mut self) {
        match &self.group {
            Group::Alone(group) => group.put_to_rest(),
            Group::Shared(part) => part.share.put_to_rest(),
        }
    }

    fn link(&self) -> &str {
        &self.link
    }

    fn prepare(
        &mut self,
        _change: &Change,
        options: &RunOptions,
    ) -> Result<Box<dyn Replacement + '_>, ChangeError> {
        let options = &RunOptions {
            buffer_bytes: options.buffer_bytes / self.group.readers(),
            ..options.clone()
        };
        self.options.buffer_bytes = options.buffer_bytes;
        self.options.stall = options.stall;
        blocks::suit(
            &mut self.options,
            &self.capture,
            options.delivery,
            options.spin,
        );
        if options.filter_version != self.filter_version {
            return self.prepare_filtered(options);
        }
        Ok(Box::new(PacketReplacement {
            ring: self.group.prepare(&self.options)?,
            filter: None,
            newest: Newest {
                options: &mut self.options,
                backend: &mut self.backend,
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
        // All rings of the group have the direction of the first one; the program narrows it.
        let ring = ring_options(&chosen.options, chosen.ring);
        Ok(Box::new(PacketReplacement {
            ring: self.group.prepare(&ring)?,
            filter: Some(FilteredOptions {
                filter: chosen.filter,
                version: options.filter_version,
                options: ring,
            }),
            newest: Newest {
                options: &mut self.options,
                backend: &mut self.backend,
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
        let ring = ring.take_over()?;
        *newest.backend = ring.version().into();
        let ring = RingReader::Packet(Box::new(ring));
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
