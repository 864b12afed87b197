//! System calls of a compromised process, to test sandboxes.

use std::io;

use libc::c_long;

/// The calls that [`attempt`] makes, by name.
///
/// Each refuses the arguments that [`attempt`] gives it, or has none and changes nothing.
pub const CALLS: &[(&str, c_long)] = &[
    ("add_key", libc::SYS_add_key),
    ("bind", libc::SYS_bind),
    ("bpf", libc::SYS_bpf),
    ("brk", libc::SYS_brk),
    ("chroot", libc::SYS_chroot),
    ("clock_gettime", libc::SYS_clock_gettime),
    ("delete_module", libc::SYS_delete_module),
    ("execve", libc::SYS_execve),
    ("execveat", libc::SYS_execveat),
    ("fcntl", libc::SYS_fcntl),
    ("fcntl-setown", libc::SYS_fcntl),
    ("finit_module", libc::SYS_finit_module),
    ("fsopen", libc::SYS_fsopen),
    ("fstat", libc::SYS_fstat),
    ("getcpu", libc::SYS_getcpu),
    ("getcwd", libc::SYS_getcwd),
    ("getpeername", libc::SYS_getpeername),
    ("getpid", libc::SYS_getpid),
    ("getrandom", libc::SYS_getrandom),
    ("getsockname", libc::SYS_getsockname),
    ("gettid", libc::SYS_gettid),
    ("init_module", libc::SYS_init_module),
    ("kexec_load", libc::SYS_kexec_load),
    ("keyctl", libc::SYS_keyctl),
    ("mount", libc::SYS_mount),
    ("move_mount", libc::SYS_move_mount),
    ("mprotect", libc::SYS_mprotect),
    ("mremap", libc::SYS_mremap),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("open_tree", libc::SYS_open_tree),
    ("pivot_root", libc::SYS_pivot_root),
    ("pread64", libc::SYS_pread64),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("ptrace", libc::SYS_ptrace),
    ("reboot", libc::SYS_reboot),
    ("request_key", libc::SYS_request_key),
    ("restart_syscall", libc::SYS_restart_syscall),
    ("rt_sigaction", libc::SYS_rt_sigaction),
    ("sched_getaffinity", libc::SYS_sched_getaffinity),
    ("sched_yield", libc::SYS_sched_yield),
    ("setns", libc::SYS_setns),
    ("sigaltstack", libc::SYS_sigaltstack),
    ("statx", libc::SYS_statx),
    ("socket-unix", libc::SYS_socket),
    ("socketpair-datagram", libc::SYS_socketpair),
    ("swapon", libc::SYS_swapon),
    ("tgkill", libc::SYS_tgkill),
    ("tgkill-another", libc::SYS_tgkill),
    ("ioctl-tiocsti", libc::SYS_ioctl),
    ("umount2", libc::SYS_umount2),
    ("uname", libc::SYS_uname),
    ("unshare", libc::SYS_unshare),
    ("userfaultfd", libc::SYS_userfaultfd),
];

/// Types a character into a terminal (include/uapi/asm-generic/ioctls.h).
const TIOCSTI: i64 = 0x5412;

/// −1 for all, but for those by which a sandbox chooses: the calling process, a kind of socket, and requests.
fn arguments(name: &str) -> [i64; 2] {
    match name {
        "tgkill" => [std::process::id().into(), -1],
        "socket-unix" => [libc::AF_UNIX.into(), -1],
        "socketpair-datagram" => [libc::AF_UNIX.into(), libc::SOCK_DGRAM.into()],
        "ioctl-tiocsti" => [-1, TIOCSTI],
        "fcntl-setown" => [-1, libc::F_SETOWN.into()],
        _ => [-1, -1],
    }
}

/// Makes the call `name` of [`CALLS`] with arguments that it refuses. `None` if it is none of them.
///
/// The result is an error of the kernel that names the arguments; ENOSYS of a sandbox, or the process ends.
pub fn attempt(name: &str) -> Option<io::Result<()>> {
    let (_, number) = CALLS.iter().find(|(known, _)| *known == name)?;
    let [first, second] = arguments(name);
    // SAFETY: none of these calls accesses memory: addresses of −1 are outside of user space, where the kernel reads and writes
    // nothing. None changes the process: no descriptor, process, thread, type of socket or flags are −1, and lengths of −1 exceed
    // every limit. A pair of sockets is not made if the kernel cannot write its descriptors.
    let answer = unsafe { libc::syscall(*number, first, second, -1_i64, -1_i64, -1_i64, -1_i64) };
    Some(if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls without arguments, and brk(2), which answers with the end as it is.
    const SUCCEED: [&str; 4] = ["brk", "getpid", "gettid", "sched_yield"];

    #[test]
    fn without_a_sandbox_the_kernel_refuses_the_arguments() {
        for (name, _) in CALLS {
            let result = attempt(name).expect("it is listed");
            let errno = result.err().and_then(|error| error.raw_os_error());
            assert_eq!(errno.is_none(), SUCCEED.contains(name), "{name}: {errno:?}");
        }
        assert!(attempt("exit").is_none());
    }
}
