//! Copies the beginnings of an interface's packets into slots of shared memory and drops the packets.

mod poll_end;
mod program;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use abi::bpf::{MapLayout, MapType, online_cpus, open_raw_tracepoint};
use abi::region::{ReadOnlyRegion, page_bytes};
use abi::ring_buffer::HEADER_BYTES;
use wire::record::{RECORD_HEADER_BYTES, SlotRing};

use super::per_cpu::{by_cpu, ring_buffer};
use super::select::sampler;
use super::{PacketSelection, XdpCounters, XdpProgramError};
use crate::Sampler;
use crate::map::MapError;
use crate::program::{Program, ProgramKind};
use crate::xdp::XdpLink;

const NAME: &str = "tapline_slots";

/// The tracepoint at the end of each NAPI poll (`__napi_poll`, net/core/dev.c).
const POLL_END: &std::ffi::CStr = c"napi_poll";

/// Options of a [`SlotProgram`].
#[derive(Clone, Copy, Debug)]
pub struct SlotProgramOptions<'c> {
    /// Bytes copied of each packet: 1 to [`SlotProgram::MAX_SNAPLEN`]. Other values count as the nearest of
    /// these.
    pub snaplen: u32,
    /// Memory of all CPUs together, bytes. Each CPU gets a power of two, from 64 KiB to 256 MiB.
    pub buffer_bytes: usize,
    /// Which packets are taken.
    pub selection: PacketSelection<'c>,
}

impl SlotProgramOptions<'_> {
    /// Takes `snaplen` bytes of every packet; 128 MiB of memory.
    pub fn new(snaplen: u32) -> Self {
        Self {
            snaplen,
            buffer_bytes: 128 << 20,
            selection: PacketSelection::default(),
        }
    }
}

/// An XDP program that copies the beginning of each packet into a slot of its CPU's shared memory and drops
/// the packet.
///
/// ```text
/// per CPU:  page 0   read position; whether the reader sleeps            (written by the reader)
///           page 1   write position; counters                            (written by the program)
///           page 2…  slots, each a power of two of bytes for one packet  (written by the program)
/// ```
///
/// Each CPU's memory has one writer, the CPU, and one reader, so neither takes a lock. A slot holds the same
/// record as a BPF ring buffer ([`wire::record`]), but all slots have the same size.
///
/// The program reads the clock for the first packet of a NAPI poll, for every 8th packet after it, and for each
/// packet that follows one that was not taken. Other packets carry the time of the packet before them, some
/// hundred nanoseconds ago. A second program, at the end of each NAPI poll, resets the time and wakes a sleeping
/// reader. A driver without NAPI (tun without `IFF_NAPI`) never runs it: times may then be one kernel tick old,
/// and the reader is not woken.
#[derive(Debug)]
pub struct SlotProgram {
    program: Program,
    memory: Arc<SlotMemory>,
    /// Shared with successors, so that sampling continues where it was.
    sampler: Option<Arc<Sampler>>,
}

/// Memory of all CPUs, and the program that wakes its readers.
#[derive(Debug)]
struct SlotMemory {
    /// Detached after the link of the programs that fill the memory, which the caller holds.
    _poll_end: OwnedFd,
    slots: abi::bpf::Map,
    slot_bytes: u32,
    data_bytes: u32,
    snaplen: u32,
    cpus: Vec<Cpu>,
    /// The ring buffer of each CPU through which the second program wakes the reader.
    wakes: abi::bpf::Map,
}

/// Memory of one CPU.
#[derive(Debug)]
struct Cpu {
    number: u32,
    wakes: abi::bpf::Map,
    counters: ReadOnlyRegion,
}

impl SlotProgram {
    /// Longest run of packets that share one time stamp.
    pub const PACKETS_PER_TIMESTAMP: u32 = 8;
    /// Largest snaplen: a slot of 512 bytes.
    pub const MAX_SNAPLEN: u32 = 512 - FRONT_BYTES;
    /// Whether this CPU architecture is supported. The reader relies on the store order of x86-64; BPF has
    /// no store barrier that the program could use elsewhere.
    pub const SUPPORTED: bool = cfg!(target_arch = "x86_64");

