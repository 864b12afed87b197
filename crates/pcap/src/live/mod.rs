//! Interfaces: finding them, opening them, and the packets of one or of all.

pub mod activate;
pub mod adapter;
pub mod any;
pub mod cooked;
pub mod devices;
pub mod interface;
pub mod settings;
