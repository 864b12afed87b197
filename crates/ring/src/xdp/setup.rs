//! Opens an AF_XDP socket's ring, step by step.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::interface::{self, hardware_address};
use abi::region::Region;
use abi::socket::{self, option, set_option};
use abi::xdp::{
    self, MmapOffsets, RingOffset, SOL_XDP, SockaddrXdp, XDP_COPY, XDP_MMAP_OFFSETS, XDP_OPTIONS,
    XDP_OPTIONS_ZEROCOPY, XDP_PACKET_HEADROOM, XDP_PGOFF_RX_RING, XDP_RX_RING,
    XDP_UMEM_COMPLETION_RING, XDP_UMEM_FILL_RING, XDP_UMEM_PGOFF_FILL_RING, XDP_USE_NEED_WAKEUP,
    XDP_USE_SG, XDP_ZEROCOPY,
};

use super::error::{XdpOpenError, XdpSetupError, XdpSetupStep};
use super::memory::{Memory, room};
use super::options::{BusyPoll, XdpRingOptions, ZeroCopy};
use super::queue::{Consumer, Producer, mapping_bytes};
use crate::clock::Offset;
use crate::device_clock::DeviceClock;
use crate::error::RingOptionError;
use crate::interface::{InterfaceInfo, receive_queues, set_promiscuous};
use crate::properties::RingProperties;

/// The smallest chunk the kernel takes (`XDP_UMEM_MIN_CHUNK_SIZE`, include/net/xdp_sock.h).
const LEAST_CHUNK_BYTES: usize = 2048;

/// The largest chunk size valid on every architecture: the smallest page size.
const MOST_CHUNK_BYTES: usize = 4096;

/// Largest size of the bytes before the MTU: an Ethernet header and two VLAN tags.
const LINK_HEADER_BYTES: usize = 14 + 2 * 4;

/// Smallest number of chunks: twice what a driver takes at once.
const LEAST_CHUNKS: usize = 128;

/// Room for four multi-buffer packets of up to 64 KiB and their headers.
pub(super) const SCRATCH_BYTES: usize = 4 * (65_536 + LINK_HEADER_BYTES);

/// The kernel requires a completion ring although nothing is sent.
const COMPLETIONS: u32 = 2;

/// Memory layout for the MTU of an interface.
struct Plan<'o> {
    options: &'o XdpRingOptions,
    index: u32,
    chunk_bytes: usize,
    chunks: usize,
    /// Whether packets as long as the MTU take more than one chunk.
    is_long: bool,
    mtu: u32,
}

/// How the kernel bound a socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct BindMode {
    /// Flags that the kernel accepted.
    flags: u16,
    /// As the kernel reports it.
    pub is_zero_copy: bool,
}

impl BindMode {
    pub fn uses_need_wakeup(self) -> bool {
        self.flags & XDP_USE_NEED_WAKEUP != 0
    }

    #[inline]
    pub fn accepts_multi_buffer(self) -> bool {
        self.flags & XDP_USE_SG != 0
    }
}

/// Flags to copy packets that may take several buffers.
const COPY_LONG: u16 = XDP_COPY | XDP_USE_SG;

/// A socket with its memory and rings, bound.
struct Bound {
    socket: OwnedFd,
    rx: Consumer,
    fill: Producer,
    memory: Memory,
    mode: BindMode,
}

/// All parts of a ring.
pub(super) struct Opened {
    pub socket: OwnedFd,
    pub rx: Consumer,
    pub fill: Producer,
    pub memory: Memory,
    pub mode: BindMode,
    pub properties: RingProperties,
    pub link: InterfaceInfo,
    pub membership: OwnedFd,
}

/// Facts about an interface, and the packet socket they were read with.
struct Found {
    asked: OwnedFd,
    link: InterfaceInfo,
    mac: [u8; 6],
    mtu: u32,
    queues: u32,
}

pub(super) fn open(name: &str, options: &XdpRingOptions) -> Result<Opened, XdpOpenError> {
    let found = find(name, options.queue)?;
    if options.queue >= found.queues {
        return Err(XdpOpenError::NoSuchQueue {
            link: name.to_owned(),
            queue: options.queue,
            queues: found.queues,
        });
    }
    let plan = Plan::new(options, found.link.index, found.mtu)?;
    if options.promiscuous {
        set_promiscuous(found.asked.as_fd(), plan.index).map_err(on(
            XdpSetupStep::Promiscuous,
            name,
            options.queue,
            false,
        ))?;
    }
    let bound = bind(name, &plan)?;

    let properties = RingProperties {
        snaplen: options.snaplen,
        link: plan.index,
        mac: (found.link.link_type == 1).then_some(found.mac),
        has_queues: found.queues > 1,
        offset: Offset::measure(),
    };
    Ok(Opened {
        socket: bound.socket,
        rx: bound.rx,
        fill: bound.fill,
        memory: bound.memory,
        mode: bound.mode,
        properties,
        link: found.link,
        membership: found.asked,
    })
}

