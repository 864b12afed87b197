//! Memory that this process can still take.

use std::fs;
use std::path::Path;

/// Bytes that are available without swapping, on the machine and in the control group. `None` if unknown.
///
/// # Source
/// `MemAvailable` in proc_meminfo(5); `memory.max` and `memory.current` in Documentation/admin-guide/cgroup-v2.rst.
pub fn available_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| of_machine(&text));
    let group = fs::read_to_string("/proc/self/cgroup").ok();
    let group = group.and_then(|text| of_group(&text, Path::new("/sys/fs/cgroup")));
    machine.into_iter().chain(group).min()
}

fn of_machine(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The smallest rest of the group in `/proc/self/cgroup` and of those that contain it. `None` if none has a limit.
fn of_group(cgroup: &str, root: &Path) -> Option<u64> {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let number = |folder: &Path, file: &str| -> Option<u64> {
        fs::read_to_string(folder.join(file))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let folder = root.join(path);
    let groups = folder
        .ancestors()
        .take_while(|folder| folder.starts_with(root));
    // A group without a limit has the text "max".
    let rests = groups.filter_map(|folder| {
        let limit = number(folder, "memory.max")?;
        Some(limit.saturating_sub(number(folder, "memory.current")?))
    });
    rests.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_counts() {
        assert_eq!(
            of_machine("MemTotal: 9 kB\nMemAvailable:     524288 kB\n"),
            Some(512 << 20)
        );
        assert_eq!(of_machine("MemTotal: 9 kB\n"), None);
        let root = tempfile::tempdir().expect("a folder");
        let inner = root.path().join("a/b");
        fs::create_dir_all(&inner).expect("folders");
        let write = |folder: &Path, limit: &str, used: &str| {
            fs::write(folder.join("memory.max"), limit).expect("written");
            fs::write(folder.join("memory.current"), used).expect("written");
        };
        let group = || of_group("1:cpu:/x\n0::/a/b\n", root.path());
        assert_eq!(group(), None);
        write(&inner, "max\n", "5\n");
        assert_eq!(group(), None);
        write(&root.path().join("a"), "1000\n", "400\n");
        assert_eq!(group(), Some(600));
        write(&inner, "300\n", "500\n");
        assert_eq!(group(), Some(0));
        assert_eq!(of_group("4:memory:/a\n", root.path()), None);
    }
}
