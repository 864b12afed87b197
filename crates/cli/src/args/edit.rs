//! Flags of `tapline read` that change packets and blocks of a copy.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::values::units;

/// Default of `--split-files`.
const SPLIT_FILES: NonZeroUsize = NonZeroUsize::new(10_000).expect("more than 0");

#[derive(Args, Clone, Debug, Default)]
pub struct EditArgs {
    /// Add a comment to the file; can be repeated
    #[arg(
        hide_short_help = true,
        long,
        value_name = "TEXT",
        requires = "write",
        help_heading = "Editing"
    )]
    pub comment: Vec<String>,

    /// Add a comment to packet N of those written, from 1; can be repeated
    #[arg(hide_short_help = true, long, value_name = "N:TEXT", requires = "write", value_parser = packet_comment, help_heading = "Editing")]
    pub packet_comment: Vec<(u64, String)>,

    /// Leave out comments, TLS secrets or resolved names; separate several by commas
    #[arg(
        hide_short_help = true,
        long,
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        requires = "write",
        help_heading = "Editing"
    )]
    pub strip: Vec<Stripped>,

    /// Add this time to all time stamps, for example 1h, -0.5s
    #[arg(hide_short_help = true, long, value_name = "TIME", requires = "write", allow_hyphen_values = true, value_parser = shift, help_heading = "Editing")]
    pub shift: Option<i64>,

    /// Sort packets by time, with SIZE memory for packets that wait for earlier ones [default: 256M]
    ///
    /// A packet that is read after later packets were written stays out of order, and the exit status is 1. The packets of each
    /// section of a file are sorted separately.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "SIZE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "256M",
        requires = "write",
        value_parser = units::nonzero_size,
        help_heading = "Editing"
    )]
    pub sort: Option<NonZeroU64>,

    /// Leave out packets with the same bytes as one of the previous N packets [default: 4], or of those within TIME before
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N|TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "4",
        requires = "write",
        value_parser = count_or_time,
        help_heading = "Editing"
    )]
    pub dedup: Option<CountOrTime>,

    /// Start a new file after N packets, or a TIME after the first packet of a file; or write a file for each flow
    ///
    /// The file of a flow has both directions. Its name is that of the output with a number, the protocol, addresses and
    /// ports. Packets without a flow, and those of flows beyond --split-files, go to file number 0.
    #[arg(hide_short_help = true, long, value_name = "N|TIME|flow", requires = "write", value_parser = split, conflicts_with_all = ["rotate_packets", "rotate_interval"], help_heading = "Editing")]
    pub split: Option<FileSplit>,

    /// Write files for at most N flows with --split flow [default: 10000]
    ///
    /// Packets of further flows go to file number 0, and the summary counts them.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        requires = "split",
        help_heading = "Editing"
    )]
    pub split_files: Option<NonZeroUsize>,

    /// Add the TLS secrets in FILE, an SSLKEYLOGFILE, so that Wireshark decrypts the packets
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        requires = "write",
        help_heading = "Editing"
    )]
    pub inject_secrets: Option<PathBuf>,

    /// Replace addresses and cut payloads, with the key in FILE (64 hexadecimal digits) [default: a random key]
    ///
    /// IP addresses keep common prefixes (Crypto-PAn). Headers stay, up to TCP, UDP and ICMP; what follows is cut
    /// off. Comments, names, secrets and other text are removed.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        requires = "write",
        conflicts_with = "inject_secrets",
        help_heading = "Editing"
    )]
    #[allow(
        clippy::option_option,
        reason = "the flag without a file means a random key"
    )]
    pub anonymize: Option<Option<PathBuf>>,
}

impl EditArgs {
    /// Flows that get a file.
    pub fn split_files(&self) -> NonZeroUsize {
        self.split_files.unwrap_or(SPLIT_FILES)
    }
}

/// What is left out of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stripped {
    /// Comments of sections, interfaces, packets and statistics
    Comments,
    /// Decryption secrets
    Secrets,
    /// Resolved names
    Names,
}

/// A number of packets, or a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountOrTime {
    Count(u64),
    Time(Duration),
}

/// What a file of a copy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSplit {
    By(CountOrTime),
    Flow,
}

fn split(text: &str) -> Result<FileSplit, String> {
    match text {
        "flow" => Ok(FileSplit::Flow),
        _ => count_or_time(text).map(FileSplit::By),
    }
}

fn count_or_time(text: &str) -> Result<CountOrTime, String> {
    match text.parse() {
        Ok(0) => Err("0 is too small".into()),
        Ok(count) => Ok(CountOrTime::Count(count)),
        Err(_) => units::nonzero_time(text).map(CountOrTime::Time),
    }
}

fn packet_comment(text: &str) -> Result<(u64, String), String> {
    let (number, comment) = text.split_once(':').ok_or("write NUMBER:TEXT")?;
    match number.parse() {
        Ok(number @ 1..) => Ok((number, comment.to_owned())),
        _ => Err("packets are numbered from 1".into()),
    }
}

fn shift(text: &str) -> Result<i64, String> {
    let (sign, time) = match text.strip_prefix('-') {
        Some(time) => (-1, time),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let time = units::nonzero_time(time)?;
    let ns = i64::try_from(time.as_nanos()).map_err(|_| "the time is too long")?;
    Ok(sign * ns)
}
