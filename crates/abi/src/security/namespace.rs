//! Network namespaces without names.
//!
//! A namespace lives as long as something refers to it: a process or thread inside, a descriptor, a
//! mount. [`NetNamespace`] is the descriptor, so a namespace made here is gone with its process,
//! however that ends; nothing has to be cleaned up.
//!
//! Membership belongs to a thread. Work inside a namespace is therefore done on a thread of its own
//! that ends with the work: no thread of the caller is ever left in the wrong place. What was opened
//! there (sockets, children) stays in the namespace.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, io, thread};

use rustix::net::sockopt::socket_type;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::signal::with_signals_blocked;
use crate::socket::check;

/// A network namespace. It lives while this value or anything inside exists.
#[derive(Debug)]
pub struct NetNamespace {
    descriptor: OwnedFd,
}

/// Identity of a namespace: device and inode of its descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NamespaceId {
    /// Device of the kernel's namespace file system.
    pub device: u64,
    /// Inode, as `readlink /proc/self/ns/net` shows it in brackets.
    pub inode: u64,
}

/// The operation on a namespace that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Starting the thread for the namespace.
    StartThread,
    /// Making the namespace.
    Create,
    /// Opening it at this path.
    Open(PathBuf),
    /// Entering it.
    Enter,
    /// Asking which one it is.
    Identify,
    /// Holding it for a child process.
    Share,
    /// Asking which one a socket belongs to.
    OfSocket,
    /// Unsharing the calling thread's mounts.
    Mounts,
}

/// Why a namespace could not be created, found or entered.
#[derive(Debug)]
#[non_exhaustive]
pub struct NamespaceError {
    /// The operation.
    pub step: Step,
    /// The kernel's error.
    pub source: io::Error,
}

