//! Finding processes in a process of its own, so that the one that parses packets needs no privileges for it.
//!
//! ```text
//! ProcessFinder, ProcessHelper ── inode of a socket, 4 bytes ──▶ serve_processes ── /proc
//!                              ◀─ length, 4 bytes; JSON ───────
//! ```
//!
//! Numbers are little endian. The first reply says that all processes have been read.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use store::model::Process;

use super::processes::Processes;

/// How long the helper may take for a reply.
const REPLY_MAX: Duration = Duration::from_secs(10);

/// Longest reply, bytes: a command line of 4096, each of up to four characters, and two paths.
const REPLY_BYTES_MAX: usize = 64 << 10;

/// Processes that are remembered.
const KNOWN_MAX: usize = 1 << 16;

/// A process, as it is sent.
#[derive(Debug, Deserialize, Serialize)]
struct SentProcess {
    id: u32,
    name: Option<String>,
    path: Option<String>,
    command_line: Vec<u8>,
    parent: Option<u32>,
    user: Option<u32>,
    start_ns: Option<u64>,
    comment: Option<String>,
}

impl From<&Process> for SentProcess {
    fn from(process: &Process) -> Self {
        let process = process.clone();
        Self {
            id: process.id,
            name: process.name,
            path: process.path,
            command_line: process.command_line,
            parent: process.parent,
            user: process.user,
            start_ns: process.start_ns,
            comment: process.comment,
        }
    }
}

impl From<SentProcess> for Process {
    fn from(sent: SentProcess) -> Self {
        Self {
            id: sent.id,
            name: sent.name,
            path: sent.path,
            command_line: sent.command_line,
            parent: sent.parent,
            user: sent.user,
            start_ns: sent.start_ns,
            comment: sent.comment,
        }
    }
}

/// The main function of the helper: answers requests until the other end is closed. Reads all processes first.
///
/// # Errors
/// Those of the connection.
/// # Privileges
/// As [`ProcessFinder`](super::ProcessFinder).
pub fn serve_processes(mut connection: UnixStream) -> io::Result<()> {
    let mut processes = Processes::find(Path::new("/proc"));
    reply(&mut connection, None)?;
    let mut inode = [0; 4];
    loop {
        match connection.read_exact(&mut inode) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let found = processes.of_socket(u32::from_le_bytes(inode));
        reply(&mut connection, found.as_deref())?;
    }
}

fn reply(connection: &mut UnixStream, process: Option<&Process>) -> io::Result<()> {
    let text = serde_json::to_vec(&process.map(SentProcess::from))?;
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let message = [&length.to_le_bytes()[..], &text].concat();
    connection.write_all(&message)
}

/// A connection to a process that runs [`serve_processes`].
#[derive(Debug)]
pub struct ProcessHelper {
    /// `None` after an error: from then on no process is found.
    connection: Option<UnixStream>,
    known: HashMap<u32, Arc<Process>>,
}

impl ProcessHelper {
    /// Waits until the helper has read all processes.
    ///
    /// # Errors
    /// Those of the connection; the helper has ended, or takes longer than 10 s.
    pub fn connect(mut connection: UnixStream) -> io::Result<Self> {
        connection.set_read_timeout(Some(REPLY_MAX))?;
        read_reply(&mut connection)?;
        Ok(Self {
            connection: Some(connection),
            known: HashMap::new(),
        })
    }

    /// The process that has the socket `inode` open.
    pub(super) fn of_socket(&mut self, inode: u32) -> Option<Arc<Process>> {
        let connection = self.connection.as_mut()?;
        let sent = connection.write_all(&inode.to_le_bytes());
        let Ok(found) = sent.and_then(|()| read_reply(connection)) else {
            self.connection = None;
            return None;
        };
        found.map(|process| self.shared(process))
    }

    /// The same as before, if it has not changed.
    fn shared(&mut self, process: Process) -> Arc<Process> {
        if let Some(known) = self.known.get(&process.id)
            && **known == process
        {
            return Arc::clone(known);
        }
        if self.known.len() == KNOWN_MAX {
            self.known.clear();
        }
        let process = Arc::new(process);
        self.known.insert(process.id, Arc::clone(&process));
        process
    }
}

fn read_reply(connection: &mut UnixStream) -> io::Result<Option<Process>> {
    let mut length = [0; 4];
    connection.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > REPLY_BYTES_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; length];
    connection.read_exact(&mut text)?;
    let sent: Option<SentProcess> = serde_json::from_slice(&text)?;
    Ok(sent.map(Process::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Compares with what is found without a helper.
    #[test]
    fn a_helper_finds_what_is_found_without_one() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let inode = rustix::fs::fstat(&socket).expect("its state").st_ino;
        let inode = u32::try_from(inode).expect("an inode of the socket file system");
        let (ours, theirs) = UnixStream::pair().expect("a connection");
        let helper = thread::spawn(move || serve_processes(theirs));
        let mut processes = ProcessHelper::connect(ours).expect("it is ready");
        let found = processes.of_socket(inode).expect("this process");
        let own = Processes::find(Path::new("/proc")).of_socket(inode);
        // The clocks are read once for each search, so that times of the start differ by nanoseconds.
        let without_start = |process: &Process| {
            assert!(process.start_ns.is_some());
            Process {
                start_ns: None,
                ..process.clone()
            }
        };
        let own = own.expect("this process");
        assert_eq!(without_start(&found), without_start(&own));
        let again = processes.of_socket(inode).expect("this process");
        assert!(Arc::ptr_eq(&found, &again));
        assert!(processes.of_socket(0).is_none());
        drop(processes);
        helper.join().expect("it ends").expect("in order");
    }

    #[test]
    fn an_invalid_reply_ends_the_search() {
        let replies: [&[u8]; 4] = [
            &[],
            &u32::MAX.to_le_bytes(),
            b"\x04\0\0\0nulx",
            b"\x08\0\0\0{\"id\":1}",
        ];
        for reply in replies {
            let (ours, mut theirs) = UnixStream::pair().expect("a connection");
            theirs.write_all(b"\x04\0\0\0null").expect("sent");
            theirs.write_all(reply).expect("sent");
            drop(theirs);
            let mut helper = ProcessHelper::connect(ours).expect("it is ready");
            assert!(helper.of_socket(7).is_none(), "{reply:?}");
            assert!(helper.connection.is_none(), "{reply:?}");
        }
    }
}
