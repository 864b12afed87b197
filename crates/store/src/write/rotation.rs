//! When a file ends, and what the next is called.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::options::Rotation;

/// What is left of the file that is being written.
#[derive(Debug)]
pub(super) struct Budget {
    rules: Rotation,
    /// Size on disk is known only after compression: then packets do not use up `bytes`.
    compressed: bool,
    interval: Interval,
    packets: u64,
    bytes: u64,
}

/// The part of time that belongs to a file, nanoseconds since 1970 UTC, its last one included.
#[derive(Clone, Copy, Debug)]
struct Interval {
    start_ns: u64,
    last_ns: u64,
}

impl Interval {
    const ALWAYS: Self = Self {
        start_ns: 0,
        last_ns: u64::MAX,
    };
}

impl Budget {
    /// The budget of a file that begins at `now_ns` and in which `spent` bytes are taken.
    pub(super) fn new(rules: Rotation, compressed: bool, now_ns: u64, spent: u64) -> Self {
        let interval = rules.interval_ns.map_or(Interval::ALWAYS, |length| {
            let start_ns = now_ns / length * length.get();
            let last_ns = start_ns.saturating_add(length.get() - 1);
            Interval { start_ns, last_ns }
        });
        let bytes = match rules.bytes {
            Some(bytes) if !compressed => bytes.get().saturating_sub(spent),
            _ => u64::MAX,
        };
        let packets = rules.packets.map_or(u64::MAX, u64::from);
        Self {
            rules,
            compressed,
            interval,
            packets,
            bytes,
        }
    }

    pub(super) fn rules(&self) -> Rotation {
        self.rules
    }

    /// Whether a packet of that time and length in the file belongs to the next file.
    #[inline]
    pub(super) fn is_over(&self, time_ns: u64, length: usize) -> bool {
        self.packets == 0 || self.bytes < length as u64 || self.is_past(time_ns)
    }

    /// Whether the file's interval has ended by `time_ns`.
    #[inline]
    pub(super) fn is_past(&self, time_ns: u64) -> bool {
        time_ns > self.interval.last_ns
    }

    /// Whether the clock says that the file's interval is over, or so far away that the clock has
    /// been set back.
    pub(super) fn is_over_at(&self, now_ns: u64) -> bool {
        let length = self.rules.interval_ns.map_or(u64::MAX, u64::from);
        self.is_past(now_ns) || now_ns.saturating_add(length) < self.interval.start_ns
    }

    /// A packet of that length was added.
    #[inline]
    pub(super) fn spend(&mut self, length: usize) {
        self.packets -= 1;
        self.reserve(length as u64);
    }

    /// So many bytes are no longer there for packets.
    #[inline]
    pub(super) fn reserve(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// The file has `bytes` on disk.
    pub(super) fn settle(&mut self, bytes: u64) {
        if self.compressed && self.rules.bytes.is_some_and(|limit| bytes >= limit.get()) {
            self.bytes = 0;
        }
    }

    /// Where the next file begins if a packet of `time_ns` ends this one: at the beginning of its
    /// interval, or in this interval still.
    pub(super) fn next_start(&self, time_ns: u64) -> u64 {
        if self.is_past(time_ns) {
            self.interval_start(time_ns)
        } else {
            time_ns.max(self.interval.start_ns)
        }
    }

    /// The beginning of the interval that `time_ns` is in.
    pub(super) fn interval_start(&self, time_ns: u64) -> u64 {
        match self.rules.interval_ns {
            Some(length) => time_ns / length * length.get(),
            None => time_ns,
        }
    }
}

/// `path` with `.zst` at its end if `compressed`.
pub(super) fn plain_name(path: &Path, compressed: bool) -> PathBuf {
    let has_suffix = path.extension().is_some_and(|extension| extension == "zst");
    let mut name = path.as_os_str().to_owned();
    if compressed && !has_suffix {
        name.push(".zst");
    }
    name.into()
}

/// The name of file `number`, begun at `start_ns`: `stem_00001_20261121071500.pcapng`.
pub(super) fn numbered_name(
    path: &Path,
    compressed: bool,
    number: u64,
    start_ns: u64,
    zone: &TimeZone,
) -> PathBuf {
    let has_suffix = compressed && path.extension().is_some_and(|extension| extension == "zst");
    let inner = if has_suffix {
        path.with_extension("")
    } else {
        path.to_owned()
    };
    let mut name: OsString = inner.file_stem().unwrap_or_default().to_owned();
    name.push(format!("_{number:05}_{}", local_time(start_ns, zone)));
    if let Some(extension) = inner.extension() {
        name.push(".");
        name.push(extension);
    }
    plain_name(&inner.with_file_name(name), compressed)
}

fn local_time(time_ns: u64, zone: &TimeZone) -> String {
    // Any u64 of nanoseconds is before the year 2555, well inside of what a Timestamp holds.
    let time = Timestamp::from_nanosecond(i128::from(time_ns)).unwrap_or_default();
    time.to_zoned(zone.clone())
        .strftime("%Y%m%d%H%M%S")
        .to_string()
}

#[cfg(test)]
mod tests;
