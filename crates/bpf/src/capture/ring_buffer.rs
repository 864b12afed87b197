//! Copies the beginnings of an interface's packets into BPF ring buffers, one per CPU.

mod program;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use abi::bpf::{MapType, online_cpus};

use super::metadata::{Functions, RxMetadata};
use super::per_cpu::{by_cpu, ring_buffer};
use super::select::sampler;
use super::{PacketSelection, XdpCounters, XdpProgramError};
use crate::map::{Counters, MapError};
use crate::program::{Program, ProgramKind};

const BUFFERS: &str = "tapline_mirror";
const COUNTERS: &str = "tapline_mir_cnt";

/// Options of a [`RingBufferProgram`].
#[derive(Clone, Copy, Debug)]
pub struct RingBufferProgramOptions<'c> {
    /// Bytes copied of each packet: 1 to [`RingBufferProgram::MAX_SNAPLEN`].
    pub snaplen: u32,
    /// Size of each CPU's buffer in bytes: a power of two and a multiple of the page size. A packet takes 32
    /// bytes plus the bytes copied, rounded up to 8.
    pub buffer_bytes: u32,
    /// Accept multi-buffer frames, for a large MTU and for packets merged by GRO. The program copies from all
    /// buffers; filter code reads only the first.
    pub multi_buffer: bool,
    /// What to ask the interface's device about each packet; the answer is in the record. The program then runs only on that
    /// interface, in its driver. [`vlan`](RxMetadata::vlan) is not asked: packets pass on. `None`: nothing.
    pub metadata: Option<RxMetadata>,
    /// Which packets are copied.
    pub selection: PacketSelection<'c>,
}

impl RingBufferProgramOptions<'_> {
    /// Copies `snaplen` bytes of every packet; 4 MiB per CPU.
    pub fn new(snaplen: u32) -> Self {
        Self {
            snaplen,
            buffer_bytes: 4 << 20,
            multi_buffer: true,
            metadata: None,
            selection: PacketSelection::default(),
        }
    }
}

/// An XDP program that copies the beginning of each packet into its CPU's ring buffer and passes the packet
/// on unchanged.
///
/// A record begins with [`wire::record::RecordHeader`], behind which [`wire::record::DeviceMetadata`] follows if the options ask for
/// it. A record wakes the reader only if the reader has
/// released all earlier ones. A reader that lets packets gather is therefore not disturbed.
#[derive(Debug)]
pub struct RingBufferProgram {
    program: Program,
    /// The ring buffer of each CPU.
    by_cpu: abi::bpf::Map,
    counters: Counters<{ program::COUNTERS }>,
}

/// A ring buffer for each CPU that was online when the [`RingBufferProgram`] was loaded.
#[derive(Debug)]
pub struct CpuRingBuffers(Vec<(u32, abi::bpf::Map)>);

impl CpuRingBuffers {
    fn create(cpus: impl IntoIterator<Item = u32>, bytes: u32) -> Result<Self, XdpProgramError> {
        let buffer = |cpu| ring_buffer(BUFFERS, bytes).map(|map| (cpu, map));
        let buffers: io::Result<_> = cpus.into_iter().map(buffer).collect();
        Ok(Self(buffers.map_err(error)?))
    }

    /// The CPUs and their buffers, for `ring::BpfRing`.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, BorrowedFd<'_>)> {
        self.0.iter().map(|(cpu, map)| (*cpu, map.as_fd()))
    }

    /// Creates buffers of another size for the same CPUs. No program writes to them until
    /// [`RingBufferProgram::exchange`].
    ///
    /// # Errors
    /// [`XdpProgramError::Map`], e.g. ENOMEM.
    /// # Privileges
    /// `CAP_BPF`.
    pub fn another(&self, buffer_bytes: u32) -> Result<Self, XdpProgramError> {
        Self::create(self.0.iter().map(|(cpu, _)| *cpu), buffer_bytes)
    }
}

impl RingBufferProgram {
    /// Largest snaplen. A CPU assembles a record in per-CPU memory, of which the kernel allocates at most
    /// 32 KiB in one piece (`PCPU_MIN_UNIT_SIZE`, include/linux/percpu.h).
    pub const MAX_SNAPLEN: u32 = 16_384;

