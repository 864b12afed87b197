//! Handles: names of objects that C code holds and cannot follow.
//!
//! A handle has the type of a pointer and is none: it consists of the object's kind, its slot in the table of that
//! kind, and the slot's generation. So a handle that is null, closed, of another kind or invented is an error and
//! never an access to freed memory. A call locks its object, so that a second thread gets an error and no data race.

use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};

use crate::failure::Error;
use crate::status::tapline_status;

/// What a handle names. The number is part of the handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `tapline_error`
    Error = 1,
    /// `tapline_capture`
    Capture,
    /// `tapline_reader`
    Reader,
    /// `tapline_writer`
    Writer,
    /// `tapline_filter`
    Filter,
    /// `tapline_count`
    Count,
    /// `tapline_queue`
    Queue,
    /// `tapline_sender`
    Sender,
    /// `tapline_ping`
    Ping,
    /// `tapline_netlink`
    Netlink,
    /// `tapline_watch`
    Watch,
    /// `tapline_batch`
    Batch,
    /// `tapline_list`
    List,
    /// `tapline_fake_kernel`
    FakeKernel,
    /// `tapline_doctor`
    Doctor,
}

const KINDS: [Kind; 15] = [
    Kind::Error,
    Kind::Capture,
    Kind::Reader,
    Kind::Writer,
    Kind::Filter,
    Kind::Count,
    Kind::Queue,
    Kind::Sender,
    Kind::Ping,
    Kind::Netlink,
    Kind::Watch,
    Kind::Batch,
    Kind::List,
    Kind::FakeKernel,
    Kind::Doctor,
];

/// The kind as the names of the functions spell it.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// An object that C has a handle of.
pub trait Object: Send + Sized + 'static {
    /// The type that C sees.
    type Handle;
    /// What other threads may use during a call with the object.
    type Shared: Send + Sync;
    /// The kind of its handles.
    const KIND: Kind;
    /// All objects of this type.
    fn table() -> &'static Table<Self>;
}

/// The objects of one type.
pub struct Table<T: Object>(RwLock<Slots<T>>);

struct Slots<T: Object> {
    slots: Vec<Slot<T>>,
    /// Numbers of the free ones.
    free: Vec<u32>,
}

struct Slot<T: Object> {
    /// Increased when an object leaves, so that its handle becomes invalid.
    generation: u32,
    entry: Option<Arc<Entry<T>>>,
}

struct Entry<T: Object> {
    shared: T::Shared,
    /// `None` from the moment at which the object is closed.
    object: Mutex<Option<T>>,
}

const INDEX_BITS: u32 = 24;
const KIND_BITS: u32 = 8;
const _: () = assert!(usize::BITS == 64, "a handle has 64 bits");

/// The parts of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HandleParts {
    kind: u8,
    index: u32,
    generation: u32,
}

impl HandleParts {
    fn of<H>(handle: *const H) -> Self {
        let bits = handle.addr();
        Self {
            kind: bits as u8,
            index: (bits >> KIND_BITS) as u32 & ((1 << INDEX_BITS) - 1),
            generation: (bits >> (KIND_BITS + INDEX_BITS)) as u32,
        }
    }

    fn handle<H>(self) -> *mut H {
        let index = (self.index as usize) << KIND_BITS;
        let generation = (self.generation as usize) << (KIND_BITS + INDEX_BITS);
        ptr::without_provenance_mut(generation | index | usize::from(self.kind))
    }
}

impl<T: Object> Table<T> {
    /// A table without objects.
    pub const fn new() -> Self {
        Self(RwLock::new(Slots {
            slots: Vec::new(),
            free: Vec::new(),
        }))
    }

