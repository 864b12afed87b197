//! AF_XDP sockets: the uapi of `linux/if_xdp.h` and the system calls.
//!
//! Structs mirror the header byte for byte; `tests/xdp_layout.rs` compares every size, offset and
//! number with those that a C compiler derives from the header.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::region::Region;
use crate::socket::{check, set_option};
use crate::uapi::Uapi;

/// Address of an AF_XDP socket (`struct sockaddr_xdp`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SockaddrXdp {
    /// `AF_XDP`; [`bind`] sets it.
    pub family: u16,
    /// `XDP_COPY` and related flags.
    pub flags: u16,
    /// Interface index.
    pub ifindex: u32,
    /// Receive queue of the interface.
    pub queue_id: u32,
    /// Socket whose packet memory is shared, with `XDP_SHARED_UMEM`.
    pub shared_umem_fd: u32,
}

/// Offsets of a ring's parts in its mapping, bytes (`struct xdp_ring_offset`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RingOffset {
    /// Index of the next entry to write.
    pub producer: u64,
    /// Index of the next entry to read.
    pub consumer: u64,
    /// The entries.
    pub desc: u64,
    /// `XDP_RING_*`.
    pub flags: u64,
}

/// Offsets of all four rings (`struct xdp_mmap_offsets`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MmapOffsets {
    /// Receive ring.
    pub rx: RingOffset,
    /// Transmit ring.
    pub tx: RingOffset,
    /// Fill ring.
    pub fr: RingOffset,
    /// Completion ring.
    pub cr: RingOffset,
}

/// Registration of packet memory, the UMEM (`struct xdp_umem_reg`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct UmemReg {
    /// Address of the memory, page-aligned.
    pub addr: u64,
    /// Length in bytes: a multiple of `chunk_size`.
    pub len: u64,
    /// Bytes of a chunk: 2048, or a larger power of two up to the page size.
    pub chunk_size: u32,
    /// Bytes reserved in each chunk, in addition to the kernel's 256.
    pub headroom: u32,
    /// `XDP_UMEM_*`.
    pub flags: u32,
    /// Metadata of sent packets (Linux 6.8); 0 for none.
    pub tx_metadata_len: u32,
}

/// Counters of a socket since it was opened (`struct xdp_statistics`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Received packets dropped because no buffer was free, or because the buffer was too small.
    pub rx_dropped: u64,
    /// Entries of the fill ring that the kernel refused.
    pub rx_invalid_descs: u64,
    /// Entries of the transmit ring that the kernel refused.
    pub tx_invalid_descs: u64,
    /// Received packets dropped because the receive ring was full (Linux 5.9).
    pub rx_ring_full: u64,
    /// Times the fill ring was found empty (Linux 5.9).
    pub rx_fill_ring_empty_descs: u64,
    /// Times the transmit ring was found empty (Linux 5.9).
    pub tx_ring_empty_descs: u64,
}

/// Entry of the receive or the transmit ring (`struct xdp_desc`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpDesc {
    /// Offset of the first byte in the packet memory.
    pub addr: u64,
    /// Length in bytes.
    pub len: u32,
    /// [`XDP_PKT_CONTD`] and [`XDP_TX_METADATA`].
    pub options: u32,
}

/// What the kernel does with a packet of the transmit ring, in front of its bytes (`struct xsk_tx_metadata`): as a request.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxMetadata {
    /// [`XDP_TXMD_FLAGS_LAUNCH_TIME`].
    pub flags: u64,
    /// Where a checksum starts, with another flag.
    pub checksum_start: u16,
    /// Where it goes.
    pub checksum_offset: u16,
    /// Padding, 0.
    pub padding: u32,
    /// When the device sends the packet, by its own clock (Linux 6.14), nanoseconds.
    pub launch_time: u64,
}

impl TxMetadata {
    /// Length, bytes.
    pub const BYTES: usize = size_of::<Self>();

    /// A request to send the packet at `launch_time`.
    pub fn launch_at(launch_time: u64) -> Self {
        Self {
            flags: XDP_TXMD_FLAGS_LAUNCH_TIME,
            launch_time,
            ..Self::default()
        }
    }

