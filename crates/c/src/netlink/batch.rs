//! Batches: many changes in few system calls, with an answer for each.

use std::mem::MaybeUninit;

use tapline::net::schema::NameLookup;
use tapline::net::{Batch, BatchSummary, IfIndex, ItemResult, OnError, Verb};

use super::handle::{Open, tapline_netlink};
use super::names::{FallibleLookup, Names};
use super::object::{
    FfiObject, read, tapline_netlink_form, tapline_netlink_object, tapline_netlink_verb, with_type,
};
use super::request::error_of;
use crate::arguments::{array, check_memory};
use crate::catch::guard_value;
use crate::error::{report, tapline_error};
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::status::tapline_status;

/// Items of a batch at most: as many as the largest routing tables have routes.
const MAX_ITEMS: usize = 1 << 20;

/// What the error of an item takes at most.
const ERROR_BYTES: usize = 1024;

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

/// The state of an item of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum tapline_item_state {
    /// It was carried out.
    Done = 0,
    /// It could not be read, the kernel rejected it, or the reply was lost.
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

/// The results of a batch, some of whose items may not have got as far as the kernel.
struct Summary {
    /// Of the items that could be read.
    sent: BatchSummary,
    /// The items that could not be read, in order, with their numbers.
    unread: Vec<(usize, Error)>,
    /// The first item that was not read, because an earlier one failed.
    not_run_from: Option<usize>,
    item_count: usize,
}

/// The result of an item.
enum Outcome<'s> {
    Unread(&'s Error),
    NotRun,
    Sent(ItemResult<'s>),
}

impl Outcome<'_> {
    fn state(&self) -> tapline_item_state {
        match self {
            Self::Unread(_) | Self::Sent(ItemResult::Failed(_)) => tapline_item_state::Failed,
            Self::NotRun | Self::Sent(ItemResult::NotRun) => tapline_item_state::NotRun,
            Self::Sent(ItemResult::NotUndone(_)) => tapline_item_state::NotUndone,
            Self::Sent(ItemResult::Undone) => tapline_item_state::Undone,
            Self::Sent(_) => tapline_item_state::Done,
        }
    }

    /// Its error for C; null without one.
    fn report(&self) -> *mut tapline_error {
        match self {
            Self::Unread(error) => report(error),
            Self::Sent(ItemResult::Failed(error) | ItemResult::NotUndone(error)) => {
                report(&error_of(error))
            }
            Self::NotRun | Self::Sent(_) => std::ptr::null_mut(),
        }
    }
}

impl Summary {
    fn is_done(&self) -> bool {
        self.unread.is_empty() && self.sent.is_done()
    }

    /// `None` behind the last item.
    fn result(&self, item: usize) -> Option<Outcome<'_>> {
        if self.not_run_from.is_some_and(|from| item >= from) {
            return (item < self.item_count).then_some(Outcome::NotRun);
        }
        match self.unread.binary_search_by_key(&item, |unread| unread.0) {
            Ok(at) => Some(Outcome::Unread(&self.unread[at].1)),
            // The batch did not get the unread items, so it numbers those behind them differently.
            Err(before) => self.sent.result(item - before).map(Outcome::Sent),
        }
    }
}

impl Object for Results {
    type Handle = tapline_batch;
    type Shared = Summary;
    const KIND: Kind = Kind::Batch;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Results> = Table::new();
        &TABLE
    }
}

/// An item whose length is right.
#[derive(Clone, Copy)]
struct RawItem<'b> {
    verb: u32,
    object: u32,
    bytes: &'b [u8],
}

/// A change of a batch.
struct Item<'b> {
    verb: Verb,
    object: tapline_netlink_object,
    form: tapline_netlink_form,
    bytes: &'b [u8],
}

/// Separates the items one after another. `None` in place of one that is truncated.
struct Items<'b> {
    rest: &'b [u8],
}

impl<'b> Iterator for Items<'b> {
    type Item = Option<RawItem<'b>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let item = self.item();
        if item.is_none() {
            self.rest = &[];
        }
        Some(item)
    }
}

impl<'b> Items<'b> {
    fn item(&mut self) -> Option<RawItem<'b>> {
        let (header, rest) = self.rest.split_first_chunk::<12>()?;
        let [verb, object, length] =
            [0, 4, 8].map(|at| u32::from_ne_bytes(std::array::from_fn(|byte| header[at + byte])));
        let (bytes, rest) = rest.split_at_checked(length as usize)?;
        self.rest = rest;
        Some(RawItem {
            verb,
            object,
            bytes,
        })
    }
}

impl<'b> RawItem<'b> {
    /// The memory that its result may take.
    fn result_bytes(self, on_error: OnError) -> usize {
        let Ok(object) = tapline_netlink_object::try_from(self.object) else {
            return ERROR_BYTES;
        };
        match on_error {
            // Of all items one may fail.
            OnError::Stop => 0,
            // The states before and after it, with what they own.
            OnError::Undo => with_type!(object, O => 4 * size_of::<O>() + ERROR_BYTES),
            _ => ERROR_BYTES,
        }
    }

    fn read(self) -> Result<Item<'b>, Error> {
        Ok(Item {
            verb: tapline_netlink_verb::try_from(self.verb % FORM_UNIT)?.into(),
            object: self.object.try_into()?,
            form: (self.verb / FORM_UNIT).try_into()?,
            bytes: self.bytes,
        })
    }
}

