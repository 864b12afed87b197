//! Time stamping by network interfaces.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::socket::set_option;

/// Which packets an interface stamps in hardware (`struct hwtstamp_config` of `linux/net_tstamp.h`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardwareStamps {
    /// Flags (`HWTSTAMP_FLAG_*`).
    pub flags: i32,
    /// Sent packets to stamp (`HWTSTAMP_TX_*`); 0 is none.
    pub transmit: i32,
    /// Received packets to stamp (`HWTSTAMP_FILTER_*`): 0 is none, 1 all.
    pub receive: i32,
}

/// `struct ifreq` with its `ifr_data` member.
#[repr(C)]
struct Ifreq {
    name: [u8; libc::IFNAMSIZ],
    data: *mut HardwareStamps,
    rest: [u8; 16],
}

/// The packets that interface `name` stamps in hardware.
///
/// # Errors
/// EOPNOTSUPP if the driver has no hardware time stamps or does not report its setting.
/// # Kernel
/// Linux 3.14.
/// # Source
/// Documentation/networking/timestamping.rst, section 3.
#[doc(alias = "SIOCGHWTSTAMP")]
pub fn hardware_stamps(socket: BorrowedFd<'_>, name: &str) -> io::Result<HardwareStamps> {
    configure(
        socket,
        name,
        libc::SIOCGHWTSTAMP as _,
        HardwareStamps::default(),
    )
}

/// Sets the packets that interface `name` stamps in hardware. Returns what the driver does, which may be more.
///
/// The setting belongs to the interface, not to the socket, and stays when the socket is closed.
///
/// # Errors
/// EOPNOTSUPP if the driver has no hardware time stamps, ERANGE if it cannot stamp these packets.
/// # Privileges
/// `CAP_NET_ADMIN`.
/// # Source
/// As [`hardware_stamps`].
#[doc(alias = "SIOCSHWTSTAMP")]
pub fn set_hardware_stamps(
    socket: BorrowedFd<'_>,
    name: &str,
    stamps: HardwareStamps,
) -> io::Result<HardwareStamps> {
    configure(socket, name, libc::SIOCSHWTSTAMP as _, stamps)
}

fn configure(
    socket: BorrowedFd<'_>,
    name: &str,
    request: libc::Ioctl,
    mut stamps: HardwareStamps,
) -> io::Result<HardwareStamps> {
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let mut ifreq = Ifreq {
        name: [0; libc::IFNAMSIZ],
        data: &raw mut stamps,
        rest: [0; 16],
    };
    ifreq.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the request and the configuration it points to outlive the call and have the
    // kernel's layout; the kernel writes only to them.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut ifreq) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(stamps)
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

/// Enables software receive time stamps on a socket, so that the kernel stamps packets when the driver passes them to
/// the stack, before they are queued for a CPU.
///
/// # Errors
/// Errors of setsockopt(2).
#[doc(alias = "SOF_TIMESTAMPING_RX_SOFTWARE")]
pub fn enable_driver_timestamps(socket: BorrowedFd<'_>) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    set_option(socket, level, name, &flags)
}
