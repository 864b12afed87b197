//! Drop mode: packets that go to the capture and not to the host.

mod backends;
mod failures;
mod mode;