    /// As it lies in memory.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.flags.to_ne_bytes());
        bytes[8..10].copy_from_slice(&self.checksum_start.to_ne_bytes());
        bytes[10..12].copy_from_slice(&self.checksum_offset.to_ne_bytes());
        bytes[16..].copy_from_slice(&self.launch_time.to_ne_bytes());
        bytes
    }
}

// SAFETY: `repr(C)`, integers only: 2·2 + 3·4 = 16 bytes, each on its alignment.
unsafe impl Uapi for SockaddrXdp {}
// SAFETY: integers of one width.
unsafe impl Uapi for RingOffset {}
// SAFETY: four structs of integers of one width.
unsafe impl Uapi for MmapOffsets {}
// SAFETY: 2·8 + 4·4 = 32 bytes of integers, a multiple of 8: no padding.
unsafe impl Uapi for UmemReg {}
// SAFETY: integers of one width.
unsafe impl Uapi for Statistics {}

/// Socket level of the options below.
pub const SOL_XDP: i32 = 283;
/// Reads [`MmapOffsets`].
pub const XDP_MMAP_OFFSETS: i32 = 1;
/// Sets the entries of the receive ring.
pub const XDP_RX_RING: i32 = 2;
/// Sets the entries of the transmit ring.
pub const XDP_TX_RING: i32 = 3;
/// Registers [`UmemReg`].
pub const XDP_UMEM_REG: i32 = 4;
/// Sets the entries of the fill ring.
pub const XDP_UMEM_FILL_RING: i32 = 5;
/// Sets the entries of the completion ring.
pub const XDP_UMEM_COMPLETION_RING: i32 = 6;
/// Reads [`Statistics`].
pub const XDP_STATISTICS: i32 = 7;
/// Reads `XDP_OPTIONS_*` of a bound socket (Linux 5.3).
pub const XDP_OPTIONS: i32 = libc::XDP_OPTIONS;
/// Sets how many packets one wake-up of a copying socket sends at most; 32 without it.
pub const XDP_MAX_TX_SKB_BUDGET: i32 = 9;
/// The driver receives directly into the packet memory.
pub const XDP_OPTIONS_ZEROCOPY: u32 = libc::XDP_OPTIONS_ZEROCOPY;
/// mmap offset of the receive ring.
pub const XDP_PGOFF_RX_RING: u64 = 0;
/// mmap offset of the transmit ring.
pub const XDP_PGOFF_TX_RING: u64 = 0x8000_0000;
/// mmap offset of the fill ring.
pub const XDP_UMEM_PGOFF_FILL_RING: u64 = 0x1_0000_0000;
/// mmap offset of the completion ring.
pub const XDP_UMEM_PGOFF_COMPLETION_RING: u64 = 0x1_8000_0000;
/// Bind: copy each packet into the packet memory.
pub const XDP_COPY: u16 = 1 << 1;
/// Bind: receive straight into the packet memory, or fail.
pub const XDP_ZEROCOPY: u16 = 1 << 2;
/// Bind: the kernel sets a flag when it needs a wake-up (Linux 5.4).
pub const XDP_USE_NEED_WAKEUP: u16 = 1 << 3;
/// Bind: a packet may take several buffers (Linux 6.6).
pub const XDP_USE_SG: u16 = 1 << 4;
/// Ring flag: the kernel needs a wake-up.
pub const XDP_RING_NEED_WAKEUP: u32 = 1 << 0;
/// Descriptor option: the packet continues in the next descriptor.
pub const XDP_PKT_CONTD: u32 = 1 << 0;
/// Descriptor option: [`TxMetadata`] precedes the packet (Linux 6.8).
pub const XDP_TX_METADATA: u32 = 1 << 1;
/// Flag of [`UmemReg`]: `tx_metadata_len` counts (Linux 6.11).
pub const XDP_UMEM_TX_METADATA_LEN: u32 = 1 << 2;
/// Flag of [`TxMetadata`]: send the packet at its launch time (Linux 6.14).
pub const XDP_TXMD_FLAGS_LAUNCH_TIME: u64 = 1 << 2;
/// Bytes that the kernel keeps in front of a packet (`XDP_PACKET_HEADROOM`, `linux/bpf.h`).
pub const XDP_PACKET_HEADROOM: usize = 256;