    /// Creates a buffer for each online CPU and loads the program without attaching it. Attach it with
    /// [`XdpLink::attach`](crate::XdpLink::attach). The program holds references to the buffers, too.
    ///
    /// # Errors
    /// [`XdpProgramError::Snaplen`], [`XdpProgramError::Map`] and [`XdpProgramError::Load`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF` and `CAP_NET_ADMIN`.
    /// # Kernel
    /// Linux 5.18 (`bpf_xdp_load_bytes`), with `metadata` 6.3.
    /// # Source
    /// `bpf_ringbuf_output`, kernel/bpf/ringbuf.c.
    pub fn load(
        options: &RingBufferProgramOptions<'_>,
    ) -> Result<(Self, CpuRingBuffers), XdpProgramError> {
        let snaplen = options.snaplen;
        if snaplen == 0 || snaplen > Self::MAX_SNAPLEN {
            return Err(XdpProgramError::Snaplen { snaplen });
        }
        let cpus = online_cpus().map_err(error)?;
        let buffers = CpuRingBuffers::create(cpus, options.buffer_bytes)?;
        let all: Vec<_> = buffers.iter().collect();
        let by_cpu = by_cpu(BUFFERS, &all).map_err(error)?;
        let counters = Counters::with_scratch(COUNTERS, program::record_bytes(options))?;
        let loaded = Self {
            program: load(options, &by_cpu, &counters)?,
            by_cpu,
            counters,
        };
        Ok((loaded, buffers))
    }

    /// Loads a program that copies the packets of another selection into the same buffers, and counts them in the same
    /// counters: replace the attached one by it. Its sampling begins anew. Use the options of this program but for the
    /// selection.
    ///
    /// # Errors
    /// As [`RingBufferProgram::load`].
    /// # Privileges
    /// As [`RingBufferProgram::load`].
    pub fn selecting(
        &self,
        options: &RingBufferProgramOptions<'_>,
    ) -> Result<Program, XdpProgramError> {
        load(options, &self.by_cpu, &self.counters)
    }

    /// Makes the program write to `buffers` from now on, CPU by CPU. Each packet goes to exactly one buffer.
    ///
    /// Blocks some ten milliseconds per CPU. When it returns, no program writes to the previous buffers any
    /// more.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_UPDATE_ELEM`. If the kernel refuses, it refuses for the first CPU, and nothing has
    /// changed.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set.
    /// # Source
    /// `maybe_wait_bpf_programs`, kernel/bpf/syscall.c.
    pub fn exchange(&self, buffers: &CpuRingBuffers) -> io::Result<()> {
        for (cpu, buffer) in buffers.iter() {
            let descriptor = buffer.as_raw_fd().to_ne_bytes();
            self.by_cpu.update(&cpu.to_ne_bytes(), &descriptor)?;
        }
        Ok(())
    }

    /// Number of online CPUs, each of which gets a buffer.
    ///
    /// # Errors
    /// [`XdpProgramError::Map`] if the number cannot be read from sysfs.
    pub fn cpu_count() -> Result<usize, XdpProgramError> {
        Ok(online_cpus().map_err(error)?.len().max(1))
    }

    /// The loaded program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Packets so far, over all CPUs.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_LOOKUP_ELEM`; none is known for a map of this type.
    pub fn counters(&self) -> io::Result<XdpCounters> {
        self.counters.read().map(counted)
    }

    /// As [`counters`](Self::counters), of CPU `cpu`.
    ///
    /// # Errors
    /// As [`counters`](Self::counters).
    pub fn counters_of(&self, cpu: u32) -> io::Result<XdpCounters> {
        let by_cpu = self.counters.read_by_cpu(0)?;
        let of_cpu = by_cpu.get(cpu as usize).copied();
        Ok(of_cpu.map(counted).unwrap_or_default())
    }
}

fn load(
    options: &RingBufferProgramOptions<'_>,
    by_cpu: &abi::bpf::Map,
    counters: &Counters<{ program::COUNTERS }>,
) -> Result<Program, XdpProgramError> {
    let sampler = sampler(options.selection.sampling)?;
    let maps = program::Maps {
        buffers: by_cpu.as_fd(),
        state: counters.as_fd(),
        sampler: sampler.as_ref(),
    };
    let kind = ProgramKind::xdp(options.multi_buffer);
    let Some(wanted) = options.metadata else {
        let code = program::code(options, maps, None);
        return Ok(Program::load(kind, BUFFERS, &code)?);
    };
    let functions = Functions::find(RxMetadata {
        vlan: false,
        ..wanted
    })?;
    let code = program::code(options, maps, Some(&functions));
    Ok(Program::load_bound(kind, BUFFERS, &code, wanted.ifindex)?)
}

fn counted(counters: [u64; program::COUNTERS]) -> XdpCounters {
    let [delivered, unmatched, lost, sampled_out] = counters;
    XdpCounters {
        delivered,
        unmatched,
        sampled_out,
        lost,
        unstamped: 0,
    }
}

fn error(source: io::Error) -> XdpProgramError {
    MapError::creating(BUFFERS, MapType::RingBuffer)(source).into()
}
