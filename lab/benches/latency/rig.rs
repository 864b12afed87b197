//! The link and the sender.

use std::hint;
use std::time::{Duration, Instant};

use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, send_frames, udp_frame};
use tapline_lab::{Host, Net};

const SENDER_CPU: usize = 0;
const READER_CPU: usize = 1;

/// Its name in /proc/stat.
pub const READER: &str = "cpu1";
const FRAME_BYTES: usize = 128;

pub struct Rig {
    pub sender: Host,
    pub receiver: Host,
}

impl Rig {
    /// # Panics
    /// Without root or a second processor.
    pub fn build() -> Self {
        pin_to_cpu(READER_CPU).expect("two processors, 0 and 1: one sends, one reads");
        let [sender, receiver] = Net::new().pair();
        Self { sender, receiver }
    }

    /// The interface that is read from.
    pub fn interface(&self) -> String {
        self.receiver.interface().name.to_string()
    }

    /// Sends a frame at each of the moments after now, by looking at the clock all the time; tells how
    /// long that took.
    pub fn send_at(&self, moments: impl Iterator<Item = Duration> + Send) -> Duration {
        let out = self.sender.interface().index;
        let frame = udp_frame(FRAME_BYTES);
        self.sender.run(move || {
            pin_to_cpu(SENDER_CPU).expect("the sender's processor");
            let start = Instant::now();
            let due = moments.map(|moment| {
                while start.elapsed() < moment {
                    hint::spin_loop();
                }
                &frame
            });
            send_frames(out, due).expect("frames are sent");
            start.elapsed()
        })
    }

    /// A generator of many frames.
    pub fn generator(&self) -> Generator {
        let options = GeneratorOptions::new(self.sender.interface().index, udp_frame(FRAME_BYTES));
        let mut generator = self.sender.run(|| Generator::new(options));
        let peer = self.receiver.interface().index;
        self.receiver.run(|| generator.attach_peer(peer));
        generator
    }

    /// Sends by `generator` at a rate; tells how long it took.
    pub fn generate(&self, generator: &mut Generator, count: u64, rate_pps: u64) -> Duration {
        self.sender.run(|| {
            pin_to_cpu(SENDER_CPU).expect("the sender's processor");
            generator.deliver(count, Some(rate_pps)).duration
        })
    }
}

/// Puts the calling thread where readers run.
pub fn to_reader_cpu() {
    pin_to_cpu(READER_CPU).expect("the reader's processor");
}
