//! Objects as C passes them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use tapline::net::encoded::decode_change;
use tapline::net::schema::{
    FieldReader, FieldSet, FieldWriter, InvalidField, NameLookup, field_id,
};
use tapline::net::{
    Action, Addr, Fdb, IfIndex, Link, Neigh, Nexthop, PortVlan, Route, RouteQuery, Rule, Verb,
};

use super::json;
use super::names::FallibleLookup;
use crate::arguments::check_memory;
use crate::failure::Error;

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum tapline_netlink_object {
    /// A network interface.
    Link = 1,
    /// An IP address of an interface.
    Addr = 2,
    /// A route.
    Route = 3,
    /// A neighbour: the hardware address of an IP address.
    Neigh = 4,
    /// A forwarding entry of a bridge or VXLAN.
    Fdb = 5,
    /// A VLAN of a bridge port.
    Vlan = 6,
    /// A routing policy rule.
    Rule = 7,
    /// A nexthop object.
    Nexthop = 8,
}

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum tapline_netlink_verb {
    /// Creates the object, which must not exist.
    Add = 1,
    /// Creates the object, or replaces the existing one.
    Replace = 2,
    /// Changes the given fields of an existing object.
    Set = 3,
    /// Creates the object next to others with the same key.
    Append = 4,
    /// Deletes the object.
    Del = 5,
}

/// How an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum tapline_netlink_form {
    /// As fields: for each its id and its length, 32-bit numbers, and its value. `tapline/netlink/*.hpp` has the ids,
    /// the C++ types, and the code that writes them.
    Fields = 0,
    /// As a JSON object. docs/guide/netlink-json.md has the fields of each object. An interface is its index or its name; a
    /// reply has the index. A list has one object in each line. A field that the object does not have is an error. No bytes
    /// are an object without fields.
    Json = 1,
    /// As the netlink message that makes the change, with its header. Only for changes, and not of VLANs.
    Message = 2,
}

macro_rules! numbered {
    ($type:ty: $($variant:ident),*) => {
        impl TryFrom<u32> for $type {
            type Error = Error;

            /// Checks a number: C can pass any.
            fn try_from(number: u32) -> Result<Self, Error> {
                $(if number == Self::$variant as u32 {
                    return Ok(Self::$variant);
                })*
                Err(Error::argument(format!("{number} is not a {}", stringify!($type))))
            }
        }
    };
}
numbered!(tapline_netlink_object: Link, Addr, Route, Neigh, Fdb, Vlan, Rule, Nexthop);
numbered!(tapline_netlink_verb: Add, Replace, Set, Append, Del);
numbered!(tapline_netlink_form: Fields, Json, Message);

impl From<tapline_netlink_verb> for Verb {
    fn from(verb: tapline_netlink_verb) -> Self {
        match verb {
            tapline_netlink_verb::Add => Self::Add,
            tapline_netlink_verb::Replace => Self::Replace,
            tapline_netlink_verb::Set => Self::Set,
            tapline_netlink_verb::Append => Self::Append,
            tapline_netlink_verb::Del => Self::Del,
        }
    }
}

/// Runs a body with the Rust type of an object.
macro_rules! with_type {
    ($object:expr, $type:ident => $body:expr) => {{
        macro_rules! run {
            ($rust:ty) => {{
                type $type = $rust;
                $body
            }};
        }
        match $object {
            tapline_netlink_object::Link => run!(tapline::net::Link),
            tapline_netlink_object::Addr => run!(tapline::net::Addr),
            tapline_netlink_object::Route => run!(tapline::net::Route),
            tapline_netlink_object::Neigh => run!(tapline::net::Neigh),
            tapline_netlink_object::Fdb => run!(tapline::net::Fdb),
            tapline_netlink_object::Vlan => run!(tapline::net::PortVlan),
            tapline_netlink_object::Rule => run!(tapline::net::Rule),
            tapline_netlink_object::Nexthop => run!(tapline::net::Nexthop),
        }
    }};
}
pub(super) use with_type;

