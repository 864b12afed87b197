//! Rings that share the packets of an interface, and that are replaced together without losing packets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use abi::bpf::set_fanout_program;
use abi::open_socket::OpenSocket;
use abi::packet::{PACKET_FANOUT, PACKET_FANOUT_FLAG_UNIQUEID, SOL_PACKET};
use abi::socket::{self, set_option};

use super::closed;
use super::distribution;
use super::handover::{at, check_namespace};
use super::ring::PacketRing;
use super::setup::{self, Role};
use crate::error::{RingOpenError, RingSetupError, SetupStep};
use crate::interface::InterfaceInfo;
use crate::options::{DirectionFilter, FanoutMode, RingOptions};

/// Bytes of an Ethernet header.
const ETHERNET_BYTES: u32 = 14;

/// Most rings: a group has room for two of each and one more (`PACKET_FANOUT_MAX`, 256).
const RINGS_MAX: usize = 127;

/// Calls that try to free a ring.
const FREE_CALLS: u32 = 100;

/// Link type of Ethernet.
const ETHERNET: u16 = 1;

/// Shares the packets of an interface among several rings, which can be replaced by others while packets arrive. Each
/// packet is in exactly one ring. Clones are the same share.
///
/// ```text
///                   ┌─▶ members 0 .. N:   the rings that are read, or placeholders
/// packet ─▶ program ┤
///                   └─▶ members N .. 2N:  the prepared rings, or placeholders
/// ```
///
/// The rings are members of a fanout group, whose program returns the member that gets a packet: the number of a ring, from 0
/// or from N on. The group exists until the share and all its rings are dropped. Placeholders are sockets without memory that reject everything. So a ring that joins gets no packet
/// until the program returns its number, and no member changes its number when another one leaves.
///
/// An interface that goes down and comes up again ends the share: the kernel then numbers the members in the order in which they were
/// opened (`packet_notifier`). More than 127 rings cannot be replaced. A process forked by another thread keeps a
/// dropped ring alive until it calls execve(2). Opening and replacing rings waits for that, a second at most for each socket. Packets
/// may get lost if it takes longer.
///
/// # Kernel
/// Linux 4.12 (`PACKET_FANOUT_FLAG_UNIQUEID`).
/// # Source
/// `packet_rcv_fanout`, `fanout_add`, `__fanout_unlink`, net/packet/af_packet.c.
#[doc(alias = "PACKET_FANOUT_CBPF")]
#[derive(Clone, Debug)]
pub struct RingShare(Arc<Mutex<Members>>);

/// How a [`RingShare`] shares packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareOptions {
    /// Number of rings.
    pub rings: usize,
    /// How packets are distributed among them. [`FanoutMode::Hash`] is a hash of addresses and ports of IPv4 and IPv6; other
    /// packets have the hash of the driver. [`FanoutMode::RoundRobin`] is as [`FanoutMode::Random`].
    pub mode: FanoutMode,
    /// The direction of all rings.
    pub direction: DirectionFilter,
}

/// A ring of a [`RingShare`] that is ready to take over and gets no packets yet. Dropping it changes nothing.
#[derive(Debug)]
pub struct PreparedShare {
    share: RingShare,
    ring: PacketRing,
    /// Number of the first member of the prepared rings.
    base: usize,
}

#[derive(Debug)]
struct Members {
    link: InterfaceInfo,
    options: ShareOptions,
    /// Number of the fanout group.
    group: u16,
    ignores_outgoing: bool,
    /// Number of the first member that gets packets: 0 or the number of rings.
    base: usize,
    /// In the kernel's order.
    sockets: Vec<Member>,
    /// Calls of [`free_dropped`](RingShare::free_dropped) in a row that failed to free a ring.
    failed_calls: u32,
}

/// A member of the group. The socket keeps it there, and the memory of its ring.
#[derive(Debug)]
struct Member {
    socket: OwnedFd,
    /// Ends when the ring is dropped. `None`: a placeholder.
    ring: Option<Weak<RingShare>>,
    /// Set once no packet can enter the ring any more.
    is_at_rest: Arc<AtomicBool>,
    /// [`PacketRing::spare`] of the ring: the reader does not close it.
    spare: Option<Arc<OwnedFd>>,
}

