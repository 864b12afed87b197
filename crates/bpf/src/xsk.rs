//! Steering an interface's packets into AF_XDP sockets.

mod program;

use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use abi::bpf::{MapLayout, MapType};

use crate::choice::{self, sampler};
use crate::map::{Counters, MapError, WITHOUT_BPF};
use crate::program::{LoadError, Program, ProgramKind};
use crate::xdp::{XdpAttachError, XdpLink, XdpMode, XdpPlace};
use crate::{Insn, Label, Sampling};

/// What a [`Redirect`] is to do.
#[derive(Clone, Copy, Debug)]
pub struct RedirectOptions<'c> {
    /// Queues that may have a socket: 0 to this.
    pub queues: u32,
    /// Take frames of several buffers too, for a large MTU and for packets merged by GRO; the
    /// sockets must be bound for them (Linux 5.18).
    pub multi_buffer: bool,
    /// Write the time of each packet in front of it ([`abi::xdp::Metadata`]).
    pub stamp: bool,
    /// Code that chooses: it finds the context (`struct xdp_md`) in `R1`, leaves it in `R6`, and goes
    /// to [`Redirect::TAKE`] or [`Redirect::OTHERS`], at its end too. Without code all are taken.
    pub select: &'c [Insn<'c>],
    /// Which of the chosen packets are taken; `None` takes all.
    pub sampling: Option<Sampling>,
    /// What becomes of the packets that are not taken.
    pub others: Others,
}

impl RedirectOptions<'_> {
    /// Takes every packet of the first `queues` queues, in one buffer, and stamps it.
    pub fn new(queues: u32) -> Self {
        Self {
            queues,
            multi_buffer: false,
            stamp: true,
            select: &[],
            sampling: None,
            others: Others::Pass,
        }
    }
}

/// What becomes of packets that no socket is to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// They go on into the stack.
    #[default]
    Pass,
    /// They are dropped.
    Drop,
}

impl Others {
    /// What a program returns for them (`enum xdp_action`, include/uapi/linux/bpf.h).
    pub(crate) fn verdict(self) -> i32 {
        match self {
            Self::Pass => 2,
            Self::Drop => 1,
        }
    }
}

/// Packets that a [`Redirect`] has seen since it was loaded, by what it did with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedirectCounts {
    /// Sent to a socket. The socket counts those of them that it drops.
    pub redirected: u64,
    /// To be taken, but their queue has no socket: they went on into the stack.
    pub unsteered: u64,
    /// Not chosen.
    pub others: u64,
    /// Chosen, and left out by sampling: what becomes of others became of them.
    pub sampled_out: u64,
    /// Of those sent to a socket, without a time stamp because there was no room in front of them.
    pub unstamped: u64,
}

/// An XDP program that sends packets to the AF_XDP socket of their queue, and counts.
///
/// A socket that is closed leaves the program's map by itself.
#[derive(Debug)]
pub struct Redirect {
    program: Program,
    sockets: abi::bpf::Map,
    counters: Counters<{ program::COUNTERS }>,
}

impl Redirect {
    /// Where `select` goes with packets that are not to be taken.
    pub const OTHERS: Label = choice::OTHERS;
    /// Where `select` goes with packets that are to be taken.
    pub const TAKE: Label = choice::TAKE;

    /// Loads the program; nothing is attached yet.
    ///
    /// # Errors
    /// [`RedirectError::Map`] and [`RedirectError::Load`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF` and `CAP_NET_ADMIN`.
    /// # Kernel
    /// Linux 5.9; with `multi_buffer` 5.18.
    /// # Source
    /// `__bpf_xdp_redirect_map`, include/linux/filter.h.
    pub fn load(options: &RedirectOptions<'_>) -> Result<Self, RedirectError> {
        let sockets = create_sockets(options.queues).map_err(RedirectError::Map)?;
        let counters = Counters::create("tapline_xsk_cnt").map_err(RedirectError::Map)?;
        let sampler = sampler(options.sampling).map_err(RedirectError::Map)?;
        let maps = program::Maps {
            sockets: sockets.as_fd(),
            counters: counters.as_fd(),
            sampler: sampler.as_ref(),
        };
        let code = program::code(options, maps);
        let kind = if options.multi_buffer {
            ProgramKind::XdpFrags
        } else {
            ProgramKind::Xdp
        };
        let program = Program::load(kind, "tapline_xsk", &code).map_err(RedirectError::Load)?;
        Ok(Self {
            program,
            sockets,
            counters,
        })
    }

