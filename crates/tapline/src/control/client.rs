//! The client's side.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::ControlError;
use super::message::{ControlReply, ControlRequest};
use super::socket::{path, read_line_until, write_line};

/// Longest wait for a reply: a change replaces rings one after another.
const REPLY_TIME: Duration = Duration::from_mins(1);

/// Names listed at most.
const LISTED_MAX: usize = 10_000;

/// Sends `request` to job `name`, whose socket is in `directory`, and waits for the reply, at most a minute.
///
/// # Errors
/// [`ControlError::NotRunning`]; [`ControlError::Name`]; [`ControlError::Socket`], e.g. of another user's job;
/// and what the transfer can fail with.
pub fn ask(
    directory: &Path,
    name: &str,
    request: &ControlRequest,
) -> Result<ControlReply, ControlError> {
    let path = path(directory, name)?;
    let mut stream = UnixStream::connect(&path).map_err(|source| match source.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => ControlError::NotRunning {
            name: name.to_owned(),
        },
        _ => ControlError::Socket { path, source },
    })?;
    match write_line(&mut stream, &request.line()) {
        // A listener that refuses the user does not read: the reply is there.
        Err(ControlError::Connection { source }) if source.kind() == ErrorKind::BrokenPipe => {}
        written => written?,
    }
    let line = read_line_until(&mut stream, Instant::now() + REPLY_TIME)?;
    ControlReply::parse(&line)
}

/// The names of the sockets in `directory`, sorted. A killed job's is among them until another job starts.
///
/// # Errors
/// [`ControlError::Socket`]: the folder cannot be read. A missing one has none.
pub fn list(directory: &Path) -> Result<Vec<String>, ControlError> {
    let failed = |source| ControlError::Socket {
        path: directory.to_owned(),
        source,
    };
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries.take(LISTED_MAX) {
        let name = entry.map_err(failed)?.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(".sock"));
        names.extend(name.map(str::to_owned));
    }
    names.sort();
    Ok(names)
}
