//! Named network namespaces, as `ip netns` manages them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use abi::namespace::{NamespaceError, NetNamespace, Step};
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive,
    mount_change, unmount,
};

/// Maximum number of names to list.
const MAX_NAMES: usize = 65_536;

/// Named network namespaces: files in a directory on which namespaces are mounted.
///
/// # Privileges
/// `CAP_SYS_ADMIN` to add and delete names; none to list.
/// # Source
/// ip-netns(8).
#[derive(Clone, Debug)]
pub struct NamespaceNames {
    folder: PathBuf,
}

/// A namespace and its name.
#[derive(Debug)]
#[non_exhaustive]
pub struct NamedNamespace {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: NetNamespace,
}

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamespaceOperation {
    /// Create the directory.
    CreateDirectory,
    /// Share the mounts in the directory with other mount namespaces.
    ShareMounts,
    /// Create the file.
    CreateFile,
    /// Mount the namespace on the file.
    Mount,
    /// Unmount the namespace from the file.
    Unmount,
    /// Delete the file.
    RemoveFile,
    /// List the directory.
    List,
    /// Create or open the namespace.
    OpenNamespace,
    /// Enter the namespace.
    Enter,
    /// Make mounts private to the thread.
    MakeMountsPrivate,
    /// Mount a file system or a file of the namespace.
    MountInside,
    /// List processes.
    ListProcesses,
}

/// A failed operation on a named namespace.
#[derive(Debug, thiserror::Error)]
#[error("cannot {} {}", self.operation.text(), path.display())]
#[non_exhaustive]
pub struct NamespaceNameError {
    /// The operation.
    pub operation: NamespaceOperation,
    /// The file or directory.
    pub path: PathBuf,
    /// The kernel's error.
    pub source: io::Error,
}

impl NamespaceOperation {
    /// The operation as a verb phrase; the path follows.
    fn text(self) -> &'static str {
        match self {
            Self::CreateDirectory => "create directory",
            Self::ShareMounts => "share the mounts in",
            Self::CreateFile => "create",
            Self::Mount => "mount a network namespace on",
            Self::Unmount => "unmount the network namespace",
            Self::RemoveFile => "delete",
            Self::List => "list directory",
            Self::OpenNamespace => "create or open network namespace",
            Self::Enter => "enter network namespace",
            Self::MakeMountsPrivate => "make private the mounts below",
            Self::MountInside => "mount the namespace's own",
            Self::ListProcesses => "list processes in",
        }
    }
}

impl Default for NamespaceNames {
    /// The directory of `ip netns`: `/run/netns`.
    fn default() -> Self {
        Self::at("/run/netns")
    }
}

impl NamespaceNames {
    /// The names in another directory.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Creates a namespace with a name. Equals `ip netns add NAME`.
    ///
    /// # Errors
    /// `NamespaceOperation::CreateFile` with EEXIST if the name exists, EINVAL if it is invalid.
    pub fn add(&self, name: &str) -> Result<NetNamespace, NamespaceNameError> {
        let path = self.path(name)?;
        let namespace = NetNamespace::create().map_err(namespace_error(&path))?;
        self.attach(name, &namespace)?;
        Ok(namespace)
    }