/// An object that C passes or gets.
pub trait FfiObject: FieldSet + PartialEq + Serialize + DeserializeOwned {
    /// What errors call one of them, and several.
    const WORDS: [&'static str; 2];

    /// Whether its interfaces are those of the handle's namespace, so that they can be named.
    fn is_of_this_namespace(&self) -> bool {
        true
    }

    /// Checks fields before names in them are looked up.
    fn check_names(_bytes: &[u8]) -> Result<(), InvalidField> {
        Ok(())
    }
}

impl FfiObject for Link {
    const WORDS: [&'static str; 2] = ["link", "links"];

    /// The lower link may be in another namespace.
    fn is_of_this_namespace(&self) -> bool {
        self.lower_namespace.is_none()
    }

    fn check_names(bytes: &[u8]) -> Result<(), InvalidField> {
        check_lower_name(bytes)
    }
}

macro_rules! ffi_objects {
    ($($type:ty: $one:literal, $several:literal;)*) => {$(
        impl FfiObject for $type {
            const WORDS: [&'static str; 2] = [$one, $several];
        }
    )*};
}
ffi_objects! {
    Addr: "address", "addresses";
    Fdb: "forwarding entry", "forwarding entries";
    Neigh: "neighbour", "neighbours";
    Nexthop: "nexthop", "nexthops";
    PortVlan: "VLAN", "VLANs";
    Route: "route", "routes";
    RouteQuery: "route", "routes";
    Rule: "rule", "rules";
}

/// Refuses a name where `bytes`, the fields of a link, also give a namespace for it: the name would be looked up in the
/// handle's own namespace, and the index that it has there used in the other one.
fn check_lower_name(bytes: &[u8]) -> Result<(), InvalidField> {
    const LOWER: u32 = field_id(json::LOWER);
    const NAMESPACE: u32 = field_id(json::LOWER_NAMESPACE);
    let (mut is_named, mut has_namespace) = (false, false);
    FieldReader::new(&mut Nameless).each(bytes, |_, id, value| {
        // A name stands behind an index of 0.
        is_named |= id == LOWER && value.len() > 4 && value.starts_with(&[0; 4]);
        has_namespace |= id == NAMESPACE;
        Ok(())
    })?;
    if is_named && has_namespace {
        return Err(json::name_in_other_namespace());
    }
    Ok(())
}

/// Knows no names.
struct Nameless;

impl NameLookup for Nameless {
    fn index(&mut self, _: &str) -> Option<IfIndex> {
        None
    }

    fn name(&mut self, _: IfIndex) -> Option<String> {
        None
    }
}

/// An object has at most this many bytes in any form. The kernel takes attributes of 64 KiB, which JSON writes in some
/// ten times as many bytes.
const MAX_OBJECT_BYTES: usize = 1 << 20;

/// What reading a byte of an object takes at most: the shortest element of a list is `{},` in JSON and 4 bytes in fields, and
/// becomes a struct, in JSON also a value on the way.
const MEMORY_PER_BYTE: usize = 256;

/// Objects up to this length are read without a look at the memory that is left.
const SMALL_OBJECT_BYTES: usize = 4096;

fn check_size<T: FfiObject>(bytes: &[u8]) -> Result<(), Error> {
    if bytes.len() <= SMALL_OBJECT_BYTES {
        return Ok(());
    }
    let [what, _] = T::WORDS;
    if bytes.len() > MAX_OBJECT_BYTES {
        return Err(Error::argument(format!(
            "the {what} has {} bytes, more than {MAX_OBJECT_BYTES}",
            bytes.len()
        )));
    }
    check_memory(
        bytes.len() * MEMORY_PER_BYTE,
        &format!("a {what} of {} bytes", bytes.len()),
    )
}

/// Reads an object that C passed for `action` into an empty one. It is large, so it stays where the caller has it.
pub fn read<T: FfiObject>(
    object: &mut T,
    action: Action,
    form: tapline_netlink_form,
    bytes: &[u8],
    names: &mut dyn FallibleLookup,
) -> Result<(), Error> {
    check_size::<T>(bytes)?;
    let read = match form {
        tapline_netlink_form::Fields => T::check_names(bytes)
            .and_then(|()| object.take_fields(bytes, &mut FieldReader::new(names))),
        // No bytes: a filter that matches everything.
        tapline_netlink_form::Json if bytes.is_empty() => Ok(()),
        tapline_netlink_form::Json => json::parse(bytes, names).map(|parsed| *object = parsed),
        tapline_netlink_form::Message => {
            return Err(Error::argument("only a change can be a message"));
        }
    };
    read.map_err(|error| {
        // Of the interface at which reading ended.
        let failure = names.take_failure().filter(|_| error.is_missing_interface);
        match failure {
            Some(failure) => not_looked_up::<T>(action, &error, failure),
            None => invalid::<T>(action, &error),
        }
    })
}

/// Reads an object that C passed for a change into an empty one.
pub fn read_change<T: FfiObject + tapline::net::Object>(
    object: &mut T,
    verb: Verb,
    form: tapline_netlink_form,
    bytes: &[u8],
    names: &mut dyn FallibleLookup,
) -> Result<(), Error> {
    if form != tapline_netlink_form::Message {
        return read(object, verb.into(), form, bytes, names);
    }
    check_size::<T>(bytes)?;
    *object = decode_change(verb, bytes).map_err(|error| Error::argument(error.to_string()))?;
    Ok(())
}

/// `cannot add address`
fn attempt<T: FfiObject>(action: Action) -> String {
    let is_of_several = matches!(action, Action::List | Action::Watch);
    let what = T::WORDS[usize::from(is_of_several)];
    format!("cannot {action} {what}")
}

/// The interface in a field could not be looked for.
fn not_looked_up<T: FfiObject>(action: Action, error: &InvalidField, failure: Error) -> Error {
    let attempt = attempt::<T>(action);
    Error {
        message: format!("{attempt}: {} ({})", failure.message, error.path),
        ..failure
    }
}

fn invalid<T: FfiObject>(action: Action, error: &InvalidField) -> Error {
    let InvalidField { path, reason, .. } = error;
    if error.is_missing_interface {
        let attempt = attempt::<T>(action);
        return Error::no_interface(format!("{attempt}: {reason} ({path})"));
    }
    let dot = if path.is_empty() { "" } else { "." };
    let mut message = format!("{}{dot}{path}: {reason}", T::NAME);
    // It may quote a value of any length, and a batch keeps the errors of all items.
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    Error::argument(message)
}

/// What is left of the message about an object that cannot be read.
const MAX_MESSAGE_BYTES: usize = 500;

/// Appends an object for C to `bytes`: fields behind their length, or a line of JSON.
pub fn write<T: FfiObject>(
    form: tapline_netlink_form,
    object: &T,
    bytes: &mut Vec<u8>,
    names: &mut dyn NameLookup,
) -> Result<(), Error> {
    match form {
        tapline_netlink_form::Fields => {
            let names = if object.is_of_this_namespace() {
                names
            } else {
                &mut Nameless
            };
            let mut out = FieldWriter::new(std::mem::take(bytes), names);
            out.sized(|out| object.put_fields(out));
            *bytes = out.into_bytes();
        }
        tapline_netlink_form::Json => {
            serde_json::to_writer(&mut *bytes, object)
                .map_err(|error| Error::argument(error.to_string()))?;
            bytes.push(b'\n');
        }
        tapline_netlink_form::Message => {
            return Err(Error::argument("only a change can be a message"));
        }
    }
    Ok(())
}