    /// Creates the memory of each CPU up to the highest online one and loads both programs. The one at the end
    /// of a NAPI poll runs from now on, for all interfaces. Packets of a higher CPU that goes online later are
    /// passed to the stack.
    ///
    /// Attach the program with [`XdpLink::attach`].
    ///
    /// # Errors
    /// [`XdpProgramError::Map`] and [`XdpProgramError::Load`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`.
    /// # Kernel
    /// Linux 5.18 (`bpf_xdp_load_bytes`).
    pub fn load(options: &SlotProgramOptions<'_>) -> Result<Self, XdpProgramError> {
        let sampler = sampler(options.selection.sampling)?;
        let last = online_cpus().map_err(error)?.last().copied().unwrap_or(0);
        // Offline CPUs in between get memory, too: they may go online later.
        let memory = SlotMemory::new(options, (0..=last).collect())?;
        Self::with(&options.selection, Arc::new(memory), sampler.map(Arc::new))
    }

    /// Loads a program with new memory for the same CPUs, which can [replace](SlotProgram::take_over) this one.
    /// Ignores `options.selection.sampling`: the sampler of this program is shared.
    ///
    /// # Errors
    /// As [`SlotProgram::load`].
    /// # Privileges
    /// As [`SlotProgram::load`].
    pub fn successor(&self, options: &SlotProgramOptions<'_>) -> Result<Self, XdpProgramError> {
        let numbers = self.memory.cpus.iter().map(|cpu| cpu.number).collect();
        let memory = SlotMemory::new(options, numbers)?;
        Self::with(&options.selection, Arc::new(memory), self.sampler.clone())
    }

    /// Loads a program that takes the packets of another selection into the same memory, and counts them there. It can
    /// [replace](SlotProgram::take_over) this one. Its sampling begins anew.
    ///
    /// # Errors
    /// As [`SlotProgram::load`].
    /// # Privileges
    /// As [`SlotProgram::load`].
    pub fn selecting(&self, selection: &PacketSelection<'_>) -> Result<Self, XdpProgramError> {
        let sampler = sampler(selection.sampling)?;
        Self::with(selection, self.memory.clone(), sampler.map(Arc::new))
    }

    /// Whether both programs fill the same memory.
    pub fn shares_memory(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    fn with(
        selection: &PacketSelection<'_>,
        memory: Arc<SlotMemory>,
        sampler: Option<Arc<Sampler>>,
    ) -> Result<Self, XdpProgramError> {
        let code = program::code(selection, &memory.layout(), sampler.as_deref());
        Ok(Self {
            program: Program::load(ProgramKind::XdpFrags, NAME, &code)?,
            memory,
            sampler,
        })
    }

    /// The memory of each CPU, for `ring::BpfRing`.
    pub fn rings(&self) -> impl ExactSizeIterator<Item = SlotRing<'_>> {
        let memory = &*self.memory;
        memory.cpus.iter().map(|cpu| SlotRing {
            map: memory.slots.as_fd(),
            wakes: cpu.wakes.as_fd(),
            index: cpu.number,
            slot_bytes: memory.slot_bytes,
        })
    }

    /// Replaces the program that `link` attaches by this one. Each packet meets exactly one of the two.
    ///
    /// Blocks some ten milliseconds. When it returns, no CPU runs the previous program any more, and all
    /// packets that it took are in its memory.
    ///
    /// # Errors
    /// ENOLINK if the interface is gone.
    /// # Source
    /// `maybe_wait_bpf_programs`, kernel/bpf/syscall.c.
    pub fn take_over(&self, link: &mut XdpLink) -> io::Result<()> {
        link.replace(&self.program)?;
        // An update of a map of maps returns only after all programs that may have seen the old value have
        // ended.
        let Some(cpu) = self.memory.cpus.first() else {
            return Ok(());
        };
        let descriptor = cpu.wakes.as_fd().as_raw_fd().to_ne_bytes();
        self.memory
            .wakes
            .update(&cpu.number.to_ne_bytes(), &descriptor)
    }

