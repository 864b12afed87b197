//! The verbs, the same for every object.

use crate::codec::{Malformed, Message, Request};
use crate::error::{Cause, NetlinkError};
use crate::handle::{Listing, Netlink};
use crate::object::{Object, Verb, read};
use crate::socket::Consistency;
use crate::table::{Question, locate};
use crate::uapi::{NLM_F_DUMP_FILTERED, NLM_F_ECHO};

/// Messages that may follow the one that makes an object.
const MAX_FOLLOW_UPS: usize = 64;

/// Reads the objects of a list that are like a filter.
struct Reader<'f, O> {
    filter: &'f O,
    questions: Vec<Question<O>>,
    /// Where a message has this flag the kernel has asked them.
    asked_flag: u16,
    /// Where each is read into, in place of the one before.
    place: O,
}

impl<'f, O: Object> Reader<'f, O> {
    fn new(filter: &'f O) -> Self {
        Self {
            filter,
            questions: filter.questions(),
            asked_flag: if filter.is_chosen_by_kernel() {
                NLM_F_DUMP_FILTERED
            } else {
                0
            },
            place: O::default(),
        }
    }

    /// Hands each object that an answer speaks of and that is like the filter to `take`.
    #[inline]
    fn read(
        &mut self,
        message: Message<'_>,
        mut take: impl FnMut(&mut O),
    ) -> Result<(), Malformed> {
        // Lists of multicast groups are of the question's own type.
        if message.kind != O::MESSAGES.new && message.kind != O::MESSAGES.get {
            return Ok(());
        }
        let is_asked = message.flags & self.asked_flag != 0;
        self.place.parse_each(message.body, |object| {
            let mut questions = self.questions.iter();
            if is_asked || questions.all(|is_so| is_so(object, self.filter)) {
                object.reduce_to(self.filter);
                take(object);
            }
        })
    }
}

