//! When a file ends, and the name of the next one.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::options::Rotation;

/// The remaining budget of the current file.
#[derive(Debug)]
pub(super) struct Budget {
    rules: Rotation,
    /// The size on disk is known only after compression: then packets do not reduce `bytes`.
    compressed: bool,
    interval: Interval,
    packets: u64,
    bytes: u64,
}

/// The time range of a file, in nanoseconds since 1970 UTC, including the last one.
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
    /// The budget of a file that starts at `now_ns` and already contains `spent` bytes.
    pub(super) fn new(rules: Rotation, compressed: bool, now_ns: u64, spent: u64) -> Self {
        let interval = rules.interval_ns.map_or(Interval::ALWAYS, |length| {
            let start_ns = aligned(now_ns, length, rules.interval_offset_ns);
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

    /// Whether a packet with this time and encoded length belongs to the next file.
    #[inline]
    pub(super) fn is_over(&self, time_ns: u64, length: usize) -> bool {
        self.packets == 0 || self.bytes < length as u64 || self.is_past(time_ns)
    }

    /// Whether the file's interval has ended by `time_ns`.
    #[inline]
    pub(super) fn is_past(&self, time_ns: u64) -> bool {
        time_ns > self.interval.last_ns
    }

    /// Whether the file's interval has ended at `now_ns`, or the clock was set back by more than one.
    pub(super) fn is_over_at(&self, now_ns: u64) -> bool {
        let length = self.rules.interval_ns.map_or(u64::MAX, u64::from);
        self.is_past(now_ns) || now_ns.saturating_add(length) < self.interval.start_ns
    }

    /// Accounts for a packet of this encoded length.
    #[inline]
    pub(super) fn spend(&mut self, length: usize) {
        self.packets -= 1;
        self.reserve(length as u64);
    }

    /// Reserves bytes for something other than packets.
    #[inline]
    pub(super) fn reserve(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Accounts for the size on disk.
    pub(super) fn settle(&mut self, bytes: u64) {
        if self.compressed && self.rules.bytes.is_some_and(|limit| bytes >= limit.get()) {
            self.bytes = 0;
        }
    }

    /// The start of the next file if a packet of `time_ns` ends this one: the start of the packet's
    /// interval, or a time within this one.
    pub(super) fn next_start(&self, time_ns: u64) -> u64 {
        if self.is_past(time_ns) {
            self.interval_start(time_ns)
        } else {
            time_ns.max(self.interval.start_ns)
        }
    }

    /// The start of the interval that contains `time_ns`.
    pub(super) fn interval_start(&self, time_ns: u64) -> u64 {
        match self.rules.interval_ns {
            Some(length) => aligned(time_ns, length, self.rules.interval_offset_ns),
            None => time_ns,
        }
    }
}

/// The last start of an interval at or before `time_ns`.
fn aligned(time_ns: u64, length: NonZeroU64, offset_ns: u64) -> u64 {
    let offset_ns = offset_ns % length;
    match time_ns.checked_sub(offset_ns) {
        Some(since) => since / length * length.get() + offset_ns,
        None => 0,
    }
}

/// `path`, with the suffix `.zst` if `compressed`.
pub(super) fn plain_name(path: &Path, compressed: bool) -> PathBuf {
    let has_suffix = path.extension().is_some_and(|extension| extension == "zst");
    let mut name = path.as_os_str().to_owned();
    if compressed && !has_suffix {
        name.push(".zst");
    }
    name.into()
}

/// The name of file `number`, started at `start_ns`: `stem_00001_20261121071500.pcapng`.
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

/// The time zone in which files are named.
pub(super) fn local_zone() -> &'static TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(TimeZone::system)
}

/// Reads the time zone by which files of a rotation are named, unless this process has read it: it does so once. A program that
/// restricts the files it can open calls this before; otherwise the first file does it.
pub fn read_time_zone() {
    local_zone();
}

fn local_time(time_ns: u64, zone: &TimeZone) -> String {
    // A u64 of nanoseconds is before the year 2555, in the range of Timestamp.
    let time = Timestamp::from_nanosecond(i128::from(time_ns)).unwrap_or_default();
    time.to_zoned(zone.clone())
        .strftime("%Y%m%d%H%M%S")
        .to_string()
}

#[cfg(test)]
mod tests;
