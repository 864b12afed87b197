//! The transmit ring of an AF_XDP socket.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::region::Region;
use abi::socket::{option, set_option};
use abi::xdp::{
    self, MmapOffsets, RingOffset, SOL_XDP, SockaddrXdp, TxMetadata, XDP_COPY,
    XDP_MAX_TX_SKB_BUDGET, XDP_MMAP_OFFSETS, XDP_OPTIONS, XDP_OPTIONS_ZEROCOPY, XDP_PGOFF_TX_RING,
    XDP_PKT_CONTD, XDP_TX_METADATA, XDP_TX_RING, XDP_UMEM_COMPLETION_RING, XDP_UMEM_FILL_RING,
    XDP_UMEM_PGOFF_COMPLETION_RING, XDP_USE_NEED_WAKEUP, XDP_USE_SG, XDP_ZEROCOPY, XdpDesc,
};

use super::error::{XdpSetupError, XdpSetupStep};
use super::queue::{Consumer, Producer, mapping_bytes};

/// Sizes of a chunk: that of most frames, and the largest.
const SMALL_CHUNK_BYTES: usize = 2048;
const LARGE_CHUNK_BYTES: usize = 4096;

/// Number of chunks. They hold what the device has not sent yet.
const CHUNKS: u32 = 4096;

/// Chunks of the longest frame, 64 KiB.
const MAX_FRAME_CHUNKS: usize = 16;

/// The kernel requires a fill ring although nothing is received.
const FILL_ENTRIES: u32 = 2;

/// Packets that one wake-up of a copying socket may send.
const BUDGET: u32 = 256;

/// How an [`XdpSender`] sends.
#[derive(Clone, Debug)]
pub struct XdpSendOptions {
    /// The queue of the interface. Each queue has one AF_XDP socket at most.
    pub queue: u32,
    /// The driver reads the socket's memory, instead of a copy that the kernel makes.
    pub zero_copy: bool,
    /// The longest frame, at most 65536 bytes. Beyond 4096 bytes requires Linux 6.6.
    pub longest: usize,
    /// Frames can have a time at which the device sends them: [`XdpSender::push_at`]. Requires Linux 6.14.
    pub has_launch_times: bool,
}

/// Sends frames through the transmit ring of an AF_XDP socket, in order.
///
/// ```text
/// push ─▶ chunk of the packet memory ─▶ transmit ring ─▶ kernel or driver ─▶ completion ring ─▶ free chunk
/// ```
///
/// Memory: 4096 chunks of 2048 bytes, or of 4096 if a frame may be longer than a chunk. `Send`, not `Sync`.
#[derive(Debug)]
#[doc(alias = "XDP_TX_RING")]
pub struct XdpSender {
    socket: OwnedFd,
    tx: Producer<XdpDesc>,
    completions: Consumer<u64>,
    memory: Region,
    chunk_bytes: usize,
    /// Bytes of a chunk in front of the frame.
    head_bytes: usize,
    /// Addresses of chunks that hold no frame.
    free: Vec<u64>,
    /// Entries of each frame that was pushed and not taken, in order.
    pushed: VecDeque<u8>,
    /// Index of the first entry of those.
    first: u32,
    is_zero_copy: bool,
    /// After each call the kernel's index tells what it has taken (Linux 6.17), also if it did not take everything.
    has_exact_index: bool,
    /// The bytes of a frame that is sent once more.
    again: Vec<u8>,
}

