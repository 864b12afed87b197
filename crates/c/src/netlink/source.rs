//! Where handles open their sockets.

use tapline::net::transport::FakeKernel;
use tapline::net::{Namespace, Netlink};

use crate::failure::Error;

/// Where the requests of a handle go.
#[derive(Clone)]
pub enum Source {
    /// The namespace of the calling thread.
    Here,
    /// A namespace.
    Namespace(Namespace),
    /// A fake kernel.
    Fake(FakeKernel),
}

impl Source {
    /// Opens a socket there.
    ///
    /// # Errors
    /// As `Netlink::open` and `Netlink::open_in`.
    pub fn open(&self) -> Result<Netlink, Error> {
        Ok(match self {
            Self::Here => Netlink::open()?,
            Self::Namespace(namespace) => Netlink::open_in(namespace)?,
            Self::Fake(kernel) => kernel.netlink().map_err(|error| Error::system(&error))?,
        })
    }
}
