//! What a run needs before its programs are loaded: checks, sizes, and the frame of a request.

use std::net::IpAddr;

use bpf::{EchoProber, EchoProberError};
use netlink::Link;
use probe::{COOKIE_BYTES, Forecast, Prober};
use rustix::io::Errno;

use super::requests::request;
use crate::ping::error::{PingError, XdpRefusal};
use crate::ping::options::PingOptions;
use crate::ping::route;

/// Longest payload: a frame of a page of memory, beside the kernel's own data.
const MAX_PAYLOAD_BYTES: usize = 1452;
/// Maximum positions of all windows, 8 bytes each.
const MAX_POSITIONS: u64 = 1 << 24;

/// Number of the latest probes to a target whose answers are matched: those sent within twice the timeout.
pub(super) fn window(forecast: &Forecast) -> u32 {
    let window = (2 * u64::from(forecast.flight()) + 2).next_power_of_two();
    let most = (MAX_POSITIONS / u64::from(forecast.targets).max(1)).max(1);
    window.min(1 << most.ilog2()) as u32
}

/// Memory for a target, in the programs and here.
pub(in crate::ping) fn bytes_per_target(forecast: &Forecast, has_ipv6: bool) -> u64 {
    let is_single = forecast.rounds == Some(1);
    let of_programs = EchoProber::bytes_per_target(is_single, has_ipv6, window(forecast));
    of_programs + Prober::BYTES_ELSEWHERE
}

/// Refuses what the programs do not do.
pub(super) fn check(options: &PingOptions) -> Result<(), PingError> {
    let refusal = if options.paths.is_some() {
        XdpRefusal::Option { what: "paths" }
    } else if options.resolve_every.is_some() {
        XdpRefusal::Option {
            what: "names that are looked up again",
        }
    } else if options.histograms {
        XdpRefusal::Option {
            what: "histograms of targets",
        }
    } else if options.payload_bytes > MAX_PAYLOAD_BYTES {
        XdpRefusal::Payload {
            most: MAX_PAYLOAD_BYTES,
        }
    } else {
        return Ok(());
    };
    Err(refused(refusal))
}

pub(super) fn refused(refusal: XdpRefusal) -> PingError {
    PingError::XdpRefused(refusal)
}

/// The request of a family, if there are targets of it.
pub(super) fn frame(
    prober: &Prober,
    link: &Link,
    interface: &str,
    is_ipv6: bool,
    identifier: u16,
    options: &PingOptions,
) -> Result<Option<Vec<u8>>, PingError> {
    let targets = prober.targets();
    let mut addresses = (0..targets.len()).filter_map(|target| targets.address(target));
    let Some(first) = addresses.find(|address| address.is_ipv6() == is_ipv6) else {
        return Ok(None);
    };
    let given = options.source.filter(|source| source.is_ipv6() == is_ipv6);
    let source: Option<IpAddr> = given.or_else(|| route::source_address(first, Some(interface)));
    let (Some(source), Some(mac)) = (source, link.mac()) else {
        let link = interface.to_owned();
        return Err(refused(XdpRefusal::OtherInterface { link }));
    };
    let mut payload = vec![0; COOKIE_BYTES];
    payload.extend(prober.filler());
    Ok(Some(request(mac, source, identifier, &payload, options)))
}

/// Whether the back end cannot be opened for lack of a privilege.
pub(in crate::ping) fn is_privilege(error: &EchoProberError) -> bool {
    use bpf::{LiveFramesError, XdpProgramError};
    let load = match error {
        EchoProberError::Program(XdpProgramError::Load(load))
        | EchoProberError::Frames(LiveFramesError::Load(load)) => return load.is_privilege(),
        EchoProberError::Program(XdpProgramError::Map(map))
        | EchoProberError::Frames(LiveFramesError::Map(map)) => &map.source,
        EchoProberError::Frames(LiveFramesError::Tracepoint { source, .. }) => source,
        EchoProberError::Program(XdpProgramError::Attach(attach)) => &attach.source,
        _ => return false,
    };
    matches!(
        Errno::from_io_error(load),
        Some(Errno::PERM | Errno::ACCESS)
    )
}
