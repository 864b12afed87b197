//! The thread that uploads. It has capabilities, files and system calls of its own, and parses nothing that packets say.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::runtime;

use super::attempts::Attempts;
use super::queue::{FailureKind, Queue, UploadFailure};
use super::store::{Store, UploadError};

/// Uploads the files of a queue.
pub struct Uploader {
    pub store: Store,
    pub attempts: Attempts,
    /// The beginning of the keys that this run writes. `None` for all keys of the bucket.
    pub prefix: Option<String>,
}

/// Tells the queue that nothing is uploaded any longer, also if the thread panics.
pub struct EndedOnDrop(pub Arc<Queue>);

impl Drop for EndedOnDrop {
    fn drop(&mut self) {
        self.0.uploader_ended();
    }
}

impl Uploader {
    /// Ends with the queue.
    pub fn run(mut self) {
        let _ending = EndedOnDrop(Arc::clone(&self.attempts.queue));
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => {
                let failure = UploadFailure {
                    kind: FailureKind::Lasting,
                    ..(&error).into()
                };
                return self.attempts.check_failed(failure);
            }
        };
        let checked = self.store.check(self.prefix.as_deref());
        if let Err(failure) = runtime.block_on(checked) {
            self.attempts.check_failed(failure);
        }
        while let Some(file) = self.attempts.next() {
            let uploaded = runtime.block_on(self.upload(&file.path));
            self.attempts.ended(&file, uploaded);
        }
    }

    async fn upload(&self, path: &Path) -> Result<(), UploadError> {
        let Some(key) = self.attempts.spool.key(path) else {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "its name is not UTF-8");
            return Err(error.into());
        };
        let progressed = || self.attempts.queue.progressed();
        self.store.upload(&key, path, &progressed).await
    }
}
