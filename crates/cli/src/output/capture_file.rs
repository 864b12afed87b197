//! Output files: from flags to a capture file, and the line printed about it at the end.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::thread::CapabilitySet;
use tapline::file::model::{Interface, Section};
use tapline::file::write::{
    CaptureFile, CaptureFileOptions, Compression, Format, IndexCounts, Output, Rotation,
};

use tapline::capture::KeyLogCounts;
use tapline::read::WrittenFiles;
use tapline::who::ProcessCounts;

use crate::args::{ColumnFormat, FileFormat, OutputArgs};
use crate::failure::{Exit, Failure, STDOUT};
use crate::object_storage::ObjectUrl;
use crate::process::privilege;
use crate::screen::printable;
use crate::values::units::{counted, grouped};

pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The capabilities that writing to `path` requires. Standard output is already open.
pub fn needed_capabilities(path: Option<&Path>) -> CapabilitySet {
    match path {
        Some(path) if !is_stdout(path) => privilege::ANY_FILE,
        _ => CapabilitySet::empty(),
    }
}

/// Adds to an error that standard output caused it.
pub fn named(source: &io::Error) -> io::Error {
    let text = format!("cannot write to {STDOUT}: {source}");
    io::Error::new(source.kind(), text)
}

/// Rejects packets and text together on standard output, and packets to a terminal.
pub fn refuse_two_on_stdout(args: &OutputArgs, json: bool) -> Result<(), Failure> {
    if !args.write.as_deref().is_some_and(is_stdout) {
        return Ok(());
    }
    let line = if json {
        "cannot write both packets and JSON to standard output (use -w FILE)"
    } else if io::stdout().is_terminal() {
        "cannot write packets to a terminal (use -w FILE, or pipe -w - into a program)"
    } else {
        return Ok(());
    };
    Err(Failure::new(Exit::Usage, line))
}

/// Rejects `--keep` without rotation.
pub fn refuse_keep_alone(args: &OutputArgs) -> Result<(), Failure> {
    if args.keep.is_some() && !rotation(args).is_any() {
        let line = "--keep needs --rotate-size, --rotate-interval or --rotate-packets";
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(())
}

/// Rejects a name that promises a compression that is not supported, unless a flag says what the file is to be.
pub fn refuse_other_compression(args: &OutputArgs) -> Result<(), Failure> {
    let is_chosen = args.format.is_some() || args.compress.is_some();
    match &args.write {
        Some(path) if !is_chosen => refuse_compressed_name(path),
        _ => Ok(()),
    }
}

/// Rejects a name that promises a compression that is not supported.
pub fn refuse_compressed_name(path: &Path) -> Result<(), Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let compression = match extension {
        Some("gz") => "gzip",
        Some("bz2") => "bzip2",
        Some("xz") => "xz",
        Some("lz4") => "lz4",
        _ => return Ok(()),
    };
    let line = format!(
        "cannot write {}: {compression} is not supported for output (use a name that ends in .zst)",
        path.display()
    );
    Err(Failure::new(Exit::Usage, line))
}

/// Where messages go: standard error if standard output carries packets.
pub fn screen(args: &OutputArgs) -> Box<dyn Write> {
    match &args.write {
        Some(path) if !is_stdout(path) => Box::new(io::stdout()),
        _ => Box::new(io::stderr()),
    }
}

/// Options of the capture file at `path`. The section also gets the program's name.
pub fn options(
    args: &OutputArgs,
    path: &Path,
    section: Section,
    interfaces: Vec<Interface>,
) -> io::Result<CaptureFileOptions> {
    let output = if is_stdout(path) {
        let descriptor = io::stdout().as_fd().try_clone_to_owned()?;
        Output::Descriptor {
            file: File::from(descriptor),
            name: STDOUT.into(),
        }
    } else {
        Output::Path(path.to_owned())
    };
    let mut options = CaptureFileOptions::new(output, interfaces);
    options.format = format(args, path);
    options.section = Section {
        application: options.section.application,
        ..section
    };
    options.compression = compression(args, path);
    options.rotation = rotation(args);
    Ok(options)
}

/// The requested compression, or the one that the file name suggests.
pub fn compression(args: &OutputArgs, path: &Path) -> Compression {
    args.compress.unwrap_or_else(|| compression_by_name(path))
}

/// The compression that the file name suggests.
fn compression_by_name(path: &Path) -> Compression {
    if path.extension().is_some_and(|extension| extension == "zst") {
        Compression::Zstd { level: 3 }
    } else {
        Compression::None
    }
}

pub fn rotation(args: &OutputArgs) -> Rotation {
    Rotation {
        bytes: args.rotate_size,
        interval_ns: args
            .rotate_interval
            .and_then(|time| u64::try_from(time.as_nanos()).ok()?.try_into().ok()),
        interval_offset_ns: 0,
        packets: args.rotate_packets,
        keep: args.keep,
    }
}

/// The requested format, or the one that the file name suggests. pcap has nanoseconds unless requested otherwise.
pub fn format(args: &OutputArgs, path: &Path) -> Format {
    let has_suffix = |path: &Path, suffix| path.extension().is_some_and(|text| text == suffix);
    let named_pcap = if has_suffix(path, "zst") {
        has_suffix(&path.with_extension(""), "pcap")
    } else {
        has_suffix(path, "pcap")
    };
    match args.format {
        Some(FileFormat::Pcap) => Format::PcapMicros,
        Some(FileFormat::PcapNs) => Format::PcapNanos,
        None if named_pcap => Format::PcapNanos,
        _ => Format::Pcapng,
    }
}

