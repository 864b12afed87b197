//! Opening a run: plan, secrets, ring and sockets.

use std::io;
use std::os::fd::AsFd;

use abi::socket::link_index;
use probe::targets::Targets;
use probe::{ProbePlan, RunKey};
use ring::PacketRing;
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::ping::error::{PingError, PingOperation, during};
use crate::ping::options::{Backend, PingOptions, nanoseconds};
use crate::ping::route;
use crate::ping::socket::{FamilySocket, RingScope, SocketSetup, open_packet_ring, reply_bytes};

/// Maximum identifiers tried for ping sockets until one is free.
const MAX_IDENTIFIERS: usize = 16;

/// Maximum rate with transmit time stamps, which take a system call each.
const MAX_STAMPED_PPS: u64 = 20_000;

/// Maximum length of a reply that a ring receives. Every IPv4 host accepts packets of this length (RFC 791, 3.1), so
/// only a link of this host with a smaller MTU would fragment it. The minimum MTU of IPv6 is 1280 (RFC 8200, 5).
const MAX_WHOLE_BYTES: u32 = 576;
/// The minimum MTU of IPv4 (RFC 791, 3.2).
const MIN_WHOLE_BYTES: u32 = 68;

/// Groups gather the probes of at most one part in this many of the interval.
const GATHER_PARTS: u64 = 4;

/// The plan of a run to `targets` targets, and its rate if that is low enough for transmit time stamps.
pub(in crate::ping) fn probe_plan(
    options: &PingOptions,
    targets: u32,
) -> Result<(ProbePlan, Option<u64>), PingError> {
    let (key, identifier) = secrets()?;
    let resume = options.resume;
    let key = resume.map_or(key, |position| position.key);
    let plan = ProbePlan {
        first_probe: resume.map_or(0, |position| position.ended),
        rounds: options.count,
        interval_ns: nanoseconds(options.interval),
        rate_pps: options.rate_pps,
        timeout_ns: nanoseconds(options.timeout),
        payload_bytes: options.payload_bytes,
        prefix_pps: options.prefix_pps,
        neighbours: options.neighbours,
        histograms: options.histograms,
        ..ProbePlan::new(identifier, key)
    };
    let round_ns = plan.forecast(targets)?.round_ns;
    let pace_pps = (u64::from(targets) * 1_000_000_000).checked_div(round_ns);
    let slow_pps = pace_pps.filter(|pace_pps| *pace_pps <= MAX_STAMPED_PPS);
    let gather_ns = (round_ns / GATHER_PARTS).min(nanoseconds(options.gather));
    Ok((ProbePlan { gather_ns, ..plan }, slow_pps))
}

/// Checks that there are `bytes` of memory for the statistics of all targets, which the prober allocates: it ends the
/// process without them.
pub(in crate::ping) fn require_memory(bytes: u64) -> Result<(), PingError> {
    let size = usize::try_from(bytes).unwrap_or(usize::MAX);
    let reserved = Vec::<u8>::new().try_reserve_exact(size);
    reserved
        .map_err(|_| Errno::NOMEM)
        .map_err(during(PingOperation::Allocate { bytes }))
}

/// A random key and identifier.
fn secrets() -> Result<(RunKey, u16), PingError> {
    let mut bytes = [0; 18];
    // The kernel returns this many bytes at once after it is seeded.
    let filled =
        getrandom(&mut bytes, GetRandomFlags::empty()).map_err(during(PingOperation::Random))?;
    if filled < bytes.len() {
        return Err(during(PingOperation::Random)(Errno::AGAIN));
    }
    let [key, rest] =
        [0, 8].map(|from| u64::from_ne_bytes(std::array::from_fn(|index| bytes[from + index])));
    // A ping socket takes identifier 0 as a request for any.
    let identifier = u16::from_ne_bytes([bytes[16], bytes[17]]).max(1);
    Ok((RunKey([key, rest]), identifier))
}

pub(super) fn interface_index(name: &str) -> Result<u32, PingError> {
    let any = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    );
    let failed = |source| PingError::Interface {
        link: name.to_owned(),
        source,
    };
    let any = any.map_err(|error| failed(error.into()))?;
    link_index(any.as_fd(), name).map_err(failed)
}

type Opened<'a> = Vec<(FamilySocket, SocketSetup<'a>)>;