fn find(name: &str, queue: u32) -> Result<Found, XdpOpenError> {
    let at = |step| on(step, name, queue, false);
    let asked = socket::packet_socket().map_err(at(XdpSetupStep::Socket))?;
    let fd = asked.as_fd();
    let index = socket::link_index(fd, name).map_err(at(XdpSetupStep::Interface))?;
    let address = hardware_address(fd, name).map_err(at(XdpSetupStep::Interface))?;
    let mtu = interface::mtu(fd, name).map_err(at(XdpSetupStep::Interface))?;
    let queues = receive_queues(fd, name).map_err(at(XdpSetupStep::Interface))?;
    let Some(link) = InterfaceInfo::new(name, index, address.hatype) else {
        return Err(XdpOpenError::LinkLayer {
            link: name.to_owned(),
            hatype: address.hatype,
        });
    };
    Ok(Found {
        asked,
        link,
        mac: address.bytes,
        mtu,
        queues,
    })
}

/// Opens the clock behind the device's time stamps, if the options name it.
pub(super) fn device_clock(
    name: &str,
    options: &XdpRingOptions,
) -> Result<Option<Box<DeviceClock>>, XdpSetupError> {
    let clock = options.device_clock.map(DeviceClock::open).transpose();
    let clock = clock.map_err(on(XdpSetupStep::Clock, name, options.queue, false))?;
    Ok(clock.map(Box::new))
}

pub(super) fn queue_count(name: &str) -> Result<u32, XdpOpenError> {
    find(name, 0).map(|found| found.queues)
}

fn on(
    step: XdpSetupStep,
    name: &str,
    queue: u32,
    is_zero_copy: bool,
) -> impl Fn(io::Error) -> XdpSetupError {
    move |source| XdpSetupError {
        step,
        link: name.to_owned(),
        queue,
        is_zero_copy,
        is_multi_buffer: false,
        source,
    }
}

impl<'o> Plan<'o> {
    fn new(options: &'o XdpRingOptions, index: u32, mtu: u32) -> Result<Self, RingOptionError> {
        if options.snaplen == 0 {
            return Err(RingOptionError::SnaplenZero);
        }
        let longest = mtu as usize + LINK_HEADER_BYTES;
        let chunk_bytes = (longest + XDP_PACKET_HEADROOM).next_power_of_two();
        let chunk_bytes = chunk_bytes.clamp(LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES);
        let too_large = RingOptionError::BufferTooLarge {
            bytes: options.buffer_bytes,
        };
        if u32::try_from(options.buffer_bytes).is_err() {
            return Err(too_large);
        }
        let chunks = options.buffer_bytes.div_ceil(chunk_bytes);
        let chunks = chunks.max(LEAST_CHUNKS).next_power_of_two();
        // Rounding up may have exceeded the limit.
        if u32::try_from(chunks * chunk_bytes).is_err() {
            return Err(too_large);
        }
        Ok(Self {
            options,
            index,
            chunk_bytes,
            chunks,
            is_long: longest > room(chunk_bytes),
            mtu,
        })
    }

    /// Bind flags to try, in order: first zero copy, unless disabled. A copying socket always accepts multi-buffer
    /// packets if the kernel supports them: GRO makes packets longer than the MTU.
    fn bind_flags(&self) -> impl Iterator<Item = u16> {
        let zero_copy = XDP_ZEROCOPY | if self.is_long { XDP_USE_SG } else { 0 };
        let may_copy = self.options.zero_copy != ZeroCopy::Required;
        [
            (zero_copy, self.options.zero_copy != ZeroCopy::Never),
            (COPY_LONG, may_copy),
            (XDP_COPY, may_copy && !self.is_long),
        ]
        .into_iter()
        .filter_map(|(flags, is_allowed)| is_allowed.then_some(flags))
    }
}

/// Binds with the first flags that the kernel and the driver accept. Otherwise returns the last error.
fn bind(name: &str, plan: &Plan<'_>) -> Result<Bound, XdpOpenError> {
    let mut refusal = too_long(name, plan);
    for flags in plan.bind_flags() {
        match bind_with(name, plan, flags | XDP_USE_NEED_WAKEUP) {
            Ok(bound) => return Ok(bound),
            Err(error) if error.step != XdpSetupStep::Bind => return Err(error.into()),
            // A kernel that does not know `XDP_USE_SG` reports an invalid flag.
            Err(error)
                if flags == COPY_LONG && error.source.raw_os_error() == Some(libc::EINVAL) =>
            {
                refusal = too_long(name, plan);
            }
            Err(error) => refusal = error.into(),
        }
    }
    Err(refusal)
}

