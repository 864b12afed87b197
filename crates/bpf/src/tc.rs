//! tc programs on interfaces.

mod clsact;
mod filters;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abi::bpf::{BPF_F_BEFORE, BPF_TCX_EGRESS, BPF_TCX_INGRESS, create_tcx_link, update_link};

use self::clsact::Clsact;
pub use self::filters::{TcFilter, tc_filters};
use crate::program::Program;

/// Where a tc program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcPlace {
    /// On what comes in, before the stack; a VLAN tag is beside the bytes already.
    Ingress,
    /// On what goes out, before the queueing discipline; packets may be larger than the wire's.
    Egress,
}

impl fmt::Display for TcPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        })
    }
}

/// How a tc program may be attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TcAttach {
    /// By tcx: the kernel detaches it when the process ends (Linux 6.6).
    Tcx,
    /// By a filter of the clsact queueing discipline (Linux 4.5).
    ///
    /// What a process leaves that is killed is removed by the next one that attaches to the interface
    /// in this way, or by [`TcLink::remove_leftovers`].
    Clsact,
    /// By tcx, where the kernel has it.
    #[default]
    TcxOrClsact,
}

/// A tc program on an interface; detached when this is dropped or, by tcx, the process ends.
#[derive(Debug)]
pub struct TcLink(Hold);

#[derive(Debug)]
enum Hold {
    Tcx(OwnedFd),
    Clsact(Clsact),
}

/// The kernel did not attach a tc program.
#[derive(Debug)]
#[non_exhaustive]
pub struct TcAttachError {
    /// Interface asked for.
    pub ifindex: u32,
    /// Place asked for.
    pub place: TcPlace,
    /// What the kernel answered; EINVAL also for tcx before Linux 6.6, EEXIST when the `ingress`
    /// discipline is where clsact is to be.
    pub source: io::Error,
}

impl fmt::Display for TcAttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ifindex, place, .. } = self;
        write!(
            f,
            "cannot attach tc program to {place} of interface {ifindex}"
        )?;
        f.write_str(match self.source.kind() {
            io::ErrorKind::PermissionDenied => " (needs CAP_BPF and CAP_NET_ADMIN)",
            io::ErrorKind::AlreadyExists => {
                " (an ingress queueing discipline is in the way: 'tc qdisc del dev IF ingress' \
                 removes it)"
            }
            _ => "",
        })
    }
}

impl std::error::Error for TcAttachError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The numbers of the programs that tcx runs at `place` of interface `ifindex` of the calling thread's
/// network namespace, in their order.
///
/// # Errors
/// ENODEV; EINVAL before Linux 6.6.
/// # Privileges
/// `CAP_NET_ADMIN`.
pub fn tcx_programs(ifindex: u32, place: TcPlace) -> io::Result<Vec<u32>> {
    let place = match place {
        TcPlace::Ingress => BPF_TCX_INGRESS,
        TcPlace::Egress => BPF_TCX_EGRESS,
    };
    abi::bpf::tcx_programs(ifindex, place)
}

impl TcLink {
    /// Attaches `program` to interface `ifindex` of the calling thread's network namespace, after the
    /// programs that are there, in the way this kernel has. It goes on to the next one by returning -1.
    ///
    /// # Errors
    /// [`TcAttachError`], e.g. ENODEV.
    /// # Privileges
    /// None beyond those for loading the program (measured on Linux 6.18); `CAP_NET_ADMIN` for clsact.
    /// # Kernel
    /// Linux 6.6 for tcx, 4.5 for clsact.
    pub fn attach(program: &Program, ifindex: u32, place: TcPlace) -> Result<Self, TcAttachError> {
        Self::attach_by(TcAttach::default(), program, ifindex, place)
    }

    /// As [`attach`](Self::attach), by tcx before the programs that are there: it meets packets that
    /// they do not pass on.
    ///
    /// # Errors
    /// As [`attach`](Self::attach).
    pub fn attach_first(
        program: &Program,
        ifindex: u32,
        place: TcPlace,
    ) -> Result<Self, TcAttachError> {
        Self::attach_in(TcAttach::default(), BPF_F_BEFORE, program, ifindex, place)
    }

    /// As [`attach`](Self::attach), in a way of the caller's choice.
    ///
    /// # Errors
    /// As [`attach`](Self::attach).
    #[doc(alias = "BPF_TCX_INGRESS")]
    pub fn attach_by(
        way: TcAttach,
        program: &Program,
        ifindex: u32,
        place: TcPlace,
    ) -> Result<Self, TcAttachError> {
        Self::attach_in(way, 0, program, ifindex, place)
    }

    fn attach_in(
        way: TcAttach,
        flags: u32,
        program: &Program,
        ifindex: u32,
        place: TcPlace,
    ) -> Result<Self, TcAttachError> {
        let number = match place {
            TcPlace::Ingress => BPF_TCX_INGRESS,
            TcPlace::Egress => BPF_TCX_EGRESS,
        };
        let tcx = || create_tcx_link(program.as_fd(), ifindex, number, flags).map(Hold::Tcx);
        let clsact = || Clsact::attach(program.as_fd(), ifindex, place).map(Hold::Clsact);
        let answer = match way {
            TcAttach::Tcx => tcx(),
            TcAttach::Clsact => clsact(),
            TcAttach::TcxOrClsact => match tcx() {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => clsact(),
                answer => answer,
            },
        };
        answer.map(Self).map_err(|source| TcAttachError {
            ifindex,
            place,
            source,
        })
    }

    /// Puts `program` in the place of the attached one: every packet meets one of the two. CPUs may still
    /// be in the old one when this returns.
    ///
    /// # Errors
    /// ENOLINK (by clsact ENODEV) when the interface is gone; EINVAL for a program of another kind.
    pub fn replace(&mut self, program: &Program) -> io::Result<()> {
        match &mut self.0 {
            Hold::Tcx(link) => update_link(link.as_fd(), program.as_fd()),
            Hold::Clsact(filter) => filter.replace(program.as_fd()),
        }
    }

    /// Removes what processes that were killed left at interface `ifindex` of the calling thread's network
    /// namespace: their filters of clsact, and the discipline if it was theirs and nothing else is on it.
    ///
    /// Who attaches by [`TcAttach::Clsact`] and wants nothing to be left calls this from a second process,
    /// when the first has ended. A child that is forked without running a program anew is not suited: it
    /// keeps the rings that its parent mapped.
    ///
    /// # Errors
    /// ENODEV; EPERM when something is left.
    /// # Privileges
    /// `CAP_NET_ADMIN`.
    pub fn remove_leftovers(ifindex: u32) -> io::Result<()> {
        clsact::remove_all_leftovers(ifindex)
    }

    /// Whether it is held by a filter of clsact, not by tcx.
    pub fn is_clsact(&self) -> bool {
        matches!(self.0, Hold::Clsact(_))
    }
}