/// The format of columns that is requested, or that the file name suggests.
pub fn column_format(args: &OutputArgs) -> Option<ColumnFormat> {
    let path = args.write.as_deref()?;
    match args.format {
        Some(FileFormat::Parquet) => Some(ColumnFormat::Parquet),
        Some(FileFormat::Arrow) => Some(ColumnFormat::Arrow),
        Some(_) => None,
        None => ColumnFormat::by_name(path),
    }
}

/// Rejects object storage for packets: only columns are written there.
pub fn refuse_objects(args: &OutputArgs) -> Result<(), Failure> {
    let line = match args.write.as_deref().and_then(ObjectUrl::parse) {
        None => return Ok(()),
        Some(Err(problem)) => format!("cannot write to a URL: {problem}"),
        Some(Ok(_)) => "object storage takes Parquet and Arrow from 'tapline flows' and 'tapline read' (use a name that ends in .parquet or .arrows, or --partition)".to_owned(),
    };
    Err(Failure::new(Exit::Usage, line))
}

/// Rejects columns, which a command does not write.
pub fn refuse_columns(args: &OutputArgs) -> Result<(), Failure> {
    if column_format(args).is_none() {
        return refuse_objects(args);
    }
    let line = "capture writes pcapng and pcap (use capture -w - | tapline read - -w FILE.parquet, or flows -w FILE.parquet)";
    Err(Failure::new(Exit::Usage, line))
}

/// The files that were written; none if packets were printed.
#[derive(Debug, Default)]
pub struct Written {
    pub packets: u64,
    pub bytes: u64,
    /// The files that rotation kept, oldest first.
    pub files: Vec<PathBuf>,
    /// Packets sent by this host, by whether their process was found, if that was wanted.
    pub processes: Option<ProcessCounts>,
    /// What the key log gave, if one was followed.
    pub keys: Option<KeyLogCounts>,
    /// The indexes beside the files, if they were wanted.
    pub indexes: Option<IndexCounts>,
    /// Of a flight recorder, triggers for flows that were not written because too many others were being written.
    pub refused_flows: Option<u64>,
}

impl From<&WrittenFiles> for Written {
    fn from(files: &WrittenFiles) -> Self {
        Self {
            packets: files.packets,
            bytes: files.bytes,
            files: files.paths.clone(),
            ..Self::default()
        }
    }
}

impl From<&CaptureFile> for Written {
    fn from(file: &CaptureFile) -> Self {
        Self {
            packets: file.packets_written(),
            bytes: file.bytes_written(),
            files: file.files().map(|file| file.path.clone()).collect(),
            ..Self::default()
        }
    }
}

impl Written {
    /// File names for JSON.
    pub fn names(&self) -> Vec<String> {
        let name = |path: &PathBuf| path.to_string_lossy().into_owned();
        self.files.iter().map(name).collect()
    }

    /// The packets whose processes were wanted, for JSON.
    pub fn processes_json(&self) -> serde_json::Value {
        let json = |counts: ProcessCounts| serde_json::json!({"found": counts.found, "unknown": counts.unknown});
        self.processes.map(json).into()
    }

    /// What the key log gave, for JSON.
    pub fn keys_json(&self) -> serde_json::Value {
        let json = |keys: &KeyLogCounts| serde_json::json!({"secrets": keys.secrets(), "ignored_lines": keys.ignored_lines()});
        self.keys.as_ref().map(json).into()
    }

    /// The indexes, for JSON.
    pub fn indexes_json(&self) -> serde_json::Value {
        let json = |indexes: &IndexCounts| serde_json::json!({"files": indexes.complete, "incomplete": indexes.incomplete, "bytes": indexes.bytes, "failure": indexes.failure});
        self.indexes.as_ref().map(json).into()
    }

    /// Prints how much the indexes take, and whether some are incomplete.
    fn print_indexes(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(indexes) = &self.indexes else {
            return Ok(());
        };
        let share = indexes.bytes as f64 * 100.0 / self.bytes.max(1) as f64;
        let bytes = counted(indexes.bytes, "byte");
        write!(out, "{bytes} ({share:.2} %) of indexes written")?;
        match &indexes.failure {
            Some(reason) => writeln!(
                out,
                "; incomplete for {}: {reason} ('tapline index FILES' completes them)",
                counted(indexes.incomplete, "file")
            ),
            None => writeln!(out),
        }
    }

    /// Prints a line about the files, if there are any, and about what else was wanted.
    pub fn print_to(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(counts) = self.processes {
            let (found, all) = (counts.found, counts.found + counts.unknown);
            let (found, all) = (grouped(found), grouped(all));
            writeln!(
                out,
                "processes found of {found} of {all} packets that this host sent"
            )?;
        }
        if let Some(keys) = &self.keys {
            let secrets = counted(keys.secrets(), "TLS secret");
            let ignored = grouped(keys.ignored_lines());
            write!(out, "{secrets} written")?;
            match keys.ignored_lines() {
                0 => writeln!(out)?,
                _ => writeln!(out, "; invalid lines of the key log: {ignored}")?,
            }
        }
        if let Some(refused) = self.refused_flows.filter(|refused| *refused > 0) {
            let triggers = counted(refused, "trigger");
            writeln!(
                out,
                "{triggers} for further flows wrote nothing: 64 flows were being written (a shorter --after ends them sooner)"
            )?;
        }
        self.print_indexes(out)?;
        let packets = counted(self.packets, "packet");
        let bytes = counted(self.bytes, "byte");
        let line = match self.files.as_slice() {
            [] => return Ok(()),
            [file] => format!("{packets}, {bytes} written to {}", file.display()),
            [first, .., last] => format!(
                "{packets}, {bytes} written; {} files kept, {} to {}",
                self.files.len(),
                first.display(),
                last.display()
            ),
        };
        writeln!(out, "{}", printable(&line))
    }
}
