//! How long packets take from the device to the kernel.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abi::bpf::attach_classic;
use abi::clock::{device_time, monotonic_ns};
use abi::datagram::{Queue, receive};
use abi::packet::{PACKET_IGNORE_OUTGOING, SOL_PACKET};
use abi::socket::{bind_link, packet_socket, set_option};
use abi::timestamp::tell_both_stamps;
use netlink::{Ethtool, Netlink, NetlinkError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::delays::Delays;
use super::device_clock::ClockOffset;
use crate::capture::{
    CaptureError, CaptureOptions, Expression, Filter, InterfacePlan, sock_filter,
};
use crate::stop::{Stop, Stopper};

/// Time between two looks at the device's clock.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Readings of a look, of which the best counts.
const READINGS: usize = 9;

/// Packets that may wait for a look at most; more are not measured.
const MOST_WAITING: usize = 1 << 16;

/// Why nothing can be measured between device and kernel.
#[derive(Debug)]
#[non_exhaustive]
pub enum DeviceError {
    /// The driver does not stamp the packets that it receives.
    NoStamps,
    /// It stamps, by a clock that the system does not show.
    NoClock,
    /// The clock cannot be read.
    Clock {
        /// Its file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The interface could not be asked.
    Link(NetlinkError),
    /// The filter does not suit the interface.
    Filter(Box<CaptureError>),
    /// No socket could be made for it.
    Socket(io::Error),
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStamps => f.write_str("the driver does not stamp received packets"),
            Self::NoClock => f.write_str("the device's clock is not shown"),
            Self::Clock { path, .. } => write!(f, "cannot read the clock {}", path.display()),
            Self::Link(error) => error.fmt(f),
            Self::Filter(error) => error.fmt(f),
            Self::Socket(_) => f.write_str("cannot make a socket for the device's stamps"),
        }
    }
}

impl Error for DeviceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Clock { source, .. } | Self::Socket(source) => Some(source),
            Self::Link(error) => error.source(),
            Self::Filter(error) => error.source(),
            Self::NoStamps | Self::NoClock => None,
        }
    }
}

/// How long packets took from the device's stamp to the kernel's.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DeviceDelays {
    /// As of a [`Meter`](super::Meter). Packets that the device did not stamp are `unstamped`; `ahead` are
    /// those that the kernel seems to have had first, since the clocks are compared so badly.
    pub delays: Delays,
    /// Packets that came too many at once to be measured.
    pub skipped: u64,
    /// By so much any delay may be wrong, nanoseconds, because reading the device's clock takes time.
    pub uncertainty_ns: u64,
}

/// Measures packets that come in, through a socket of its own, in a thread of its own: what it sees is a
/// sample if they are many. The device has to be set to stamp all it receives
/// (`hwtstamp_ctl -i eth0 -r 1`); this does not set it.
#[derive(Debug)]
pub struct DeviceMeter {
    socket: OwnedFd,
    clock: File,
}

/// A measurement that goes on.
#[derive(Debug)]
pub struct DeviceMeasurement {
    stopper: Stopper,
    thread: JoinHandle<DeviceDelays>,
}

impl DeviceMeter {
    /// Opens what it takes for packets of `link` that `filter` matches.
    ///
    /// # Errors
    /// [`DeviceError::NoStamps`] and [`DeviceError::NoClock`] where there is nothing to be measured.
    /// # Privileges
    /// `CAP_NET_RAW`, and to read `/dev/ptp0` or whichever it is.
    pub fn open(link: &str, filter: Option<&Expression>) -> Result<Self, DeviceError> {
        let mut netlink = Netlink::open().map_err(DeviceError::Link)?;
        let found = netlink.link_named(link).map_err(DeviceError::Link)?;
        let told = Ethtool::open().and_then(|mut ethtool| ethtool.time_stamping(found.ifname()));
        let stamping = told.map_err(DeviceError::Link)?.unwrap_or_default();
        let stamps = |word| stamping.capabilities.iter().any(|can| can == word);
        if !stamps("hardware-receive") || !stamps("hardware-raw-clock") {
            return Err(DeviceError::NoStamps);
        }
        let number = stamping.clock.ok_or(DeviceError::NoClock)?;
        let path = PathBuf::from(format!("/dev/ptp{number}"));
        let unreadable = |source| DeviceError::Clock {
            path: path.clone(),
            source,
        };
        let clock = File::open(&path).map_err(unreadable)?;
        look(|| device_time(clock.as_fd())).map_err(unreadable)?;
        let socket = socket(link, found.ifindex().0, filter, &mut netlink)?;
        Ok(Self { socket, clock })
    }

