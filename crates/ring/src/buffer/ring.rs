//! The reader's end of a ring buffer.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::interface::hardware_address;
use abi::ring_buffer::{self, SlotPlace};
use abi::socket;

use super::copies::Copies;
use super::error::{BufferError, BufferStep};
use super::walk::{Found, Records, Span, Written};
use crate::account::Account;
use crate::batch::{Batch, Lender};
use crate::options::DEFAULT_SNAPLEN;
use crate::prefetch;
use crate::ring::Link;
use crate::setup::{ARPHRD_LOOPBACK, link_type, promiscuous};
use crate::xdp::{Offset, View, receive_queues};

/// Records that a batch covers at most, so that room goes back to the kernel steadily.
const MAX_RECORDS: u32 = 256;

/// What to read of a ring buffer.
#[derive(Clone, Debug)]
pub struct BufferOptions {
    /// See packets addressed to others too.
    pub promiscuous: bool,
    /// Bytes shown of a packet at most; the program has a limit of its own.
    pub snaplen: u32,
}

impl Default for BufferOptions {
    fn default() -> Self {
        Self {
            promiscuous: true,
            snaplen: DEFAULT_SNAPLEN,
        }
    }
}

/// The reader's end of a BPF ring buffer that a mirroring program (`bpf::Mirror`) fills: the beginnings
/// of packets, whose originals go on their way. `Send`, not `Sync`.
///
/// Time stamps are the kernel's, taken by the program as it ran (`CLOCK_MONOTONIC`, moved to the time of
/// day as [`XdpRing`](crate::XdpRing) does). Packets are as the driver has them: VLAN tags in place
/// unless the interface takes them off, the checksum unknown.
///
/// The descriptor becomes readable when there are records. The kernel wakes for a record only if all
/// before it were given back, so a reader that sleeps for a time before it looks is woken once in that
/// time, however many come; it should look whether the buffer [is filling](RingBuffer::is_filling).
#[doc(alias = "BPF_MAP_TYPE_RINGBUF")]
#[derive(Debug)]
pub struct RingBuffer {
    map: OwnedFd,
    memory: ring_buffer::RingBuffer,
    /// Up to where everything was given back.
    read: u64,
    /// What was seen to wait when the reader looked last, as far as it has not been read. How far the program has
    /// written is in a line that it writes for each packet: looking takes that away from it.
    known: Span,
    /// What the program had lost before the latest packet that was handed over.
    lost: u64,
    account: Account,
    view: View,
    /// The records of the present batch, if they cannot be lent.
    copies: Option<Copies>,
    link: Link,
    /// Keeps promiscuous mode on.
    _membership: OwnedFd,
}

impl RingBuffer {
    /// Maps ring buffer `map`, which holds packets of interface `link`.
    ///
    /// Several buffers of one interface (each CPU has its own) are opened one by one. Cost: some ten
    /// system calls here, none per packet. Does not block.
    ///
    /// # Errors
    /// [`BufferError`]; its text says what to do. `BufferStep::Map` with EINVAL when `map` is none,
    /// with `ResourceBusy` when this process reads it already: what one reader has lent another could
    /// give back.
    /// # Privileges
    /// `CAP_NET_RAW` in the user namespace that owns the network namespace.
    /// # Kernel
    /// Linux 5.8.
    /// # Source
    /// kernel/bpf/ringbuf.c; Documentation/bpf/ringbuf.rst.
    pub fn open(
        link: &str,
        map: BorrowedFd<'_>,
        options: &BufferOptions,
    ) -> Result<Self, BufferError> {
        Self::with(link, map, options, || ring_buffer::RingBuffer::map(map))
    }

    /// Maps the records that a program of `bpf::Intake` keeps of packets of interface `link`.
    ///
    /// Nothing is taken on trust of what writes there: slots are copied out of the memory, the copies checked, and
    /// where one is nonsense the rest of its batch counts as unreadable.
    ///
    /// # Errors
    /// As [`RingBuffer::open`].
    /// # Privileges
    /// As [`RingBuffer::open`].
    /// # Kernel
    /// Linux 5.8.
    pub fn open_slots(
        link: &str,
        place: &SlotPlace<'_>,
        options: &BufferOptions,
    ) -> Result<Self, BufferError> {
        Self::with(link, place.wakes, options, || {
            ring_buffer::RingBuffer::map_slots(place)
        })
    }

