//! The uploads of a job, from its start to its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tapline::columns::{CompleteFile, OnComplete};

use super::account::Account;
use super::attempts::{Attempts, say};
use super::environment;
use super::journal;
use super::options::UploadOptions;
use super::queue::{Limits, Queue, Waiting};
use super::settings;
use super::spool::{self, Spool};
use super::store::Store;
use super::uploader::Uploader;
use super::url::ObjectUrl;
use crate::args::SandboxArgs;
use crate::failure::{Exit, Failure};
use crate::metrics::{Counters, Family, Sample};
use crate::sandbox::{self, Sandbox};
use crate::values::units::grouped;

/// A file is completed when it has this share of the spool, so that there is always something to upload or to give up.
const FILE_SHARE: u64 = 8;

/// Larger files gain nothing, and take longer to appear.
const LARGEST_FILE: u64 = 512 << 20;

pub struct Uploads {
    url: ObjectUrl,
    queue: Arc<Queue>,
    spool: Arc<Spool>,
    limit_bytes: u64,
    has_partitions: bool,
}

impl Uploads {
    /// Opens the spool and starts the thread that uploads.
    pub fn start(
        url: ObjectUrl,
        options: UploadOptions,
        sandbox: SandboxArgs,
    ) -> Result<Self, Failure> {
        settings::check(url.service).map_err(|problem| {
            let line = format!("cannot use {url}: {problem}");
            Failure::new(Exit::Usage, line)
        })?;
        let directory = options.spool.map_or_else(usual_spool, Ok)?;
        let (spool, mut found) = Spool::open(&directory, &url)?;
        let spool = Arc::new(spool);
        let local = spool.place(&url.key);
        if !options.has_partitions {
            // This run writes the same object. If it fails, what is there waits for the next one.
            found.files.retain(|file| file.path != local);
            journal::remove(&local);
        }
        let folder = if options.has_partitions {
            Some(local.as_path())
        } else {
            local.parent()
        };
        if let Some(folder) = folder {
            spool::create(folder).map_err(|error| {
                Failure::job_on(format!("cannot create {}", folder.display()), &error)
            })?;
        }
        let limits = Limits {
            bytes: options.limit_bytes,
            wait: options.wait,
            when_full: options.when_full,
        };
        let queue = Arc::new(Queue::new(limits, found.files, found.half_written));
        let store = Store::new(&url).map_err(|failure| {
            let line = format!("cannot use {url}: {}", failure.text);
            Failure::new(Exit::Failed, line)
        })?;
        let attempts = Attempts {
            queue: Arc::clone(&queue),
            spool: Arc::clone(&spool),
            url: url.clone(),
            failures: 0,
        };
        let uploader = Uploader {
            store,
            attempts,
            prefix: prefix(&url.key, options.has_partitions),
        };
        limits_of_thread(&spool).spawn(sandbox, move || uploader.run())?;
        Ok(Self {
            url,
            queue,
            spool,
            limit_bytes: options.limit_bytes,
            has_partitions: options.has_partitions,
        })
    }

    /// The directory in which the bucket's objects wait.
    pub fn root(&self) -> &Path {
        &self.spool.root
    }

    /// The local file, or the directory of partitions.
    pub fn path(&self) -> PathBuf {
        self.spool.place(&self.url.key)
    }

    /// The size at which a file is completed, or fails if it is the only one.
    pub fn max_file_bytes(&self) -> u64 {
        if self.has_partitions {
            (self.limit_bytes / FILE_SHARE).clamp(1, LARGEST_FILE)
        } else {
            self.limit_bytes
        }
    }

    /// Takes files that are complete.
    pub fn receiver(&self) -> OnComplete {
        let (queue, spool) = (Arc::clone(&self.queue), Arc::clone(&self.spool));
        // The job creates files there.
        let kept = self.path();
        let (root, limit) = (self.spool.root.display(), grouped(self.limit_bytes));
        let mut warning = Some(format!(
            "warning: the spool {root} is full ({limit} bytes): the oldest files are given up, and counted"
        ));
        Box::new(move |file: CompleteFile| {
            spool.prune(&queue.take_gone(), &kept);
            let given_up = queue.add(Waiting {
                path: file.path,
                bytes: file.bytes,
                rows: Some(file.rows),
            })?;
            if let Some(warning) = warning.take_if(|_| !given_up.is_empty()) {
                say(&warning);
            }
            for file in &given_up {
                spool::remove(&file.path);
            }
            Ok(())
        })
    }

