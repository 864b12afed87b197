//! Answering echo requests in an XDP program.

use std::fmt;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bpf::{
    EchoAnswerCounts, EchoResponder, EchoResponderOptions, XdpAttachMode, XdpMode, XdpProgramError,
};
use netlink::{
    IfIndex, Link, MacAddress, Netlink, NetlinkError, PortKind, Route, RouteTable, RouteType,
};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use crate::stop::{Stop, Stopper};
use crate::wait::wait;

/// Time between two reads of the addresses of this host and the interface.
const REFRESH: Duration = Duration::from_secs(1);
/// Reads in a row that may fail: for half a minute, the latest that are known are used.
const MAX_FAILED: u32 = 30;
/// The first kernel whose XDP programs take frames of several buffers.
const MIN_KERNEL: (u32, u32) = (5, 18);
/// TTL and hop limit of a kernel that does not say.
const DEFAULT_HOPS: u8 = 64;

/// Prepares to answer echo requests that arrive on interface `interface`.
///
/// ```no_run
/// # // Not run: it needs an interface.
/// use std::time::Duration;
///
/// let mut responder = tapline::ping::respond("veth1").rate_pps(100_000).open()?;
/// let stopper = responder.stopper();
/// responder.run(Duration::from_secs(1), |counts| println!("{} answered", counts.answered))?;
/// # Ok::<(), tapline::ping::RespondError>(())
/// ```
pub fn respond(interface: impl Into<String>) -> RespondOptions {
    RespondOptions {
        link: interface.into(),
        rate_pps: None,
        mode: None,
        stop: None,
    }
}

/// Where to answer, and how much. [`open`](Self::open) starts it.
#[derive(Debug)]
#[must_use = "nothing is answered before `open`"]
pub struct RespondOptions {
    link: String,
    rate_pps: Option<u32>,
    mode: Option<XdpAttachMode>,
    stop: Option<Stop>,
}

/// Why requests cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RespondError {
    /// The interface or the addresses of this host cannot be queried; ENODEV: there is no such interface.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// The interface has no Ethernet header.
    #[error("interface {link} is not an Ethernet interface")]
    NotEthernet {
        /// Its name.
        link: String,
    },
    /// The interface was removed while the responder ran, or moved to another network namespace.
    #[error("interface {link} was removed")]
    Removed {
        /// Its name.
        link: String,
    },
    /// The program cannot be loaded or attached.
    #[error("cannot answer echo requests on {link}")]
    Program {
        /// The interface.
        link: String,
        /// Why.
        source: XdpProgramError,
    },
    /// The program's maps cannot be read or changed.
    #[error("cannot access the maps of the XDP program")]
    Map {
        /// The kernel's error.
        source: io::Error,
    },
    /// Waiting failed.
    #[error("cannot wait")]
    Wait {
        /// The kernel's error.
        source: io::Error,
    },
}

impl RespondError {
    /// Whether the kernel is too old for the program.
    pub fn is_old_kernel(&self) -> bool {
        match self {
            Self::Program {
                source: XdpProgramError::Load(error),
                ..
            } => error.is_kernel_older_than(MIN_KERNEL),
            _ => false,
        }
    }

    /// Whether a privilege is missing.
    pub fn is_privilege(&self) -> bool {
        let errno = match self {
            Self::Program { source, .. } => match source {
                XdpProgramError::Map(error) => Errno::from_io_error(&error.source),
                XdpProgramError::Load(error) => return error.is_privilege(),
                XdpProgramError::Attach(error) => Errno::from_io_error(&error.source),
                _ => None,
            },
            _ => None,
        };
        matches!(errno, Some(Errno::PERM | Errno::ACCESS))
    }
}

impl RespondOptions {
    /// Most answers per second, at most 1 000 000 000; requests above it are dropped. After a pause, 256 are answered at
    /// once, but at most those of 250 ms and at least those of 10 ms. Default: no limit.
    pub fn rate_pps(mut self, rate_pps: impl Into<Option<u32>>) -> Self {
        self.rate_pps = rate_pps.into();
        self
    }

    /// Where the program runs. A program in the driver of a veth interface answers only while its peer has an XDP program;
    /// GRO there is not enough. Default: in the network stack of a veth interface; else in the driver where that works, or
    /// in the network stack.
    ///
    /// # Source
    /// `veth_xdp_flush`, drivers/net/veth.c.
    pub fn mode(mut self, mode: impl Into<Option<XdpAttachMode>>) -> Self {
        self.mode = mode.into();
        self
    }

