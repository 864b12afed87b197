//! Replacing a packet ring: a second ring of its fanout group takes over.

use ring::{HandoverGroup, PacketRing, PreparedRing, RingOpenError, SetupStep};

use super::super::super::control::error::ChangeError;
use super::super::super::control::hand_over::{HandOver, Replacement, RunOptions};
use super::super::super::plan::backend::Backend;
use super::super::super::read::ring::RingReader;
use super::blocks;

/// Opens the packet rings of one interface, one after another.
pub struct PacketHandOver {
    link: String,
    group: HandoverGroup,
    /// Options of the newest ring.
    options: ring::RingOptions,
}

impl PacketHandOver {
    /// Opens the first ring. On a kernel without such fanout groups it cannot be replaced.
    pub fn open(
        link: &str,
        options: ring::RingOptions,
    ) -> Result<(PacketRing, Option<Box<dyn HandOver>>), RingOpenError> {
        match HandoverGroup::open(link, &options) {
            Ok((ring, group)) => {
                let link = link.to_owned();
                let hand_over = Self {
                    link,
                    group,
                    options,
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
        Ok(Box::new(self.group.prepare(&self.options)?))
    }
}

impl Replacement for PreparedRing<'_> {
    fn take_over(self: Box<Self>) -> Result<Vec<RingReader>, ChangeError> {
        Ok(vec![RingReader::Packet(Box::new(PreparedRing::take_over(
            *self,
        )?))])
    }
}