    /// Begins, in a thread that has the privileges of this one and needs none.
    ///
    /// # Errors
    /// [`DeviceError::Socket`] when there is no pipe or no thread to be had.
    pub fn begin(self) -> Result<DeviceMeasurement, DeviceError> {
        let Self { socket, clock } = self;
        DeviceMeasurement::begin(socket, move || look(|| device_time(clock.as_fd())))
    }
}

impl DeviceMeasurement {
    fn begin(
        socket: OwnedFd,
        clock: impl FnMut() -> io::Result<ClockOffset> + Send + 'static,
    ) -> Result<Self, DeviceError> {
        let stop = Stop::new().map_err(DeviceError::Socket)?;
        let stopper = stop.stopper();
        let work = move || Work::new(clock).go_on(&socket, &stop);
        let thread = thread::Builder::new().name("tapline-device".into());
        let thread = thread.spawn(work).map_err(DeviceError::Socket)?;
        Ok(Self { stopper, thread })
    }

    /// Ends it; tells what was measured.
    pub fn finish(self) -> DeviceDelays {
        self.stopper.stop();
        // The thread does not panic.
        self.thread.join().unwrap_or_default()
    }
}

/// A socket for packets that come in.
fn socket(
    link: &str,
    index: u32,
    filter: Option<&Expression>,
    netlink: &mut Netlink,
) -> Result<OwnedFd, DeviceError> {
    let filter = filter.cloned().map(Filter::Expression);
    let options = CaptureOptions::default().with_filter(filter);
    let plan = InterfacePlan::new(link, &options, netlink);
    let program = match plan.map_err(|error| DeviceError::Filter(Box::new(error.into())))? {
        InterfacePlan::Filter(_, filter) => {
            Some(filter.classic().unwrap_or_else(|_| filter.coarse()))
        }
        InterfacePlan::Program(program) => Some(program),
        InterfacePlan::Everything => None,
    };
    let open = || {
        let socket = packet_socket()?;
        if let Some(program) = &program {
            attach_classic(socket.as_fd(), &sock_filter(program))?;
        }
        set_option(socket.as_fd(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &1)?;
        tell_both_stamps(socket.as_fd())?;
        bind_link(socket.as_fd(), index)?;
        Ok(socket)
    };
    open().map_err(DeviceError::Socket)
}

fn look(mut read: impl FnMut() -> io::Result<abi::clock::DeviceTime>) -> io::Result<ClockOffset> {
    let readings: io::Result<Vec<_>> = (0..READINGS).map(|_| read()).collect();
    ClockOffset::of(&readings?).ok_or(io::ErrorKind::NotFound.into())
}

struct Work<C> {
    clock: C,
    last: Option<ClockOffset>,
    /// Stamps of device and kernel, to be compared when the clock has been looked at again.
    waiting: Vec<(u64, u64)>,
    measured: DeviceDelays,
}

impl<C: FnMut() -> io::Result<ClockOffset>> Work<C> {
    fn new(clock: C) -> Self {
        Self {
            clock,
            last: None,
            waiting: Vec::new(),
            measured: DeviceDelays::default(),
        }
    }

    fn go_on(mut self, socket: &OwnedFd, stop: &Stop) -> DeviceDelays {
        self.compare();
        let between_ns = BETWEEN_LOOKS.as_nanos() as u64;
        let mut next_look_ns = monotonic_ns() + between_ns;
        loop {
            let left_ns = next_look_ns.saturating_sub(monotonic_ns());
            let timeout = Timespec {
                tv_sec: (left_ns / 1_000_000_000).cast_signed(),
                tv_nsec: (left_ns % 1_000_000_000).cast_signed(),
            };
            let mut ready = [
                PollFd::new(socket, PollFlags::IN),
                PollFd::new(stop, PollFlags::IN),
            ];
            // A signal that somebody else handles is no reason to end.
            let _ = poll(&mut ready, Some(&timeout));
            let is_over = !ready[1].revents().is_empty();
            let is_broken = !self.take(socket);
            if is_over || is_broken || monotonic_ns() >= next_look_ns {
                self.compare();
                next_look_ns = monotonic_ns() + between_ns;
            }
            if is_over || is_broken {
                return self.measured;
            }
        }
    }

    /// Takes the packets that are there, as many as can wait; says whether more can come.
    fn take(&mut self, socket: &OwnedFd) -> bool {
        for _ in 0..MOST_WAITING {
            let packet = match receive(socket.as_fd(), &mut [0; 1], Queue::Data) {
                Ok(packet) => packet,
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            };
            match (packet.device_ns, packet.sent_ns) {
                (Some(device_ns), Some(kernel_ns)) if self.waiting.len() < MOST_WAITING => {
                    self.waiting.push((device_ns, kernel_ns));
                }
                (Some(_), Some(_)) => self.measured.skipped += 1,
                _ => self.measured.delays.unstamped += 1,
            }
        }
        true
    }

    /// Looks at the clock, and measures what has waited for that.
    fn compare(&mut self) {
        let now = (self.clock)().ok();
        let waiting = std::mem::take(&mut self.waiting);
        if let (Some(last), Some(now)) = (self.last, now) {
            let uncertainty_ns = last.uncertainty_ns.max(now.uncertainty_ns);
            self.measured.uncertainty_ns = self.measured.uncertainty_ns.max(uncertainty_ns);
            for (device_ns, kernel_ns) in waiting {
                match last.system_ns(&now, device_ns) {
                    Some(came_ns) => drop(self.measured.delays.record(came_ns, kernel_ns)),
                    None => self.measured.delays.unstamped += 1,
                }
            }
        } else {
            self.measured.skipped += waiting.len() as u64;
        }
        self.last = now.or(self.last);
    }
}

#[cfg(test)]
mod tests {
    use lab::Net;
    use lab::generator::{send_frames, udp_frame};

    use super::*;

    fn offset(device_ns: u64, ahead_ns: i128) -> ClockOffset {
        ClockOffset {
            device_ns,
            ahead_ns,
            uncertainty_ns: 7,
        }
    }

    #[test]
    fn a_delay_is_what_lies_between_two_clocks() {
        let mut looks = [offset(1_000_000, 500_000), offset(2_000_000, 500_100)].into_iter();
        let mut work = Work::new(move || looks.next().ok_or(io::ErrorKind::NotFound.into()));
        work.compare();
        // At 1.5 ms by the device, when that is 500 050 ns ahead; the kernel has it 8 us later.
        work.waiting.push((1_500_000, 1_500_000 - 500_050 + 8_000));
        work.waiting.push((1_500_000, 1_500_000 - 500_050 - 1));
        work.compare();
        let DeviceDelays {
            delays,
            uncertainty_ns,
            skipped,
        } = &work.measured;
        assert_eq!((delays.min_ns, delays.max_ns), (Some(8_000), Some(8_000)));
        assert_eq!((delays.ahead, *uncertainty_ns, *skipped), (1, 7, 0));
        // The clock has gone.
        work.waiting.push((1_500_000, 1_500_000));
        work.compare();
        assert_eq!(work.measured.skipped, 1);
    }

    /// A veth's driver does not stamp what it receives.
    #[test]
    fn packets_without_stamps_are_counted() {
        let [left, right] = Net::new().pair();
        let (name, index) = (
            right.interface().name.to_string(),
            right.interface().index.0,
        );
        let refused = right.run(|| DeviceMeter::open(&name, None).map(drop));
        assert!(matches!(refused, Err(DeviceError::NoStamps)));
        let socket = right.run(|| {
            let mut netlink = Netlink::open().unwrap();
            socket(&name, index, None, &mut netlink).unwrap()
        });
        let frames = vec![udp_frame(80); 50];
        let sent = left.run(|| send_frames(left.interface().index, frames));
        assert_eq!(sent.unwrap(), 50);
        let clock = || Ok(offset(0, 0));
        let meter = DeviceMeasurement::begin(socket, clock).unwrap();
        let measured = meter.finish();
        assert_eq!(measured.delays.unstamped, 50);
        assert_eq!(measured.delays.histogram.count(), 0);
    }
}
