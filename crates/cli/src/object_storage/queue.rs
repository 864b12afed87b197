//! Complete files on their way from the job to the thread that uploads them.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::account::Account;
use super::options::WhenFull;

/// A complete file in the spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub path: PathBuf,
    pub bytes: u64,
    /// Unknown of files of an earlier run.
    pub rows: Option<u64>,
}

/// Why a file could not be uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadFailure {
    pub text: String,
    pub kind: FailureKind,
}

/// Which files fail, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// All files, until the service is back or less busy.
    Passing,
    /// All files of this run, for example because the bucket is missing.
    Lasting,
    /// This file: the service refuses it, or it cannot be read. Others may be uploaded.
    OfFile,
}

/// An attempt ends by its own time limit. This only bounds one wait meanwhile.
const ATTEMPT: Duration = Duration::from_mins(1);

/// Different reasons for the refusal of files that a run reports.
const MOST_REASONS: usize = 16;

/// Limits of the spool.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub bytes: u64,
    /// The longest time without progress.
    pub wait: Duration,
    pub when_full: WhenFull,
}

#[derive(Debug)]
pub struct Queue {
    limits: Limits,
    state: Mutex<State>,
    changed: Condvar,
}

/// A file in the queue.
#[derive(Debug)]
struct Entry {
    /// Older ones have lower numbers.
    number: u64,
    file: Waiting,
    /// Attempts that failed because of the file itself.
    refusals: u32,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct State {
    /// Oldest first.
    waiting: VecDeque<Entry>,
    /// The file that is uploaded, which also counts as waiting.
    current: Option<Entry>,
    /// Number of the next file.
    number: u64,
    /// Files that have gone, whose directories may be empty.
    gone: Vec<PathBuf>,
    account: Account,
    /// Of the last attempt, if it failed, and not because of the file.
    failure: Option<UploadFailure>,
    /// Why the first look at the bucket failed, until an attempt has ended.
    check: Option<UploadFailure>,
    /// Why an attempt or the first look failed last.
    last_failure: Option<String>,
    /// Why the last file was refused, and when.
    refusal: Option<(String, Instant)>,
    /// Reasons for refusals that have been reported, at most [`MOST_REASONS`].
    reported: Vec<String>,
    progress_at: Instant,
    /// No more files come.
    is_closed: bool,
    /// The next attempt is not to wait for the end of its pause.
    is_urgent: bool,
    /// A file got no room, after which the job ends.
    is_full: bool,
    /// There is no thread that uploads any longer.
    has_no_uploader: bool,
}

impl State {
    fn give_up(&mut self, file: &Waiting) {
        let account = &mut self.account;
        account.given_up.add(file.bytes);
        account.given_up_rows = account
            .given_up_rows
            .zip(file.rows)
            .map(|(before, rows)| before + rows);
    }

    fn add(&mut self, file: Waiting) {
        self.waiting.push_back(Entry {
            number: self.number,
            file,
            refusals: 0,
        });
        self.number += 1;
    }

    /// Puts a file back to its place by age.
    fn put_back(&mut self, entry: Entry) {
        let at = self
            .waiting
            .partition_point(|other| other.number < entry.number);
        self.waiting.insert(at, entry);
    }

    /// The place of the file to upload next: the oldest of those that were refused least often.
    fn best(&self) -> Option<usize> {
        let places = 0..self.waiting.len();
        places.min_by_key(|&at| self.waiting[at].refusals)
    }

    /// How long to wait for uploads; `None` if that is over: all files were refused, or the last attempt failed, and there was no
    /// progress for `wait`.
    fn remaining_wait(&self, since: Instant, wait: Duration) -> Option<Duration> {
        let Some(failure) = &self.failure else {
            let mut waiting = self.waiting.iter();
            let has_more = self.current.is_some() || waiting.any(|entry| entry.refusals == 0);
            return has_more.then_some(ATTEMPT);
        };
        let idle = self.progress_at.max(since).elapsed();
        let left = wait.saturating_sub(idle);
        (failure.kind == FailureKind::Passing && !left.is_zero()).then_some(left)
    }

