//! Time stamping by network interfaces.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::socket::set_option;

/// `struct hwtstamp_config` of `linux/net_tstamp.h`.
#[repr(C)]
struct HwtstampConfig {
    flags: i32,
    tx_type: i32,
    rx_filter: i32,
}

/// `struct ifreq` with its `ifr_data` member.
#[repr(C)]
struct Ifreq {
    name: [u8; libc::IFNAMSIZ],
    data: *mut HwtstampConfig,
    rest: [u8; 16],
}

const HWTSTAMP_TX_OFF: i32 = 0;
const HWTSTAMP_FILTER_ALL: i32 = 1;

/// Enables hardware time stamps for all packets that interface `name` receives (`SIOCSHWTSTAMP`).
///
/// The setting belongs to the interface, not to the socket, and stays when the socket is closed.
///
/// # Errors
/// EOPNOTSUPP if the driver does not support it, ERANGE if it supports it for some packets only.
/// # Privileges
/// `CAP_NET_ADMIN`.
/// # Source
/// Documentation/networking/timestamping.rst, section 3.
#[doc(alias = "SIOCSHWTSTAMP")]
pub fn enable_hardware_timestamps(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut config = HwtstampConfig {
        flags: 0,
        tx_type: HWTSTAMP_TX_OFF,
        rx_filter: HWTSTAMP_FILTER_ALL,
    };
    let mut request = Ifreq {
        name: [0; libc::IFNAMSIZ],
        data: &raw mut config,
        rest: [0; 16],
    };
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the request and the configuration it points to outlive the call and have the
    // kernel's layout; the kernel writes only to them.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSHWTSTAMP, &raw mut request) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Enables software and hardware receive time stamps on a socket, reported with each
/// [`Datagram`](crate::datagram::Datagram). Does not enable time stamping in the device.
///
/// # Errors
/// Errors of setsockopt(2).
#[doc(alias = "SO_TIMESTAMPING")]
pub fn enable_rx_timestamps(socket: BorrowedFd<'_>) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_HARDWARE
        | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    set_option(socket, level, name, &flags)
}
