//! What a run needs before its programs are loaded: checks, sizes, and the frame of a request.

use bpf::{EchoProber, EchoProberError, EchoProberOptions, XdpAttachMode};
use netlink::{IfIndex, Link, LinkKind, MacAddress};
use probe::targets::Targets;
use probe::{COOKIE_BYTES, Forecast, ProbePlan, Prober};
use rustix::io::Errno;

use super::af_xdp::FrameSender;
use super::requests::{VlanTag, request, request_bytes};
use super::routing::NextHops;
use crate::ping::error::{PingError, XdpRefusal};
use crate::ping::options::PingOptions;
use crate::send::{SendPath, sends_xdp_frames};

/// Longest payload: a frame of a page of memory, beside the kernel's own data.
const MAX_PAYLOAD_BYTES: usize = 1452;
/// Maximum positions of all windows, 8 bytes each.
const MAX_POSITIONS: u64 = 1 << 24;
/// Maximum positions of the windows of targets that may be added.
const SPARE_POSITIONS: u32 = 1 << 20;

/// Number of the latest probes to a target whose answers are matched: those sent within twice the timeout, if there is room for
/// all of them.
fn window(forecast: &Forecast, targets: u32) -> u32 {
    let window = forecast.within_two_timeouts().next_power_of_two();
    let most = (MAX_POSITIONS / u64::from(targets).max(1)).max(1);
    let most = u64::from(EchoProber::MAX_WINDOW).min(1 << most.ilog2());
    window.min(most) as u32
}

/// Targets that the programs have room for, so that some can be added.
pub(super) fn room(forecast: &Forecast, spare_targets: u32) -> u32 {
    if forecast.rounds == Some(1) {
        return forecast.targets;
    }
    let window = window(forecast, forecast.targets);
    // The windows of the others keep their size.
    let free = (MAX_POSITIONS / u64::from(window)).saturating_sub(forecast.targets.into());
    let spare = spare_targets.min(SPARE_POSITIONS / window);
    forecast.targets + u64::from(spare).min(free) as u32
}

/// Memory for a target, in the programs and here.
pub(in crate::ping) fn bytes_per_target(
    forecast: &Forecast,
    has_ipv6: bool,
    has_histograms: bool,
) -> u64 {
    let is_single = forecast.rounds == Some(1);
    let window = window(forecast, forecast.targets);
    let of_programs = EchoProber::bytes_per_target(is_single, has_ipv6, window, has_histograms);
    of_programs + Prober::bytes_with_kernel_counters(is_single)
}

/// Refuses what the programs do not do.
pub(super) fn check(targets: &Targets, options: &PingOptions) -> Result<(), PingError> {
    let is_single = options.count == Some(1);
    let is_known =
        [SendPath::Auto, SendPath::LiveFrames, SendPath::Xdp].contains(&options.send_path);
    let refusal = if !is_known {
        XdpRefusal::Option {
            what: "this path for requests",
        }
    } else if options.paths.is_some() {
        XdpRefusal::Option { what: "paths" }
    } else if is_single && options.resolve_every.is_some() {
        XdpRefusal::Option {
            what: "names that are looked up again, with one probe to each target",
        }
    } else if is_single && targets.has_settings() {
        XdpRefusal::Option {
            what: "settings of targets, with one probe to each",
        }
    } else if is_single && options.histograms {
        XdpRefusal::Option {
            what: "histograms of targets, with one probe to each",
        }
    } else if !(COOKIE_BYTES..=MAX_PAYLOAD_BYTES).contains(&options.payload_bytes) {
        XdpRefusal::Payload {
            least: COOKIE_BYTES,
            most: MAX_PAYLOAD_BYTES,
        }
    } else {
        return Ok(());
    };
    Err(refused(refusal))
}

/// Refuses requests that do not fit into the MTU of the interface.
pub(super) fn require_mtu(
    targets: &Targets,
    options: &PingOptions,
    link: &Link,
) -> Result<(), PingError> {
    let families = [false, true].into_iter();
    let mut too_long = families.filter(|is_ipv6| {
        targets.has_family(*is_ipv6) && options.payload_bytes > most_payload(*is_ipv6, link)
    });
    let Some(is_ipv6) = too_long.next_back() else {
        return Ok(());
    };
    Err(refused(XdpRefusal::Mtu {
        link: link.ifname().to_string(),
        mtu: link.mtu.unwrap_or(u32::MAX),
        most: most_payload(is_ipv6, link),
    }))
}

/// Returns the source MAC address of the requests. Refuses an interface without one, and a VLAN whose lower interface cannot be
/// used: its index is that of another one in this namespace.
pub(super) fn require_frames(link: &Link) -> Result<MacAddress, PingError> {
    let name = || link.ifname().to_string();
    let is_vlan = matches!(link.link_kind(), Some(LinkKind::Vlan(_)));
    if is_vlan && link.lower_namespace.is_some() {
        return Err(refused(XdpRefusal::LowerNamespace { link: name() }));
    }
    link.mac()
        .ok_or_else(|| refused(XdpRefusal::NoMac { link: name() }))
}

/// Bytes of payload in the longest request that the interface sends.
pub(super) fn most_payload(is_ipv6: bool, link: &Link) -> usize {
    let mtu = link.mtu.map_or(usize::MAX, |mtu| mtu as usize);
    mtu.saturating_sub(request_bytes(is_ipv6, 0))
}

pub(super) fn refused(refusal: XdpRefusal) -> PingError {
    PingError::XdpRefused(refusal)
}

