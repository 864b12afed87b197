//! Batches: many changes in few system calls, with an answer for each.

use std::mem::MaybeUninit;

use tapline::net::schema::NameLookup;
use tapline::net::{Batch, BatchSummary, ItemResult, OnError, Verb};

use super::handle::{Open, tapline_netlink};
use super::object::{
    Crossing, read, tapline_netlink_form, tapline_netlink_object, tapline_netlink_verb, with_type,
};
use super::request::error_of;
use crate::arguments::array;
use crate::error::{report, tapline_error};
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::status::tapline_status;

/// What the form of an item is multiplied by, in the number with its verb.
const FORM_UNIT: u32 = 256;

/// What happens when an item of a batch fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum tapline_on_error {
    /// The other items are carried out.
    Continue = 0,
    /// Nothing after it is carried out. Takes about 1.5 times as long.
    Stop = 1,
    /// All items are rolled back, the last first.
    Undo = 2,
}

/// What became of an item of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum tapline_item_state {
    /// It was carried out.
    Done = 0,
    /// The kernel rejected it, or the reply was lost.
    Failed = 1,
    /// It was not sent because an earlier item failed.
    NotRun = 2,
    /// It was carried out and rolled back.
    Undone = 3,
    /// It was carried out and could not be rolled back.
    NotUndone = 4,
}

/// The results of a batch. Free it with `tapline_batch_free`.
pub struct tapline_batch(());

struct Results;

impl Object for Results {
    type Handle = tapline_batch;
    type Shared = BatchSummary;
    const KIND: Kind = Kind::Batch;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Results> = Table::new();
        &TABLE
    }
}

/// A change of a batch.
struct Item<'b> {
    verb: Verb,
    object: tapline_netlink_object,
    form: tapline_netlink_form,
    bytes: &'b [u8],
}

/// Reads the items one after another.
struct Items<'b> {
    rest: &'b [u8],
}

impl<'b> Iterator for Items<'b> {
    type Item = Result<Item<'b>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.rest.is_empty()).then(|| self.item())
    }
}

impl<'b> Items<'b> {
    fn item(&mut self) -> Result<Item<'b>, Error> {
        let truncated = || Error::argument("the items are truncated");
        let (header, rest) = self.rest.split_first_chunk::<12>().ok_or_else(truncated)?;
        let [verb, object, length] =
            [0, 4, 8].map(|at| u32::from_ne_bytes(std::array::from_fn(|byte| header[at + byte])));
        let (bytes, rest) = rest
            .split_at_checked(length as usize)
            .ok_or_else(truncated)?;
        self.rest = rest;
        Ok(Item {
            verb: tapline_netlink_verb::try_from(verb % FORM_UNIT)?.into(),
            object: object.try_into()?,
            form: (verb / FORM_UNIT).try_into()?,
            bytes,
        })
    }
}

fn push<O: Crossing + tapline::net::Object>(
    batch: &mut Batch<'_>,
    item: &Item<'_>,
    names: &mut dyn NameLookup,
) -> Result<(), Error> {
    if item.form == tapline_netlink_form::Message {
        let pushed = batch.push_encoded::<O>(item.verb, item.bytes);
        return pushed
            .map(|_| ())
            .map_err(|error| Error::argument(error.to_string()));
    }
    let mut object = O::default();
    read(&mut object, item.form, item.bytes, names)?;
    batch.push(item.verb, &object);
    Ok(())
}

/// Carries out many changes and returns the results of all.
///
/// `items` has, for each, three 32-bit numbers and then its object: its `tapline_netlink_verb` plus 256 times the
/// `tapline_netlink_form` of the object, its `tapline_netlink_object`, and the length of the object in bytes. The kernel gets up to 256 changes in one system call and acknowledges the last,
/// so an item costs little more than the change itself. `on_error` is a `tapline_on_error`.
///
/// Succeeds even if items fail. An error means that nothing is known about the items behind the first invalid one:
/// those before it may have been carried out.
///
/// # Safety
/// `items` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_netlink_run(
    netlink: *mut tapline_netlink,
    items: *const u8,
    length: usize,
    on_error: u32,
    out_batch: Option<&mut MaybeUninit<*mut tapline_batch>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_batch = out_batch.ok_or_else(|| Error::null("out_batch"))?;
        let on_error = match on_error {
            0 => OnError::Continue,
            1 => OnError::Stop,
            2 => OnError::Undo,
            other => return Err(Error::argument(format!("{other} is no tapline_on_error"))),
        };
        // SAFETY: the bytes of C.
        let items = unsafe { array(items, length, "items") }?;
        Open::table().with(netlink, |open| {
            let mut names = open.names.for_a_call();
            let mut batch = open.netlink.batch(on_error);
            let mut failed = None;
            for item in (Items { rest: items }) {
                let pushed = item.and_then(
                    |item| with_type!(item.object, O => push::<O>(&mut batch, &item, &mut names)),
                );
                if let Err(error) = pushed {
                    failed = Some(error);
                    break;
                }
            }
            let summary = batch.finish();
            if let Some(error) = failed {
                return Err(error);
            }
            out_batch.write(Results::table().insert(Results, summary)?);
            Ok(tapline_status::Ok)
        })
    })
}

/// Number of items of a batch; 0 if `batch` is null or freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_batch_count(batch: *const tapline_batch) -> usize {
    Results::table()
        .shared(batch, |summary| Ok(summary.item_count))
        .unwrap_or(0)
}

/// Whether every item was carried out. False if `batch` is null or freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_batch_is_done(batch: *const tapline_batch) -> bool {
    Results::table()
        .shared(batch, |summary| Ok(summary.is_done()))
        .unwrap_or(false)
}

/// The result of the item with number `item`, counted from 0. END behind the last.
///
/// `out_error` gets the error of an item that is FAILED or NOT_UNDONE, which the caller frees, and null otherwise.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_batch_result(
    batch: *const tapline_batch,
    item: usize,
    out_state: Option<&mut MaybeUninit<tapline_item_state>>,
    out_error: Option<&mut MaybeUninit<*mut tapline_error>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_state = out_state.ok_or_else(|| Error::null("out_state"))?;
        Results::table().shared(batch, |summary| {
            let (state, failed) = match summary.result(item) {
                None => return Ok(tapline_status::End),
                Some(ItemResult::Failed(error)) => (tapline_item_state::Failed, Some(error)),
                Some(ItemResult::NotUndone(error)) => (tapline_item_state::NotUndone, Some(error)),
                Some(ItemResult::NotRun) => (tapline_item_state::NotRun, None),
                Some(ItemResult::Undone) => (tapline_item_state::Undone, None),
                Some(_) => (tapline_item_state::Done, None),
            };
            out_state.write(state);
            if let Some(out_error) = out_error {
                let handle = failed.map(|error| report(&error_of(error)));
                out_error.write(handle.unwrap_or(std::ptr::null_mut()));
            }
            Ok(tapline_status::Ok)
        })
    })
}

/// Frees the results of a batch. Does nothing if `batch` is null.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_batch_free(
    batch: *mut tapline_batch,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !batch.is_null() {
            Results::table().remove(batch)?;
        }
        Ok(tapline_status::Ok)
    })
}
