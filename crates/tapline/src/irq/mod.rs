//! The CPUs that serve the interrupts of an interface's receive queues: changed for a capture, and restored.
//!
//! A reader finds a packet in its cache if it runs on the CPU that received it. A [`ParallelCapture`] whose readers have CPUs
//! pins the interrupt of each receive queue to the CPU of its reader, where the kernel and the driver allow it, and
//! restores the setting when it ends. It records the former setting in the folder of the control sockets, so that the next
//! capture with CPUs or [`restore_leftovers`] restores it if the capture is killed. Interrupts of an interface that joins a
//! running capture stay where they are.
//!
//! [`ParallelCapture`]: crate::capture::ParallelCapture

mod device;
mod pinning;
mod saved_setting;

pub(crate) use device::{Interface, IrqPaths};
pub(crate) use pinning::IrqPinning;
pub use pinning::PinnedIrq;
pub use saved_setting::{IrqError, LeftoverSetting, RestoreOutcome, restore_leftovers};
