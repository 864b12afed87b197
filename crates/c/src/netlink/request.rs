//! Single requests: changes, queries, lists, and route lookups.

use std::io;
use std::mem::MaybeUninit;

use tapline::net::{Action, Cause, KernelError, NetlinkError, RouteQuery, Verb};

use super::handle::{Open, tapline_netlink};
use super::list::{list, reserve, tapline_list};
use super::object::{
    FfiObject, read, read_change, tapline_netlink_form, tapline_netlink_object,
    tapline_netlink_verb, with_type, write,
};
use crate::arguments::array;
use crate::error::tapline_error;
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::Object as _;
use crate::status::tapline_status;

impl From<NetlinkError> for Error {
    fn from(error: NetlinkError) -> Self {
        error_of(&error)
    }
}

/// The error as C sees it. That of an item stays in its batch.
pub fn error_of(error: &NetlinkError) -> Error {
    let system = Error::system(error);
    let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
    let (status, kernel_text, attribute) = match &error.cause {
        Cause::Refused(KernelError { message, path, .. }) => {
            (system.status, text(message), text(path))
        }
        Cause::Invalid(_) => (tapline_status::InvalidArgument, None, None),
        _ => (system.status, None, None),
    };
    // The kernel has this answer for a link without a type, too.
    let is_type = system.status == tapline_status::Unsupported
        && error.action == Action::Add
        && kernel_text.as_deref() == Some("Unknown device type");
    let type_hint = is_type.then(|| {
        "give a type that the kernel has: linkinfo.info_kind in JSON, setType in C++".to_owned()
    });
    let is_entry = matches!(error.cause, Cause::Namespace(_));
    let hint = (system.status == tapline_status::Privilege && is_entry)
        .then(|| "requires CAP_SYS_ADMIN, to enter the namespace".to_owned());
    Error {
        hint: hint.or(type_hint).or_else(|| system.hint.clone()),
        status: if error.is_absence() {
            tapline_status::NotFound
        } else {
            status
        },
        kernel_text,
        attribute,
        ..system
    }
}

impl Open {
    fn change<O: FfiObject + tapline::net::Object>(
        &mut self,
        verb: Verb,
        form: tapline_netlink_form,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let mut object = O::default();
        let names = &mut self.names.for_a_call();
        read_change(&mut object, verb, form, bytes, names)?;
        Ok(self.netlink.change(verb, &object)?)
    }

    /// Creates or reads one object.
    fn one<O: FfiObject + tapline::net::Object>(
        &mut self,
        verb: Verb,
        form: tapline_netlink_form,
        bytes: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let mut names = self.names.for_a_call();
        let mut object = O::default();
        read(&mut object, verb.into(), form, bytes, &mut names)?;
        let reply = if verb == Verb::Add {
            self.netlink.create(&object)?
        } else {
            self.netlink.get(&object)?
        };
        let mut out = Vec::new();
        write(form, &reply, &mut out, &mut names)?;
        Ok(out)
    }

    fn list<O: FfiObject + tapline::net::Object>(
        &mut self,
        form: tapline_netlink_form,
        bytes: &[u8],
    ) -> Result<(Vec<u8>, bool), Error> {
        let mut names = self.names.for_a_call();
        let mut filter = O::default();
        read(&mut filter, Action::List, form, bytes, &mut names)?;
        let listing = self.netlink.list(&filter)?;
        let mut out = Vec::new();
        for object in &listing.items {
            reserve(&mut out)?;
            write(form, object, &mut out, &mut names)?;
        }
        Ok((out, listing.interrupted))
    }
}

/// Changes an object: `verb` is a `tapline_netlink_verb`, `object` a `tapline_netlink_object`, `form` a
/// `tapline_netlink_form`, in which `bytes` has the object.
///
/// Interfaces that are given by name are looked up in the kernel when the call begins, in the handle's namespace: one
/// further request for each. A link to be changed is not looked up: its name goes to the kernel.
///
/// Errors: EXISTS or NOT_FOUND if the object does or does not exist, NOT_FOUND if an interface does not, INVALID_ARGUMENT
/// if no key field is given for DEL, PRIVILEGE without CAP_NET_ADMIN. The error has the kernel's own text and the path of
/// the attribute that it rejected.
///
/// `bytes` points to `length` bytes.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_netlink_change(
    netlink: *mut tapline_netlink,
    verb: u32,
    object: u32,
    form: u32,
    bytes: *const u8,
    length: usize,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let verb = Verb::from(tapline_netlink_verb::try_from(verb)?);
        let object = tapline_netlink_object::try_from(object)?;
        let form = form.try_into()?;
        // SAFETY: the bytes of C.
        let bytes = unsafe { array(bytes, length, "bytes") }?;
        Open::table().with(netlink, |open| {
            with_type!(object, O => open.change::<O>(verb, form, bytes))?;
            Ok(tapline_status::Ok)
        })
    })
}