impl Netlink {
    /// Makes `object`, which may not be there. Equals `ip OBJECT add …`.
    ///
    /// What the kernel passes over when it makes one is said in messages that follow; when one of them is
    /// refused the object is removed again.
    ///
    /// # Errors
    /// `Cause::Refused` with EEXIST when it is there.
    pub fn add<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.change(Verb::Add, object)
    }

    /// As [`add`](Self::add), and returns the object as the kernel made it, with what it chose itself,
    /// such as the index of a link.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn create<O: Object>(&mut self, object: &O) -> Result<O, NetlinkError> {
        self.make(Verb::Add, object)
    }

    /// Makes `object`, or puts it in the place of the one that is there. Equals `ip OBJECT replace …`.
    ///
    /// # Errors
    /// `Cause::Refused`; `Cause::Unfit` where an object has no such verb.
    pub fn replace<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.change(Verb::Replace, object)
    }

    /// Changes the object that is there; what is `None` stays. Equals `ip OBJECT set …` or
    /// `ip OBJECT change …`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV, ENOENT or ESRCH when there is none. Of several changes the ones the
    /// kernel made before the refused one stay.
    pub fn set<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.change(Verb::Set, object)
    }

    /// Makes `object` beside those of the same key. Equals `ip OBJECT append …`.
    ///
    /// # Errors
    /// As [`replace`](Self::replace).
    pub fn append<O: Object>(&mut self, object: &O) -> Result<(), NetlinkError> {
        self.change(Verb::Append, object)
    }

    /// Removes the object that `key` says. Equals `ip OBJECT del …`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV, ENOENT, ESRCH or EADDRNOTAVAIL when there is none.
    pub fn del<O: Object>(&mut self, key: &O) -> Result<(), NetlinkError> {
        self.change(Verb::Del, key)
    }

    /// The object that `key` says.
    ///
    /// # Errors
    /// `Cause::Refused` or `Cause::Absent` when there is none.
    pub fn get<O: Object>(&mut self, key: &O) -> Result<O, NetlinkError> {
        if !O::HAS_GET {
            let listing = self.list(key)?;
            let first = listing.items.into_iter().next();
            return first.ok_or_else(|| Self::failed(Verb::Get, key, Cause::Absent));
        }
        let mut request = self.request();
        let asked = match key.put(Verb::Get, &mut request) {
            Ok(()) => self.socket.ask(&mut request, read::<O>),
            Err(unfit) => Err(Cause::Unfit(unfit)),
        };
        self.done(Verb::Get, key, request, asked)
    }

    /// All objects that are like `filter`: each field that it gives is the same in them. The kernel chooses
    /// by the fields that it knows to choose by. Equals `ip OBJECT show …`.
    ///
    /// # Errors
    /// [`NetlinkError`] when the kernel's answer is lost or unreadable.
    pub fn list<O: Object>(&mut self, filter: &O) -> Result<Listing<O>, NetlinkError> {
        match self.list_present(filter) {
            Err(NetlinkError {
                cause: Cause::Refused(refusal),
                ..
            }) if O::is_none(&refusal) => Ok(Listing::default()),
            listed => listed,
        }
    }

    /// As [`list`](Self::list), but where the objects are kept in something that is not there, as routes in a
    /// table that has had none, there is no list, and not an empty one.
    ///
    /// # Errors
    /// As [`list`](Self::list); `Cause::Refused` with ENOENT.
    pub fn list_present<O: Object>(&mut self, filter: &O) -> Result<Listing<O>, NetlinkError> {
        let mut request = self.request();
        let listed = match filter.put(Verb::List, &mut request) {
            Ok(()) => {
                let mut reader = Reader::new(filter);
                self.socket.list(&mut request, |message, items| {
                    reader.read(message, |object| items.push(std::mem::take(object)))
                })
            }
            Err(unfit) => Err(Cause::Unfit(unfit)),
        };
        self.done(Verb::List, filter, request, listed)
    }

    /// Lends all objects that are like `filter` to `look`, one after another, and keeps none: each is read into
    /// the place of the one before, so memory does not grow with their number. Returns whether the list was whole; objects that came or went meanwhile may
    /// be missing, or there twice, where it was not.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn each<O: Object>(
        &mut self,
        filter: &O,
        mut look: impl FnMut(&O),
    ) -> Result<bool, NetlinkError> {
        let mut request = self.request();
        let listed = match filter.put(Verb::List, &mut request) {
            Ok(()) => {
                let mut reader = Reader::new(filter);
                self.socket.exchange(&mut request, |message| {
                    reader.read(message, |object| look(object))
                })
            }
            Err(unfit) => Err(Cause::Unfit(unfit)),
        };
        let listed = match listed {
            Err(Cause::Refused(refusal)) if O::is_none(&refusal) => Ok(true),
            listed => listed.map(|consistency| consistency == Consistency::Whole),
        };
        self.done(Verb::List, filter, request, listed)
    }

    fn change<O: Object>(&mut self, verb: Verb, object: &O) -> Result<(), NetlinkError> {
        if object.is_said_whole(verb) {
            let whole = object.over(self.get(object)?);
            return self.change_to(verb, &whole);
        }
        self.change_to(verb, object)
    }

    fn change_to<O: Object>(&mut self, verb: Verb, object: &O) -> Result<(), NetlinkError> {
        let is_apart = verb == Verb::Add && object.is_made_apart();
        if is_apart || object.has_follow_up(verb) {
            return self.make(verb, object).map(|_| ());
        }
        let mut request = self.request();
        let told = match object.put(verb, &mut request) {
            Ok(()) => self.socket.tell(&mut request),
            Err(unfit) => Err(Cause::Unfit(unfit)),
        };
        self.done(verb, object, request, told)
    }

    /// Makes or changes an object, follows up, and returns it as it was after the first message.
    fn make<O: Object>(&mut self, verb: Verb, object: &O) -> Result<O, NetlinkError> {
        if verb == Verb::Add
            && object.is_made_apart()
            && let Some(namespace) = self.socket.namespace()
        {
            return self.make_apart(object, namespace);
        }
        let mut request = self.request();
        let made = match object.put(verb, &mut request) {
            Ok(()) => {
                request.flag(NLM_F_ECHO);
                self.socket.ask(&mut request, read::<O>)
            }
            Err(unfit) => Err(Cause::Unfit(unfit)),
        };
        let made = match self.done(verb, object, request, made) {
            // Kernels echo what they made since 6.2 only, and an unchanged object never.
            Err(NetlinkError {
                cause: Cause::Unanswered,
                ..
            }) => self.get(object)?,
            made => made?,
        };
        for step in 0..MAX_FOLLOW_UPS {
            let mut request = self.request();
            if !object.follow_up(verb, &made, step, &mut request) {
                break;
            }
            let told = self.socket.tell(&mut request);
            let told = self.done(verb, object, request, told);
            if told.is_err() && verb == Verb::Add {
                // Whether this succeeds or not, the refusal is what the caller has to hear of.
                let _ = self.change(Verb::Del, &made);
            }
            told?;
        }
        Ok(made)
    }

    /// Room for a request; [`done`](Self::done) takes it back.
    pub(crate) fn request(&mut self) -> Request {
        let mut request = std::mem::take(&mut self.scratch);
        request.clear();
        request
    }

    /// Ends a request: says what it was about if it failed, and where in it the kernel points.
    pub(crate) fn done<O: Object, T>(
        &mut self,
        verb: Verb,
        object: &O,
        request: Request,
        answer: Result<T, Cause>,
    ) -> Result<T, NetlinkError> {
        let answer = answer.map_err(|mut cause| {
            if let Cause::Refused(refusal) = &mut cause {
                let (header_bytes, entries) = O::layout(verb);
                refusal.path = locate(refusal, request.bytes(), header_bytes, entries)
                    .or_else(|| object.suspect().map(Into::into));
            }
            Self::failed(verb, object, cause)
        });
        self.scratch = request;
        answer
    }

    #[cold]
    pub(crate) fn failed<O: Object>(verb: Verb, object: &O, cause: Cause) -> NetlinkError {
        NetlinkError::new(verb.into(), object.subject(), cause)
    }
}
