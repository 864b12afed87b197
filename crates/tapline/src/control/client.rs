//! The client's side.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::REPLY_BYTES_MAX;
use super::error::ControlError;
use super::message::{ControlReply, ControlRequest};
use super::socket::{path, read_line, write_line};

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
    let line = read_line(&mut stream, Instant::now() + REPLY_TIME, REPLY_BYTES_MAX)?;
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::{ControlSocket, ControlStats, ControlledInterface};
    use super::*;
    use crate::capture::Lost;
    use crate::stop::Stop;

    /// Each interface that a capture of a host with many containers has had is in its answer.
    #[test]
    fn the_counters_of_thousands_of_interfaces_arrive() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = ControlSocket::listen(folder.path(), "test").expect("a socket");
        let interface = |number: u64| ControlledInterface {
            name: format!("veth{number}"),
            mode: None,
            delivered: number,
            bytes: u64::MAX,
            filtered: None,
            lost: Lost::default(),
        };
        let stats = ControlStats {
            name: "test".to_owned(),
            pid: 1,
            uid: 0,
            start_ns: 0,
            filter: String::new(),
            settings: None,
            files: Vec::new(),
            interfaces: (0..10_000).map(interface).collect(),
        };
        let reply = ControlReply::Stats(Box::new(stats));
        let stop = Stop::new().expect("a stop");
        let answered = thread::scope(|scope| {
            scope.spawn(|| socket.serve(&stop, |_, _| reply.clone()));
            let answered = ask(folder.path(), "test", &ControlRequest::Stats);
            stop.stopper().stop();
            answered
        });
        assert_eq!(answered.expect("an answer"), reply);
    }
}