impl XdpSender {
    /// Opens a socket to send on interface `ifindex`, called `link`, of the calling thread's network namespace.
    ///
    /// # Errors
    /// [`XdpSetupError`]: e.g. EBUSY if another AF_XDP socket has the queue, EOPNOTSUPP without zero copy.
    /// # Privileges
    /// `CAP_NET_RAW`.
    /// # Kernel
    /// Linux 5.4.
    pub fn open(ifindex: u32, link: &str, options: &XdpSendOptions) -> Result<Self, XdpSetupError> {
        let is_zero_copy = options.zero_copy;
        let head_bytes = if options.has_launch_times {
            TxMetadata::BYTES
        } else {
            0
        };
        let chunk_bytes = if options.longest + head_bytes <= SMALL_CHUNK_BYTES {
            SMALL_CHUNK_BYTES
        } else {
            LARGE_CHUNK_BYTES
        };
        let is_multi_buffer = options.longest > chunk_bytes - head_bytes;
        let at = |step| {
            move |source| XdpSetupError {
                step,
                link: link.to_owned(),
                queue: options.queue,
                is_zero_copy,
                is_multi_buffer,
                source,
            }
        };
        let socket = xdp::socket().map_err(at(XdpSetupStep::Socket))?;
        let fd = socket.as_fd();
        let memory = Region::anonymous(chunk_bytes * CHUNKS as usize);
        let memory = memory.map_err(at(XdpSetupStep::Memory))?;
        xdp::register_memory(fd, &memory, chunk_bytes as u32, head_bytes > 0)
            .map_err(at(XdpSetupStep::Memory))?;
        let (tx, completions) = rings(fd).map_err(at(XdpSetupStep::Rings))?;
        // An older kernel keeps its own number. Linux 6.17 has both, this option and the index (`__xsk_generic_xmit`,
        // net/xdp/xsk.c).
        let has_exact_index = set_option(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &BUDGET).is_ok();
        let copy = if is_zero_copy { XDP_ZEROCOPY } else { XDP_COPY };
        let parts = if is_multi_buffer { XDP_USE_SG } else { 0 };
        let address = SockaddrXdp {
            flags: copy | parts | XDP_USE_NEED_WAKEUP,
            ifindex,
            queue_id: options.queue,
            ..SockaddrXdp::default()
        };
        xdp::bind(fd, &address).map_err(at(XdpSetupStep::BindToSend))?;
        let reported: u32 =
            option(fd, SOL_XDP, XDP_OPTIONS).map_err(at(XdpSetupStep::BindToSend))?;
        let chunk = |number: u32| u64::from(number) * chunk_bytes as u64;
        Ok(Self {
            first: tx.produced(),
            socket,
            tx,
            completions,
            memory,
            chunk_bytes,
            head_bytes,
            free: (0..CHUNKS).rev().map(chunk).collect(),
            pushed: VecDeque::with_capacity(CHUNKS as usize),
            is_zero_copy: reported & XDP_OPTIONS_ZEROCOPY != 0,
            has_exact_index,
            again: Vec::new(),
        })
    }

    /// Whether the driver reads the socket's memory.
    pub fn is_zero_copy(&self) -> bool {
        self.is_zero_copy
    }

    /// Frames that were pushed and that [`transmit`](Self::transmit) has not reported as taken.
    pub fn waiting(&self) -> usize {
        self.pushed.len()
    }

    /// Frames or parts of frames that the device has not sent yet.
    pub fn unsent(&mut self) -> usize {
        self.reclaim();
        CHUNKS as usize - self.free.len()
    }

    /// Copies a frame into the packet memory. Returns whether there was room; never for an empty frame, or one longer
    /// than in the options.
    #[inline]
    pub fn push(&mut self, frame: &[u8]) -> bool {
        self.push_request(frame, None)
    }

    /// As [`push`](Self::push); the device sends the frame at `launch_time`, nanoseconds of its own clock. A socket without
    /// launch times sends it at once.
    ///
    /// # Kernel
    /// Linux 6.14. A driver without launch times sends the frame at once.
    /// # Source
    /// Documentation/networking/xsk-tx-metadata.rst.
    #[doc(alias = "XDP_TXMD_FLAGS_LAUNCH_TIME")]
    pub fn push_at(&mut self, frame: &[u8], launch_time: u64) -> bool {
        let request = TxMetadata::launch_at(launch_time);
        self.push_request(frame, Some(request).filter(|_| self.head_bytes > 0))
    }

    #[inline]
    fn push_request(&mut self, frame: &[u8], request: Option<TxMetadata>) -> bool {
        let part_bytes = self.chunk_bytes - self.head_bytes;
        let parts = frame.len().div_ceil(part_bytes);
        if parts == 0 || parts > MAX_FRAME_CHUNKS {
            return false;
        }
        // Some chunks are kept for a frame that has to be sent once more.
        if self.free.len() < parts + MAX_FRAME_CHUNKS {
            self.reclaim();
            if self.free.len() < parts + MAX_FRAME_CHUNKS {
                return false;
            }
        }
        // Cancelled frames keep their entries until the kernel has read them.
        if !self.tx.has_room(parts as u32) {
            return false;
        }
        for (part, bytes) in (1..).zip(frame.chunks(part_bytes)) {
            let mut desc = self.filled(bytes, part < parts);
            if let (1, Some(request)) = (part, &request) {
                self.memory
                    .write(desc.addr as usize - self.head_bytes, &request.bytes());
                desc.options |= XDP_TX_METADATA;
            }
            self.tx.put(desc);
        }
        self.pushed.push_back(parts as u8);
        true
    }

