//! The receiver of a capture's packets.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use store::model::{Interface, Statistics};
use store::write::{CaptureFile, CreatedFile, IndexCounts};

use super::super::account::loss_account::Account;
use super::super::error::CaptureError;
use super::annotations::Annotations;
use super::file_control::FileControl;
use crate::packet::Packet;
use crate::who::{ProcessCounts, ProcessFinder};

/// Why a consumer failed.
pub type ConsumerError = Box<dyn Error + Send + Sync>;

/// Receives the packets of a capture, in the capture's thread.
///
/// An error from any method ends the capture, which then returns
/// [`CaptureError::Run`](super::super::CaptureError::Run).
pub trait Consumer {
    /// Takes a packet.
    ///
    /// # Errors
    /// The packet was not taken.
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError>;

    /// An interface joins a [`HotplugCapture`](super::super::HotplugCapture): packets refer to it by the next number.
    /// Not called for the interfaces with which a capture starts.
    ///
    /// # Errors
    /// The capture is to end.
    fn interface(&mut self, _interface: &Interface) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// An interface cannot join a [`HotplugCapture`](super::super::HotplugCapture).
    fn refused(&mut self, _name: &str, _error: &CaptureError) {}

    /// No packet is waiting: flush what has been buffered. `now_ns` is the time by `CLOCK_REALTIME`.
    ///
    /// # Errors
    /// Flushing failed.
    fn idle(&mut self, _now_ns: u64) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// Called at the interval [`CaptureOptions::tick`](super::super::CaptureOptions::tick), or less often if
    /// the consumer itself takes longer.
    ///
    /// # Errors
    /// The capture is to end.
    fn tick(&mut self, _now_ns: u64, _account: &Account) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// The capture is over; `statistics` are the final counters of its interfaces.
    ///
    /// # Errors
    /// Not everything taken could be written.
    fn finish(&mut self, _statistics: &[Statistics]) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// Packets that [`packet`](Self::packet) took and that were lost later.
    fn lost(&self) -> u64 {
        0
    }
}

/// A consumer with a capture file, into which the readers of a
/// [`ParallelCapture`](super::super::ParallelCapture) encode packets themselves.
pub trait FileOwner: Consumer {
    /// The file.
    fn file(&mut self) -> &mut CaptureFile;

    /// The link type of each interface (`LINKTYPE_*`), if packets get a [`packet_id`](wire::packet_id).
    fn identified(&self) -> Option<&[u16]> {
        None
    }
}

/// A closure as a consumer.
pub struct Closure<F>(pub F);

impl<F: FnMut(&Packet<'_>) -> Result<(), ConsumerError>> Consumer for Closure<F> {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        (self.0)(packet)
    }
}

/// Writes the packets of a capture to a file.
pub struct FileConsumer {
    file: CaptureFile,
    flush_after_ns: u64,
    flushed_ns: u64,
    control: FileControl,
    /// `None` if packets are written as they are.
    annotations: Option<Box<Annotations>>,
}

impl FileConsumer {
    /// Writes to `file`. Its buffer is flushed when it is full, and when no packet waits in the rings and
    /// `flush_after` has passed since the last flush. Zero suits a pipe.
    pub fn new(file: CaptureFile, flush_after: Duration) -> Self {
        let flush_after_ns = u64::try_from(flush_after.as_nanos()).unwrap_or(u64::MAX);
        let control = FileControl::default();
        control.follow(&file);
        Self {
            file,
            flush_after_ns,
            flushed_ns: abi::clock::realtime_ns(),
            control,
            annotations: None,
        }
    }

    /// Also writes which process sent a packet, as far as `finder` finds it: its number in the option
    /// `epb_processid_threadid` and in a comment, and a description of each process once (a Process Information block).
    pub fn find_processes(&mut self, finder: ProcessFinder) {
        self.annotations
            .get_or_insert_default()
            .find_processes(finder);
    }

    /// Also writes [`packet_id`](wire::packet_id) for packets of `interfaces`, in the option `epb_packetid`.
    pub fn identify_packets(&mut self, interfaces: &[Interface]) {
        self.annotations
            .get_or_insert_default()
            .identify(interfaces);
    }

    /// Packets made on this host, by whether their process was found. `None` without
    /// [`find_processes`](Self::find_processes).
    pub fn process_counts(&self) -> Option<ProcessCounts> {
        self.annotations.as_ref()?.process_counts()
    }

    /// Notes in the file and its rotation, from other threads.
    pub fn control(&self) -> FileControl {
        self.control.clone()
    }

    /// Packets that are completely written.
    pub fn packets_written(&self) -> u64 {
        self.file.packets_written()
    }

    /// Bytes written to all files.
    pub fn bytes_written(&self) -> u64 {
        self.file.bytes_written()
    }

    /// The files written and kept, oldest first.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &CreatedFile> {
        self.file.files()
    }

    /// The indexes written beside the files. `None` if the options of the file want none.
    pub fn indexes(&self) -> Option<IndexCounts> {
        self.file.indexes()
    }

    /// Paths of the files written and kept, oldest first.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.file.files().map(|file| file.path.clone()).collect()
    }
}

impl FileOwner for FileConsumer {
    fn file(&mut self) -> &mut CaptureFile {
        &mut self.file
    }

    fn identified(&self) -> Option<&[u16]> {
        self.annotations.as_ref()?.identified()
    }
}

/// Refuses what waits for the file.
impl Drop for FileConsumer {
    fn drop(&mut self) {
        self.control.end();
    }
}

impl Consumer for FileConsumer {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        if let Some(annotations) = &mut self.annotations {
            // A copy: a packet whose address is taken cannot stay in registers.
            let packet = *packet;
            return Ok(annotations.write(&mut self.file, &packet)?);
        }
        Ok(self.file.write(packet.record())?)
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.file.add_interface(interface.clone())?;
        if let Some(annotations) = &mut self.annotations {
            annotations.interface(interface);
        }
        Ok(())
    }

    fn idle(&mut self, now_ns: u64) -> Result<(), ConsumerError> {
        self.control.apply(&mut self.file, now_ns)?;
        // If the clock was set back, the difference wraps and the buffer is flushed.
        if now_ns.wrapping_sub(self.flushed_ns) >= self.flush_after_ns {
            self.flushed_ns = now_ns;
            self.file.flush()?;
        }
        Ok(())
    }

    fn tick(&mut self, now_ns: u64, _account: &Account) -> Result<(), ConsumerError> {
        self.control.apply(&mut self.file, now_ns)?;
        let rotated = self.file.tick(now_ns);
        self.control.follow(&self.file);
        Ok(rotated?)
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        // Notes of changes that were made: a request for the next file has none any more.
        let noted = self
            .control
            .apply(&mut self.file, abi::clock::realtime_ns());
        self.control.end();
        self.file.close(statistics)?;
        Ok(noted?)
    }

    fn lost(&self) -> u64 {
        self.file.packets_lost()
    }
}
