//! The capture, on a thread of its own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFlags, eventfd};
use store::model::{Packet, Section, Statistics};
use store::write::{CaptureFile, Options as FileOptions, Output};
use tapline::capture::{
    Account, Capture, Consumer, ConsumerError, Ended, FileConsumer, Options, Outcome,
};
use tapline::{Stop, Stopper};

use super::hosts::Host;
use super::patience::Patience;
use crate::failure::{Exit, Failure, chain};

/// How long packets may be on their way from the link into the capture.
const ARRIVAL: Duration = Duration::from_secs(3);

/// A capture that runs. Dropping it ends it.
pub struct Recording {
    thread: Option<JoinHandle<(Outcome, FileConsumer)>>,
    stopper: Stopper,
    taken: Arc<Taken>,
    pub backend: &'static str,
    pub ring_bytes: usize,
}

/// What the capture says at its end.
pub struct Recorded {
    pub account: Account,
    pub backend: &'static str,
    pub packets_written: u64,
    pub bytes_written: u64,
}

/// What has been taken so far, for those who wait for it.
struct Taken {
    packets: AtomicU64,
    is_over: AtomicBool,
    event: OwnedFd,
}

impl Recording {
    /// Captures on the interface of `host`, both directions, into `file`.
    pub fn start(host: &Host, file: &Path) -> Result<Self, Failure> {
        let options = Options {
            links: vec![host.name.to_string()],
            ..Options::default()
        };
        let capture = host.run(|| Capture::open(options))??;
        let (backend, ring_bytes) = capture
            .links()
            .next()
            .map_or(("", 0), |link| (link.backend.name(), link.buffer_bytes));
        let consumer = FileConsumer::new(create(&capture, file)?, Duration::from_secs(1));

        let taken = Arc::new(Taken {
            packets: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(io::Error::from)?,
        });
        let mut watched = Watched {
            inner: consumer,
            packets: 0,
            taken: Arc::clone(&taken),
        };
        let stop = Stop::new()?;
        let stopper = stop.stopper();
        let work = move || {
            let outcome = capture.run(&mut watched, &stop);
            (outcome, watched.inner)
        };
        let thread = thread::Builder::new().name("capture".into()).spawn(work)?;
        Ok(Self {
            thread: Some(thread),
            stopper,
            taken,
            backend,
            ring_bytes,
        })
    }

    /// Ends the capture when `packets` have been taken, or have had time enough to arrive.
    pub fn finish(mut self, packets: u64, patience: &Patience<'_>) -> Result<Recorded, Failure> {
        let arrival = patience.at_most(ARRIVAL);
        let mut number = [0; 8];
        while self.taken.packets.load(Ordering::Acquire) < packets
            && !self.taken.is_over.load(Ordering::Acquire)
        {
            let event = self.taken.event.as_fd();
            if arrival.wait("packets", &[(event, PollFlags::IN)]).is_err() {
                // Those that are missing show in the comparison.
                patience.check()?;
                break;
            }
            // Read empty, so that the next wait is for the next event; there is one to be read.
            let _ = rustix::io::read(event, &mut number);
        }
        let Some((outcome, consumer)) = self.end() else {
            return Err(Failure::new(Exit::Failed, "the capture broke off"));
        };
        match &outcome.ended {
            Ended::Stopped => Ok(Recorded {
                account: outcome.account,
                backend: self.backend,
                packets_written: consumer.packets_written(),
                bytes_written: consumer.bytes_written(),
            }),
            Ended::Consumer(error) => Err(Failure::new(Exit::Failed, chain(&**error))),
            Ended::Wait(error) => Err(Failure::job_on("cannot wait for packets", error)),
            _ => Err(Failure::new(Exit::Failed, "the capture ended early")),
        }
    }

    /// Stops the thread and waits for it, which takes about a second at most.
    fn end(&mut self) -> Option<(Outcome, FileConsumer)> {
        self.stopper.stop();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.end();
    }
}

fn create(capture: &Capture, path: &Path) -> Result<CaptureFile, Failure> {
    let output = Output::Path(path.to_owned());
    let mut options = FileOptions::new(output, capture.interfaces().to_vec());
    options.section = Section {
        os: Some(Capture::operating_system()),
        hardware: Some(std::env::consts::ARCH.to_owned()),
        comment: Some("traffic between two test hosts, made by tapline demo".into()),
        ..options.section
    };
    options.statistics = capture.statistics_source();
    CaptureFile::create(options, abi::clock::realtime_ns()).map_err(|error| Failure::job(&error))
}

/// A consumer that says how far it is.
struct Watched {
    inner: FileConsumer,
    packets: u64,
    taken: Arc<Taken>,
}

impl Watched {
    fn tell(&self) {
        // Release pairs with the acquire of who waits; the event itself orders nothing.
        self.taken.packets.store(self.packets, Ordering::Release);
        // Refused only when 2⁶⁴ − 2 events are unread.
        let _ = rustix::io::write(&self.taken.event, &1_u64.to_ne_bytes());
    }
}

impl Consumer for Watched {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.packets += 1;
        self.inner.packet(packet)
    }

    fn idle(&mut self, now_ns: u64) -> Result<(), ConsumerError> {
        self.tell();
        self.inner.idle(now_ns)
    }

    fn tick(&mut self, now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        self.inner.tick(now_ns, account)
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        self.taken.is_over.store(true, Ordering::Release);
        self.tell();
        self.inner.finish(statistics)
    }

    fn lost(&self) -> u64 {
        self.inner.lost()
    }
}
