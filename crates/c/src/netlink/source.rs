//! Where handles open their sockets.

use tapline::net::Netlink;
use tapline::net::transport::FakeKernel;

use crate::failure::Error;
use crate::namespace::HandleNamespace;

/// Where the requests of a handle go.
#[derive(Clone)]
pub enum Source {
    /// A namespace.
    Namespace(HandleNamespace),
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
            Self::Namespace(own) => match own.to_enter()? {
                None => Netlink::open()?,
                Some(namespace) => Netlink::open_in(namespace)?,
            },
            Self::Fake(kernel) => kernel.netlink().map_err(|error| Error::system(&error))?,
        })
    }
}
