//! The capture of the demo, in its own thread, and the file it writes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tapline::capture::{
    Account, Capture, CaptureError, CaptureSummary, FileConsumer, LiveCounters,
};
use tapline::file::model::Section;
use tapline::file::write::{CaptureFile, CaptureFileOptions, Output};
use tapline::{Stop, Stopper};
use tempfile::{Builder, TempDir};

use super::deadline::Deadline;
use super::hosts::Host;
use crate::failure::{Exit, Failure};

/// How long packets may take from the interface to the capture.
const MAX_DELAY: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A running capture. Dropping it stops the capture.
pub struct Recording {
    thread: Option<JoinHandle<(Result<CaptureSummary, CaptureError>, FileConsumer)>>,
    stopper: Stopper,
    counters: LiveCounters,
    pub backend: &'static str,
    pub ring_bytes: usize,
}

/// What the capture reports at its end.
pub struct Recorded {
    pub account: Account,
    pub backend: &'static str,
    pub packets_written: u64,
    pub bytes_written: u64,
}

impl Recording {
    /// Captures both directions on the interface of `host` into `file`.
    pub fn start(host: &Host, file: &Path) -> Result<Self, Failure> {
        let capture = tapline::capture(host.name.to_string());
        let mut capture = host.run(|| capture.open())??;
        let (backend, ring_bytes) = capture
            .links()
            .next()
            .map_or(("", 0), |link| (link.backend.name(), link.buffer_bytes));
        let mut consumer = FileConsumer::new(create(&capture, file)?, Duration::from_secs(1));
        let counters = capture.live();
        let stop = Stop::new()?;
        let stopper = stop.stopper();
        let work = move || (capture.run_consumer(&mut consumer, &stop), consumer);
        let thread = thread::Builder::new().name("capture".into()).spawn(work)?;
        Ok(Self {
            thread: Some(thread),
            stopper,
            counters,
            backend,
            ring_bytes,
        })
    }

    /// Stops the capture when it has delivered `packets`, or when they are overdue. The comparison shows
    /// missing packets.
    pub fn finish(mut self, packets: u64, deadline: &Deadline<'_>) -> Result<Recorded, Failure> {
        let end = Instant::now() + MAX_DELAY;
        while self.counters.delivered().0 < packets && Instant::now() < end {
            deadline.pause(POLL_INTERVAL)?;
        }
        let Some((summary, consumer)) = self.stop() else {
            return Err(Failure::new(Exit::Failed, "the capture thread panicked"));
        };
        Ok(Recorded {
            account: summary?.account,
            backend: self.backend,
            packets_written: consumer.packets_written(),
            bytes_written: consumer.bytes_written(),
        })
    }

    /// Stops the thread and waits for it, about a second at most.
    fn stop(&mut self) -> Option<(Result<CaptureSummary, CaptureError>, FileConsumer)> {
        self.stopper.stop();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop();
    }
}

fn create(capture: &Capture, path: &Path) -> Result<CaptureFile, Failure> {
    let output = Output::Path(path.to_owned());
    let mut options = CaptureFileOptions::new(output, capture.interfaces().to_vec());
    options.section = Section {
        os: Some(Capture::operating_system()),
        hardware: Some(std::env::consts::ARCH.to_owned()),
        comment: Some("traffic between two test hosts of tapline demo".into()),
        ..options.section
    };
    options.statistics = capture.statistics_source();
    CaptureFile::create(options, crate::values::moment::now_ns())
        .map_err(|error| Failure::job(&error))
}

const FILE_NAME: &str = "demo.pcapng";

/// The output file. It is written to a new directory, which is removed unless the file is finished. Only
/// SIGKILL leaves it behind.
pub struct OutputFile {
    directory: TempDir,
    path: PathBuf,
    /// Where the finished file is moved; `None` if it stays.
    target: Option<PathBuf>,
}

impl OutputFile {
    /// Creates the directory below `target`, or below the system's directory for temporary files.
    pub fn prepare(target: Option<&Path>) -> Result<Self, Failure> {
        let parent = target.map_or_else(std::env::temp_dir, Path::to_owned);
        let mut builder = Builder::new();
        builder.prefix("tapline-demo-");
        // Other users than root may read the file too.
        builder.permissions(Permissions::from_mode(0o755));
        let failed =
            |error| Failure::job_on(format!("cannot write to {}", parent.display()), &error);
        // Checked first: the error of creating a directory would name the new directory.
        fs::metadata(&parent).map_err(failed)?;
        let directory = builder.tempdir_in(&parent).map_err(failed)?;
        Ok(Self {
            path: directory.path().join(FILE_NAME),
            target: target.map(|target| target.join(FILE_NAME)),
            directory,
        })
    }

    /// Where the file is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the finished file will be.
    pub fn final_path(&self) -> &Path {
        self.target.as_deref().unwrap_or(&self.path)
    }

    /// Keeps the file and returns its path.
    pub fn finish(self) -> Result<PathBuf, Failure> {
        // Capture files are private, but this one holds only the demo's own traffic, and the user who ran
        // sudo wants to read it.
        fs::set_permissions(&self.path, Permissions::from_mode(0o644))
            .map_err(|error| Failure::job_on("cannot make the file readable", &error))?;
        let Some(target) = self.target else {
            let _ = self.directory.keep();
            return Ok(self.path);
        };
        fs::rename(&self.path, &target).map_err(|error| {
            let what = format!("cannot move the file to {}", target.display());
            Failure::job_on(what, &error)
        })?;
        Ok(target)
    }
}