impl NetNamespace {
    /// Creates a network namespace. It contains only a loopback interface, which is down.
    ///
    /// Equals `ip netns add`, without the name: no other process can find it but through `/proc`.
    ///
    /// # Errors
    /// `Step::Create` with EPERM without the privilege, ENOSPC at the limit of namespaces.
    /// # Privileges
    /// `CAP_SYS_ADMIN`.
    /// # Source
    /// unshare(2), `CLONE_NEWNET`.
    pub fn create() -> Result<Self, NamespaceError> {
        on_own_thread(|| {
            // SAFETY: `NEWNET` alone is passed: the descriptor table stays shared with all threads.
            let made = unsafe { unshare_unsafe(UnshareFlags::NEWNET) };
            made.map_err(|errno| NamespaceError::new(Step::Create, errno))?;
            Self::current()
        })
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// `Step::Open` when `/proc` is not mounted.
    pub fn current() -> Result<Self, NamespaceError> {
        Self::open(Path::new("/proc/thread-self/ns/net"))
    }

    /// The namespace that `ip netns` calls `name`: `/run/netns/NAME`.
    ///
    /// # Errors
    /// `Step::Open` with ENOENT if there is none, EINVAL if `name` is not one path component.
    pub fn named(name: &str) -> Result<Self, NamespaceError> {
        let path = Path::new("/run/netns").join(name);
        if name.is_empty() || name == "." || name == ".." || name.contains('/') {
            return Err(NamespaceError::new(
                Step::Open(path),
                io::ErrorKind::InvalidInput,
            ));
        }
        Self::open(&path)
    }

    /// Opens the namespace at `path`: `/proc/PID/ns/net` or a bind mount of such a link.
    ///
    /// The type of the file is checked when the namespace is entered, not here.
    ///
    /// # Errors
    /// `Step::Open` with errors of open(2).
    pub fn open(path: &Path) -> Result<Self, NamespaceError> {
        match File::open(path) {
            Ok(file) => Ok(Self {
                descriptor: file.into(),
            }),
            Err(source) => Err(NamespaceError::new(Step::Open(path.into()), source)),
        }
    }

    /// The namespace of `socket`, independent of the calling thread's.
    ///
    /// # Errors
    /// `Step::OfSocket` with EPERM without the privilege, ENOTSOCK when it is no socket.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns it.
    /// # Kernel
    /// Linux 4.10.
    /// # Source
    /// `sock_ioctl`, net/socket.c.
    #[doc(alias = "SIOCGSKNS")]
    pub fn of_socket(socket: BorrowedFd<'_>) -> Result<Self, NamespaceError> {
        let failed = |source: io::Error| NamespaceError::new(Step::OfSocket, source);
        // On a descriptor that is not a socket, this request number may mean something else.
        socket_type(socket).map_err(|errno| failed(errno.into()))?;
        // SAFETY: the argument is a plain number, and sockets take none.
        let number = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGSKNS as _, 0) };
        let number = check(number).map_err(failed)?;
        // SAFETY: the kernel answers a socket with a descriptor that it has just opened for the caller, and
        // nothing else knows it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        Ok(Self { descriptor })
    }

    /// Which namespace this is.
    ///
    /// # Errors
    /// `Step::Identify` with errors of fstat(2).
    pub fn id(&self) -> Result<NamespaceId, NamespaceError> {
        let stat = rustix::fs::fstat(&self.descriptor)
            .map_err(|errno| NamespaceError::new(Step::Identify, errno))?;
        Ok(NamespaceId {
            device: stat.st_dev,
            inode: stat.st_ino,
        })
    }

    /// Whether the descriptor is of a namespace: a name without its mount is an ordinary file.
    ///
    /// # Source
    /// `NSFS_MAGIC`, include/uapi/linux/magic.h.
    pub fn is_namespace(&self) -> bool {
        let status = rustix::fs::fstatfs(&self.descriptor);
        status.is_ok_and(|status| status.f_type == libc::NSFS_MAGIC)
    }

    /// Runs `job` inside, on a thread of its own, and returns its result.
    ///
    /// Sockets opened and processes spawned by `job` belong to the namespace for good; `/proc/sys/net`
    /// and `/proc/net` read there are the namespace's. Blocks until `job` is done. A panic of `job`
    /// resumes in the caller. The thread blocks signals, which a process that `job` spawns inherits.
    ///
    /// # Errors
    /// `Step::StartThread`, or `Step::Enter`: EPERM without the privilege, EINVAL when this is no
    /// network namespace. `job` has not run then.
    /// # Privileges
    /// `CAP_SYS_ADMIN` in the user namespaces of the caller and of the namespace.
    /// # Source
    /// setns(2).
    pub fn run<T: Send>(&self, job: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        on_own_thread(|| {
            enter(self.descriptor.as_fd())
                .map_err(|source| NamespaceError::new(Step::Enter, source))?;
            Ok(job())
        })
    }

    /// Moves the calling thread into the namespace permanently and unshares its mount namespace. The copied
    /// mounts keep their propagation settings.
    ///
    /// For a process that is about to exec another program.
    ///
    /// # Errors
    /// `Step::Enter` as for [`run`](Self::run); `Step::Mounts` with ENOSPC at the limit of namespaces.
    /// # Privileges
    /// As for [`run`](Self::run).
    /// # Source
    /// unshare(2), `CLONE_NEWNS`.
    pub fn enter_with_own_mounts(&self) -> Result<(), NamespaceError> {
        enter(self.as_fd()).map_err(|source| NamespaceError::new(Step::Enter, source))?;
        // SAFETY: `NEWNS` alone is passed: the descriptor table stays shared with all threads.
        let own = unsafe { unshare_unsafe(UnshareFlags::NEWNS) };
        own.map_err(|errno| NamespaceError::new(Step::Mounts, errno))
    }

    /// A second descriptor of the same namespace.
    ///
    /// # Errors
    /// `Step::Share` if the process has no free descriptor.
    pub fn try_clone(&self) -> Result<Self, NamespaceError> {
        let descriptor = self.descriptor.try_clone();
        let descriptor = descriptor.map_err(|source| NamespaceError::new(Step::Share, source))?;
        Ok(Self { descriptor })
    }

    /// A command whose process will be inside, whichever thread spawns it.
    ///
    /// Equals `ip -n` or `nsenter --net`: only the network is the namespace's. Entering happens in the
    /// child, so its failure is the error of `spawn`.
    ///
    /// # Errors
    /// `Step::Share` if no descriptor is free.
    /// # Privileges
    /// As for [`run`](Self::run).
    pub fn command(&self, program: impl AsRef<OsStr>) -> Result<Command, NamespaceError> {
        let own = self.descriptor.try_clone();
        let own = own.map_err(|source| NamespaceError::new(Step::Share, source))?;
        let mut command = Command::new(program);
        // SAFETY: between fork and exec the closure makes one system call on a descriptor it owns; it
        // neither allocates nor locks, and an error is made of the bare errno.
        unsafe { command.pre_exec(move || enter(own.as_fd())) };
        Ok(command)
    }
}

impl AsFd for NetNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network)).map_err(Into::into)
}

/// Runs `job` on a thread with the caller's name, so that a panic shows its origin.
fn on_own_thread<T: Send>(
    job: impl FnOnce() -> Result<T, NamespaceError> + Send,
) -> Result<T, NamespaceError> {
    let mut builder = thread::Builder::new();
    if let Some(name) = thread::current().name() {
        builder = builder.name(name.into());
    }
    thread::scope(|scope| {
        let started = with_signals_blocked(|| builder.spawn_scoped(scope, job));
        let started = started.map_err(|source| NamespaceError::new(Step::StartThread, source))?;
        started
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl NamespaceError {
    fn new(step: Step, source: impl Into<io::Error>) -> Self {
        Self {
            step,
            source: source.into(),
        }
    }
}

impl fmt::Display for NamespaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Step::StartThread => f.write_str("cannot start a thread for a network namespace"),
            Step::Create => f.write_str("cannot create a network namespace"),
            Step::Open(path) => write!(f, "cannot open network namespace {}", path.display()),
            Step::Enter => f.write_str("cannot enter the network namespace"),
            Step::Identify => f.write_str("cannot identify the network namespace"),
            Step::Mounts => f.write_str("cannot have mounts of one's own"),
            Step::Share => f.write_str("cannot hold the network namespace for a child"),
            Step::OfSocket => f.write_str("cannot find the network namespace of a socket"),
        }
    }
}

impl std::error::Error for NamespaceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
