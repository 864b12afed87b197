//! Tests that run one at a time, after all others: they fork processes that keep the rings of other tests alive.

use std::io::{self, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};

use crate::support::{BACKENDS, BROADCAST, bytes_of, collect, frame, options, send};
use lab::{Net, tool};
use tapline_ring::{HandoverGroup, PreparedRing, RingOpenError};

/// A process that was forked and calls execve(2) when this is dropped. It has all descriptors and mappings.
struct Forked {
    release: PipeWriter,
    spawning: Option<JoinHandle<io::Result<Child>>>,
}

impl Forked {
    fn begin() -> Self {
        let (mut begun, tell) = io::pipe().unwrap();
        let (wait, release) = io::pipe().unwrap();
        let mut command = tool::command("cat");
        command.stdin(Stdio::null());
        let hold = move || {
            (&tell).write_all(&[0])?;
            (&wait).read_exact(&mut [0])
        };
        // SAFETY: between fork and exec the closure makes two system calls on descriptors that it owns; it neither allocates
        // nor locks.
        unsafe { command.pre_exec(hold) };
        let spawning = thread::spawn(move || command.spawn());
        begun.read_exact(&mut [0]).unwrap();
        Self {
            release,
            spawning: Some(spawning),
        }
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        self.release.write_all(&[0]).unwrap();
        if let Some(spawning) = self.spawning.take() {
            let mut child = spawning.join().unwrap().unwrap();
            assert!(child.wait().unwrap().success());
        }
    }
}

/// A replaced ring is a member of the group until a forked process, too, has closed it. It would get the packets of the ring that
/// replaced it.
#[test]
fn no_ring_takes_over_while_a_forked_process_has_the_one_before_the_newest() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let options = options(version);
        let name = right.interface().name.to_string();
        let opened = right.run(|| HandoverGroup::open(&name, &options));
        let (mut first, mut relay) = opened.unwrap();
        let next = right.run(|| relay.prepare(&options).and_then(PreparedRing::take_over));
        let mut next = next.unwrap();
        let forked = Forked::begin();
        assert!(first.is_at_end().unwrap());
        next.follow(first);
        let frames = [60, 61, 62].map(|bytes| frame(BROADCAST, bytes));
        let refused = right.run(|| relay.prepare(&options).map(drop));
        assert!(matches!(refused, Err(RingOpenError::Busy { .. })));
        send(&left, &frames[..1]);
        drop(forked);
        send(&left, &frames[1..2]);
        assert_eq!(bytes_of(collect(&mut next, 2)), frames[..2]);
        let last = right.run(|| relay.prepare(&options).and_then(PreparedRing::take_over));
        let mut last = last.unwrap();
        send(&left, &frames[2..]);
        assert!(next.is_at_end().unwrap());
        last.follow(next);
        assert_eq!(bytes_of(collect(&mut last, 1)), frames[2..]);
        assert!(last.is_at_end().unwrap());
        assert_eq!(last.counters().accepted, 3, "{version:?}");
    }
}
