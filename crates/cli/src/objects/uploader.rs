//! The thread that uploads. It has capabilities, files and system calls of its own, and parses nothing that packets say.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};
use tokio::runtime;

use super::queue::{Queue, Trouble};
use super::spool::{self, Spool};
use super::store::{Store, UploadError};
use super::url::ObjectUrl;

/// The pause after the first failure. It doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Uploads the files of a queue.
pub struct Uploader {
    pub queue: Arc<Queue>,
    pub store: Store,
    pub spool: Arc<Spool>,
    pub url: ObjectUrl,
    pub is_quiet: bool,
}

impl Uploader {
    /// Ends with the queue.
    pub fn run(self) {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => {
                // Nothing is ever uploaded. The end reports it.
                while self.queue.next(Duration::ZERO).is_some() {
                    self.fail((&error).into());
                }
                return;
            }
        };
        let mut failures = 0;
        while let Some(file) = self.queue.next(pause(failures)) {
            let uploaded = runtime.block_on(self.upload(&file.path));
            match uploaded {
                Ok(()) => {
                    failures = 0;
                    spool::remove(&file.path);
                    if self.queue.uploaded() {
                        self.say(&format!("uploads to {} work again", self.url));
                    }
                }
                Err(UploadError::Vanished) => self.queue.vanished(),
                Err(UploadError::Trouble(trouble)) => {
                    failures += 1;
                    self.fail(trouble);
                }
            }
        }
    }

    async fn upload(&self, path: &Path) -> Result<(), UploadError> {
        let Some(key) = self.spool.key(path) else {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "its name is not UTF-8");
            return Err(error.into());
        };
        let progressed = || self.queue.progressed();
        self.store.upload(&key, path, &progressed).await
    }

    fn fail(&self, trouble: Trouble) {
        let line = format!(
            "warning: cannot upload to {}: {}; files wait in {}",
            self.url,
            trouble.text,
            self.spool.root.display()
        );
        if self.queue.failed(trouble) {
            self.say(&line);
        }
    }

    fn say(&self, line: &str) {
        if !self.is_quiet {
            // A closed standard error is no failure.
            let _ = writeln!(io::stderr(), "{}", line.replace(char::is_control, "?"));
        }
    }
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
    use super::*;

    #[test]
    fn pauses_are_bounded() {
        assert_eq!(pause(0), Duration::ZERO);
        for failures in 1..100 {
            let pause = pause(failures);
            assert!(pause >= FIRST_PAUSE / 2 && pause <= LONGEST_PAUSE);
            assert!(failures < 10 || pause >= LONGEST_PAUSE / 2);
        }
    }
}
