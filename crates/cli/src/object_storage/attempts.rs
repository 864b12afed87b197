//! What follows an attempt to upload: the file leaves the spool, or waits for the next attempt. The pauses between attempts.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};

use super::queue::{FailureKind, Queue, UploadFailure, Waiting};
use super::spool::{self, Spool};
use super::store::UploadError;
use super::url::ObjectUrl;
use crate::screen::printable;

/// The pause after the first failure. It doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The attempts of a run.
pub struct Attempts {
    pub queue: Arc<Queue>,
    pub spool: Arc<Spool>,
    pub url: ObjectUrl,
    /// Failures since the last success, but for refused files.
    pub failures: u32,
}

impl Attempts {
    /// The next file, once the pause is over. `None` at the end of the queue.
    pub fn next(&self) -> Option<Waiting> {
        self.queue.next(pause(self.failures), &pause)
    }

    /// The attempt with `file` has ended.
    pub fn ended(&mut self, file: &Waiting, uploaded: Result<(), UploadError>) {
        match uploaded {
            Ok(()) => {
                self.failures = 0;
                spool::remove(&file.path);
                if self.queue.uploaded() {
                    say(&format!("uploads to {} work again", self.url));
                }
            }
            Err(UploadError::Vanished) => self.queue.vanished(),
            Err(UploadError::File(failure) | UploadError::Service(failure)) => {
                self.fail(file, failure);
            }
        }
    }

    fn fail(&mut self, file: &Waiting, failure: UploadFailure) {
        let text = &failure.text;
        let line = if failure.kind == FailureKind::OfFile {
            let path = file.path.display();
            format!("warning: cannot upload {path}: {text}; it waits, and others go first")
        } else {
            self.failures += 1;
            self.warning(text)
        };
        if self.queue.failed(failure) {
            say(&line);
        }
    }

    /// The first look at the bucket has failed. It is no failure of the job.
    pub fn check_failed(&self, failure: UploadFailure) {
        let line = if failure.kind == FailureKind::OfFile {
            // The credentials may allow to write alone.
            let (url, text) = (&self.url, &failure.text);
            format!("warning: cannot list {url}: {text}; uploads may fail, too")
        } else {
            self.warning(&failure.text)
        };
        if self.queue.check_failed(failure) {
            say(&line);
        }
    }

    fn warning(&self, text: &str) -> String {
        let (url, root) = (&self.url, self.spool.root.display());
        format!("warning: cannot upload to {url}: {text}; files wait in {root}")
    }
}

