//! Collects items into chunks, sends them, and reports each result.

use super::chunk::{Chunk, ItemCodec};
use super::undo::{Undo, current_state, reads_state_before, undo_for};
use crate::codec::{HEADER_BYTES, KernelError, Request};
use crate::encoded::{body_of, decode_change, flags_without_ack};
use crate::error::{Action, Cause, InvalidRequest, NetlinkError, RequestTarget};
use crate::netlink::Netlink;
use crate::object::{Object, check_settable, encode};
use crate::objects::route::Route;
use crate::schema::attribute_path;
use crate::socket::SEQUENCES;
use crate::transport::Wait;
use crate::uapi::{NLM_F_ACK, NLMSG_ERROR};
use crate::values::prefix::Prefix;
use crate::verb::Verb;

/// Maximum number of messages per chunk. Larger chunks are not faster.
const MAX_CHUNK_MESSAGES: usize = 256;
/// Maximum size of a chunk in bytes. A socket accepts more than three times as much.
const MAX_CHUNK_BYTES: usize = 64 * 1024;
/// Maximum number of unrelated datagrams to skip while waiting for the reply to a chunk.
const MAX_STRAYS: usize = 65_536;

/// What happens when an item fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// Carry out the other items.
    #[default]
    Continue,
    /// Carry out nothing after it. Every item waits for its acknowledgement, so the batch takes about 1.5 times as long.
    Stop,
    /// Roll back all items, the last first. Before each change except an addition, the batch reads and stores
    /// the current state.
    Undo,
}

/// The results of a batch.
#[derive(Debug, Default)]
#[must_use]
#[non_exhaustive]
pub struct BatchSummary {
    /// Number of items.
    pub item_count: usize,
    /// The items that failed, with their indices.
    pub failed: Vec<(usize, NetlinkError)>,
    /// The first item that was not carried out because an earlier one failed.
    pub not_run_from: Option<usize>,
    /// Whether the batch was rolled back.
    pub undone: bool,
    /// The items that could not be rolled back.
    pub not_undone: Vec<(usize, NetlinkError)>,
}

/// The result of one item.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ItemResult<'a> {
    /// It was carried out.
    Done,
    /// The kernel rejected it, or the reply was lost.
    Failed(&'a NetlinkError),
    /// It was not sent because an earlier item failed.
    NotRun,
    /// It was carried out and rolled back.
    Undone,
    /// It was carried out and could not be rolled back.
    NotUndone(&'a NetlinkError),
}

impl BatchSummary {
    /// Whether every item was carried out.
    pub fn is_done(&self) -> bool {
        self.failed.is_empty()
    }

    /// The result of the item with index `item`; `None` if there are fewer items.
    pub fn result(&self, item: usize) -> Option<ItemResult<'_>> {
        if item >= self.item_count {
            return None;
        }
        let find =
            |list: &'_ [(usize, NetlinkError)]| list.binary_search_by_key(&item, |failed| failed.0);
        Some(if let Ok(at) = find(&self.failed) {
            ItemResult::Failed(&self.failed[at].1)
        } else if self.not_run_from.is_some_and(|from| item >= from) {
            ItemResult::NotRun
        } else if let Ok(at) = find(&self.not_undone) {
            ItemResult::NotUndone(&self.not_undone[at].1)
        } else if self.undone {
            ItemResult::Undone
        } else {
            ItemResult::Done
        })
    }
}

/// Collects changes and sends them to the kernel in chunks. [`finish`](Self::finish) returns the result of
/// each.
///
/// A chunk costs two system calls and one acknowledgement: the kernel carries out its messages in order and
/// replies only to those that fail and to the last. Memory grows with the number of failed items and of items to
/// undo, not with the number of items.
///
/// # Source
/// `netlink_rcv_skb`, net/netlink/af_netlink.c.
#[derive(Debug)]
#[must_use = "items that have not been sent are lost without `finish`"]
pub struct Batch<'n> {
    netlink: &'n mut Netlink,
    on_error: OnError,
    requests: Request,
    /// The items in `requests`. Their sequence numbers are consecutive.
    chunk: Chunk,
    max_items: usize,
    summary: BatchSummary,
    undo: Vec<(usize, Undo)>,
}

