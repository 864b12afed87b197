//! A control group whose processes share a part of a CPU.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The CPU time of the group in each period, and the period, microseconds.
pub const QUOTA_US: u32 = 1000;
pub const PERIOD_US: u32 = 20_000;

/// The group. It is removed when this is dropped: its processes have to have ended.
pub struct CpuQuota {
    folder: PathBuf,
}

impl CpuQuota {
    /// Makes the group.
    ///
    /// # Panics
    /// Without root, and where control groups have no CPU controller.
    pub fn new() -> Self {
        let name = format!("tapline-bench.{}", std::process::id());
        let unified = Path::new("/sys/fs/cgroup");
        let controllers = fs::read_to_string(unified.join("cgroup.subtree_control"));
        let is_unified =
            controllers.is_ok_and(|text| text.split_whitespace().any(|it| it == "cpu"));
        let folder = if is_unified {
            unified.join(name)
        } else {
            unified.join("cpu").join(name)
        };
        let made = Self { folder };
        let result = made.set_up(is_unified);
        result.unwrap_or_else(|error| {
            panic!(
                "{}: {error}: a control group with a CPU quota is needed",
                made.folder.display()
            )
        });
        made
    }

    fn set_up(&self, is_unified: bool) -> io::Result<()> {
        fs::create_dir(&self.folder)?;
        let set = |name: &str, value: String| fs::write(self.folder.join(name), value);
        if is_unified {
            return set("cpu.max", format!("{QUOTA_US} {PERIOD_US}"));
        }
        set("cpu.cfs_period_us", PERIOD_US.to_string())?;
        set("cpu.cfs_quota_us", QUOTA_US.to_string())
    }

    /// The file to which a process that joins writes its number.
    pub fn processes(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        // A process that is still in it keeps it.
        let _ = fs::remove_dir(&self.folder);
    }
}
