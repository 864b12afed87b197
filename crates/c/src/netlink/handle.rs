//! Handles on the configuration of a network namespace, and the fake kernel.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

use tapline::net::transport::FakeKernel;
use tapline::net::{Fdb, Netlink, Rule};

use super::names::Lookup;
use super::source::Source;
use crate::arguments::{Options, Text, options};
use crate::error::tapline_error;
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::namespace::{self, HandleNamespace};
use crate::status::tapline_status;

/// A handle on the network configuration of a namespace.
pub struct tapline_netlink(());

/// A kernel in memory, for tests.
pub struct tapline_fake_kernel(());

/// An open handle.
pub struct Open {
    /// The socket of the requests.
    pub netlink: Netlink,
    /// The names of interfaces.
    pub names: Lookup,
    /// Where further sockets are opened.
    pub source: Source,
}

impl Object for Open {
    type Handle = tapline_netlink;
    type Shared = ();
    const KIND: Kind = Kind::Netlink;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Open> = Table::new();
        &TABLE
    }
}

struct Fake;

impl Object for Fake {
    type Handle = tapline_fake_kernel;
    // Handles are opened from any number of threads.
    type Shared = FakeKernel;
    const KIND: Kind = Kind::FakeKernel;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Fake> = Table::new();
        &TABLE
    }
}

/// Options of `tapline_netlink_open`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_netlink_options<'a> {
    /// `sizeof(tapline_netlink_options)`.
    pub size: usize,
    /// The network namespace: its name below /run/netns, or a path such as /proc/PID/ns/net. Default: that of the
    /// calling thread. Requires CAP_SYS_ADMIN.
    pub netns: Text<'a>,
    /// A fake kernel, which takes the place of the real one. It need not outlive the handle.
    pub fake: *const tapline_fake_kernel,
}

// SAFETY: repr(C), begins with its size; null strings and handles are defaults.
unsafe impl Options for tapline_netlink_options<'_> {
    const NAME: &'static str = "tapline_netlink_options";
}

/// Opens a handle. It has one NETLINK_ROUTE socket, and a second one from the first name that is looked up. Close it with
/// `tapline_netlink_close`.
///
/// The handle stays in its namespace, even if threads change theirs: names of interfaces are looked up there, and watches are
/// opened there. From a thread in another namespace, the first name and each watch require CAP_SYS_ADMIN, to enter it.
/// Otherwise requires no privilege; changes require CAP_NET_ADMIN. Requires Linux 4.20.
///
/// `netlink_options` is null or an option struct.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_netlink_open(
    netlink_options: *const tapline_netlink_options<'_>,
    out_netlink: Option<&mut MaybeUninit<*mut tapline_netlink>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_netlink = out_netlink.ok_or_else(|| Error::null("out_netlink"))?;
        // SAFETY: an option struct of C.
        let given = unsafe { options(netlink_options) }?;
        let (source, netlink) = open(&given)?;
        let names = Lookup::new(source.clone());
        let open = Open {
            netlink,
            names,
            source,
        };
        out_netlink.write(Open::table().insert(open, ())?);
        Ok(tapline_status::Ok)
    })
}

fn open(given: &tapline_netlink_options<'_>) -> Result<(Source, Netlink), Error> {
    let netns = given.netns.optional("netns")?;
    let source = match (netns, given.fake.is_null()) {
        (Some(_), false) => return Err(Error::argument("a fake kernel has no namespaces")),
        // This socket needs no /proc.
        (None, true) => {
            return Ok((
                Source::Namespace(HandleNamespace::current()),
                Netlink::open()?,
            ));
        }
        (None, false) => Fake::table().shared(given.fake, |fake| Ok(Source::Fake(fake.clone())))?,
        (Some(name), true) => {
            Source::Namespace(HandleNamespace::Known(namespace::named_or_at(name)?))
        }
    };
    let netlink = source.open()?;
    Ok((source, netlink))
}

/// Closes a handle. Its watches stay open. Does nothing if `netlink` is null.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_netlink_close(
    netlink: *mut tapline_netlink,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !netlink.is_null() {
            Open::table().remove(netlink)?;
        }
        Ok(tapline_status::Ok)
    })
}

/// The descriptor of the socket for requests, or -1 with a fake kernel. It belongs to the handle.
///
/// The caller may send changes over it and receive their acknowledgements, while no other call uses the handle. The caller
/// must set bit 31 of their sequence numbers: the library uses numbers without it, and skips replies with it. A reply that
/// is not received in 10 s fails with EAGAIN. `tapline_netlink_reply_error` makes the error of a change that failed.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_netlink_fd(
    netlink: *mut tapline_netlink,
    out_fd: Option<&mut MaybeUninit<c_int>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_fd = out_fd.ok_or_else(|| Error::null("out_fd"))?;
        Open::table().with(netlink, |open| {
            out_fd.write(match open.source {
                Source::Fake(_) => -1,
                Source::Namespace(_) => open.netlink.as_fd().as_raw_fd(),
            });
            Ok(tapline_status::Ok)
        })
    })
}

/// Creates a fake kernel for tests: the configuration of one network namespace in memory. Requires no privilege. Free it with
/// `tapline_fake_kernel_free`.
///
/// What it does as the kernel does: It stores objects of every kind, replies to requests and notifies watches. A new link gets the
/// next free index and, without a name, the next free one (`veth0`), and a veth is created with its peer. It rejects objects that exist
/// already and those that are missing: also the link, master, lower link or nexthop that a request refers to. With a link it
/// deletes its addresses, routes, nexthops, neighbours, forwarding entries and VLANs, its peer, and the VLANs, macvlans, ipvlans and VXLANs
/// on it. Ports lose a master that is deleted. With a nexthop it deletes its routes. An address has its local route and, while the
/// link is up, the routes to its prefix and its broadcast address.
///
/// What it does not do: It checks neither ranges nor what drivers support, e.g. whether a link can be a master. It begins without a
/// loopback and without rules, and a new port of a bridge has no VLAN; in the kernel it has VLAN 1. It does not check whether a
/// link is up or a gateway reachable: routes through a link that goes down stay, and so do IPv6 addresses. IPv6 has neither link-local
/// addresses nor multicast routes. It supports neither alternative names nor changes of a group of links. A route lookup takes
/// the longest prefix, and then the lowest metric, in the tables local, main and default: it follows neither rules nor nexthop objects, and
/// finds own addresses at their link, not at the loopback. Its source address is that of the route.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_fake_kernel_new(
    out_fake: Option<&mut MaybeUninit<*mut tapline_fake_kernel>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_fake = out_fake.ok_or_else(|| Error::null("out_fake"))?;
        let kernel = FakeKernel::new().keeping::<Fdb>().keeping::<Rule>();
        out_fake.write(Fake::table().insert(Fake, kernel)?);
        Ok(tapline_status::Ok)
    })
}

/// Frees a fake kernel. Handles on it stay open. Does nothing if `fake` is null.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_fake_kernel_free(
    fake: *mut tapline_fake_kernel,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !fake.is_null() {
            Fake::table().remove(fake)?;
        }
        Ok(tapline_status::Ok)
    })
}
