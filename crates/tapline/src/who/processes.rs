//! The processes of the host and the sockets they have open, from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use rustix::time::{ClockId, clock_gettime};
use store::model::Process;

use super::container::Container;

/// Longest time of a search while packets wait.
pub(super) const SEARCH_MAX: Duration = Duration::from_millis(50);

/// After a search, no other one for this many times its duration: searches take at most a tenth of the time.
const REST: u64 = 9;

/// Sockets that are remembered.
const SOCKETS_MAX: usize = 1 << 18;

/// Longest command line that is kept, bytes.
const COMMAND_LINE_MAX: usize = 4096;

/// The processes that have sockets.
#[derive(Debug)]
pub(super) struct Processes {
    root: PathBuf,
    /// Process by the inode of its socket.
    by_socket: HashMap<u32, u32>,
    /// By their number, with the clock tick of their start.
    known: HashMap<u32, (u64, Arc<Process>)>,
    /// The time of day when the machine was started, nanoseconds.
    boot_ns: u64,
    /// `CLOCK_MONOTONIC` before which there is no search.
    rests_until_ns: u64,
}

impl Processes {
    /// Finds all processes and their sockets, however long it takes.
    pub fn find(root: &Path) -> Self {
        let mut processes = Self {
            root: root.to_owned(),
            by_socket: HashMap::new(),
            known: HashMap::new(),
            boot_ns: boot_ns(),
            rests_until_ns: 0,
        };
        processes.search(u64::MAX);
        processes
    }

    /// The process that has the socket `inode` open; of several, the one that started first. Searches for a socket that
    /// is not known yet, at most [`SEARCH_MAX`] long. `None` if it is not found, or if the last search was just before.
    pub fn of_socket(&mut self, inode: u32) -> Option<Arc<Process>> {
        if !self.by_socket.contains_key(&inode) {
            let now_ns = monotonic_ns();
            if now_ns < self.rests_until_ns {
                return None;
            }
            self.search(now_ns + SEARCH_MAX.as_nanos() as u64);
            let ended_ns = monotonic_ns();
            self.rests_until_ns = ended_ns + REST * (ended_ns - now_ns);
        }
        let number = *self.by_socket.get(&inode)?;
        self.process(number)
    }

    /// Reads which sockets each process has, the newest processes first.
    fn search(&mut self, deadline_ns: u64) {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
        let mut numbers: Vec<u32> = entries.filter_map(number).collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        self.known
            .retain(|number, _| numbers.binary_search_by(|other| number.cmp(other)).is_ok());
        if self.by_socket.len() > SOCKETS_MAX {
            self.by_socket.clear();
        }
        for number in numbers {
            // Other users' processes cannot be read without a privilege, and some have just ended.
            let descriptors = fs::read_dir(self.folder(number).join("fd"));
            for entry in descriptors.into_iter().flatten().flatten() {
                if monotonic_ns() > deadline_ns {
                    return;
                }
                if let Some(inode) = socket(&entry.path()) {
                    let holder = match self.by_socket.get(&inode) {
                        Some(other) if *other != number => self.first_of(*other, number),
                        _ => number,
                    };
                    self.by_socket.insert(inode, holder);
                }
            }
        }
    }

    /// The process that started first. A child has the sockets of its parent until it runs a program. Numbers begin anew
    /// after the largest, so they do not tell.
    fn first_of(&self, one: u32, other: u32) -> u32 {
        let start = |number: u32| {
            let stat = fs::read_to_string(self.folder(number).join("stat")).ok()?;
            let stat = Stat::parse(&stat)?;
            Some((stat.parent, stat.start_ticks))
        };
        match (start(one), start(other)) {
            (Some((parent_of_one, one_ticks)), Some((parent_of_other, other_ticks))) => {
                let is_child = parent_of_one == other;
                if is_child || parent_of_other != one && other_ticks < one_ticks {
                    other
                } else {
                    one
                }
            }
            (Some(_), None) => one,
            (None, _) => other,
        }
    }

    fn folder(&self, number: u32) -> PathBuf {
        self.root.join(number.to_string())
    }

    fn process(&mut self, number: u32) -> Option<Arc<Process>> {
        let folder = self.folder(number);
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        let stat = Stat::parse(&stat)?;
        if let Some((ticks, known)) = self.known.get(&number)
            && *ticks == stat.start_ticks
        {
            return Some(known.clone());
        }
        let process = Arc::new(read(&folder, number, &stat, self.boot_ns));
        self.known
            .insert(number, (stat.start_ticks, process.clone()));
        Some(process)
    }
}

/// The inode of the socket behind a link such as `socket:[4711]`.
fn socket(link: &Path) -> Option<u32> {
    let target = fs::read_link(link).ok()?;
    let inode = target
        .to_str()?
        .strip_prefix("socket:[")?
        .strip_suffix(']')?;
    inode.parse().ok()
}

