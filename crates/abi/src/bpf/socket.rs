//! Classic filters of sockets.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::instruction::SockFilter;

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
    let too_long = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let len = u16::try_from(filter.len()).map_err(too_long)?;
    let program = Program {
        len,
        filter: filter.as_ptr(),
    };
    let bytes = size_of::<Program>() as libc::socklen_t;
    let place = (&raw const program).cast();
    // SAFETY: the kernel reads `struct sock_fprog` by its fields and then `len` instructions from
    // `filter`; both borrows outlive the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            place,
            bytes,
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