    /// Adds an object and returns its handle.
    ///
    /// # Errors
    /// There are 2^24 objects of this type.
    pub fn insert(&self, object: T, shared: T::Shared) -> Result<*mut T::Handle, Error> {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let index = match table.free.pop() {
            Some(index) => index,
            None if table.slots.len() < 1 << INDEX_BITS => {
                table.slots.push(Slot {
                    generation: 1,
                    entry: None,
                });
                table.slots.len() as u32 - 1
            }
            None => return Err(Error::argument(format!("too many {} handles", T::KIND))),
        };
        let slot = &mut table.slots[index as usize];
        slot.entry = Some(Arc::new(Entry {
            shared,
            object: Mutex::new(Some(object)),
        }));
        let parts = HandleParts {
            kind: T::KIND as u8,
            index,
            generation: slot.generation,
        };
        Ok(parts.handle())
    }

    fn entry(&self, handle: *const T::Handle) -> Result<Arc<Entry<T>>, Error> {
        let parts = HandleParts::of(handle);
        check_kind(T::KIND, handle.addr())?;
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let slot = table.slots.get(parts.index as usize);
        let entry = slot
            .filter(|slot| slot.generation == parts.generation)
            .and_then(|slot| slot.entry.clone());
        entry.ok_or_else(|| closed(T::KIND))
    }

    /// Calls `body` with the object, which no other thread uses meanwhile.
    ///
    /// # Errors
    /// The handle is invalid, another thread uses it, or the error of `body`.
    pub fn with<R>(
        &self,
        handle: *const T::Handle,
        body: impl FnOnce(&mut T) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let entry = self.entry(handle)?;
        let mut object = entry
            .object
            .try_lock()
            .map_err(|error| in_use(T::KIND, &error))?;
        body(object.as_mut().ok_or_else(|| closed(T::KIND))?)
    }

    /// Calls `body` with what all threads may use at any time.
    ///
    /// # Errors
    /// The handle is invalid, or the error of `body`.
    pub fn shared<R>(
        &self,
        handle: *const T::Handle,
        body: impl FnOnce(&T::Shared) -> Result<R, Error>,
    ) -> Result<R, Error> {
        body(&self.entry(handle)?.shared)
    }

    /// Removes an object; its handle becomes invalid. A defect may have left the object half changed: then there is
    /// none.
    ///
    /// # Errors
    /// The handle is invalid, or another thread uses it.
    pub fn remove(&self, handle: *const T::Handle) -> Result<Option<T>, Error> {
        let entry = self.entry(handle)?;
        let object = match entry.object.try_lock() {
            Ok(mut object) => Some(object.take().ok_or_else(|| closed(T::KIND))?),
            Err(TryLockError::Poisoned(_)) => None,
            Err(error @ TryLockError::WouldBlock) => return Err(in_use(T::KIND, &error)),
        };
        let parts = HandleParts::of(handle);
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let slot = &mut table.slots[parts.index as usize];
        // Two threads may close an object that a defect has left locked.
        if slot.generation == parts.generation {
            // A handle never gets the value of an earlier one before 2^32 others of its slot.
            slot.generation = slot.generation.checked_add(1).unwrap_or(1);
            slot.entry = None;
            table.free.push(parts.index);
        }
        Ok(object)
    }

    /// Removes an object that is to give its result.
    ///
    /// # Errors
    /// As [`remove`](Self::remove), or a defect left no object: then the handle is invalid, too.
    pub fn take(&self, handle: *const T::Handle) -> Result<T, Error> {
        self.remove(handle)?.ok_or_else(|| defective(T::KIND))
    }
}

fn check_kind(kind: Kind, bits: usize) -> Result<(), Error> {
    let invalid = |text| Err(Error::new(tapline_status::InvalidHandle, text));
    if bits == 0 {
        return invalid(format!("the {kind} handle is null"));
    }
    match KINDS.iter().find(|known| **known as u8 == bits as u8) {
        Some(found) if *found == kind => Ok(()),
        Some(found) => invalid(format!("this is a {found} handle, and not a {kind} handle")),
        None => invalid(format!("this is not a {kind} handle")),
    }
}

fn closed(kind: Kind) -> Error {
    Error::new(
        tapline_status::InvalidHandle,
        format!("the {kind} handle has been closed"),
    )
}

fn in_use<G>(kind: Kind, error: &TryLockError<G>) -> Error {
    match error {
        TryLockError::WouldBlock => Error::new(
            tapline_status::InUse,
            format!("another thread is in a call with this {kind} handle"),
        ),
        TryLockError::Poisoned(_) => defective(kind).hint("close the handle"),
    }
}

