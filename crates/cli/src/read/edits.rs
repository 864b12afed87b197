//! The changes to a copy that the flags ask for.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

use tapline::read::{AnonymizationKey, AnonymizationKeyError, DuplicateWindow, Edits, KeyLog};

use crate::args::{CountOrTime, EditArgs, FileSplit, Stripped};
use crate::failure::{Exit, Failure};
use crate::values::units::counted;

/// An option of pcapng holds no more.
const COMMENT_BYTES_MAX: usize = 65_535;

/// Reads the files that the flags name, too: later the sandbox allows no others.
pub fn edits(args: &EditArgs) -> Result<Edits, Failure> {
    let of_file = args.comment.iter().map(|comment| (None, comment));
    let of_packets = args.packet_comment.iter();
    let of_packets = of_packets.map(|(number, comment)| (Some(number), comment));
    let mut comments = of_file.chain(of_packets);
    if let Some((number, long)) = comments.find(|(_, comment)| comment.len() > COMMENT_BYTES_MAX) {
        let flag = match number {
            Some(number) => format!("--packet-comment {number}"),
            None => "--comment".to_owned(),
        };
        let bytes = counted(long.len() as u64, "byte");
        let line = format!(
            "{flag}: a comment of {bytes} is too long (max 65 535 bytes): split it into several"
        );
        return Err(Failure::new(Exit::Usage, line));
    }
    let mut edits = Edits::default();
    edits.section_comments.clone_from(&args.comment);
    for (number, comment) in &args.packet_comment {
        let comments = edits.packet_comments.entry(*number).or_default();
        comments.push(comment.clone());
    }
    edits.strips_comments = args.strip.contains(&Stripped::Comments);
    edits.strips_secrets = args.strip.contains(&Stripped::Secrets);
    edits.strips_names = args.strip.contains(&Stripped::Names);
    edits.shift_ns = args.shift.unwrap_or(0);
    edits.sort_bytes = args.sort;
    edits.duplicates = args.dedup.map(|window| match window {
        CountOrTime::Count(packets) => {
            DuplicateWindow::Packets(usize::try_from(packets).unwrap_or(usize::MAX))
        }
        CountOrTime::Time(time) => {
            DuplicateWindow::Nanoseconds(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
        }
    });
    edits.flow_files_max = (args.split == Some(FileSplit::Flow)).then_some(args.split_files());
    if let Some(FileSplit::By(CountOrTime::Time(time))) = args.split {
        edits.split_ns = u64::try_from(time.as_nanos())
            .ok()
            .and_then(NonZeroU64::new);
    }
    edits.key_log = args.inject_secrets.as_deref().map(key_log).transpose()?;
    let key = args.anonymize.as_ref();
    edits.anonymize = key
        .map(|file| anonymization_key(file.as_deref()))
        .transpose()?;
    Ok(edits)
}

fn anonymization_key(path: Option<&Path>) -> Result<AnonymizationKey, Failure> {
    let Some(path) = path else {
        return AnonymizationKey::random()
            .map_err(|error| Failure::output("cannot make a random key", &error));
    };
    let failure = |error: &dyn std::fmt::Display| {
        let line = format!("cannot read a key from {}: {error}", path.display());
        Failure::new(Exit::Failed, line)
    };
    let text = fs::read_to_string(path).map_err(|error| failure(&error))?;
    text.parse()
        .map_err(|error: AnonymizationKeyError| failure(&error))
}

fn key_log(path: &Path) -> Result<KeyLog, Failure> {
    let failure = |error: &dyn std::fmt::Display| {
        let line = format!("cannot read TLS secrets from {}: {error}", path.display());
        Failure::new(Exit::Failed, line)
    };
    let text = fs::read(path).map_err(|error| failure(&error))?;
    KeyLog::parse(&text).map_err(|error| failure(&error))
}