    /// Why files wait.
    fn reason(&self) -> Option<&str> {
        let failure = self.failure.as_ref().map(|failure| &failure.text);
        let refusal = self.refusal.as_ref().map(|(text, _)| text);
        failure.or(refusal).map(String::as_str)
    }
}

impl Queue {
    /// A queue with the files that an earlier run left, of which `half_written` were removed.
    pub fn new(limits: Limits, found: Vec<Waiting>, half_written: u64) -> Self {
        let mut account = Account {
            half_written,
            given_up_rows: Some(0),
            ..Account::default()
        };
        for file in &found {
            account.found.add(file.bytes);
            account.waiting.add(file.bytes);
        }
        let mut state = State {
            waiting: VecDeque::new(),
            current: None,
            number: 0,
            gone: Vec::new(),
            account,
            failure: None,
            check: None,
            last_failure: None,
            refusal: None,
            reported: Vec::new(),
            progress_at: Instant::now(),
            is_closed: false,
            is_urgent: false,
            is_full: false,
            has_no_uploader: false,
        };
        for file in found {
            state.add(file);
        }
        Self {
            limits,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'q>(&self, state: MutexGuard<'q, State>, time: Duration) -> MutexGuard<'q, State> {
        let slept = self.changed.wait_timeout(state, time);
        slept.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Adds a file. Returns those that are given up for it, which may be the file itself.
    ///
    /// Fails if the job is to wait for room and gets none. The file waits for its upload all the same, as it is in the spool.
    pub fn add(&self, file: Waiting) -> io::Result<Vec<Waiting>> {
        let since = Instant::now();
        let mut given_up = Vec::new();
        let mut state = self.lock();
        // Bound: each round removes a file, or waits for at most the time without progress.
        loop {
            let waiting = state.account.waiting;
            let fits = waiting.bytes.saturating_add(file.bytes) <= self.limits.bytes;
            if fits || (self.limits.when_full == WhenFull::Wait && waiting.files == 0) {
                break;
            }
            if self.limits.when_full == WhenFull::Wait {
                let left = state.remaining_wait(since, self.limits.wait);
                let Some(left) = left.filter(|_| !state.is_full) else {
                    let reason = state.reason().unwrap_or_default();
                    let text = format!("the spool is full, and nothing can be uploaded: {reason}");
                    state.is_full = true;
                    state.account.waiting.add(file.bytes);
                    state.add(file);
                    self.changed.notify_all();
                    return Err(io::Error::new(io::ErrorKind::StorageFull, text));
                };
                state = self.wait_for(state, left);
                continue;
            }
            // The current file stays: if there is no room beside it, the others are of no use.
            let current = state.current.as_ref().map_or(0, |entry| entry.file.bytes);
            let can_fit = current.saturating_add(file.bytes) <= self.limits.bytes;
            let Some(Entry { file: oldest, .. }) = state.waiting.pop_front_if(|_| can_fit) else {
                state.give_up(&file);
                given_up.push(file);
                return Ok(given_up);
            };
            state.account.waiting.remove(oldest.bytes);
            state.give_up(&oldest);
            given_up.push(oldest);
        }
        state.account.waiting.add(file.bytes);
        state.add(file);
        self.changed.notify_all();
        Ok(given_up)
    }

    /// The next file, after a pause that follows a failure. A file that was refused comes behind the others, and after a pause,
    /// by the number of its refusals, since the last refusal of any. `None` at the end.
    pub fn next(
        &self,
        pause: Duration,
        pause_of_refused: &dyn Fn(u32) -> Duration,
    ) -> Option<Waiting> {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || state.is_urgent {
                break;
            }
            state = self.wait_for(state, left);
        }
        state.is_urgent = false;
        loop {
            let Some(at) = state.best() else {
                if state.is_closed {
                    return None;
                }
                let slept = self.changed.wait(state);
                state = slept.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = match (state.waiting[at].refusals, &state.refusal) {
                (0, _) | (_, None) => Duration::ZERO,
                (refusals, Some((_, refused_at))) => {
                    pause_of_refused(refusals).saturating_sub(refused_at.elapsed())
                }
            };
            if left.is_zero() {
                state.current = state.waiting.remove(at);
                return state.current.as_ref().map(|entry| entry.file.clone());
            }
            state = self.wait_for(state, left);
        }
    }

    /// A part of the current file was uploaded.
    pub fn progressed(&self) {
        self.lock().progress_at = Instant::now();
        self.changed.notify_all();
    }

    /// The current file was uploaded. Returns whether the attempt before failed, but for refused files.
    pub fn uploaded(&self) -> bool {
        let mut state = self.lock();
        if let Some(Entry { file, .. }) = state.current.take() {
            state.account.waiting.remove(file.bytes);
            state.account.uploaded.add(file.bytes);
            state.gone.push(file.path);
        }
        state.progress_at = Instant::now();
        self.changed.notify_all();
        let before = state.failure.take().or(state.check.take());
        before.is_some()
    }

    /// The current file no longer exists.
    pub fn vanished(&self) {
        let mut state = self.lock();
        if let Some(Entry { file, .. }) = state.current.take() {
            state.account.waiting.remove(file.bytes);
            state.give_up(&file);
            state.gone.push(file.path);
        }
        self.changed.notify_all();
    }

    /// The attempt failed: the current file waits again. Returns whether it should be reported: each reason is reported once.
    pub fn failed(&self, failure: UploadFailure) -> bool {
        let mut state = self.lock();
        let is_of_file = failure.kind == FailureKind::OfFile;
        if let Some(mut entry) = state.current.take() {
            entry.refusals = entry.refusals.saturating_add(is_of_file.into());
            state.put_back(entry);
        }
        state.account.failures += 1;
        state.last_failure = Some(failure.text.clone());
        let is_news = if is_of_file {
            let text = failure.text;
            let is_news = state.reported.len() < MOST_REASONS && !state.reported.contains(&text);
            if is_news {
                state.reported.push(text.clone());
            }
            state.refusal = Some((text, Instant::now()));
            // No other failure is known any longer.
            state.failure = None;
            is_news
        } else {
            let before = state.failure.take().or(state.check.take());
            state.failure = Some(failure.clone());
            before != Some(failure)
        };
        self.changed.notify_all();
        is_news && !state.is_closed
    }

    /// The first look at the bucket failed. Returns whether it should be reported.
    pub fn check_failed(&self, failure: UploadFailure) -> bool {
        let mut state = self.lock();
        state.last_failure = Some(failure.text.clone());
        // Whoever may not list a bucket may be allowed to write there. What to wait for is decided by attempts alone.
        if failure.kind != FailureKind::OfFile {
            state.check = Some(failure);
        }
        !state.is_closed
    }

    /// The thread that uploads has ended. If files still wait, nobody takes them.
    pub fn uploader_ended(&self) {
        let mut state = self.lock();
        state.has_no_uploader = true;
        if let Some(entry) = state.current.take() {
            state.put_back(entry);
            state.account.failures += 1;
        }
        // What it said before is a better reason.
        let known = state.failure.take().or(state.check.take());
        let text = match known {
            Some(failure) => failure.text,
            None => "the thread that uploads has ended".to_owned(),
        };
        let kind = FailureKind::Lasting;
        state.failure = Some(UploadFailure { text, kind });
        self.changed.notify_all();
    }

    /// Ends the queue and waits for the uploads, as long as there is progress. Returns why files still wait, or were given up.
    pub fn finish(&self) -> (Account, Option<String>) {
        let since = Instant::now();
        let mut state = self.lock();
        // The attempts that follow decide.
        if !state.has_no_uploader {
            state.failure = None;
            state.refusal = None;
        }
        for entry in &mut state.waiting {
            entry.refusals = 0;
        }
        state.is_closed = true;
        state.is_urgent = true;
        self.changed.notify_all();
        while state.account.waiting.files > 0
            && let Some(left) = state.remaining_wait(since, self.limits.wait)
        {
            state = self.wait_for(state, left);
        }
        let account = state.account;
        let reason = match (account.waiting.files, account.given_up.files) {
            (0, 0) => None,
            (0, _) => state.last_failure.as_deref(),
            (_, _) => state.reason(),
        };
        (account, reason.map(str::to_owned))
    }

    pub fn account(&self) -> Account {
        self.lock().account
    }

    /// Files that have gone since the last call.
    pub fn take_gone(&self) -> Vec<PathBuf> {
        mem::take(&mut self.lock().gone)
    }
}

#[cfg(test)]
mod tests;
