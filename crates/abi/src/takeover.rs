//! System calls of somebody who has taken a program over, for tests of sandboxes.

use std::io;

/// A system call that a sandbox forbids.
#[derive(Clone, Copy, Debug)]
pub enum ForbiddenCall {
    /// bpf(2): makes a map.
    Bpf,
    /// mount(2).
    Mount,
    /// ptrace(2): reads the memory of another process.
    Ptrace,
}

/// Makes a system call with arguments that every kernel refuses.
///
/// # Errors
/// The kernel's: EFAULT, EINVAL, ENOENT, EPERM or ESRCH; of a sandbox others, or the process ends.
pub fn attempt(call: ForbiddenCall) -> io::Result<()> {
    let (number, request) = match call {
        ForbiddenCall::Bpf => (libc::SYS_bpf, 0),
        ForbiddenCall::Mount => (libc::SYS_mount, 0),
        ForbiddenCall::Ptrace => (libc::SYS_ptrace, libc::PTRACE_PEEKDATA),
    };
    // SAFETY: all addresses are null, sizes 0, and no process has the number 0: the kernel reads and writes no memory.
    let answer = unsafe { libc::syscall(number, request, 0, 0, 0, 0) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