/// What the programs of a run are made from.
pub(super) struct EchoSetup<'a> {
    pub prober: &'a Prober,
    pub plan: &'a ProbePlan,
    pub forecast: &'a Forecast,
    pub link: &'a Link,
    pub mac: MacAddress,
    pub options: &'a PingOptions,
    pub start_ns: u64,
    pub hops: &'a NextHops,
    /// Targets that there is room for.
    pub room: u32,
}

/// What counts replies, and what sends requests.
pub(super) struct EchoSender {
    pub echo: EchoProber,
    /// Sends the requests, if programs do not.
    pub frames: Option<FrameSender>,
    /// Whether there are requests of each family.
    pub families: [bool; 2],
}

impl EchoSetup<'_> {
    /// Opens the requested way for requests, or the fastest that the driver has. Loads and attaches the programs.
    pub fn open(&self) -> Result<EchoSender, PingError> {
        let frames = [false, true].map(|is_ipv6| self.frame(is_ipv6, self.mac));
        let families = [&frames[0], &frames[1]].map(Option::is_some);
        let has_live_frames = match self.options.send_path {
            SendPath::Auto => sends_xdp_frames(self.egress()) == Some(true),
            path => path == SendPath::LiveFrames,
        };
        if has_live_frames {
            let opened = self.open_programs(&frames, true);
            let can_fall_back = self.options.send_path == SendPath::Auto
                && opened.as_ref().is_err_and(is_without_live_frames);
            if !can_fall_back {
                return Ok(EchoSender {
                    echo: opened?,
                    frames: None,
                    families,
                });
            }
        }
        let echo = self.open_programs(&frames, false)?;
        let tag = VlanTag::of(self.link);
        let sender = FrameSender::open(self.egress().0, &self.name(), frames, tag);
        let sender = sender.map_err(|source| PingError::Socket(Box::new(source)))?;
        Ok(EchoSender {
            echo,
            frames: Some(sender),
            families,
        })
    }

    fn name(&self) -> String {
        self.link.ifname().to_string()
    }

    /// The interface that requests leave by.
    fn egress(&self) -> IfIndex {
        VlanTag::of(self.link).map_or(self.link.ifindex(), |tag| tag.lower)
    }

    fn open_programs(
        &self,
        [ipv4, ipv6]: &[Option<Vec<u8>>; 2],
        sends: bool,
    ) -> Result<EchoProber, PingError> {
        let plan = self.plan;
        let tag = VlanTag::of(self.link);
        let window = window(self.forecast, self.room);
        let options = EchoProberOptions {
            key: plan.key.0,
            identifier: plan.identifier,
            start_ns: self.start_ns,
            timeout_ns: plan.timeout_ns,
            window_ns: 2 * plan.timeout_ns,
            window,
            targets: self.room,
            is_single: plan.rounds == Some(1),
            has_histograms: self.options.histograms,
            hops: self.hops.room(),
            ipv4: ipv4.clone(),
            ipv6: ipv6.clone(),
            payload_bytes: self.options.payload_bytes as u16,
            egress: tag.map(|tag| tag.lower.0),
            tag_bytes: tag.map_or(0, |_| VlanTag::BYTES),
            sends,
            mode: XdpAttachMode::NativeOrGeneric,
        };
        EchoProber::open(self.link.ifindex().0, &options).map_err(|source| PingError::Xdp {
            link: self.name(),
            source: Box::new(source),
        })
    }

    /// The request of a family, if there are targets of it, or may be later, to which it fits into the MTU.
    fn frame(&self, is_ipv6: bool, mac: MacAddress) -> Option<Vec<u8>> {
        let options = self.options;
        let may_come = options.both_families || options.resolve_every.is_some();
        let is_wanted = may_come || self.prober.targets().has_family(is_ipv6);
        if !is_wanted || options.payload_bytes > most_payload(is_ipv6, self.link) {
            return None;
        }
        let mut payload = vec![0; COOKIE_BYTES];
        payload.extend(self.prober.filler());
        let (link, identifier) = (self.link, self.plan.identifier);
        Some(request(link, mac, is_ipv6, identifier, &payload, options))
    }
}

/// Whether programs cannot send requests here, although nothing that can be granted is missing.
fn is_without_live_frames(error: &PingError) -> bool {
    match error {
        PingError::Xdp { source, .. } => {
            matches!(**source, EchoProberError::Frames(_)) && !is_privilege(source)
        }
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use probe::RunKey;

    /// Room for more targets does not take places of the windows of those that are there.
    #[test]
    fn spare_targets_leave_the_windows_as_they_are() {
        let plan = |rounds, interval_ns| ProbePlan {
            rounds,
            interval_ns,
            rate_pps: None,
            ..ProbePlan::new(1, RunKey([1, 2]))
        };
        // Two probes within twice the timeout, and four for the ends.
        let slow = plan(None, 1_000_000_000).forecast(1000).expect("in range");
        assert_eq!(window(&slow, 1000), 8);
        for (rounds, interval_ns, targets, expected) in [
            (None, 1_000_000_000, 1, 1025),
            (Some(10), 1_000_000_000, 1000, 2024),
            (Some(1), 1_000_000_000, 1000, 1000),
            // Two million probes within twice the timeout.
            (None, 1000, 1, 1),
            // All places are taken.
            (None, 20_000_000, 131_072, 131_072),
        ] {
            let forecast = plan(rounds, interval_ns).forecast(targets);
            let forecast = forecast.expect("in range");
            let room = room(&forecast, 1024);
            assert_eq!(room, expected, "{targets} {interval_ns}");
            assert_eq!(window(&forecast, room), window(&forecast, targets));
        }
    }
}