/// The error of a change that the caller itself sent over the descriptor of `tapline_netlink_fd`: `message` with what
/// the kernel replied, one message. Without a reply, `os_error` says why it could not be received, as in `errno`.
///
/// Never succeeds: the status is that of `tapline_netlink_change` for the same reply.
///
/// Threads: any.
///
/// `message` points to `length` bytes, and `reply` to `reply_length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_netlink_reply_error(
    verb: u32,
    object: u32,
    message: *const u8,
    length: usize,
    reply: *const u8,
    reply_length: usize,
    os_error: i32,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let verb = Verb::from(tapline_netlink_verb::try_from(verb)?);
        let object = tapline_netlink_object::try_from(object)?;
        // SAFETY: the bytes of C.
        let message = unsafe { array(message, length, "message") }?;
        // SAFETY: the bytes of C.
        let reply = unsafe { array(reply, reply_length, "reply") }?;
        let reply = match reply {
            [] => Err(io::Error::from_raw_os_error(os_error)),
            reply => Ok(reply),
        };
        let refusal = with_type!(object, O => NetlinkError::of_reply::<O>(verb, message, reply));
        Err(match refusal {
            Ok(refusal) => refusal.into(),
            Err(invalid) => Error::argument(invalid.to_string()),
        })
    })
}

/// Creates an object as with the verb ADD, and returns it with the values that the kernel chose, such as the index of
/// a link: a list with one object. Free it with `tapline_list_free`.
///
/// `bytes` points to `length` bytes.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_netlink_create(
    netlink: *mut tapline_netlink,
    object: u32,
    form: u32,
    bytes: *const u8,
    length: usize,
    out_list: Option<&mut MaybeUninit<*mut tapline_list>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: the bytes of C.
        let bytes = unsafe { array(bytes, length, "bytes") }?;
        one(netlink, Verb::Add, (object, form, bytes), out_list)
    })
}

/// Reads the object that the key fields in `bytes` identify: a list with one object. NOT_FOUND if there is none,
/// INVALID_ARGUMENT if the fields identify no object. Free the list with `tapline_list_free`.
///
/// `bytes` points to `length` bytes.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_netlink_get(
    netlink: *mut tapline_netlink,
    object: u32,
    form: u32,
    bytes: *const u8,
    length: usize,
    out_list: Option<&mut MaybeUninit<*mut tapline_list>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: the bytes of C.
        let bytes = unsafe { array(bytes, length, "bytes") }?;
        one(netlink, Verb::Get, (object, form, bytes), out_list)
    })
}

fn one(
    netlink: *mut tapline_netlink,
    verb: Verb,
    (object, form, bytes): (u32, u32, &[u8]),
    out_list: Option<&mut MaybeUninit<*mut tapline_list>>,
) -> Result<tapline_status, Error> {
    let out_list = out_list.ok_or_else(|| Error::null("out_list"))?;
    let object = tapline_netlink_object::try_from(object)?;
    let form = form.try_into()?;
    Open::table().with(netlink, |open| {
        let bytes = with_type!(object, O => open.one::<O>(verb, form, bytes))?;
        out_list.write(list(bytes, false)?);
        Ok(tapline_status::Ok)
    })
}

/// Lists the objects that match a filter: each field that `bytes` gives has the same value in them. Without bytes, all. Free the
/// list with `tapline_list_free`.
///
/// The kernel filters by the fields that it supports. A list that changed while the kernel made it is requested
/// again; see `tapline_list_is_interrupted`.
///
/// `bytes` points to `length` bytes, or is null if `length` is 0.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_netlink_list(
    netlink: *mut tapline_netlink,
    object: u32,
    form: u32,
    bytes: *const u8,
    length: usize,
    out_list: Option<&mut MaybeUninit<*mut tapline_list>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_list = out_list.ok_or_else(|| Error::null("out_list"))?;
        let object = tapline_netlink_object::try_from(object)?;
        let form = form.try_into()?;
        // SAFETY: the bytes of C.
        let bytes = unsafe { array(bytes, length, "bytes") }?;
        Open::table().with(netlink, |open| {
            let (bytes, interrupted) = with_type!(object, O => open.list::<O>(form, bytes))?;
            out_list.write(list(bytes, interrupted)?);
            Ok(tapline_status::Ok)
        })
    })
}

/// Looks up the route of a packet, which the `RouteQuery` in `bytes` describes: a list with one route. Equals
/// `ip route get`. Free the list with `tapline_list_free`.
///
/// `bytes` points to `length` bytes.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_netlink_lookup(
    netlink: *mut tapline_netlink,
    form: u32,
    bytes: *const u8,
    length: usize,
    out_list: Option<&mut MaybeUninit<*mut tapline_list>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_list = out_list.ok_or_else(|| Error::null("out_list"))?;
        let form = form.try_into()?;
        // SAFETY: the bytes of C.
        let bytes = unsafe { array(bytes, length, "bytes") }?;
        Open::table().with(netlink, |open| {
            let mut names = open.names.for_a_call();
            let mut query = RouteQuery::default();
            read(&mut query, Action::Get, form, bytes, &mut names)?;
            let route = open.netlink.lookup(&query)?;
            let mut out = Vec::new();
            write(form, &route, &mut out, &mut names)?;
            out_list.write(list(out, false)?);
            Ok(tapline_status::Ok)
        })
    })
}
