//! Taking the beginnings of an interface's packets into memory that the reader shares.

mod poll_end;
mod program;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use abi::bpf::{MapLayout, MapType, online_cpus, open_raw_tracepoint};
use abi::region::{ReadOnlyRegion, page_bytes};
use abi::ring_buffer::{HEADER_BYTES, MIRRORED_BYTES, SlotPlace};

use crate::choice::{self, sampler};
use crate::map::MapError;
use crate::per_cpu::{by_cpu, ring_buffer};
use crate::program::{Program, ProgramKind};
use crate::xdp::{XdpLink, XdpPlace};
use crate::{Insn, Label, Others, RedirectError, Sampler, Sampling};

const NAME: &str = "tapline_intake";

/// The tracepoint at the end of each round of a driver's packets (`__napi_poll`, net/core/dev.c).
const POLL_END: &std::ffi::CStr = c"napi_poll";

/// What an [`Intake`] is to do.
#[derive(Clone, Copy, Debug)]
pub struct IntakeOptions<'c> {
    /// Bytes copied of a packet: 1 to [`Intake::MAX_SNAPLEN`]; others count as the nearest of these.
    pub snaplen: u32,
    /// Memory of all CPUs together, bytes; each has a power of two, from 64 KiB to 256 MiB.
    pub buffer_bytes: usize,
    /// Code that chooses: it finds the context (`struct xdp_md`) in `R1`, leaves it in `R6`, and goes
    /// to [`Intake::TAKE`] or [`Intake::OTHERS`], at its end too. Without code all are taken.
    pub select: &'c [Insn<'c>],
    /// Which of the chosen packets are taken; `None` takes all.
    pub sampling: Option<Sampling>,
    /// What becomes of the packets that are not taken.
    pub others: Others,
}

impl IntakeOptions<'_> {
    /// Takes `snaplen` bytes of every packet, with 128 MiB of memory.
    pub fn new(snaplen: u32) -> Self {
        Self {
            snaplen,
            buffer_bytes: 128 << 20,
            select: &[],
            sampling: None,
            others: Others::Pass,
        }
    }
}

/// Packets that an [`Intake`] has seen since it was loaded, by what it did with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntakeCounts {
    /// Taken: the reader has the beginning, and the rest is gone.
    pub taken: u64,
    /// Not chosen.
    pub others: u64,
    /// Chosen, and left out by sampling: what becomes of others became of them.
    pub sampled_out: u64,
    /// To be taken, and gone because there was no room.
    pub lost: u64,
}

/// What two of them have seen.
impl std::ops::Add for IntakeCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            taken: self.taken + other.taken,
            others: self.others + other.others,
            sampled_out: self.sampled_out + other.sampled_out,
            lost: self.lost + other.lost,
        }
    }
}

/// An XDP program that takes packets from the driver: it copies the beginning of each into memory of
/// its CPU that the reader shares, and drops the packet.
///
/// ```text
/// of each CPU:  page 0   how far the reader has read; whether it sleeps      (written by the reader)
///               page 1   how far the program has written; its counters       (written by the program)
///               page 2…  slots of a power of two of bytes, one for a packet  (written by the program)
/// ```
///
/// The CPU is the only writer and there is one reader, so neither takes a lock. What the program
/// writes is laid out as in a ring buffer ([`abi::ring_buffer`]), in slots of equal size.
///
/// The clock is read for the first packet of a driver's round, for every 8th after it and after every
/// one that is not taken; packets in between have the time of the packet before them, which was
/// some hundred nanoseconds ago. A second program at the end of each round sees to that and wakes
/// a reader that sleeps. Where a driver has no rounds (tun without NAPI), a time may be old by a tick
/// of the kernel, and the reader is not woken.
#[derive(Debug)]
pub struct Intake {
    program: Program,
    /// Detached after the program's link, which is the caller's.
    _poll_end: OwnedFd,
    slots: abi::bpf::Map,
    slot_bytes: u32,
    cpus: Vec<Cpu>,
    /// Where the second program finds what wakes the reader of its CPU.
    wakes: abi::bpf::Map,
    /// What it remembers goes on in successors.
    sampler: Option<Arc<Sampler>>,
}

