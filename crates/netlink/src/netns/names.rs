use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use abi::namespace::{NamespaceError, NetNamespace, Step};
use rustix::io::Errno;
use rustix::mount::{
    MountPropagationFlags, UnmountFlags, mount_bind, mount_bind_recursive, mount_change, unmount,
};

/// Names in one folder; more are not listed.
const MAX_NAMES: usize = 65_536;

/// The names that namespaces have: files of a folder on which they are mounted.
///
/// # Privileges
/// `CAP_SYS_ADMIN` to give a name and to take one away; none to list.
/// # Source
/// ip-netns(8).
#[derive(Clone, Debug)]
pub struct NamespaceNames {
    folder: PathBuf,
}

/// A namespace with its name.
#[derive(Debug)]
#[non_exhaustive]
pub struct NamedNamespace {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: NetNamespace,
}

/// What was being done to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamesStep {
    /// Making the folder.
    Folder,
    /// Letting mounts in it be seen elsewhere.
    Share,
    /// Making the file.
    File,
    /// Mounting the namespace on it.
    Mount,
    /// Taking the namespace off it.
    Unmount,
    /// Removing the file.
    Remove,
    /// Listing the folder.
    List,
    /// Making or opening the namespace.
    Namespace,
    /// Entering it.
    Enter,
    /// Keeping mounts from being seen elsewhere.
    Hide,
    /// Mounting a file system of the namespace, or a file of its own in the place of the host's.
    Inside,
    /// Looking for processes.
    Processes,
}

/// Why a name was not given, taken away or found.
#[derive(Debug)]
#[non_exhaustive]
pub struct NamesError {
    /// What was being done.
    pub step: NamesStep,
    /// To which file or folder.
    pub path: PathBuf,
    /// What the kernel answered.
    pub source: io::Error,
}

impl Default for NamespaceNames {
    /// Those of `ip netns`: `/run/netns`.
    fn default() -> Self {
        Self::at("/run/netns")
    }
}

impl NamespaceNames {
    /// Those in another folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Makes a namespace and gives it a name. Equals `ip netns add NAME`.
    ///
    /// # Errors
    /// `NamesStep::File` with EEXIST when there is one of this name, EINVAL when `name` cannot be one.
    pub fn add(&self, name: &str) -> Result<NetNamespace, NamesError> {
        let path = self.path(name)?;
        let namespace = NetNamespace::create().map_err(namespace_error(&path))?;
        self.attach(name, &namespace)?;
        Ok(namespace)
    }

