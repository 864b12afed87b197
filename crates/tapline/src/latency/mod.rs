//! Latency: how long after the kernel a program has each packet.
//!
//! A [`Meter`] is a capture's consumer: for every packet it takes the time between the stamp, which
//! the kernel gives a packet as it comes by, and the moment the packet is handed over. A
//! [`Comparison`] runs captures with different [`Setting`]s side by side, so that they see the same
//! traffic on the same machine at the same time.

mod comparison;
mod delays;
mod meter;
mod setting;

pub use comparison::{Comparison, Row};
pub use delays::Delays;
pub use meter::{Meter, Observer};
pub use setting::Setting;
