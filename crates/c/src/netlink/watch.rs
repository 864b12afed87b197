//! Watches: the objects that exist, and then every change.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use serde::Serialize;
use tapline::net::{Event, Watch};

use super::handle::{Open, tapline_netlink};
use super::list::{list, tapline_list};
use super::names::{Lookup, Names};
use super::object::{
    Crossing, read, tapline_netlink_form, tapline_netlink_object, with_type, write,
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
pub enum tapline_event {
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

/// A watch of any kind of object. Both calls append events to `out`.
trait AnyWatch: Send {
    /// Waits for the next event.
    fn put_next(
        &mut self,
        form: tapline_netlink_form,
        out: &mut Vec<u8>,
        names: &mut Names<'_>,
    ) -> Result<(), Error>;
    /// Waits at most `timeout` for events, and takes those that are available.
    fn put_available(
        &mut self,
        timeout: Duration,
        form: tapline_netlink_form,
        out: &mut Vec<u8>,
        names: &mut Names<'_>,
    ) -> Result<(), Error>;
    fn descriptor(&self) -> i32;
}

struct Watching {
    watch: Box<dyn AnyWatch>,
    names: Lookup,
    form: tapline_netlink_form,
    /// Of the last call, which returned the events before it.
    failure: Option<Error>,
}

impl Watching {
    /// Waits at most `timeout` for events, without one for ever.
    fn events(&mut self, timeout: Option<Duration>) -> Result<Vec<u8>, Error> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut names = self.names.for_a_call();
        let mut out = Vec::new();
        if timeout.is_none() {
            self.watch.put_next(self.form, &mut out, &mut names)?;
        }
        let timeout = timeout.unwrap_or_default();
        let failed = (self.watch).put_available(timeout, self.form, &mut out, &mut names);
        match failed {
            Err(failure) if out.is_empty() => return Err(failure),
            result => self.failure = result.err(),
        }
        Ok(out)
    }
}

impl Object for Watching {
    type Handle = tapline_watch;
    type Shared = ();
    const KIND: Kind = Kind::Watch;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Watching> = Table::new();
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

fn put<O: Crossing>(
    event: &Event<O>,
    form: tapline_netlink_form,
    out: &mut Vec<u8>,
    names: &mut Names<'_>,
) -> Result<(), Error> {
    let (kind, objects, json) = match event {
        Event::Added(object) => (tapline_event::Added, vec![object], Json::Added { object }),
        Event::Changed { before, after } => (
            tapline_event::Changed,
            vec![before, after],
            Json::Changed { before, after },
        ),
        Event::Removed(object) => (
            tapline_event::Removed,
            vec![object],
            Json::Removed { object },
        ),
        _ => (tapline_event::Overrun, Vec::new(), Json::Overrun),
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

impl<O: Crossing + tapline::net::Object> AnyWatch for Watch<O> {
    fn put_next(
        &mut self,
        form: tapline_netlink_form,
        out: &mut Vec<u8>,
        names: &mut Names<'_>,
    ) -> Result<(), Error> {
        put(&self.next()?, form, out, names)
    }

    fn put_available(
        &mut self,
        timeout: Duration,
        form: tapline_netlink_form,
        out: &mut Vec<u8>,
        names: &mut Names<'_>,
    ) -> Result<(), Error> {
        let events = self.next_batch(timeout)?;
        (events.into_iter()).try_for_each(|event| put(&event, form, out, names))
    }

    fn descriptor(&self) -> i32 {
        self.as_fd().as_raw_fd()
    }
}

fn open<O: Crossing + tapline::net::Object>(
    source: &Source,
    filter: O,
) -> Result<Box<dyn AnyWatch>, Error> {
    Ok(Box::new(match source {
        Source::Here => Watch::open(filter)?,
        Source::Namespace(namespace) => Watch::open_in(namespace, filter)?,
        Source::Fake(kernel) => kernel.watch(filter, FAKE_CAPACITY)?,
    }))
}

/// Watches the objects that match a filter, as of `tapline_netlink_list`: first those that exist, then every change,
/// without a gap.
///
/// The watch has sockets of its own in the namespace of the handle; a handle that was opened without a namespace
/// stands for that of the calling thread. It keeps the last state of each object.
///
/// # Safety
/// `bytes` points to `length` bytes, or is null if `length` is 0.
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
                read(&mut filter, form, bytes, &mut handle.names.for_a_call())?;
                open(&handle.source, filter)
            })?;
            let names = Lookup::new(handle.source.clone());
            let watching = Watching {
                watch,
                names,
                form,
                failure: None,
            };
            out_watch.write(Watching::table().insert(watching, ())?);
            Ok(tapline_status::Ok)
        })
    })
}

/// Waits at most `timeout_ns` for events, for ever if it is negative, and returns those that are available. Without
/// events in that time the list is empty.
///
/// As fields: for each event its `tapline_event`, a 32-bit number, and then its objects, each behind its length: the
/// last state, and before it for CHANGED the state before. As JSON: an object with the key `event` in each line.
///
/// After events that were read before a failure, the next call returns the error.
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
        Watching::table().with(watch, |watching| {
            out_list.write(list(watching.events(timeout)?, false)?);
            Ok(tapline_status::Ok)
        })
    })
}

/// A descriptor that is readable when events may be available. It belongs to the watch.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_watch_fd(
    watch: *mut tapline_watch,
    out_fd: Option<&mut MaybeUninit<i32>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_fd = out_fd.ok_or_else(|| Error::null("out_fd"))?;
        Watching::table().with(watch, |watching| {
            out_fd.write(watching.watch.descriptor());
            Ok(tapline_status::Ok)
        })
    })
}

/// Closes a watch. Does nothing if `watch` is null.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_watch_close(
    watch: *mut tapline_watch,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !watch.is_null() {
            Watching::table().remove(watch)?;
        }
        Ok(tapline_status::Ok)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has one event, and then fails.
    struct Failing;

    impl AnyWatch for Failing {
        fn put_next(
            &mut self,
            _: tapline_netlink_form,
            out: &mut Vec<u8>,
            _: &mut Names<'_>,
        ) -> Result<(), Error> {
            out.extend(b"an event");
            Ok(())
        }

        fn put_available(
            &mut self,
            _: Duration,
            _: tapline_netlink_form,
            _: &mut Vec<u8>,
            _: &mut Names<'_>,
        ) -> Result<(), Error> {
            Err(Error::argument("it fails"))
        }

        fn descriptor(&self) -> i32 {
            -1
        }
    }

    #[test]
    fn events_before_a_failure_are_returned_and_then_the_failure() {
        let mut watching = Watching {
            watch: Box::new(Failing),
            names: Lookup::new(Source::Here),
            form: tapline_netlink_form::Json,
            failure: None,
        };
        let failed = |result: Result<Vec<u8>, Error>| result.expect_err("a failure").message;
        for _ in 0..2 {
            let events = watching.events(None).expect("events");
            assert_eq!(events, b"an event");
            assert_eq!(failed(watching.events(None)), "it fails");
        }
        assert_eq!(failed(watching.events(Some(Duration::ZERO))), "it fails");
    }
}