    /// Names an existing namespace. The name keeps it alive until [`del`](Self::del), even without processes. Equals
    /// `ip netns attach NAME PID`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn attach(&self, name: &str, namespace: &NetNamespace) -> Result<(), NamespaceNameError> {
        let path = self.path(name)?;
        self.share()?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o000)
            .open(&path)
            .map_err(error(NamespaceOperation::CreateFile, &path))?;
        let descriptor = format!("/proc/self/fd/{}", namespace.as_fd().as_raw_fd());
        mount_bind(descriptor, &path).map_err(|errno| {
            // Do not leave a file without a namespace.
            let _ = fs::remove_file(&path);
            error(NamespaceOperation::Mount, &path)(errno.into())
        })
    }

    /// Deletes a name. The namespace is destroyed when nothing else refers to it. Equals `ip netns del NAME`.
    ///
    /// # Errors
    /// `NamespaceOperation::RemoveFile` with ENOENT if there is none.
    pub fn del(&self, name: &str) -> Result<(), NamespaceNameError> {
        let path = self.path(name)?;
        match unmount(&path, UnmountFlags::DETACH) {
            // Nothing is mounted if somebody unmounted it before.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {}
            Err(errno) => return Err(error(NamespaceOperation::Unmount, &path)(errno.into())),
        }
        fs::remove_file(&path).map_err(error(NamespaceOperation::RemoveFile, &path))
    }

    /// Opens the namespace with this name.
    ///
    /// # Errors
    /// `NamespaceOperation::OpenNamespace` with ENOENT if there is none.
    pub fn get(&self, name: &str) -> Result<NetNamespace, NamespaceNameError> {
        let path = self.path(name)?;
        NetNamespace::open(&path).map_err(namespace_error(&path))
    }

    /// All names with their namespaces, in alphabetical order. Equals `ip netns list`. Skips files that
    /// cannot be opened: they may have been deleted meanwhile.
    ///
    /// # Errors
    /// `NamespaceOperation::List`; a missing directory has no names.
    pub fn list(&self) -> Result<Vec<NamedNamespace>, NamespaceNameError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(error(NamespaceOperation::List, &self.folder)(source)),
        };
        let mut named = Vec::new();
        for entry in entries.take(MAX_NAMES) {
            let entry = entry.map_err(error(NamespaceOperation::List, &self.folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Ok(namespace) = NetNamespace::open(&entry.path()) {
                named.push(NamedNamespace { name, namespace });
            }
        }
        named.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(named)
    }

    /// The names of `namespace`, in alphabetical order. Equals `ip netns identify PID`.
    ///
    /// # Errors
    /// As [`list`](Self::list), and `NamespaceOperation::OpenNamespace`.
    pub fn of(&self, namespace: &NetNamespace) -> Result<Vec<String>, NamespaceNameError> {
        let wanted = namespace.id().map_err(namespace_error(&self.folder))?;
        let mut named = self.list()?;
        named.retain(|named| named.namespace.id().is_ok_and(|id| id == wanted));
        Ok(named.into_iter().map(|named| named.name).collect())
    }

    /// The file of a name. A name is one non-empty path component.
    pub(super) fn path(&self, name: &str) -> Result<PathBuf, NamespaceNameError> {
        let path = self.folder.join(name);
        let bad = name.is_empty()
            || name == "."
            || name == ".."
            || name.len() > 255
            || name.contains(['/', '\0']);
        if bad {
            return Err(error(NamespaceOperation::CreateFile, &path)(
                Errno::INVAL.into(),
            ));
        }
        Ok(path)
    }

    /// Creates the directory and shares its mounts, so that unmounting affects all mount namespaces.
    fn share(&self) -> Result<(), NamespaceNameError> {
        let folder = &self.folder;
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o755);
        builder
            .create(folder)
            .map_err(error(NamespaceOperation::CreateDirectory, folder))?;
        // Two processes could otherwise mount it twice.
        let held =
            File::open(folder).map_err(error(NamespaceOperation::CreateDirectory, folder))?;
        rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive)
            .map_err(|errno| error(NamespaceOperation::CreateDirectory, folder)(errno.into()))?;
        let shared = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
        let done = match mount_change(folder, shared) {
            // It must be a mount point.
            Err(Errno::INVAL) => {
                mount_bind_recursive(folder, folder).and_then(|()| mount_change(folder, shared))
            }
            done => done,
        };
        done.map_err(|errno| error(NamespaceOperation::ShareMounts, folder)(errno.into()))
    }
}

pub(super) fn error(
    operation: NamespaceOperation,
    path: &Path,
) -> impl FnOnce(io::Error) -> NamespaceNameError {
    let path = path.to_owned();
    move |source| NamespaceNameError {
        operation,
        path,
        source,
    }
}

pub(super) fn namespace_error(path: &Path) -> impl FnOnce(NamespaceError) -> NamespaceNameError {
    let path = path.to_owned();
    move |error| NamespaceNameError {
        operation: match error.step {
            Step::Enter | Step::Mounts => NamespaceOperation::Enter,
            _ => NamespaceOperation::OpenNamespace,
        },
        path,
        source: error.source,
    }
}

