//! A fake kernel for tests: it stores objects in memory and needs no privilege.

mod addresses;
mod kernel;
mod links;
mod lookup;
mod others;
mod port_vlans;
mod queue;
mod routes;
mod storable;
mod store;

pub use kernel::{FakeKernel, FakeSocket};
pub use storable::{CascadeEffect, Existing, Reference, StorableObject};
