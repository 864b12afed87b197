//! The filter of a packet ring that another thread reads.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abi::socket;

use super::filter::Refused;
use super::setup;
use crate::error::{RingSetupError, SetupStep};
use crate::options::RingFilter;

/// Replaces the filter of a [`PacketRing`](crate::PacketRing) while another thread reads it. Keeps the ring's socket
/// open until it is dropped.
#[derive(Debug)]
pub struct LiveFilter {
    /// Name of the interface.
    pub(crate) link: String,
    pub(crate) socket: OwnedFd,
    pub(crate) refused: Refused,
    pub(crate) snaplen: u32,
}

impl LiveFilter {
    /// Replaces the filter. Packets in the ring stay there: the filter before has accepted them. A packet that a CPU is
    /// filtering at this moment passes the filter before; see [`wait`](Self::wait).
    ///
    /// # Errors
    /// [`RingSetupError`] with EINVAL if the kernel rejects the program, ENOMEM if it is larger than `net.core.optmem_max` allows. The filter
    /// before stays then.
    /// # Source
    /// `sk_attach_filter`, net/core/filter.c.
    pub fn replace(&self, filter: &RingFilter) -> Result<(), RingSetupError> {
        let attached = setup::attach(self.socket.as_fd(), filter, self.refused, self.snaplen);
        attached.map_err(|source| RingSetupError {
            step: SetupStep::Filter,
            link: self.link.clone(),
            source,
        })
    }

    /// Waits until no CPU runs a filter that was replaced before, of any ring: some ten milliseconds.
    ///
    /// # Errors
    /// EPERM without `CAP_NET_RAW`. It has not waited then.
    /// # Source
    /// `packet_release`, net/packet/af_packet.c: closing any packet socket waits for the CPUs.
    pub fn wait() -> io::Result<()> {
        socket::packet_socket().map(drop)
    }
}
