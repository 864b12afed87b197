//! Packet sockets and their options.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::packet::{ETH_P_ALL, SockaddrLl};
use crate::uapi::Uapi;

/// Opens a packet socket (`SOCK_RAW`) with protocol 0. It receives nothing until it is bound.
///
/// # Errors
/// EPERM without the privilege.
/// # Privileges
/// `CAP_NET_RAW` in the user namespace that owns the network namespace.
pub fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor was just opened, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Binds a packet socket to all protocols of interface `ifindex`. Packets arrive from now on.
///
/// # Errors
/// ENODEV if there is no such interface, ENETDOWN if it is down.
pub fn bind_link(socket: BorrowedFd<'_>, ifindex: u32) -> io::Result<()> {
    bind(socket, ifindex, ETH_P_ALL)
}

/// Binds a packet socket to interface `ifindex` for sending only: it receives nothing. The kernel takes the
/// protocol of each packet from its link-layer header.
///
/// # Errors
/// ENODEV if there is no such interface, ENETDOWN if it is down.
/// # Source
/// `packet_do_bind`, `packet_parse_headers`, net/packet/af_packet.c.
pub fn bind_to_send(socket: BorrowedFd<'_>, ifindex: u32) -> io::Result<()> {
    bind(socket, ifindex, 0)
}

fn bind(socket: BorrowedFd<'_>, ifindex: u32, protocol: u16) -> io::Result<()> {
    let address = SockaddrLl {
        family: libc::AF_PACKET as u16,
        protocol: protocol.to_be(),
        ifindex: ifindex.cast_signed(),
        ..SockaddrLl::default()
    };
    let bytes = size_of::<SockaddrLl>() as libc::socklen_t;
    // SAFETY: the address outlives the call and its size is the one passed.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), bytes) })?;
    Ok(())
}

/// The address a packet socket is bound to; its `hatype` is the hardware type of the interface.
///
/// # Errors
/// Errors of getsockname(2).
pub fn bound_link(socket: BorrowedFd<'_>) -> io::Result<SockaddrLl> {
    let mut address = SockaddrLl::default();
    let mut bytes = size_of::<SockaddrLl>() as libc::socklen_t;
    let place = (&raw mut address).cast();
    // SAFETY: the kernel writes at most `bytes` bytes, the size of the place, and any are valid.
    check(unsafe { libc::getsockname(socket.as_raw_fd(), place, &raw mut bytes) })?;
    Ok(address)
}

/// Index of the interface called `name`, in the network namespace of the socket.
///
/// # Errors
/// ENODEV if there is none.
pub fn link_index(socket: BorrowedFd<'_>, name: &str) -> io::Result<u32> {
    rustix::net::netdevice::name_to_index(socket, name).map_err(Into::into)
}

/// Sets a socket option.
///
/// # Errors
/// Errors of setsockopt(2).
pub fn set_option<T: Uapi>(
    socket: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: &T,
) -> io::Result<()> {
    let place = std::ptr::from_ref(value).cast();
    let bytes = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` outlives the call, its size is the one passed, and `Uapi` has no padding.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, place, bytes) })?;
    Ok(())
}

/// Reads a socket option; bytes that the kernel does not fill are 0.
///
/// # Errors
/// Errors of getsockopt(2).
pub fn option<T: Uapi>(socket: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<T> {
    let mut value = T::default();
    let mut bytes = size_of::<T>() as libc::socklen_t;
    let place = (&raw mut value).cast();
    // SAFETY: the kernel writes at most `bytes` bytes, the size of the place, and `Uapi` takes any.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, place, &raw mut bytes) })?;
    Ok(value)
}

/// Returns and clears the pending error of a socket (`SO_ERROR`), e.g. ENETDOWN if its interface went down.
///
/// # Errors
/// The pending error itself, or errors of getsockopt(2).
pub fn take_error(socket: BorrowedFd<'_>) -> io::Result<()> {
    match option::<i32>(socket, libc::SOL_SOCKET, libc::SO_ERROR)? {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// `linux/net_tstamp.h`.
const SOF_TXTIME_REPORT_ERRORS: u32 = 2;

/// `struct sock_txtime` of `linux/net_tstamp.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct SockTxtime {
    clock: i32,
    flags: u32,
}

// SAFETY: two integers of one width.
unsafe impl Uapi for SockTxtime {}

/// Has the queueing discipline send each packet of the socket at the time of its control message, nanoseconds of `clock`
/// (`CLOCK_MONOTONIC` for `fq`, `CLOCK_TAI` for `etf`). The error queue reports packets that `etf` drops
/// ([`QueuedError::is_missed_time`](crate::datagram::QueuedError::is_missed_time)).
///
/// # Errors
/// EINVAL for a clock that the kernel does not know; EPERM for one but `CLOCK_MONOTONIC` without `CAP_NET_ADMIN`.
/// # Kernel
/// Linux 4.19.
#[doc(alias = "SO_TXTIME")]
pub fn set_txtime(socket: BorrowedFd<'_>, clock: i32) -> io::Result<()> {
    let txtime = SockTxtime {
        clock,
        flags: SOF_TXTIME_REPORT_ERRORS,
    };
    set_option(socket, libc::SOL_SOCKET, libc::SO_TXTIME, &txtime)
}

/// Cookie of a socket's network namespace; cookies are unique until the machine reboots.
///
/// # Errors
/// ENOPROTOOPT before Linux 5.14.
#[doc(alias = "SO_NETNS_COOKIE")]
pub fn namespace_cookie(socket: BorrowedFd<'_>) -> io::Result<u64> {
    option(socket, libc::SOL_SOCKET, libc::SO_NETNS_COOKIE)
}

/// Attaches an eBPF program of type `BPF_PROG_TYPE_SOCKET_FILTER`.
///
/// # Errors
/// EINVAL when the descriptor is not such a program.
pub fn attach_program(socket: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    set_option(
        socket.as_fd(),
        libc::SOL_SOCKET,
        libc::SO_ATTACH_BPF,
        &program.as_raw_fd(),
    )
}

pub(crate) fn check(result: i32) -> io::Result<i32> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
