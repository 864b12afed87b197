//! Latency: the time from the kernel's time stamp of a packet to its delivery to the program.
//!
//! ```
//! let mut latency = tapline::latency("lo").filter("udp port 4433")?.packets(10).open()?;
//! # let traffic = std::net::UdpSocket::bind("127.0.0.1:0")?;
//! # for _ in 0..10 {
//! #     traffic.send_to(b"hello", "127.0.0.1:4433")?;
//! # }
//! while let Some(packet) = latency.next()? {
//!     println!("{:?}", packet.delay);
//! }
//! println!("p99: {:?} ns", latency.finish()?.delays.quantile(0.99));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`latency`] measures one capture; [`Comparison`] measures captures with several [`DeliverySetting`]s side by side
//! on the same traffic. [`DelayMeter`] is a consumer for a capture of your own; with a [`MeasurementWindow`] it
//! leaves out packets that gathered before its reader was ready. [`DeviceMeter`] measures the time from the NIC's
//! time stamp to the kernel's.

mod comparison;
mod delays;
mod device;
mod device_clock;
mod job;
mod meter;
mod setting;
mod window;

pub use comparison::Comparison;
pub use delays::Delays;
pub use device::{DeviceDelays, DeviceError, DeviceMeasurement, DeviceMeter};
pub use device_clock::ClockOffset;
pub use job::{DelayBatch, Latency, LatencyBuilder, LatencySummary, PacketDelay, latency};
pub use meter::{DelayMeter, DelayObserver};
pub use setting::DeliverySetting;
pub use window::{MeasurementWindow, WindowReader};
