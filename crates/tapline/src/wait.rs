//! Waiting for descriptors, for a limited time.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// The longest wait of one system call.
const MAX_WAIT: Duration = Duration::from_hours(24);

/// Whether a descriptor is ready within `time`. A signal ends the wait early.
///
/// # Source
/// poll(2).
pub fn wait(descriptors: &mut [PollFd<'_>], time: Duration) -> io::Result<bool> {
    let time = time.min(MAX_WAIT);
    let timeout = Timespec {
        tv_sec: time.as_secs().cast_signed(),
        tv_nsec: time.subsec_nanos().into(),
    };
    match poll(descriptors, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
