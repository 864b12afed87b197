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

/// Gives a socket a classic BPF filter, in place of the one it has.
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

/// Gives the fanout group of a packet socket (`PACKET_FANOUT_CBPF`) the classic program whose answer,
/// divided by the number of members, leaves the number of the member that gets a packet.
///
/// Where it replaces another program it returns once no processor runs that one any more: whatever was
/// divided by it is then in the member's ring.
///
/// # Errors
/// EINVAL for a socket without group, otherwise as [`attach_classic`].
/// # Source
/// `__fanout_set_data_bpf`, net/packet/af_packet.c.
#[doc(alias = "PACKET_FANOUT_DATA")]
pub fn divide_classic(socket: BorrowedFd<'_>, program: &[SockFilter]) -> io::Result<()> {
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