/// Prints a line about uploads.
pub fn say(line: &str) {
    // A closed standard error is no failure.
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

/// The pause after so many failures. Random, so that many hosts do not return to a service at the same time.
fn pause(failures: u32) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else {
        return Duration::ZERO;
    };
    let pause = FIRST_PAUSE.saturating_mul(1 << doublings.min(16));
    let pause = pause.min(LONGEST_PAUSE);
    let mut random = [0];
    // Without random numbers it is the longest one.
    let share = match getrandom(&mut random, GetRandomFlags::empty()) {
        Ok(_) => 1.0 - f64::from(random[0]) / 512.0,
        Err(_) => 1.0,
    };
    pause.mul_f64(share)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::object_storage::options::WhenFull;
    use crate::object_storage::queue::Limits;

    const FILE_BYTES: u64 = 1000;
    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn pauses_are_bounded() {
        assert_eq!(pause(0), Duration::ZERO);
        for failures in 1..100 {
            let pause = pause(failures);
            assert!(pause >= FIRST_PAUSE / 2 && pause <= LONGEST_PAUSE);
            assert!(failures < 10 || pause >= LONGEST_PAUSE / 2);
        }
    }

    /// A service that is away for a while, in a time of its own: attempts and pauses take none.
    struct Outage {
        attempts: Attempts,
        folder: tempfile::TempDir,
        /// Of the next attempt.
        now: Duration,
        away_until: Duration,
        /// Names of the files that the service has, and of those that were given up.
        taken: BTreeSet<String>,
        given_up: BTreeSet<String>,
        tried: u64,
    }

    impl Outage {
        fn new(away: Duration, spool_files: u64) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let url = ObjectUrl::parse(Path::new("s3://logs/table"));
            let url = url.expect("a URL").expect("a bucket");
            let (spool, found) = Spool::open(folder.path(), &url).expect("a spool");
            let limits = Limits {
                bytes: spool_files * FILE_BYTES,
                wait: Duration::ZERO,
                when_full: WhenFull::GiveUp,
            };
            let attempts = Attempts {
                queue: Arc::new(Queue::new(limits, found.files, 0)),
                spool: Arc::new(spool),
                url,
                failures: 0,
            };
            Self {
                attempts,
                folder,
                now: Duration::ZERO,
                away_until: away,
                taken: BTreeSet::new(),
                given_up: BTreeSet::new(),
                tried: 0,
            }
        }

        /// The job completes a file of ten rows.
        fn complete(&mut self, name: &str) {
            let path = self.attempts.spool.place(name);
            fs::write(&path, vec![0; FILE_BYTES as usize]).expect("a file");
            let file = Waiting {
                path,
                bytes: FILE_BYTES,
                rows: Some(10),
            };
            for file in self.attempts.queue.add(file).expect("no wait") {
                spool::remove(&file.path);
                self.given_up.extend(self.attempts.spool.key(&file.path));
            }
        }

        /// Uploads what waits at `from`, until `until`.
        fn upload(&mut self, from: Duration, until: Duration) {
            self.now = self.now.max(from);
            while self.now < until && self.attempts.queue.account().waiting.files > 0 {
                let queue = &self.attempts.queue;
                let file = queue.next(Duration::ZERO, &|_| Duration::ZERO);
                let file = file.expect("it waits");
                self.tried += 1;
                let result = if self.now < self.away_until {
                    let text = "Connection refused".to_owned();
                    let kind = FailureKind::Passing;
                    let failure = UploadFailure { text, kind };
                    Err(UploadError::Service(failure))
                } else {
                    assert!(file.path.exists(), "{file:?}");
                    self.taken.extend(self.attempts.spool.key(&file.path));
                    Ok(())
                };
                self.attempts.ended(&file, result);
                self.now += pause(self.attempts.failures);
            }
        }

        /// A file each minute for two hours, of which the service is away in the first.
        fn two_hours(&mut self) {
            for minute in 0..120 {
                self.complete(&format!("{minute:03}.parquet"));
                self.upload(MINUTE * minute, MINUTE * (minute + 1));
            }
        }

        fn names(minutes: std::ops::Range<u32>) -> BTreeSet<String> {
            minutes
                .map(|minute| format!("{minute:03}.parquet"))
                .collect()
        }

        fn spooled(&self) -> usize {
            let files = fs::read_dir(self.folder.path().join("s3/logs")).expect("the spool");
            files.count() - 1 // The lock.
        }
    }

    #[test]
    fn a_service_that_is_away_for_an_hour_has_all_files_if_the_spool_has_room() {
        let mut outage = Outage::new(MINUTE * 60, 62);
        outage.two_hours();
        assert_eq!(outage.taken, Outage::names(0..120));
        assert_eq!(outage.spooled(), 0);
        let account = outage.attempts.queue.account();
        assert_eq!(
            (account.uploaded.files, account.uploaded.bytes),
            (120, 120 * FILE_BYTES)
        );
        assert_eq!((account.waiting.files, account.given_up.files), (0, 0));
        assert_eq!(account.given_up_rows, Some(0));
        // Every attempt is counted. Behind the first ones, pauses are of half a minute to one.
        assert_eq!(account.failures + 120, outage.tried);
        assert!((60..=130).contains(&account.failures), "{account:?}");
    }

    #[test]
    fn what_the_spool_has_no_room_for_in_an_hour_is_given_up_and_counted() {
        let mut outage = Outage::new(MINUTE * 60, 20);
        outage.two_hours();
        // Of 61 files, as the service is tried again only when the first one of the second hour has come, 20 had room.
        let lost = 41;
        assert_eq!(outage.given_up, Outage::names(0..lost));
        assert_eq!(outage.taken, Outage::names(lost..120));
        assert_eq!(outage.spooled(), 0);
        let account = outage.attempts.queue.account();
        assert_eq!(account.given_up.files, u64::from(lost));
        assert_eq!(account.given_up.bytes, u64::from(lost) * FILE_BYTES);
        assert_eq!(account.given_up_rows, Some(u64::from(lost) * 10));
        assert_eq!(account.uploaded.files, u64::from(120 - lost));
    }

    #[test]
    fn a_service_that_is_back_is_used_within_a_minute() {
        for minutes in [1, 10, 60, 600] {
            let mut outage = Outage::new(MINUTE * minutes, 1);
            outage.complete("a.parquet");
            outage.upload(Duration::ZERO, MINUTE * minutes);
            assert_eq!(outage.attempts.queue.account().uploaded.files, 0);
            outage.upload(MINUTE * minutes, MINUTE * (minutes + 1));
            assert_eq!(
                outage.attempts.queue.account().uploaded.files,
                1,
                "{minutes}"
            );
        }
    }
}
