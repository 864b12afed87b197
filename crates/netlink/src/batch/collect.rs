use super::chunk::{Chunk, Of};
use super::outcome::Outcome;
use super::undo::{Undo, asks_before, held, undo_of};
use crate::codec::{HEADER_BYTES, Refusal, Request};
use crate::error::{Action, Cause, NetlinkError, Subject};
use crate::handle::Netlink;
use crate::object::{Object, Verb};
use crate::table::locate;
use crate::transport::Wait;
use crate::uapi::{NLM_F_ACK, NLMSG_ERROR};

/// Messages that go to the kernel together; more are no faster.
const MOST_MESSAGES: usize = 256;
/// Bytes that go to the kernel together; a socket takes more than three times that.
const MOST_BYTES: usize = 64 * 1024;
/// Datagrams that are read for the answer to a chunk, beyond those that it can have.
const MOST_STRAYS: usize = 65_536;

/// What happens when an item fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// The others are carried out.
    #[default]
    Continue,
    /// Nothing after it is carried out. Each item waits for its answer, which takes about half as long again.
    Stop,
    /// All that was carried out is taken back, the last first. Each change but an addition first asks how
    /// things are, and that is kept.
    Undo,
}

/// A collector of changes, with the verbs of [`Netlink`]: items go to the kernel in chunks, as they come,
/// and [`finish`](Self::finish) tells what became of each.
///
/// A chunk costs two system calls and no acknowledgement but one: the kernel carries out one message after
/// another and answers those it refuses, so that an item without an answer is done when the last is
/// answered. Memory does not grow with the items, but with those that fail, and those to be undone.
///
/// # Source
/// `netlink_rcv_skb`, net/netlink/af_netlink.c.
#[derive(Debug)]
#[must_use = "items that have not gone to the kernel are forgotten unless it is finished"]
pub struct Batch<'n> {
    netlink: &'n mut Netlink,
    on_error: OnError,
    pub(super) requests: Request,
    /// The items in `requests`, whose numbers follow on each other.
    chunk: Chunk,
    most: usize,
    outcome: Outcome,
    undo: Vec<(usize, Undo)>,
}

impl Netlink {
    /// Begins a batch.
    pub fn batch(&mut self, on_error: OnError) -> Batch<'_> {
        let requests = self.request();
        let most = match on_error {
            OnError::Stop => 1,
            // Each item may be refused, and each refusal has to find room.
            _ => self.socket.reply_capacity().clamp(1, MOST_MESSAGES),
        };
        Batch {
            netlink: self,
            on_error,
            requests,
            chunk: Chunk::default(),
            most,
            outcome: Outcome::default(),
            undo: Vec::new(),
        }
    }
}