/// Opens an AF_XDP socket.
///
/// # Errors
/// EPERM without the privilege, EAFNOSUPPORT when the kernel is built without them.
/// # Privileges
/// `CAP_NET_RAW` in the user namespace that owns the network namespace.
/// # Kernel
/// Linux 4.18.
pub fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { libc::socket(libc::AF_XDP, kind, 0) })?;
    // SAFETY: the descriptor was just opened, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Registers `memory` for the socket's packets, in chunks of `chunk_bytes`. With `has_metadata`, [`TxMetadata`] precedes
/// packets of the transmit ring that say so.
///
/// The kernel pins the pages and keeps them until the socket is closed, also when `memory` is
/// unmapped before.
///
/// # Errors
/// EINVAL for an invalid size, ENOBUFS at the limit of locked memory, ENOMEM.
pub fn register_memory(
    socket: BorrowedFd<'_>,
    memory: &Region,
    chunk_bytes: u32,
    has_metadata: bool,
) -> io::Result<()> {
    let (flags, metadata_bytes) = if has_metadata {
        (XDP_UMEM_TX_METADATA_LEN, TxMetadata::BYTES as u32)
    } else {
        (0, 0)
    };
    let request = UmemReg {
        addr: memory.pointer(0, memory.bytes()).as_ptr() as u64,
        len: memory.bytes() as u64,
        chunk_size: chunk_bytes,
        flags,
        tx_metadata_len: metadata_bytes,
        ..UmemReg::default()
    };
    set_option(socket, SOL_XDP, XDP_UMEM_REG, &request)
}

/// Binds the socket to a queue of an interface.
///
/// # Errors
/// EBUSY if another socket has the queue; EINVAL if there is no such queue, for flags that the kernel does not know, and
/// without rings or memory; ENODEV; EOPNOTSUPP and errors of the driver for zero copy.
pub fn bind(socket: BorrowedFd<'_>, address: &SockaddrXdp) -> io::Result<()> {
    let address = SockaddrXdp {
        family: libc::AF_XDP as u16,
        ..*address
    };
    let bytes = size_of::<SockaddrXdp>() as libc::socklen_t;
    // SAFETY: the address outlives the call and its size is the one passed.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), bytes) })?;
    Ok(())
}

/// Wakes the driver so that it reads the socket's fill ring. With busy polling, polls the driver now.
///
/// # Errors
/// ENETDOWN when the interface is down, ENXIO when the socket is not bound, EAGAIN, EBUSY.
/// # Source
/// `__xsk_recvmsg`, net/xdp/xsk.c.
pub fn wake(socket: BorrowedFd<'_>) -> io::Result<()> {
    let (buffer, sender) = (std::ptr::null_mut(), std::ptr::null_mut());
    let (fd, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT);
    // SAFETY: with a length of 0 nothing is written; a null address means that no address is returned.
    let result = unsafe { libc::recvfrom(fd, buffer, 0, flags, sender, std::ptr::null_mut()) };
    check(result as i32)?;
    Ok(())
}

/// Wakes the kernel or the driver so that it reads the socket's transmit ring. A copying socket sends in this call.
///
/// # Errors
/// EAGAIN if entries are left: the number of packets for one call is reached, the device or the socket's buffer is full,
/// or the completion ring. EBUSY if the device dropped a packet: its entry is taken, and those behind it are not. ENETDOWN
/// if the interface is down, ENXIO if it is gone, ENOBUFS.
/// # Source
/// `__xsk_generic_xmit`, net/xdp/xsk.c.
pub fn transmit(socket: BorrowedFd<'_>) -> io::Result<()> {
    let (fd, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT);
    // SAFETY: with a length of 0 nothing is read; a null address means that there is none.
    let result = unsafe { libc::sendto(fd, std::ptr::null(), 0, flags, std::ptr::null(), 0) };
    check(result as i32)?;
    Ok(())
}