impl RingShare {
    /// Opens the group, with placeholders for all rings. Call it in the network namespace of the interface.
    ///
    /// # Errors
    /// As [`PacketRing::open`]; `SetupStep::Fanout` if the kernel has no such groups.
    /// # Privileges
    /// As [`PacketRing::open`].
    pub fn open(link: &str, options: ShareOptions) -> Result<Self, RingOpenError> {
        let (socket, link) = setup::placeholder(link, None)?;
        let ignores_outgoing = setup::ignores_outgoing(options.direction, &link);
        let in_group = |source| at(SetupStep::Fanout, &link, source);
        let group = PACKET_FANOUT_FLAG_UNIQUEID << 16 | setup::handover(ignores_outgoing);
        set_option(socket.as_fd(), SOL_PACKET, PACKET_FANOUT, &group).map_err(in_group)?;
        let group: u32 =
            socket::option(socket.as_fd(), SOL_PACKET, PACKET_FANOUT).map_err(in_group)?;
        let mut members = Members {
            // The low half is the group.
            group: group as u16,
            ignores_outgoing,
            base: 0,
            sockets: vec![Member::new(socket, None)],
            failed_calls: 0,
            options,
            link,
        };
        members.fill(options.rings)?;
        members.direct(0)?;
        Ok(Self(Arc::new(Mutex::new(members))))
    }

    /// Opens ring `number`, which gets its packets from now on.
    ///
    /// # Errors
    /// As [`PacketRing::open`].
    pub fn open_ring(
        &self,
        number: usize,
        options: &RingOptions,
    ) -> Result<PacketRing, RingOpenError> {
        let mut members = self.members();
        let position = members.base + number;
        members.open(position, options, self)
    }

    /// Opens a ring to which ring `number` can hand over. Call it in the network namespace of the interface. The direction
    /// must be that of the share.
    ///
    /// Waits until every CPU has passed a quiescent state, some ten milliseconds.
    ///
    /// # Errors
    /// [`RingOpenError::Busy`] until the ring before the present one is dropped; `SetupStep::Fanout` with ENOSPC for more than
    /// 127 rings; otherwise as [`PacketRing::open`].
    pub fn prepare(
        &self,
        number: usize,
        options: &RingOptions,
    ) -> Result<PreparedShare, RingOpenError> {
        let mut members = self.members();
        let base = members.other_base();
        let rings = members.options.rings;
        if rings > RINGS_MAX {
            let source = io::Error::from_raw_os_error(libc::ENOSPC);
            return Err(at(SetupStep::Fanout, &members.link, source).into());
        }
        members.fill(2 * rings)?;
        if members.sockets[base + number].is_alive() {
            let link = members.link.name.clone();
            return Err(RingOpenError::Busy { link });
        }
        let ring = members.open(base + number, options, self)?;
        drop(members);
        Ok(PreparedShare {
            share: self.clone(),
            ring,
            base,
        })
    }

    /// Frees the memory of rings that were replaced and dropped. Returns whether all that were replaced are dropped and freed.
    /// After a hundred calls that failed to free one, it is left to the next ring in its place. Call it in the network namespace
    /// of the interface.
    ///
    /// Waits for the CPUs, as [`prepare`](Self::prepare) does, once for each ring.
    pub fn free_dropped(&self) -> bool {
        let mut members = self.members();
        let base = members.other_base();
        let end = members.sockets.len().min(base + members.options.rings);
        let (mut is_free, mut has_failed) = (true, false);
        for position in base..end {
            let member = &members.sockets[position];
            if member.is_alive() {
                is_free = false;
            } else if member.ring.is_some() {
                // There may be no descriptor or memory for a placeholder at the moment.
                has_failed |= members.vacate(position).is_err();
            }
        }
        members.failed_calls = if has_failed {
            members.failed_calls.saturating_add(1)
        } else {
            0
        };
        let gives_up = members.failed_calls > FREE_CALLS;
        is_free && (!has_failed || gives_up)
    }

    /// Ends the flow into all rings, which no others are to replace, as
    /// [`HandoverGroup::put_to_rest`](crate::HandoverGroup::put_to_rest) does. Further calls return at once.
    pub fn put_to_rest(&self) {
        let members = self.members();
        let rings = &members.sockets[members.base..members.base + members.options.rings];
        let flows = |member: &&Member| !member.is_at_rest.load(Ordering::Relaxed);
        let rings: Vec<_> = rings.iter().filter(flows).collect();
        let Some(spare) = rings.iter().find_map(|member| member.spare.as_ref()) else {
            return;
        };
        let sockets = rings.iter();
        let sockets: Vec<_> = sockets
            .map(|member| (member.socket.as_fd(), &*member.is_at_rest))
            .collect();
        setup::finish_after_in_flight(&sockets, spare.as_fd());
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        // No panic leaves them half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PreparedShare {
    /// Directs packets to the prepared rings from now on, those of all rings at once: prepare all before. Read the previous
    /// ring to its end, then continue with this one ([`PacketRing::follow`]).
    ///
    /// When it returns, no packet enters the previous rings any more, and they lend the packets of their last V3 blocks without
    /// waiting for the timers of the blocks. It waits once for the CPUs; the calls for the other rings return at once.
    ///
    /// # Errors
    /// `SetupStep::Fanout` with EINVAL if another ring is not prepared, ENOMEM if memory is short; nothing has changed then.
    pub fn take_over(self) -> Result<PacketRing, RingOpenError> {
        let Self { share, ring, base } = self;
        let mut members = share.members();
        if members.base != base {
            if !members.has_prepared_all() {
                let source = io::Error::from_raw_os_error(libc::EINVAL);
                return Err(at(SetupStep::Fanout, &members.link, source).into());
            }
            let before = members.base;
            members.direct(base)?;
            for member in &members.sockets[before..before + members.options.rings] {
                setup::put_to_rest(member.socket.as_fd(), &member.is_at_rest);
            }
        }
        Ok(ring)
    }
}

impl Members {
    /// The number of the first member that gets no packets.
    fn other_base(&self) -> usize {
        self.options.rings - self.base
    }

