//! tc programs on interfaces.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::bpf::{BPF_TCX_EGRESS, BPF_TCX_INGRESS, create_tcx_link, update_link};

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

/// A tc program on an interface; detached when this is dropped or the process ends.
#[derive(Debug)]
pub struct TcLink(OwnedFd);

/// The kernel did not attach a tc program.
#[derive(Debug)]
#[non_exhaustive]
pub struct TcAttachError {
    /// Interface asked for.
    pub ifindex: u32,
    /// Place asked for.
    pub place: TcPlace,
    /// What the kernel answered; EINVAL also before Linux 6.6.
    pub source: io::Error,
}

impl fmt::Display for TcAttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ifindex, place, .. } = self;
        write!(
            f,
            "cannot attach tc program to {place} of interface {ifindex}"
        )?;
        if self.source.kind() == io::ErrorKind::PermissionDenied {
            f.write_str(" (needs CAP_BPF and CAP_NET_ADMIN)")?;
        }
        Ok(())
    }
}

impl std::error::Error for TcAttachError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl TcLink {
    /// Attaches `program` to interface `ifindex` of the calling thread's network namespace, after the
    /// programs that are there. It goes on to the next one by returning -1.
    ///
    /// # Errors
    /// [`TcAttachError`], e.g. ENODEV.
    /// # Privileges
    /// None beyond those for loading the program (measured on Linux 6.18).
    /// # Kernel
    /// Linux 6.6.
    #[doc(alias = "BPF_TCX_INGRESS")]
    pub fn attach(program: &Program, ifindex: u32, place: TcPlace) -> Result<Self, TcAttachError> {
        let number = match place {
            TcPlace::Ingress => BPF_TCX_INGRESS,
            TcPlace::Egress => BPF_TCX_EGRESS,
        };
        create_tcx_link(program.as_fd(), ifindex, number)
            .map(Self)
            .map_err(|source| TcAttachError {
                ifindex,
                place,
                source,
            })
    }

    /// Puts `program` in the place of the attached one; no packet passes without meeting one of them.
    ///
    /// # Errors
    /// ENOLINK when the interface is gone; EINVAL for a program of another kind.
    pub fn replace(&self, program: &Program) -> io::Result<()> {
        update_link(self.as_fd(), program.as_fd())
    }
}

impl AsFd for TcLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
