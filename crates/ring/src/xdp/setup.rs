//! Opening an AF_XDP ring, step by step.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::ethtool;
use abi::interface::{self, hardware_address, name_bytes};
use abi::region::Region;
use abi::socket::{self, option, set_option};
use abi::xdp::{
    self, MmapOffsets, RingOffset, SOL_XDP, SockaddrXdp, Statistics, XDP_COPY, XDP_MMAP_OFFSETS,
    XDP_PACKET_HEADROOM, XDP_PGOFF_RX_RING, XDP_RX_RING, XDP_UMEM_COMPLETION_RING,
    XDP_UMEM_FILL_RING, XDP_UMEM_PGOFF_FILL_RING, XDP_USE_NEED_WAKEUP, XDP_USE_SG, XDP_ZEROCOPY,
};

use super::clock::Offset;
use super::error::{XdpOpenError, XdpSetupError, XdpStep};
use super::memory::{Memory, room};
use super::options::{BusyPoll, XdpOptions, ZeroCopy};
use super::queue::{Consumer, Producer, mapping_bytes};
use super::ring::XdpRing;
use super::walk::View;
use crate::account::Account;
use crate::error::OptionError;
use crate::ring::Link;
use crate::setup::{ARPHRD_LOOPBACK, link_type, promiscuous};

/// The smallest chunk the kernel takes (`XDP_UMEM_MIN_CHUNK_SIZE`, include/net/xdp_sock.h).
const LEAST_CHUNK_BYTES: usize = 2048;

/// The largest it takes everywhere: the smallest size of a page.
const MOST_CHUNK_BYTES: usize = 4096;

/// What may come before the MTU's bytes: an Ethernet header and two VLAN tags.
const LINK_HEADER_BYTES: usize = 14 + 2 * 4;

/// Chunks that a ring has at least: twice what a driver takes in one go.
const LEAST_CHUNKS: usize = 128;

/// Room for packets of several buffers, each 64 KiB and its header at most.
const SCRATCH_BYTES: usize = 4 * (65_536 + LINK_HEADER_BYTES);

/// The kernel wants a completion ring though nothing is sent.
const COMPLETIONS: u32 = 2;

/// What is known of the interface, and what follows from it.
struct Plan<'o> {
    options: &'o XdpOptions,
    index: u32,
    chunk_bytes: usize,
    chunks: usize,
    /// Whether packets as long as the MTU take more than one chunk.
    is_long: bool,
    mtu: u32,
}

/// How a socket is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub is_zero_copy: bool,
    pub takes_multi_buffer: bool,
}

const COPY_LONG: Mode = Mode {
    is_zero_copy: false,
    takes_multi_buffer: true,
};

/// A socket with its memory and rings, bound.
struct Bound {
    socket: OwnedFd,
    rx: Consumer,
    fill: Producer,
    memory: Memory,
    mode: Mode,
}

/// What the kernel tells of an interface, and the socket that was asked.
struct Found {
    asked: OwnedFd,
    link: Link,
    mac: [u8; 6],
    mtu: u32,
    queues: u32,
}

pub(super) fn open(name: &str, options: &XdpOptions) -> Result<XdpRing, XdpOpenError> {
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
        promiscuous(found.asked.as_fd(), plan.index).map_err(on(
            XdpStep::Promiscuous,
            name,
            options.queue,
            false,
        ))?;
    }
    let bound = bind(name, &plan)?;

    let view = View {
        snaplen: options.snaplen,
        link: plan.index,
        mac: (found.link.link_type == 1).then_some(found.mac),
        has_queues: found.queues > 1,
        offset: Offset::measure(),
    };
    let scratch_bytes = if bound.mode.takes_multi_buffer {
        SCRATCH_BYTES
    } else {
        0
    };
    Ok(XdpRing {
        attachment: None,
        socket: bound.socket,
        rx: bound.rx,
        fill: bound.fill,
        memory: bound.memory,
        scratch: vec![0; scratch_bytes],
        view,
        statistics: Statistics::default(),
        account: Account::default(),
        unreported: 0,
        has_starved: false,
        busy_poll: options.busy_poll,
        mode: bound.mode,
        queue: options.queue,
        link: found.link,
        _membership: found.asked,
    })
}

fn find(name: &str, queue: u32) -> Result<Found, XdpOpenError> {
    let at = |step| on(step, name, queue, false);
    let asked = socket::packet_socket().map_err(at(XdpStep::Socket))?;
    let fd = asked.as_fd();
    let index = socket::link_index(fd, name).map_err(at(XdpStep::Link))?;
    let address = hardware_address(fd, name).map_err(at(XdpStep::Link))?;
    let mtu = interface::mtu(fd, name).map_err(at(XdpStep::Link))?;
    let queues = receive_queues(fd, name).map_err(at(XdpStep::Link))?;
    let Some(link_type) = link_type(address.hatype) else {
        return Err(XdpOpenError::LinkLayer {
            link: name.to_owned(),
            hatype: address.hatype,
        });
    };
    let link = Link {
        name: name.to_owned(),
        index,
        link_type,
        loopback: address.hatype == ARPHRD_LOOPBACK,
    };
    Ok(Found {
        asked,
        link,
        mac: address.bytes,
        mtu,
        queues,
    })
}

