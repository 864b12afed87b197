//! From flags to the library's options.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use filter::classic::Program;
use store::write::{CaptureFile, Format, Options as FileOptions, Output, Rotation};
use tapline::capture::{Capture, Limits, Options};

use crate::args::{BackendChoice, CaptureArgs, Delivery, FileFormat};
use crate::failure::{Exit, Failure};

pub fn options(args: &CaptureArgs) -> Result<Options, Failure> {
    if args.write.as_deref().is_some_and(is_stdout) && args.json {
        let line = "packets and JSON cannot both go to standard output (use -w FILE)";
        return Err(Failure::new(Exit::Usage, line));
    }
    let filter = match &args.bpf {
        Some(path) => Some(program(path)?),
        None => None,
    };
    Ok(Options {
        links: args.interface.clone(),
        filter_text: args
            .bpf
            .as_ref()
            .map(|path| format!("classic BPF, {}", path.display())),
        filter,
        backend: match args.backend {
            BackendChoice::Ring(backend) => Some(backend),
            BackendChoice::Auto | BackendChoice::Unsupported(_) => None,
        },
        promiscuous: !args.no_promisc,
        direction: args.direction,
        snaplen: args.snaplen,
        buffer_bytes: bytes(args.buffer),
        delivery: match args.delivery {
            Delivery::Immediate => ring::Delivery::Immediate,
            Delivery::Batch | Delivery::Adaptive => {
                let min_bytes = bytes(args.min_bytes);
                ring::Delivery::Batch {
                    min_bytes,
                    timeout: args.timeout,
                }
            }
        },
        timestamps: args.timestamp,
        limits: Limits {
            packets: args.count.map(Into::into),
            duration: args.duration,
        },
        tick: args.stats_interval.unwrap_or(Duration::from_secs(1)),
    })
}

fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Reads a filter program in decimal form.
pub fn program(path: &Path) -> Result<Program, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::job_on(format!("cannot read filter file {name}"), &error))?;
    text.parse().map_err(|error: filter::classic::ParseError| {
        let failure = Failure::job_on(format!("filter file {name} is wrong"), &error);
        Failure::new(Exit::Usage, failure.line)
    })
}

pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Makes the capture file.
pub fn file(args: &CaptureArgs, path: &Path, capture: &Capture) -> Result<CaptureFile, Failure> {
    let output = if is_stdout(path) {
        let descriptor = std::io::stdout().as_fd().try_clone_to_owned()?;
        Output::Descriptor {
            file: File::from(descriptor),
            name: "standard output".into(),
        }
    } else {
        Output::Path(path.to_owned())
    };
    let mut options = FileOptions::new(output, capture.interfaces().to_vec());
    options.format = format(args, path);
    options.section.os = Some(Capture::operating_system());
    options.section.hardware = Some(std::env::consts::ARCH.to_owned());
    options.compression = args.compress.unwrap_or_default();
    options.rotation = Rotation {
        bytes: args.rotate_size,
        interval_ns: args
            .rotate_interval
            .and_then(|time| u64::try_from(time.as_nanos()).ok()?.try_into().ok()),
        packets: args.rotate_packets,
        keep: args.keep,
    };
    options.statistics = capture.statistics_source();
    CaptureFile::create(options, abi::clock::realtime_ns()).map_err(|error| Failure::job(&error))
}

/// The format asked for; a name that says pcap means it, in nanoseconds so that no time is cut.
fn format(args: &CaptureArgs, path: &Path) -> Format {
    let named_pcap = path
        .extension()
        .is_some_and(|extension| extension == "pcap");
    match args.format {
        Some(FileFormat::Pcap) => Format::PcapMicros,
        Some(FileFormat::PcapNs) => Format::PcapNanos,
        None if named_pcap => Format::PcapNanos,
        Some(FileFormat::Pcapng) | None => Format::Pcapng,
    }
}
