//! XDP programs on interfaces.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use abi::bpf::{XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE, create_xdp_link, update_link};

pub use self::holder::{HoldingProcess, XdpHolder, program_name};
pub use self::mtu::XdpMtu;
use crate::program::Program;

mod holder;
mod mtu;

/// Where an XDP program may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpPlace {
    /// In the driver, or not at all.
    #[default]
    Native,
    /// In the stack, with any driver: slower, as each packet already has its socket buffer.
    Generic,
    /// In the driver; in the stack if the driver refuses.
    NativeOrGeneric,
}

/// Where an XDP program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver, before the packet has a socket buffer.
    Native,
    /// In the stack.
    Generic,
}

impl fmt::Display for XdpMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Generic => "generic",
        })
    }
}

/// An XDP program on an interface; detached when this is dropped or the process ends.
#[derive(Debug)]
pub struct XdpLink {
    fd: OwnedFd,
    mode: XdpMode,
    native_refusal: Option<Arc<XdpAttachError>>,
}

/// The kernel did not attach an XDP program.
#[derive(Debug)]
#[non_exhaustive]
pub struct XdpAttachError {
    /// Interface asked for.
    pub ifindex: u32,
    /// Mode asked for (the last one, if there were two).
    pub mode: XdpMode,
    /// Name of the interface, if it could be asked for.
    pub link: Option<String>,
    /// The program that is in the way, if it is that.
    pub holder: Option<Box<XdpHolder>>,
    /// The MTU that is in the way, if it is or may be that.
    pub mtu: Option<Box<XdpMtu>>,
    /// What the kernel answered; EBUSY or EEXIST: another program is attached.
    pub source: io::Error,
}

impl fmt::Display for XdpAttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.holder {
            Some(_) => f.write_str("cannot attach XDP program to ")?,
            None => write!(f, "cannot attach {} XDP program to ", self.mode)?,
        }
        match &self.link {
            Some(name) => f.write_str(name)?,
            None => write!(f, "interface {}", self.ifindex)?,
        }
        if let Some(holder) = &self.holder {
            let link = self.link.as_deref().unwrap_or("IF");
            write!(f, ": {holder}{}", holder.way_out(link))?;
        } else if let Some(mtu) = &self.mtu {
            write!(f, " ({mtu})")?;
        } else if self.source.kind() == io::ErrorKind::PermissionDenied {
            f.write_str(" (needs CAP_BPF and CAP_NET_ADMIN)")?;
        }
        Ok(())
    }
}

impl XdpAttachError {
    fn new(ifindex: u32, mode: XdpMode, source: io::Error) -> Self {
        let attributes = holder::ask_about(ifindex, None).unwrap_or_default();
        let (link, holder) = holder::look(&attributes);
        let is_occupied = matches!(
            source.kind(),
            io::ErrorKind::ResourceBusy | io::ErrorKind::AlreadyExists
        );
        Self {
            ifindex,
            mode,
            link,
            holder: holder.filter(|_| is_occupied).map(Box::new),
            mtu: match mode {
                XdpMode::Native => XdpMtu::look(&attributes, &source).map(Box::new),
                XdpMode::Generic => None,
            },
            source,
        }
    }
}

impl std::error::Error for XdpAttachError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl XdpLink {
    /// Attaches `program` to interface `ifindex` of the calling thread's network namespace.
    ///
    /// # Errors
    /// [`XdpAttachError`], e.g. EBUSY when another program is attached, which it names, EOPNOTSUPP when the driver
    /// has no XDP, ENODEV.
    /// # Privileges
    /// None beyond those for loading the program (measured on Linux 6.18).
    /// # Kernel
    /// Linux 5.9.
    pub fn attach(
        program: &Program,
        ifindex: u32,
        place: XdpPlace,
    ) -> Result<Self, XdpAttachError> {
        let attach = |mode| {
            let flags = match mode {
                XdpMode::Native => XDP_FLAGS_DRV_MODE,
                XdpMode::Generic => XDP_FLAGS_SKB_MODE,
            };
            create_xdp_link(program.as_fd(), ifindex, flags)
                .map(|fd| Self {
                    fd,
                    mode,
                    native_refusal: None,
                })
                .map_err(|source| XdpAttachError::new(ifindex, mode, source))
        };
        match place {
            XdpPlace::Native => attach(XdpMode::Native),
            XdpPlace::Generic => attach(XdpMode::Generic),
            XdpPlace::NativeOrGeneric => match attach(XdpMode::Native) {
                Err(refusal) if is_the_drivers(&refusal.source) => {
                    let mut link = attach(XdpMode::Generic)?;
                    link.native_refusal = Some(Arc::new(refusal));
                    Ok(link)
                }
                answer => answer,
            },
        }
    }

    /// Where the program runs.
    pub fn mode(&self) -> XdpMode {
        self.mode
    }

    /// Why it does not run in the driver, if that was tried first.
    pub fn native_refusal(&self) -> Option<&Arc<XdpAttachError>> {
        self.native_refusal.as_ref()
    }

    /// A second handle of the attachment, which lasts as long as one of them.
    ///
    /// # Errors
    /// What dup(2) says.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            fd: self.fd.try_clone()?,
            mode: self.mode,
            native_refusal: self.native_refusal.clone(),
        })
    }

    /// Puts `program` in the place of the attached one; no packet passes without meeting one of them.
    ///
    /// # Errors
    /// ENOLINK when the interface is gone; EINVAL for a program of another kind.
    pub fn replace(&mut self, program: &Program) -> io::Result<()> {
        update_link(self.as_fd(), program.as_fd())
    }
}

impl AsFd for XdpLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether a refusal is about what the driver can do, so that the generic mode may still work.
fn is_the_drivers(refusal: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, NotFound, PermissionDenied, ResourceBusy};
    const ENODEV: i32 = 19;
    refusal.raw_os_error() != Some(ENODEV)
        && !matches!(
            refusal.kind(),
            NotFound | PermissionDenied | ResourceBusy | AlreadyExists
        )
}
