//! How a kernel object is defined.
//!
//! An object is one struct of optional fields, made by [`attribute_set!`](crate::schema). The same
//! struct is the desired state, the filter, the reply, the event and the JSON.
//!
//! [`Object`] says what one must provide: message types, key, encoding and decoding. The defaults of the other
//! methods fit most objects: how lists are filtered, changes that take more than one message, incomplete
//! notifications, and how a batch rolls back a change.

use std::fmt;
use std::hash::Hash;

use crate::codec::{KernelError, Malformed, Message, Request};
use crate::error::{Cause, InvalidRequest, RequestTarget};
use crate::schema::{AttributeSet, AttributeSpec, FieldMatcher};
use crate::validate::check_attributes;
use crate::verb::{MessageTypes, Verb};

/// Something that the kernel configures through rtnetlink.
pub trait Object: AttributeSet + Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// What identifies one object among others of its kind.
    type Key: Clone + fmt::Debug + Eq + Hash + Send + Sync + 'static;

    /// The message types of this kind of object.
    const MESSAGES: MessageTypes;
    /// Length of the fixed header in front of the attributes, in bytes.
    const HEADER_BYTES: usize;
    /// The multicast groups whose notifications concern this kind of object (`RTNLGRP_…`).
    const GROUPS: &'static [u32];
    /// Whether the kernel can look up a single object. Otherwise `get` lists and filters.
    const HAS_GET: bool;

    /// The attributes of its messages.
    fn attributes() -> &'static [AttributeSpec] {
        Self::specs()
    }

    /// Appends the request for `verb` on this object. For [`Verb::List`] it encodes the fields that the
    /// kernel can filter by and leaves the others to [`matches`](Self::matches).
    ///
    /// # Errors
    /// [`InvalidRequest`] if no request can express this object.
    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest>;

    /// The netlink flags of a request with this verb, without `NLM_F_REQUEST`.
    fn netlink_flags(verb: Verb) -> u16 {
        verb.flags()
    }

    /// Overwrites this object with the one in the body of a message. Nothing remains of the previous
    /// value, so one object can decode many messages. Returns false if the message is about something
    /// else, e.g. another address family; the object is then unspecified, as after an error.
    ///
    /// # Errors
    /// [`Malformed`] if the message is truncated.
    fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed>;

    /// Decodes the body of a request, without what it does not change. Requires
    /// [`DECODES_REQUESTS`](Self::DECODES_REQUESTS).
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    fn decode_request(body: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut object = Self::decode(body)?;
        object.iter_mut().for_each(Self::remove_reported);
        Ok(object)
    }

    /// What identifies it; `None` if a part of the key is missing.
    fn key(&self) -> Option<Self::Key>;

    /// Checks that the fields identify an object where the kernel has no lookup and may delete the first match: without
    /// them, `get` would return an arbitrary object.
    ///
    /// # Errors
    /// [`InvalidRequest`] says what is missing.
    fn check_key(&self) -> Result<(), InvalidRequest> {
        Ok(())
    }

    /// Whether each field given in `filter` has the same value here.
    fn matches(&self, filter: &Self) -> bool {
        self.fields_match(filter)
    }

    /// How error messages name it.
    fn target(&self) -> RequestTarget;

    /// The part of a reported object that a request can give again: without the read-only fields, and without those that
    /// only some drivers take or that only mean something in a reply, such as the carrier of a link.
    ///
    /// Adding it creates an equal object where there is none with its key. To change a link, give its index and what
    /// changes: drivers refuse settings that they cannot change, also with the same value.
    #[must_use]
    fn settable(mut self) -> Self {
        self.remove_uncopied();
        self.remove_reported();
        self
    }

    /// Decodes the body of a message; `None` if the message is about something else.
    ///
    /// # Errors
    /// As [`decode_into`](Self::decode_into).
    fn decode(body: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut object = Self::default();
        Ok(object.decode_into(body)?.then_some(object))
    }

    /// Like [`decode_into`](Self::decode_into), for messages with several objects. Overwrites this object
    /// with each of them in turn and calls `visit` every time.
    ///
    /// # Errors
    /// As [`decode_into`](Self::decode_into).
    #[inline]
    fn decode_each(
        &mut self,
        body: &[u8],
        mut visit: impl FnMut(&mut Self),
    ) -> Result<(), Malformed> {
        if self.decode_into(body)? {
            visit(self);
        }
        Ok(())
    }

    // How lists are filtered.

    /// The comparisons that [`matches`](Self::matches) makes for this filter. Lists run only these.
    fn matchers(&self) -> Vec<FieldMatcher<Self>> {
        vec![Self::matches]
    }

    /// Whether the kernel applies every field of this filter itself, provided that it sets
    /// `NLM_F_DUMP_FILTERED` in its reply.
    fn is_filtered_by_kernel(&self) -> bool {
        false
    }

    /// Whether this error reply to a list request only means that the list is empty.
    fn means_empty_list(_error: &KernelError) -> bool {
        false
    }

    /// Removes fields that the kernel reports although `filter` does not ask for them.
    #[inline]
    fn drop_unrequested(&mut self, _filter: &Self) {}

    // Changes that take more than one plain message.

    /// Whether [`decode`](Self::decode) can decode the requests that [`encode`](Self::encode) writes. False if
    /// requests have another layout than replies.
    const DECODES_REQUESTS: bool = true;

    /// Length of the fixed header and the attributes of the request for `verb`.
    fn request_layout(_verb: Verb) -> (usize, &'static [AttributeSpec]) {
        (Self::HEADER_BYTES, Self::attributes())
    }

    /// Whether the kernel resets the fields that a change omits.
    fn resets_omitted_fields(&self, _verb: Verb) -> bool {
        false
    }

    /// This change, completed with the fields of `current` that the kernel would otherwise reset.
    #[must_use]
    fn completed_from(&self, _current: Self) -> Self {
        self.clone()
    }

    /// Whether messages have to follow the first one for `verb`.
    fn has_follow_up(&self, _verb: Verb) -> bool {
        false
    }

    /// Appends the follow-up message with index `index` for fields that the kernel ignores in the first
    /// message. `created` is the object after the first message. Returns false after the last follow-up.
    fn encode_follow_up(
        &self,
        _verb: Verb,
        _created: &Self,
        _index: usize,
        _request: &mut Request,
    ) -> bool {
        false
    }

    /// Whether a driver's file creates it instead of a netlink message.
    fn is_created_by_driver(&self) -> bool {
        false
    }

    /// Creates it through the driver's file, in the network namespace of the calling thread. Returns an
    /// object that identifies it.
    ///
    /// # Errors
    /// [`Cause::System`] with the system call that failed, or [`Cause::Invalid`].
    fn create_by_driver(&self) -> Result<Self, Cause> {
        Ok(self.clone())
    }

    /// The change that applies the remaining fields after [`create_by_driver`](Self::create_by_driver);
    /// `None` if there are none.
    fn settings_after_creation(&self, _created: &Self) -> Option<Self> {
        None
    }

    /// The path of an attribute with an impossible value. Used when the kernel rejects the request without
    /// naming an attribute.
    fn suspect_attribute(&self) -> Option<String> {
        None
    }

    // Which notifications are incomplete, and which differences count as a change.

    /// Whether `other` has the same configuration. Counters and ages may differ.
    fn has_same_configuration(&self, other: &Self) -> bool {
        self == other
    }

    /// Whether this object may still exist, completely or in part, after the kernel reported that
    /// `removed`, which has the same key, was deleted.
    fn may_survive(&self, _removed: &Self) -> bool {
        false
    }

    /// Whether a notification may imply changes that the kernel does not report. The watch then lists
    /// again. The notification may be about another kind of object.
    fn requires_relist(_message: Message<'_>) -> bool {
        false
    }

    // How a batch rolls back a change.

    /// Why a deleted object cannot be restored, e.g. because other objects were deleted with it.
    const RESTORE_IMPOSSIBLE: Option<&'static str> = None;
    /// Whether adding an existing object changes it, and deleting a missing one succeeds.
    const IS_IDEMPOTENT: bool = false;

    /// The single objects that this one stands for, e.g. the members of a range.
    fn expanded(&self) -> Vec<Self> {
        vec![self.clone()]
    }

    /// Whether creating this object takes something away from `other`, which has a different key.
    fn displaces(&self, _other: &Self) -> bool {
        false
    }

    /// The request that restores this object, as the kernel reported it before `change`.
    #[must_use]
    fn to_restore(self, _change: &Self) -> Self {
        self.settable()
    }

    /// The change that has to follow when this object has been restored.
    fn set_after_restore(&self) -> Option<Self> {
        None
    }

    /// This object reduced to its key and the fields that `change` gives.
    #[must_use]
    fn reduced_to(self, _change: &Self) -> Self {
        self
    }
}

