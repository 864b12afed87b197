//! How a device spreads received packets over its queues, and what it does with them before: shown, changed, and restored.
//!
//! A [`Setting`] has the words of `tapline ethtool set IF`, which are those of ethtool(8):
//!
//! | words | ethtool(8) |
//! |---|---|
//! | `channels combined 4` | `-L` |
//! | `rings rx 4096` | `-G` |
//! | `coalesce rx-usecs 20 adaptive-rx off` | `-C` |
//! | `rss equal 4`, `rss weight 3 1`, `rss table 0,1,0,1`, `rss default` | `-X` |
//! | `rss hkey 6d:5a:…`, `rss hfunc toeplitz` | `-X` |
//! | `rss rx-flow-hash udp4 sdfn` | `-N` |
//! | `ntuple flow-type udp4 dst-port 4789 action 2` | `-N` |
//! | `features rx-gro off rx-lro off` | `-K`, with the kernel's names |
//!
//! ```no_run
//! use tapline::steering::{Setting, SteeringDevice};
//!
//! let mut device = SteeringDevice::open("eth0")?;
//! for setting in Setting::parse("rss equal 4")? {
//!     device.set(&setting)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A capture with [`steering`](crate::CaptureOptions::steering) restores the settings when it ends. It records what they
//! were in the folder of the control sockets, so that the next capture that sets the same or [`restore_leftovers`] restores them if
//! the capture is killed. The last of several captures that share a setting restores it.

mod device;
mod error;
mod guard;
mod saved_setting;
mod setting;

pub use device::SteeringDevice;
pub use error::SteeringError;
pub(crate) use guard::DeviceSettingsGuard;
pub use saved_setting::{LeftoverSetting, RestoreOutcome, restore_leftovers};
pub use setting::{Setting, Table};
