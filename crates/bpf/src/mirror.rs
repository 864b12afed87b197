//! Copying the beginnings of an interface's packets for a reader.

mod program;

use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use abi::bpf::online_cpus;

use crate::choice::{self, sampler};
use crate::map::{Counters, MapError};
use crate::per_cpu::{by_cpu, ring_buffer};
use crate::program::{LoadError, Program, ProgramKind};
use crate::xdp::{XdpAttachError, XdpLink, XdpPlace};
use crate::xsk::attach_remedy;
use crate::{Insn, Label, Sampling};

const BUFFERS: &str = "tapline_mirror";
const COUNTERS: &str = "tapline_mir_cnt";

/// What a [`Mirror`] is to do.
#[derive(Clone, Copy, Debug)]
pub struct MirrorOptions<'c> {
    /// Bytes copied of a packet at most: 1 to [`Mirror::MAX_SNAPLEN`].
    pub snaplen: u32,
    /// Size of each CPU's buffer, bytes: a power of two and a multiple of the page size. A packet takes
    /// 32 bytes and what is copied of it, rounded up to 8.
    pub buffer_bytes: u32,
    /// Take frames of several buffers too, for a large MTU and for packets merged by GRO. What is copied
    /// comes from all of them; code that chooses reads the first.
    pub multi_buffer: bool,
    /// Code that chooses: it finds the context (`struct xdp_md`) in `R1`, leaves it in `R6`, and goes
    /// to [`Mirror::TAKE`] or [`Mirror::OTHERS`], at its end too. Without code all are taken.
    pub select: &'c [Insn<'c>],
    /// Which of the chosen packets are copied; `None` copies all.
    pub sampling: Option<Sampling>,
}

impl MirrorOptions<'_> {
    /// Takes `snaplen` bytes of every packet, in 4 MiB a CPU.
    pub fn new(snaplen: u32) -> Self {
        Self {
            snaplen,
            buffer_bytes: 4 << 20,
            multi_buffer: true,
            select: &[],
            sampling: None,
        }
    }
}

/// Packets that a [`Mirror`] has seen since it was loaded, by what it did with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirrorCounts {
    /// Copied for the reader.
    pub mirrored: u64,
    /// Not chosen.
    pub others: u64,
    /// Chosen, and left out by sampling.
    pub sampled_out: u64,
    /// To be copied, but not copied: the buffer was full, or the CPU has none because it was switched on later.
    pub lost: u64,
}

impl MirrorCounts {
    /// All packets.
    pub fn seen(&self) -> u64 {
        self.mirrored + self.others + self.sampled_out + self.lost
    }
}

/// An XDP program that copies the beginning of each packet into the ring buffer of the CPU it comes in
/// on, counts, and passes the packet on, as it was.
///
/// A record begins with [`abi::ring_buffer::Mirrored`]. It wakes the reader only if that has read and
/// released all before it: a reader that lets packets gather before it reads is not disturbed.
#[derive(Debug)]
pub struct Mirror {
    program: Program,
    /// Where the program finds the buffer of its CPU.
    by_cpu: abi::bpf::Map,
    counters: Counters<{ program::COUNTERS }>,
}

/// A ring buffer for each CPU that was switched on when the [`Mirror`] was loaded.
#[derive(Debug)]
pub struct MirrorBuffers(Vec<(u32, abi::bpf::Map)>);

impl MirrorBuffers {
    fn create(cpus: impl IntoIterator<Item = u32>, bytes: u32) -> Result<Self, MirrorError> {
        let buffer = |cpu| ring_buffer(BUFFERS, bytes).map(|map| (cpu, map));
        let buffers: io::Result<_> = cpus.into_iter().map(buffer).collect();
        buffers.map(Self).map_err(on(BUFFERS))
    }

    /// The CPUs and their buffers, for `ring::RingBuffer`.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, BorrowedFd<'_>)> {
        self.0.iter().map(|(cpu, map)| (*cpu, map.as_fd()))
    }

    /// As many for the same CPUs, which no program writes to yet.
    ///
    /// # Errors
    /// [`MirrorError::Map`], e.g. ENOMEM.
    /// # Privileges
    /// `CAP_BPF`.
    pub fn another(&self, buffer_bytes: u32) -> Result<Self, MirrorError> {
        Self::create(self.0.iter().map(|(cpu, _)| *cpu), buffer_bytes)
    }
}

impl Mirror {
    /// Where `select` goes with packets that are not to be taken.
    pub const OTHERS: Label = choice::OTHERS;
    /// Where `select` goes with packets that are to be taken.
    pub const TAKE: Label = choice::TAKE;
    /// Largest snaplen: a CPU puts a packet together in memory of its own, of which the kernel gives
    /// 32 KiB in one piece (`PCPU_MIN_UNIT_SIZE`, include/linux/percpu.h).
    pub const MAX_SNAPLEN: u32 = 16_384;

