//! The path of XDP frames: the driver sends pages, without socket buffers.

use std::io;
use std::time::Duration;

use bpf::{LiveFrames, LiveFramesError, LiveFramesSent};
use rustix::io::Errno;

use super::transmit::{Refusal, Transmit};
use crate::send::options::SendPath;
use crate::send::queue::SendQueue;
use crate::send::timing::pause;

/// Packets sent in one system call at most. It costs some ten microseconds, so that many packets share it. A stop waits for
/// at most as many: some ten milliseconds.
const BATCH: usize = 1 << 18;

/// From this many consecutive repetitions on, a packet is sent without a copy of each.
const MIN_REPEATED: usize = 64;

/// Sends XDP frames.
#[derive(Debug)]
pub struct LiveFramesPath(LiveFrames);

impl LiveFramesPath {
    /// Opens it on interface `ifindex`, in the namespace of the calling thread.
    pub fn open(ifindex: u32) -> Result<Self, LiveFramesError> {
        LiveFrames::open(ifindex).map(Self)
    }
}

impl Transmit for LiveFramesPath {
    fn path(&self) -> SendPath {
        SendPath::LiveFrames
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn send(&mut self, queue: &SendQueue, first: usize, end: usize) -> Result<usize, Refusal> {
        let repeated = queue.repeated(first, end);
        if repeated >= MIN_REPEATED {
            let frame = queue.packet(first).bytes;
            return taken(self.0.send_equal(frame, repeated.min(BATCH) as u32));
        }
        let mut pushed = 0;
        while first + pushed < end && self.0.push(queue.packet(first + pushed).bytes) {
            queue.prefetch_behind(first + pushed);
            pushed += 1;
        }
        if pushed == 0 {
            let frame = queue.packet(first).bytes;
            let is_long = frame.len() > LiveFrames::MAX_FRAME_BYTES;
            return Err(Refusal::Error(if is_long {
                Errno::MSGSIZE
            } else {
                Errno::INVAL
            }));
        }
        taken(self.0.send())
    }

    fn wait(&self, time: Duration) -> io::Result<()> {
        pause(time)
    }
}

/// Frames that the driver took.
fn taken(sent: io::Result<LiveFramesSent>) -> Result<usize, Refusal> {
    let sent =
        sent.map_err(|error| Refusal::Error(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    match (sent.sent, sent.errno) {
        (0, 0) => Err(Refusal::Full),
        (0, errno) => Err(Refusal::Error(Errno::from_raw_os_error(errno))),
        (taken, _) => Ok(taken as usize),
    }
}