/// Appends the request for `verb` on `object`.
///
/// # Errors
/// [`InvalidRequest`] if no request can express it, or a field is too long for an attribute.
#[inline]
pub(crate) fn encode<O: Object>(
    verb: Verb,
    object: &O,
    request: &mut Request,
) -> Result<(), InvalidRequest> {
    object.encode(verb, request)?;
    check_attributes(request, O::request_layout(verb))
}

/// Checks that `object` has no read-only field: a request would succeed without the effect that it asks for.
pub(crate) fn check_settable<O: Object>(verb: Verb, object: &O) -> Result<(), InvalidRequest> {
    // A deletion contains nothing but the key.
    if verb == Verb::Del {
        return Ok(());
    }
    match object.reported_field() {
        None => Ok(()),
        Some(field) => Err(InvalidRequest::new(format!("{field} is read-only"))),
    }
}

/// Decodes a reply or a notification; `None` if it is not about an `O`.
#[inline]
pub(crate) fn decode_reply<O: Object>(message: Message<'_>) -> Result<Option<O>, Malformed> {
    if message.kind == O::MESSAGES.new {
        O::decode(message.body)
    } else {
        Ok(None)
    }
}

/// An object without some of its fields: `without!(object, used, updated)`.
macro_rules! without {
    ($object:expr, $($field:ident),+ $(,)?) => {{
        let mut object = $object;
        $(object.$field = None;)+
        object
    }};
}
pub(crate) use without;

/// The decoders of objects of which one message has several: `Self::read` calls a closure with each.
macro_rules! decode_several {
    () => {
        /// Decodes the first object.
        fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
            let mut first = None;
            Self::read(body, |object| _ = first.get_or_insert(object))?;
            let is_one = first.is_some();
            *self = first.unwrap_or_default();
            Ok(is_one)
        }

        fn decode_each(
            &mut self,
            body: &[u8],
            mut visit: impl FnMut(&mut Self),
        ) -> Result<(), Malformed> {
            Self::read(body, |object| {
                *self = object;
                visit(self);
            })
        }
    };
}
pub(crate) use decode_several;