impl Netlink {
    /// Starts a batch.
    pub fn batch(&mut self, on_error: OnError) -> Batch<'_> {
        let requests = self.request();
        let max_items = match on_error {
            OnError::Stop => 1,
            // Every item can fail, and the socket must have room for every error.
            _ => self.socket.reply_capacity().clamp(1, MAX_CHUNK_MESSAGES),
        };
        Batch {
            netlink: self,
            on_error,
            requests,
            chunk: Chunk::default(),
            max_items,
            summary: BatchSummary::default(),
            undo: Vec::new(),
        }
    }
}

impl Batch<'_> {
    /// As [`Netlink::add`].
    pub fn add<O: Object>(&mut self, object: &O) -> &mut Self {
        self.push(Verb::Add, object)
    }

    /// As [`Netlink::replace`].
    pub fn replace<O: Object>(&mut self, object: &O) -> &mut Self {
        self.push(Verb::Replace, object)
    }

    /// As [`Netlink::set`].
    pub fn set<O: Object>(&mut self, object: &O) -> &mut Self {
        self.push(Verb::Set, object)
    }

    /// As [`Netlink::append`].
    pub fn append<O: Object>(&mut self, object: &O) -> &mut Self {
        self.push(Verb::Append, object)
    }

    /// As [`Netlink::del`].
    pub fn del<O: Object>(&mut self, key: &O) -> &mut Self {
        self.push(Verb::Del, key)
    }

    /// Sends the remaining items and returns the result of each.
    pub fn finish(mut self) -> BatchSummary {
        self.flush();
        if self.on_error == OnError::Undo && !self.summary.failed.is_empty() {
            self.roll_back();
        }
        self.end()
    }

    /// Ends the batch as if an item had failed: with [`OnError::Undo`] all items are rolled back.
    pub fn abandon(mut self) -> BatchSummary {
        self.flush();
        if self.on_error == OnError::Undo {
            self.roll_back();
        }
        self.end()
    }

    fn end(mut self) -> BatchSummary {
        self.netlink.scratch = std::mem::take(&mut self.requests);
        std::mem::take(&mut self.summary)
    }

    /// Whether an item failed and the batch carries out nothing more.
    #[inline]
    pub fn has_stopped(&self) -> bool {
        self.on_error != OnError::Continue && !self.summary.failed.is_empty()
    }

    /// As [`Netlink::change`].
    pub fn push<O: Object>(&mut self, verb: Verb, object: &O) -> &mut Self {
        let Some(item) = self.begin_item() else {
            return self;
        };
        let undoes = self.on_error == OnError::Undo;
        if needs_more_messages(verb, object) || (undoes && reads_state_before::<O>(verb)) {
            self.run_alone(item, verb, object);
            return self;
        }
        let (start, before) = (self.requests.position(), self.requests.mark());
        let encoded =
            check_settable(verb, object).and_then(|()| encode(verb, object, &mut self.requests));
        if let Err(invalid) = encoded {
            self.requests.rewind(before);
            self.flush();
            let error = failure(verb, object.target(), Cause::Invalid(invalid));
            self.summary.failed.push((item, error));
            return self;
        }
        self.requests.remove_flags(NLM_F_ACK);
        if undoes || !O::DECODES_REQUESTS {
            let target = (!O::DECODES_REQUESTS).then(|| object.target());
            let undo = undoes.then(|| undo_for(verb, object, Ok(None))).flatten();
            self.chunk.attach_to_next(target, undo);
        }
        self.end_item::<O>(item, start, verb);
        self
    }

    /// As [`push`](Self::push), for a change that the caller has encoded as one message.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::InvalidRequest) if `message` is not a request for `verb` on an `O`. The batch is unchanged.
    pub fn push_encoded<O: Object>(
        &mut self,
        verb: Verb,
        message: &[u8],
    ) -> Result<&mut Self, InvalidRequest> {
        if self.on_error == OnError::Undo || !O::DECODES_REQUESTS {
            return Ok(self.push(verb, &decode_change::<O>(verb, message)?));
        }
        body_of::<O>(verb, message)?;
        let Some(item) = self.begin_item() else {
            return Ok(self);
        };
        let start = self.requests.position();
        let number = self.netlink.socket.next_sequence();
        let flags = flags_without_ack::<O>(verb);
        self.requests.append_numbered(message, flags, number);
        self.keep_item::<O>(item, start, verb);
        Ok(self)
    }

    /// Whether an item is a single message and nothing about it has to be stored.
    fn is_plain<O: Object>(&self, verb: Verb, object: &O) -> bool {
        self.on_error != OnError::Undo && O::DECODES_REQUESTS && !needs_more_messages(verb, object)
    }

    /// Counts an item. Returns its number, or `None` if it must not be carried out.
    #[inline]
    fn begin_item(&mut self) -> Option<usize> {
        let item = self.summary.item_count;
        self.summary.item_count += 1;
        if self.has_stopped() {
            self.summary.not_run_from.get_or_insert(item);
            return None;
        }
        Some(item)
    }

    /// Completes the message that begins at `start` in the requests.
    #[inline]
    fn end_item<O: Object>(&mut self, item: usize, start: usize, verb: Verb) {
        let number = self.netlink.socket.next_sequence();
        self.requests.finish(number);
        self.keep_item::<O>(item, start, verb);
    }

    /// Adds a complete message, which begins at `start` in the requests, to the chunk.
    #[inline]
    fn keep_item<O: Object>(&mut self, item: usize, start: usize, verb: Verb) {
        self.chunk.push(item, start, verb, ItemCodec::of::<O>());
        if self.chunk.len() >= self.max_items || self.requests.position() >= MAX_CHUNK_BYTES {
            self.flush();
        }
    }

    /// Carries out an item that needs more than one message, or the current state first.
    fn run_alone<O: Object>(&mut self, item: usize, verb: Verb, object: &O) {
        self.flush();
        if self.has_stopped() {
            self.summary.not_run_from.get_or_insert(item);
            return;
        }
        let undoes = self.on_error == OnError::Undo;
        let before = undoes.then(|| {
            if reads_state_before::<O>(verb) {
                current_state(self.netlink, verb, object)
            } else {
                Ok(vec![(object.clone(), None)])
            }
        });
        if let Err(error) = self.netlink.change(verb, object) {
            self.summary.failed.push((item, error));
            return;
        }
        let undo: Vec<_> = match before {
            Some(Ok(before)) => before
                .into_iter()
                .filter_map(|(change, before)| undo_for(verb, &change, Ok(before)))
                .collect(),
            Some(Err(error)) => undo_for(verb, object, Err(error)).into_iter().collect(),
            None => return,
        };
        self.undo.extend(undo.into_iter().map(|undo| (item, undo)));
    }

    /// Sends the pending items and reads the kernel's replies.
    pub fn flush(&mut self) {
        if self.chunk.is_empty() {
            return;
        }
        self.requests.add_flags(NLM_F_ACK);
        let mut failed = self.exchange();
        // An item without an error was carried out.
        failed.sort_by_key(|(at, _)| *at);
        failed.dedup_by_key(|(at, _)| *at);
        let first = self.chunk.first_item();
        let is_done = |at: &usize| failed.binary_search_by_key(at, |item| item.0).is_err();
        let undo = self.chunk.take_undo();
        let undo = undo.into_iter().filter(|(at, _)| is_done(at));
        self.undo.extend(undo.map(|(at, undo)| (first + at, undo)));
        let failed = failed.into_iter();
        (self.summary.failed).extend(failed.map(|(at, error)| (first + at, error)));
        self.chunk.clear();
        self.requests.clear();
    }

    /// Sends the chunk and returns the items that failed.
    fn exchange(&mut self) -> Vec<(usize, NetlinkError)> {
        let count = self.chunk.len();
        let last = self.netlink.socket.last_sequence();
        let first = last.wrapping_sub(count as u32 - 1) & SEQUENCES;
        let mut failed = Vec::new();
        if let Err(cause) = self.netlink.socket.send(self.requests.bytes()) {
            self.fail(count, &cause, &mut failed);
            return failed;
        }
        let mut wait = Wait::Answer;
        let mut ended = false;
        for _ in 0..count + MAX_STRAYS {
            let mut errors = Vec::new();
            let received = self.netlink.socket.receive(wait, |message| {
                let at = (message.sequence.wrapping_sub(first) & SEQUENCES) as usize;
                let is_ours = message.sequence <= SEQUENCES && at < count;
                if message.kind == NLMSG_ERROR && is_ours {
                    errors.extend(KernelError::decode(message)?.map(|error| (at, error)));
                    ended |= at + 1 == count;
                }
                Ok(())
            });
            let errors = errors.into_iter();
            failed.extend(errors.map(|(at, error)| (at, self.refused(at, error))));
            match received {
                Ok(true) if ended && wait == Wait::Answer => return failed,
                // Replies were lost: any item before the last may have failed.
                Ok(true) if ended => break,
                Ok(true) => {}
                // Replies were lost. Read those that have arrived without waiting for more.
                Err(ref cause) if wait == Wait::Answer && cause.is_overrun() => wait = Wait::No,
                Ok(false) => break,
                Err(cause) => {
                    self.fail(count, &cause, &mut failed);
                    return failed;
                }
            }
        }
        let unknown = if ended { count - 1 } else { count };
        self.fail(unknown, &Cause::NoReply, &mut failed);
        failed
    }

    /// Records `cause` for each of the first `count` items that has no error of its own.
    fn fail(&self, count: usize, cause: &Cause, failed: &mut Vec<(usize, NetlinkError)>) {
        for at in 0..count {
            if failed.iter().all(|(failed, _)| *failed != at) {
                let error = failure(self.chunk.verb(at), self.target(at), cause.for_other_item());
                failed.push((at, error));
            }
        }
    }

    fn refused(&self, at: usize, mut error: KernelError) -> NetlinkError {
        let verb = self.chunk.verb(at);
        let (header_bytes, specs) = (self.chunk.codec(at).layout)(verb);
        let message = self.chunk.message(at, self.requests.bytes());
        error.path = attribute_path(&error, message, header_bytes, specs);
        failure(verb, self.target(at), Cause::Refused(error))
    }

    /// What an item was about.
    fn target(&self, at: usize) -> RequestTarget {
        let message = || self.chunk.message(at, self.requests.bytes());
        let decode = || (self.chunk.codec(at).target)(&message()[HEADER_BYTES..]);
        self.chunk.target(at).unwrap_or_else(decode)
    }

    /// Rolls back the items that were carried out, the last first.
    fn roll_back(&mut self) {
        self.summary.undone = true;
        while let Some((item, undo)) = self.undo.pop() {
            if let Err(error) = undo.run(self.netlink) {
                self.summary.not_undone.push((item, error));
            }
        }
        self.summary.not_undone.reverse();
    }
}