/// What a CPU has.
#[derive(Debug)]
struct Cpu {
    number: u32,
    wakes: abi::bpf::Map,
    counters: ReadOnlyRegion,
}

impl Intake {
    /// Packets in a row that may have one time stamp.
    pub const PACKETS_PER_TIMESTAMP: u32 = 8;
    /// Where `select` goes with packets that are not to be taken.
    pub const OTHERS: Label = choice::OTHERS;
    /// Where `select` goes with packets that are to be taken.
    pub const TAKE: Label = choice::TAKE;
    /// Largest snaplen: a slot of 512 bytes.
    pub const MAX_SNAPLEN: u32 = 512 - FRONT_BYTES;
    /// Whether there is one for this machine: the reader must see stores in their order, which the
    /// program cannot ask of every processor.
    pub const SUPPORTED: bool = cfg!(target_arch = "x86_64");

    /// Makes the memory of each CPU up to the last that is switched on and loads the program; the one at
    /// the end of a round runs from now on, on all interfaces. Packets that come to a CPU beyond, switched
    /// on later, go on into the stack.
    ///
    /// # Errors
    /// [`RedirectError::Map`] and [`RedirectError::Load`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`.
    /// # Kernel
    /// Linux 5.18 (`bpf_xdp_load_bytes`).
    pub fn load(options: &IntakeOptions<'_>) -> Result<Self, RedirectError> {
        let sampler = sampler(options.sampling).map_err(RedirectError::Map)?;
        let last = online_cpus().map_err(on)?.last().copied().unwrap_or(0);
        // Those that are switched off among them have memory anyway, and may be switched on.
        Self::with(options, (0..=last).collect(), sampler.map(Arc::new))
    }

    /// Loads one that can [take over](Intake::take_over) from this one, with memory for the same CPUs.
    /// `options.sampling` does not count: sampling goes on as in this one.
    ///
    /// # Errors
    /// As [`Intake::load`].
    /// # Privileges
    /// As [`Intake::load`].
    pub fn successor(&self, options: &IntakeOptions<'_>) -> Result<Self, RedirectError> {
        let numbers = self.cpus.iter().map(|cpu| cpu.number).collect();
        Self::with(options, numbers, self.sampler.clone())
    }

    fn with(
        options: &IntakeOptions<'_>,
        numbers: Vec<u32>,
        sampler: Option<Arc<Sampler>>,
    ) -> Result<Self, RedirectError> {
        let snaplen = options.snaplen.clamp(1, Self::MAX_SNAPLEN);
        let slot_bytes = (FRONT_BYTES + snaplen).next_power_of_two();
        let data_bytes = data_bytes(options.buffer_bytes / numbers.len().max(1));
        let page = page_bytes() as u32;
        let layout = MapLayout {
            map_type: MapType::Array,
            key_bytes: 4,
            value_bytes: 2 * page + data_bytes,
            max_entries: numbers.last().map_or(1, |last| last + 1),
        };
        let slots = abi::bpf::Map::create_mappable(&layout, NAME).map_err(on)?;
        let cpu = |number| Cpu::new(number, &slots, layout.value_bytes);
        let cpus: io::Result<Vec<_>> = numbers.into_iter().map(cpu).collect();
        let cpus = cpus.map_err(on)?;
        let wakes: Vec<_> = (cpus.iter())
            .map(|cpu| (cpu.number, cpu.wakes.as_fd()))
            .collect();
        let wakes = by_cpu(NAME, &wakes).map_err(on)?;
        let memory = program::Memory {
            slots: slots.as_fd(),
            slot_bytes,
            data_bytes,
            page_bytes: page,
            snaplen,
        };
        let code = program::code(options, &memory, sampler.as_deref());
        let program =
            Program::load(ProgramKind::XdpFrags, NAME, &code).map_err(RedirectError::Load)?;
        let code = poll_end::code(&memory, wakes.as_fd());
        let poll_end = Program::load(ProgramKind::Tracepoint, "tapline_pollend", &code);
        let poll_end = poll_end.map_err(RedirectError::Load)?;
        let poll_end = open_raw_tracepoint(poll_end.as_fd(), POLL_END).map_err(on)?;
        Ok(Self {
            program,
            _poll_end: poll_end,
            slots,
            slot_bytes,
            cpus,
            wakes,
            sampler,
        })
    }

