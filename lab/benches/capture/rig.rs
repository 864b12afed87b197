//! The link, the traffic and the place for files.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use rustix::fs::statvfs;
use tapline_lab::generator::{Generator, GeneratorOptions, Sent, pin_to_cpu, udp_frame};
use tapline_lab::{Host, Net};
use tempfile::TempDir;

/// Length of a frame, without the frame check sequence.
pub const FRAME_BYTES: usize = 128;
/// Bytes kept of each.
pub const SNAPLEN: u32 = 96;
/// Memory of a reader's ring.
pub const RING_MIB: u32 = 32;
/// Most frames of a trial.
pub const MOST_FRAMES: u64 = 2_000_000;

/// The longest record of a file: pcapng's, with flags and a number of dropped packets.
const RECORD_BYTES: u64 = 28 + SNAPLEN as u64 + 8 + 12 + 4 + 4;
const TMPFS: &str = "/dev/shm";

pub const SENDER_CPU: usize = 0;
pub const READER_CPU: usize = 1;

pub struct Rig {
    pub sender: Host,
    pub receiver: Host,
    /// Where files are written and the readers find their filter; removed at the end.
    pub folder: TempDir,
    generator: RefCell<Generator>,
}

impl Rig {
    /// # Panics
    /// Without root, a second processor, or room for a file.
    pub fn build() -> Self {
        pin_to_cpu(READER_CPU).expect("two processors, 0 and 1: one sends, one reads");
        pin_to_cpu(SENDER_CPU).expect("processor 0");
        let folder = TempDir::with_prefix_in("tapline-bench.", TMPFS).expect("a folder on tmpfs");
        let room = statvfs(folder.path()).expect("its free space");
        let free = room.f_bavail * room.f_frsize;
        let needed = MOST_FRAMES * RECORD_BYTES;
        assert!(
            free > needed,
            "{TMPFS} has {free} bytes free and the bench needs {needed}"
        );

        let [sender, receiver] = Net::new().pair();
        let options = GeneratorOptions::new(sender.interface().index, udp_frame(FRAME_BYTES));
        let mut generator = sender.run(|| Generator::new(options));
        receiver.run(|| generator.attach_peer(receiver.interface().index));
        let generator = generator.into();
        Self {
            sender,
            receiver,
            folder,
            generator,
        }
    }

    /// The interface that the readers capture from.
    pub fn interface(&self) -> String {
        self.receiver.interface().name.to_string()
    }

    /// Sends until `count` frames have arrived at the receiver's interface.
    pub fn deliver(&self, count: u64, rate_pps: Option<u64>) -> Sent {
        assert!(
            count <= MOST_FRAMES,
            "a file of {count} packets has no room"
        );
        let mut generator = self.generator.borrow_mut();
        let generator = &mut *generator;
        self.sender.run(move || {
            pin_to_cpu(SENDER_CPU).expect("the sender's processor");
            generator.deliver(count, rate_pps)
        })
    }

    /// A file with [`snaplen_program`].
    pub fn snaplen_filter(&self) -> PathBuf {
        let path = self.folder.path().join("snaplen.bpf");
        fs::write(&path, snaplen_program()).expect("the filter is written");
        path
    }
}

/// A classic BPF program that keeps [`SNAPLEN`] bytes of every packet, as bpfc(8) writes it.
pub fn snaplen_program() -> String {
    format!("{{ 0x6, 0, 0, 0x{SNAPLEN:08x} }},\n")
}
