//! Replies: the bytes of objects.

use std::mem::MaybeUninit;

use crate::catch::guard_value;
use crate::error::tapline_error;
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::status::tapline_status;

/// A list of objects or events. Free it with `tapline_list_free`.
pub struct tapline_list(());

/// What a list contains. Nothing changes it, so all threads may read it.
pub struct Contents {
    /// The objects.
    pub bytes: Vec<u8>,
    /// Whether objects changed while the kernel listed them.
    pub is_interrupted: bool,
}

struct List;

impl Object for List {
    type Handle = tapline_list;
    type Shared = Contents;
    const KIND: Kind = Kind::List;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<List> = Table::new();
        &TABLE
    }
}

/// Memory for the next object of a list. One that is longer is not checked.
const OBJECT_BYTES: usize = 16 * 1024;

/// Makes room for an object in a list.
///
/// # Errors
/// SYSTEM with ENOMEM.
pub fn reserve(list: &mut Vec<u8>) -> Result<(), Error> {
    let reserved = list.try_reserve(OBJECT_BYTES);
    reserved.map_err(|_| Error::no_memory("the list"))
}

/// Gives a list a handle.
///
/// # Errors
/// There are too many lists.
pub fn list(bytes: Vec<u8>, is_interrupted: bool) -> Result<*mut tapline_list, Error> {
    let contents = Contents {
        bytes,
        is_interrupted,
    };
    List::table().insert(List, contents)
}

/// The bytes of a list, valid until it is freed.
///
/// As fields: the length of each object, a 32-bit number, and then its fields. As JSON: an object in each line.
/// What precedes the objects of a watch is described at `tapline_watch_next`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_list_bytes(
    list: *const tapline_list,
    out_bytes: Option<&mut MaybeUninit<*const u8>>,
    out_length: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_bytes = out_bytes.ok_or_else(|| Error::null("out_bytes"))?;
        let out_length = out_length.ok_or_else(|| Error::null("out_length"))?;
        List::table().shared(list, |contents| {
            out_bytes.write(contents.bytes.as_ptr());
            out_length.write(contents.bytes.len());
            Ok(tapline_status::Ok)
        })
    })
}

/// Whether objects were added or deleted while the kernel made the list, in each of four attempts. Then objects may
/// be missing or listed twice. False if `list` is null or freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_list_is_interrupted(list: *const tapline_list) -> bool {
    guard_value(false, || {
        let read = List::table().shared(list, |contents| Ok(contents.is_interrupted));
        read.unwrap_or(false)
    })
}

/// Frees a list and its bytes, which no other thread may be reading. Does nothing if `list` is null.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_list_free(
    list: *mut tapline_list,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !list.is_null() {
            List::table().remove(list)?;
        }
        Ok(tapline_status::Ok)
    })
}
