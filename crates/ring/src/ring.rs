//! The receive ring of a packet socket.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use abi::bpf::attach_classic;
use abi::packet::{
    BlockDesc, PACKET_STATISTICS, SOL_PACKET, TP_STATUS_KERNEL, TP_STATUS_LOSING, TP_STATUS_USER,
    TpacketStats,
};
use abi::region::Region;
use abi::socket;

use crate::account::Account;
use crate::batch::{Batch, Lender, status_offset};
use crate::error::OpenError;
use crate::filter;
use crate::geometry::Geometry;
use crate::options::{Backend, Options};
use crate::relay::Turn;
use crate::setup::{self, Place};
use crate::waiting::Scanned;

/// Frames that a V2 batch covers at most, so that memory goes back to the kernel steadily.
pub(crate) const MAX_FRAMES: usize = 256;

/// The interface behind a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name when the ring was opened.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// Link-layer header type of its packets, as capture files number them (`LINKTYPE_*`).
    pub link_type: u16,
    /// Whether it is a loopback interface.
    pub loopback: bool,
}

/// A receive ring: memory that the kernel fills with packets and the reader empties.
///
/// Layout: `count` equal slots, contiguous; a slot is a frame with one packet (TPACKET_V2) or a
/// block with many (TPACKET_V3). A status word in each says whose it is. The reader goes round in
/// order. `Send`, not `Sync`.
#[derive(Debug)]
pub struct PacketRing {
    pub(crate) region: Region,
    pub(crate) socket: OwnedFd,
    pub(crate) geometry: Geometry,
    pub(crate) head: usize,
    /// From the head on, as far as somebody asked how much is there.
    pub(crate) scanned: Cell<Scanned>,
    pub(crate) snaplen: u32,
    pub(crate) account: Account,
    /// Drops that no batch has reported yet.
    pub(crate) unreported: u64,
    pub(crate) link: Link,
    /// Of a ring in a [`Relay`](crate::Relay). Its end comes after that of the memory and of the socket.
    pub(crate) turn: Option<Turn>,
}

impl PacketRing {
    /// Opens a ring on interface `link` and starts it.
    ///
    /// Cost: about a dozen system calls here, none per packet. Does not block.
    ///
    /// # Errors
    /// [`OpenError::Option`] for options that contradict each other, [`OpenError::Setup`] for the
    /// step the kernel refused: `Step::Socket` with EPERM, `Step::Link` with ENODEV, `Step::Ring`
    /// with ENOMEM, `Step::Filter` with EINVAL.
    /// # Privileges
    /// `CAP_NET_RAW` in the user namespace that owns the network namespace; `CAP_NET_ADMIN` for
    /// hardware time stamps.
    /// # Kernel
    /// Linux 4.20 (`PACKET_IGNORE_OUTGOING`).
    /// # Source
    /// `packet_set_ring`, net/packet/af_packet.c; Documentation/networking/packet_mmap.rst.
    pub fn open(link: &str, options: &Options) -> Result<Self, OpenError> {
        setup::open(link, options, Place::Alone)
    }

    /// The interface it receives from.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Its version.
    pub fn backend(&self) -> Backend {
        self.geometry.backend
    }

    /// Size of its memory, bytes.
    pub fn buffer_bytes(&self) -> usize {
        self.geometry.bytes()
    }

