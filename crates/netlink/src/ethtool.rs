//! What only ethtool knows of a link: its driver, its speed, its receive offload.

use std::io;
use std::os::fd::AsFd;

use abi::ethtool;
use rustix::io::Errno;

use crate::error::{Action, Cause, NetlinkError, Step, Subject};
use crate::handle::Netlink;
use crate::interface::IfName;

/// The driver behind a link; a text the driver does not give is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Driver {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Version of the device's firmware.
    pub firmware_version: String,
    /// Where the device is on its bus, e.g. `0000:03:00.0`.
    pub bus_info: String,
}

/// Generic receive offload: whether the link joins packets of one flow before they are handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gro {
    /// They are joined.
    On,
    /// They are handed on as they came.
    Off,
}

impl Netlink {
    /// The driver behind a link; `None` where there is none, as for a loopback.
    ///
    /// Equals `ethtool -i NAME`.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV when there is no such link.
    pub fn driver(&self, name: IfName) -> Result<Option<Driver>, NetlinkError> {
        let driver = supported(ethtool::driver(self.as_fd(), name.padded()));
        let driver = driver.map_err(about(Action::Get, Subject::Driver(name)))?;
        Ok(driver.map(|driver| Driver {
            name: text(&driver.driver),
            version: text(&driver.version),
            firmware_version: text(&driver.firmware_version),
            bus_info: text(&driver.bus_info),
        }))
    }

    /// Speed of a link in bits per second; `None` where it has none or does not know it.
    ///
    /// Equals `ethtool NAME`, line "Speed".
    ///
    /// # Errors
    /// `Cause::System` with ENODEV when there is no such link.
    pub fn speed_bps(&self, name: IfName) -> Result<Option<u64>, NetlinkError> {
        let speed = supported(ethtool::speed_mbps(self.as_fd(), name.padded()));
        let speed = speed.map_err(about(Action::Get, Subject::Speed(name)))?;
        Ok(speed.flatten().map(|mbps| u64::from(mbps) * 1_000_000))
    }

    /// Whether a link joins received packets. Equals `ethtool -k NAME`, line
    /// "generic-receive-offload".
    ///
    /// # Errors
    /// `Cause::System` with ENODEV when there is no such link.
    pub fn gro(&self, name: IfName) -> Result<Gro, NetlinkError> {
        let on = ethtool::gro(self.as_fd(), name.padded());
        let on = on.map_err(about(Action::Get, Subject::Gro(name)))?;
        Ok(if on { Gro::On } else { Gro::Off })
    }

    /// Switches the joining of received packets. Equals `ethtool -K NAME gro on|off`.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV when there is no such link, EOPNOTSUPP when it cannot be switched.
    pub fn set_gro(&self, name: IfName, gro: Gro) -> Result<(), NetlinkError> {
        ethtool::set_gro(self.as_fd(), name.padded(), gro == Gro::On)
            .map_err(about(Action::Set, Subject::Gro(name)))
    }

    /// Whether a link takes VLAN tags out of received packets, before XDP sees them. Equals
    /// `ethtool -k NAME`, line "rx-vlan-offload".
    ///
    /// # Errors
    /// `Cause::System` with ENODEV when there is no such link.
    pub fn strips_vlan_tags(&self, name: IfName) -> Result<bool, NetlinkError> {
        let strips = ethtool::strips_vlan_tags(self.as_fd(), name.padded());
        strips.map_err(about(Action::Get, Subject::Driver(name)))
    }
}

/// An answer that a link cannot give is no answer, and not an error.
fn supported<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

fn about(action: Action, subject: Subject) -> impl FnOnce(io::Error) -> NetlinkError {
    let about = NetlinkError::about(action, subject);
    move |source| {
        about(Cause::System {
            step: Step::Ioctl,
            source,
        })
    }
}

fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
