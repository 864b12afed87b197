//! A kernel that stands in for tests: it keeps what it is told, in memory, and needs no privilege.

mod kept;
mod kernel;
mod objects;
mod queue;
mod socket;
mod store;

pub use kept::Kept;
pub use kernel::FakeKernel;
pub use socket::FakeSocket;
