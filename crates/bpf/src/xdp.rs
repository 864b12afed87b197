//! XDP programs on interfaces.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use abi::bpf::{XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE, create_xdp_link, update_link};
use rustix::thread::{MembarrierCommand, membarrier};

pub use self::holder::{AttachedXdpProgram, OwnerProcess, program_name};
pub use self::mtu::XdpMtuLimit;
use crate::program::Program;

mod holder;
mod mtu;

/// Where to attach an XDP program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpAttachMode {
    /// In the driver; fail if the driver does not support XDP.
    #[default]
    Native,
    /// In the network stack; works with any driver. Slower, because each packet already has a socket buffer.
    Generic,
    /// In the driver; in the network stack if the driver refuses.
    NativeOrGeneric,
}

/// Where an XDP program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver, before the packet has a socket buffer.
    Native,
    /// In the network stack.
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

/// An XDP program on an interface. Dropping it, or the end of the process, detaches the program.
#[derive(Debug)]
pub struct XdpLink {
    fd: OwnedFd,
    mode: XdpMode,
    native_refusal: Option<Arc<XdpAttachError>>,
}

/// An XDP program could not be attached.
#[derive(Debug)]
#[non_exhaustive]
pub struct XdpAttachError {
    /// Index of the interface.
    pub ifindex: u32,
    /// Mode (the last one tried).
    pub mode: XdpMode,
    /// Name of the interface, if it could be read.
    pub link: Option<String>,
    /// The attached program that prevents it, if any.
    pub holder: Option<Box<AttachedXdpProgram>>,
    /// The MTU that prevents it or may prevent it, if any.
    pub mtu: Option<Box<XdpMtuLimit>>,
    /// The kernel's error. EBUSY or EEXIST: another program is attached.
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
            return write!(f, ": {holder}{}", holder.removal(link));
        }
        if let Some(mtu) = &self.mtu {
            return write!(f, " ({mtu})");
        }
        let is_native = self.mode == XdpMode::Native;
        f.write_str(match self.source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => " (needs CAP_BPF and CAP_NET_ADMIN)",
            Some(libc::EBUSY | libc::EEXIST) => {
                " (another XDP program is attached: 'ip link' shows it, 'ip link set dev IF xdp off' \
                 removes it)"
            }
            Some(libc::EOPNOTSUPP) if is_native => " (the driver does not support native XDP)",
            Some(libc::EINVAL) if is_native => {
                " (LRO may be enabled: 'ethtool -K IF lro off' disables it)"
            }
            _ => "",
        })
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
                XdpMode::Native => XdpMtuLimit::look(&attributes, &source).map(Box::new),
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
    /// [`XdpAttachError`], e.g. EBUSY if another program is attached (the error names it), EOPNOTSUPP if the driver does not
    /// support XDP, ENODEV.
    /// # Privileges
    /// None beyond those for loading the program (measured on Linux 6.18).
    /// # Kernel
    /// Linux 5.9.
    pub fn attach(
        program: &Program,
        ifindex: u32,
        place: XdpAttachMode,
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
            XdpAttachMode::Native => attach(XdpMode::Native),
            XdpAttachMode::Generic => attach(XdpMode::Generic),
            XdpAttachMode::NativeOrGeneric => match attach(XdpMode::Native) {
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

    /// Why the program does not run in the driver, if that was tried first.
    pub fn native_refusal(&self) -> Option<&Arc<XdpAttachError>> {
        self.native_refusal.as_ref()
    }

    /// Duplicates the link's descriptor. The program stays attached while one of them is open.
    ///
    /// # Errors
    /// Errors of dup(2).
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            fd: self.fd.try_clone()?,
            mode: self.mode,
            native_refusal: self.native_refusal.clone(),
        })
    }

    /// Replaces the attached program by `program`. Each packet meets exactly one of the two.
    ///
    /// # Errors
    /// ENOLINK if the interface is gone; EINVAL for a program of another type.
    pub fn replace(&mut self, program: &Program) -> io::Result<()> {
        update_link(self.as_fd(), program.as_fd())
    }

    /// As [`replace`](Self::replace), and waits until no CPU runs the program before it: some ten milliseconds.
    ///
    /// # Errors
    /// As [`replace`](Self::replace).
    /// # Source
    /// `MEMBARRIER_CMD_GLOBAL`, kernel/sched/membarrier.c: with more than one CPU it
    /// is `synchronize_rcu`, which XDP programs hold up while they run.
    pub fn replace_and_wait(&mut self, program: &Program) -> io::Result<()> {
        self.replace(program)?;
        // Refused on kernels with CPUs without a tick (`nohz_full`): a packet may meet the program before it a little later.
        let _ = membarrier(MembarrierCommand::Global);
        Ok(())
    }
}

impl AsFd for XdpLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether a refusal concerns the driver's capabilities, so that generic mode may still work.
fn is_the_drivers(refusal: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, NotFound, PermissionDenied, ResourceBusy};
    refusal.raw_os_error() != Some(libc::ENODEV)
        && !matches!(
            refusal.kind(),
            NotFound | PermissionDenied | ResourceBusy | AlreadyExists
        )
}
