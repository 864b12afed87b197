//! Opens a packet socket's ring, step by step.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abi::bpf::{attach_classic, set_fanout_program};
use abi::packet::{
    PACKET_FANOUT, PACKET_FANOUT_CBPF, PACKET_FANOUT_FLAG_IGNORE_OUTGOING,
    PACKET_FANOUT_FLAG_UNIQUEID, PACKET_IGNORE_OUTGOING, PACKET_RESERVE, PACKET_RX_RING,
    PACKET_TIMESTAMP, PACKET_VERSION, SOF_TIMESTAMPING_RAW_HARDWARE, SOL_PACKET, TPACKET_V2,
    TPACKET_V3, TpacketReq, TpacketReq3,
};
use abi::region::Region;
use abi::socket::{self, set_option};
use abi::timestamp::enable_driver_timestamps;

use super::filter::{self, Refused};
use super::geometry::{Geometry, RESERVE_BYTES};
use crate::device_clock::DeviceClock;
use crate::error::{RingOpenError, RingOptionError, RingSetupError, SetupStep};
use crate::interface::{self, InterfaceInfo};
use crate::options::{
    DirectionFilter, Fanout, FanoutMode, RingFilter, RingOptions, TimestampSource, TpacketVersion,
};

/// Role of a ring among those of its interface.
pub(crate) enum Role<'r> {
    /// Not in a handover group. The options may name a fanout group.
    Alone,
    /// First ring of a handover group.
    First,
    /// Joins this handover group to replace its current ring, the only member, whose socket is `current`. `spare` is that of the
    /// group, if it has one.
    Successor {
        link: &'r InterfaceInfo,
        group: u16,
        current: BorrowedFd<'r>,
        spare: Option<Arc<OwnedFd>>,
    },
    /// Shares the packets with others, once `join` has added the socket to their group. It returns when no CPU delivers
    /// packets to the socket directly any more.
    Member {
        link: &'r InterfaceInfo,
        join: &'r mut dyn FnMut(BorrowedFd<'_>) -> io::Result<()>,
    },
}

/// A packet socket with its ring, bound and receiving.
pub(crate) struct Opened {
    pub socket: OwnedFd,
    pub region: Region,
    pub geometry: Geometry,
    pub link: InterfaceInfo,
    /// The clock behind hardware time stamps.
    pub clock: Option<Box<DeviceClock>>,
    /// Direction that each filter of the socket rejects.
    pub refused: Refused,
    /// An unused packet socket for [`wait_for_cpus`], if the block timer is long: that of the group, or a new one.
    pub spare: Option<Arc<OwnedFd>>,
}

/// The longest block timer, in milliseconds, that the end of a ring waits for: a wait for the CPUs takes about ten.
const SHORT_RETIRE_MS: u32 = 50;