const ROOT: &str = "/";
const SYSFS: &str = "/sys";
/// Directory of per-namespace files.
const OWN_FILES: &str = "/etc/netns";
const FILES: &str = "/etc";

impl NamespaceNames {
    /// Moves the calling thread permanently into the namespace with this name, before an `exec`. Like
    /// `ip netns exec NAME`: mounts the `/sys` of the namespace, and the files of `/etc/netns/NAME` over those in
    /// `/etc`, for this thread and its children only.
    ///
    /// Returns the files that could not be mounted, e.g. because `/etc` has no such file.
    ///
    /// # Errors
    /// `NamespaceOperation::OpenNamespace` with ENOENT if there is no such name; `NamespaceOperation::Enter`, `NamespaceOperation::MakeMountsPrivate`,
    /// `NamespaceOperation::MountInside`. The thread may be in the namespace then.
    /// # Privileges
    /// `CAP_SYS_ADMIN`.
    /// # Source
    /// ip-netns(8); mount_namespaces(7).
    pub fn enter(&self, name: &str) -> Result<Vec<NamespaceNameError>, NamespaceNameError> {
        let namespace = self.get(name)?;
        let entered = namespace.enter_with_own_mounts();
        entered.map_err(namespace_error(&self.path(name)?))?;
        let hidden = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        mount_change(ROOT, hidden).map_err(|errno| {
            error(NamespaceOperation::MakeMountsPrivate, Path::new(ROOT))(errno.into())
        })?;
        mount_sysfs(name)?;
        put_files(&Path::new(OWN_FILES).join(name))
    }
}

/// Replaces sysfs by that of the namespace.
fn mount_sysfs(name: &str) -> Result<(), NamespaceNameError> {
    let mut flags = MountFlags::empty();
    let is_free = unmount(SYSFS, UnmountFlags::DETACH).is_ok();
    // A writable sysfs cannot be mounted over a read-only one.
    let stays = statvfs(SYSFS).is_ok_and(|there| there.f_flag.contains(StatVfsMountFlags::RDONLY));
    flags.set(MountFlags::RDONLY, !is_free && stays);
    mount(name, SYSFS, "sysfs", flags, None)
        .map_err(|errno| error(NamespaceOperation::MountInside, Path::new(SYSFS))(errno.into()))
}

/// Bind-mounts the files of `own` over files with the same names. Returns those that failed.
fn put_files(own: &Path) -> Result<Vec<NamespaceNameError>, NamespaceNameError> {
    let entries = match fs::read_dir(own) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(error(NamespaceOperation::MountInside, own)(source)),
    };
    let mut failed = Vec::new();
    for entry in entries {
        let entry = entry.map_err(error(NamespaceOperation::MountInside, own))?;
        let place = Path::new(FILES).join(entry.file_name());
        if let Err(errno) = mount_bind(entry.path(), &place) {
            failed.push(error(NamespaceOperation::MountInside, &place)(errno.into()));
        }
    }
    Ok(failed)
}

const PROCESSES: &str = "/proc";

impl NamespaceNames {
    /// The ids of the processes in the namespace, in ascending order. Equals `ip netns pids NAME`.
    /// Skips processes that cannot be inspected or have ended.
    ///
    /// # Errors
    /// `NamespaceOperation::OpenNamespace` with ENOENT if there is no such name; `NamespaceOperation::ListProcesses`.
    /// # Privileges
    /// `CAP_SYS_PTRACE`, to see processes of other users.
    /// # Source
    /// `/proc/PID/ns/net`, namespaces(7).
    pub fn pids(&self, name: &str) -> Result<Vec<u32>, NamespaceNameError> {
        let namespace: NetNamespace = self.get(name)?;
        let wanted = namespace.id().map_err(namespace_error(&self.path(name)?))?;
        let failed = || error(NamespaceOperation::ListProcesses, Path::new(PROCESSES));
        let mut pids = Vec::new();
        for entry in fs::read_dir(PROCESSES).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let own = fs::metadata(entry.path().join("ns/net"));
            if own.is_ok_and(|own| (own.dev(), own.ino()) == (wanted.device, wanted.inode)) {
                pids.push(pid);
            }
        }
        pids.sort_unstable();
        Ok(pids)
    }
}
