//! A shared handle of a network namespace.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use abi::namespace::NetNamespace;
pub use abi::namespace::{NamespaceError, NamespaceId};

use crate::codec::{Attribute, Malformed, Request};
use crate::schema::{
    AttributeCodec, AttributeType, FieldReader, FieldValue, FieldWriter, InvalidField, Native,
    Shape, utf8,
};

/// A handle of a network namespace, which lives at least as long as the handle. Clones share it.
///
/// ```no_run
/// let blue = tapline_netlink::Namespace::named("blue")?;
/// let names = blue.run(|| std::fs::read_to_string("/proc/net/dev"))??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Namespace(Arc<NetNamespace>);

impl Namespace {
    /// The namespace that `ip netns` knows as `name`: `/run/netns/NAME`.
    ///
    /// # Errors
    /// ENOENT if there is none; EINVAL if `name` is not one path component.
    pub fn named(name: &str) -> Result<Self, NamespaceError> {
        NetNamespace::named(name).map(Self::from)
    }

    /// The namespace of process `pid`.
    ///
    /// # Errors
    /// ENOENT if there is no such process; EACCES without the privilege to look at it.
    pub fn of_process(pid: u32) -> Result<Self, NamespaceError> {
        Self::open(format!("/proc/{pid}/ns/net"))
    }

    /// The namespace at `path`: `/proc/PID/ns/net`, or a bind mount of such a file.
    ///
    /// # Errors
    /// As open(2). Entering the namespace fails with EINVAL if `path` is another kind of file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, NamespaceError> {
        NetNamespace::open(path.as_ref()).map(Self::from)
    }

    /// Creates a namespace without a name. It contains only a loopback interface, which is down.
    ///
    /// # Errors
    /// EPERM without the privilege; ENOSPC at the limit of namespaces.
    /// # Privileges
    /// `CAP_SYS_ADMIN`.
    pub fn create() -> Result<Self, NamespaceError> {
        NetNamespace::create().map(Self::from)
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// ENOENT if `/proc` is not mounted.
    pub fn current() -> Result<Self, NamespaceError> {
        NetNamespace::current().map(Self::from)
    }

    /// Device and inode, which identify the namespace.
    ///
    /// # Errors
    /// As fstat(2).
    pub fn id(&self) -> Result<NamespaceId, NamespaceError> {
        self.0.id()
    }

    /// Runs `job` in the namespace, on a thread of its own, and returns its result.
    ///
    /// # Errors
    /// EPERM without the privilege, EINVAL if this is no network namespace.
    /// # Privileges
    /// `CAP_SYS_ADMIN` in the user namespaces of the caller and of the namespace.
    pub fn run<T: Send>(&self, job: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        self.0.run(job)
    }
}

impl From<NetNamespace> for Namespace {
    fn from(namespace: NetNamespace) -> Self {
        Self(Arc::new(namespace))
    }
}

impl From<&Namespace> for Namespace {
    fn from(namespace: &Namespace) -> Self {
        namespace.clone()
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl std::ops::Deref for Namespace {
    type Target = NetNamespace;

    fn deref(&self) -> &NetNamespace {
        &self.0
    }
}

/// Two handles are equal if they share one descriptor.
impl PartialEq for Namespace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Namespace {}

/// A namespace is given by its name below `/run/netns`, or by a path. It is never reported.
impl FieldValue for Namespace {
    fn shape() -> Shape {
        Shape::Text
    }

    fn put(&self, _: &mut FieldWriter<'_>) {}

    fn take(bytes: &[u8], _: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        let text = utf8(bytes)?;
        let opened = if text.contains('/') {
            Self::open(text)
        } else {
            Self::named(text)
        };
        opened.map_err(|error| InvalidField::new(format!("{error}: {}", error.source)))
    }
}

/// The kernel takes the descriptor in requests (`IFLA_NET_NS_FD`, `NETNSA_FD`) and never reports one.
impl AttributeCodec<Namespace> for Native {
    const TYPE: AttributeType = AttributeType::Number;

    fn encode(value: &Namespace, kind: u16, request: &mut Request) {
        request.attribute(kind, &value.as_fd().as_raw_fd().to_ne_bytes());
    }

    fn decode(attribute: Attribute<'_>) -> Result<Namespace, Malformed> {
        Err(Malformed {
            layer: "descriptor of a network namespace",
            at: attribute.at,
            need: 0,
            have: attribute.bytes.len(),
        })
    }

    /// Ignores the attribute: a number in a message does not own a descriptor.
    fn decode_into(_: &mut Option<Namespace>, _: Attribute<'_>) -> Result<(), Malformed> {
        Ok(())
    }
}