    /// `wakes` is readable when there is work for the reader.
    fn with(
        link: &str,
        wakes: BorrowedFd<'_>,
        options: &BufferOptions,
        map: impl FnOnce() -> io::Result<ring_buffer::RingBuffer>,
    ) -> Result<Self, BufferError> {
        if options.snaplen == 0 {
            return Err(BufferError::SnaplenZero);
        }
        let at = |step| {
            move |source| BufferError::Setup {
                step,
                link: link.to_owned(),
                source,
            }
        };
        let asked = socket::packet_socket().map_err(at(BufferStep::Socket))?;
        let fd = asked.as_fd();
        let index = socket::link_index(fd, link).map_err(at(BufferStep::Link))?;
        let address = hardware_address(fd, link).map_err(at(BufferStep::Link))?;
        // A driver that does not say may have several.
        let has_queues = receive_queues(fd, link).map_or(true, |queues| queues > 1);
        let Some(link_type) = link_type(address.hatype) else {
            return Err(BufferError::LinkLayer {
                link: link.to_owned(),
                hatype: address.hatype,
            });
        };
        if options.promiscuous {
            promiscuous(fd, index).map_err(at(BufferStep::Promiscuous))?;
        }
        let memory = map().map_err(at(BufferStep::Map))?;
        let map = wakes.try_clone_to_owned().map_err(at(BufferStep::Map))?;
        let copies = memory.slot_bytes().map(Copies::new);
        Ok(Self {
            map,
            read: memory.read_up_to(),
            known: Span {
                at: memory.read_up_to(),
                end: memory.read_up_to(),
            },
            memory,
            lost: 0,
            account: Account::default(),
            view: View {
                snaplen: options.snaplen,
                link: index,
                mac: (link_type == 1).then_some(address.bytes),
                has_queues,
                offset: Offset::measure(),
            },
            copies,
            link: Link {
                name: link.to_owned(),
                index,
                link_type,
                loopback: address.hatype == ARPHRD_LOOPBACK,
            },
            _membership: asked,
        })
    }

    /// The interface whose packets it holds.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Its size, bytes.
    pub fn buffer_bytes(&self) -> usize {
        self.memory.bytes() as usize
    }

