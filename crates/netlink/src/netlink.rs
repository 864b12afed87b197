//! The handle on the network configuration of a namespace, and its operations on objects.

use std::os::fd::{AsFd, BorrowedFd};

use abi::namespace::{NamespaceError, NetNamespace};

use crate::codec::{Malformed, Message, Request};
use crate::error::{Action, Cause, NetlinkError, RequestTarget};
use crate::object::{Object, check_settable, decode_reply, encode};
use crate::schema::{FieldMatcher, attribute_path};
use crate::socket::{Consistency, Listing, Socket};
use crate::transport::Transport;
use crate::uapi::{NLM_F_DUMP_FILTERED, NLM_F_ECHO};
use crate::validate::check_attributes;
use crate::verb::Verb;

/// Maximum number of messages that follow the one that creates an object.
const MAX_FOLLOW_UPS: usize = 64;

/// The network configuration of one namespace.
///
/// Holds one socket. A request costs two system calls, a list one more for each 32 KiB. `Send`, but not to
/// be shared: every request needs `&mut self`. The handle stays in the namespace in which it was opened.
///
/// # Privileges
/// None to open, list and get. `CAP_NET_ADMIN` in the user namespace that owns the network namespace
/// to add, set and delete.
/// # Source
/// rtnetlink(7); Documentation/userspace-api/netlink/intro.rst.
#[derive(Debug)]
pub struct Netlink {
    pub(crate) socket: Socket,
    /// The buffer of the next request.
    pub(crate) scratch: Request,
}

impl Netlink {
    /// Opens a handle on the namespace of the calling thread.
    ///
    /// # Errors
    /// [`Cause::System`] with the system call that failed, e.g. ENOPROTOOPT before Linux 4.20.
    pub fn open() -> Result<Self, NetlinkError> {
        let socket =
            Socket::open(None).map_err(NetlinkError::about(Action::Open, RequestTarget::Socket))?;
        Ok(Self::with_socket(socket))
    }

    /// Opens a handle on `namespace`. The calling thread stays in its own namespace.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Cause::Namespace`].
    /// # Privileges
    /// `CAP_SYS_ADMIN`, to enter the namespace.
    pub fn open_in(namespace: &NetNamespace) -> Result<Self, NetlinkError> {
        let about = NetlinkError::about(Action::Open, RequestTarget::Socket);
        namespace
            .run(Self::open)
            .map_err(|error| about(Cause::Namespace(error)))?
    }

    /// Opens a handle on another transport, e.g. a fake kernel or a recorder.
    pub fn over(transport: impl Transport + 'static) -> Self {
        Self::with_socket(Socket::over(Box::new(transport)))
    }

    fn with_socket(socket: Socket) -> Self {
        Self {
            socket,
            scratch: Request::default(),
        }
    }