    /// Puts part of a frame into a free chunk.
    #[inline]
    fn filled(&mut self, bytes: &[u8], is_continued: bool) -> XdpDesc {
        // Callers have checked that there is one.
        let addr = self.free.pop().unwrap_or_default() + self.head_bytes as u64;
        self.memory.write(addr as usize, bytes);
        XdpDesc {
            addr,
            len: bytes.len() as u32,
            options: if is_continued { XDP_PKT_CONTD } else { 0 },
        }
    }

    /// Replaces a frame that was pushed and not taken, the one at `place` among [`waiting`](Self::waiting). Returns whether
    /// it has: not on a zero-copy socket, and only while all those before it, it and `frame` fit into a chunk.
    pub fn replace(&mut self, place: usize, frame: &[u8]) -> bool {
        let part_bytes = self.chunk_bytes - self.head_bytes;
        let is_short = !frame.is_empty() && frame.len() <= part_bytes;
        let mut before = self.pushed.iter().take(place + 1);
        let is_waiting = place < self.pushed.len() && before.all(|parts| *parts == 1);
        if self.is_zero_copy || !is_short || !is_waiting {
            return false;
        }
        // The kernel reads the ring of a copying socket only in `transmit`.
        let index = self.first.wrapping_add(place as u32);
        let desc = XdpDesc {
            len: frame.len() as u32,
            ..self.tx.entry(index)
        };
        self.memory.write(desc.addr as usize, frame);
        self.tx.write(index, desc);
        true
    }

    /// Gives up the frames that were pushed and not taken: they are not sent. Returns how many; on a zero-copy socket none,
    /// whose driver may be reading them. The kernel skips their entries, since Linux 6.6 one in each call of
    /// [`transmit`](Self::transmit), which may then return EAGAIN.
    ///
    /// # Source
    /// An entry with an address outside the memory: `xskq_cons_read_desc`, net/xdp/xsk_queue.h; `__xsk_generic_xmit`,
    /// net/xdp/xsk.c.
    pub fn cancel(&mut self) -> usize {
        if self.is_zero_copy {
            return 0;
        }
        while self.first != self.tx.produced() {
            let desc = self.tx.entry(self.first);
            self.free.push(desc.addr & !(self.chunk_bytes as u64 - 1));
            let nowhere = XdpDesc {
                addr: u64::MAX,
                ..desc
            };
            self.tx.write(self.first, nowhere);
            self.first = self.first.wrapping_add(1);
        }
        std::mem::take(&mut self.pushed).len()
    }

