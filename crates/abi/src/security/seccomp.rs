//! Filters of system calls, by which a thread restricts itself.

use std::io;

/// Installs a seccomp filter for the calling thread and the threads that it starts later, and sets `no_new_privs` for them.
///
/// The filter leaves speculative execution as it is (`SECCOMP_FILTER_FLAG_SPEC_ALLOW`). Before Linux 5.16, filters without this flag
/// turn on mitigations that slow down all code of the thread. The flag is safe here: the filter protects resources outside this
/// process, which speculation inside it cannot reach.
///
/// # Errors
/// EINVAL if the kernel has no seccomp or `program` is not a valid filter, EPERM if a container refuses the call, and others of prctl(2) and
/// seccomp(2).
/// # Kernel
/// Linux 3.17; the flag is used from Linux 4.17 on.
/// # Source
/// `seccomp_set_mode_filter` and `seccomp_assign_mode`, kernel/seccomp.c; Documentation/admin-guide/hw-vuln/spectre.rst.
#[doc(alias = "SECCOMP_SET_MODE_FILTER")]
pub fn install_filter(program: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: this option takes no pointers.
    let set = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if set != 0 {
        return Err(io::Error::last_os_error());
    }
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut(),
    };
    match install(&program, libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW) {
        // A kernel without the flag.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => install(&program, 0),
        result => result,
    }
}

fn install(program: &libc::sock_fprog, flags: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the kernel reads `program.len` instructions, which the slice of the caller contains, and writes nothing.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const *program,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread;

    /// Returns `action` for each call.
    fn always(action: u32) -> [libc::sock_filter; 1] {
        [libc::sock_filter {
            code: 6,
            jt: 0,
            jf: 0,
            k: action,
        }]
    }

    #[test]
    fn a_filter_is_that_of_its_thread_and_leaves_speculation() {
        let status = || fs::read_to_string("/proc/thread-self/status").expect("a thread");
        let line = |status: &str, key: &str| {
            let mut lines = status.lines();
            lines.find(|line| line.starts_with(key)).map(str::to_owned)
        };
        let before = status();
        let filtered = thread::spawn(move || {
            install_filter(&always(libc::SECCOMP_RET_ALLOW)).expect("it is allowed");
            status()
        });
        let filtered = filtered.join().expect("it ends");
        assert_eq!(line(&filtered, "Seccomp:").as_deref(), Some("Seccomp:\t2"));
        assert_eq!(
            line(&filtered, "NoNewPrivs:").as_deref(),
            Some("NoNewPrivs:\t1")
        );
        assert_eq!(line(&before, "Seccomp:").as_deref(), Some("Seccomp:\t0"));
        for key in ["Speculation_Store_Bypass:", "SpeculationIndirectBranch:"] {
            assert_eq!(line(&filtered, key), line(&before, key));
        }
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let refused = thread::spawn(|| install_filter(&[]))
            .join()
            .expect("it ends");
        let refused = refused.expect_err("it is empty");
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
    }
}
