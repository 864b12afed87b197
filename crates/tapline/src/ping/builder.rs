//! Options and opening of a run.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use probe::targets::{TargetError, Targets, TargetsBuilder};
use probe::{Forecast, NeighbourPace};

use super::backends::AnyEngine;
use super::engine::probe_plan;
use super::error::{PingError, PingOperation, during};
use super::event::PingEvent;
use super::handle::Ping;
use super::options::{Backend, PingOptions};
use super::resolver::SystemResolver;
use super::{route, xdp};
use crate::send::SendPath;
use crate::stop::Stop;

/// Prepares a run of probes to `targets`.
///
/// Targets are host names, addresses, prefixes and ranges, separated by white space; or lists of these; or
/// [`Targets`]. An invalid target is reported by [`PingBuilder::open`].
pub fn ping(targets: impl IntoTargets) -> PingBuilder {
    PingBuilder {
        targets: targets.into_targets(),
        options: PingOptions::default(),
        stop: None,
    }
}

/// What [`ping`] accepts as targets.
pub trait IntoTargets {
    /// Resolves host names, and builds the list.
    ///
    /// # Errors
    /// [`TargetError`] if a target is invalid or cannot be resolved.
    fn into_targets(self) -> Result<Targets, TargetError>;
}

impl IntoTargets for Targets {
    fn into_targets(self) -> Result<Targets, TargetError> {
        Ok(self)
    }
}

impl IntoTargets for IpAddr {
    fn into_targets(self) -> Result<Targets, TargetError> {
        Ok(Targets::from(self))
    }
}

impl IntoTargets for Ipv4Addr {
    fn into_targets(self) -> Result<Targets, TargetError> {
        IpAddr::from(self).into_targets()
    }
}

impl IntoTargets for Ipv6Addr {
    fn into_targets(self) -> Result<Targets, TargetError> {
        IpAddr::from(self).into_targets()
    }
}

impl IntoTargets for &str {
    fn into_targets(self) -> Result<Targets, TargetError> {
        let mut builder = TargetsBuilder::default();
        builder.add_list(self, &mut SystemResolver::default())?;
        builder.build()
    }
}

impl<T: AsRef<str>> IntoTargets for &[T] {
    fn into_targets(self) -> Result<Targets, TargetError> {
        let mut builder = TargetsBuilder::default();
        for word in self {
            builder.add(word.as_ref(), &mut SystemResolver::default())?;
        }
        builder.build()
    }
}

impl<T: AsRef<str>, const N: usize> IntoTargets for [T; N] {
    fn into_targets(self) -> Result<Targets, TargetError> {
        self.as_slice().into_targets()
    }
}

impl<T: AsRef<str>> IntoTargets for Vec<T> {
    fn into_targets(self) -> Result<Targets, TargetError> {
        self.as_slice().into_targets()
    }
}

impl PingOptions {
    /// Computes duration and memory of a run to `targets`, without prefix and neighbour limits.
    ///
    /// # Errors
    /// [`PingError::Options`] if an option is out of range.
    pub fn forecast(&self, targets: &Targets) -> Result<Forecast, PingError> {
        let (plan, _) = probe_plan(self, targets.len())?;
        let forecast = plan.forecast(targets.len())?;
        Ok(self.with_memory(forecast, targets.has_family(true)))
    }

    /// The forecast with the memory of the back end.
    fn with_memory(&self, mut forecast: Forecast, has_ipv6: bool) -> Forecast {
        if self.backend == Some(Backend::Xdp) {
            let bytes = xdp::bytes_per_target(&forecast, has_ipv6, self.histograms);
            forecast.memory_bytes = bytes * u64::from(forecast.targets);
        }
        forecast
    }
}

/// Builds a [`Ping`]. Each setter sets the field of [`PingOptions`] with its name.
#[derive(Debug)]
#[must_use = "call open"]
pub struct PingBuilder {
    targets: Result<Targets, TargetError>,
    options: PingOptions,
    stop: Option<Stop>,
}

