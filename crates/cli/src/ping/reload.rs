//! SIGHUP reads the file of targets again.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use rustix::thread::CapabilitySet;
use tapline::ping::TargetControl;

use super::output::warnings;
use super::target_list::{KnownNames, TargetList};
use crate::args::PingArgs;
use crate::failure::Failure;
use crate::process::{privilege, user};

/// Reads the targets again when the signal arrives, on a thread of its own: names are looked up there.
pub struct Reloader {
    /// Has a byte for each signal.
    pub signals: UnixStream,
    pub args: PingArgs,
    /// Names keep their addresses, so that a lookup that fails removes no target.
    pub known: KnownNames,
    pub control: TargetControl,
}

impl Reloader {
    /// The thread ends with the program. It can read the files that this one could.
    pub fn start(self) -> io::Result<()> {
        let kept = CapabilitySet::DAC_READ_SEARCH | user::to_follow(&self.args.user);
        privilege::spawn_with(kept, "reload", || self.run())
    }

    fn run(mut self) {
        // Signals that arrive while the file is read are one request.
        while self.signals.read(&mut [0; 64]).is_ok_and(|read| read > 0) {
            if let Err(failure) = self.reload() {
                let below = match failure.below.as_str() {
                    "" => String::new(),
                    below => format!("; {below}"),
                };
                let line = format!("{}{below}; the targets stay as they are", failure.line);
                warnings::warn(&line);
            }
        }
    }

    fn reload(&mut self) -> Result<(), Failure> {
        let list = TargetList::read(&self.args, &self.known)?;
        list.require_targets()?;
        for line in list.skipped.iter().chain(&list.waiting) {
            warnings::warn(line);
        }
        self.known = list.names();
        // Fails if the run is over.
        let replaced = self.control.replace(list.targets);
        replaced.map_err(|error| Failure::job(&error))
    }
}