fn defective(kind: Kind) -> Error {
    Error::new(
        tapline_status::Internal,
        format!("an earlier call with this {kind} handle failed inside the library"),
    )
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    struct Number(u32);

    impl Object for Number {
        type Handle = u8;
        type Shared = ();
        const KIND: Kind = Kind::Queue;
        fn table() -> &'static Table<Self> {
            static TABLE: Table<Number> = Table::new();
            &TABLE
        }
    }

    fn status(result: Result<impl Sized, Error>) -> tapline_status {
        result
            .err()
            .map_or(tapline_status::Ok, |error| error.status)
    }

    #[test]
    fn a_closed_handle_stays_invalid_when_its_place_is_used_again() {
        let table = Table::<Number>::new();
        let first = table.insert(Number(1), ()).expect("room");
        assert_eq!(table.with(first, |number| Ok(number.0)).ok(), Some(1));
        assert_eq!(table.remove(first).expect("open").map(|n| n.0), Some(1));
        let second = table.insert(Number(2), ()).expect("room");
        assert_eq!(HandleParts::of(first).index, HandleParts::of(second).index);
        assert_eq!(
            status(table.with(first, |_| Ok(()))),
            tapline_status::InvalidHandle
        );
        assert_eq!(status(table.remove(first)), tapline_status::InvalidHandle);
        assert_eq!(table.with(second, |number| Ok(number.0)).ok(), Some(2));
    }

    #[test]
    fn null_foreign_and_invented_handles_are_errors() {
        let table = Table::<Number>::new();
        let good = table.insert(Number(1), ()).expect("room");
        let foreign = HandleParts {
            kind: Kind::Ping as u8,
            ..HandleParts::of(good)
        }
        .handle::<u8>();
        let later = HandleParts {
            generation: 7,
            ..HandleParts::of(good)
        }
        .handle::<u8>();
        let beyond = HandleParts {
            index: 9,
            ..HandleParts::of(good)
        }
        .handle::<u8>();
        let stack = (&raw const table).cast::<u8>();
        for bad in [ptr::null(), foreign.cast_const(), later, beyond, stack] {
            assert_eq!(
                status(table.with(bad, |_| Ok(()))),
                tapline_status::InvalidHandle
            );
        }
        let error = table.with(foreign, |_| Ok(())).expect_err("foreign");
        assert_eq!(
            error.message,
            "this is a ping handle, and not a queue handle"
        );
    }

    #[test]
    fn a_second_user_gets_an_error_and_a_defect_leaves_a_handle_that_can_be_closed() {
        let table = Table::<Number>::new();
        let handle = table.insert(Number(1), ()).expect("room");
        let inner = table.with(handle, |_| {
            assert_eq!(status(table.remove(handle)), tapline_status::InUse);
            table.with(handle, |_| Ok(()))
        });
        assert_eq!(status(inner), tapline_status::InUse);
        let defect = || table.with(handle, |_| -> Result<(), Error> { panic!("a defect") });
        assert!(catch_unwind(AssertUnwindSafe(defect)).is_err());
        assert_eq!(
            status(table.with(handle, |_| Ok(()))),
            tapline_status::Internal
        );
        assert!(table.remove(handle).expect("it can be closed").is_none());
        assert_eq!(status(table.remove(handle)), tapline_status::InvalidHandle);
    }

    #[test]
    fn an_object_that_a_defect_has_changed_gives_no_result() {
        let table = Table::<Number>::new();
        let handle = table.insert(Number(1), ()).expect("room");
        assert_eq!(table.take(handle).expect("open").0, 1);
        let handle = table.insert(Number(2), ()).expect("room");
        let defect = || table.with(handle, |_| -> Result<(), Error> { panic!("a defect") });
        assert!(catch_unwind(AssertUnwindSafe(defect)).is_err());
        assert_eq!(status(table.take(handle)), tapline_status::Internal);
        assert_eq!(status(table.take(handle)), tapline_status::InvalidHandle);
    }
}
