//! Which network namespace this is, for as long as the machine runs.

use std::fs;
use std::os::fd::AsFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::failure::{Exit, Failure};

/// What tells this namespace from all that there were and will be until the machine starts anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Number of the namespace; none is used twice.
    pub cookie: u64,
    /// The run of the machine in which it is.
    pub boot_id: String,
}

impl Namespace {
    pub fn current() -> Result<Self, Failure> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None);
        let socket = socket.map_err(std::io::Error::from)?;
        let cookie = abi::socket::namespace_cookie(socket.as_fd()).map_err(|error| Failure {
            exit: Exit::Unsupported,
            ..Failure::job_on(
                "cannot tell which network namespace this is (needs Linux 5.14)",
                &error,
            )
        })?;
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Ok(Self {
            cookie,
            boot_id: boot_id.trim().into(),
        })
    }
}
