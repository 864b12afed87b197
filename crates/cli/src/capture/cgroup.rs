//! The control group of the command, for `--own-sockets`.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use tapline::capture::SocketPorts;

use crate::failure::{Exit, Failure, chain};

/// The name of a group starts so; the number of its process follows.
const PREFIX: &str = "tapline-";

/// A control group below that of this process. Dropping it removes it, unless a process of the command still runs.
pub struct Cgroup(PathBuf);

impl Cgroup {
    pub fn create() -> Result<Self, Failure> {
        let parent = own().ok_or_else(|| {
            let line = "--own-sockets needs control groups of version 2, and none are mounted \
                (mount -t cgroup2 none /sys/fs/cgroup; inside 'netns exec', use capture --netns instead)";
            Failure::new(Exit::Unsupported, line)
        })?;
        remove_leftovers(&parent);
        let path = parent.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| {
            let what = format!("cannot create the control group {}", path.display());
            Failure::job_on(what, &error)
        })?;
        Ok(Self(path))
    }

    /// The ports of its sockets.
    pub fn ports(&self) -> Result<SocketPorts, Failure> {
        let open = File::open(&self.0);
        let folder =
            open.map_err(|error| Failure::job_on("cannot open a control group", &error))?;
        SocketPorts::attach(folder.as_fd()).map_err(|error| {
            let line = format!(
                "{} (--own-sockets needs CAP_BPF and CAP_NET_ADMIN)",
                chain(&error)
            );
            Failure::new(Exit::Privilege, line)
        })
    }

    /// The directory that it is in.
    pub fn parent(&self) -> PathBuf {
        self.0.parent().map_or_else(PathBuf::new, Path::to_owned)
    }

    /// The file to which a process writes 0 to join.
    pub fn processes(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A process of the command may go on. The next capture removes the group when it has ended.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Removes groups of captures that were killed.
fn remove_leftovers(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let process = process.and_then(|process| process.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            // The command of a killed capture may still run.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The directory of this process's control group.
///
/// # Source
/// cgroups(7): `/proc/[pid]/cgroup`; proc(5): `/proc/[pid]/mountinfo`.
fn own() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let is_group = kind.starts_with("cgroup2 ");
        is_group.then(|| fields.split(' ').nth(4).map(PathBuf::from))?
    })?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(mount.join(group))
}
