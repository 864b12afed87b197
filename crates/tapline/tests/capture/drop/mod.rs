//! Drop mode: packets that go to the capture and not to the host.

pub mod mode;
mod slots;