pub(super) fn queue_count(name: &str) -> Result<u32, XdpOpenError> {
    find(name, 0).map(|found| found.queues)
}

/// A driver that does not tell has one queue.
pub(crate) fn receive_queues(asked: BorrowedFd<'_>, name: &str) -> io::Result<u32> {
    match ethtool::receive_queues(asked, name_bytes(name)?) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(1),
        answer => answer,
    }
}

fn on(
    step: XdpStep,
    name: &str,
    queue: u32,
    is_zero_copy: bool,
) -> impl Fn(io::Error) -> XdpSetupError {
    move |source| XdpSetupError {
        step,
        link: name.to_owned(),
        queue,
        is_zero_copy,
        source,
    }
}

impl<'o> Plan<'o> {
    fn new(options: &'o XdpOptions, index: u32, mtu: u32) -> Result<Self, OptionError> {
        if options.snaplen == 0 {
            return Err(OptionError::SnaplenZero);
        }
        let longest = mtu as usize + LINK_HEADER_BYTES;
        let chunk_bytes = (longest + XDP_PACKET_HEADROOM).next_power_of_two();
        let chunk_bytes = chunk_bytes.clamp(LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES);
        let too_large = OptionError::BufferTooLarge {
            bytes: options.buffer_bytes,
        };
        if u32::try_from(options.buffer_bytes).is_err() {
            return Err(too_large);
        }
        let chunks = options.buffer_bytes.div_ceil(chunk_bytes);
        let chunks = chunks.max(LEAST_CHUNKS).next_power_of_two();
        // Rounding up may have gone over the limit.
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

    /// Zero copy first, if wanted. A socket that copies always takes packets of several buffers, if
    /// the kernel knows of them: GRO makes them longer than the MTU.
    fn modes(&self) -> impl Iterator<Item = Mode> {
        let zero_copy = Mode {
            is_zero_copy: true,
            takes_multi_buffer: self.is_long,
        };
        let copy_short = Mode {
            takes_multi_buffer: false,
            ..COPY_LONG
        };
        let may_copy = self.options.zero_copy != ZeroCopy::Required;
        [
            (zero_copy, self.options.zero_copy != ZeroCopy::Never),
            (COPY_LONG, may_copy),
            (copy_short, may_copy && !self.is_long),
        ]
        .into_iter()
        .filter_map(|(mode, is_wanted)| is_wanted.then_some(mode))
    }
}

/// Binds in the first mode that the kernel and the driver take; the refusal of the last one counts.
fn bind(name: &str, plan: &Plan<'_>) -> Result<Bound, XdpOpenError> {
    let mut refusal = too_long(name, plan);
    for mode in plan.modes() {
        match bind_in(name, plan, mode) {
            Ok(bound) => return Ok(bound),
            Err(error) if error.step != XdpStep::Bind => return Err(error.into()),
            // To a kernel that does not know the flag it is invalid.
            Err(error)
                if mode == COPY_LONG && error.source.raw_os_error() == Some(libc::EINVAL) =>
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

fn bind_in(name: &str, plan: &Plan<'_>, mode: Mode) -> Result<Bound, XdpSetupError> {
    let at = |step| on(step, name, plan.options.queue, mode.is_zero_copy);
    let socket = xdp::socket().map_err(at(XdpStep::Socket))?;
    let fd = socket.as_fd();
    let memory = Memory::new(plan.chunk_bytes, plan.chunks).map_err(at(XdpStep::Memory))?;
    xdp::register_memory(fd, memory.region(), plan.chunk_bytes as u32)
        .map_err(at(XdpStep::Memory))?;
    let (rx, fill) = rings(fd, plan).map_err(at(XdpStep::Rings))?;
    if let Some(busy_poll) = plan.options.busy_poll {
        poll_busily(fd, busy_poll).map_err(at(XdpStep::BusyPoll))?;
    }
    let copying = if mode.is_zero_copy {
        XDP_ZEROCOPY
    } else {
        XDP_COPY
    };
    let multi = if mode.takes_multi_buffer {
        XDP_USE_SG
    } else {
        0
    };
    let address = SockaddrXdp {
        flags: XDP_USE_NEED_WAKEUP | copying | multi,
        ifindex: plan.index,
        queue_id: plan.options.queue,
        ..SockaddrXdp::default()
    };
    xdp::bind(fd, &address).map_err(at(XdpStep::Bind))?;
    Ok(Bound {
        socket,
        rx,
        fill,
        memory,
        mode,
    })
}

/// The receive ring has an entry for every chunk, so it is never full: what the kernel lacks, when the
/// reader is slow, is chunks.
///
/// The fill ring has two: the kernel hands packets over before it tells that it has read their
/// entries (`xsk_flush`, net/xdp/xsk.c), so each chunk may be given back while its last entry still
/// counts.
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
        Consumer::ENTRY_BYTES,
    )?;
    let fill = map(
        XDP_UMEM_PGOFF_FILL_RING,
        &offsets.fr,
        places,
        Producer::ENTRY_BYTES,
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
