//! Notifications of changes.

mod burst;
mod changes;
