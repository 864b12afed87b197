//! Reads and changes the setting of an interface.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abi::timestamp::{hardware_stamps, set_hardware_stamps};
use netlink::{Ethtool, HashFunction, IfName, Netlink, NetlinkError, TimeStamping};

use super::error::StampError;
use super::setting::HardwareStamping;

/// An interface that may stamp packets in hardware. It keeps working in its network namespace when the thread enters
/// another one.
#[derive(Debug)]
pub struct StampDevice {
    link: IfName,
    index: u32,
    /// For kernels and drivers with `ETHTOOL_MSG_TSCONFIG_SET`; `None` without ethtool netlink.
    ethtool: Option<Ethtool>,
    socket: OwnedFd,
}

impl StampDevice {
    /// Opens a handle on interface `link` of the calling thread's network namespace.
    ///
    /// # Errors
    /// [`StampError::Link`] with ENODEV if there is no such interface.
    pub fn open(link: &str) -> Result<Self, StampError> {
        let known = Netlink::open()?.link_named(link)?;
        let flags = rustix::net::SocketFlags::CLOEXEC;
        let (family, kind) = (
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::DGRAM,
        );
        let socket = rustix::net::socket_with(family, kind, flags, None);
        let socket = socket.map_err(|source| StampError::Refused {
            link: link.to_owned(),
            source: source.into(),
        })?;
        Ok(Self {
            link: known.ifname(),
            index: known.ifindex().0,
            ethtool: Ethtool::open().ok(),
            socket,
        })
    }

    /// Name of the interface.
    pub fn name(&self) -> String {
        self.link.to_string()
    }

    /// Index of the interface.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// What the driver can stamp, and the clock it stamps with; `None` if it does not report that.
    ///
    /// # Errors
    /// The interface is gone.
    /// # Kernel
    /// Linux 5.7.
    pub fn capabilities(&mut self) -> Result<Option<TimeStamping>, NetlinkError> {
        match &mut self.ethtool {
            Some(ethtool) => ethtool.time_stamping(self.link),
            None => Ok(None),
        }
    }

    /// How the device computes the hash of a packet; `None` if it does not report that.
    ///
    /// # Errors
    /// The interface is gone.
    pub(crate) fn hash_function(&mut self) -> Result<Option<HashFunction>, NetlinkError> {
        match &mut self.ethtool {
            Some(ethtool) => ethtool.hash_function(self.link),
            None => Ok(None),
        }
    }

    /// The present setting, by netlink where the kernel and the driver know it (Linux 6.14), else by ioctl.
    ///
    /// # Errors
    /// [`StampError::Unsupported`] if the driver has none.
    #[doc(alias = "SIOCGHWTSTAMP")]
    pub fn present(&mut self) -> Result<HardwareStamping, StampError> {
        if let Some(setting) = self.by_netlink()? {
            return Ok(setting);
        }
        match hardware_stamps(self.socket.as_fd(), &self.name()) {
            Ok(stamps) => Ok(stamps.into()),
            Err(source) => Err(self.refused(source)),
        }
    }

    fn by_netlink(&mut self) -> Result<Option<HardwareStamping>, NetlinkError> {
        let Some(ethtool) = &mut self.ethtool else {
            return Ok(None);
        };
        let packets = ethtool.stamped_packets(self.link)?;
        Ok(packets.as_ref().and_then(HardwareStamping::from_netlink))
    }

    /// Changes the setting. Returns what the driver does now, which may be more.
    ///
    /// # Errors
    /// [`StampError::Unsupported`] if the driver has none; [`StampError::Refused`] with EPERM without the privilege,
    /// ERANGE if the driver cannot stamp such packets.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    #[doc(alias = "SIOCSHWTSTAMP")]
    pub fn set(&mut self, setting: HardwareStamping) -> Result<HardwareStamping, StampError> {
        if self.by_netlink()?.is_some()
            && let Some(ethtool) = &mut self.ethtool
        {
            match ethtool.set_stamped_packets(self.link, &setting.to_netlink()) {
                Ok(()) => return self.present(),
                // The driver knows the ioctl only.
                Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let socket = self.socket.as_fd();
        match set_hardware_stamps(socket, &self.name(), setting.into()) {
            Ok(stamps) => Ok(stamps.into()),
            Err(source) => Err(self.refused(source)),
        }
    }

    fn refused(&self, source: io::Error) -> StampError {
        let link = self.name();
        match source.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOTTY) => StampError::Unsupported { link },
            _ => StampError::Refused { link, source },
        }
    }

    /// Number of the interface's network namespace; 0 before Linux 5.14.
    pub(super) fn namespace_cookie(&self) -> u64 {
        abi::socket::namespace_cookie(self.socket.as_fd()).unwrap_or(0)
    }
}