/// A batch and the names that its items use.
struct Run<'n, 'l> {
    batch: Batch<'n>,
    names: Names<'l>,
    /// Whether links are to be changed by items that may not have been sent.
    links_change: bool,
}

impl Run<'_, '_> {
    fn push(&mut self, item: RawItem<'_>) -> Result<(), Error> {
        let item = item.read()?;
        with_type!(item.object, O => self.push_as::<O>(&item))?;
        self.links_change |= item.object == tapline_netlink_object::Link;
        Ok(())
    }

    fn push_as<O: FfiObject + tapline::net::Object>(
        &mut self,
        item: &Item<'_>,
    ) -> Result<(), Error> {
        if item.form == tapline_netlink_form::Message {
            let pushed = self.batch.push_encoded::<O>(item.verb, item.bytes);
            return pushed
                .map(|_| ())
                .map_err(|error| Error::argument(error.to_string()));
        }
        let mut object = O::default();
        read(&mut object, item.verb.into(), item.form, item.bytes, self)?;
        self.batch.push(item.verb, &object);
        Ok(())
    }
}

/// Names are those that the links have after the items so far.
impl NameLookup for Run<'_, '_> {
    fn index(&mut self, name: &str) -> Option<IfIndex> {
        if std::mem::take(&mut self.links_change) {
            self.batch.flush();
        }
        self.names.index(name)
    }

    fn name(&mut self, index: IfIndex) -> Option<String> {
        self.names.name(index)
    }
}

impl FallibleLookup for Run<'_, '_> {
    fn take_failure(&mut self) -> Option<Error> {
        self.names.take_failure()
    }
}

/// Carries out items of which none is truncated.
fn run(open: &mut Open, items: &[u8], on_error: OnError) -> Summary {
    let mut run = Run {
        batch: open.netlink.batch(on_error),
        names: open.names.for_a_call(),
        links_change: false,
    };
    let mut unread = Vec::new();
    let mut not_run_from = None;
    let mut item_count = 0;
    let goes_on = on_error == OnError::Continue;
    for item in (Items { rest: items }).flatten() {
        let number = item_count;
        item_count += 1;
        if !goes_on && (!unread.is_empty() || run.batch.has_stopped()) {
            not_run_from.get_or_insert(number);
        } else if let Err(error) = run.push(item) {
            // Whether an earlier item has failed is known when all have been sent.
            run.batch.flush();
            if run.batch.has_stopped() {
                not_run_from = Some(number);
            } else {
                unread.push((number, error));
            }
        }
    }
    let sent = if unread.is_empty() {
        run.batch.finish()
    } else {
        run.batch.abandon()
    };
    Summary {
        sent,
        unread,
        not_run_from,
        item_count,
    }
}

/// Checks the frame of all items, and that there is memory for their results.
fn check_items(items: &[u8], on_error: OnError) -> Result<(), Error> {
    let (mut count, mut bytes) = (0_usize, 0_usize);
    for item in (Items { rest: items }) {
        let item = item.ok_or_else(|| Error::argument("the items are truncated"))?;
        count += 1;
        if count > MAX_ITEMS {
            let text = format!("the batch has more than {MAX_ITEMS} items");
            return Err(Error::argument(text).hint("divide it"));
        }
        bytes += item.result_bytes(on_error);
    }
    check_memory(bytes, &format!("the results of {count} items"))
}

/// Carries out many changes and returns the results of all. Free them with `tapline_batch_free`.
///
/// `items` has, for each, three 32-bit numbers and then its object: its `tapline_netlink_verb` plus 256 times the
/// `tapline_netlink_form` of the object, its `tapline_netlink_object`, and the length of the object in bytes. The kernel
/// gets up to 256 changes in one system call and acknowledges the last, so an item costs little more than the change
/// itself. `on_error` is a `tapline_on_error`.
///
/// Succeeds even if items fail. An item that cannot be read, or that names an interface that does not exist, has failed
/// like one that the kernel rejected. The name of an interface may be one that an earlier item gave to it.
///
/// Errors: INVALID_ARGUMENT if `items` ends within an item or has more than 1048576 items; SYSTEM with ENOMEM if the results of
/// all would not find memory, which takes at most 1 KiB for each, and with UNDO some KiB. Nothing is carried out then.
///
/// `items` points to `length` bytes.
///
/// Threads: one at a time with this handle.
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
            other => {
                return Err(Error::argument(format!(
                    "{other} is not a tapline_on_error"
                )));
            }
        };
        // SAFETY: the bytes of C.
        let items = unsafe { array(items, length, "items") }?;
        check_items(items, on_error)?;
        Open::table().with(netlink, |open| {
            let summary = run(open, items, on_error);
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
    guard_value(0, || {
        let count = Results::table().shared(batch, |summary| Ok(summary.item_count));
        count.unwrap_or(0)
    })
}

/// Whether every item was carried out. False if `batch` is null or freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_batch_is_done(batch: *const tapline_batch) -> bool {
    guard_value(false, || {
        let is_done = Results::table().shared(batch, |summary| Ok(summary.is_done()));
        is_done.unwrap_or(false)
    })
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
            let Some(outcome) = summary.result(item) else {
                return Ok(tapline_status::End);
            };
            out_state.write(outcome.state());
            if let Some(out_error) = out_error {
                out_error.write(outcome.report());
            }
            Ok(tapline_status::Ok)
        })
    })
}

/// Frees the results of a batch. Does nothing if `batch` is null.
///
/// Threads: one at a time with this handle.
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
