//! Links: an attachment that ends when its descriptor is closed.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::attr::{
    BPF_LINK_CREATE, BPF_LINK_UPDATE, BPF_PROG_QUERY, BPF_RAW_TRACEPOINT_OPEN, LinkCreate,
    LinkUpdate, ProgramQuery, RawTracepoint, bpf,
};

/// Run the program in the network stack, after the driver ("generic XDP").
pub const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
/// Run the program in the driver ("native XDP").
pub const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// `BPF_XDP` of `enum bpf_attach_type`.
const ATTACH_TYPE_XDP: u32 = 37;

/// tc hook: received packets, before the network stack.
pub const BPF_TCX_INGRESS: u32 = 46;
/// tc hook: sent packets, before the queueing discipline.
pub const BPF_TCX_EGRESS: u32 = 47;

/// Attaches an XDP program to interface `ifindex` of the calling thread's network namespace.
///
/// `flags` is one of the `XDP_FLAGS_*_MODE`. The program stays until the descriptor is closed.
///
/// # Errors
/// EBUSY when another program is attached, EOPNOTSUPP when the driver has no XDP of that mode,
/// ENODEV, EPERM; drivers return EINVAL, ENOMEM or ERANGE for what they do not support with the
/// interface's present MTU, features or queues.
/// # Privileges
/// None beyond those for loading the program (measured on Linux 6.18).
/// # Kernel
/// Linux 5.9.
pub fn create_xdp_link(program: BorrowedFd<'_>, ifindex: u32, flags: u32) -> io::Result<OwnedFd> {
    create_link(program, ifindex, ATTACH_TYPE_XDP, flags)
}

/// Control group: IP packets that its sockets send, before the interface.
pub const BPF_CGROUP_INET_EGRESS: u32 = 1;
/// Control group: an IPv4 socket has got its local port.
pub const BPF_CGROUP_INET4_POST_BIND: u32 = 12;
/// Control group: an IPv6 socket has got its local port.
pub const BPF_CGROUP_INET6_POST_BIND: u32 = 13;

