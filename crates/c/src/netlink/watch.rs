//! Watches: the objects that exist, and then every change.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, read as read_from, write as write_to};
use serde::Serialize;
use tapline::net::{Action, Event, Watch};
use tapline::{Stop, Stopper};

use super::handle::{Open, tapline_netlink};
use super::list::{list, reserve, tapline_list};
use super::names::{Lookup, Names};
use super::object::{
    FfiObject, read, tapline_netlink_form, tapline_netlink_object, with_type, write,
};
use super::source::Source;
use crate::arguments::array;
use crate::error::tapline_error;
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::status::tapline_status;

/// Unread notifications that a watch of a fake kernel has room for.
const FAKE_CAPACITY: usize = 4096;

/// What an event of a watch reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum tapline_watch_event {
    /// The object is new, or existed when the watch was opened.
    Added = 1,
    /// The object may have changed.
    Changed = 2,
    /// The object was deleted.
    Removed = 3,
    /// Notifications were lost because the buffer overflowed. The events after it are the difference to the current
    /// state.
    Overrun = 4,
}

/// A watch. Close it with `tapline_watch_close`.
pub struct tapline_watch(());

/// Events that a call returns at most: one that does not wait ends, however fast they come.
const MAX_EVENTS: usize = 65_536;

/// A watch of any kind of object.
trait AnyWatch: AsFd + Send {
    /// Appends the events that are available to `out`. Does not wait.
    fn put_available(
        &mut self,
        form: tapline_netlink_form,
        out: &mut Vec<u8>,
        names: &mut Names<'_>,
    ) -> Result<(), Error>;

    /// Whether there may be more, although its descriptor is not readable.
    fn has_pending(&self) -> bool;
}

/// A descriptor that is readable while something is set.
struct Flag {
    descriptor: OwnedFd,
    is_set: bool,
}

impl Flag {
    fn new() -> io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            descriptor,
            is_set: false,
        })
    }

    fn set(&mut self, is_set: bool) -> Result<(), Error> {
        if is_set == self.is_set {
            return Ok(());
        }
        let changed = if is_set {
            write_to(&self.descriptor, &1_u64.to_ne_bytes())
        } else {
            read_from(&self.descriptor, &mut [0; 8])
        };
        changed.map_err(|errno| Error::system(&io::Error::from(errno)))?;
        self.is_set = is_set;
        Ok(())
    }
}

struct OpenWatch {
    watch: Box<dyn AnyWatch>,
    names: Lookup,
    form: tapline_netlink_form,
    /// Of the last call, which returned the events before it.
    failure: Option<Error>,
    stop: Stop,
    /// Readable while events are in memory, or a failure.
    pending: Flag,
    /// Readable when events may be available, and from the stop on.
    ready: OwnedFd,
}

impl OpenWatch {
    fn new(
        watch: Box<dyn AnyWatch>,
        names: Lookup,
        form: tapline_netlink_form,
    ) -> Result<Self, Error> {
        let descriptors = || {
            let (stop, pending) = (Stop::new()?, Flag::new()?);
            let ready = epoll::create(CreateFlags::CLOEXEC)?;
            for source in [watch.as_fd(), stop.as_fd(), pending.descriptor.as_fd()] {
                epoll::add(&ready, source, EventData::new_u64(0), EventFlags::IN)?;
            }
            Ok((stop, pending, ready))
        };
        let (stop, pending, ready) =
            descriptors().map_err(|error: io::Error| Error::system(&error))?;
        let mut open_watch = Self {
            watch,
            names,
            form,
            failure: None,
            stop,
            pending,
            ready,
        };
        open_watch.mark_pending()?;
        Ok(open_watch)
    }

    /// Makes the descriptor readable if the next call has something to return that has been read.
    fn mark_pending(&mut self) -> Result<(), Error> {
        let is_pending = self.failure.is_some() || self.watch.has_pending();
        self.pending.set(is_pending)
    }

    /// Waits at most `timeout` for events, without one for ever. `None`: the watch has been stopped.
    fn events(&mut self, timeout: Option<Duration>) -> Result<Option<Vec<u8>>, Error> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut out = Vec::new();
        loop {
            if wait_for(self.stop.as_fd(), Some(Duration::ZERO))? {
                return Ok(None);
            }
            if let Some(failure) = self.failure.take() {
                self.mark_pending()?;
                return Err(failure);
            }
            let mut names = self.names.for_a_call();
            let taken = self.watch.put_available(self.form, &mut out, &mut names);
            self.failure = taken.err();
            let failure = self.failure.take_if(|_| out.is_empty());
            self.mark_pending()?;
            if let Some(failure) = failure {
                return Err(failure);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if !out.is_empty() || left.is_some_and(|left| left.is_zero()) {
                return Ok(Some(out));
            }
            wait_for(self.ready.as_fd(), left)?;
        }
    }
}