    /// Uses this stop, for example one that a signal handler writes to.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Attaches the program in the network namespace of the calling thread.
    ///
    /// The default TTL is that of this moment.
    ///
    /// # Errors
    /// [`RespondError`].
    /// # Privileges
    /// `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`.
    /// # Kernel
    /// Linux 5.18.
    pub fn open(self) -> Result<Responder, RespondError> {
        let mut netlink = Netlink::open()?;
        let link = netlink.link_named(&self.link)?;
        let name = self.link;
        let is_ethernet = link.hardware == Some(libc::ARPHRD_ETHER);
        let mac = link.mac();
        let (true, Some(mac)) = (is_ethernet, mac) else {
            return Err(RespondError::NotEthernet { link: name });
        };
        let is_veth = link.kind_name() == Some("veth");
        let default = if is_veth {
            XdpAttachMode::Generic
        } else {
            XdpAttachMode::NativeOrGeneric
        };
        let options = EchoResponderOptions {
            mac: mac.0,
            ttl: hops("ipv4/ip_default_ttl"),
            hop_limit: hops(&format!("ipv6/conf/{name}/hop_limit")),
            rate_pps: self.rate_pps,
            mode: self.mode.unwrap_or(default),
        };
        let program = |source| RespondError::Program {
            link: name.clone(),
            source,
        };
        let responder = EchoResponder::attach(link.ifindex().0, &options).map_err(program)?;
        let stop = match self.stop {
            Some(stop) => stop,
            None => Stop::new().map_err(|source| RespondError::Wait { source })?,
        };
        let mut responder = Responder {
            program: responder,
            netlink,
            stop,
            start: Instant::now(),
            link: name,
            ifindex: link.ifindex(),
            mac,
            failed: 0,
            avoids_peer: is_veth && self.mode.is_none(),
        };
        responder.refresh()?;
        Ok(responder)
    }
}

/// Answers echo requests until it is dropped, or the process ends.
#[derive(Debug)]
pub struct Responder {
    program: EchoResponder,
    netlink: Netlink,
    stop: Stop,
    start: Instant,
    link: String,
    ifindex: IfIndex,
    mac: MacAddress,
    /// Reads in a row that have failed.
    failed: u32,
    avoids_peer: bool,
}

impl Responder {
    /// Waits until the job is stopped. Follows changes of this host's addresses and of the interface's MAC address within a
    /// second, and calls `observe` with the counters every `tick`, at least 1 ms. If these cannot be read, it tries again for
    /// half a minute.
    ///
    /// # Errors
    /// [`RespondError`]; [`RespondError::Removed`] once the interface is gone.
    pub fn run(
        &mut self,
        tick: Duration,
        mut observe: impl FnMut(&EchoAnswerCounts),
    ) -> Result<(), RespondError> {
        let period = tick.max(Duration::from_millis(1));
        let now = Instant::now();
        let [mut refresh, mut tick] = [now + REFRESH, now + period];
        loop {
            let mut stop = [PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN)];
            let left = refresh.min(tick).saturating_duration_since(Instant::now());
            wait(&mut stop, left).map_err(|source| RespondError::Wait { source })?;
            if !stop[0].revents().is_empty() {
                return Ok(());
            }
            let now = Instant::now();
            if now >= refresh {
                let refreshed = self.refresh();
                judge(refreshed, &mut self.failed)?;
                refresh = now + REFRESH;
            }
            if now >= tick {
                observe(&self.counts()?);
                tick = now + period;
            }
        }
    }

    /// Reads the MAC address of the interface again, and the addresses of this host: those of `ip route show table local type
    /// local`, or those of the VRF that the interface is in (`ip route show vrf NAME type local`). Loopback addresses are not
    /// answered.
    ///
    /// # Errors
    /// [`RespondError`]. A list that changes while it is read is used as it is.
    pub fn refresh(&mut self) -> Result<(), RespondError> {
        let link = self.netlink.link(self.ifindex).map_err(|error| {
            if error.is_absence() {
                return RespondError::Removed {
                    link: self.link.clone(),
                };
            }
            error.into()
        })?;
        if let Some(mac) = link.mac().filter(|mac| *mac != self.mac) {
            let set = self.program.set_mac(mac.0);
            set.map_err(|source| RespondError::Map { source })?;
            self.mac = mac;
        }
        let local = Route::new().table(local_table(&link));
        let routes = self.netlink.list(&local)?.items;
        let prefixes = routes
            .iter()
            .filter(|route| route.kind == Some(RouteType::Local))
            .filter_map(|route| route.dst)
            .filter(|prefix| !is_loopback(prefix.ip))
            .map(|prefix| (prefix.ip, prefix.len));
        let set = self.program.set_local(prefixes);
        set.map_err(|source| RespondError::Map { source })
    }

    /// What was answered so far.
    ///
    /// # Errors
    /// [`RespondError::Map`]; none is known.
    pub fn counts(&self) -> Result<EchoAnswerCounts, RespondError> {
        let counts = self.program.counts();
        counts.map_err(|source| RespondError::Map { source })
    }

    /// Where the program runs.
    pub fn mode(&self) -> XdpMode {
        self.program.mode()
    }

    /// Whether the program runs in the network stack because the peer of the veth interface may have no XDP program.
    pub fn avoids_peer(&self) -> bool {
        self.avoids_peer
    }

    /// A handle that stops this job from any thread or signal handler.
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper()
    }

    /// Detaches the program and returns its account.
    ///
    /// # Errors
    /// As [`counts`](Self::counts).
    pub fn finish(self) -> Result<RespondSummary, RespondError> {
        Ok(RespondSummary {
            counts: self.counts()?,
            duration: self.start.elapsed(),
            mode: self.mode(),
            link: self.link,
        })
    }
}

