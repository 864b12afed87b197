//! Replaces a packet ring by another one without losing packets.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use abi::bpf::set_fanout_program;
use abi::open_socket::OpenSocket;
use abi::packet::{PACKET_FANOUT, SOL_PACKET};
use abi::socket;

use super::closed;
use super::filter;
use super::ring::PacketRing;
use super::setup::{self, Role};
use crate::error::{RingOpenError, RingSetupError, SetupStep};
use crate::interface::InterfaceInfo;
use crate::options::{RingOptions, TpacketVersion};

/// Lets one ring of an interface hand over to another one with other options while packets arrive. Each packet is
/// in exactly one of the two.
///
/// ```text
///                   ┌─▶ first member:  the ring that is read
/// packet ─▶ program ┤
///                   └─▶ second member: the prepared ring
/// ```
///
/// The rings are members of a fanout group, whose program returns the member that gets a packet. A prepared ring
/// joins as the second member, which changes nothing. [`PreparedRing::take_over`] replaces the program by one that
/// returns the second member. The kernel does so atomically, and the call returns when no CPU runs the old program
/// any more. No packet enters the old ring from then on: read it to its end and drop it. The new ring is then the
/// group's first and only member.
///
/// A process forked by another thread keeps a dropped ring alive, as a member of the group, until it calls execve(2).
/// [`prepare`](Self::prepare) waits for that.
///
/// # Kernel
/// Linux 4.12 (`PACKET_FANOUT_FLAG_UNIQUEID`).
/// # Source
/// `packet_rcv_fanout`, `fanout_add`, `__fanout_unlink`, net/packet/af_packet.c.
#[doc(alias = "PACKET_FANOUT_CBPF")]
#[derive(Debug)]
pub struct HandoverGroup {
    link: InterfaceInfo,
    /// Number of the fanout group.
    group: u16,
    /// Version of the newest ring.
    version: TpacketVersion,
    /// Socket of the newest ring, through which the group's program is set.
    socket: OwnedFd,
    newest: Weak<()>,
    /// [`PacketRing::spare`] of its rings.
    spare: Option<Arc<OwnedFd>>,
    /// Set once no packet can enter the newest ring any more.
    is_at_rest: Arc<AtomicBool>,
    /// Ends when the ring before the newest is gone.
    before: Weak<()>,
    /// The socket of that ring, or of a prepared one that has not taken over. A member of the group until it is closed
    /// everywhere, so no other ring may join before.
    former: Option<OpenSocket>,
}

/// A ring that is ready to take over and gets no packets yet. Dropping it changes nothing.
#[derive(Debug)]
pub struct PreparedRing<'r> {
    relay: &'r mut HandoverGroup,
    ring: PacketRing,
    turn: Arc<()>,
}

impl HandoverGroup {
    /// Opens the first ring, as [`PacketRing::open`] does. A [`RingFilter::Program`](crate::RingFilter::Program)
    /// must itself reject the other direction.
    ///
    /// # Errors
    /// As [`PacketRing::open`]; `SetupStep::Fanout` if the kernel has no such groups.
    pub fn open(link: &str, options: &RingOptions) -> Result<(PacketRing, Self), RingOpenError> {
        let mut ring = PacketRing::open_as(link, options, Role::First)?;
        let in_group = |source| at(SetupStep::Fanout, &ring.link, source);
        let option: u32 =
            socket::option(ring.socket.as_fd(), SOL_PACKET, PACKET_FANOUT).map_err(in_group)?;
        let turn = Arc::<()>::default();
        let relay = Self {
            link: ring.link.clone(),
            // The low half is the group.
            group: option as u16,
            version: ring.version(),
            socket: ring.socket.try_clone().map_err(in_group)?,
            newest: Arc::downgrade(&turn),
            spare: ring.spare.clone(),
            is_at_rest: ring.is_at_rest.clone(),
            before: Weak::new(),
            former: None,
        };
        ring.turn = Some(turn);
        Ok((ring, relay))
    }

    /// Version of the newest ring.
    pub fn version(&self) -> TpacketVersion {
        self.version
    }

    /// Whether the ring before the newest still exists, so that the newest cannot be replaced yet.
    pub fn is_busy(&self) -> bool {
        self.before.strong_count() > 0
    }

    /// Ends the flow into the newest ring, which no other one is to replace. It then lends the packets of its last V3 block without
    /// waiting for a block timer of more than 50 ms. Needs no privilege.
    ///
    /// With such a timer, it waits twice until every CPU has passed a quiescent state, about ten milliseconds each time: for packets
    /// in NAPI polls and in GRO, and for packets that are being put into the ring. With a shorter timer it does nothing; call
    /// [`PacketRing::stop`].
    pub fn put_to_rest(&self) {
        if let Some(spare) = &self.spare {
            let ring = (self.socket.as_fd(), &*self.is_at_rest);
            setup::finish_after_in_flight(&[ring], spare.as_fd());
        }
    }

