//! What lines show.

use jiff::tz::TimeZone;

use crate::args::PrintArgs;
use crate::output::paint::Paint;

/// The format of text lines.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct LineOptions {
    /// How the time is shown.
    pub time: TimeStyle,
    /// Fraction digits of the time, at most 9.
    pub fraction_digits: u32,
    /// The time zone of the time of day. `None`: that of the system.
    pub time_zone: Option<TimeZone>,
    /// Show the number of the packet.
    pub number: bool,
    /// Show the link-layer header.
    pub link_header: bool,
    /// Addresses, protocol and length only.
    pub brief: bool,
    /// 1: also the IP header and wrong checksums; 2: also all records of DNS.
    pub verbosity: u8,
    /// The bytes below the line.
    pub dump: Option<Dump>,
    /// Show colours.
    pub color: bool,
}

/// How the time of a packet is shown, as tcpdump's `-t` to `-ttttt`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeStyle {
    /// `12:34:56.789012345`.
    #[default]
    TimeOfDay,
    /// Not at all.
    None,
    /// Seconds since 1970.
    Epoch,
    /// Time since the previous packet.
    SincePrevious,
    /// `2026-11-21 12:34:56.789012345`.
    Date,
    /// Time since the first packet.
    SinceFirst,
}

/// The bytes of a packet below its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dump {
    pub form: DumpForm,
    /// Whether the link-layer header is included.
    pub link: bool,
}

/// The form of a dump, as tcpdump's `-x`, `-X` and `-A`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpForm {
    Hex,
    HexAscii,
    Ascii,
}

/// Fraction digits of a nanosecond.
pub const NANOSECOND_DIGITS: u32 = 9;

impl Default for LineOptions {
    /// Nanoseconds, in the time zone of the system, without colours.
    fn default() -> Self {
        Self {
            time: TimeStyle::default(),
            fraction_digits: NANOSECOND_DIGITS,
            time_zone: None,
            number: false,
            link_header: false,
            brief: false,
            verbosity: 0,
            dump: None,
            color: false,
        }
    }
}

impl From<&PrintArgs> for LineOptions {
    /// As the flags say, with colours on a terminal.
    fn from(args: &PrintArgs) -> Self {
        let dump = [
            (args.hex_ascii, DumpForm::HexAscii),
            (args.hex, DumpForm::Hex),
            (args.ascii, DumpForm::Ascii),
        ];
        let dump = dump.into_iter().find(|(count, _)| *count > 0);
        Self {
            time: match args.time {
                0 => TimeStyle::TimeOfDay,
                1 => TimeStyle::None,
                2 => TimeStyle::Epoch,
                3 => TimeStyle::SincePrevious,
                4 => TimeStyle::Date,
                _ => TimeStyle::SinceFirst,
            },
            number: args.number,
            link_header: args.link_header,
            brief: args.brief,
            verbosity: args.verbose,
            dump: dump.map(|(count, form)| Dump {
                form,
                link: count > 1,
            }),
            color: Paint::of_stdout().is_on(),
            ..Self::default()
        }
    }
}
