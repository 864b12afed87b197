//! tc programs on interfaces.

mod clsact;
mod filters;
mod hook;

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abi::bpf::{BPF_F_BEFORE, create_tcx_link, update_link};

use self::clsact::Clsact;
pub use self::filters::{TcFilter, tc_filters};
pub use self::hook::TcHook;
use crate::program::Program;

/// How a tc program is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TcAttachMethod {
    /// With tcx: the kernel detaches it when the process ends (Linux 6.6).
    Tcx,
    /// With a filter of the clsact queueing discipline (Linux 4.5).
    ///
    /// A killed process leaves its filter behind. The next process that attaches to the interface with clsact removes it, or
    /// [`TcLink::remove_leftovers`].
    Clsact,
    /// With tcx if the kernel supports it, otherwise with clsact.
    #[default]
    TcxOrClsact,
}

/// A tc program on an interface. Dropping it detaches the program. With tcx, the end of the process does, too.
#[derive(Debug)]
pub struct TcLink(TcAttachment);

#[derive(Debug)]
enum TcAttachment {
    Tcx(OwnedFd),
    Clsact(Clsact),
}

/// A tc program could not be attached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("cannot attach tc program to {place} of interface {ifindex}{}", reason(.source))]
pub struct TcAttachError {
    /// Index of the interface.
    pub ifindex: u32,
    /// Hook.
    pub place: TcHook,
    /// The kernel's error. EINVAL: e.g. tcx before Linux 6.6. EEXIST: the `ingress` queueing discipline prevents clsact.
    pub source: io::Error,
}

/// Why the kernel refused and what to do about it, as far as its error shows.
fn reason(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => " (needs CAP_BPF and CAP_NET_ADMIN)",
        io::ErrorKind::AlreadyExists => {
            " (an ingress queueing discipline is in the way: 'tc qdisc del dev IF ingress' removes it)"
        }
        _ => "",
    }
}

/// The ids of the tcx programs at hook `place` of interface `ifindex` in the calling thread's network namespace, in the order
/// in which they run.
///
/// # Errors
/// ENODEV; EINVAL before Linux 6.6.
/// # Privileges
/// `CAP_NET_ADMIN`.
pub fn tcx_programs(ifindex: u32, place: TcHook) -> io::Result<Vec<u32>> {
    abi::bpf::tcx_programs(ifindex, place.attach_type())
}

impl TcLink {
    /// Attaches `program` to interface `ifindex` of the calling thread's network namespace, after existing programs. Uses
    /// the method that the kernel supports. The program passes the packet to the next one by returning -1.
    ///
    /// # Errors
    /// [`TcAttachError`], e.g. ENODEV.
    /// # Privileges
    /// None beyond those for loading the program (measured on Linux 6.18); `CAP_NET_ADMIN` for clsact.
    /// # Kernel
    /// Linux 6.6 for tcx, 4.5 for clsact.
    pub fn attach(program: &Program, ifindex: u32, place: TcHook) -> Result<Self, TcAttachError> {
        Self::attach_by(TcAttachMethod::default(), program, ifindex, place)
    }

    /// As [`attach`](Self::attach), but with tcx before existing programs. The program sees packets that they drop.
    ///
    /// # Errors
    /// As [`attach`](Self::attach).
    pub fn attach_first(
        program: &Program,
        ifindex: u32,
        place: TcHook,
    ) -> Result<Self, TcAttachError> {
        Self::attach_in(
            TcAttachMethod::default(),
            BPF_F_BEFORE,
            program,
            ifindex,
            place,
        )
    }

    /// As [`attach`](Self::attach), with a given method.
    ///
    /// # Errors
    /// As [`attach`](Self::attach).
    #[doc(alias = "BPF_TCX_INGRESS")]
    pub fn attach_by(
        way: TcAttachMethod,
        program: &Program,
        ifindex: u32,
        place: TcHook,
    ) -> Result<Self, TcAttachError> {
        Self::attach_in(way, 0, program, ifindex, place)
    }

    fn attach_in(
        way: TcAttachMethod,
        flags: u32,
        program: &Program,
        ifindex: u32,
        place: TcHook,
    ) -> Result<Self, TcAttachError> {
        let number = place.attach_type();
        let tcx =
            || create_tcx_link(program.as_fd(), ifindex, number, flags).map(TcAttachment::Tcx);
        let clsact = || Clsact::attach(program.as_fd(), ifindex, place).map(TcAttachment::Clsact);
        let answer = match way {
            TcAttachMethod::Tcx => tcx(),
            TcAttachMethod::Clsact => clsact(),
            TcAttachMethod::TcxOrClsact => match tcx() {
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

    /// Replaces the attached program by `program`. Each packet meets exactly one of the two. CPUs may still run the old program
    /// when this returns.
    ///
    /// # Errors
    /// ENOLINK (with clsact ENODEV) if the interface is gone; EINVAL for a program of another type.
    pub fn replace(&mut self, program: &Program) -> io::Result<()> {
        match &mut self.0 {
            TcAttachment::Tcx(link) => update_link(link.as_fd(), program.as_fd()),
            TcAttachment::Clsact(filter) => filter.replace(program.as_fd()),
        }
    }

    /// Removes the clsact filters that killed processes left on interface `ifindex` of the calling thread's network namespace.
    /// Also removes the queueing discipline if such a process created it and nothing else uses it.
    ///
    /// To leave nothing behind, a second process calls this when the process that attached with [`TcAttachMethod::Clsact`] has
    /// ended. The second process must not be a fork without execve(2): it would keep the mapped rings of its parent.
    ///
    /// # Errors
    /// ENODEV; EPERM if there are leftovers.
    /// # Privileges
    /// `CAP_NET_ADMIN`.
    pub fn remove_leftovers(ifindex: u32) -> io::Result<()> {
        clsact::remove_all_leftovers(ifindex)
    }

    /// Whether the program is attached with clsact, not with tcx.
    pub fn is_clsact(&self) -> bool {
        matches!(self.0, TcAttachment::Clsact(_))
    }
}
