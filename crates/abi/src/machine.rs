//! The memory and the load of the machine.

use std::io;
use std::mem::MaybeUninit;

use crate::socket::check;

/// What the kernel reports about the machine, also within a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Bytes of main memory.
    pub memory_bytes: u64,
    /// Threads that ran, waited for a CPU or for a disk: the average of the last minute, rounded down.
    pub load: usize,
}

impl Machine {
    /// Asks the kernel. Needs no privilege.
    ///
    /// # Errors
    /// None of the kernel's own. A seccomp filter may refuse the call, often with EPERM or ENOSYS.
    ///
    /// # Source
    /// sysinfo(2); `do_sysinfo`, kernel/sys.c.
    #[expect(
        clippy::useless_conversion,
        reason = "the fields have other widths on other architectures"
    )]
    pub fn read() -> io::Result<Self> {
        let mut info = MaybeUninit::<libc::sysinfo>::zeroed();
        // SAFETY: `info` is a `struct sysinfo`.
        check(unsafe { libc::sysinfo(info.as_mut_ptr()) })?;
        // SAFETY: zeros are valid, and the kernel has filled it.
        let info = unsafe { info.assume_init() };
        // LOADS_SCALE: 1 << SI_LOAD_SHIFT (include/uapi/linux/sysinfo.h).
        let load = (info.loads[0] >> 16) as usize;
        Ok(Self {
            memory_bytes: u64::from(info.totalram) * u64::from(info.mem_unit),
            load,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_that_of_proc() {
        let machine = Machine::read().expect("not refused");
        let text = std::fs::read_to_string("/proc/meminfo").expect("proc");
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kib = line.expect("a line").trim().trim_end_matches(" kB");
        assert_eq!(
            machine.memory_bytes / 1024,
            kib.parse::<u64>().expect("a number")
        );
    }
}
