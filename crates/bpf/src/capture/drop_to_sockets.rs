//! Redirects an interface's packets to AF_XDP sockets.

mod program;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use abi::bpf::{MapLayout, MapType};

use super::metadata::{Functions, RxMetadata};
use super::select::sampler;
use super::{PacketSelection, XdpCounters, XdpProgramError};
use crate::map::{Counters, MapError};
use crate::program::{Program, ProgramKind};

const NAME: &str = "tapline_xsk";

/// Options of an [`XskProgram`].
#[derive(Clone, Copy, Debug)]
pub struct XskProgramOptions<'c> {
    /// Number of queues. Queues 0 to `queues - 1` may have a socket.
    pub queues: u32,
    /// Accept multi-buffer frames, for a large MTU and for packets merged by GRO. The sockets must be bound
    /// for them. Requires Linux 5.18.
    pub multi_buffer: bool,
    /// Write the time of each packet in front of it ([`wire::record::FrameMetadata`]).
    pub stamp: bool,
    /// What to ask the interface's device about each packet. The program then runs only on that interface, in its driver.
    /// `None`: nothing.
    pub metadata: Option<RxMetadata>,
    /// Which packets are redirected.
    pub selection: PacketSelection<'c>,
}

impl XskProgramOptions<'_> {
    /// Redirects every packet of the first `queues` queues and stamps it; single-buffer frames only.
    pub fn new(queues: u32) -> Self {
        Self {
            queues,
            multi_buffer: false,
            stamp: true,
            metadata: None,
            selection: PacketSelection::default(),
        }
    }
}

/// An XDP program that redirects packets to the AF_XDP socket of their queue.
///
/// The kernel removes a socket from the program's map when the socket is closed.
#[derive(Debug)]
pub struct XskProgram {
    program: Program,
    sockets: abi::bpf::Map,
    /// Of each queue.
    counters: Counters<{ program::COUNTERS }>,
    queues: u32,
}

impl XskProgram {
    /// Loads the program without attaching it. Attach it with [`XdpLink::attach`](crate::XdpLink::attach).
    ///
    /// # Errors
    /// [`XdpProgramError::Map`] and [`XdpProgramError::Load`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF` and `CAP_NET_ADMIN`.
    /// # Kernel
    /// Linux 5.9; with `multi_buffer` 5.18, with `metadata` 6.3.
    /// # Source
    /// `__bpf_xdp_redirect_map`, include/linux/filter.h.
    pub fn load(options: &XskProgramOptions<'_>) -> Result<Self, XdpProgramError> {
        let sockets = create_socket_map(options.queues)?;
        // The last ones are of the queues that the map of sockets has not.
        let counters = Counters::several("tapline_xsk_cnt", options.queues.saturating_add(1))?;
        Ok(Self {
            program: load(options, &sockets, &counters)?,
            sockets,
            counters,
            queues: options.queues,
        })
    }

    /// Loads a program that redirects the packets of another selection to the same sockets, and counts them in the same
    /// counters: replace the attached one by it. Its sampling begins anew. Use the options of this program but for the
    /// selection.
    ///
    /// # Errors
    /// As [`XskProgram::load`].
    /// # Privileges
    /// As [`XskProgram::load`].
    pub fn selecting(&self, options: &XskProgramOptions<'_>) -> Result<Program, XdpProgramError> {
        load(options, &self.sockets, &self.counters)
    }

    /// Redirects packets of `queue` to `socket` from now on. The AF_XDP socket must be bound to that queue.
    ///
    /// # Errors
    /// [`XdpProgramError::Socket`]: E2BIG if `queue` is not below the `queues` of the options, EOPNOTSUPP for
    /// another kind of socket.
    pub fn insert(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<(), XdpProgramError> {
        let descriptor = socket.as_raw_fd().to_ne_bytes();
        self.sockets
            .update(&queue.to_ne_bytes(), &descriptor)
            .map_err(|source| XdpProgramError::Socket { queue, source })
    }

    /// The loaded program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Packets so far, over all queues and CPUs.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_LOOKUP_ELEM`; none is known for a map of this type.
    pub fn counters(&self) -> io::Result<XdpCounters> {
        let mut all = (0..=self.queues).map(|queue| self.counters_of(queue));
        all.try_fold(XdpCounters::default(), |sum, one| Ok(sum + one?))
    }

    /// Packets of `queue` so far, over all CPUs; of a number that is not below the `queues` of the options: of all such
    /// queues.
    ///
    /// # Errors
    /// As [`counters`](Self::counters).
    pub fn counters_of(&self, queue: u32) -> io::Result<XdpCounters> {
        let counted = self.counters.read_at(queue.min(self.queues))?;
        let [delivered, lost, unmatched, unstamped, sampled_out] = counted;
        Ok(XdpCounters {
            delivered,
            unmatched,
            sampled_out,
            lost,
            unstamped,
        })
    }
}

fn load(
    options: &XskProgramOptions<'_>,
    sockets: &abi::bpf::Map,
    counters: &Counters<{ program::COUNTERS }>,
) -> Result<Program, XdpProgramError> {
    let sampler = sampler(options.selection.sampling)?;
    let maps = program::Maps {
        sockets: sockets.as_fd(),
        counters: counters.as_fd(),
        sampler: sampler.as_ref(),
    };
    let kind = ProgramKind::xdp(options.multi_buffer);
    let Some(wanted) = options.metadata else {
        let code = program::code(options, maps, None);
        return Ok(Program::load(kind, NAME, &code)?);
    };
    let functions = Functions::find(wanted)?;
    let code = program::code(options, maps, Some(&functions));
    Ok(Program::load_bound(kind, NAME, &code, wanted.ifindex)?)
}

fn create_socket_map(queues: u32) -> Result<abi::bpf::Map, MapError> {
    let layout = MapLayout {
        map_type: MapType::XskMap,
        key_bytes: 4,
        value_bytes: 4,
        max_entries: queues,
    };
    abi::bpf::Map::create(&layout, NAME).map_err(MapError::creating(NAME, MapType::XskMap))
}
