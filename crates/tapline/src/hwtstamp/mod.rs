//! Which packets an interface stamps in hardware: shown, changed, and restored.
//!
//! The setting belongs to the interface, so other programs depend on it: `ptp4l` on the stamps of the packets that it
//! sends and receives. tapline never takes a stamp away from them: it keeps what is stamped of sent packets, and of
//! received packets it only widens what is stamped to all.
//!
//! ```no_run
//! use tapline::hwtstamp::{HardwareStamping, StampDevice};
//!
//! let mut device = StampDevice::open("eth0")?;
//! let present = device.present()?;
//! device.set(present.stamping_all_received())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A capture with hardware time stamps restores the setting when it ends. It records the former setting in the folder
//! of the control sockets, so that the next capture or [`restore_leftovers`] restores it if the capture is killed.

mod device;
mod error;
mod guard;
mod saved_setting;
mod setting;

pub use device::StampDevice;
pub use error::StampError;
pub(crate) use guard::HwTimestampGuard;
pub use saved_setting::{LeftoverSetting, RestoreOutcome, restore_leftovers};
pub use setting::HardwareStamping;