    /// Hands pushed frames to the kernel, and returns how many it took: the first ones. A frame that the device dropped
    /// is not taken. It waits before the others.
    ///
    /// Costs one system call; none where a zero-copy driver reads the ring by itself. Does not block. A copying socket
    /// before Linux 6.17 takes one frame in each call: these kernels publish their index only when they have taken
    /// everything, so nobody could tell which frame a device dropped.
    ///
    /// # Errors
    /// EAGAIN if the kernel took none now: the device's queue or the socket's buffer is full. Otherwise as
    /// [`abi::xdp::transmit`].
    pub fn transmit(&mut self) -> io::Result<usize> {
        self.publish();
        let must_wake = !self.is_zero_copy || self.tx.needs_wakeup();
        let woken = if must_wake {
            xdp::transmit(self.socket.as_fd())
        } else {
            Ok(())
        };
        let (mut count, mut last) = self.advance();
        if !self.is_zero_copy {
            // Most packets have been sent by now. Chunks that are used again soon stay in the processor's cache.
            self.reclaim();
        }
        match woken {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                if count == 0 {
                    // The index that the kernel publishes does not include a dropped frame before which none was sent.
                    last = self.pushed.pop_front().ok_or(error)?;
                    self.first = self.first.wrapping_add(last.into());
                } else {
                    count -= 1;
                }
                self.push_again(last);
            }
            Err(error) if count == 0 => return Err(error),
            _ => {}
        }
        if count == 0 {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        }
        Ok(count)
    }

    /// Shows the kernel the frames that it may take in one call.
    fn publish(&mut self) {
        match self.pushed.front() {
            Some(&parts) if !self.is_zero_copy && !self.has_exact_index => {
                self.tx
                    .publish_before(self.first.wrapping_add(parts.into()));
            }
            _ => self.tx.publish(),
        }
    }

    /// Forgets the frames whose entries the kernel has taken. Returns how many, and the entries of the last one.
    fn advance(&mut self) -> (usize, u8) {
        let taken = self.tx.taken();
        let (mut count, mut last) = (0, 0);
        while let Some(&parts) = self.pushed.front() {
            let after = self.first.wrapping_add(parts.into());
            // The kernel's index may lie behind a dropped frame.
            if taken.wrapping_sub(after).cast_signed() < 0 {
                break;
            }
            self.pushed.pop_front();
            (self.first, count, last) = (after, count + 1, parts);
        }
        (count, last)
    }

    /// Puts the frame of the `parts` entries before the first one that waits into the ring again, before the others; without
    /// its launch time, which only zero-copy devices heed.
    ///
    /// The kernel reads the ring of a copying socket only in [`abi::xdp::transmit`], and returns the chunks of a frame that
    /// was dropped.
    fn push_again(&mut self, parts: u8) {
        let mut frame = std::mem::take(&mut self.again);
        frame.clear();
        for back in (1..=u32::from(parts)).rev() {
            let desc = self.tx.entry(self.first.wrapping_sub(back));
            let place = self.memory.pointer(desc.addr as usize, desc.len as usize);
            // SAFETY: that many bytes are mapped (checked) and were written by `push`. The kernel writes no chunk of a
            // transmit ring, and this thread none before the copy is complete.
            let bytes = unsafe { std::slice::from_raw_parts(place.as_ptr(), desc.len as usize) };
            frame.extend_from_slice(bytes);
        }
        let part_bytes = self.chunk_bytes - self.head_bytes;
        // The chunks of the frame itself are among the free ones from now on.
        self.reclaim();
        let mut again = [XdpDesc::default(); MAX_FRAME_CHUNKS];
        let again = &mut again[..parts.into()];
        for (part, (new, bytes)) in (1..).zip(again.iter_mut().zip(frame.chunks(part_bytes))) {
            *new = self.filled(bytes, part < parts);
        }
        self.again = frame;
        self.tx.insert(self.first, again);
        self.pushed.push_front(parts);
    }

    /// Takes back the chunks of frames that the device has sent.
    fn reclaim(&mut self) {
        let ready = self.completions.ready();
        for ahead in 0..ready {
            let addr = self.completions.descriptor(ahead);
            // An address outside the memory would be the kernel's mistake; it is not used.
            if addr < self.memory.bytes() as u64 {
                self.free.push(addr & !(self.chunk_bytes as u64 - 1));
            }
        }
        self.completions.release(ready);
    }
}

impl AsFd for XdpSender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The transmit and the completion ring: each has an entry for every chunk, so it is never full.
fn rings(socket: BorrowedFd<'_>) -> io::Result<(Producer<XdpDesc>, Consumer<u64>)> {
    set_option(socket, SOL_XDP, XDP_TX_RING, &CHUNKS)?;
    set_option(socket, SOL_XDP, XDP_UMEM_FILL_RING, &FILL_ENTRIES)?;
    set_option(socket, SOL_XDP, XDP_UMEM_COMPLETION_RING, &CHUNKS)?;
    let offsets: MmapOffsets = option(socket, SOL_XDP, XDP_MMAP_OFFSETS)?;
    let map = |place, at: &RingOffset, entry_bytes| {
        Region::map_at(socket, place, mapping_bytes(at, CHUNKS, entry_bytes))
    };
    let tx = map(
        XDP_PGOFF_TX_RING,
        &offsets.tx,
        Producer::<XdpDesc>::ENTRY_BYTES,
    )?;
    let completions = map(
        XDP_UMEM_PGOFF_COMPLETION_RING,
        &offsets.cr,
        Consumer::<u64>::ENTRY_BYTES,
    )?;
    Ok((
        Producer::new(tx, &offsets.tx, CHUNKS),
        Consumer::new(completions, &offsets.cr, CHUNKS),
    ))
}