    /// Gives `namespace` a name, which it keeps until [`del`](Self::del), even without a process inside. Equals
    /// `ip netns attach NAME PID`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn attach(&self, name: &str, namespace: &NetNamespace) -> Result<(), NamesError> {
        let path = self.path(name)?;
        self.share()?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o000)
            .open(&path)
            .map_err(error(NamesStep::File, &path))?;
        let descriptor = format!("/proc/self/fd/{}", namespace.as_fd().as_raw_fd());
        mount_bind(descriptor, &path).map_err(|errno| {
            // A file on which nothing is mounted would be no name.
            let _ = fs::remove_file(&path);
            error(NamesStep::Mount, &path)(errno.into())
        })
    }

    /// Takes a name away; the namespace is gone when nothing else refers to it. Equals `ip netns del NAME`.
    ///
    /// # Errors
    /// `NamesStep::Remove` with ENOENT when there is none.
    pub fn del(&self, name: &str) -> Result<(), NamesError> {
        let path = self.path(name)?;
        match unmount(&path, UnmountFlags::DETACH) {
            // A file without a namespace is left where one was taken off by hand.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {}
            Err(errno) => return Err(error(NamesStep::Unmount, &path)(errno.into())),
        }
        fs::remove_file(&path).map_err(error(NamesStep::Remove, &path))
    }

    /// The namespace of this name.
    ///
    /// # Errors
    /// `NamesStep::Namespace` with ENOENT when there is none.
    pub fn get(&self, name: &str) -> Result<NetNamespace, NamesError> {
        let path = self.path(name)?;
        NetNamespace::open(&path).map_err(namespace_error(&path))
    }

    /// All names with their namespaces, in alphabetical order. Equals `ip netns list`. A file that cannot be
    /// opened is passed over: it may have gone meanwhile.
    ///
    /// # Errors
    /// `NamesStep::List`; a folder that is not there has no names.
    pub fn list(&self) -> Result<Vec<NamedNamespace>, NamesError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(error(NamesStep::List, &self.folder)(source)),
        };
        let mut named = Vec::new();
        for entry in entries.take(MAX_NAMES) {
            let entry = entry.map_err(error(NamesStep::List, &self.folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Ok(namespace) = NetNamespace::open(&entry.path()) {
                named.push(NamedNamespace { name, namespace });
            }
        }
        named.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(named)
    }

    /// The names that `namespace` has, in alphabetical order. Equals `ip netns identify PID`.
    ///
    /// # Errors
    /// As [`list`](Self::list), and `NamesStep::Namespace`.
    pub fn of(&self, namespace: &NetNamespace) -> Result<Vec<String>, NamesError> {
        let wanted = namespace.id().map_err(namespace_error(&self.folder))?;
        let mut named = self.list()?;
        named.retain(|named| named.namespace.id().is_ok_and(|id| id == wanted));
        Ok(named.into_iter().map(|named| named.name).collect())
    }

    /// The file of this name, if it can be one: not empty, one component of a path.
    pub(super) fn path(&self, name: &str) -> Result<PathBuf, NamesError> {
        let path = self.folder.join(name);
        let bad = name.is_empty()
            || name == "."
            || name == ".."
            || name.len() > 255
            || name.contains(['/', '\0']);
        if bad {
            return Err(error(NamesStep::File, &path)(Errno::INVAL.into()));
        }
        Ok(path)
    }

    /// Makes the folder, and lets namespaces that are taken off in one mount namespace go in all.
    fn share(&self) -> Result<(), NamesError> {
        let folder = &self.folder;
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o755);
        builder
            .create(folder)
            .map_err(error(NamesStep::Folder, folder))?;
        // Two who do this at once would mount it twice.
        let held = File::open(folder).map_err(error(NamesStep::Folder, folder))?;
        rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive)
            .map_err(|errno| error(NamesStep::Folder, folder)(errno.into()))?;
        let shared = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
        let done = match mount_change(folder, shared) {
            // It has to be a mount itself.
            Err(Errno::INVAL) => {
                mount_bind_recursive(folder, folder).and_then(|()| mount_change(folder, shared))
            }
            done => done,
        };
        done.map_err(|errno| error(NamesStep::Share, folder)(errno.into()))
    }
}

pub(super) fn error(step: NamesStep, path: &Path) -> impl FnOnce(io::Error) -> NamesError {
    let path = path.to_owned();
    move |source| NamesError { step, path, source }
}

pub(super) fn namespace_error(path: &Path) -> impl FnOnce(NamespaceError) -> NamesError {
    let path = path.to_owned();
    move |error| NamesError {
        step: match error.step {
            Step::Enter | Step::Mounts => NamesStep::Enter,
            _ => NamesStep::Namespace,
        },
        path,
        source: error.source,
    }
}

impl fmt::Display for NamesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.step {
            NamesStep::Folder => "make the folder",
            NamesStep::Share => "share the folder",
            NamesStep::File => "make the name",
            NamesStep::Mount => "mount a namespace on",
            NamesStep::Unmount => "take the namespace off",
            NamesStep::Remove => "remove the name",
            NamesStep::List => "list the folder",
            NamesStep::Namespace => "make or open the namespace of",
            NamesStep::Enter => "enter the namespace of",
            NamesStep::Hide => "keep to itself what is mounted below",
            NamesStep::Inside => "mount what is the namespace's own on",
            NamesStep::Processes => "look for processes in",
        };
        write!(f, "cannot {what} {}", self.path.display())
    }
}

impl std::error::Error for NamesError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
