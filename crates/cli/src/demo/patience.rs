//! Waiting with an end: for a descriptor, for a time, never beyond the deadline or a signal.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tapline::Stop;

use crate::failure::{Exit, Failure};

/// Waits on behalf of the demo; each method fails when it is interrupted or the time is over.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    stop: &'a Stop,
    /// `None` is for ever.
    deadline: Option<Instant>,
}

impl<'a> Patience<'a> {
    pub fn new(stop: &'a Stop, time: Duration) -> Self {
        let deadline = Instant::now().checked_add(time);
        Self { stop, deadline }
    }

    /// The same, with a nearer end.
    pub fn at_most(&self, time: Duration) -> Self {
        let nearer = Instant::now().checked_add(time);
        let deadline = match (self.deadline, nearer) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self { deadline, ..*self }
    }

    /// Fails if there was a signal.
    pub fn check(&self) -> Result<(), Failure> {
        match self.poll(&[], Some(Duration::ZERO))? {
            Woken::Stopped => Err(interrupted()),
            Woken::Ready | Woken::Late => Ok(()),
        }
    }

    /// Returns when one of `descriptors` is ready; `what` is not had when the time is over.
    pub fn wait(
        &self,
        what: &str,
        descriptors: &[(BorrowedFd<'_>, PollFlags)],
    ) -> Result<(), Failure> {
        match self.poll(descriptors, self.left())? {
            Woken::Stopped => Err(interrupted()),
            // Late is late, even if there is something to do: it may not be what is waited for.
            Woken::Ready if self.left() != Some(Duration::ZERO) => Ok(()),
            Woken::Ready | Woken::Late => Err(late(what)),
        }
    }

    /// Returns after `time`, which is no longer than is left.
    pub fn pause(&self, time: Duration) -> Result<(), Failure> {
        let time = self.left().map_or(time, |left| left.min(time));
        match self.poll(&[], Some(time))? {
            Woken::Stopped => Err(interrupted()),
            Woken::Ready | Woken::Late => Ok(()),
        }
    }

    /// Returns at a signal, or when the time is over.
    pub fn until_stopped(&self) -> Result<(), Failure> {
        self.poll(&[], self.left())?;
        Ok(())
    }

    /// Does `operation` on a descriptor that does not block, as soon as it can be done.
    pub fn when<T>(
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
                    return result
                        .map_err(|error| Failure::job_on(format!("cannot get {what}"), &error));
                }
            }
        }
    }

    fn left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    fn poll(
        &self,
        descriptors: &[(BorrowedFd<'_>, PollFlags)],
        time: Option<Duration>,
    ) -> io::Result<Woken> {
        let mut polled = vec![PollFd::new(self.stop, PollFlags::IN)];
        polled.extend(
            descriptors
                .iter()
                .map(|(descriptor, flags)| PollFd::from_borrowed_fd(*descriptor, *flags)),
        );
        let end = time.and_then(|time| Instant::now().checked_add(time));
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            // A time beyond what the kernel can count is for ever.
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut polled, timeout.as_ref()) {
                Ok(0) => return Ok(Woken::Late),
                Ok(_) if !polled[0].revents().is_empty() => return Ok(Woken::Stopped),
                Ok(_) => return Ok(Woken::Ready),
                // A signal that asks for the end has made the stop readable.
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

enum Woken {
    Ready,
    Stopped,
    Late,
}

fn interrupted() -> Failure {
    Failure::new(
        Exit::Failed,
        "interrupted; hosts and unfinished file are removed",
    )
}

fn late(what: &str) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("waited in vain for {what}; hosts and unfinished file are removed"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_its_time_and_at_a_signal() {
        let stop = Stop::new().expect("a pipe");
        let (reader, _writer) = io::pipe().expect("a pipe");
        let wait = |patience: Patience<'_>| {
            let failure = patience.wait("an answer", &[(reader.as_fd(), PollFlags::IN)]);
            failure.expect_err("nobody writes").line
        };
        let patience = Patience::new(&stop, Duration::MAX);
        let line = wait(patience.at_most(Duration::ZERO));
        assert!(line.starts_with("waited in vain for an answer"), "{line}");
        assert!(patience.check().is_ok());
        stop.stopper().stop();
        let line = wait(patience);
        assert!(line.starts_with("interrupted"), "{line}");
        assert!(patience.check().is_err() && patience.pause(Duration::MAX).is_err());
        assert!(patience.until_stopped().is_ok());
    }
}