    /// Makes a buffer for each CPU that is switched on and loads the program; nothing is attached yet. The
    /// program keeps the buffers, too.
    ///
    /// # Errors
    /// [`MirrorError::Snaplen`], [`MirrorError::Map`] and [`MirrorError::Load`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF` and `CAP_NET_ADMIN`.
    /// # Kernel
    /// Linux 5.18 (`bpf_xdp_load_bytes`).
    /// # Source
    /// `bpf_ringbuf_output`, kernel/bpf/ringbuf.c.
    pub fn load(options: &MirrorOptions<'_>) -> Result<(Self, MirrorBuffers), MirrorError> {
        let snaplen = options.snaplen;
        if snaplen == 0 || snaplen > Self::MAX_SNAPLEN {
            return Err(MirrorError::Snaplen { snaplen });
        }
        let cpus = online_cpus().map_err(on(BUFFERS))?;
        let buffers = MirrorBuffers::create(cpus, options.buffer_bytes)?;
        let all: Vec<_> = buffers.iter().collect();
        let by_cpu = by_cpu(BUFFERS, &all).map_err(on(BUFFERS))?;
        let scratch_bytes = program::record_bytes(snaplen);
        let counters = Counters::with_scratch(COUNTERS, scratch_bytes).map_err(MirrorError::Map)?;
        let sampler = sampler(options.sampling).map_err(MirrorError::Map)?;
        let maps = program::Maps {
            buffers: by_cpu.as_fd(),
            state: counters.as_fd(),
            sampler: sampler.as_ref(),
        };
        let code = program::code(options, maps);
        let kind = if options.multi_buffer {
            ProgramKind::XdpFrags
        } else {
            ProgramKind::Xdp
        };
        let program = Program::load(kind, BUFFERS, &code).map_err(MirrorError::Load)?;
        let mirror = Self {
            program,
            by_cpu,
            counters,
        };
        Ok((mirror, buffers))
    }

    /// From here on packets are copied into `buffers`, CPU by CPU; each packet into one buffer.
    ///
    /// Blocks some ten milliseconds for each CPU: when it returns no program writes to the buffers before
    /// any more.
    ///
    /// # Errors
    /// What the kernel answers to `BPF_MAP_UPDATE_ELEM`; what it refuses it refuses for the first CPU, and
    /// nothing has changed.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set.
    /// # Source
    /// `maybe_wait_bpf_programs`, kernel/bpf/syscall.c.
    pub fn exchange(&self, buffers: &MirrorBuffers) -> io::Result<()> {
        for (cpu, buffer) in buffers.iter() {
            let descriptor = buffer.as_raw_fd().to_ne_bytes();
            self.by_cpu.update(&cpu.to_ne_bytes(), &descriptor)?;
        }
        Ok(())
    }

    /// How many CPUs are switched on, each of which gets a buffer.
    ///
    /// # Errors
    /// [`MirrorError::Map`] when the machine does not tell.
    pub fn cpu_count() -> Result<usize, MirrorError> {
        let cpus = online_cpus().map_err(on(BUFFERS))?;
        Ok(cpus.len().max(1))
    }

    /// Attaches the program to interface `ifindex` of the calling thread's network namespace. It is
    /// detached when the link and all duplicates of its descriptor are closed.
    ///
    /// # Errors
    /// [`MirrorError::Attach`], e.g. EBUSY, EOPNOTSUPP, ERANGE; its text says what to do.
    /// # Privileges
    /// None beyond those for loading the program.
    pub fn attach(&self, ifindex: u32, place: XdpPlace) -> Result<XdpLink, MirrorError> {
        let attached = XdpLink::attach(&self.program, ifindex, place);
        attached.map_err(|refusal| MirrorError::Attach { refusal })
    }

    /// The program, e.g. for a test run or its number.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What became of the packets so far, over all CPUs.
    ///
    /// # Errors
    /// What the kernel answers to `BPF_MAP_LOOKUP_ELEM`; none is known for a map of this kind.
    pub fn counts(&self) -> io::Result<MirrorCounts> {
        let [mirrored, others, lost, sampled_out] = self.counters.read()?;
        Ok(MirrorCounts {
            mirrored,
            others,
            sampled_out,
            lost,
        })
    }
}

fn on(name: &str) -> impl Fn(io::Error) -> MirrorError {
    move |source| {
        MirrorError::Map(MapError {
            name: name.to_owned(),
            source,
        })
    }
}

/// Why packets are not mirrored.
#[derive(Debug)]
#[non_exhaustive]
pub enum MirrorError {
    /// The snaplen is 0 or beyond [`Mirror::MAX_SNAPLEN`].
    Snaplen {
        /// What was asked.
        snaplen: u32,
    },
    /// A map was not made.
    Map(MapError),
    /// The program was not loaded.
    Load(LoadError),
    /// The program was not attached.
    Attach {
        /// What the kernel refused.
        refusal: XdpAttachError,
    },
}

impl MirrorError {
    /// What to do about it, where that is known.
    pub fn remedy(&self) -> Option<&'static str> {
        const EINVAL: i32 = 22;
        const ENOMEM: i32 = 12;
        match self {
            Self::Map(error) => match error.source.raw_os_error()? {
                EINVAL => Some(
                    "ring buffers need Linux 5.8, and their size is a power of two and a multiple \
                     of the page size",
                ),
                ENOMEM => Some("try a smaller buffer"),
                _ => None,
            },
            Self::Attach { refusal } => attach_remedy(refusal),
            Self::Snaplen { .. } | Self::Load(_) => None,
        }
    }
}

impl fmt::Display for MirrorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snaplen { snaplen } => write!(
                f,
                "cannot mirror with a snaplen of {snaplen}: it is 1 to {}",
                Mirror::MAX_SNAPLEN
            ),
            Self::Map(error) => error.fmt(f),
            Self::Load(error) => error.fmt(f),
            Self::Attach { refusal, .. } => refusal.fmt(f),
        }?;
        match self.remedy() {
            Some(remedy) => write!(f, " ({remedy})"),
            None => Ok(()),
        }
    }
}

impl Error for MirrorError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Snaplen { .. } => None,
            Self::Map(error) => error.source(),
            Self::Load(error) => error.source(),
            Self::Attach { refusal, .. } => refusal.source(),
        }
    }
}
