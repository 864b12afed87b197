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
pub struct Trouble {
    pub text: String,
    /// Waiting does not help, for example against wrong credentials.
    pub lasts: bool,
}

/// An attempt ends by its own time limit. This only bounds one wait meanwhile.
const ATTEMPT: Duration = Duration::from_mins(1);

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

#[derive(Debug)]
struct State {
    /// Oldest first.
    waiting: VecDeque<Waiting>,
    /// The file that is uploaded, which also counts as waiting.
    current: Option<Waiting>,
    /// Files that have gone, whose directories may be empty.
    gone: Vec<PathBuf>,
    account: Account,
    /// Of the last attempt, if it failed.
    trouble: Option<Trouble>,
    progress_at: Instant,
    /// No more files come.
    is_closed: bool,
    /// The next attempt is not to wait for the end of its pause.
    is_urgent: bool,
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

    /// How long to wait for uploads; `None` if that is over: the last attempt failed, and there was no progress for `wait`.
    fn patience(&self, since: Instant, wait: Duration) -> Option<Duration> {
        let Some(trouble) = &self.trouble else {
            return Some(ATTEMPT);
        };
        let idle = self.progress_at.max(since).elapsed();
        let left = wait.saturating_sub(idle);
        (!trouble.lasts && !left.is_zero()).then_some(left)
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
        Self {
            limits,
            state: Mutex::new(State {
                waiting: found.into(),
                current: None,
                gone: Vec::new(),
                account,
                trouble: None,
                progress_at: Instant::now(),
                is_closed: false,
                is_urgent: false,
            }),
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
    /// Fails if the job is to wait for room and gets none.
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
                let Some(left) = state.patience(since, self.limits.wait) else {
                    let reason = state.trouble.as_ref().map_or("", |trouble| &trouble.text);
                    let text = format!("the spool is full, and nothing can be uploaded: {reason}");
                    return Err(io::Error::new(io::ErrorKind::StorageFull, text));
                };
                state = self.wait_for(state, left);
                continue;
            }
            // The current file stays: if there is no room beside it, the others are of no use.
            let current = state.current.as_ref().map_or(0, |current| current.bytes);
            let can_fit = current.saturating_add(file.bytes) <= self.limits.bytes;
            let Some(oldest) = state.waiting.pop_front_if(|_| can_fit) else {
                state.give_up(&file);
                given_up.push(file);
                return Ok(given_up);
            };
            state.account.waiting.remove(oldest.bytes);
            state.give_up(&oldest);
            given_up.push(oldest);
        }
        state.account.waiting.add(file.bytes);
        state.waiting.push_back(file);
        self.changed.notify_all();
        Ok(given_up)
    }

    /// The next file, after a pause that follows a failure. `None` at the end.
    pub fn next(&self, pause: Duration) -> Option<Waiting> {
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
            if let Some(file) = state.waiting.pop_front() {
                state.current = Some(file.clone());
                return Some(file);
            }
            if state.is_closed {
                return None;
            }
            let slept = self.changed.wait(state);
            state = slept.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A part of the current file was uploaded.
    pub fn progressed(&self) {
        self.lock().progress_at = Instant::now();
        self.changed.notify_all();
    }

    /// The current file was uploaded. Returns whether the attempt before failed.
    pub fn uploaded(&self) -> bool {
        let mut state = self.lock();
        if let Some(file) = state.current.take() {
            state.account.waiting.remove(file.bytes);
            state.account.uploaded.add(file.bytes);
            state.gone.push(file.path);
        }
        state.progress_at = Instant::now();
        self.changed.notify_all();
        state.trouble.take().is_some()
    }

    /// The current file no longer exists.
    pub fn vanished(&self) {
        let mut state = self.lock();
        if let Some(file) = state.current.take() {
            state.account.waiting.remove(file.bytes);
            state.give_up(&file);
            state.gone.push(file.path);
        }
        self.changed.notify_all();
    }

    /// The attempt failed: the current file is the next one again. Returns whether somebody should be told, which is once for
    /// each reason.
    pub fn failed(&self, trouble: Trouble) -> bool {
        let mut state = self.lock();
        if let Some(file) = state.current.take() {
            state.waiting.push_front(file);
        }
        state.account.failures += 1;
        let is_news = state.trouble.as_ref() != Some(&trouble) && !state.is_closed;
        state.trouble = Some(trouble);
        self.changed.notify_all();
        is_news
    }

    /// Ends the queue and waits for the uploads, as long as there is progress.
    pub fn finish(&self) -> (Account, Option<Trouble>) {
        let since = Instant::now();
        let mut state = self.lock();
        // The attempt that follows decides.
        state.trouble = None;
        state.is_closed = true;
        state.is_urgent = true;
        self.changed.notify_all();
        while state.account.waiting.files > 0
            && let Some(left) = state.patience(since, self.limits.wait)
        {
            state = self.wait_for(state, left);
        }
        (state.account, state.trouble.clone())
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
mod tests {
    use super::*;

    fn file(name: &str, bytes: u64) -> Waiting {
        Waiting {
            path: name.into(),
            bytes,
            rows: Some(bytes / 10),
        }
    }

    fn queue(when_full: WhenFull, found: Vec<Waiting>) -> Queue {
        let limits = Limits {
            bytes: 100,
            wait: Duration::ZERO,
            when_full,
        };
        Queue::new(limits, found, 0)
    }

    fn trouble(text: &str) -> Trouble {
        Trouble {
            text: text.into(),
            lasts: false,
        }
    }

    fn names(files: &[Waiting]) -> Vec<&str> {
        files.iter().filter_map(|file| file.path.to_str()).collect()
    }

    #[test]
    fn a_full_spool_gives_up_the_oldest_files() {
        let queue = queue(WhenFull::GiveUp, vec![file("a", 40)]);
        assert!(queue.add(file("b", 40)).expect("room").is_empty());
        // The one that is uploaded stays.
        assert_eq!(queue.next(Duration::ZERO), Some(file("a", 40)));
        let given_up = queue.add(file("c", 50)).expect("given up");
        assert_eq!(names(&given_up), ["b"]);
        let given_up = queue.add(file("d", 90)).expect("given up");
        assert_eq!(names(&given_up), ["d"]);
        queue.uploaded();
        let account = queue.account();
        assert_eq!((account.given_up.files, account.given_up.bytes), (2, 130));
        assert_eq!(account.given_up_rows, Some(13));
        assert_eq!((account.uploaded.bytes, account.waiting.bytes), (40, 50));
    }

    #[test]
    fn rows_of_an_earlier_run_are_unknown() {
        let mut earlier = file("a", 40);
        earlier.rows = None;
        let queue = queue(WhenFull::GiveUp, vec![earlier]);
        let given_up = queue.add(file("b", 90)).expect("given up");
        assert_eq!(names(&given_up), ["a"]);
        assert_eq!(queue.account().given_up_rows, None);
    }

    #[test]
    fn a_job_that_may_wait_loses_nothing() {
        let queue = queue(WhenFull::Wait, Vec::new());
        // Larger than the spool, which is empty.
        assert!(queue.add(file("a", 200)).expect("room").is_empty());
        queue.next(Duration::ZERO);
        queue.failed(trouble("away"));
        let error = queue.add(file("b", 1)).expect_err("full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(queue.account().given_up.files, 0);
    }

    #[test]
    fn a_file_that_failed_is_the_next_one_and_told_about_once() {
        let queue = queue(WhenFull::GiveUp, vec![file("a", 1), file("b", 1)]);
        for (text, is_news) in [("away", true), ("away", false), ("denied", true)] {
            assert_eq!(queue.next(Duration::ZERO), Some(file("a", 1)));
            assert_eq!(queue.failed(trouble(text)), is_news);
        }
        queue.next(Duration::ZERO);
        assert!(queue.uploaded());
        queue.next(Duration::ZERO);
        assert!(!queue.uploaded());
        let (account, trouble) = queue.finish();
        assert_eq!((account.uploaded.files, account.failures), (2, 3));
        assert_eq!(trouble, None);
        assert_eq!(queue.next(Duration::from_hours(1)), None);
    }
}
