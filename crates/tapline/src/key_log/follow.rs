//! A key log that grows while packets are captured.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{LINE_BYTES_MAX, is_secret, secrets};

/// Bytes of a log that are read at a time: what is written at once into a capture file.
const READ_BYTES: usize = 256 << 10;

/// Reads of one call, of which each but the last found no secrets.
const MAX_READS: usize = 64;

/// A key log that programs append to, and from which the new secrets are read again and again.
///
/// It is opened once: one that another file replaces under the same name is not followed. One that is truncated is
/// read from its start again.
#[derive(Debug)]
pub struct FollowedKeys {
    log: File,
    /// Bytes read.
    offset: u64,
    /// A line without its end.
    begun: Vec<u8>,
    /// Whether the rest of a line is skipped that is too long.
    skips: bool,
    counts: KeyLogCounts,
}

/// What was found in a key log, for another thread.
#[derive(Clone, Debug, Default)]
pub struct KeyLogCounts(Arc<[AtomicU64; 2]>);

impl KeyLogCounts {
    /// Secrets so far.
    pub fn secrets(&self) -> u64 {
        // Relaxed: the numbers stand alone.
        self.0[0].load(Ordering::Relaxed)
    }

    /// Lines skipped so far, because they are neither secrets nor comments.
    pub fn ignored_lines(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }

    fn add(&self, which: usize) {
        self.0[which].fetch_add(1, Ordering::Relaxed);
    }
}

impl FollowedKeys {
    /// Opens a log. What is in it already is read, too.
    ///
    /// # Errors
    /// That of open(2), and [`ErrorKind::InvalidInput`] if it is not a regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // A pipe would wait for a writer.
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let log = options.open(path)?;
        if !log.metadata()?.is_file() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "it is not a regular file",
            ));
        }
        Ok(Self {
            log,
            offset: 0,
            begun: Vec::new(),
            skips: false,
            counts: KeyLogCounts::default(),
        })
    }

    /// The counters, which keep changing.
    pub fn counts(&self) -> KeyLogCounts {
        self.counts.clone()
    }

    /// The body of a Decryption Secrets Block with the secrets that were appended since the last call. `None` if there
    /// are none, or if the log cannot be read. They are of at most 256 KiB of the log; what is left is read by the next calls.
    pub fn next_secrets(&mut self) -> Option<Vec<u8>> {
        let length = self.log.metadata().ok()?.len();
        if length < self.offset {
            self.log.rewind().ok()?;
            self.offset = 0;
            self.begun.clear();
            self.skips = false;
        }
        if length == self.offset {
            return None;
        }
        let mut bytes = vec![0; READ_BYTES];
        for _ in 0..MAX_READS {
            let read = self.log.read(&mut bytes).ok()?;
            self.offset += read as u64;
            let lines = self.take(&bytes[..read]);
            if !lines.is_empty() {
                return Some(secrets(&lines));
            }
            if self.offset >= length {
                break;
            }
        }
        None
    }

    /// The secrets among the lines that end in `bytes`.
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut found = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            if !self.skips && self.begun.len() + part.len() <= LINE_BYTES_MAX + 2 {
                self.begun.extend_from_slice(part);
            } else {
                self.skips = true;
            }
            if !is_whole {
                continue;
            }
            let line = self.begun.trim_ascii();
            if self.skips {
                self.counts.add(1);
            } else if is_secret(line) {
                self.counts.add(0);
                found.extend_from_slice(line);
                found.push(b'\n');
            } else if !line.is_empty() && !line.starts_with(b"#") {
                self.counts.add(1);
            }
            self.begun.clear();
            self.skips = false;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn followed() -> (tempfile::NamedTempFile, FollowedKeys) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let keys = FollowedKeys::open(file.path()).expect("a log");
        (file, keys)
    }

    fn text(secrets: Option<Vec<u8>>) -> String {
        let body = secrets.unwrap_or_default();
        let text = body.get(8..).unwrap_or_default();
        String::from_utf8_lossy(text)
            .trim_end_matches('\0')
            .to_owned()
    }

    #[test]
    fn secrets_are_read_when_their_line_is_whole() {
        let (mut file, mut keys) = followed();
        assert_eq!(keys.next_secrets(), None);
        for (written, read) in [
            ("# a comment\n\nCLIENT_RANDOM aa", ""),
            ("bb cc", ""),
            (
                "\r\nEXPORTER_SECRET 01 02\nno secret",
                "CLIENT_RANDOM aabb cc\nEXPORTER_SECRET 01 02\n",
            ),
            ("\n", ""),
        ] {
            file.write_all(written.as_bytes()).expect("written");
            assert_eq!(text(keys.next_secrets()), read);
        }
        let counts = keys.counts();
        assert_eq!((counts.secrets(), counts.ignored_lines()), (2, 1));
    }

    #[test]
    fn a_truncated_log_is_read_again() {
        let (mut file, mut keys) = followed();
        file.write_all(b"CLIENT_RANDOM aa bb\nCLIENT")
            .expect("written");
        assert_eq!(text(keys.next_secrets()), "CLIENT_RANDOM aa bb\n");
        file.as_file().set_len(0).expect("truncated");
        assert_eq!(keys.next_secrets(), None);
        std::fs::write(file.path(), "EXPORTER_SECRET 01 02\n").expect("written");
        assert_eq!(text(keys.next_secrets()), "EXPORTER_SECRET 01 02\n");
    }

    #[test]
    fn long_lines_take_no_memory() {
        let (mut file, mut keys) = followed();
        file.write_all(&vec![b'a'; READ_BYTES + 5])
            .expect("written");
        file.write_all(b"\nCLIENT_RANDOM aa bb\n").expect("written");
        keys.take(&vec![b'a'; READ_BYTES]);
        assert!(keys.begun.len() <= LINE_BYTES_MAX + 2);
        assert_eq!(text(keys.next_secrets()), "CLIENT_RANDOM aa bb\n");
        assert_eq!(keys.counts().ignored_lines(), 1);
    }

    #[test]
    fn only_regular_files_are_followed() {
        let error = FollowedKeys::open(Path::new("/dev/null")).expect_err("no file");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }

    proptest! {
        /// However a log grows, the secrets are those of the whole one.
        #[test]
        fn pieces_do_not_matter(cuts in prop::collection::vec(0_usize..400, 0..8)) {
            let line = |number: usize| match number % 4 {
                0 => format!("CLIENT_RANDOM {number:04x} {}\n", "ab".repeat(number % 50 + 1)),
                1 => "# comment\r\n".to_owned(),
                2 => format!("EXPORTER_SECRET {number:06x} 00\r\n"),
                _ => "neither\n".to_owned(),
            };
            let log: String = (0..12).map(line).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(log.len())).collect();
            cuts.extend([0, log.len()]);
            cuts.sort_unstable();
            let (_, mut whole) = followed();
            let (_, mut pieces) = followed();
            let expected = whole.take(log.as_bytes());
            let found: Vec<u8> = cuts
                .windows(2)
                .flat_map(|ends| pieces.take(&log.as_bytes()[ends[0]..ends[1]]))
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
