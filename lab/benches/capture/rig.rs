//! The link, the traffic and the folder for files.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bpf::{Insn, Program, ProgramKind, Reg, XdpAttachMode, XdpLink};
use rustix::fs::statvfs;
use tapline_lab::generator::{Generator, GeneratorOptions, Sent, pin_to_cpu, udp_frame};
use tapline_lab::{Host, Net};
use tempfile::TempDir;

use crate::ballast::Ballast;
use crate::harness::thread_time;

/// Length of a frame, without the frame check sequence.
pub const FRAME_BYTES: usize = 128;
/// Snap length.
pub const SNAPLEN: u32 = 96;
/// Memory of a reader's ring.
pub const RING_MIB: u32 = 32;
/// As [`RING_MIB`] in drop mode, where each CPU has a share.
pub const DROP_RING_MIB: u32 = 128;
/// Maximum frames per trial: about a second's worth, many times the ring's capacity, so that a reader has to keep up.
pub const MOST_FRAMES: u64 = 4_000_000;
/// As [`MOST_FRAMES`] if the driver drops the frames or the reader's program receives them before the stack.
pub const DROP_FRAMES: u64 = 16_000_000;

/// The longest record of a file: a pcapng record with flags, queue and drop count.
const RECORD_BYTES: u64 = 28 + SNAPLEN as u64 + 8 + 8 + 12 + 4 + 4;
const TMPFS: &str = "/dev/shm";

pub const SENDER_CPU: usize = 0;
pub const READER_CPU: usize = 1;

pub struct Rig {
    pub sender: Host,
    pub receiver: Host,
    /// Folder for output files and filters; removed at the end.
    pub folder: TempDir,
    /// Memory for output files.
    _ballast: Option<Ballast>,
}

/// The XDP program on the receiver's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The generator's program, which counts and passes all frames.
    Counted,
    /// The XDP program of a reader, or [`Rig::drop_all`].
    Reader,
}

/// Frames to send, once a reader is ready for them.
pub struct Traffic<'r> {
    rig: &'r Rig,
    generator: Generator,
}

impl Rig {
    /// A rig for readers that write to /dev/null.
    ///
    /// # Panics
    /// Without root or a second CPU.
    #[allow(dead_code, reason = "the bench libpcap_door uses it")]
    pub fn without_files() -> Self {
        Self::new(None)
    }

    /// A rig for readers that also write files.
    ///
    /// # Panics
    /// As [`Self::without_files`], and without enough space for a file.
    pub fn build() -> Self {
        let folder = folder();
        let room = statvfs(folder.path()).expect("its free space");
        let free = room.f_bavail * room.f_frsize;
        // Leave some space for other kernel allocations between two files.
        let needed = DROP_FRAMES * RECORD_BYTES * 5 / 4;
        assert!(
            free > needed,
            "{TMPFS} has {free} bytes free and the bench needs {needed}"
        );
        Self::new(Some(
            Ballast::hold(folder.path(), needed).expect("a file on tmpfs"),
        ))
    }

    fn new(ballast: Option<Ballast>) -> Self {
        pin_to_cpu(READER_CPU).expect("two CPUs, 0 and 1: one sends, one reads");
        pin_to_cpu(SENDER_CPU).expect("CPU 0");
        let [sender, receiver] = Net::new().pair();
        Self {
            sender,
            receiver,
            folder: folder(),
            _ballast: ballast,
        }
    }

    /// The interface that the readers capture from.
    pub fn interface(&self) -> String {
        self.receiver.interface().name.to_string()
    }

    /// Prepares frames for a reader that starts later.
    pub fn traffic(&self, arrival: Arrival) -> Traffic<'_> {
        let out = self.sender.interface().index;
        let options = GeneratorOptions::new(out, udp_frame(FRAME_BYTES));
        let mut generator = self.sender.run(|| Generator::new(options));
        match arrival {
            Arrival::Counted => {
                let peer = self.receiver.interface().index;
                self.receiver.run(|| generator.attach_peer(peer));
            }
            Arrival::Reader => self.sender.run(|| generator.attach_own()),
        }
        Traffic {
            rig: self,
            generator,
        }
    }

    /// Drops every frame in the receiver's driver with an XDP program.
    pub fn drop_all(&self) -> XdpLink {
        const XDP_DROP: i32 = 1;
        let code = [Insn::mov32(Reg::R0, XDP_DROP), Insn::Exit];
        let program = Program::load(ProgramKind::Xdp, "drop_all", &code).expect("a program");
        let index = self.receiver.interface().index.0;
        let attached = |program| XdpLink::attach(program, index, XdpAttachMode::Native);
        self.receiver
            .run(|| attached(&program))
            .expect("a free interface")
    }

    /// Writes a file with [`snaplen_program`].
    pub fn snaplen_filter(&self) -> PathBuf {
        let path = self.folder.path().join("snaplen.bpf");
        fs::write(&path, snaplen_program()).expect("the filter is written");
        path
    }
}

fn folder() -> TempDir {
    TempDir::with_prefix_in("tapline-bench.", TMPFS).expect("a folder on tmpfs")
}

impl Traffic<'_> {
    /// Sends until `count` frames have arrived at the receiver's interface. Also returns the CPU time used, including
    /// the receiver's driver, programs and stack.
    pub fn deliver(&mut self, count: u64, rate_pps: Option<u64>) -> (Sent, Duration) {
        assert!(
            count <= DROP_FRAMES,
            "a file of {count} packets has no room"
        );
        let generator = &mut self.generator;
        self.rig.sender.run(move || {
            pin_to_cpu(SENDER_CPU).expect("the sender's CPU");
            let before = thread_time();
            let sent = generator.deliver(count, rate_pps);
            (sent, thread_time().saturating_sub(before))
        })
    }
}

/// A classic BPF program that keeps [`SNAPLEN`] bytes of every packet, in the format of bpfc(8).
pub fn snaplen_program() -> String {
    format!("{{ 0x6, 0, 0, 0x{SNAPLEN:08x} }},\n")
}