/// Waits at most `timeout` until `descriptor` is readable, without one for ever. A signal ends the wait.
fn wait_for(descriptor: BorrowedFd<'_>, timeout: Option<Duration>) -> Result<bool, Error> {
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    let mut descriptors = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    match poll(&mut descriptors, timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(Error::system(&io::Error::from(errno))),
    }
}

impl Object for OpenWatch {
    type Handle = tapline_watch;
    type Shared = Stopper;
    const KIND: Kind = Kind::Watch;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<OpenWatch> = Table::new();
        &TABLE
    }
}

/// An event in JSON.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Json<'e, O> {
    Added { object: &'e O },
    Changed { before: &'e O, after: &'e O },
    Removed { object: &'e O },
    Overrun,
}

fn put<O: FfiObject>(
    event: &Event<O>,
    form: tapline_netlink_form,
    out: &mut Vec<u8>,
    names: &mut Names<'_>,
) -> Result<(), Error> {
    let (kind, objects, json) = match event {
        Event::Added(object) => (
            tapline_watch_event::Added,
            vec![object],
            Json::Added { object },
        ),
        Event::Changed { before, after } => (
            tapline_watch_event::Changed,
            vec![before, after],
            Json::Changed { before, after },
        ),
        Event::Removed(object) => (
            tapline_watch_event::Removed,
            vec![object],
            Json::Removed { object },
        ),
        _ => (tapline_watch_event::Overrun, Vec::new(), Json::Overrun),
    };
    if form == tapline_netlink_form::Json {
        serde_json::to_writer(&mut *out, &json)
            .map_err(|error| Error::argument(error.to_string()))?;
        out.push(b'\n');
        return Ok(());
    }
    out.extend((kind as u32).to_ne_bytes());
    objects
        .into_iter()
        .try_for_each(|object| write(form, object, out, names))
}

impl<O: FfiObject + tapline::net::Object> AnyWatch for Watch<O> {
    fn put_available(
        &mut self,
        form: tapline_netlink_form,
        out: &mut Vec<u8>,
        names: &mut Names<'_>,
    ) -> Result<(), Error> {
        for _ in 0..MAX_EVENTS {
            // Before the event is taken, so that it is not lost.
            reserve(out)?;
            let Some(event) = self.try_next()? else {
                break;
            };
            put(&event, form, out, names)?;
        }
        Ok(())
    }

    fn has_pending(&self) -> bool {
        Watch::has_pending(self)
    }
}

fn open<O: FfiObject + tapline::net::Object>(
    source: &Source,
    filter: O,
) -> Result<Box<dyn AnyWatch>, Error> {
    Ok(Box::new(match source {
        Source::Namespace(own) => match own.to_enter()? {
            None => Watch::open(filter)?,
            Some(namespace) => Watch::open_in(namespace, filter)?,
        },
        Source::Fake(kernel) => kernel.watch(filter, FAKE_CAPACITY)?,
    }))
}

/// Watches the objects that match a filter, as of `tapline_netlink_list`: first those that exist, then every change,
/// without a gap. Close the watch with `tapline_watch_close`.
///
/// The watch has sockets of its own, in the namespace of the handle, and keeps the last state of each object. From a thread in
/// another namespace it requires CAP_SYS_ADMIN.
///
/// `bytes` points to `length` bytes, or is null if `length` is 0.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_watch_open(
    netlink: *mut tapline_netlink,
    object: u32,
    form: u32,
    bytes: *const u8,
    length: usize,
    out_watch: Option<&mut MaybeUninit<*mut tapline_watch>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_watch = out_watch.ok_or_else(|| Error::null("out_watch"))?;
        let object = tapline_netlink_object::try_from(object)?;
        let form = form.try_into()?;
        // SAFETY: the bytes of C.
        let bytes = unsafe { array(bytes, length, "bytes") }?;
        Open::table().with(netlink, |handle| {
            let watch = with_type!(object, O => {
                let mut filter = O::default();
                read(&mut filter, Action::Watch, form, bytes, &mut handle.names.for_a_call())?;
                open(&handle.source, filter)
            })?;
            let names = Lookup::new(handle.source.clone());
            let open_watch = OpenWatch::new(watch, names, form)?;
            let stopper = open_watch.stop.stopper();
            out_watch.write(OpenWatch::table().insert(open_watch, stopper)?);
            Ok(tapline_status::Ok)
        })
    })
}