fn failure(verb: Verb, target: RequestTarget, cause: Cause) -> NetlinkError {
    NetlinkError::new(Action::from(verb), target, cause)
}

/// Whether an item takes more than one message.
fn needs_more_messages<O: Object>(verb: Verb, object: &O) -> bool {
    let by_driver = verb == Verb::Add && object.is_created_by_driver();
    by_driver || object.has_follow_up(verb) || object.resets_omitted_fields(verb)
}

/// Position of the destination address in a route message: it is the first attribute.
const DESTINATION_AT: usize = HEADER_BYTES + Route::HEADER_BYTES + 4;

impl Batch<'_> {
    /// Adds a route like `like` to each of `destinations`: one item each, as by [`add`](Self::add). Each message is a
    /// copy of the previous one with another destination, which is faster than encoding it.
    pub fn add_to_each(
        &mut self,
        like: &Route,
        destinations: impl IntoIterator<Item = Prefix>,
    ) -> &mut Self {
        let mut route = like.clone();
        let mut template = Request::default();
        let mut template_for = None;
        for dst in destinations {
            if template_for != Some((dst.family(), dst.len)) {
                route.dst = Some(dst);
                template.clear();
                template_for = (!dst.is_everything()
                    && self.is_plain(Verb::Add, &route)
                    && encode(Verb::Add, &route, &mut template).is_ok())
                .then(|| (dst.family(), dst.len));
                if template_for.is_some() {
                    template.remove_flags(NLM_F_ACK);
                }
            }
            if template_for.is_none() {
                route.dst = Some(dst);
                self.add(&route);
            } else if let Some(item) = self.begin_item() {
                let start = self.requests.position();
                self.requests.append(template.bytes());
                self.requests.overwrite_ip(start + DESTINATION_AT, dst.ip);
                self.end_item::<Route>(item, start, Verb::Add);
            }
        }
        self
    }
}