    /// The memory of each CPU, for `ring::RingBuffer`.
    pub fn places(&self) -> impl ExactSizeIterator<Item = SlotPlace<'_>> {
        self.cpus.iter().map(|cpu| SlotPlace {
            map: self.slots.as_fd(),
            wakes: cpu.wakes.as_fd(),
            index: cpu.number,
            slot_bytes: self.slot_bytes,
        })
    }

    /// Attaches the program to interface `ifindex` of the calling thread's network namespace. It is
    /// detached when the link and all duplicates of its descriptor are closed.
    ///
    /// # Errors
    /// [`RedirectError::Attach`], e.g. EBUSY, EOPNOTSUPP, ERANGE; its text says what to do.
    /// # Privileges
    /// None beyond those for loading the program.
    pub fn attach(&self, ifindex: u32, place: XdpPlace) -> Result<XdpLink, RedirectError> {
        XdpLink::attach(&self.program, ifindex, place).map_err(|refusal| RedirectError::Attach {
            refusal: Box::new(refusal),
        })
    }

    /// Has this program run where another one does, which has `link`: each packet meets one of the two.
    ///
    /// Blocks some ten milliseconds: when it returns no CPU runs the other one any more, and all that it
    /// took lies in its memory.
    ///
    /// # Errors
    /// ENOLINK when the interface is gone.
    /// # Source
    /// `maybe_wait_bpf_programs`, kernel/bpf/syscall.c.
    pub fn take_over(&self, link: &mut XdpLink) -> io::Result<()> {
        link.replace(&self.program)?;
        // The kernel lets a change of a map of maps return when every program that may have seen the map as
        // it was has ended.
        let Some(cpu) = self.cpus.first() else {
            return Ok(());
        };
        let descriptor = cpu.wakes.as_fd().as_raw_fd().to_ne_bytes();
        self.wakes.update(&cpu.number.to_ne_bytes(), &descriptor)
    }

    /// The program, e.g. for a test run or its number.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What became of the packets so far, over all CPUs. No system call.
    pub fn counts(&self) -> IntakeCounts {
        let sum = |at: i16| -> u64 {
            let read = |cpu: &Cpu| cpu.counters.load64_acquire(at.cast_unsigned().into());
            self.cpus.iter().map(read).fold(0, u64::wrapping_add)
        };
        IntakeCounts {
            taken: sum(program::WRITTEN) / u64::from(self.slot_bytes),
            others: sum(program::OTHER),
            sampled_out: sum(program::SAMPLED_OUT),
            lost: sum(program::LOST),
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

/// Bytes in front of a packet's in its slot.
const FRONT_BYTES: u32 = HEADER_BYTES as u32 + MIRRORED_BYTES as u32;

/// A CPU's data: the largest power of two in `bytes`, within bounds that the verifier has too.
fn data_bytes(bytes: usize) -> u32 {
    let bytes = bytes.clamp(1 << 16, 1 << 28) as u32;
    1 << bytes.ilog2()
}

fn on(source: io::Error) -> RedirectError {
    RedirectError::Map(MapError {
        name: NAME.to_owned(),
        source,
    })
}
