//! `tapline ctl`: changes of running captures.

mod changes;
mod hotplug;
mod interfaces;
mod readers;