/// Binds the socket with a filter that rejects everything, and attaches the real filter last. No packet can thus
/// enter before direction, snaplen and fanout are set.
pub(crate) fn open(
    name: &str,
    options: &RingOptions,
    role: Role<'_>,
) -> Result<Opened, RingOpenError> {
    let geometry = Geometry::new(options)?;
    if options.timestamps == TimestampSource::Reader {
        return Err(RingOptionError::ReaderStamps.into());
    }
    let at = |step: SetupStep| {
        move |source| RingSetupError {
            step,
            link: name.to_owned(),
            source,
        }
    };

    let socket = socket::packet_socket().map_err(at(SetupStep::Socket))?;
    let fd = socket.as_fd();
    let index = match role {
        // The name may be another interface's by now.
        Role::Successor { link, .. } | Role::Member { link, .. } => link.index,
        Role::Alone | Role::First => {
            socket::link_index(fd, name).map_err(at(SetupStep::Interface))?
        }
    };
    attach_classic(fd, &filter::nothing()).map_err(at(SetupStep::Filter))?;
    select_version(fd, geometry.version).map_err(at(SetupStep::Version))?;
    let clock = select_stamps(fd, options).map_err(at(SetupStep::Timestamps))?;
    let allocate = match geometry.grown_for {
        Some(_) => SetupStep::StallRing,
        None => SetupStep::Ring,
    };
    request_ring(fd, &geometry).map_err(at(allocate))?;
    let region = Region::map(fd, geometry.bytes()).map_err(at(SetupStep::Map))?;
    socket::bind_link(fd, index).map_err(at(SetupStep::Bind))?;
    socket::take_error(fd).map_err(at(SetupStep::Bind))?;
    let link = describe(fd, name, index).map_err(at(SetupStep::Interface))??;
    if options.promiscuous {
        interface::set_promiscuous(fd, index).map_err(at(SetupStep::Promiscuous))?;
    }
    let ignores_outgoing = ignores_outgoing(options.direction, &link);
    let ignore = i32::from(ignores_outgoing);
    set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &ignore)
        .map_err(at(SetupStep::Direction))?;
    let spare = spare(&role, &geometry);
    let is_in_group = join(fd, role, options, ignores_outgoing).map_err(at(SetupStep::Fanout))?;
    let refused = match options.direction {
        DirectionFilter::Out => Refused::Incoming,
        // A fanout group receives packets instead of its members and ignores their `PACKET_IGNORE_OUTGOING`
        // (`fanout_add`, net/packet/af_packet.c). There the filter rejects sent packets.
        _ if ignores_outgoing && is_in_group => Refused::Outgoing,
        _ => Refused::Nothing,
    };
    attach(fd, &options.filter, refused, options.snaplen).map_err(at(SetupStep::Filter))?;
    Ok(Opened {
        socket,
        region,
        geometry,
        link,
        clock,
        refused,
        spare,
    })
}

/// Returns [`Opened::spare`].
fn spare(role: &Role<'_>, geometry: &Geometry) -> Option<Arc<OwnedFd>> {
    if geometry.retire_ms <= SHORT_RETIRE_MS {
        return None;
    }
    let of_group = match role {
        Role::Successor { spare, .. } => spare.clone(),
        Role::Alone | Role::First | Role::Member { .. } => None,
    };
    // Without a descriptor for it, the end waits for the timer.
    of_group.or_else(|| socket::packet_socket().ok().map(Arc::new))
}

/// Waits until no CPU delivers a packet any more that it began to deliver before the call. `spare` is a packet socket without
/// a ring. Unlike closing a packet socket, this waits although a forked process has the socket too, and it needs no privilege.
///
/// # Source
/// `packet_set_ring`, net/packet/af_packet.c: it calls `synchronize_net`, also to free a ring that is not there.
pub(crate) fn wait_for_cpus(spare: BorrowedFd<'_>) -> io::Result<()> {
    set_option(spare, SOL_PACKET, PACKET_RX_RING, &TpacketReq::default())
}