/// Fields of `/proc/PID/stat`.
///
/// # Source
/// `proc_pid_stat(5)`.
struct Stat<'a> {
    name: &'a str,
    parent: u32,
    /// Clock ticks from the start of the machine to that of the process.
    start_ticks: u64,
}

impl<'a> Stat<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        // The name is in parentheses and may contain any character.
        let (before, after) = text.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let mut fields = after.split_ascii_whitespace();
        Some(Self {
            name,
            parent: fields.nth(1)?.parse().ok()?,
            start_ticks: fields.nth(17)?.parse().ok()?,
        })
    }
}

/// Reads what else is known of a process. It may have ended meanwhile.
///
/// # Source
/// `proc_pid_cmdline(5)`, `proc_pid_exe(5)`, `proc_pid_cgroup(5)`.
fn read(folder: &Path, number: u32, stat: &Stat<'_>, boot_ns: u64) -> Process {
    let groups = fs::read_to_string(folder.join("cgroup")).unwrap_or_default();
    let mut command_line = fs::read(folder.join("cmdline")).unwrap_or_default();
    command_line.truncate(COMMAND_LINE_MAX);
    let path = fs::read_link(folder.join("exe")).ok();
    Process {
        name: Some(stat.name.to_owned()),
        path: path.map(|path| path.to_string_lossy().into_owned()),
        command_line,
        parent: Some(stat.parent),
        user: fs::metadata(folder).ok().map(|metadata| metadata.uid()),
        start_ns: Some(boot_ns.saturating_add(ticks_ns(stat.start_ticks))),
        comment: Container::of(&groups).words(),
        ..Process::new(number)
    }
}

fn ticks_ns(ticks: u64) -> u64 {
    let per_second = u128::from(rustix::param::clock_ticks_per_second().max(1));
    let ns = u128::from(ticks) * 1_000_000_000 / per_second;
    u64::try_from(ns).unwrap_or(u64::MAX)
}

fn boot_ns() -> u64 {
    let since = clock_gettime(ClockId::Boottime);
    let since_ns = since.tv_sec.cast_unsigned() * 1_000_000_000 + since.tv_nsec.cast_unsigned();
    realtime_ns().saturating_sub(since_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_any_name() {
        let fields = "S 7 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0";
        for name in ["curl", "a b", "x) S 9 (y", ""] {
            let text = format!("12 ({name}) {fields}");
            let stat = Stat::parse(&text).expect("a process");
            assert_eq!((stat.name, stat.parent, stat.start_ticks), (name, 7, 4711));
        }
        for damaged in ["", "12 (curl", "12 (curl) S", "12 (curl) S x"] {
            assert!(Stat::parse(damaged).is_none());
        }
    }

    #[test]
    fn a_socket_of_parent_and_child_is_the_parents() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let inode = rustix::fs::fstat(&socket).expect("its state").st_ino;
        let inode = u32::try_from(inode).expect("an inode of the socket file system");
        let copy = std::os::fd::OwnedFd::from(socket.try_clone().expect("a copy"));
        let mut command = std::process::Command::new("cat");
        let mut child = command.stdin(copy).spawn().expect("a child");
        let mut processes = Processes::find(Path::new("/proc"));
        let (own, other) = (std::process::id(), child.id());
        let found = processes.of_socket(inode).map(|process| process.id);
        let either_way = [
            processes.first_of(own, other),
            processes.first_of(other, own),
        ];
        child.kill().expect("it runs");
        child.wait().expect("its status");
        assert_eq!(found, Some(own));
        assert_eq!(either_way, [own; 2]);
    }

    /// Compares with what the kernel says about this process otherwise.
    #[test]
    fn a_socket_leads_to_its_process() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let inode = rustix::fs::fstat(&socket).expect("its state").st_ino;
        let mut processes = Processes::find(Path::new("/proc"));
        let inode = u32::try_from(inode).expect("an inode of the socket file system");
        let process = processes.of_socket(inode).expect("this process");
        assert_eq!(process.id, std::process::id());
        let program = std::env::current_exe().expect("a program");
        assert_eq!(process.path.as_deref(), program.to_str());
        let arguments: Vec<u8> = std::env::args()
            .flat_map(|one| one.into_bytes().into_iter().chain([0]))
            .collect();
        assert_eq!(process.command_line, arguments);
        assert_eq!(process.parent, Some(std::os::unix::process::parent_id()));
        assert_eq!(process.user, Some(rustix::process::geteuid().as_raw()));
        // A socket that was opened later.
        let later = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let inode = rustix::fs::fstat(&later).expect("its state").st_ino;
        let again = processes.of_socket(u32::try_from(inode).expect("an inode"));
        assert!(Arc::ptr_eq(&process, &again.expect("this process")));
        assert!(processes.of_socket(0).is_none());
    }
}
