//! A job as a service of systemd: readiness, watchdog, and sockets that it passes.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// Sockets taken at most.
const PASSED_MAX: u32 = 16;

/// The first descriptor that is passed (`SD_LISTEN_FDS_START`).
const FIRST_PASSED: u32 = 3;

/// The service manager that started this process.
#[derive(Debug)]
pub struct ServiceManager {
    socket: UnixDatagram,
    address: SocketAddr,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The manager that `NOTIFY_SOCKET` names; `None` without one. `WATCHDOG_USEC` is the watchdog's time, if
    /// `WATCHDOG_PID` is this process or missing.
    ///
    /// # Errors
    /// The name is no address of a unix socket, or no socket can be opened.
    pub fn from_environment() -> io::Result<Option<Self>> {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
            return Ok(None);
        };
        let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|&us| is_ours && us > 0);
        Self::new(&name, watchdog.map(Duration::from_micros)).map(Some)
    }

    /// The manager that receives at `name`, a path or `@` and an abstract name.
    ///
    /// # Errors
    /// As [`from_environment`](Self::from_environment).
    pub fn new(name: &OsStr, watchdog: Option<Duration>) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            _ => return Err(ErrorKind::InvalidInput.into()),
        };
        let socket = UnixDatagram::unbound()?;
        // A manager that does not receive must not hold the job up.
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            address,
            watchdog,
        })
    }

    /// How often [`alive`](Self::alive) is due: half of the watchdog's time. `None` without a watchdog.
    pub fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.map(|time| time / 2)
    }

    /// The job has started.
    ///
    /// # Errors
    /// The manager does not receive.
    pub fn ready(&self) -> io::Result<()> {
        self.send("READY=1")
    }

    /// The job is alive.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn alive(&self) -> io::Result<()> {
        self.send("WATCHDOG=1")
    }

    /// The job is ending.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn stopping(&self) -> io::Result<()> {
        self.send("STOPPING=1")
    }

    fn send(&self, message: &str) -> io::Result<()> {
        self.socket
            .send_to_addr(message.as_bytes(), &self.address)?;
        Ok(())
    }
}

/// The sockets that a service manager has passed to this process (`LISTEN_FDS`), at most 16; none if `LISTEN_PID`
/// is another process. They are duplicates: call it once.
///
/// # Errors
/// As pidfd_getfd(2).
/// # Kernel
/// Linux 5.6, if there are any.
pub fn passed_sockets() -> io::Result<Vec<OwnedFd>> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let is_ours = number("LISTEN_PID") == Some(std::process::id());
    let count = number("LISTEN_FDS").filter(|_| is_ours).unwrap_or(0);
    if count == 0 {
        return Ok(Vec::new());
    }
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let passed = FIRST_PASSED..FIRST_PASSED + count.min(PASSED_MAX);
    let duplicate = |number: u32| {
        let descriptor = pidfd_getfd(&own, number.cast_signed(), PidfdGetfdFlags::empty());
        descriptor.map_err(io::Error::from)
    };
    passed.map(duplicate).collect()
}
