//! ethtool ioctls: driver, speed and receive offload of a link.

use std::io;
use std::os::fd::AsFd;

use abi::ethtool;
use rustix::io::Errno;

use crate::error::{Action, Cause, NetlinkError, RequestTarget, Syscall};
use crate::netlink::Netlink;
use crate::values::interface::IfName;

/// The driver of a link. Text that the driver does not provide is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Driver {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Version of the device's firmware.
    pub firmware_version: String,
    /// Bus address of the device, e.g. `0000:03:00.0`.
    pub bus_info: String,
}

/// Generic receive offload: merging of received packets of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gro {
    /// Packets are merged.
    On,
    /// Packets are delivered as received.
    Off,
}

impl Netlink {
    /// The driver of a link; `None` if it has none, e.g. a loopback.
    ///
    /// Equals `ethtool -i NAME`.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist.
    pub fn driver(&self, name: IfName) -> Result<Option<Driver>, NetlinkError> {
        let driver = supported(ethtool::driver(self.as_fd(), name.padded()));
        let driver = driver.map_err(about(Action::Get, RequestTarget::Driver(name)))?;
        Ok(driver.map(|driver| Driver {
            name: text(&driver.driver),
            version: text(&driver.version),
            firmware_version: text(&driver.firmware_version),
            bus_info: text(&driver.bus_info),
        }))
    }

    /// Speed of a link in bits per second; `None` if it is unknown.
    ///
    /// Equals `ethtool NAME`, line "Speed".
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist.
    pub fn speed_bps(&self, name: IfName) -> Result<Option<u64>, NetlinkError> {
        let speed = supported(ethtool::speed_mbps(self.as_fd(), name.padded()));
        let speed = speed.map_err(about(Action::Get, RequestTarget::Speed(name)))?;
        Ok(speed.flatten().map(|mbps| u64::from(mbps) * 1_000_000))
    }

    /// Whether generic receive offload is on. Equals `ethtool -k NAME`, line
    /// "generic-receive-offload".
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist.
    pub fn gro(&self, name: IfName) -> Result<Gro, NetlinkError> {
        let on = ethtool::gro(self.as_fd(), name.padded());
        let on = on.map_err(about(Action::Get, RequestTarget::Gro(name)))?;
        Ok(if on { Gro::On } else { Gro::Off })
    }

    /// Switches generic receive offload. Equals `ethtool -K NAME gro on|off`.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist, EOPNOTSUPP if it cannot be switched.
    pub fn set_gro(&self, name: IfName, gro: Gro) -> Result<(), NetlinkError> {
        ethtool::set_gro(self.as_fd(), name.padded(), gro == Gro::On)
            .map_err(about(Action::Set, RequestTarget::Gro(name)))
    }

    /// Whether a link strips VLAN tags from received packets before XDP. Equals
    /// `ethtool -k NAME`, line "rx-vlan-offload".
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist.
    pub fn strips_vlan_tags(&self, name: IfName) -> Result<bool, NetlinkError> {
        let strips = ethtool::strips_vlan_tags(self.as_fd(), name.padded());
        strips.map_err(about(Action::Get, RequestTarget::Driver(name)))
    }
}

/// Turns EOPNOTSUPP into `None`.
pub(super) fn supported<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn about(
    action: Action,
    subject: RequestTarget,
) -> impl FnOnce(io::Error) -> NetlinkError {
    let about = NetlinkError::about(action, subject);
    move |source| {
        about(Cause::System {
            call: Syscall::Ioctl,
            source,
        })
    }
}

fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
