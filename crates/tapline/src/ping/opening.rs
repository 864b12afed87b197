//! What a run is opened with: its plan, its secrets, its sockets.

use std::io;
use std::os::fd::AsFd;

use abi::socket::link_index;
use probe::targets::Targets;
use probe::{Key, Plan};
use ring::PacketRing;
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use wire::{Ipv4, Ipv6};

use super::channel::Channel;
use super::error::{PingError, Step, at};
use super::filter::OfRing;
use super::interface;
use super::options::{Backend, Options};
use super::pinger::nanoseconds;
use super::ring as receiving;
use super::setup::Wanted;

/// Identifiers tried for ping sockets before one that nobody has is given up on.
const MAX_IDENTIFIERS: usize = 16;

/// Probes a second up to which the kernel is asked when they leave: that takes a system call each.
const MAX_STAMPED_PPS: u64 = 20_000;

/// The longest answer that a ring takes. IPv4 links narrower than that, which would cut it into fragments, are
/// known of this host only: every host has to take packets of this length in (RFC 791, 3.1). IPv6 has no links
/// below 1280 bytes (RFC 8200, 5).
const MAX_WHOLE_BYTES: u32 = 576;
/// The least that a link of IPv4 has to send (RFC 791, 3.2).
const MIN_WHOLE_BYTES: u32 = 68;
const ICMP_HEADER_BYTES: usize = 8;

/// Probes to different targets gather for so small a part of the interval, at most.
const GATHER_PARTS: u64 = 4;

/// The plan of a run over so many targets, and its probes a second if they are so few that the kernel is asked
/// when they leave.
pub(super) fn plan(options: &Options, targets: u32) -> Result<(Plan, Option<u64>), PingError> {
    let (key, identifier) = secrets()?;
    let plan = Plan {
        rounds: options.count,
        interval_ns: nanoseconds(options.interval),
        rate_pps: options.rate_pps,
        timeout_ns: nanoseconds(options.timeout),
        payload_bytes: options.payload_bytes,
        prefix_pps: options.prefix_pps,
        neighbours: options.neighbours,
        histograms: options.histograms,
        ..Plan::new(identifier, key)
    };
    let round_ns = plan.forecast(targets)?.round_ns;
    let pace_pps = (u64::from(targets) * 1_000_000_000).checked_div(round_ns);
    let slow_pps = pace_pps.filter(|pace_pps| *pace_pps <= MAX_STAMPED_PPS);
    let gather_ns = (round_ns / GATHER_PARTS).min(nanoseconds(options.gather));
    Ok((Plan { gather_ns, ..plan }, slow_pps))
}

/// A key and an identifier that nobody can guess.
fn secrets() -> Result<(Key, u16), PingError> {
    let mut bytes = [0; 18];
    // The kernel gives this many bytes in one piece once it has any.
    let filled = getrandom(&mut bytes, GetRandomFlags::empty()).map_err(at(Step::Random))?;
    if filled < bytes.len() {
        return Err(at(Step::Random)(Errno::AGAIN));
    }
    let [key, rest] =
        [0, 8].map(|from| u64::from_ne_bytes(std::array::from_fn(|index| bytes[from + index])));
    // An identifier of 0 would ask a ping socket for any.
    let identifier = u16::from_ne_bytes([bytes[16], bytes[17]]).max(1);
    Ok((Key([key, rest]), identifier))
}

pub(super) fn index_of(name: &str) -> Result<u32, PingError> {
    let probe = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    );
    let probe = probe.map_err(at(Step::Link))?;
    link_index(probe.as_fd(), name).map_err(at(Step::Link))
}

pub(super) type Opened<'a> = Vec<(Channel, Wanted<'a>)>;

/// A ring for answers, and what it sees to.
pub(super) type Ring = (PacketRing, OfRing);

/// The ring for answers to `identifier`, where one is asked for or suits the run and can be had.
pub(super) fn open_ring(
    targets: &Targets,
    options: &Options,
    is_slow: bool,
    identifier: u16,
) -> Result<Option<Ring>, PingError> {
    let is_asked = options.backend == Some(Backend::Ring);
    if !is_asked && (is_slow || options.backend.is_some()) {
        return Ok(None);
    }
    let link = options.link.clone();
    let Some(link) = link.or_else(|| interface::towards(targets)) else {
        return if is_asked {
            Err(PingError::NoLink)
        } else {
            Ok(None)
        };
    };
    let mtu = interface::mtu(&link).unwrap_or(MAX_WHOLE_BYTES);
    let most_bytes = mtu.clamp(MIN_WHOLE_BYTES, MAX_WHOLE_BYTES);
    if !is_asked && answer_bytes(targets.has_family(true), options) > most_bytes as usize {
        return Ok(None);
    }
    match receiving::open(&link, identifier, most_bytes, options) {
        Ok(ring) => {
            let link = ring.link().index;
            Ok(Some((ring, OfRing { link, most_bytes })))
        }
        Err(error) if is_asked => Err(PingError::Ring(error)),
        // Raw sockets do as well, or say what is missing.
        Err(_) => Ok(None),
    }
}

/// Length of the longest answer to a probe, from its IP header on.
pub(super) fn answer_bytes(is_ipv6: bool, options: &Options) -> usize {
    let header_bytes = if is_ipv6 { Ipv6::LEN } else { Ipv4::LEN };
    header_bytes + ICMP_HEADER_BYTES + options.payload_bytes
}

/// Opens the families that the targets have, by the back end that was asked for or the first that is
/// permitted; `wanted` says the rest.
pub(super) fn open_channels<'a>(
    targets: &Targets,
    has_ring: bool,
    wanted: &mut Wanted<'a>,
) -> Result<Opened<'a>, PingError> {
    let asked = wanted.options.backend;
    let mut open = |backend| {
        wanted.backend = backend;
        for _ in 1..MAX_IDENTIFIERS {
            match open_families(targets, wanted) {
                Err(error) if is_taken(&error) => {
                    wanted.identifier = wanted.identifier.wrapping_add(1).max(1);
                }
                opened => return opened,
            }
        }
        open_families(targets, wanted)
    };
    if let Some(backend) = asked {
        return open(backend);
    }
    let with_privileges = if has_ring {
        Backend::Ring
    } else {
        Backend::Raw
    };
    match open(with_privileges) {
        Err(error) if is_refused(&error).is_some() => {}
        opened => return opened,
    }
    open(Backend::PingSocket).map_err(|error| match is_refused(&error) {
        Some(source) => PingError::NotPermitted { source },
        None => error,
    })
}

fn open_families<'a>(targets: &Targets, wanted: &Wanted<'a>) -> Result<Opened<'a>, PingError> {
    let mut opened = Vec::new();
    for is_ipv6 in [false, true] {
        if targets.has_family(is_ipv6) {
            let wanted = Wanted { is_ipv6, ..*wanted };
            opened.push((Channel::open(&wanted)?, wanted));
        }
    }
    for (channel, _) in &opened {
        channel.keep_identifier().map_err(at(Step::Source))?;
    }
    Ok(opened)
}

/// Another ping socket has the identifier.
fn is_taken(error: &PingError) -> bool {
    matches!(error, PingError::Setup { step: Step::Source, source } if source.kind() == io::ErrorKind::AddrInUse)
}

/// The back end is not permitted; the kernel's answer.
fn is_refused(error: &PingError) -> Option<io::Error> {
    match error {
        PingError::Setup {
            step: Step::Socket(_),
            source,
        } if source.kind() == io::ErrorKind::PermissionDenied => {
            source.raw_os_error().map(io::Error::from_raw_os_error)
        }
        _ => None,
    }
}
