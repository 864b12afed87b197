//! A run over sockets.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use abi::socket::link_index;
use probe::targets::Targets;
use probe::{Forecast, Key, Look, NeighbourPace, Plan, Prober, WallClock};
use ring::PacketRing;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};

use super::channel::Channel;
use super::departures::Departures;
use super::error::{PingError, Step, at};
use super::neighbours;
use super::options::{Backend, Options};
use super::outcome::{Ended, LocalDrops, Outcome};
use super::ring as receiving;
use super::setup::Wanted;

/// Identifiers tried for ping sockets before one that nobody has is given up on.
const MAX_IDENTIFIERS: usize = 16;

/// Probes a second up to which the kernel is asked when each leaves: that takes a system call each.
const MAX_STAMPED_PPS: u64 = 20_000;

/// Time in which probes of many targets may gather.
const GATHER_NS: u64 = 5_000_000;

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The descriptor will be readable when there is.
    Running,
    /// The run is over.
    Done,
}

/// A run: probes leave, answers come in, and everything is counted.
///
/// One socket for receiving and one for sending a family, however many targets. `Send`, not `Sync`.
#[derive(Debug)]
pub struct Pinger {
    pub(super) prober: Prober,
    pub(super) channels: Vec<Channel>,
    /// Has the answers instead of the channels, if there is one.
    pub(super) ring: Option<PacketRing>,
    pub(super) epoll: OwnedFd,
    pub(super) timer: OwnedFd,
    pub(super) clock: WallClock,
    /// When the run began, by the monotonic clock.
    pub(super) start_ns: u64,
    pub(super) backend: Backend,
    pub(super) local_drops: LocalDrops,
    pub(super) buffer: Box<[u8]>,
    /// Of the queue of errors, read while the other buffer holds an answer.
    pub(super) side_buffer: Box<[u8]>,
    pub(super) departures: Departures,
    pub(super) duration_ns: u64,
    pub(super) is_cut_short: bool,
    /// Time in which probes gather that would wake the run one by one; 0 where each goes on time.
    pub(super) gather_ns: u64,
    pub(super) tick_ns: Option<u64>,
    pub(super) next_tick_ns: u64,
}

impl Pinger {
    /// Opens the sockets for a run over `targets`; the first probe is due at once.
    ///
    /// # Errors
    /// [`PingError`] says which option or which step; [`PingError::NotPermitted`] when no back end is.
    /// # Privileges
    /// `CAP_NET_RAW`, or a group within `net.ipv4.ping_group_range` for ping sockets.
    /// # Kernel
    /// Linux 5.0 for `Options::link` (`SO_BINDTOIFINDEX`).
    pub fn open(targets: Targets, options: &Options) -> Result<Self, PingError> {
        let (key, identifier) = secrets()?;
        let mut plan = plan(options, key, identifier);
        let forecast = plan.forecast(targets.len())?;
        let pace_pps = (u64::from(targets.len()) * 1_000_000_000).checked_div(forecast.round_ns);
        let is_slow = pace_pps.is_some_and(|pace_pps| pace_pps <= MAX_STAMPED_PPS);
        let stamps = is_slow && options.backend != Some(Backend::Ring);
        let link = match &options.link {
            Some(name) => Some(index_of(name)?),
            None => None,
        };
        let (channels, backend) =
            open_channels(&targets, options, link, stamps, &mut plan.identifier)?;
        let mut prober = Prober::new(&plan, targets)?;
        let NeighbourPace { most, .. } = options.neighbours;
        neighbours::mark(&mut prober, most)?;
        let mut channels = channels;
        for (channel, wanted) in &mut channels {
            wanted.identifier = plan.identifier;
            channel.message = wanted.message(prober.filler());
        }
        let channels: Vec<Channel> = channels.into_iter().map(|(channel, _)| channel).collect();
        let ring = match (backend, &options.link) {
            (Backend::Ring, Some(link)) => {
                let ring = receiving::open(link, plan.identifier, options);
                Some(ring.map_err(PingError::Ring)?)
            }
            _ => None,
        };

        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(at(Step::Wait))?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(at(Step::Wait))?;
        let add = |descriptor: BorrowedFd<'_>| {
            let added = epoll::add(&epoll, descriptor, EventData::new_u64(0), EventFlags::IN);
            added.map_err(at(Step::Wait))
        };
        match &ring {
            Some(ring) => add(ring.as_fd())?,
            None => {
                for channel in &channels {
                    add(channel.receiver.as_fd())?;
                }
            }
        }
        add(timer.as_fd())?;
        let tick_ns = options.tick.map(nanoseconds);
        let mut pinger = Self {
            prober,
            channels,
            ring,
            epoll,
            timer,
            clock: WallClock::new(look()),
            start_ns: monotonic_ns(),
            backend,
            local_drops: LocalDrops::default(),
            // An IPv6 header, an ICMP header, and a probe quoted behind them, all as long as they can be.
            buffer: vec![0; options.payload_bytes + 256].into_boxed_slice(),
            side_buffer: vec![0; options.payload_bytes + 256].into_boxed_slice(),
            departures: Departures::new(stamps),
            duration_ns: options.duration.map_or(u64::MAX, nanoseconds),
            is_cut_short: false,
            gather_ns: gather_ns(&forecast),
            tick_ns,
            next_tick_ns: tick_ns.unwrap_or(u64::MAX),
        };
        pinger.arm(0).map_err(at(Step::Wait))?;
        Ok(pinger)
    }

    /// What is known of targets and answers up to now.
    pub fn prober(&self) -> &Prober {
        &self.prober
    }

    /// How probes leave.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Ends the run as it is, with everything that is known of it.
    pub fn finish(self) -> Outcome {
        let ended = match (self.prober.is_done(), self.is_cut_short) {
            (false, _) => Ended::Stopped,
            (true, true) => Ended::Duration,
            (true, false) => Ended::Count,
        };
        self.into_outcome(ended)
    }

    pub(super) fn into_outcome(mut self, ended: Ended) -> Outcome {
        let overruns = match &mut self.ring {
            Some(ring) => ring.refresh().ok().map(|()| ring.account().dropped),
            None => self.channels.iter().map(Channel::overruns).sum(),
        };
        Outcome {
            ended,
            duration: Duration::from_nanos(self.now_ns()),
            backend: self.backend,
            local_drops: self.local_drops,
            overruns,
            clock_steps: self.clock.steps(),
            timestamp_source: "kernel",
            departures_by_kernel: self.departures.by_kernel,
            departures_by_program: self.departures.by_program,
            prober: self.prober,
        }
    }

    /// Nanoseconds since the run began.
    pub(super) fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.start_ns)
    }

    /// The sockets for `address`.
    pub(super) fn channel(&mut self, address: IpAddr) -> Option<&mut Channel> {
        self.channels
            .iter_mut()
            .find(|channel| channel.is_for(address))
    }
}