    /// Borrows packets the program has finished with, oldest first; `None` when there are none yet.
    ///
    /// Nothing is copied (but from [slots](RingBuffer::open_slots)) and no system call is made, except to
    /// read the clocks once a millisecond. To sleep until there is work, poll the descriptor.
    ///
    /// A batch ends where the program lost packets, so [`Batch::lost_before`] tells of exactly those
    /// between this batch and the one before.
    #[inline]
    pub fn next_batch(&mut self) -> Option<Batch<'_>> {
        let found = self.find().or_else(|| {
            self.memory.before_last_look();
            self.find()
        })?;
        if !self.view.offset.is_recent(found.monotonic_ns) {
            self.view.offset.follow();
        }
        let lost_before = found.lost.wrapping_sub(self.lost);
        self.lost = found.lost;
        Some(Batch {
            packets: found.packets,
            unreadable: 0,
            lost_before,
            lender: Lender::Buffer {
                ring: self,
                span: found.span,
            },
        })
    }

    /// Makes the descriptor unreadable, if it was readable by a sign whose packets have been read; for packets
    /// that come from now on it becomes readable. [`next_batch`](Self::next_batch) does so when there are none;
    /// who has not called it looks once more whether the buffer [holds](Self::holds) packets.
    pub fn rearm(&self) {
        self.memory.before_last_look();
    }

    /// Finds the records of the next batch.
    #[inline]
    fn find(&mut self) -> Option<Found> {
        if self.known.at == self.known.end {
            self.known = self.waiting();
        }
        let known = self.known;
        let found = match (&mut self.copies, self.memory.slot_bytes()) {
            (Some(copies), Some(slot_bytes)) => copies.find(&self.memory, known, slot_bytes),
            _ => self.find_lent(known),
        };
        if found.is_none() {
            self.known.end = self.known.at;
        }
        found
    }

    /// Finds records that can be lent.
    #[inline]
    fn find_lent(&self, waiting: Span) -> Option<Found> {
        let mut rest = waiting;
        let mut found: Option<Found> = None;
        for _ in 0..MAX_RECORDS {
            match rest.look(&self.memory) {
                Written::Nothing => break,
                Written::Packet { kept, next } => {
                    if let Some(record) = self.memory.bytes_of(rest.at, 0) {
                        prefetch::ahead(record, kept);
                    }
                    let mirrored = self.memory.mirrored(rest.at);
                    let found = found.get_or_insert(Found {
                        span: Span {
                            end: waiting.at,
                            ..waiting
                        },
                        packets: 0,
                        lost: mirrored.lost,
                        monotonic_ns: mirrored.monotonic_ns,
                    });
                    if found.lost != mirrored.lost {
                        break;
                    }
                    found.packets += 1;
                    found.span.end = next;
                    rest.at = next;
                }
                // All that is there counts as one packet, in which the walk finds none; the sound ones
                // before it come first.
                Written::Nonsense => {
                    return found.or(Some(Found {
                        span: waiting,
                        packets: 1,
                        lost: self.lost,
                        monotonic_ns: 0,
                    }));
                }
            }
        }
        found
    }

    /// What has been begun and was not given back. A position of the kernel's that cannot be is not
    /// followed.
    #[inline]
    fn waiting(&self) -> Span {
        let begun = self.memory.begun_up_to();
        let bytes = begun.wrapping_sub(self.read).min(self.memory.bytes());
        let unit = self.memory.slot_bytes().unwrap_or(1);
        let bytes = bytes & !(unit - 1);
        Span {
            at: self.read,
            end: self.read.wrapping_add(bytes),
        }
    }

    /// Walks over the records of a batch.
    #[inline]
    pub(crate) fn walk(&self, span: Span) -> Records<'_> {
        Records {
            memory: &self.memory,
            span,
            view: self.view,
            copies: self.copies.as_ref().map(|copies| (copies, 0)),
        }
    }

    /// The oldest `packets` of a batch.
    pub(crate) fn first_of(&self, packets: u32, span: Span) -> Span {
        let rest = span.behind(packets, &self.memory);
        Span {
            end: rest.at,
            ..span
        }
    }

    /// Lets the next batch tell of `lost` packets that the present one will not.
    pub(crate) fn report_again(&mut self, lost: u64) {
        self.lost = self.lost.wrapping_sub(lost);
    }

    /// Gives the records of a batch back, of whose `packets` packets `unreadable` were no good.
    pub(crate) fn give_back(&mut self, span: Span, packets: u32, unreadable: u32) {
        self.read = span.end;
        self.known.at = span.end;
        self.memory.release(self.read);
        self.account.delivered += (packets - unreadable) as u64;
        self.account.unreadable += unreadable as u64;
    }

    /// Goes on where `before` ends: this buffer's account has its packets too from here on. The program has to
    /// have gone from that one to this one, for the same CPU.
    ///
    /// The memory of `before` is unmapped then; what it still holds is lost.
    pub fn follow(&mut self, before: Self) {
        self.account = self.account + before.account;
        // A program with slots of its own counts from 0 again, behind what the one before lost at its end.
        let counted = before.memory.lost().unwrap_or(0);
        self.lost = before.lost.wrapping_sub(counted);
        drop(before);
    }

    /// Whether the packets that wait take `bytes` of the buffer or more; 1 asks whether there is any. A
    /// packet that the program is just writing counts.
    #[inline]
    pub fn holds(&self, bytes: usize) -> bool {
        let waiting = self.waiting_bytes();
        waiting > 0 && waiting >= bytes
    }

    /// Whether a quarter of the buffer or more waits to be read.
    pub fn is_filling(&self) -> bool {
        self.waiting_bytes() > self.buffer_bytes() / 4
    }

    /// Bytes of it that wait to be read, with all headers.
    pub fn waiting_bytes(&self) -> usize {
        let waiting = self.waiting();
        waiting.end.wrapping_sub(waiting.at) as usize
    }

    /// What became of the packets in this buffer; [`RingBuffer::refresh`] counts those that wait.
    ///
    /// `dropped` is always 0: packets that found no room are the program's loss (`MirrorCounts::lost`),
    /// of which batches tell. `freezes` is always 0, too.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Counts the packets that wait, and brings `accepted` up to date. No system call.
    pub fn refresh(&mut self) {
        let waiting = self.waiting().count(&self.memory);
        let account = &mut self.account;
        account.accepted = account.delivered + account.unreadable + waiting;
    }
}

impl AsFd for RingBuffer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