/// A ring for replies, and which replies it receives.
type ScopedRing = (PacketRing, RingScope);

/// Opens the ring for replies to `identifier`, if it was requested, or if it suits the run and is available.
pub(super) fn open_ring(
    targets: &Targets,
    options: &PingOptions,
    is_slow: bool,
    identifier: u16,
) -> Result<Option<ScopedRing>, PingError> {
    let is_requested = options.backend == Some(Backend::Ring);
    if !is_requested && (is_slow || options.backend.is_some()) {
        return Ok(None);
    }
    let interface = options.interface.clone();
    let Some(interface) = interface.or_else(|| route::egress_interface(targets, options.source))
    else {
        return if is_requested {
            Err(PingError::NoInterface)
        } else {
            Ok(None)
        };
    };
    let mtu = route::mtu(&interface).unwrap_or(MAX_WHOLE_BYTES);
    let most_bytes = mtu.clamp(MIN_WHOLE_BYTES, MAX_WHOLE_BYTES);
    if !is_requested && reply_bytes(targets.has_family(true), options) > most_bytes as usize {
        return Ok(None);
    }
    match open_packet_ring(&interface, identifier, most_bytes, options) {
        Ok(ring) => {
            let scope = RingScope {
                interface: ring.interface().index,
                most_bytes,
            };
            Ok(Some((ring, scope)))
        }
        Err(error) if is_requested => Err(PingError::Ring(error)),
        // Raw sockets work too, or report what is missing.
        Err(_) => Ok(None),
    }
}

/// Opens sockets for the families of the targets, with the requested back end or the first that is permitted.
pub(super) fn open_sockets<'a>(
    targets: &Targets,
    has_ring: bool,
    setup: &mut SocketSetup<'a>,
) -> Result<Opened<'a>, PingError> {
    let requested = setup.options.backend;
    let mut open = |backend| {
        setup.backend = backend;
        for _ in 1..MAX_IDENTIFIERS {
            match open_families(targets, setup) {
                Err(error) if is_identifier_taken(&error) => {
                    setup.identifier = setup.identifier.wrapping_add(1).max(1);
                }
                opened => return opened,
            }
        }
        open_families(targets, setup)
    };
    if let Some(backend) = requested {
        return open(backend);
    }
    let with_privileges = if has_ring {
        Backend::Ring
    } else {
        Backend::Raw
    };
    match open(with_privileges) {
        Err(error) if permission_error(&error).is_some() => {}
        opened => return opened,
    }
    open(Backend::PingSocket).map_err(|error| match permission_error(&error) {
        Some(source) => PingError::NotPermitted { source },
        None => error,
    })
}

fn open_families<'a>(targets: &Targets, setup: &SocketSetup<'a>) -> Result<Opened<'a>, PingError> {
    let mut opened = Vec::new();
    let options = setup.options;
    let can_change = options.both_families || options.resolve_every.is_some();
    for is_ipv6 in [false, true] {
        let setup = SocketSetup { is_ipv6, ..*setup };
        if targets.has_family(is_ipv6) {
            opened.push((FamilySocket::open(&setup)?, setup));
        } else if can_change && targets.allows_family(is_ipv6) {
            match FamilySocket::open(&setup) {
                Ok(socket) => opened.push((socket, setup)),
                Err(error) if is_identifier_taken(&error) => return Err(error),
                // No target needs it yet. A probe that does is counted as a local drop.
                Err(_) => {}
            }
        }
    }
    for (socket, _) in &opened {
        let reserved = socket.reserve_identifier();
        reserved.map_err(during(PingOperation::BindSource))?;
    }
    Ok(opened)
}

/// Whether another ping socket uses the identifier.
fn is_identifier_taken(error: &PingError) -> bool {
    matches!(
        error,
        PingError::Kernel { operation: PingOperation::BindSource, source }
            if source.kind() == io::ErrorKind::AddrInUse
    )
}

/// The error of the kernel, if the back end is not permitted.
fn permission_error(error: &PingError) -> Option<io::Error> {
    match error {
        PingError::Kernel {
            operation: PingOperation::OpenSocket(_),
            source,
        } if source.kind() == io::ErrorKind::PermissionDenied => {
            source.raw_os_error().map(io::Error::from_raw_os_error)
        }
        _ => None,
    }
}
