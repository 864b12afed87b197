//! Latency: how long after the kernel a program has each packet.
//!
//! A [`Meter`] is a capture's consumer: for every packet it takes the time between the stamp, which
//! the kernel gives a packet as it comes by, and the moment the packet is handed over. Packets that
//! gathered while it was made ready would seem late: a [`Span`] leaves them out. A [`Comparison`] runs captures with different [`Setting`]s side by side, so that they see the same
//! traffic on the same machine at the same time. A [`DeviceMeter`] measures the way before the kernel's stamp,
//! where the device stamps too.

mod comparison;
mod delays;
mod device;
mod device_clock;
mod meter;
mod seat;
mod setting;
mod span;

pub use comparison::{Comparison, Row};
pub use delays::Delays;
pub use device::{DeviceDelays, DeviceError, DeviceMeasurement, DeviceMeter};
pub use device_clock::ClockOffset;
pub use meter::{Meter, Observer};
pub use seat::Seat;
pub use setting::Setting;
pub use span::Span;
