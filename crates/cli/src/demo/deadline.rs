//! Waits that end at a deadline or a signal.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tapline::Stop;

use crate::failure::{Exit, Failure};

/// A deadline. Each wait fails when the deadline passes or a signal arrives.
#[derive(Clone, Copy)]
pub struct Deadline<'a> {
    stop: &'a Stop,
    /// `None`: no limit.
    end: Option<Instant>,
}

enum WakeReason {
    Ready,
    Signal,
    Timeout,
}

impl<'a> Deadline<'a> {
    pub fn after(stop: &'a Stop, time: Duration) -> Self {
        let end = Instant::now().checked_add(time);
        Self { stop, end }
    }

    /// Fails if a signal has arrived.
    pub fn check(&self) -> Result<(), Failure> {
        self.pause(Duration::ZERO)
    }

    /// Waits until one of `descriptors` is ready. `what` names the awaited event in the error.
    pub fn wait(
        &self,
        what: &str,
        descriptors: &[(BorrowedFd<'_>, PollFlags)],
    ) -> Result<(), Failure> {
        match self.poll(descriptors, self.left())? {
            WakeReason::Signal => Err(interrupted()),
            // A ready descriptor after the deadline may not be the awaited event.
            WakeReason::Ready if self.left() != Some(Duration::ZERO) => Ok(()),
            WakeReason::Ready | WakeReason::Timeout => Err(Failure::new(
                Exit::Failed,
                format!("timed out waiting for {what}; hosts and incomplete file are removed"),
            )),
        }
    }

    /// Waits for `time`, or until the deadline if that is sooner.
    pub fn pause(&self, time: Duration) -> Result<(), Failure> {
        let time = self.left().map_or(time, |left| left.min(time));
        match self.poll(&[], Some(time))? {
            WakeReason::Signal => Err(interrupted()),
            WakeReason::Ready | WakeReason::Timeout => Ok(()),
        }
    }

    /// Waits for a signal until the deadline.
    pub fn wait_for_signal(&self) -> Result<(), Failure> {
        self.poll(&[], self.left())?;
        Ok(())
    }

    /// Repeats `operation` on a non-blocking descriptor until it does not block.
    pub fn retry<T>(
        &self,
        what: &str,
        descriptor: &impl AsFd,
        flags: PollFlags,
        mut operation: impl FnMut() -> io::Result<T>,
    ) -> Result<T, Failure> {
        loop {
            match operation() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(what, &[(descriptor.as_fd(), flags)])?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => self.check()?,
                result => {
                    return result.map_err(|error| {
                        Failure::job_on(format!("waiting for {what} failed"), &error)
                    });
                }
            }
        }
    }

    fn left(&self) -> Option<Duration> {
        let end = self.end?;
        Some(end.saturating_duration_since(Instant::now()))
    }

    fn poll(
        &self,
        descriptors: &[(BorrowedFd<'_>, PollFlags)],
        time: Option<Duration>,
    ) -> io::Result<WakeReason> {
        let mut polled = vec![PollFd::new(self.stop, PollFlags::IN)];
        polled.extend(
            descriptors
                .iter()
                .map(|(descriptor, flags)| PollFd::from_borrowed_fd(*descriptor, *flags)),
        );
        let end = time.and_then(|time| Instant::now().checked_add(time));
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            // A time too long for the kernel means no limit.
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut polled, timeout.as_ref()) {
                Ok(0) => return Ok(WakeReason::Timeout),
                Ok(_) if !polled[0].revents().is_empty() => return Ok(WakeReason::Signal),
                Ok(_) => return Ok(WakeReason::Ready),
                // If the signal asks to stop, the stop is readable now.
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

fn interrupted() -> Failure {
    Failure::new(
        Exit::Failed,
        "interrupted; hosts and incomplete file are removed",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_deadline_and_at_a_signal() {
        let stop = Stop::new().expect("a pipe");
        let (reader, _writer) = io::pipe().expect("a pipe");
        let wait = |deadline: Deadline<'_>| {
            let failure = deadline.wait("an answer", &[(reader.as_fd(), PollFlags::IN)]);
            failure.expect_err("nobody writes").line
        };
        let line = wait(Deadline::after(&stop, Duration::ZERO));
        assert!(
            line.starts_with("timed out waiting for an answer"),
            "{line}"
        );
        let unlimited = Deadline::after(&stop, Duration::MAX);
        assert!(unlimited.check().is_ok());
        stop.stopper().stop();
        let line = wait(unlimited);
        assert!(line.starts_with("interrupted"), "{line}");
        assert!(unlimited.check().is_err() && unlimited.pause(Duration::MAX).is_err());
        assert!(unlimited.wait_for_signal().is_ok());
    }
}
