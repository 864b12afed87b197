//! Rings of one interface that take over from each other.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};

use abi::bpf::divide_classic;
use abi::packet::{PACKET_FANOUT, SOL_PACKET};
use abi::socket;

use crate::error::{OpenError, SetupError, Step};
use crate::filter;
use crate::options::{Backend, Options};
use crate::ring::{Link, PacketRing};
use crate::setup::{self, Place};

/// Lets one ring of an interface take over from another, with other options, while packets come: each
/// packet is in one of the two.
///
/// ```text
///                   ┌─▶ first member:  the ring that is read
/// packet ─▶ program ┤
///                   └─▶ second member: its successor
/// ```
///
/// The rings are members of a fanout group, whose program names the member that gets a packet. A
/// successor joins as the second, and nothing changes; then the program is replaced by one that names the
/// second. The kernel replaces it in one step, and the call returns when no processor runs the old one
/// any more. From then on the ring before is final: it is read to its end and dropped, which makes the
/// successor the group's first and only member.
///
/// A process that another thread forks keeps a dropped ring alive until it executes a program; within
/// that time nothing is to be handed over.
///
/// # Kernel
/// Linux 4.12 (`PACKET_FANOUT_FLAG_UNIQUEID`).
/// # Source
/// `packet_rcv_fanout`, `fanout_add`, `__fanout_unlink`, net/packet/af_packet.c.
#[doc(alias = "PACKET_FANOUT_CBPF")]
#[derive(Debug)]
pub struct Relay {
    link: Link,
    /// Number of the group.
    group: u16,
    /// Version of the newest ring.
    backend: Backend,
    /// Of the newest ring, by which the group is reached.
    socket: OwnedFd,
    newest: Weak<()>,
    /// Of the ring before it.
    before: Weak<()>,
}

/// Says by its end that a ring is gone; the last field of a ring.
pub(crate) type Turn = Arc<()>;

/// A ring that is ready to take over and gets no packet yet. Dropping it changes nothing.
#[derive(Debug)]
pub struct Successor<'r> {
    relay: &'r mut Relay,
    ring: PacketRing,
    turn: Turn,
}

impl Relay {
    /// Opens the first ring, as [`PacketRing::open`] does. A [`Filter::Program`](crate::Filter::Program) has
    /// to refuse what the direction leaves out on whichever way.
    ///
    /// # Errors
    /// As [`PacketRing::open`]; `Step::Fanout` where the kernel has no such groups.
    pub fn open(link: &str, options: &Options) -> Result<(PacketRing, Self), OpenError> {
        let mut ring = setup::open(link, options, Place::First)?;
        let in_group = |source| at(Step::Fanout, &ring.link, source);
        let option: u32 =
            socket::option(ring.socket.as_fd(), SOL_PACKET, PACKET_FANOUT).map_err(in_group)?;
        let turn = Turn::default();
        let relay = Self {
            link: ring.link.clone(),
            // The low half is the group.
            group: option as u16,
            backend: ring.backend(),
            socket: ring.socket.try_clone().map_err(in_group)?,
            newest: Arc::downgrade(&turn),
            before: Weak::new(),
        };
        ring.turn = Some(turn);
        Ok((ring, relay))
    }

    /// Version of the newest ring.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Whether the ring before the newest is there yet, so that nothing can be handed over.
    pub fn is_busy(&self) -> bool {
        self.before.strong_count() > 0
    }

    /// Opens a ring to which the newest one can hand over. Its direction has to be that of the first ring;
    /// to be called in the network namespace of that one.
    ///
    /// Blocks until the kernel has seen every processor pass by, some ten milliseconds.
    ///
    /// # Errors
    /// [`OpenError::Busy`] while the ring before the newest has not been dropped; `Step::Link` in another
    /// network namespace (from Linux 5.14 on); else as [`PacketRing::open`].
    pub fn prepare(&mut self, options: &Options) -> Result<Successor<'_>, OpenError> {
        if self.is_busy() {
            let link = self.link.name.clone();
            return Err(OpenError::Busy { link });
        }
        // The newest is alone, so it is the one named, whatever the program says, and from here on when it
        // is not alone too.
        self.name_member(0)?;
        let place = Place::After {
            link: &self.link,
            group: self.group,
        };
        let mut ring = setup::open(&self.link.name, options, place)?;
        // Elsewhere there may be an interface of that number, and the group would be a new one.
        if is_elsewhere(self.socket.as_fd(), ring.socket.as_fd()) {
            let source = std::io::Error::from_raw_os_error(libc::ENODEV);
            return Err(at(Step::Link, &self.link, source).into());
        }
        let turn = Turn::default();
        ring.turn = Some(turn.clone());
        Ok(Successor {
            relay: self,
            ring,
            turn,
        })
    }

    /// Has the packets from here on go to this member.
    fn name_member(&self, number: u32) -> Result<(), OpenError> {
        let program = filter::answer(number);
        divide_classic(self.socket.as_fd(), &program)
            .map_err(|source| at(Step::Fanout, &self.link, source).into())
    }
}

impl Successor<'_> {
    /// From here on packets come into this ring. What the one before holds is to be read first, then the
    /// reader goes on with this one ([`PacketRing::follow`]).
    ///
    /// Blocks as [`Relay::prepare`] does; when it returns no packet enters the ring before any more.
    ///
    /// # Errors
    /// `Step::Fanout` for want of memory or of a descriptor; nothing has changed then.
    pub fn take_over(self) -> Result<PacketRing, OpenError> {
        let Self { relay, ring, turn } = self;
        let in_group = |source| at(Step::Fanout, &ring.link, source);
        let socket = ring.socket.try_clone().map_err(in_group)?;
        relay.name_member(1)?;
        relay.socket = socket;
        relay.backend = ring.backend();
        relay.before = std::mem::replace(&mut relay.newest, Arc::downgrade(&turn));
        Ok(ring)
    }
}

/// Whether two sockets are known to be of different network namespaces.
fn is_elsewhere(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let [one, other] = [one, other].map(|socket| socket::namespace_cookie(socket).ok());
    one != other
}

fn at(step: Step, link: &Link, source: std::io::Error) -> SetupError {
    let link = link.name.clone();
    SetupError { step, link, source }
}