/// Has the sockets of rings reject everything, and waits through `spare` until no CPU is putting a packet into them. Then sets their
/// flags, which say that they are at rest.
pub(crate) fn finish(
    rings: &[(BorrowedFd<'_>, &AtomicBool)],
    spare: BorrowedFd<'_>,
) -> io::Result<()> {
    for (socket, _) in rings {
        attach_classic(*socket, &filter::nothing())?;
    }
    wait_for_cpus(spare)?;
    for (_, is_at_rest) in rings {
        // Release pairs with the load in `PacketRing::left_in_open_block`.
        is_at_rest.store(true, Ordering::Release);
    }
    Ok(())
}

/// Waits for packets that are in a NAPI poll or in GRO, which still get into the rings, and then does what [`finish`] does. For
/// rings that leave while packets arrive, for example because an XDP program takes over.
///
/// If it fails, the timers of the blocks hand the packets over.
pub(crate) fn finish_after_in_flight(
    rings: &[(BorrowedFd<'_>, &AtomicBool)],
    spare: BorrowedFd<'_>,
) {
    let _ = wait_for_cpus(spare).and_then(|()| finish(rings, spare));
}

/// Sets `is_at_rest` of a ring that another one has replaced, and has its `socket` reject everything. No CPU delivers packets to
/// the socket any more. When an interface comes up, however, the kernel adds the members of a group one by one, in the order in
/// which they were opened, and packets may go to other members than before.
///
/// # Source
/// `packet_notifier` and `__fanout_link`, net/packet/af_packet.c.
pub(crate) fn put_to_rest(socket: BorrowedFd<'_>, is_at_rest: &AtomicBool) {
    // Fails only for lack of memory. Then the timer of the block hands its packets over.
    if attach_classic(socket, &filter::nothing()).is_ok() {
        // Release pairs with the load in `PacketRing::left_in_open_block`: no CPU copies a packet into the ring any more.
        is_at_rest.store(true, Ordering::Release);
    }
}

/// Adds the socket to its fanout group, if there is one. When a socket joins a group, a CPU may still be delivering a packet
/// to the socket directly, and another member gets that packet too. So the socket must reject it: this returns once no CPU
/// does so any more, and the filter that accepts packets is attached afterwards.
fn join(
    fd: BorrowedFd<'_>,
    role: Role<'_>,
    options: &RingOptions,
    ignores_outgoing: bool,
) -> io::Result<bool> {
    let in_group = |group: u32| set_option(fd, SOL_PACKET, PACKET_FANOUT, &group);
    match role {
        Role::Alone => {
            let Some(fanout) = options.fanout else {
                return Ok(false);
            };
            in_group(share(fanout, ignores_outgoing))?;
            // Closing any packet socket waits for the CPUs (`packet_release`, net/packet/af_packet.c).
            drop(socket::packet_socket()?);
        }
        // There is no other member.
        Role::First => in_group(PACKET_FANOUT_FLAG_UNIQUEID << 16 | handover(ignores_outgoing))?,
        Role::Successor { group, current, .. } => {
            // The current ring gets all packets as the only member, whatever the program returns. The program must return it
            // before a second member joins.
            set_fanout_program(current, &filter::answer(0))?;
            in_group(handover(ignores_outgoing) | u32::from(group))?;
            // Setting the group's program again waits for the CPUs.
            set_fanout_program(fd, &filter::answer(0))?;
        }
        Role::Member { join, .. } => join(fd)?,
    }
    Ok(true)
}

/// A bound packet socket without memory that rejects every packet. The name may be another interface's by now, unless the
/// `index` is to be found.
pub(crate) fn placeholder(
    name: &str,
    index: Option<u32>,
) -> Result<(OwnedFd, InterfaceInfo), RingOpenError> {
    let at = |step: SetupStep| {
        move |source| RingSetupError {
            step,
            link: name.to_owned(),
            source,
        }
    };
    let socket = socket::packet_socket().map_err(at(SetupStep::Socket))?;
    let fd = socket.as_fd();
    let index = match index {
        Some(index) => index,
        None => socket::link_index(fd, name).map_err(at(SetupStep::Interface))?,
    };
    attach_classic(fd, &filter::nothing()).map_err(at(SetupStep::Filter))?;
    socket::bind_link(fd, index).map_err(at(SetupStep::Bind))?;
    socket::take_error(fd).map_err(at(SetupStep::Bind))?;
    let link = describe(fd, name, index).map_err(at(SetupStep::Interface))??;
    Ok((socket, link))
}

fn select_version(fd: BorrowedFd<'_>, version: TpacketVersion) -> io::Result<()> {
    let version = match version {
        TpacketVersion::V2 => TPACKET_V2,
        TpacketVersion::V3 => TPACKET_V3,
    };
    set_option(fd, SOL_PACKET, PACKET_VERSION, &version)?;
    set_option(fd, SOL_PACKET, PACKET_RESERVE, &RESERVE_BYTES)
}

/// Selects the source of time stamps. Returns the clock behind those of the hardware.
fn select_stamps(
    fd: BorrowedFd<'_>,
    options: &RingOptions,
) -> io::Result<Option<Box<DeviceClock>>> {
    match options.timestamps {
        TimestampSource::Kernel | TimestampSource::Reader => Ok(None),
        TimestampSource::Driver => enable_driver_timestamps(fd).map(|()| None),
        TimestampSource::Hardware => {
            let source = SOF_TIMESTAMPING_RAW_HARDWARE;
            set_option(fd, SOL_PACKET, PACKET_TIMESTAMP, &source)?;
            let clock = options.device_clock.map(DeviceClock::open).transpose()?;
            Ok(clock.map(Box::new))
        }
    }
}

fn request_ring(fd: BorrowedFd<'_>, geometry: &Geometry) -> io::Result<()> {
    let block_size = geometry.block_bytes as u32;
    let block_nr = geometry.block_count() as u32;
    match geometry.version {
        TpacketVersion::V2 => {
            let frame_size = geometry.slot_bytes as u32;
            let frame_nr = geometry.count as u32;
            let request = TpacketReq {
                block_size,
                block_nr,
                frame_size,
                frame_nr,
            };
            set_option(fd, SOL_PACKET, PACKET_RX_RING, &request)
        }
        TpacketVersion::V3 => {
            // V3 packs packets by their own length; the nominal frame size only has to divide the block.
            let request = TpacketReq3 {
                block_size,
                block_nr,
                frame_size: block_size,
                frame_nr: block_nr,
                retire_blk_tov: geometry.retire_ms,
                sizeof_priv: 0,
                feature_req_word: 0,
            };
            set_option(fd, SOL_PACKET, PACKET_RX_RING, &request)
        }
    }
}

/// Whether sent packets are ignored. On loopback each packet is both sent and received; only the latter counts.
pub(crate) fn ignores_outgoing(direction: DirectionFilter, link: &InterfaceInfo) -> bool {
    match direction {
        DirectionFilter::In => true,
        DirectionFilter::Both => link.loopback,
        DirectionFilter::Out => false,
    }
}

/// Value of `PACKET_FANOUT` that joins a group whose members share the packets.
fn share(fanout: Fanout, ignores_outgoing: bool) -> u32 {
    let mode: u32 = match fanout.mode {
        FanoutMode::Hash => 0,
        FanoutMode::RoundRobin => 1,
        FanoutMode::Cpu => 2,
        FanoutMode::Random => 4,
        FanoutMode::Queue => 5,
    };
    let group = match fanout.group {
        Some(number) => u32::from(number),
        None => PACKET_FANOUT_FLAG_UNIQUEID << 16,
    };
    (mode | outgoing_flag(ignores_outgoing)) << 16 | group
}

/// Value of `PACKET_FANOUT`, without the group number, that joins a group whose members hand over to each other.
pub(crate) fn handover(ignores_outgoing: bool) -> u32 {
    (PACKET_FANOUT_CBPF | outgoing_flag(ignores_outgoing)) << 16
}

/// Older kernels have no such flag and do not check for it.
fn outgoing_flag(ignores_outgoing: bool) -> u32 {
    if ignores_outgoing {
        PACKET_FANOUT_FLAG_IGNORE_OUTGOING
    } else {
        0
    }
}

/// Attaches `filter`. A classic one is extended by the direction and the snaplen.
pub(crate) fn attach(
    fd: BorrowedFd<'_>,
    filter: &RingFilter,
    refused: Refused,
    snaplen: u32,
) -> io::Result<()> {
    let classic = |program| attach_classic(fd, &filter::classic(refused, snaplen, program));
    match filter {
        RingFilter::All => classic(None),
        RingFilter::Classic(program) => classic(Some(program)),
        RingFilter::Program(program) => socket::attach_program(fd, OwnedFd::as_fd(program)),
    }
}

fn describe(
    fd: BorrowedFd<'_>,
    name: &str,
    index: u32,
) -> io::Result<Result<InterfaceInfo, RingOpenError>> {
    let hatype = socket::bound_link(fd)?.hatype;
    let info = InterfaceInfo::new(name, index, hatype);
    Ok(info.ok_or_else(|| RingOpenError::LinkLayer {
        link: name.to_owned(),
        hatype,
    }))
}