macro_rules! setters {
    ($($name:ident: $type:ty,)*) => {
        $(
            #[doc = concat!("Sets [`PingOptions::", stringify!($name), "`].")]
            pub fn $name(mut self, $name: impl Into<$type>) -> Self {
                self.options.$name = $name.into();
                self
            }
        )*
    };
}

impl PingBuilder {
    setters! {
        count: Option<u32>,
        interval: Duration,
        rate_pps: Option<u32>,
        gather: Duration,
        timeout: Duration,
        duration: Option<Duration>,
        max_replies: Option<u64>,
        payload_bytes: usize,
        ttl: Option<u8>,
        tos: u8,
        dont_fragment: bool,
        source: Option<IpAddr>,
        backend: Option<Backend>,
        send_path: SendPath,
        prefix_pps: Option<u32>,
        neighbours: NeighbourPace,
        histograms: bool,
        paths: Option<u8>,
        resolve_every: Option<Duration>,
        both_families: bool,
        tick: Option<Duration>,
        max_wait: Duration,
        spare_targets: u32,
        allow_uplink: bool,
        buffer_bytes: usize,
    }

    /// Sets [`PingOptions::interface`].
    pub fn interface(mut self, name: impl Into<String>) -> Self {
        self.options.interface = Some(name.into());
        self
    }

    /// Replaces all options.
    pub fn options(mut self, options: PingOptions) -> Self {
        self.options = options;
        self
    }

    /// Uses this stop, for example one that a signal handler writes to.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Opens the sockets. The first probe is due at once.
    ///
    /// # Errors
    /// [`PingError`] names the target, option or system call. [`PingError::NotPermitted`] if no back end is permitted.
    /// # Privileges
    /// `CAP_NET_RAW`, or a process group within `net.ipv4.ping_group_range` for ping sockets.
    /// # Kernel
    /// Linux 5.0 for [`PingOptions::interface`] (`SO_BINDTOIFINDEX`).
    pub fn open(self) -> Result<Ping, PingError> {
        let stop = match self.stop {
            Some(stop) => stop,
            None => Stop::new().map_err(during(PingOperation::Wait))?,
        };
        let engine = AnyEngine::open(self.targets?, &self.options)?;
        Ping::new(engine, stop, self.options.max_wait)
    }
}

/// Computes duration and memory of a run, including the maximum delay by prefix and neighbour limits.
///
/// Sends nothing. Iterates over all targets, and reads the links and routes of this host.
///
/// # Errors
/// [`PingError`] if an option is out of range, or routes cannot be listed.
pub fn forecast_with_limits(
    targets: &Targets,
    options: &PingOptions,
) -> Result<Forecast, PingError> {
    let (plan, _) = probe_plan(options, targets.len())?;
    let on_link = route::count_on_link(targets, options.neighbours.most)?;
    let forecast = plan.forecast(targets.len())?;
    let forecast = forecast.with_limits(&plan, targets, on_link);
    Ok(options.with_memory(forecast, targets.has_family(true)))
}

/// Sends one probe to `address` and waits up to `timeout` for the reply. Returns the round-trip time, or `None`
/// without a reply in time.
///
/// # Errors
/// As [`PingBuilder::open`]; [`PingError::Kernel`] if this host cannot send the probe.
/// # Privileges
/// As [`PingBuilder::open`].
pub fn ping_once(address: IpAddr, timeout: Duration) -> Result<Option<Duration>, PingError> {
    let mut ping = ping(Targets::from(address))
        .count(1)
        .timeout(timeout)
        .open()?;
    while let Some(event) = ping.next()? {
        if let PingEvent::NotSent { error, .. } = event {
            return Err(during(PingOperation::Send)(error));
        }
    }
    let rtt = ping.statistics().rtt(0);
    Ok(rtt.map(|rtt| Duration::from_nanos(rtt.last_ns)))
}