    /// Leaves the thread that writes files what it needs.
    pub fn allow(&self, sandbox: Sandbox) -> Sandbox {
        let root = &self.spool.root;
        sandbox.grow(root.clone()).remove_from(root.clone())
    }

    /// Waits for the uploads. Returns what became of all files, and the failure if some were not uploaded.
    pub fn finish(&self) -> (Account, Option<Failure>) {
        let (account, reason) = self.queue.finish();
        self.spool.prune(&self.queue.take_gone(), &self.spool.root);
        let failure = self.failure(&account, reason.as_deref());
        (account, failure)
    }

    /// Returns the account of all files so far, without waiting.
    pub fn stop(&self) -> Account {
        self.spool.prune(&self.queue.take_gone(), &self.spool.root);
        self.queue.account()
    }

    fn failure(&self, account: &Account, reason: Option<&str>) -> Option<Failure> {
        let root = self.spool.root.display();
        let (given_up, waiting) = (account.given_up.files, account.waiting.files);
        let too_small = "the spool was too small for the time it took";
        let reason = match (waiting, reason) {
            (0, Some(failure)) => format!("{too_small}, and an attempt failed: {failure}"),
            (_, reason) => reason.unwrap_or(too_small).to_owned(),
        };
        let consequence = match (waiting, given_up) {
            (0, 0) => return None,
            (0, 1) => "1 file was given up".to_owned(),
            (0, files) => format!("{files} files were given up"),
            (1, _) => format!("1 file waits in {root}, and the next run uploads it"),
            (files, _) => format!("{files} files wait in {root}, and the next run uploads them"),
        };
        let line = format!(
            "cannot upload all files to {}: {reason} ({consequence})",
            self.url
        );
        Some(Failure::new(Exit::Failed, line))
    }

    /// Reads the counters for Prometheus.
    pub fn counters(&self) -> Counters {
        let queue = Arc::clone(&self.queue);
        Box::new(move || families(&queue.account()))
    }
}

fn families(account: &Account) -> Vec<Family> {
    let outcomes = |uploaded, given_up| {
        [("uploaded", uploaded), ("given_up", given_up)]
            .map(|(outcome, value)| Sample::new([("outcome", outcome)], value))
    };
    let (uploaded, given_up, waiting) = (account.uploaded, account.given_up, account.waiting);
    vec![
        Family::counters(
            "upload_files",
            "Files for object storage, by outcome",
            outcomes(uploaded.files, given_up.files),
        ),
        Family::counters(
            "upload",
            "Bytes of these files",
            outcomes(uploaded.bytes, given_up.bytes),
        )
        .of_bytes(),
        Family::counters(
            "upload_failures",
            "Failed attempts to upload a file",
            [Sample::new([], account.failures)],
        ),
        Family::gauges(
            "spool_files",
            "Files that wait for their upload",
            [Sample::new([], waiting.files)],
        ),
        Family::gauges(
            "spool",
            "Bytes of these files",
            [Sample::new([], waiting.bytes)],
        )
        .of_bytes(),
    ]
}

/// The sandbox of the upload thread.
fn limits_of_thread(spool: &Spool) -> Sandbox {
    let limits = Sandbox::new(&sandbox::UPLOADS)
        .look_names_up(true)
        .write_in(spool.root.clone());
    let limits = environment::ports()
        .into_iter()
        .fold(limits, Sandbox::connect);
    let directories = environment::token_directories().into_iter();
    directories.fold(limits, Sandbox::read)
}

/// The beginning of the keys that a run writes. Rights are often limited to it.
fn prefix(key: &str, has_partitions: bool) -> Option<String> {
    match key {
        "" => None,
        key if has_partitions => Some(format!("{key}/")),
        key => Some(key.to_owned()),
    }
}

/// The directory of this user for data that programs keep between runs.
fn usual_spool() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    match state {
        Some(state) => Ok(state.join("tapline/spool")),
        None => Err(Failure::new(
            Exit::Usage,
            "where are files to wait for their upload? There is no HOME: use --spool DIR",
        )),
    }
}