impl Batch<'_> {
    /// As [`Netlink::add`].
    pub fn add<O: Object>(&mut self, object: &O) -> &mut Self {
        self.put(Verb::Add, object)
    }

    /// As [`Netlink::replace`].
    pub fn replace<O: Object>(&mut self, object: &O) -> &mut Self {
        self.put(Verb::Replace, object)
    }

    /// As [`Netlink::set`].
    pub fn set<O: Object>(&mut self, object: &O) -> &mut Self {
        self.put(Verb::Set, object)
    }

    /// As [`Netlink::append`].
    pub fn append<O: Object>(&mut self, object: &O) -> &mut Self {
        self.put(Verb::Append, object)
    }

    /// As [`Netlink::del`].
    pub fn del<O: Object>(&mut self, key: &O) -> &mut Self {
        self.put(Verb::Del, key)
    }

    /// Sends what is left and tells what became of each item.
    pub fn finish(mut self) -> Outcome {
        self.flush();
        if self.on_error == OnError::Undo && !self.outcome.failed.is_empty() {
            self.take_back();
        }
        self.end()
    }

    /// Ends it as if an item had failed: what was carried out is taken back, if that is to be.
    pub fn abandon(mut self) -> Outcome {
        self.flush();
        if self.on_error == OnError::Undo {
            self.take_back();
        }
        self.end()
    }

    fn end(mut self) -> Outcome {
        self.netlink.scratch = std::mem::take(&mut self.requests);
        std::mem::take(&mut self.outcome)
    }

    /// Whether an item has failed after which nothing more is carried out.
    pub fn has_stopped(&self) -> bool {
        self.on_error != OnError::Continue && !self.outcome.failed.is_empty()
    }

    fn put<O: Object>(&mut self, verb: Verb, object: &O) -> &mut Self {
        let Some(item) = self.begin_item() else {
            return self;
        };
        let undoes = self.on_error == OnError::Undo;
        if takes_more(verb, object) || (undoes && asks_before::<O>(verb)) {
            self.put_alone(item, verb, object);
            return self;
        }
        let start = self.requests.position();
        if let Err(unfit) = object.put(verb, &mut self.requests) {
            self.requests.truncate(start);
            self.flush();
            let error = failure(verb, object.subject(), Cause::Unfit(unfit));
            self.outcome.failed.push((item, error));
            return self;
        }
        self.requests.unflag(NLM_F_ACK);
        if undoes || !O::READS_REQUESTS {
            let subject = (!O::READS_REQUESTS).then(|| object.subject());
            let undo = undoes.then(|| undo_of(verb, object, Ok(None))).flatten();
            self.chunk.note_beside(subject, undo);
        }
        self.end_item::<O>(item, start, verb);
        self
    }

    /// Whether an item is only to be sent, and nothing has to be kept of it.
    pub(super) fn takes_as_they_are<O: Object>(&self, verb: Verb, object: &O) -> bool {
        self.on_error != OnError::Undo && O::READS_REQUESTS && !takes_more(verb, object)
    }

    /// Counts an item; its number, if it is to be carried out.
    pub(super) fn begin_item(&mut self) -> Option<usize> {
        let item = self.outcome.item_count;
        self.outcome.item_count += 1;
        if self.has_stopped() {
            self.outcome.not_run_from.get_or_insert(item);
            return None;
        }
        Some(item)
    }

    /// The message that begins at `start` among the requests is whole.
    #[inline]
    pub(super) fn end_item<O: Object>(&mut self, item: usize, start: usize, verb: Verb) {
        let number = self.netlink.socket.number();
        self.requests.finish(number);
        self.chunk.push(item, start, verb, &Of::<O>::ABOUT);
        if self.chunk.len() >= self.most || self.requests.position() >= MOST_BYTES {
            self.flush();
        }
    }

    /// Carries out an item that needs more than one message, or an answer first.
    fn put_alone<O: Object>(&mut self, item: usize, verb: Verb, object: &O) {
        self.flush();
        if self.has_stopped() {
            self.outcome.not_run_from.get_or_insert(item);
            return;
        }
        let undoes = self.on_error == OnError::Undo;
        let before = undoes.then(|| {
            if asks_before::<O>(verb) {
                held(self.netlink, verb, object)
            } else {
                Ok(vec![(object.clone(), None)])
            }
        });
        let done = match verb {
            Verb::Add => self.netlink.add(object),
            Verb::Replace => self.netlink.replace(object),
            Verb::Set => self.netlink.set(object),
            Verb::Append => self.netlink.append(object),
            _ => self.netlink.del(object),
        };
        if let Err(error) = done {
            self.outcome.failed.push((item, error));
            return;
        }
        let undo: Vec<_> = match before {
            Some(Ok(before)) => before
                .into_iter()
                .filter_map(|(said, before)| undo_of(verb, &said, Ok(before)))
                .collect(),
            Some(Err(error)) => undo_of(verb, object, Err(error)).into_iter().collect(),
            None => return,
        };
        self.undo.extend(undo.into_iter().map(|undo| (item, undo)));
    }

    /// Sends the items that wait and reads their answers.
    pub fn flush(&mut self) {
        if self.chunk.is_empty() {
            return;
        }
        self.requests.flag(NLM_F_ACK);
        let mut refused = self.converse();
        // Refusals come in the order of the items; one without an answer was done.
        refused.sort_by_key(|(at, _)| *at);
        refused.dedup_by_key(|(at, _)| *at);
        let first = self.chunk.first_item();
        let is_done = |at: &usize| refused.binary_search_by_key(at, |it| it.0).is_err();
        let undo = self.chunk.take_undo();
        let undo = undo.into_iter().filter(|(at, _)| is_done(at));
        self.undo.extend(undo.map(|(at, undo)| (first + at, undo)));
        let refused = refused.into_iter();
        (self.outcome.failed).extend(refused.map(|(at, error)| (first + at, error)));
        self.chunk.clear();
        self.requests.clear();
    }

    /// Sends the chunk and returns the items in it that failed.
    fn converse(&mut self) -> Vec<(usize, NetlinkError)> {
        let count = self.chunk.len();
        let last = self.netlink.socket.last_number();
        let first = last.wrapping_sub(count as u32 - 1);
        let mut failed = Vec::new();
        if let Err(cause) = self.netlink.socket.send(self.requests.bytes()) {
            self.fail(count, &cause, &mut failed);
            return failed;
        }
        let mut wait = Wait::Answer;
        let mut ended = false;
        for _ in 0..count + MOST_STRAYS {
            let mut refusals = Vec::new();
            let received = self.netlink.socket.receive(wait, |message| {
                let at = message.sequence.wrapping_sub(first) as usize;
                if message.kind == NLMSG_ERROR && at < count {
                    refusals.extend(Refusal::parse(message)?.map(|refusal| (at, refusal)));
                    ended |= at + 1 == count;
                }
                Ok(())
            });
            failed.extend(
                refusals
                    .into_iter()
                    .map(|(at, it)| (at, self.refused(at, it))),
            );
            match received {
                Ok(true) if ended && wait == Wait::Answer => return failed,
                // Any item before the last may have been refused.
                Ok(true) if ended => break,
                Ok(true) => {}
                // Answers were lost; what is there is read, and nothing is waited for.
                Err(ref cause) if wait == Wait::Answer && cause.is_overrun() => wait = Wait::No,
                Ok(false) => break,
                Err(cause) => {
                    self.fail(count, &cause, &mut failed);
                    return failed;
                }
            }
        }
        let unknown = if ended { count - 1 } else { count };
        self.fail(unknown, &Cause::Unanswered, &mut failed);
        failed
    }

    /// Says of each of the first `count` items that has no refusal that its answer is lost.
    fn fail(&self, count: usize, cause: &Cause, failed: &mut Vec<(usize, NetlinkError)>) {
        for at in 0..count {
            if failed.iter().all(|(failed, _)| *failed != at) {
                let error = failure(self.chunk.verb(at), self.subject(at), cause.again());
                failed.push((at, error));
            }
        }
    }

    fn refused(&self, at: usize, mut refusal: Refusal) -> NetlinkError {
        let verb = self.chunk.verb(at);
        let (header_bytes, entries) = (self.chunk.about(at).layout)(verb);
        let message = self.chunk.message(at, self.requests.bytes());
        refusal.path = locate(&refusal, message, header_bytes, entries);
        failure(verb, self.subject(at), Cause::Refused(refusal))
    }

    /// What an item speaks of.
    fn subject(&self, at: usize) -> Subject {
        let message = || self.chunk.message(at, self.requests.bytes());
        let told = || (self.chunk.about(at).subject)(&message()[HEADER_BYTES..]);
        self.chunk.subject(at).unwrap_or_else(told)
    }

    /// Takes back what was carried out, the last first.
    fn take_back(&mut self) {
        self.outcome.undone = true;
        while let Some((item, undo)) = self.undo.pop() {
            if let Err(error) = undo.run(self.netlink) {
                self.outcome.not_undone.push((item, error));
            }
        }
        self.outcome.not_undone.reverse();
    }
}

fn failure(verb: Verb, subject: Subject, cause: Cause) -> NetlinkError {
    NetlinkError::new(Action::from(verb), subject, cause)
}

/// Whether one message does not do it.
fn takes_more<O: Object>(verb: Verb, object: &O) -> bool {
    let is_apart = verb == Verb::Add && object.is_made_apart();
    is_apart || object.has_follow_up(verb) || object.is_said_whole(verb)
}