/// The account of a [`Responder`]. `Display` prints it as one line.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct RespondSummary {
    /// The interface.
    pub link: String,
    /// Frames that the program has seen.
    pub counts: EchoAnswerCounts,
    /// Time from the attachment to the end.
    pub duration: Duration,
    /// Where the program ran.
    pub mode: XdpMode,
}

impl fmt::Display for RespondSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EchoAnswerCounts {
            answered,
            limited,
            damaged,
            passed,
            ..
        } = self.counts;
        write!(
            f,
            "{answered} echo requests answered on {} in {:.1?} ({} XDP)",
            self.link, self.duration, self.mode
        )?;
        for (count, what) in [
            (limited, "dropped above the limit"),
            (damaged, "with a wrong checksum"),
            (passed, "other packets passed on"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

/// The table with the addresses of this host for packets that arrive on `link`.
///
/// # Source
/// `l3mdev_fib_table`, net/l3mdev/l3mdev.c: a VRF has them in its own table.
fn local_table(link: &Link) -> RouteTable {
    match link.port_kind() {
        Some(PortKind::Vrf(port)) => port.table.map_or(RouteTable::Local, RouteTable::from),
        _ => RouteTable::Local,
    }
}

/// Passes an error on that is final, or one too many in a row after `failed`.
fn judge(refreshed: Result<(), RespondError>, failed: &mut u32) -> Result<(), RespondError> {
    let is_final = matches!(refreshed, Err(RespondError::Removed { .. }));
    *failed = match refreshed {
        Ok(()) => 0,
        Err(_) => *failed + 1,
    };
    if is_final || *failed > MAX_FAILED {
        return refreshed;
    }
    Ok(())
}

/// The sysctl `net/NAME` as a number of hops.
fn hops(name: &str) -> u8 {
    let text = fs::read_to_string(format!("/proc/sys/net/{name}"));
    let number = text.ok().and_then(|text| text.trim().parse().ok());
    number.unwrap_or(DEFAULT_HOPS)
}

fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => address.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_end_it_after_half_a_minute_or_if_the_interface_is_gone() {
        let failure = || {
            Err(RespondError::Map {
                source: io::Error::from_raw_os_error(libc::ENOBUFS),
            })
        };
        let mut failed = 0;
        for result in (0..30).map(|_| failure()).chain([Ok(())]) {
            assert!(judge(result, &mut failed).is_ok());
        }
        let ended = (1..100).find(|_| judge(failure(), &mut failed).is_err());
        assert_eq!(ended, Some(31));
        let gone = RespondError::Removed {
            link: "eth0".into(),
        };
        assert!(judge(Err(gone), &mut 0).is_err());
    }
}
