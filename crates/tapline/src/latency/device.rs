//! How long packets take from the device to the kernel.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abi::bpf::attach_classic;
use abi::clock::{DeviceTime, device_time, monotonic_ns};
use abi::datagram::{Queue, receive};
use abi::packet::{PACKET_IGNORE_OUTGOING, SOL_PACKET};
use abi::signal::with_signals_blocked;
use abi::socket::{bind_link, packet_socket, set_option};
use abi::timestamp::enable_rx_timestamps;
use netlink::{Ethtool, Netlink, NetlinkError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::delays::Delays;
use super::device_clock::ClockOffset;
use crate::capture::{
    CaptureError, CaptureOptions, Expression, Filter, InterfacePlan, sock_filter,
};
use crate::stop::{Stop, Stopper};

/// Time between two readings of the device's clock.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);

/// Consecutive readings of which the most precise counts.
const READINGS: usize = 9;

/// Packets that can wait for the next reading of the clock. Others are skipped.
const MAX_WAITING: usize = 1 << 16;

/// Why the time from device to kernel cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The driver does not stamp received packets.
    #[error("the driver does not stamp received packets")]
    NoStamps,
    /// The driver stamps packets, but its clock is not exposed as `/dev/ptpN`.
    #[error("the device has no PTP clock")]
    NoClock,
    /// The clock cannot be read.
    #[error("cannot read the clock {}", .path.display())]
    Clock {
        /// Its file.
        path: PathBuf,
        /// Error of the kernel.
        source: io::Error,
    },
    /// The interface could not be queried.
    #[error(transparent)]
    Link(NetlinkError),
    /// The filter does not suit the interface.
    #[error(transparent)]
    Filter(Box<CaptureError>),
    /// The socket could not be set up.
    #[error("cannot open a socket for the device's time stamps")]
    Socket(#[source] io::Error),
}

/// The times from the device's time stamp to the kernel's.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DeviceDelays {
    /// As of a [`DelayMeter`](super::DelayMeter). `unstamped` are packets without a time stamp of the device. `ahead`
    /// are packets with a negative delay, because of the clocks' uncertainty.
    pub delays: Delays,
    /// Packets that were not measured because too many came at once.
    pub skipped: u64,
    /// Maximum error of a delay, nanoseconds: reading the device's clock takes time.
    pub uncertainty_ns: u64,
}

/// Measures received packets through a socket and a thread of its own. At high rates it measures a sample. The
/// device must be set to stamp all received packets (`hwtstamp_ctl -i eth0 -r 1`); this type does not do that.
#[derive(Debug)]
pub struct DeviceMeter {
    socket: OwnedFd,
    clock: File,
}

/// A running measurement.
#[derive(Debug)]
pub struct DeviceMeasurement {
    stopper: Stopper,
    thread: JoinHandle<DeviceDelays>,
}

impl DeviceMeter {
    /// Opens socket and clock for packets of `link` that match `filter`.
    ///
    /// # Errors
    /// [`DeviceError`].
    /// # Privileges
    /// `CAP_NET_RAW`, and read access to `/dev/ptpN`.
    pub fn open(link: &str, filter: Option<&Expression>) -> Result<Self, DeviceError> {
        let mut netlink = Netlink::open().map_err(DeviceError::Link)?;
        let found = netlink.link_named(link).map_err(DeviceError::Link)?;
        let stamping =
            Ethtool::open().and_then(|mut ethtool| ethtool.time_stamping(found.ifname()));
        let stamping = stamping.map_err(DeviceError::Link)?.unwrap_or_default();
        let can = |name| {
            stamping
                .capabilities
                .iter()
                .any(|capability| capability == name)
        };
        if !can("hardware-receive") || !can("hardware-raw-clock") {
            return Err(DeviceError::NoStamps);
        }
        let number = stamping.clock.ok_or(DeviceError::NoClock)?;
        let path = PathBuf::from(format!("/dev/ptp{number}"));
        let unreadable = |source| DeviceError::Clock {
            path: path.clone(),
            source,
        };
        let clock = File::open(&path).map_err(unreadable)?;
        read_clock(|| device_time(clock.as_fd())).map_err(unreadable)?;
        let socket = socket(link, found.ifindex().0, filter, &mut netlink)?;
        Ok(Self { socket, clock })
    }

    /// Starts the thread. It needs no privileges.
    ///
    /// # Errors
    /// [`DeviceError::Socket`] if a pipe or the thread cannot be created.
    pub fn begin(self) -> Result<DeviceMeasurement, DeviceError> {
        let Self { socket, clock } = self;
        DeviceMeasurement::begin(socket, move || read_clock(|| device_time(clock.as_fd())))
    }
}

impl DeviceMeasurement {
    fn begin(
        socket: OwnedFd,
        clock: impl FnMut() -> io::Result<ClockOffset> + Send + 'static,
    ) -> Result<Self, DeviceError> {
        let stop = Stop::new().map_err(DeviceError::Socket)?;
        let stopper = stop.stopper();
        let run = move || Measurement::new(clock).run(&socket, &stop);
        let thread = thread::Builder::new().name("tapline-device".into());
        let thread = with_signals_blocked(|| thread.spawn(run));
        let thread = thread.map_err(DeviceError::Socket)?;
        Ok(Self { stopper, thread })
    }