fn too_long(name: &str, plan: &Plan<'_>) -> XdpOpenError {
    XdpOpenError::MultiBuffer {
        link: name.to_owned(),
        mtu: plan.mtu,
        largest: (room(plan.chunk_bytes) - LINK_HEADER_BYTES) as u32,
    }
}

fn bind_with(name: &str, plan: &Plan<'_>, flags: u16) -> Result<Bound, XdpSetupError> {
    let requires_zero_copy = flags & XDP_ZEROCOPY != 0;
    let at = |step| on(step, name, plan.options.queue, requires_zero_copy);
    let socket = xdp::socket().map_err(at(XdpSetupStep::Socket))?;
    let fd = socket.as_fd();
    let memory = Memory::new(plan.chunk_bytes, plan.chunks).map_err(at(XdpSetupStep::Memory))?;
    xdp::register_memory(fd, memory.region(), plan.chunk_bytes as u32, false)
        .map_err(at(XdpSetupStep::Memory))?;
    let (rx, fill) = rings(fd, plan).map_err(at(XdpSetupStep::Rings))?;
    if let Some(busy_poll) = plan.options.busy_poll {
        poll_busily(fd, busy_poll).map_err(at(XdpSetupStep::BusyPoll))?;
    }
    let address = SockaddrXdp {
        flags,
        ifindex: plan.index,
        queue_id: plan.options.queue,
        ..SockaddrXdp::default()
    };
    xdp::bind(fd, &address).map_err(at(XdpSetupStep::Bind))?;
    let reported: u32 = option(fd, SOL_XDP, XDP_OPTIONS).map_err(at(XdpSetupStep::Bind))?;
    Ok(Bound {
        socket,
        rx,
        fill,
        memory,
        mode: BindMode {
            flags,
            is_zero_copy: reported & XDP_OPTIONS_ZEROCOPY != 0,
        },
    })
}

/// The receive ring has an entry for every chunk, so it is never full: a slow reader makes the kernel run out of chunks.
///
/// The fill ring has two entries per chunk. The kernel hands packets over before it publishes that it has read their
/// entries (`xsk_flush`, net/xdp/xsk.c), so a chunk may be returned while its last entry still counts.
fn rings(socket: BorrowedFd<'_>, plan: &Plan<'_>) -> io::Result<(Consumer, Producer)> {
    let packets = plan.chunks as u32;
    let places = packets * 2;
    set_option(socket, SOL_XDP, XDP_RX_RING, &packets)?;
    set_option(socket, SOL_XDP, XDP_UMEM_FILL_RING, &places)?;
    set_option(socket, SOL_XDP, XDP_UMEM_COMPLETION_RING, &COMPLETIONS)?;
    let offsets: MmapOffsets = option(socket, SOL_XDP, XDP_MMAP_OFFSETS)?;
    let map = |place, at: &RingOffset, count, entry_bytes| {
        Region::map_at(socket, place, mapping_bytes(at, count, entry_bytes))
    };
    let rx = map(
        XDP_PGOFF_RX_RING,
        &offsets.rx,
        packets,
        <Consumer>::ENTRY_BYTES,
    )?;
    let fill = map(
        XDP_UMEM_PGOFF_FILL_RING,
        &offsets.fr,
        places,
        <Producer>::ENTRY_BYTES,
    )?;
    let rx = Consumer::new(rx, &offsets.rx, packets);
    let mut fill = Producer::new(fill, &offsets.fr, places);
    for chunk in 0..plan.chunks {
        fill.put((chunk * plan.chunk_bytes) as u64);
    }
    fill.publish();
    Ok((rx, fill))
}

fn poll_busily(socket: BorrowedFd<'_>, busy_poll: BusyPoll) -> io::Result<()> {
    let micros = busy_poll.timeout.max(Duration::from_micros(1)).as_micros();
    let micros = i32::try_from(micros).unwrap_or(i32::MAX);
    let set = |name, value: i32| set_option(socket, libc::SOL_SOCKET, name, &value);
    set(libc::SO_PREFER_BUSY_POLL, 1)?;
    set(libc::SO_BUSY_POLL, micros)?;
    set(libc::SO_BUSY_POLL_BUDGET, busy_poll.budget.get().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bind_flags_decide_what_is_reported() {
        for (flags, needs_wakeup, multi_buffer) in [
            (XDP_COPY, false, false),
            (XDP_COPY | XDP_USE_NEED_WAKEUP, true, false),
            (COPY_LONG, false, true),
            (XDP_ZEROCOPY | XDP_USE_SG | XDP_USE_NEED_WAKEUP, true, true),
        ] {
            let mode = BindMode {
                flags,
                is_zero_copy: false,
            };
            assert_eq!(mode.uses_need_wakeup(), needs_wakeup, "{flags}");
            assert_eq!(mode.accepts_multi_buffer(), multi_buffer, "{flags}");
        }
    }
}
