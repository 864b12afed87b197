//! The listening socket of a job.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, Mode, chmod, flock};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use rustix::process::geteuid;
use store::output::OpenOutput;

use super::error::ControlError;
use super::message::{ControlReply, ControlRequest};
use super::{LINE_BYTES_MAX, TRANSFER_TIME};
use crate::stop::Stop;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 8;

/// Attempts to lock a file that others remove.
const LOCK_ATTEMPTS: u32 = 64;

/// Files examined at most for those that killed jobs left.
const SWEPT_MAX: usize = 10_000;

/// Longest name of a job, bytes: the path of its socket has to fit into 108.
const NAME_BYTES_MAX: usize = 64;

/// Who made a request, as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// User ID.
    pub uid: u32,
    /// Process ID.
    pub pid: u32,
}

/// The folder of the control sockets: `/run/tapline` for root, `$XDG_RUNTIME_DIR/tapline` for others.
///
/// # Errors
/// [`ControlError::NoDirectory`].
pub fn directory() -> Result<PathBuf, ControlError> {
    if geteuid().is_root() {
        return Ok(PathBuf::from("/run/tapline"));
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(runtime) if !runtime.is_empty() => Ok(Path::new(&runtime).join("tapline")),
        _ => Err(ControlError::NoDirectory),
    }
}

/// The path of the socket of job `name`.
pub(super) fn path(directory: &Path, name: &str) -> Result<PathBuf, ControlError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len());
    if !fits || name.starts_with('.') || !name.chars().all(is_plain) {
        let name = name.to_owned();
        return Err(ControlError::Name { name });
    }
    Ok(directory.join(format!("{name}.sock")))
}

/// The socket through which a job is controlled. Its file has mode 0600, and each client's user is checked.
///
/// An event loop waits until it is readable ([`AsFd`]) and calls [`serve_one`](Self::serve_one); a thread
/// calls [`serve`](Self::serve). Dropping it removes the file.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    /// `None` for a socket that another program made.
    file: Option<SocketFile>,
}

/// The socket's file, and the lock beside it. A process that is killed leaves both; the kernel unlocks.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    _lock: File,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Removed while it is locked. Who opened it before checks whether it is still the one at the path.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension("lock"));
    }
}

impl ControlSocket {
    /// Listens as job `name` in `directory`, which is made if missing. Removes the files that killed jobs left there.
    ///
    /// # Errors
    /// [`ControlError::Name`]; [`ControlError::InUse`] if a job of this name is running;
    /// [`ControlError::Socket`].
    pub fn listen(directory: &Path, name: &str) -> Result<Self, ControlError> {
        let path = path(directory, name)?;
        let failed = |source: io::Error| ControlError::Socket {
            path: path.clone(),
            source,
        };
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(directory);
        made.map_err(failed)?;
        let Some(lock) = lock(&path.with_extension("lock")).map_err(failed)? else {
            let name = name.to_owned();
            return Err(ControlError::InUse { name });
        };
        // From here on, a failure removes both.
        let file = SocketFile {
            path: path.clone(),
            _lock: lock,
        };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = open(&path).map_err(failed)?;
        remove_stale(directory);
        Ok(Self {
            listener,
            file: Some(file),
        })
    }

    /// Uses a listening unix socket that another program opened, such as systemd.
    pub fn from_listening(socket: OwnedFd) -> Self {
        Self {
            listener: UnixListener::from(socket),
            file: None,
        }
    }

    /// The socket's file; `None` if another program made it.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| &*file.path)
    }

    /// Answers requests until `stop` is requested, and then the one being answered to its end.
    ///
    /// # Errors
    /// Waiting failed. What one client does wrong is its own failure only.
    pub fn serve(
        &self,
        stop: &Stop,
        mut answer: impl FnMut(ControlRequest, Peer) -> ControlReply,
    ) -> io::Result<()> {
        let mut spare = self.spare();
        loop {
            let mut sources = [
                PollFd::new(stop, PollFlags::IN),
                PollFd::new(&self.listener, PollFlags::IN),
            ];
            match poll(&mut sources, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if !sources[0].revents().is_empty() {
                return Ok(());
            }
            if !sources[1].revents().is_empty() {
                match self.serve_one(&mut answer) {
                    Err(ControlError::Connection { source }) if has_no_descriptor(&source) => {
                        // Without an answer it would wait, and stay readable here. It sees the end of the connection.
                        spare.take();
                        self.listener.accept()?;
                        spare = self.spare();
                    }
                    // The client has been told, as far as possible.
                    _ => {}
                }
            }
        }
    }

    /// A descriptor to give up for that of a client, when this process has no other.
    fn spare(&self) -> Option<OwnedFd> {
        self.listener.as_fd().try_clone_to_owned().ok()
    }

    /// Answers the request of one client, and waits for it at most [`TRANSFER_TIME`] per line.
    ///
    /// Another user's request is not read. A request that is too long, too slow or malformed is refused.
    ///
    /// # Errors
    /// [`ControlError::Connection`], [`ControlError::Slow`]: the client has no answer.
    pub fn serve_one(
        &self,
        answer: impl FnOnce(ControlRequest, Peer) -> ControlReply,
    ) -> Result<(), ControlError> {
        let connection = |source| ControlError::Connection { source };
        let (mut stream, _) = self.listener.accept().map_err(connection)?;
        let peer = peer(&stream).map_err(connection)?;
        let refused = |error: String| ControlReply::Refused { error };
        let reply = if peer.uid != geteuid().as_raw() && peer.uid != 0 {
            refused("this capture belongs to another user".to_owned())
        } else {
            let deadline = Instant::now() + TRANSFER_TIME;
            let line = read_line(&mut stream, deadline, LINE_BYTES_MAX);
            match line.and_then(|line| ControlRequest::parse(&line)) {
                Ok(request) => answer(request, peer),
                Err(ControlError::Malformed { source }) => {
                    refused(format!("not a message of the control protocol: {source}"))
                }
                Err(error) => refused(error.to_string()),
            }
        };
        write_line(&mut stream, &reply.line())
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

fn has_no_descriptor(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE)
    )
}