    /// Creates `object`, which must not exist. Equals `ip OBJECT add …`.
    ///
    /// Fields that the kernel ignores when it creates an object are set by follow-up messages. If one of
    /// them fails, the object is deleted again.
    ///
    /// # Errors
    /// `Cause::Refused` with EEXIST if the object exists.
    pub fn add<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.change(Verb::Add, object)
    }

    /// Like [`add`](Self::add), and returns the object as created, with the values that the kernel chose,
    /// such as the index of a link.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn create<O: Object>(&mut self, object: &O) -> Result<O, NetlinkError> {
        Self::check(Verb::Add, object)?;
        self.change_and_read(Verb::Add, object)
    }

    /// Creates `object`, or replaces the existing one. Equals `ip OBJECT replace …`.
    ///
    /// # Errors
    /// `Cause::Refused`; `Cause::Invalid` if this kind of object cannot be replaced.
    pub fn replace<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.change(Verb::Replace, object)
    }

    /// Changes an existing object. Fields that are `None` keep their value. Equals `ip OBJECT set …` or
    /// `ip OBJECT change …`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV, ENOENT or ESRCH if the object does not exist. If the kernel rejects
    /// one of several fields, the fields that it changed before stay changed.
    pub fn set<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.change(Verb::Set, object)
    }

    /// Creates `object` next to others with the same key. Equals `ip OBJECT append …`.
    ///
    /// # Errors
    /// As [`replace`](Self::replace).
    pub fn append<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.change(Verb::Append, object)
    }

    /// Deletes the object that `key` identifies. Equals `ip OBJECT del …`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV, ENOENT, ESRCH or EADDRNOTAVAIL if it does not exist; `Cause::Invalid` if `key`
    /// identifies nothing.
    pub fn del<O: Object>(&mut self, key: &O) -> Result<(), NetlinkError> {
        self.change(Verb::Del, key)
    }

    /// Reads the object that `key` identifies.
    ///
    /// # Errors
    /// `Cause::Refused` or `Cause::Absent` if it does not exist; `Cause::Invalid` if `key` identifies nothing.
    pub fn get<O: Object>(&mut self, key: &O) -> Result<O, NetlinkError> {
        if !O::HAS_GET {
            key.check_key()
                .map_err(|invalid| Self::failure(Verb::Get, key, Cause::Invalid(invalid)))?;
            let listing = self.list(key)?;
            let first = listing.items.into_iter().next();
            return first.ok_or_else(|| Self::failure(Verb::Get, key, Cause::Absent));
        }
        let mut request = self.request();
        let result = match encode(Verb::Get, key, &mut request) {
            Ok(()) => self.socket.query(&mut request, decode_reply::<O>),
            Err(invalid) => Err(Cause::Invalid(invalid)),
        };
        self.finish(Verb::Get, key, request, result)
    }

    /// Lists all objects that match `filter`: each field that it gives has the same value in them. The
    /// kernel filters by the fields that it supports. Equals `ip OBJECT show …`.
    ///
    /// # Errors
    /// [`NetlinkError`] if the kernel's reply is lost or cannot be decoded.
    pub fn list<O: Object>(&mut self, filter: &O) -> Result<Listing<O>, NetlinkError> {
        match self.list_present(filter) {
            Err(NetlinkError {
                cause: Cause::Refused(error),
                ..
            }) if O::means_empty_list(&error) => Ok(Listing::default()),
            listed => listed,
        }
    }

    /// Like [`list`](Self::list), but fails if the container of the objects does not exist, e.g. a routing
    /// table that never had a route.
    ///
    /// # Errors
    /// As [`list`](Self::list); `Cause::Refused` with ENOENT.
    pub fn list_present<O: Object>(&mut self, filter: &O) -> Result<Listing<O>, NetlinkError> {
        let mut request = self.request();
        let result = match encode(Verb::List, filter, &mut request) {
            Ok(()) => {
                let mut decoder = FilteringDecoder::new(filter);
                let mut is_complete = true;
                let listed = self.socket.list(&mut request, |message, items| {
                    decoder.decode(message, |object| {
                        // The kernel decides how many there are.
                        is_complete &= items.try_reserve(1).is_ok();
                        if is_complete {
                            items.push(std::mem::take(object));
                        }
                    })
                });
                listed
                    .and_then(|listing| is_complete.then_some(listing).ok_or_else(Cause::no_memory))
            }
            Err(invalid) => Err(Cause::Invalid(invalid)),
        };
        self.finish(Verb::List, filter, request, result)
    }

    /// Calls `visit` with each object that matches `filter`, without collecting them: memory does not grow
    /// with their number. Returns whether the list was consistent. If it was not, objects that were added
    /// or deleted meanwhile may be missing or visited twice.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn each<O: Object>(
        &mut self,
        filter: &O,
        mut visit: impl FnMut(&O),
    ) -> Result<bool, NetlinkError> {
        let mut request = self.request();
        let result = match encode(Verb::List, filter, &mut request) {
            Ok(()) => {
                let mut decoder = FilteringDecoder::new(filter);
                self.socket.exchange(&mut request, |message| {
                    decoder.decode(message, |object| visit(object))
                })
            }
            Err(invalid) => Err(Cause::Invalid(invalid)),
        };
        let result = match result {
            Err(Cause::Refused(error)) if O::means_empty_list(&error) => Ok(true),
            result => result.map(|consistency| consistency == Consistency::Consistent),
        };
        self.finish(Verb::List, filter, request, result)
    }

    /// As [`check_settable`].
    fn check<O: Object>(verb: Verb, object: &O) -> Result<(), NetlinkError> {
        check_settable(verb, object)
            .map_err(|invalid| Self::failure(verb, object, Cause::Invalid(invalid)))
    }

    /// Carries out `verb`, which changes something.
    ///
    /// # Errors
    /// As the method of the verb; `Cause::Invalid` if a field of `object` is read-only ([`Object::settable`] removes them).
    pub fn change<O: Object>(&mut self, verb: Verb, object: &O) -> Result<(), NetlinkError> {
        Self::check(verb, object)?;
        if object.resets_omitted_fields(verb) {
            let complete = object.completed_from(self.get(object)?);
            return self.send_change(verb, &complete);
        }
        self.send_change(verb, object)
    }

    fn send_change<O: Object>(&mut self, verb: Verb, object: &O) -> Result<(), NetlinkError> {
        let by_driver = verb == Verb::Add && object.is_created_by_driver();
        if by_driver || object.has_follow_up(verb) {
            return self.change_and_read(verb, object).map(|_| ());
        }
        let mut request = self.request();
        let result = match encode(verb, object, &mut request) {
            Ok(()) => self.socket.change(&mut request),
            Err(invalid) => Err(Cause::Invalid(invalid)),
        };
        self.finish(verb, object, request, result)
    }

    /// Creates or changes an object, sends its follow-up messages, and returns the object as it was after
    /// the first message.
    fn change_and_read<O: Object>(&mut self, verb: Verb, object: &O) -> Result<O, NetlinkError> {
        if verb == Verb::Add
            && object.is_created_by_driver()
            && let Some(namespace) = self.socket.namespace()
        {
            return self.create_by_driver(object, namespace);
        }
        let mut request = self.request();
        let result = match encode(verb, object, &mut request) {
            Ok(()) => {
                request.add_flags(NLM_F_ECHO);
                self.socket.query(&mut request, decode_reply::<O>)
            }
            Err(invalid) => Err(Cause::Invalid(invalid)),
        };
        let created = match self.finish(verb, object, request, result) {
            // Kernels before 6.2 do not echo new objects, and no kernel echoes an unchanged one.
            Err(NetlinkError {
                cause: Cause::NoReply,
                ..
            }) => self.get(object)?,
            created => created?,
        };
        for index in 0..MAX_FOLLOW_UPS {
            let mut request = self.request();
            if !object.encode_follow_up(verb, &created, index, &mut request) {
                break;
            }
            let result = match check_attributes(&request, O::request_layout(verb)) {
                Ok(()) => self.socket.change(&mut request),
                Err(invalid) => Err(Cause::Invalid(invalid)),
            };
            let result = self.finish(verb, object, request, result);
            if result.is_err() && verb == Verb::Add {
                // The caller needs the first error, whether or not the deletion succeeds.
                let _ = self.change(Verb::Del, &created);
            }
            result?;
        }
        Ok(created)
    }

    /// Creates `object` through its driver in `namespace`, which is the handle's, and sets its other fields.
    fn create_by_driver<O: Object>(
        &mut self,
        object: &O,
        namespace: Result<NetNamespace, NamespaceError>,
    ) -> Result<O, NetlinkError> {
        let created = namespace
            .map_err(Cause::Namespace)
            .and_then(|namespace| create_in(&namespace, object))
            .map_err(|cause| Self::failure(Verb::Add, object, cause))?;
        let created = self.get(&created)?;
        let Some(settings) = object.settings_after_creation(&created) else {
            return Ok(created);
        };
        if let Err(error) = self.set(&settings) {
            // The caller needs this error, whether or not the deletion succeeds.
            let _ = self.del(&created);
            return Err(NetlinkError {
                action: Action::Add,
                target: object.target(),
                ..error
            });
        }
        // It cannot be read here if it was moved to another namespace.
        Ok(self.get(&created).unwrap_or(created))
    }

    /// The buffer of the next request; [`finish`](Self::finish) returns it.
    pub(crate) fn request(&mut self) -> Request {
        let mut request = std::mem::take(&mut self.scratch);
        request.clear();
        request
    }

    /// Ends a request: adds its target and the rejected attribute to an error.
    pub(crate) fn finish<O: Object, T>(
        &mut self,
        verb: Verb,
        object: &O,
        request: Request,
        result: Result<T, Cause>,
    ) -> Result<T, NetlinkError> {
        let result = result.map_err(|mut cause| {
            if let Cause::Refused(error) = &mut cause {
                let (header_bytes, specs) = O::request_layout(verb);
                error.path = attribute_path(error, request.bytes(), header_bytes, specs)
                    .or_else(|| object.suspect_attribute().map(Into::into));
            }
            Self::failure(verb, object, cause)
        });
        self.scratch = request;
        result
    }

    #[cold]
    fn failure<O: Object>(verb: Verb, object: &O, cause: Cause) -> NetlinkError {
        NetlinkError::new(verb.into(), object.target(), cause)
    }

    /// As [`Socket::list`], for messages that are not [`Object`]s.
    pub(crate) fn list_messages<T>(
        &mut self,
        mut request: Request,
        decode: impl Fn(Message<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<Listing<T>, Cause> {
        self.socket.list(&mut request, |message, items| {
            items.extend(decode(message)?);
            Ok(())
        })
    }
}

fn create_in<O: Object>(namespace: &NetNamespace, object: &O) -> Result<O, Cause> {
    let here = NetNamespace::current().and_then(|here| here.id());
    let there = namespace.id();
    // Entering a namespace takes a privilege and a thread.
    if matches!((here, there), (Ok(here), Ok(there)) if here == there) {
        return object.create_by_driver();
    }
    let created = namespace.run(|| object.create_by_driver());
    created.map_err(Cause::Namespace)?
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.descriptor()
    }
}