/// Attaches `program` to a control group of version 2, whose directory `cgroup` is; `place` is one of
/// `BPF_CGROUP_*`. Programs of other processes there stay.
///
/// The program stays until the descriptor is closed.
///
/// # Errors
/// EBADF if `cgroup` is no control group of version 2; EINVAL, EPERM.
/// # Privileges
/// `CAP_NET_ADMIN`.
/// # Kernel
/// Linux 5.7.
pub fn create_cgroup_link(
    program: BorrowedFd<'_>,
    cgroup: BorrowedFd<'_>,
    place: u32,
) -> io::Result<OwnedFd> {
    // The kernel's field is a union of interface and descriptor.
    let mut attr = LinkCreate {
        prog_fd: program.as_raw_fd().cast_unsigned(),
        target_ifindex: cgroup.as_raw_fd().cast_unsigned(),
        attach_type: place,
        flags: 0,
    };
    // SAFETY: `LinkCreate` holds no address.
    let fd = unsafe { bpf(BPF_LINK_CREATE, &mut attr) }?;
    // SAFETY: the descriptor was just opened, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Attaches `program` to kernel tracepoint `name` until the descriptor is closed.
///
/// # Errors
/// ENOENT if there is no such tracepoint, EPERM.
/// # Privileges
/// `CAP_BPF` and `CAP_PERFMON`.
/// # Kernel
/// Linux 4.17.
pub fn open_raw_tracepoint(program: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let mut attr = RawTracepoint {
        name: name.as_ptr() as u64,
        prog_fd: program.as_raw_fd().cast_unsigned(),
        padding: 0,
    };
    // SAFETY: the kernel reads the name up to its zero; the borrow outlives the call.
    let fd = unsafe { bpf(BPF_RAW_TRACEPOINT_OPEN, &mut attr) }?;
    // SAFETY: the descriptor was just opened, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Runs a tc program before those that are attached.
pub const BPF_F_BEFORE: u32 = 1 << 3;

/// Attaches a tc program to interface `ifindex` of the calling thread's network namespace, after those
/// that are attached or before them; `place` is one of `BPF_TCX_*`, `flags` [`BPF_F_BEFORE`] or 0.
///
/// The program stays until the descriptor is closed.
///
/// # Errors
/// ENODEV, EPERM, EINVAL; ERANGE when 64 programs are attached.
/// # Privileges
/// None beyond those for loading the program (measured on Linux 6.18).
/// # Kernel
/// Linux 6.6.
#[doc(alias = "BPF_TCX_INGRESS")]
pub fn create_tcx_link(
    program: BorrowedFd<'_>,
    ifindex: u32,
    place: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    create_link(program, ifindex, place, flags)
}

/// Maximum number of programs per tcx hook (`BPF_MPROG_MAX`, linux/bpf_mprog.h).
const MAX_TCX_PROGRAMS: usize = 64;

/// Ids of the tc programs of interface `ifindex` at `place`, one of `BPF_TCX_*`, in the order in
/// which they run.
///
/// # Errors
/// ENODEV; EINVAL before Linux 6.6.
/// # Privileges
/// `CAP_NET_ADMIN`.
/// # Source
/// `bpf_mprog_query`, kernel/bpf/mprog.c.
#[doc(alias = "BPF_PROG_QUERY")]
pub fn tcx_programs(ifindex: u32, place: u32) -> io::Result<Vec<u32>> {
    let mut ids = [0_u32; MAX_TCX_PROGRAMS];
    let mut attr = ProgramQuery {
        target_ifindex: ifindex,
        attach_type: place,
        program_ids: ids.as_mut_ptr() as u64,
        count: ids.len() as u32,
        ..ProgramQuery::default()
    };
    // SAFETY: the kernel writes at most `count` ids to `program_ids`, which has room for them. The other addresses are
    // null, which means "not requested".
    unsafe { bpf(BPF_PROG_QUERY, &mut attr) }?;
    let count = (attr.count as usize).min(ids.len());
    Ok(ids[..count].to_vec())
}

fn create_link(
    program: BorrowedFd<'_>,
    ifindex: u32,
    attach_type: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    let mut attr = LinkCreate {
        prog_fd: program.as_raw_fd().cast_unsigned(),
        target_ifindex: ifindex,
        attach_type,
        flags,
    };
    // SAFETY: `LinkCreate` holds no address.
    let fd =
        unsafe { bpf(BPF_LINK_CREATE, &mut attr) }.map_err(|error| name_missing(error, ifindex))?;
    // SAFETY: the descriptor was just opened, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Replaces the program of `link` by `program`. Each packet runs exactly one of the two.
///
/// CPUs may still be running the old program when this returns; see [`wait_for_programs`].
///
/// # Errors
/// ENOLINK if the interface is gone; EINVAL if the program is of another type.
/// # Kernel
/// Linux 5.9 for XDP, 6.6 for tc.
#[doc(alias = "BPF_LINK_UPDATE")]
pub fn update_link(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    let mut attr = LinkUpdate {
        link_fd: link.as_raw_fd().cast_unsigned(),
        new_prog_fd: program.as_raw_fd().cast_unsigned(),
        flags: 0,
    };
    // SAFETY: `LinkUpdate` holds no address.
    unsafe { bpf(BPF_LINK_UPDATE, &mut attr) }?;
    Ok(())
}

/// Waits until every program run that began before the call has ended: some milliseconds.
///
/// # Errors
/// EINVAL where CPUs run without a timer tick (`nohz_full`), ENOSYS in a kernel without membarrier(2).
/// # Kernel
/// Linux 4.3.
/// # Source
/// `MEMBARRIER_CMD_GLOBAL` is `synchronize_rcu` (kernel/sched/membarrier.c), and the kernel runs
/// programs of interfaces inside an RCU read-side section.
#[doc(alias = "membarrier")]
pub fn wait_for_programs() -> io::Result<()> {
    const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;
    // SAFETY: the call takes three numbers and no address.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The kernel's EINVAL for an interface that does not exist becomes ENODEV.
fn name_missing(error: io::Error, ifindex: u32) -> io::Error {
    let mut name = [0; libc::IF_NAMESIZE];
    if error.raw_os_error() != Some(libc::EINVAL) {
        return error;
    }
    // SAFETY: `name` has the `IF_NAMESIZE` bytes that the function may write.
    let found = unsafe { libc::if_indextoname(ifindex, name.as_mut_ptr()) };
    if found.is_null() {
        io::Error::from_raw_os_error(libc::ENODEV)
    } else {
        error
    }
}