/// Locks the file at `path`; `None` if another process has.
fn lock(path: &Path) -> io::Result<Option<File>> {
    for _ in 0..LOCK_ATTEMPTS {
        if let Some(lock) = try_lock(OpenOutput::create().open(path)?, path)? {
            return Ok(Some(lock));
        }
        // A job that starts holds the lock of a killed one for a moment.
        std::thread::yield_now();
    }
    Ok(None)
}

/// Locks `file`, which was opened at `path`; `None` if another process has, or if the path has another file now.
fn try_lock(file: File, path: &Path) -> io::Result<Option<File>> {
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    // A job that ended may have removed the file between the two calls. Another may have made one since.
    let is_same = |there: fs::Metadata| Ok(there.ino() == file.metadata()?.ino());
    match fs::metadata(path).and_then(is_same) {
        Ok(true) => Ok(Some(file)),
        Ok(false) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes the sockets whose lock nobody holds: of killed jobs. A failure is none of the job that starts.
fn remove_stale(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.take(SWEPT_MAX).flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "sock") {
            continue;
        }
        let lock = path.with_extension("lock");
        // A lock that is missing is not made: the job that removed it removes the socket, too.
        let file = OpenOutput::existing().open(&lock).ok();
        if let Some(lock) = file.and_then(|file| try_lock(file, &lock).ok()?) {
            drop(SocketFile { path, _lock: lock });
        }
    }
}

/// Nobody can connect before the mode is set, because nobody listens.
fn open(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    chmod(path, Mode::RUSR | Mode::WUSR)?;
    listen(&socket, BACKLOG)?;
    Ok(UnixListener::from(socket))
}

fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let credentials = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(Peer {
        uid: credentials.uid.as_raw(),
        pid: credentials.pid.as_raw_nonzero().get().unsigned_abs(),
    })
}

/// Reads up to a line end or the end of the stream, at most `bytes_max` bytes.
pub(super) fn read_line(
    stream: &mut UnixStream,
    deadline: Instant,
    bytes_max: usize,
) -> Result<Vec<u8>, ControlError> {
    let mut line = Vec::new();
    let mut part = [0; 4096];
    // Bound: each turn reads at least one byte or ends.
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ControlError::Slow);
        }
        let read = stream
            .set_read_timeout(Some(left))
            .and_then(|()| stream.read(&mut part));
        match read {
            Ok(0) => return Ok(line),
            Ok(count) => {
                let part = &part[..count];
                let end = part.iter().position(|&byte| byte == b'\n');
                line.extend_from_slice(end.map_or(part, |end| &part[..=end]));
                if line.len() > bytes_max {
                    return Err(ControlError::TooLong { bytes_max });
                }
                if end.is_some() {
                    return Ok(line);
                }
            }
            Err(error) => silent(error)?,
        }
    }
}

pub(super) fn write_line(stream: &mut UnixStream, line: &[u8]) -> Result<(), ControlError> {
    let deadline = Instant::now() + TRANSFER_TIME;
    let mut rest = line;
    // Bound: each turn writes at least one byte or ends.
    while !rest.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ControlError::Slow);
        }
        let written = stream
            .set_write_timeout(Some(left))
            .and_then(|()| stream.write(rest));
        match written {
            Ok(count) => rest = &rest[count..],
            Err(error) => silent(error)?,
        }
    }
    Ok(())
}

/// An interrupted call is repeated.
fn silent(error: io::Error) -> Result<(), ControlError> {
    match error.kind() {
        ErrorKind::Interrupted => Ok(()),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Err(ControlError::Slow),
        _ => Err(ControlError::Connection { source: error }),
    }
}