/// Waits at most `timeout_ns` for events, for ever if it is negative, and returns those that are available. Without
/// events in that time the list is empty. Free it with `tapline_list_free`.
///
/// As fields: for each event its `tapline_watch_event`, a 32-bit number, and then its objects, each behind its length: the
/// last state, and before it for CHANGED the state before. As JSON: an object with the key `event` in each line.
///
/// After events that were read before a failure, the next call returns the error. Returns END after
/// `tapline_watch_stop`.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_watch_next(
    watch: *mut tapline_watch,
    timeout_ns: i64,
    out_list: Option<&mut MaybeUninit<*mut tapline_list>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_list = out_list.ok_or_else(|| Error::null("out_list"))?;
        let timeout = u64::try_from(timeout_ns).ok().map(Duration::from_nanos);
        OpenWatch::table().with(watch, |open_watch| {
            let Some(events) = open_watch.events(timeout)? else {
                return Ok(tapline_status::End);
            };
            out_list.write(list(events, false)?);
            Ok(tapline_status::Ok)
        })
    })
}

/// Ends a watch: a call of `tapline_watch_next` that waits returns END, and so do all later ones. Further calls change
/// nothing.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_watch_stop(
    watch: *const tapline_watch,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        OpenWatch::table().shared(watch, |stopper| {
            stopper.stop();
            Ok(tapline_status::Ok)
        })
    })
}

/// A descriptor for poll(2) and epoll(7), which belongs to the watch: readable when events may be available, the first ones
/// and those that a call has left included, and once the watch has been stopped.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_watch_fd(
    watch: *mut tapline_watch,
    out_fd: Option<&mut MaybeUninit<c_int>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_fd = out_fd.ok_or_else(|| Error::null("out_fd"))?;
        OpenWatch::table().with(watch, |open_watch| {
            out_fd.write(open_watch.ready.as_raw_fd());
            Ok(tapline_status::Ok)
        })
    })
}

/// Closes a watch. Does nothing if `watch` is null.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_watch_close(
    watch: *mut tapline_watch,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !watch.is_null() {
            OpenWatch::table().remove(watch)?;
        }
        Ok(tapline_status::Ok)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::HandleNamespace;

    /// Has one event, and then fails. Its descriptor is never readable.
    struct Failing(Stop);

    impl AsFd for Failing {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    impl AnyWatch for Failing {
        fn put_available(
            &mut self,
            _: tapline_netlink_form,
            out: &mut Vec<u8>,
            _: &mut Names<'_>,
        ) -> Result<(), Error> {
            out.extend(b"an event");
            Err(Error::argument("it fails"))
        }

        fn has_pending(&self) -> bool {
            false
        }
    }

    fn open_watch() -> OpenWatch {
        watching_over(Failing(Stop::new().expect("a pipe")))
    }

    fn watching_over(watch: impl AnyWatch + 'static) -> OpenWatch {
        let watch = Box::new(watch);
        let form = tapline_netlink_form::Json;
        OpenWatch::new(
            watch,
            Lookup::new(Source::Namespace(HandleNamespace::current())),
            form,
        )
        .expect("descriptors")
    }

    fn is_readable(open_watch: &OpenWatch) -> bool {
        wait_for(open_watch.ready.as_fd(), Some(Duration::ZERO)).expect("poll")
    }

    #[test]
    fn events_before_a_failure_are_returned_and_then_the_failure() {
        let mut open_watch = open_watch();
        for timeout in [None, Some(Duration::ZERO), None] {
            let events = open_watch.events(timeout).expect("events");
            assert_eq!(events.as_deref(), Some(&b"an event"[..]));
            assert!(is_readable(&open_watch), "the failure is still to come");
            let failure = open_watch.events(timeout).expect_err("a failure");
            assert_eq!(failure.message, "it fails");
            assert!(!is_readable(&open_watch));
        }
    }

    /// Has events in memory, of which each call gets one.
    struct InMemory(Stop, usize);

    impl AsFd for InMemory {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    impl AnyWatch for InMemory {
        fn put_available(
            &mut self,
            _: tapline_netlink_form,
            out: &mut Vec<u8>,
            _: &mut Names<'_>,
        ) -> Result<(), Error> {
            if let Some(left) = self.1.checked_sub(1) {
                self.1 = left;
                out.push(b'!');
            }
            Ok(())
        }

        fn has_pending(&self) -> bool {
            self.1 > 0
        }
    }

    #[test]
    fn a_watch_is_readable_while_events_are_in_memory() {
        let mut open_watch = watching_over(InMemory(Stop::new().expect("a pipe"), 3));
        for _ in 0..3 {
            assert!(is_readable(&open_watch));
            let events = open_watch.events(Some(Duration::ZERO)).expect("events");
            assert_eq!(events.as_deref(), Some(&b"!"[..]));
        }
        assert!(!is_readable(&open_watch));
    }

    #[test]
    fn a_stopped_watch_is_readable_and_has_ended() {
        let mut open_watch = open_watch();
        assert!(!is_readable(&open_watch));
        open_watch.stop.stopper().stop();
        assert!(is_readable(&open_watch));
        for timeout in [None, Some(Duration::ZERO)] {
            assert_eq!(open_watch.events(timeout).expect("the end"), None);
        }
    }
}
