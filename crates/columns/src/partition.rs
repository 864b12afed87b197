//! Directories `date=/hour=/host=`, which engines read as columns.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Files that are open at the same time, at most. Of more, the one that was written to the longest ago is completed.
pub const OPEN_FILES: usize = 4;

/// Most hours whose rows wait in memory. An hour has no open file until it has enough rows to encode.
pub const MOST_HOURS: usize = 24;

const HOUR_NS: u64 = 3_600_000_000_000;

/// Hive's word for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// An hour of UTC, or none: of rows without a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hour(Option<u64>);

impl Hour {
    pub fn of(time_ns: Option<u64>) -> Self {
        Self(time_ns.map(|ns| ns / HOUR_NS))
    }

    /// The directories of this hour at `host`.
    fn directories(self, host: &str) -> [String; 3] {
        let begin = self.0.and_then(|hour| {
            let seconds = i64::try_from(hour).ok()?.checked_mul(3600)?;
            Timestamp::from_second(seconds).ok()
        });
        let (date, hour) = match begin {
            Some(begin) => {
                let begin = begin.to_zoned(TimeZone::UTC);
                (begin.date().to_string(), format!("{:02}", begin.hour()))
            }
            None => (NULL.into(), NULL.into()),
        };
        [
            format!("date={date}"),
            format!("hour={hour}"),
            format!("host={}", escaped(host)),
        ]
    }
}

/// As Hive writes values: no byte that ends a name or has a meaning in one. An empty host is null.
fn escaped(host: &str) -> String {
    if host.is_empty() {
        return NULL.into();
    }
    let mut text = String::with_capacity(host.len());
    for byte in host.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            text.push(byte.into());
        } else {
            // Writing to a String cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// A new name below `root` for a file of `hour`, in directories that exist then. The error is of the one
/// that cannot be created.
pub fn file(
    root: &Path,
    hour: Hour,
    host: &str,
    now_ns: u64,
    number: u64,
    suffix: &str,
) -> Result<PathBuf, (PathBuf, io::Error)> {
    let mut directory = root.to_owned();
    for name in hour.directories(host) {
        directory.push(name);
        match fs::create_dir(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err((directory, error));
            }
            _ => {}
        }
    }
    // Two runs at the same time have different processes.
    let process = std::process::id();
    directory.push(format!("{now_ns}-{process}-{number}.{suffix}"));
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directories(time_ns: Option<u64>, host: &str) -> String {
        Hour::of(time_ns).directories(host).join("/")
    }

    #[test]
    fn an_hour_is_one_of_utc() {
        // `date --utc --date=@1709251199` is 2024-02-29 23:59:59.
        let last = 1_709_251_199_999_999_999;
        assert_eq!(
            directories(Some(last), "a"),
            "date=2024-02-29/hour=23/host=a"
        );
        assert_eq!(
            directories(Some(last + 1), "a"),
            "date=2024-03-01/hour=00/host=a"
        );
        assert_eq!(
            directories(Some(u64::MAX), "a"),
            "date=2554-07-21/hour=23/host=a"
        );
    }

    #[test]
    fn no_name_leaves_the_directory() {
        let null = NULL;
        assert_eq!(
            directories(None, ""),
            format!("date={null}/hour={null}/host={null}")
        );
        assert!(directories(None, "../a b=%\u{e9}").ends_with("/host=..%2Fa%20b%3D%25%C3%A9"));
    }
}