    /// Borrows packets the kernel has finished with, oldest first; `None` when there are none yet.
    ///
    /// Nothing is copied and no system call is made, except to ask for the number of packets lost
    /// when the kernel says that some were. To sleep until there is work, poll the descriptor.
    #[inline]
    pub fn next_batch(&mut self) -> Option<Batch<'_>> {
        let ready = self.ready()?;
        if ready.losing {
            // Asking a packet socket for its counters fails only on a bad address, which it is not;
            // should it, the number is asked for again with the next batch.
            let _ = self.refresh();
        }
        let lost_before = std::mem::take(&mut self.unreported);
        let (slots, packets) = (ready.slots, ready.packets);
        Some(Batch {
            lender: Lender::Packet { ring: self, slots },
            packets,
            unreadable: 0,
            lost_before,
        })
    }

    /// Gives the slots of a batch back, of whose packets `unreadable` were no good.
    pub(crate) fn give_back(&mut self, slots: usize, packets: u32, unreadable: u32) {
        for slot in self.head..self.head + slots {
            let offset = slot * self.geometry.slot_bytes + status_offset(self.geometry.backend);
            // Release: every read of the slot's bytes is done before the kernel can see that it may
            // fill it again (prb_dispatch_next_block and packet_lookup_frame, net/packet/af_packet.c);
            // with a weaker store a packet could change under its reader.
            let status = self.region.word(offset);
            status.store(TP_STATUS_KERNEL, Ordering::Release);
        }
        self.head = (self.head + slots) % self.geometry.count;
        self.scanned.set(Scanned::default());
        self.account.delivered += (packets - unreadable) as u64;
        self.account.unreadable += unreadable as u64;
    }

    fn ready(&self) -> Option<Ready> {
        match self.geometry.backend {
            Backend::PacketV3 => self.ready_block(),
            Backend::PacketV2 => self.ready_frames(),
        }
    }

    pub(crate) fn status(&self, slot: usize) -> u32 {
        let offset = slot * self.geometry.slot_bytes + status_offset(self.geometry.backend);
        // Acquire pairs with the write barrier between filling the slot and setting this word
        // (prb_flush_block and __packet_set_status, net/packet/af_packet.c). With a weaker load a
        // packet could be read before its bytes are visible.
        self.region.word(offset).load(Ordering::Acquire)
    }

    fn ready_block(&self) -> Option<Ready> {
        let status = self.status(self.head);
        if status & TP_STATUS_USER == 0 {
            return None;
        }
        let offset = self.head * self.geometry.slot_bytes;
        let block = self
            .region
            .pointer(offset, size_of::<BlockDesc>())
            .cast::<BlockDesc>();
        // SAFETY: mapped (checked) and page-aligned; the status says it is the reader's.
        let packets = unsafe { &raw const (*block.as_ptr()).num_pkts };
        // SAFETY: as above.
        let packets = unsafe { packets.read() };
        Some(Ready {
            slots: 1,
            packets,
            losing: status & TP_STATUS_LOSING != 0,
        })
    }

    fn ready_frames(&self) -> Option<Ready> {
        let most = MAX_FRAMES.min(self.geometry.count - self.head);
        let mut losing = false;
        let mut slots = 0;
        while slots < most {
            let status = self.status(self.head + slots);
            if status & TP_STATUS_USER == 0 {
                break;
            }
            losing |= status & TP_STATUS_LOSING != 0;
            slots += 1;
        }
        (slots > 0).then_some(Ready {
            slots,
            packets: slots as u32,
            losing,
        })
    }

    /// What became of the packets so far; [`PacketRing::refresh`] brings the kernel's part up to date.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Asks the kernel for its counters and adds them to the account.
    ///
    /// Only this ring reads them, so nothing is lost by their being cleared.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub fn refresh(&mut self) -> io::Result<()> {
        let since: TpacketStats =
            socket::option(self.socket.as_fd(), SOL_PACKET, PACKET_STATISTICS)?;
        self.account.count(since);
        self.unreported += since.drops as u64;
        Ok(())
    }

    /// Stops the flow: packets that come from here on are no longer offered to this ring.
    ///
    /// What is in the ring stays there to be read; a V3 block that holds packets is handed over
    /// when its time is up. A packet that another processor is just filtering may still enter.
    ///
    /// # Errors
    /// What setsockopt(2) says.
    pub fn stop(&self) -> io::Result<()> {
        attach_classic(self.socket.as_fd(), &filter::nothing())
    }

    /// Goes on where `before` ends: this ring's account has its packets too from here on.
    ///
    /// The memory of `before` is free then. What it still holds is lost, and counts as waiting for ever;
    /// see [`PacketRing::is_at_end`].
    pub fn follow(&mut self, before: Self) {
        self.account = self.account + before.account;
        self.unreported += before.unreported;
        drop(before);
    }

    /// Whether every packet that came into the ring has been read, as of now. It stays so if no more can
    /// come: after [`PacketRing::stop`] or once another ring [took over](crate::Successor::take_over).
    ///
    /// Cost: a system call.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub fn is_at_end(&mut self) -> io::Result<bool> {
        self.refresh()?;
        Ok(self.account.waiting() == 0)
    }

    /// Takes the pending error of the socket, for which its descriptor polls as `POLLERR`.
    ///
    /// # Errors
    /// ENETDOWN when the interface went down or away.
    pub fn take_error(&self) -> io::Result<()> {
        socket::take_error(self.socket.as_fd())
    }
}

/// What lies ready at the head of a ring.
struct Ready {
    slots: usize,
    packets: u32,
    losing: bool,
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