/// Decodes the objects of a list and applies a filter.
struct FilteringDecoder<'f, O> {
    filter: &'f O,
    matchers: Vec<FieldMatcher<O>>,
    /// If a message has this flag, the kernel has applied the filter.
    filtered_flag: u16,
    /// Each object is decoded into this one.
    object: O,
}

impl<'f, O: Object> FilteringDecoder<'f, O> {
    fn new(filter: &'f O) -> Self {
        Self {
            filter,
            matchers: filter.matchers(),
            filtered_flag: if filter.is_filtered_by_kernel() {
                NLM_F_DUMP_FILTERED
            } else {
                0
            },
            object: O::default(),
        }
    }

    /// Calls `visit` with each object of a message that matches the filter.
    #[inline]
    fn decode(
        &mut self,
        message: Message<'_>,
        mut visit: impl FnMut(&mut O),
    ) -> Result<(), Malformed> {
        // Lists of multicast groups have the message type of the query.
        if message.kind != O::MESSAGES.new && message.kind != O::MESSAGES.get {
            return Ok(());
        }
        let is_filtered = message.flags & self.filtered_flag != 0;
        self.object.decode_each(message.body, |object| {
            let mut matchers = self.matchers.iter();
            if is_filtered || matchers.all(|matches| matches(object, self.filter)) {
                object.drop_unrequested(self.filter);
                visit(object);
            }
        })
    }
}
