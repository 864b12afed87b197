//! The link, the far end that counts, and the files to send.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use bpf::{
    Condition, Counters, Helper, Insn, Label, Program, ProgramKind, Reg, Size, XdpAttachMode,
    XdpLink,
};
use netlink::Netlink;
use store::model::{Interface, LinkType, Packet};
use store::write::{CaptureFile, CaptureFileOptions, Format, Output};
use tapline_lab::generator::udp_frame;
use tapline_lab::{Host, Net};
use tempfile::TempDir;

/// Packets in each file, so that a tool which reads it again for each pass does so rarely.
pub const FILE_PACKETS: u64 = 1 << 16;

const TMPFS: &str = "/dev/shm";

/// What the packets meet at the other end of the veth pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarEnd {
    /// An XDP program that counts and drops.
    Xdp,
    /// The kernel's stack, which drops packets that are not for its MAC address.
    Stack,
}

pub struct Rig {
    pub near: Host,
    pub far: Host,
    end: FarEnd,
    /// The program's counter, and its attachment.
    program: Option<(Counters<1>, XdpLink)>,
    netlink: Netlink,
    folder: TempDir,
}

impl Rig {
    /// # Panics
    /// Without root.
    pub fn build(end: FarEnd) -> Self {
        let [near, far] = Net::new().pair();
        let program = (end == FarEnd::Xdp).then(|| {
            let counter = Counters::create("bench_far_end").expect("a counter");
            let program =
                Program::load(ProgramKind::Xdp, "bench_far_end", &count_and_drop(&counter));
            let program = program.expect("the kernel takes the program");
            let index = far.interface().index.0;
            let attached = far.run(|| XdpLink::attach(&program, index, XdpAttachMode::Native));
            (counter, attached.expect("a veth takes XDP programs"))
        });
        let netlink = far.netlink();
        Self {
            near,
            far,
            end,
            program,
            netlink,
            folder: TempDir::with_prefix_in("tapline-send.", TMPFS).expect("a folder on tmpfs"),
        }
    }

    pub fn end(&self) -> FarEnd {
        self.end
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The interface that is sent on.
    pub fn interface(&self) -> String {
        self.near.interface().name.to_string()
    }

    /// Packets that arrived at the far end so far: counted by its program, or by its interface.
    pub fn arrived(&mut self) -> u64 {
        if let Some((counter, _)) = &self.program {
            let [count] = counter.read().expect("the program's counter");
            return count;
        }
        let link = self.netlink.link(self.far.interface().index);
        let statistics = link.expect("the far interface").statistics;
        statistics.expect("the kernel counts").rx_packets
    }

    /// Writes files with frames of `bytes` bytes.
    pub fn traffic(&self, bytes: usize) -> Traffic {
        Traffic::write(self.folder.path(), bytes)
    }
}

/// The same frames, as each tool reads them.
#[derive(Clone, Debug)]
pub struct Traffic {
    pub frame_bytes: usize,
    /// [`FILE_PACKETS`] packets.
    pub pcap: PathBuf,
    /// A packet in the language of trafgen(8).
    pub config: PathBuf,
    /// The frame itself.
    pub raw: PathBuf,
}

impl Traffic {
    fn write(folder: &Path, bytes: usize) -> Self {
        let path = |extension: &str| folder.join(format!("{bytes}.{extension}"));
        let traffic = Self {
            frame_bytes: bytes,
            pcap: path("pcap"),
            config: path("cfg"),
            raw: path("raw"),
        };
        let frame = udp_frame(bytes);
        fs::write(&traffic.raw, &frame).expect("room on tmpfs");
        let octets: Vec<_> = frame.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let text = format!("{{ {} }}\n", octets.join(", "));
        fs::write(&traffic.config, text).expect("room on tmpfs");
        let times = (0..FILE_PACKETS).map(|number| number * 1000);
        write_pcap(&traffic.pcap, &frame, times);
        traffic
    }
}

/// Writes copies of a frame at the given times: nanoseconds, of which the file keeps microseconds.
pub fn write_pcap(path: &Path, frame: &[u8], times: impl Iterator<Item = u64>) {
    let interface = Interface::new(LinkType::ETHERNET, 262_144);
    let mut options = CaptureFileOptions::new(Output::Path(path.into()), vec![interface]);
    options.format = Format::PcapMicros;
    options.buffer_bytes = 1 << 20;
    let mut file = CaptureFile::create(options, 0).expect("a file");
    for time_ns in times {
        let packet = Packet::new(1_700_000_000_000_000_000 + time_ns, frame);
        file.write(&packet).expect("room for the file");
    }
    file.close(&[]).expect("room for the file");
}

fn count_and_drop(counter: &Counters<1>) -> [Insn<'_>; 11] {
    const XDP_DROP: i32 = 1;
    const DROP: Label = Label(0);
    [
        Insn::store(Size::Word, Reg::R10, -4, 0),
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, -4),
        Insn::LoadMap {
            dst: Reg::R1,
            map: counter.as_fd(),
        },
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(Condition::Equal, Reg::R0, 0, DROP),
        Insn::mov(Reg::R1, 1),
        Insn::AtomicAdd {
            base: Reg::R0,
            offset: 0,
            src: Reg::R1,
        },
        Insn::Place(DROP),
        Insn::mov32(Reg::R0, XDP_DROP),
        Insn::Exit,
    ]
}