    /// Whether there is a prepared ring for each that gets packets.
    fn has_prepared_all(&self) -> bool {
        let (base, other) = (self.base, self.other_base());
        let is_prepared = |number: usize| {
            self.sockets[base + number].ring.is_none() || self.sockets[other + number].is_alive()
        };
        (0..self.options.rings).all(is_prepared)
    }

    /// Adds placeholders until there are `count` members.
    fn fill(&mut self, count: usize) -> Result<(), RingOpenError> {
        while self.sockets.len() < count {
            let socket = self.placeholder()?;
            self.join(socket, None)
                .map_err(|source| at(SetupStep::Fanout, &self.link, source))?;
        }
        Ok(())
    }

    fn placeholder(&self) -> Result<OwnedFd, RingOpenError> {
        check_namespace(&self.link, self.sockets[0].socket.as_fd())?;
        Ok(setup::placeholder(&self.link.name, Some(self.link.index))?.0)
    }

    /// Opens the ring of a member that gets no packets, or for which a placeholder rejects them.
    fn open(
        &mut self,
        position: usize,
        options: &RingOptions,
        share: &RingShare,
    ) -> Result<PacketRing, RingOpenError> {
        check_namespace(&self.link, self.sockets[0].socket.as_fd())?;
        let link = self.link.clone();
        // Keeps the other members, and so their numbers, for as long as the ring is in use.
        let turn = Arc::new(share.clone());
        let mut join = |socket: BorrowedFd<'_>| {
            let socket = socket.try_clone_to_owned()?;
            self.join(socket, Some(Arc::downgrade(&turn)))?;
            self.leave(position);
            Ok(())
        };
        let role = Role::Member {
            link: &link,
            join: &mut join,
        };
        let mut ring = PacketRing::open_as(&link.name, options, role)?;
        ring.turn = Some(turn);
        let member = &mut self.sockets[position];
        member.is_at_rest = ring.is_at_rest.clone();
        member.spare.clone_from(&ring.spare);
        Ok(ring)
    }

    /// Adds a member, which becomes the last one.
    fn join(&mut self, socket: OwnedFd, ring: Option<Weak<RingShare>>) -> io::Result<()> {
        let group = setup::handover(self.ignores_outgoing) | u32::from(self.group);
        set_option(socket.as_fd(), SOL_PACKET, PACKET_FANOUT, &group)?;
        self.sockets.push(Member::new(socket, ring));
        Ok(())
    }

    /// Closes a member. The last one takes its position, in the kernel too (`__fanout_unlink`). Returns once no CPU delivers
    /// a packet to a socket that joined before: closing any packet socket waits for the CPUs (`packet_release`).
    fn leave(&mut self, position: usize) {
        let member = self.sockets.swap_remove(position);
        let socket = OpenSocket::new(member.socket.as_fd());
        drop(member);
        if let Ok(socket) = socket {
            // It may take longer, as documented.
            closed::wait_until_closed(&socket);
        }
    }

    /// Replaces a member by a placeholder.
    fn vacate(&mut self, position: usize) -> Result<(), RingOpenError> {
        let socket = self.placeholder()?;
        self.join(socket, None)
            .map_err(|source| at(SetupStep::Fanout, &self.link, source))?;
        self.leave(position);
        Ok(())
    }

    /// Makes the program return the members from `base` on.
    fn direct(&mut self, base: usize) -> Result<(), RingSetupError> {
        let header_bytes = match self.link.link_type {
            ETHERNET => ETHERNET_BYTES,
            _ => 0,
        };
        let ShareOptions { rings, mode, .. } = self.options;
        let program = distribution::program(mode, rings, base, header_bytes);
        set_fanout_program(self.sockets[0].socket.as_fd(), &program)
            .map_err(|source| at(SetupStep::Fanout, &self.link, source))?;
        self.base = base;
        self.failed_calls = 0;
        Ok(())
    }
}

impl Member {
    fn new(socket: OwnedFd, ring: Option<Weak<RingShare>>) -> Self {
        Self {
            socket,
            ring,
            is_at_rest: Arc::default(),
            spare: None,
        }
    }

    /// Whether its ring is in use.
    fn is_alive(&self) -> bool {
        let ring = self.ring.as_ref();
        ring.is_some_and(|ring| ring.strong_count() > 0)
    }
}
