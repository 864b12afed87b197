//! Network configuration: typed rtnetlink.
//!
//! ```
//! use tapline::net::Link;
//!
//! let mut net = tapline::net().open()?;
//! for link in net.list(&Link::new())?.items {
//!     println!("{}: {}", link.ifindex(), link.ifname());
//! }
//! # Ok::<(), tapline::net::NetlinkError>(())
//! ```
//!
//! [`net`](crate::net()) opens a handle on the configuration of a namespace. An object is one struct of
//! optional fields ([`Link`], [`Addr`], [`Route`] …). The same struct is the desired state, the filter, the
//! reply and the event.

pub use netlink::*;

/// Settings of a [`Net`] handle. Made by [`net`](crate::net()).
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `open`"]
pub struct NetBuilder {
    namespace: Option<Namespace>,
}

/// A handle on the network configuration of a namespace.
///
/// # Privileges
/// None to open, list, get and watch. `CAP_NET_ADMIN` to change.
#[derive(Debug)]
pub struct Net {
    netlink: Netlink,
    namespace: Option<Namespace>,
}

/// Starts a [`Net`] handle on the namespace of the calling thread.
pub fn net() -> NetBuilder {
    NetBuilder::default()
}

impl NetBuilder {
    /// Works in `namespace`. Requires `CAP_SYS_ADMIN` to enter it.
    pub fn namespace(mut self, namespace: Namespace) -> Self {
        self.namespace = Some(namespace);
        self
    }

    /// Opens the handle.
    ///
    /// # Errors
    /// As [`Netlink::open`] and [`Netlink::open_in`].
    pub fn open(self) -> Result<Net, NetlinkError> {
        let netlink = match &self.namespace {
            Some(namespace) => Netlink::open_in(namespace)?,
            None => Netlink::open()?,
        };
        Ok(Net {
            netlink,
            namespace: self.namespace,
        })
    }
}

impl Net {
    /// Lists the objects that match `filter`; `Default::default()` matches all.
    ///
    /// # Errors
    /// As [`Netlink::list`].
    pub fn list<O: Object>(&mut self, filter: &O) -> Result<Listing<O>, NetlinkError> {
        self.netlink.list(filter)
    }

    /// Reads the object that `key` identifies.
    ///
    /// # Errors
    /// As [`Netlink::get`].
    pub fn get<O: Object>(&mut self, key: &O) -> Result<O, NetlinkError> {
        self.netlink.get(key)
    }

    /// Creates `object`, which must not exist.
    ///
    /// # Errors
    /// As [`Netlink::add`].
    pub fn add<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.netlink.add(object)
    }

    /// Creates `object` and returns it with the values that the kernel chose, such as an index.
    ///
    /// # Errors
    /// As [`Netlink::create`].
    pub fn create<O: Object>(&mut self, object: &O) -> Result<O, NetlinkError> {
        self.netlink.create(object)
    }

    /// Changes an existing object. Fields that are `None` keep their value.
    ///
    /// # Errors
    /// As [`Netlink::set`].
    pub fn set<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.netlink.set(object)
    }

    /// Creates `object`, or replaces the existing one.
    ///
    /// # Errors
    /// As [`Netlink::replace`].
    pub fn replace<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.netlink.replace(object)
    }

    /// Deletes the object that `key` identifies.
    ///
    /// # Errors
    /// As [`Netlink::del`].
    pub fn del<O: Object>(&mut self, key: &O) -> Result<(), NetlinkError> {
        self.netlink.del(key)
    }

    /// Starts a batch of changes, which takes few system calls.
    pub fn batch(&mut self, on_error: OnError) -> Batch<'_> {
        self.netlink.batch(on_error)
    }

    /// Watches the objects that match `filter`: first those that exist, then every change.
    ///
    /// # Errors
    /// As [`Watch::open`].
    pub fn watch<O: Object>(&self, filter: O) -> Result<Watch<O>, NetlinkError> {
        match &self.namespace {
            Some(namespace) => Watch::open_in(namespace, filter),
            None => Watch::open(filter),
        }
    }

    /// The handle below, with further queries: route lookups, neighbour tables, drivers.
    pub fn netlink(&mut self) -> &mut Netlink {
        &mut self.netlink
    }
}