    /// Opens a ring to which the newest one can hand over. Its direction must be that of the first ring. Call it in
    /// the network namespace of the first ring.
    ///
    /// Waits twice until every CPU has passed a quiescent state, which takes some ten milliseconds each time. Waits a second at
    /// most for a forked process that has the ring before the newest.
    ///
    /// # Errors
    /// [`RingOpenError::Busy`] until the ring before the newest is dropped, and while a forked process has it;
    /// `SetupStep::Interface` in another network namespace (Linux 5.14 or later); otherwise as [`PacketRing::open`].
    pub fn prepare(&mut self, options: &RingOptions) -> Result<PreparedRing<'_>, RingOpenError> {
        let is_kept = |former: &OpenSocket| !closed::wait_until_closed(former);
        if self.is_busy() || self.former.as_ref().is_some_and(is_kept) {
            let link = self.link.name.clone();
            return Err(RingOpenError::Busy { link });
        }
        check_namespace(&self.link, self.socket.as_fd())?;
        // The kernel may still be releasing the former socket. It has done so when the new one has its memory, which waits for the
        // CPUs (`packet_set_ring`, net/packet/af_packet.c), and only then the program changes.
        let role = Role::Successor {
            link: &self.link,
            group: self.group,
            current: self.socket.as_fd(),
            spare: self.spare.clone(),
        };
        let mut ring = PacketRing::open_as(&self.link.name, options, role)?;
        if self.spare.is_none() {
            self.spare.clone_from(&ring.spare);
        }
        let former = OpenSocket::new(ring.socket.as_fd());
        self.former = Some(former.map_err(|source| at(SetupStep::Fanout, &self.link, source))?);
        let turn = Arc::<()>::default();
        ring.turn = Some(turn.clone());
        Ok(PreparedRing {
            relay: self,
            ring,
            turn,
        })
    }
}

impl PreparedRing<'_> {
    /// Directs packets to this ring from now on. Read the previous ring to its end, then continue with this one
    /// ([`PacketRing::follow`]).
    ///
    /// Waits once for the CPUs, as [`HandoverGroup::prepare`] does. When it returns, no packet enters the previous ring any more,
    /// and that lends the packets of its last V3 block without waiting for the block's timer.
    ///
    /// # Errors
    /// `SetupStep::Fanout` if memory or descriptors are short; nothing has changed then.
    pub fn take_over(self) -> Result<PacketRing, RingOpenError> {
        let Self { relay, ring, turn } = self;
        let in_group = |source| at(SetupStep::Fanout, &ring.link, source);
        let socket = ring.socket.try_clone().map_err(in_group)?;
        let former = OpenSocket::new(relay.socket.as_fd()).map_err(in_group)?;
        // The second member.
        set_fanout_program(relay.socket.as_fd(), &filter::answer(1)).map_err(in_group)?;
        setup::put_to_rest(relay.socket.as_fd(), &relay.is_at_rest);
        relay.former = Some(former);
        relay.is_at_rest = ring.is_at_rest.clone();
        relay.socket = socket;
        relay.version = ring.version();
        relay.before = std::mem::replace(&mut relay.newest, Arc::downgrade(&turn));
        Ok(ring)
    }
}

/// Checks that the calling thread is in the network namespace of `socket`. In another one, the index of `link` may be missing
/// or another interface's, and a group of this number would be a new one.
pub(super) fn check_namespace(
    link: &InterfaceInfo,
    socket: BorrowedFd<'_>,
) -> Result<(), RingSetupError> {
    // Closing a packet socket would wait for the CPUs.
    let here = UnixDatagram::unbound().map_err(|source| at(SetupStep::Socket, link, source))?;
    if is_elsewhere(socket, here.as_fd()) {
        let source = std::io::Error::from_raw_os_error(libc::ENODEV);
        return Err(at(SetupStep::Interface, link, source));
    }
    Ok(())
}

/// Whether two sockets are in different network namespaces. False if the kernel cannot tell.
fn is_elsewhere(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let [one, other] = [one, other].map(|socket| socket::namespace_cookie(socket).ok());
    one != other
}

pub(super) fn at(step: SetupStep, link: &InterfaceInfo, source: std::io::Error) -> RingSetupError {
    let link = link.name.clone();
    RingSetupError { step, link, source }
}