/// Readable when there is something to do: [`Pinger::on_readable`].
impl AsFd for Pinger {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Looks at both clocks.
pub(super) fn look() -> Look {
    Look {
        before_ns: monotonic_ns(),
        wall_ns: realtime_ns(),
        after_ns: monotonic_ns(),
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Where many targets share an interval, 5 ms more or less are nothing to each, and much work saved.
fn gather_ns(forecast: &Forecast) -> u64 {
    let gap_ns = forecast.round_ns / u64::from(forecast.targets);
    if forecast.round_ns >= 20 * GATHER_NS && gap_ns < GATHER_NS {
        GATHER_NS
    } else {
        0
    }
}

fn plan(options: &Options, key: Key, identifier: u16) -> Plan {
    Plan {
        rounds: options.count,
        interval_ns: nanoseconds(options.interval),
        rate_pps: options.rate_pps,
        timeout_ns: nanoseconds(options.timeout),
        payload_bytes: options.payload_bytes,
        prefix_pps: options.prefix_pps,
        neighbours: options.neighbours,
        histograms: options.histograms,
        ..Plan::new(identifier, key)
    }
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

fn index_of(name: &str) -> Result<u32, PingError> {
    let probe = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    );
    let probe = probe.map_err(at(Step::Link))?;
    link_index(probe.as_fd(), name).map_err(at(Step::Link))
}

type Opened<'a> = Vec<(Channel, Wanted<'a>)>;

/// Opens the families that the targets have, by the back end that was asked for or the first that is
/// permitted.
fn open_channels<'a>(
    targets: &Targets,
    options: &'a Options,
    link: Option<u32>,
    stamps: bool,
    identifier: &mut u16,
) -> Result<(Opened<'a>, Backend), PingError> {
    let families = [false, true].map(|is_ipv6| targets.has_family(is_ipv6));
    let mut open = |backend| {
        for _ in 1..MAX_IDENTIFIERS {
            match open_families(families, backend, *identifier, link, stamps, options) {
                Err(error) if is_taken(&error) => *identifier = identifier.wrapping_add(1).max(1),
                opened => return opened,
            }
        }
        open_families(families, backend, *identifier, link, stamps, options)
    };
    if let Some(backend) = options.backend {
        if backend == Backend::Ring && link.is_none() {
            return Err(PingError::NoLink);
        }
        return Ok((open(backend)?, backend));
    }
    let with_privileges = if link.is_some() && !stamps {
        Backend::Ring
    } else {
        Backend::Raw
    };
    match open(with_privileges) {
        Err(error) if is_refused(&error).is_some() => {}
        opened => return Ok((opened?, with_privileges)),
    }
    match open(Backend::PingSocket) {
        Err(error) => Err(match is_refused(&error) {
            Some(source) => PingError::NotPermitted { source },
            None => error,
        }),
        opened => Ok((opened?, Backend::PingSocket)),
    }
}

fn open_families(
    families: [bool; 2],
    backend: Backend,
    identifier: u16,
    link: Option<u32>,
    stamps: bool,
    options: &Options,
) -> Result<Opened<'_>, PingError> {
    let mut opened = Vec::new();
    for (is_ipv6, has_targets) in [false, true].into_iter().zip(families) {
        if has_targets {
            let wanted = Wanted {
                is_ipv6,
                backend,
                identifier,
                link,
                stamps,
                options,
            };
            opened.push((Channel::open(&wanted)?, wanted));
        }
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