    /// Ends the measurement and returns the delays.
    pub fn finish(self) -> DeviceDelays {
        self.stopper.stop();
        // The thread does not panic.
        self.thread.join().unwrap_or_default()
    }
}

/// A socket that receives incoming packets.
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
        enable_rx_timestamps(socket.as_fd())?;
        bind_link(socket.as_fd(), index)?;
        Ok(socket)
    };
    open().map_err(DeviceError::Socket)
}

fn read_clock(mut read: impl FnMut() -> io::Result<DeviceTime>) -> io::Result<ClockOffset> {
    let readings: io::Result<Vec<_>> = (0..READINGS).map(|_| read()).collect();
    ClockOffset::of(&readings?).ok_or(io::ErrorKind::NotFound.into())
}

struct Measurement<C> {
    clock: C,
    last: Option<ClockOffset>,
    /// Time stamps of device and kernel, waiting for the next reading of the clock.
    waiting: Vec<(u64, u64)>,
    result: DeviceDelays,
}

impl<C: FnMut() -> io::Result<ClockOffset>> Measurement<C> {
    fn new(clock: C) -> Self {
        Self {
            clock,
            last: None,
            waiting: Vec::new(),
            result: DeviceDelays::default(),
        }
    }

    fn run(mut self, socket: &OwnedFd, stop: &Stop) -> DeviceDelays {
        self.measure_waiting();
        let interval_ns = CLOCK_INTERVAL.as_nanos() as u64;
        let mut next_reading_ns = monotonic_ns() + interval_ns;
        loop {
            let left_ns = next_reading_ns.saturating_sub(monotonic_ns());
            let timeout = Timespec {
                tv_sec: (left_ns / 1_000_000_000).cast_signed(),
                tv_nsec: (left_ns % 1_000_000_000).cast_signed(),
            };
            let mut ready = [
                PollFd::new(socket, PollFlags::IN),
                PollFd::new(stop, PollFlags::IN),
            ];
            // A signal interrupts the wait but does not end the measurement.
            let _ = poll(&mut ready, Some(&timeout));
            let is_stopped = !ready[1].revents().is_empty();
            let is_broken = !self.receive_all(socket);
            if is_stopped || is_broken || monotonic_ns() >= next_reading_ns {
                self.measure_waiting();
                next_reading_ns = monotonic_ns() + interval_ns;
            }
            if is_stopped || is_broken {
                return self.result;
            }
        }
    }

    /// Receives the waiting packets, up to the limit. Returns whether the socket still works.
    fn receive_all(&mut self, socket: &OwnedFd) -> bool {
        for _ in 0..MAX_WAITING {
            let packet = match receive(socket.as_fd(), &mut [0; 1], Queue::Data) {
                Ok(packet) => packet,
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            };
            match (packet.device_ns, packet.sent_ns) {
                (Some(device_ns), Some(kernel_ns)) if self.waiting.len() < MAX_WAITING => {
                    self.waiting.push((device_ns, kernel_ns));
                }
                (Some(_), Some(_)) => self.result.skipped += 1,
                _ => self.result.delays.unstamped += 1,
            }
        }
        true
    }

    /// Reads the clock and measures the waiting packets.
    fn measure_waiting(&mut self) {
        let now = (self.clock)().ok();
        let waiting = std::mem::take(&mut self.waiting);
        if let (Some(last), Some(now)) = (self.last, now) {
            let uncertainty_ns = last.uncertainty_ns.max(now.uncertainty_ns);
            self.result.uncertainty_ns = self.result.uncertainty_ns.max(uncertainty_ns);
            for (device_ns, kernel_ns) in waiting {
                match last.system_ns(&now, device_ns) {
                    Some(arrival_ns) => drop(self.result.delays.record(arrival_ns, kernel_ns)),
                    None => self.result.delays.unstamped += 1,
                }
            }
        } else {
            self.result.skipped += waiting.len() as u64;
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
    fn a_delay_is_the_difference_of_two_clocks() {
        let mut readings = [offset(1_000_000, 500_000), offset(2_000_000, 500_100)].into_iter();
        let mut work =
            Measurement::new(move || readings.next().ok_or(io::ErrorKind::NotFound.into()));
        work.measure_waiting();
        // At 1.5 ms by the device, when that is 500 050 ns ahead; the kernel has it 8 us later.
        work.waiting.push((1_500_000, 1_500_000 - 500_050 + 8_000));
        work.waiting.push((1_500_000, 1_500_000 - 500_050 - 1));
        work.measure_waiting();
        let DeviceDelays {
            delays,
            uncertainty_ns,
            skipped,
        } = &work.result;
        assert_eq!((delays.min_ns, delays.max_ns), (Some(8_000), Some(8_000)));
        assert_eq!((delays.ahead, *uncertainty_ns, *skipped), (1, 7, 0));
        // The clock cannot be read any more.
        work.waiting.push((1_500_000, 1_500_000));
        work.measure_waiting();
        assert_eq!(work.result.skipped, 1);
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