    /// The loaded program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Packets so far, over all CPUs and all programs that fill the same memory. Makes no system call.
    pub fn counters(&self) -> XdpCounters {
        let all = (0..self.memory.cpus.len()).map(|ring| self.counters_of(ring));
        all.fold(XdpCounters::default(), |sum, one| sum + one)
    }

    /// As [`counters`](Self::counters), of the CPU that fills the `ring`th of the [`rings`](Self::rings).
    ///
    /// # Panics
    /// If there are not as many.
    pub fn counters_of(&self, ring: usize) -> XdpCounters {
        let cpu = &self.memory.cpus[ring];
        let read = |at: i16| cpu.counters.load64_acquire(at.cast_unsigned().into());
        XdpCounters {
            delivered: read(program::WRITTEN) / u64::from(self.memory.slot_bytes),
            unmatched: read(program::UNMATCHED),
            sampled_out: read(program::SAMPLED_OUT),
            lost: read(program::LOST),
            unstamped: 0,
        }
    }
}

impl SlotMemory {
    fn new(options: &SlotProgramOptions<'_>, numbers: Vec<u32>) -> Result<Self, XdpProgramError> {
        let snaplen = options.snaplen.clamp(1, SlotProgram::MAX_SNAPLEN);
        let slot_bytes = (FRONT_BYTES + snaplen).next_power_of_two();
        let data_bytes = data_bytes(options.buffer_bytes / numbers.len().max(1));
        let page = page_bytes() as u32;
        let layout = MapLayout {
            map_type: MapType::Array,
            key_bytes: 4,
            value_bytes: 2 * page + data_bytes,
            max_entries: numbers.last().map_or(1, |last| last + 1),
        };
        let slots = abi::bpf::Map::create_mappable(&layout, NAME).map_err(error)?;
        let cpu = |number| Cpu::new(number, &slots, layout.value_bytes);
        let cpus: io::Result<Vec<_>> = numbers.into_iter().map(cpu).collect();
        let cpus = cpus.map_err(error)?;
        let wakes: Vec<_> = (cpus.iter())
            .map(|cpu| (cpu.number, cpu.wakes.as_fd()))
            .collect();
        let wakes = by_cpu(NAME, &wakes).map_err(error)?;
        let memory = program::Memory {
            slots: slots.as_fd(),
            slot_bytes,
            data_bytes,
            page_bytes: page,
            snaplen,
        };
        let code = poll_end::code(&memory, wakes.as_fd());
        let poll_end = Program::load(ProgramKind::Tracepoint, "tapline_pollend", &code)?;
        let poll_end = open_raw_tracepoint(poll_end.as_fd(), POLL_END).map_err(error)?;
        Ok(Self {
            _poll_end: poll_end,
            slots,
            slot_bytes,
            data_bytes,
            snaplen,
            cpus,
            wakes,
        })
    }

    fn layout(&self) -> program::Memory<'_> {
        program::Memory {
            slots: self.slots.as_fd(),
            slot_bytes: self.slot_bytes,
            data_bytes: self.data_bytes,
            page_bytes: page_bytes() as u32,
            snaplen: self.snaplen,
        }
    }
}

impl Cpu {
    fn new(number: u32, slots: &abi::bpf::Map, value_bytes: u32) -> io::Result<Self> {
        let page = page_bytes();
        let own = u64::from(number) * u64::from(value_bytes);
        Ok(Self {
            number,
            wakes: ring_buffer("tapline_wakes", page as u32)?,
            counters: ReadOnlyRegion::map_at(slots.as_fd(), own + page as u64, page)?,
        })
    }
}

/// Bytes of a slot before the packet.
const FRONT_BYTES: u32 = HEADER_BYTES as u32 + RECORD_HEADER_BYTES as u32;

/// Size of a CPU's slots: the largest power of two in `bytes`, within bounds that the verifier has, too.
fn data_bytes(bytes: usize) -> u32 {
    let bytes = bytes.clamp(1 << 16, 1 << 28) as u32;
    1 << bytes.ilog2()
}

fn error(source: io::Error) -> XdpProgramError {
    MapError::creating(NAME, MapType::Array)(source).into()
}
