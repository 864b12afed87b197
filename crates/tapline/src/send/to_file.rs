//! Packets written to a capture file instead of an interface.

use abi::clock::{monotonic_ns, realtime_ns};
use store::model::{Interface, LinkType, Packet};
use store::write::{CaptureFile, CaptureFileOptions, Output};

use super::egress::LiveSent;
use super::error::SendError;
use super::queue::{QueueSize, SendQueue};
use super::source::{Fill, FilledQueues, SourceError};
use super::timing::{Rate, Schedule, is_stopped};
use crate::stop::Stop;

/// Writes what a job would send to a pcapng file, as fast as the file takes it.
///
/// Paced packets have their planned times, counted from now. Otherwise a packet has the time that its source gave it, or
/// if that is 0 the time of writing. The send times in stamps are the same.
///
/// ```
/// use tapline::send::{Generator, PacketKind, SendToFile};
///
/// let generator = Generator::new(PacketKind::Udp)
///     .source("10.0.0.1".parse()?)
///     .destination("10.0.0.0/24".parse()?)
///     .packets(1000);
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// let mut file = SendToFile::create("udp.pcapng")?;
/// file.run(generator.into_source()?)?;
/// println!("{} packets written", file.finish()?.packets);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "finish closes the file"]
pub struct SendToFile {
    file: CaptureFile,
    rate: Rate,
    schedule: Option<Schedule>,
    /// Wall-clock time minus `CLOCK_MONOTONIC`.
    offset_ns: u64,
    left: u64,
    stop: Stop,
    live: LiveSent,
    frame: Vec<u8>,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendToFileSummary {
    /// Packets in the file.
    pub packets: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
    /// Length of the file.
    pub file_bytes: u64,
}

controls!(SendToFile);

impl SendToFile {
    /// Creates or overwrites the file `path`.
    ///
    /// # Errors
    /// [`SendError::Write`] if it cannot be created.
    pub fn create(path: impl Into<std::path::PathBuf>) -> Result<Self, SendError> {
        Self::create_as(Output::Path(path.into()))
    }

    /// Writes to `output`, for example a pipe.
    ///
    /// # Errors
    /// [`SendError::Write`] if it cannot be written to.
    pub fn create_as(output: Output) -> Result<Self, SendError> {
        let interface = Interface::new(LinkType::ETHERNET, 0);
        let options = CaptureFileOptions::new(output, vec![interface]);
        let now_ns = realtime_ns();
        Ok(Self {
            file: CaptureFile::create(options, now_ns)?,
            rate: Rate::Max,
            schedule: None,
            offset_ns: now_ns.saturating_sub(monotonic_ns()),
            left: u64::MAX,
            stop: Stop::new().map_err(|source| SendError::Wait { source })?,
            live: LiveSent::default(),
            frame: Vec::new(),
        })
    }

    /// The rate that determines the planned times. Default: [`Rate::Max`].
    pub fn rate(mut self, rate: Rate) -> Self {
        self.rate = rate;
        self
    }

    /// Ends after so many packets. Default: at the end of the source.
    pub fn packets(mut self, packets: impl Into<Option<u64>>) -> Self {
        self.left = packets.into().unwrap_or(u64::MAX);
        self
    }

    /// Writes the packets of `source`, which fills queues on a thread of its own. While it has none, the file has all packets
    /// that it had. Returns whether all were written: not if the job was stopped, or at its packet
    /// limit.
    ///
    /// # Errors
    /// [`SendError::Source`] and [`SendError::Write`].
    pub fn run<S>(&mut self, source: S) -> Result<bool, SendError>
    where
        S: FnMut(&mut SendQueue) -> Result<Fill, SourceError> + Send + 'static,
    {
        let wait = |source| SendError::Wait { source };
        let queues = FilledQueues::start(source, QueueSize::SMALL).map_err(wait)?;
        loop {
            let file = &mut self.file;
            let next = queues.next_or(&self.stop, || file.flush().map_err(SendError::Write))?;
            let Some((fill, queue)) = next else {
                return Ok(false);
            };
            if fill == Fill::Repeat
                && let Some(schedule) = &mut self.schedule
            {
                schedule.repeat();
            }
            if !self.write(&queue)? {
                return Ok(false);
            }
            if fill == Fill::End {
                return Ok(true);
            }
            if is_stopped(&self.stop, 0).map_err(wait)? {
                return Ok(false);
            }
            queues.recycle(queue);
        }
    }

    fn write(&mut self, queue: &SendQueue) -> Result<bool, SendError> {
        let now_ns = realtime_ns();
        let rate = self.rate;
        let schedule = self
            .schedule
            .get_or_insert_with(|| Schedule::new(rate, now_ns.saturating_sub(self.offset_ns)));
        for index in 0..queue.len() {
            if self.left == 0 {
                return Ok(false);
            }
            let packet = queue.packet(index);
            let time_ns = if schedule.is_paced() {
                schedule.next(packet.bytes.len(), packet.time_ns) + self.offset_ns
            } else if packet.time_ns != 0 {
                packet.time_ns
            } else {
                now_ns
            };
            self.frame.clear();
            self.frame.extend_from_slice(packet.bytes);
            queue.stamp(&mut self.frame, time_ns);
            self.file.write(&Packet::new(time_ns, &self.frame))?;
            self.live.add(1, self.frame.len() as u64);
            self.left -= 1;
        }
        Ok(true)
    }

    /// Closes the file.
    ///
    /// # Errors
    /// [`SendError::Write`]: the last packets cannot be written.
    pub fn finish(mut self) -> Result<SendToFileSummary, SendError> {
        self.file.close(&[])?;
        Ok(SendToFileSummary {
            packets: self.live.packets(),
            bytes: self.live.bytes(),
            file_bytes: self.file.bytes_written(),
        })
    }
}
