//! Where packets are written: from flags to a capture file, and what is said of it at the end.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use store::model::{Interface, Section};
use store::write::{CaptureFile, Compression, Format, Options, Output, Rotation};

use crate::args::{FileFormat, OutputArgs};
use crate::failure::{Exit, Failure};
use crate::units::grouped;

/// What standard output is called where a file's name would stand.
pub const STDOUT: &str = "standard output";

pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// An error of standard output that says so.
pub fn named(source: &io::Error) -> io::Error {
    let text = format!("cannot write to {STDOUT}: {source}");
    io::Error::new(source.kind(), text)
}

/// Standard output carries packets or text, not both, and packets not to a terminal.
pub fn refuse_two_on_stdout(args: &OutputArgs, json: bool) -> Result<(), Failure> {
    if !args.write.as_deref().is_some_and(is_stdout) {
        return Ok(());
    }
    let line = if json {
        "packets and JSON cannot both go to standard output (use -w FILE)"
    } else if io::stdout().is_terminal() {
        "packets do not go to a terminal (use -w FILE, or a pipe behind -w -)"
    } else {
        return Ok(());
    };
    Err(Failure::new(Exit::Usage, line))
}

/// What is to be kept is a row of files.
pub fn refuse_keep_alone(args: &OutputArgs) -> Result<(), Failure> {
    if args.keep.is_some() && !rotation(args).is_any() {
        let line = "--keep needs --rotate-size, --rotate-interval or --rotate-packets";
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(())
}

/// Where text for people goes: standard error where standard output carries packets or their lines.
pub fn screen(args: &OutputArgs) -> Box<dyn Write> {
    match &args.write {
        Some(path) if !is_stdout(path) => Box::new(io::stdout()),
        _ => Box::new(io::stderr()),
    }
}

/// What a capture file at `path` is made of. To `section` the program's name is added.
pub fn options(
    args: &OutputArgs,
    path: &Path,
    section: Section,
    interfaces: Vec<Interface>,
) -> io::Result<Options> {
    let output = if is_stdout(path) {
        let descriptor = io::stdout().as_fd().try_clone_to_owned()?;
        Output::Descriptor {
            file: File::from(descriptor),
            name: STDOUT.into(),
        }
    } else {
        Output::Path(path.to_owned())
    };
    let mut options = Options::new(output, interfaces);
    options.format = format(args, path);
    options.section = Section {
        application: options.section.application,
        ..section
    };
    options.compression = args.compress.unwrap_or_else(|| named_compression(path));
    options.rotation = rotation(args);
    Ok(options)
}

/// A name that says zstd means it.
fn named_compression(path: &Path) -> Compression {
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
        packets: args.rotate_packets,
        keep: args.keep,
    }
}

/// The format asked for; a name that says pcap means it, in nanoseconds so that no time is cut.
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
        Some(FileFormat::Pcapng) | None => Format::Pcapng,
    }
}

/// What was written; nothing, if packets were printed.
#[derive(Debug, Default)]
pub struct Written {
    pub packets: u64,
    pub bytes: u64,
    /// The files made and kept, oldest first.
    pub files: Vec<PathBuf>,
}

impl From<&CaptureFile> for Written {
    fn from(file: &CaptureFile) -> Self {
        Self {
            packets: file.packets_written(),
            bytes: file.bytes_written(),
            files: file.files().map(|file| file.path.clone()).collect(),
        }
    }
}

impl Written {
    /// Names of the files, as JSON has them.
    pub fn names(&self) -> Vec<String> {
        let name = |path: &PathBuf| path.to_string_lossy().into_owned();
        self.files.iter().map(name).collect()
    }

    /// One line, if there is a file.
    pub fn tell(&self, out: &mut dyn Write) -> io::Result<()> {
        let (packets, bytes) = (grouped(self.packets), grouped(self.bytes));
        match self.files.as_slice() {
            [] => Ok(()),
            [file] => writeln!(
                out,
                "{packets} packets, {bytes} bytes written to {}",
                file.display()
            ),
            [first, .., last] => writeln!(
                out,
                "{packets} packets, {bytes} bytes written; kept are {} files, {} to {}",
                self.files.len(),
                first.display(),
                last.display()
            ),
        }
    }
}