    /// From now on packets of `queue` go to `socket`, an AF_XDP socket bound to that queue.
    ///
    /// # Errors
    /// [`RedirectError::Socket`]: E2BIG for a queue beyond those of the options, EOPNOTSUPP for
    /// another kind of socket.
    pub fn insert(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<(), RedirectError> {
        let descriptor = socket.as_raw_fd().to_ne_bytes();
        self.sockets
            .update(&queue.to_ne_bytes(), &descriptor)
            .map_err(|source| RedirectError::Socket { queue, source })
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

    /// The program, e.g. for a test run or its number.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What became of the packets so far, over all queues and CPUs.
    ///
    /// # Errors
    /// What the kernel answers to `BPF_MAP_LOOKUP_ELEM`; none is known for a map of this kind.
    pub fn counts(&self) -> io::Result<RedirectCounts> {
        let [redirected, unsteered, others, unstamped, sampled_out] = self.counters.read()?;
        Ok(RedirectCounts {
            redirected,
            unsteered,
            others,
            sampled_out,
            unstamped,
        })
    }
}

fn create_sockets(queues: u32) -> Result<abi::bpf::Map, MapError> {
    const NAME: &str = "tapline_xsk";
    let layout = MapLayout {
        map_type: MapType::XskMap,
        key_bytes: 4,
        value_bytes: 4,
        max_entries: queues,
    };
    abi::bpf::Map::create(&layout, NAME).map_err(|source| MapError {
        name: NAME.to_owned(),
        source,
    })
}

/// Why packets are not steered to a socket.
#[derive(Debug)]
#[non_exhaustive]
pub enum RedirectError {
    /// A map was not made.
    Map(MapError),
    /// The program was not loaded.
    Load(LoadError),
    /// A socket was not taken.
    Socket {
        /// Its queue.
        queue: u32,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The program was not attached.
    Attach {
        /// What the kernel refused.
        refusal: Box<XdpAttachError>,
    },
}

impl RedirectError {
    /// What to do about it, where that is known.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            // A map of sockets asks for more than others do.
            Self::Map(error) if error.source.kind() == io::ErrorKind::PermissionDenied => {
                Some("needs CAP_BPF and CAP_NET_ADMIN")
            }
            Self::Map(error) if error.is_without_bpf() => Some(WITHOUT_BPF),
            Self::Attach { refusal } => attach_remedy(refusal),
            _ => None,
        }
    }
}

/// What to do where an XDP program was not attached.
pub(crate) fn attach_remedy(refusal: &XdpAttachError) -> Option<&'static str> {
    // Numbers of Linux on every architecture that Rust has a tier for.
    const EBUSY: i32 = 16;
    const EEXIST: i32 = 17;
    const EINVAL: i32 = 22;
    const EOPNOTSUPP: i32 = 95;
    let is_native = refusal.mode == XdpMode::Native;
    match refusal.source.raw_os_error()? {
        // The refusal tells it itself.
        _ if refusal.holder.is_some() || refusal.mtu.is_some() => None,
        EBUSY | EEXIST => Some(
            "another XDP program is attached: 'ip link' shows it, 'ip link set dev IF xdp off' \
             removes it",
        ),
        EOPNOTSUPP if is_native => Some("its driver has no XDP: take the generic place"),
        EINVAL if is_native => Some("LRO may be on: turn it off, or take the generic place"),
        _ => None,
    }
}

impl fmt::Display for RedirectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Map(error) => write!(f, "cannot create BPF map {}", error.name)?,
            Self::Load(error) => error.fmt(f)?,
            Self::Socket { queue, .. } => {
                write!(f, "cannot steer packets of queue {queue} to a socket")?;
            }
            Self::Attach { refusal, .. } => refusal.fmt(f)?,
        }
        match self.remedy() {
            Some(remedy) => write!(f, " ({remedy})"),
            None => Ok(()),
        }
    }
}

impl Error for RedirectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Map(error) => error.source(),
            Self::Load(error) => error.source(),
            Self::Socket { source, .. } => Some(source),
            Self::Attach { refusal, .. } => refusal.source(),
        }
    }
}
