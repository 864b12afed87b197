//! Classic filters of sockets.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::instruction::SockFilter;
use crate::packet::{PACKET_FANOUT_DATA, SOL_PACKET};
use crate::socket::check;

/// `struct sock_fprog`; the kernel uses the two fields and never the bytes between them.
#[repr(C)]
struct Program {
    len: u16,
    filter: *const SockFilter,
}

/// Attaches a classic BPF filter to a socket. Replaces the present filter.
///
/// # Errors
/// EINVAL when the kernel refuses the program, also when it is empty or longer than 65535;
/// ENOMEM when it is larger than `net.core.optmem_max` allows.
/// # Source
/// `sk_attach_filter` and `bpf_check_classic`, net/core/filter.c.
#[doc(alias = "SO_ATTACH_FILTER")]
pub fn attach_classic(socket: BorrowedFd<'_>, filter: &[SockFilter]) -> io::Result<()> {
    set_program(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, filter)
}

/// Sets the classic program of a packet socket's fanout group (`PACKET_FANOUT_CBPF`). Its return value
/// modulo the number of members is the index of the member that receives the packet.
///
/// If it replaces a program, it returns once no CPU runs the old program any more. All packets that the
/// old program distributed are then in the members' rings.
///
/// # Errors
/// EINVAL for a socket without group, otherwise as [`attach_classic`].
/// # Source
/// `__fanout_set_data_bpf`, net/packet/af_packet.c.
#[doc(alias = "PACKET_FANOUT_DATA")]
pub fn set_fanout_program(socket: BorrowedFd<'_>, program: &[SockFilter]) -> io::Result<()> {
    set_program(socket, SOL_PACKET, PACKET_FANOUT_DATA, program)
}

fn set_program(
    socket: BorrowedFd<'_>,
    level: i32,
    name: i32,
    program: &[SockFilter],
) -> io::Result<()> {
    let too_long = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let len = u16::try_from(program.len()).map_err(too_long)?;
    let program = Program {
        len,
        filter: program.as_ptr(),
    };
    let bytes = size_of::<Program>() as libc::socklen_t;
    let place = (&raw const program).cast();
    // SAFETY: the kernel reads `struct sock_fprog` by its fields and then `len` instructions from
    // `filter`; both borrows outlive the call.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, place, bytes) })?;
    Ok(())
}
