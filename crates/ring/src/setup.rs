//! Opening a ring, step by step.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::bpf::attach_classic;
use abi::packet::{
    PACKET_ADD_MEMBERSHIP, PACKET_FANOUT, PACKET_FANOUT_CBPF, PACKET_FANOUT_FLAG_IGNORE_OUTGOING,
    PACKET_FANOUT_FLAG_UNIQUEID, PACKET_IGNORE_OUTGOING, PACKET_MR_PROMISC, PACKET_RESERVE,
    PACKET_RX_RING, PACKET_TIMESTAMP, PACKET_VERSION, PacketMreq, SOF_TIMESTAMPING_RAW_HARDWARE,
    SOL_PACKET, TPACKET_V2, TPACKET_V3, TpacketReq, TpacketReq3,
};
use abi::region::Region;
use abi::socket::{self, set_option};
use abi::timestamp::stamp_all_received;

use crate::account::Account;
use crate::error::{OpenError, OptionError, SetupError, Step};
use crate::filter::{self, Refused};
use crate::geometry::{Geometry, RESERVE_BYTES};
use crate::options::{
    Backend, DirectionFilter, Fanout, FanoutMode, Filter, Options, TimestampSource,
};
use crate::ring::{Link, PacketRing};

/// Which place a ring has among those of its interface.
#[derive(Clone, Copy)]
pub(crate) enum Place<'r> {
    /// It knows of no others, or of those that the options say.
    Alone,
    /// Others may follow it.
    First,
    /// It is to follow another, in this group.
    After { link: &'r Link, group: u16 },
}

/// The socket is bound with a filter that refuses everything and gets the one asked for as the last
/// step, so that no packet enters before direction, snaplen and fanout hold.
pub(crate) fn open(
    name: &str,
    options: &Options,
    place: Place<'_>,
) -> Result<PacketRing, OpenError> {
    let geometry = Geometry::new(options)?;
    if options.timestamps == TimestampSource::Reader {
        return Err(OptionError::ReaderStamps.into());
    }
    let at = |step: Step| {
        move |source| SetupError {
            step,
            link: name.to_owned(),
            source,
        }
    };

    let socket = socket::packet_socket().map_err(at(Step::Socket))?;
    let fd = socket.as_fd();
    let index = match place {
        // Its name may be another's by now.
        Place::After { link, .. } => link.index,
        Place::Alone | Place::First => socket::link_index(fd, name).map_err(at(Step::Link))?,
    };
    attach_classic(fd, &filter::nothing()).map_err(at(Step::Filter))?;
    select_version(fd, geometry.backend).map_err(at(Step::Version))?;
    if options.timestamps == TimestampSource::Hardware {
        if !matches!(place, Place::After { .. }) {
            stamp_all_received(fd, name).map_err(at(Step::Timestamps))?;
        }
        take_hardware_stamps(fd).map_err(at(Step::Timestamps))?;
    }
    let allocate = match geometry.grown_for {
        Some(_) => Step::StallRing,
        None => Step::Ring,
    };
    request_ring(fd, &geometry).map_err(at(allocate))?;
    let region = Region::map(fd, geometry.bytes()).map_err(at(Step::Map))?;
    socket::bind_link(fd, index).map_err(at(Step::Bind))?;
    socket::take_error(fd).map_err(at(Step::Bind))?;
    let link = describe(fd, name, index).map_err(at(Step::Link))??;
    if options.promiscuous {
        promiscuous(fd, index).map_err(at(Step::Promiscuous))?;
    }
    let is_unwanted = outgoing_is_unwanted(options.direction, &link);
    ignore_outgoing(fd, is_unwanted).map_err(at(Step::Direction))?;
    let group = match place {
        Place::Alone => options.fanout.map(share),
        Place::First => Some(PACKET_FANOUT_FLAG_UNIQUEID << 16 | relay(options, &link)),
        Place::After { group, .. } => Some(relay(options, &link) | u32::from(group)),
    };
    if let Some(group) = group {
        set_option(fd, SOL_PACKET, PACKET_FANOUT, &group).map_err(at(Step::Fanout))?;
    }
    let is_refused = is_unwanted && group.is_some();
    attach(fd, options, is_refused).map_err(at(Step::Filter))?;

    let account = Account::default();
    let snaplen = options.snaplen;
    Ok(PacketRing {
        region,
        socket,
        geometry,
        head: 0,
        scanned: Cell::default(),
        snaplen,
        account,
        unreported: 0,
        link,
        turn: None,
    })
}

