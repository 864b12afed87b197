//! The time of a packet.

use jiff::Timestamp;

use super::buffer::Text;
use super::options::{LineOptions, NANOSECOND_DIGITS, TimeStyle};
use crate::values::moment::local_zone;

const SECOND_NS: u64 = 1_000_000_000;

/// Writes times. The text of a second is kept: most packets share it with the packet before.
#[derive(Debug, Default)]
pub struct Clock {
    /// The second of `text`, since 1970.
    second: Option<u64>,
    text: Text,
    /// The times of the previous packet and of the first one.
    previous: Option<u64>,
    first: Option<u64>,
}

impl Clock {
    /// Appends the time and a blank; a packet without a time shows `-`.
    pub fn write(&mut self, out: &mut Text, timestamp_ns: Option<u64>, options: &LineOptions) {
        if options.time == TimeStyle::None {
            return;
        }
        let Some(ns) = timestamp_ns else {
            return out.push_str("- ");
        };
        let base = match options.time {
            TimeStyle::SincePrevious => self.previous.replace(ns),
            TimeStyle::SinceFirst => Some(*self.first.get_or_insert(ns)),
            _ => None,
        };
        match options.time {
            TimeStyle::Epoch => out.number(ns / SECOND_NS),
            TimeStyle::SincePrevious | TimeStyle::SinceFirst => {
                write_span(out, base.unwrap_or(ns), ns, options);
                return out.push(' ');
            }
            _ => {
                self.keep_second(ns, options);
                out.append(&self.text);
            }
        }
        write_fraction(out, ns, options);
        out.push(' ');
    }

    /// Makes `text` that of the second of `ns`. A time zone's offset changes at whole seconds only.
    fn keep_second(&mut self, ns: u64, options: &LineOptions) {
        let second = ns / SECOND_NS;
        if self.second == Some(second) {
            return;
        }
        self.second = Some(second);
        self.text.clear();
        // A u64 of nanoseconds ends in the year 2554, which a Timestamp can hold.
        let time = Timestamp::from_second(second.cast_signed()).unwrap_or_default();
        let zone = options.time_zone.as_ref();
        let time = zone.unwrap_or_else(|| local_zone()).to_datetime(time);
        let text = &mut self.text;
        if options.time == TimeStyle::Date {
            for (part, width, end) in [
                (time.year(), 4, '-'),
                (time.month().into(), 2, '-'),
                (time.day().into(), 2, ' '),
            ] {
                text.zero_padded(part.unsigned_abs().into(), width);
                text.push(end);
            }
        }
        for (part, start) in [
            (time.hour(), ""),
            (time.minute(), ":"),
            (time.second(), ":"),
        ] {
            text.push_str(start);
            text.zero_padded(part.unsigned_abs().into(), 2);
        }
    }
}

/// The time from `from` to `to`, with a sign if it is negative.
fn write_span(out: &mut Text, from: u64, to: u64, options: &LineOptions) {
    if to < from {
        out.push('-');
    }
    let span = to.abs_diff(from);
    let seconds = span / SECOND_NS;
    for (index, part) in [seconds / 3600, seconds / 60 % 60, seconds % 60]
        .into_iter()
        .enumerate()
    {
        out.push_str(if index == 0 { "" } else { ":" });
        out.zero_padded(part, 2);
    }
    write_fraction(out, span, options);
}

fn write_fraction(out: &mut Text, ns: u64, options: &LineOptions) {
    let digits = options.fraction_digits.min(NANOSECOND_DIGITS);
    out.push('.');
    let unit_ns = 10_u64.pow(NANOSECOND_DIGITS - digits);
    out.zero_padded(ns % SECOND_NS / unit_ns, digits as usize);
}
