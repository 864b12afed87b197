//! `--state`: where a sweep continues after an interruption.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tapline::file::output::OpenOutput;
use tapline::ping::machine::RunKey;
use tapline::ping::targets::Targets;
use tapline::ping::{Prober, SweepPosition};
use tempfile::NamedTempFile;

use crate::failure::{Exit, Failure};

/// Time between two writes.
const PERIOD: Duration = Duration::from_secs(5);
const VERSION: u32 = 1;
/// How often another run may replace the file while this one locks it.
const LOCK_ATTEMPTS: usize = 4;
/// More than a state takes.
const MAX_BYTES: u64 = 4096;

/// The contents of the file, as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    version: u32,
    targets: u32,
    /// [`fingerprint`] of the targets.
    fingerprint: u64,
    key: [u64; 2],
    /// Targets that have been pinged.
    ended: u64,
}

/// The file of a run.
#[derive(Debug)]
pub struct SweepState {
    path: PathBuf,
    targets: u32,
    fingerprint: u64,
    written: Instant,
    /// The file, locked for this run.
    lock: File,
}

impl SweepState {
    /// Locks the file, which is made if it does not exist, and reads it. Returns where the run begins; `None` at the start.
    pub fn open(path: &Path, targets: &Targets) -> Result<(Self, Option<SweepPosition>), Failure> {
        let state = Self {
            path: path.to_owned(),
            targets: targets.len(),
            fingerprint: fingerprint(targets),
            written: Instant::now(),
            lock: locked(path)?,
        };
        let mut bytes = Vec::new();
        let read = (&state.lock).take(MAX_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| state.failure("read", &error))?;
        let position = if bytes.is_empty() {
            None
        } else {
            Some(state.parse(&bytes)?)
        };
        Ok((state, position))
    }

    fn parse(&self, text: &[u8]) -> Result<SweepPosition, Failure> {
        let refuse = |why: &str| {
            let line = format!("--state {}: {why}", self.path.display());
            Err(Failure::new(Exit::Usage, line))
        };
        let Ok(found) = serde_json::from_slice::<Contents>(text) else {
            return refuse(
                "this is not the state of a sweep; give another name, or delete the file",
            );
        };
        if found.version != VERSION {
            return refuse(
                "it was written by another version of tapline; delete it to start again",
            );
        }
        let is_same = (found.targets, found.fingerprint) == (self.targets, self.fingerprint);
        if !is_same || found.ended > u64::from(self.targets) {
            return refuse(
                "it is for other targets; give the same ones, or delete it to start again",
            );
        }
        Ok(SweepPosition {
            key: RunKey(found.key),
            ended: found.ended,
        })
    }

    /// Writes the file if that is due.
    pub fn keep(&mut self, prober: &Prober) -> Result<(), Failure> {
        if self.written.elapsed() < PERIOD {
            return Ok(());
        }
        self.write(prober)
    }

    /// Writes the file, or removes it when all targets have been pinged. A crash leaves the file before or after that.
    pub fn write(&mut self, prober: &Prober) -> Result<(), Failure> {
        let written = self.try_write(prober.position());
        self.written = Instant::now();
        written.map_err(|error| self.failure("write", &error))
    }

    fn try_write(&mut self, position: SweepPosition) -> io::Result<()> {
        if position.ended == u64::from(self.targets) {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let contents = Contents {
            version: VERSION,
            targets: self.targets,
            fingerprint: self.fingerprint,
            key: position.key.0,
            ended: position.ended,
        };
        let folder = self.path.parent().filter(|path| path != &Path::new(""));
        let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        serde_json::to_writer(&mut file, &contents)?;
        file.write_all(b"\n")?;
        file.as_file().sync_data()?;
        // Locked before others see it.
        file.as_file().try_lock()?;
        self.lock = file.persist(&self.path)?;
        Ok(())
    }

    fn failure(&self, verb: &str, error: &io::Error) -> Failure {
        failure(&self.path, verb, error)
    }
}

fn failure(path: &Path, verb: &str, error: &io::Error) -> Failure {
    Failure::job_on(format!("cannot {verb} {}", path.display()), error)
}

/// Opens the file with a lock that ends with this process. Another run may replace the file meanwhile.
fn locked(path: &Path) -> Result<File, Failure> {
    for _ in 0..LOCK_ATTEMPTS {
        let file = OpenOutput::create().read().open(path);
        let file = file.map_err(|error| failure(path, "write", &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(error)) => return Err(failure(path, "lock", &error)),
        }
        let number = file.metadata().map(|metadata| metadata.ino()).ok();
        if number.is_some() && fs::metadata(path).map(|metadata| metadata.ino()).ok() == number {
            return Ok(file);
        }
    }
    let line = format!(
        "--state {}: another run uses it; wait for its end, or give another file",
        path.display()
    );
    Err(Failure::new(Exit::Usage, line))
}

/// A number that differs for other targets, or for the same ones in another order: FNV-1a over their addresses, 8 bytes at a
/// time.
///
/// # Source
/// Fowler, Noll, Vo and Eastlake, "The FNV Non-Cryptographic Hash Algorithm", RFC 9923.
fn fingerprint(targets: &Targets) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let addresses = (0..targets.len()).filter_map(|target| targets.address(target));
    addresses.fold(BASIS, |hash, address| {
        let bits = match address {
            std::net::IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
            std::net::IpAddr::V6(address) => address.to_bits(),
        };
        let halves = [(bits >> 64) as u64, bits as u64];
        halves
            .into_iter()
            .fold(hash, |hash, half| (hash ^ half).wrapping_mul(PRIME))
    })
}