fn select_version(fd: BorrowedFd<'_>, backend: Backend) -> io::Result<()> {
    let version = match backend {
        Backend::PacketV2 => TPACKET_V2,
        Backend::PacketV3 => TPACKET_V3,
    };
    set_option(fd, SOL_PACKET, PACKET_VERSION, &version)?;
    set_option(fd, SOL_PACKET, PACKET_RESERVE, &RESERVE_BYTES)
}

fn take_hardware_stamps(fd: BorrowedFd<'_>) -> io::Result<()> {
    set_option(
        fd,
        SOL_PACKET,
        PACKET_TIMESTAMP,
        &SOF_TIMESTAMPING_RAW_HARDWARE,
    )
}

fn request_ring(fd: BorrowedFd<'_>, geometry: &Geometry) -> io::Result<()> {
    let block_size = geometry.block_bytes as u32;
    let block_nr = geometry.block_count() as u32;
    match geometry.backend {
        Backend::PacketV2 => {
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
        Backend::PacketV3 => {
            // V3 packs packets by their own length; the nominal frame only has to divide the block.
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

pub(crate) fn promiscuous(fd: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let membership = PacketMreq {
        ifindex: index.cast_signed(),
        kind: PACKET_MR_PROMISC,
        ..PacketMreq::default()
    };
    set_option(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership)
}

/// On loopback each packet is seen going out and coming in; the latter stands for both.
fn outgoing_is_unwanted(direction: DirectionFilter, link: &Link) -> bool {
    match direction {
        DirectionFilter::In => true,
        DirectionFilter::Both => link.loopback,
        DirectionFilter::Out => false,
    }
}

fn ignore_outgoing(fd: BorrowedFd<'_>, ignore: bool) -> io::Result<()> {
    set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &i32::from(ignore))
}

/// The option that joins a group among whose members packets are shared out.
fn share(fanout: Fanout) -> u32 {
    let mode: u32 = match fanout.mode {
        FanoutMode::Hash => 0,
        FanoutMode::RoundRobin => 1,
        FanoutMode::Cpu => 2,
        FanoutMode::Queue => 5,
    };
    mode << 16 | u32::from(fanout.group)
}

/// The option that joins a group whose members take over from each other, but for its number.
fn relay(options: &Options, link: &Link) -> u32 {
    let ignores = if outgoing_is_unwanted(options.direction, link) {
        PACKET_FANOUT_FLAG_IGNORE_OUTGOING
    } else {
        0
    };
    (PACKET_FANOUT_CBPF | ignores) << 16
}

/// A fanout group takes packets in place of its members and knows nothing of their
/// `PACKET_IGNORE_OUTGOING` (`fanout_add`, net/packet/af_packet.c), so there the filter does it.
fn attach(fd: BorrowedFd<'_>, options: &Options, outgoing_is_refused: bool) -> io::Result<()> {
    let refused = match options.direction {
        DirectionFilter::Out => Refused::Incoming,
        _ if outgoing_is_refused => Refused::Outgoing,
        _ => Refused::Nothing,
    };
    let classic = |program| attach_classic(fd, &filter::classic(refused, options.snaplen, program));
    match &options.filter {
        Filter::All => classic(None),
        Filter::Classic(program) => classic(Some(program)),
        Filter::Program(program) => socket::attach_program(fd, OwnedFd::as_fd(program)),
    }
}

// Hardware types of `net/if_arp.h`.
const ARPHRD_ETHER: u16 = 1;
const ARPHRD_RAWIP: u16 = 519;
pub(crate) const ARPHRD_LOOPBACK: u16 = 772;
const ARPHRD_IEEE80211: u16 = 801;
const ARPHRD_IEEE80211_RADIOTAP: u16 = 803;
const ARPHRD_NONE: u16 = 65_534;

/// How capture files number the link layer (`LINKTYPE_*`) of an interface of this hardware type
/// (`ARPHRD_*`); `None` where no type is known.
pub fn link_type(hatype: u16) -> Option<u16> {
    match hatype {
        ARPHRD_ETHER | ARPHRD_LOOPBACK => Some(1),
        ARPHRD_NONE | ARPHRD_RAWIP => Some(101),
        ARPHRD_IEEE80211 => Some(105),
        ARPHRD_IEEE80211_RADIOTAP => Some(127),
        _ => None,
    }
}

fn describe(fd: BorrowedFd<'_>, name: &str, index: u32) -> io::Result<Result<Link, OpenError>> {
    let hatype = socket::bound_link(fd)?.hatype;
    let name = name.to_owned();
    let Some(link_type) = link_type(hatype) else {
        return Ok(Err(OpenError::LinkLayer { link: name, hatype }));
    };
    let loopback = hatype == ARPHRD_LOOPBACK;
    Ok(Ok(Link {
        name,
        index,
        link_type,
        loopback,
    }))
}
