//! The clock of a network device: read, followed, and converted to the time of day.

mod reader;
mod timeline;

pub use reader::{ClockReadMethod, DeviceClock, DeviceClockState};
pub use timeline::{ClockLine, ClockMeasurement, ClockTimeline};
