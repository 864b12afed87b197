//! A fake kernel for tests: it stores objects in memory and needs no privilege.

mod kernel;
mod lookup;
mod port_vlans;
mod queue;
mod store;

pub use kernel::{FakeKernel, FakeSocket};
pub use store::StorableObject;
