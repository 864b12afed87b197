//! From flags to the options of a capture.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tapline::capture::{
    Backend, BusyPoll, Capture, CaptureOptions, DEFAULT_SNAPLEN, FollowedKeys, Limits, Mode,
    TimestampSource, XdpAttachMode,
};
use tapline::file::model::Section;
use tapline::file::write::{CaptureFile, CaptureFileOptions, Compression, Format, WriteError};
use tapline::steering::Setting;
use tapline::{Expression, Filter};

use super::buffer::BufferChoice;
use super::report::progress;
use super::source::{self, Source};
use crate::args::{
    AUTO_BYTES, BATCH_BYTES, BackendChoice, CaptureArgs, Delivery, DeliveryArgs, ModeArgs,
};
use crate::failure::{Exit, Failure, chain, is_closed_output};
use crate::filter::filter_file;
use crate::output;
use tapline::filter::SystemNames;

/// How long the reader of such an interface may be away at 50 000 packets/s: fits the ring.
const HOTPLUG_STALL: Duration = Duration::from_millis(20);

pub fn options(args: &CaptureArgs, buffer: BufferChoice) -> Result<CaptureOptions, Failure> {
    output::refuse_two_on_stdout(&args.output, args.json)?;
    output::refuse_keep_alone(&args.output)?;
    output::refuse_other_compression(&args.output)?;
    output::refuse_columns(&args.output)?;
    refuse_index(args)?;
    refuse_without_xdp(args)?;
    refuse_user(args)?;
    refuse_misplaced(args.delivery, usual(args))?;
    refuse_busy_batches(args)?;
    refuse_misplaced_stall(args)?;
    if args.buffer == Some(0) {
        let line = "--buffer 0 is not a ring size: omit it for the default";
        return Err(Failure::new(Exit::Usage, line));
    }
    refuse_misplaced_linktype(args)?;
    let filter = filter(args)?;
    let program = args.bpf.as_ref();
    let backend = match args.backend {
        BackendChoice::Ring(backend) => Some(backend),
        BackendChoice::Auto => None,
    };
    let busy_poll = args.mode.busy_poll.map(|budget| BusyPoll {
        budget,
        ..BusyPoll::default()
    });
    // As in tcpdump, 0 is the default.
    let snaplen = match args.snaplen {
        0 => DEFAULT_SNAPLEN,
        bytes => bytes,
    };
    Ok(CaptureOptions::default()
        .links(links(args)?)
        .with_filter(filter)
        .filter_text(program.map(|path| format!("classic BPF, {}", path.display())))
        .sampling(args.sample)
        .mode(args.mode.mode)
        .others(args.mode.others.unwrap_or_default())
        .xdp(args.mode.xdp.unwrap_or(XdpAttachMode::NativeOrGeneric))
        .backend(backend)
        .promiscuous(!args.no_promisc && !is_any(args))
        .direction(args.direction)
        .snaplen(snaplen)
        .buffer_bytes(buffer.bytes)
        .delivery(args.delivery.policy(usual(args), default_batch(args)))
        .spin(args.delivery.spin.unwrap_or_else(|| default_spin(args)))
        .busy_poll(busy_poll)
        .stall(args.delivery.stall.or_else(|| default_stall(args)))
        .timestamps(args.timestamp.source)
        .timestamp_fallback(args.timestamp.falls_back)
        .steering(steering(args)?)
        .cooked(is_cooked(args))
        .limits(Limits {
            packets: args.count.map(Into::into),
            duration: args.duration,
        })
        .tick(progress::ticks(args).0))
}

/// The filter of the flags.
pub fn filter(args: &CaptureArgs) -> Result<Option<Filter>, Failure> {
    if let Some(path) = &args.bpf {
        return Ok(Some(filter_file::program(path)?.into()));
    }
    let text = match &args.filter_file {
        Some(path) => Some(filter_file::expression(path)?),
        None => (!args.filter.is_empty()).then(|| args.filter.join(" ")),
    };
    Ok(text.map(|text| Expression::new(text, Arc::new(SystemNames::new())).into()))
}

/// The settings of the interfaces' devices.
fn steering(args: &CaptureArgs) -> Result<Vec<Setting>, Failure> {
    if !args.ethtool.is_empty() && (is_any(args) || !args.netns.is_empty()) {
        let line =
            "--ethtool changes named interfaces: it goes neither with -i any nor with --netns";
        return Err(Failure::new(Exit::Usage, line));
    }
    let settings = args.ethtool.iter();
    Ok(settings.flat_map(|several| several.0.clone()).collect())
}

/// The names of the interfaces; none for every interface.
fn links(args: &CaptureArgs) -> Result<Vec<String>, Failure> {
    if !is_any(args) {
        return Ok(args.interface.clone());
    }
    if args.interface.len() > 1 {
        let line = "-i any is every interface: give it alone";
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(Vec::new())
}

fn is_any(args: &CaptureArgs) -> bool {
    args.interface.iter().any(|name| name == source::ANY)
}

/// The default delivery: batches into a file, which cost less; adaptive to a pipe or a screen, which
/// somebody watches.
fn usual(args: &CaptureArgs) -> Delivery {
    if args.mode.busy_poll.is_some() {
        // A reader that runs the driver must not sleep until a batch has gathered.
        return Delivery::Adaptive;
    }
    let is_batch = args.delivery.min_bytes.is_some() || args.delivery.timeout.is_some();
    // The sooner a packet is read, the more sockets are still open.
    let is_file = is_into_file(args) && !args.who;
    if is_batch || args.mode.mode == Mode::Drop || is_file {
        Delivery::Batch
    } else {
        Delivery::Adaptive
    }
}

fn is_into_file(args: &CaptureArgs) -> bool {
    let path = args.output.write.as_ref();
    path.is_some_and(|path| !output::is_stdout(path))
}

/// The default spin time: a busy-polled driver has to be run often.
fn default_spin(args: &CaptureArgs) -> Duration {
    match args.mode.busy_poll {
        Some(_) => Duration::from_millis(1),
        None => Duration::ZERO,
    }
}

/// Rejects busy polling with batches: a reader that sleeps until a batch has gathered runs no driver.
fn refuse_busy_batches(args: &CaptureArgs) -> Result<(), Failure> {
    if args.mode.busy_poll.is_some() && args.delivery.delivery == Some(Delivery::Batch) {
        let line = "--busy-poll needs --delivery adaptive or immediate";
        return Err(Failure::new(Exit::Usage, line.to_owned()));
    }
    Ok(())
}

/// Rejects `--stall` where the buffer size alone determines how long the reader may be away.
fn refuse_misplaced_stall(args: &CaptureArgs) -> Result<(), Failure> {
    let of_xdp = |backend| matches!(backend, Backend::Xdp | Backend::XdpRingbuf);
    let is_xdp = matches!(args.backend, BackendChoice::Ring(backend) if of_xdp(backend));
    if args.delivery.stall.is_some() && (args.mode.mode == Mode::Drop || is_xdp) {
        let line = "--stall needs a packet ring; of --mode drop and xdp-ringbuf --buffer decides";
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(())
}

/// Rejects flags that have no effect with the selected delivery.
pub fn refuse_misplaced(args: DeliveryArgs, usual: Delivery) -> Result<(), Failure> {
    let Some((flag, delivery)) = args.misplaced(usual) else {
        return Ok(());
    };
    let line = format!("{flag} needs --delivery {delivery}");
    Err(Failure::new(Exit::Usage, line))
}

/// The default size and time of a batch. A file can wait: with a longer time each block of the ring holds more of
/// sparse traffic, and the ring survives longer pauses of the disk. A batch is as large as the ring allows, since a
/// wake-up by timer can cost as much as a thousand packets.
fn default_batch(args: &CaptureArgs) -> (usize, Duration) {
    if is_into_file(args) {
        (AUTO_BYTES, Duration::from_millis(100))
    } else {
        (BATCH_BYTES, Duration::from_millis(10))
    }
}

/// The ring of an interface that comes and goes does not grow: there may be hundreds.
fn default_stall(args: &CaptureArgs) -> Option<Duration> {
    is_hotplug(args).then_some(HOTPLUG_STALL)
}

fn is_hotplug(args: &CaptureArgs) -> bool {
    source::namespaces(&args.netns, &args.interface).is_some()
}

/// Whether the packets of all interfaces have one link type: a pcap file can have no other.
fn is_cooked(args: &CaptureArgs) -> bool {
    let path = args.output.write.as_ref();
    let format = path.map(|path| output::format(&args.output, path));
    let is_pcap = format.is_some_and(|format| format != Format::Pcapng);
    is_hotplug(args) && (args.linktype.is_some() || is_pcap)
}

fn refuse_misplaced_linktype(args: &CaptureArgs) -> Result<(), Failure> {
    if args.linktype.is_some() && !is_hotplug(args) {
        let line = "-y LINUX_SLL2 needs -i any or --netns";
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(())
}

/// Rejects flags for XDP programs where there is none.
fn refuse_without_xdp(args: &CaptureArgs) -> Result<(), Failure> {
    let ModeArgs {
        mode,
        others,
        xdp,
        busy_poll,
    } = args.mode;
    let copies = args.backend == BackendChoice::Ring(Backend::XdpRingbuf);
    let line = match (mode, others, xdp) {
        (Mode::Drop, _, _) => return Ok(()),
        _ if busy_poll.is_some() => "--busy-poll needs --mode drop",
        (_, Some(_), _) => "--others needs --mode drop",
        (_, None, Some(_)) if !copies => "--xdp needs --mode drop or --backend xdp-ringbuf",
        _ => return Ok(()),
    };
    Err(Failure::new(Exit::Usage, line))
}

/// Creates the capture file, which gets the secrets of `keys`.
pub fn file(
    args: &CaptureArgs,
    path: &Path,
    capture: &Source,
    keys: Option<FollowedKeys>,
) -> Result<CaptureFile, Failure> {
    let interfaces = capture.interfaces().to_vec();
    let mut options = output::options(&args.output, path, Section::default(), interfaces)?;
    options.index = args.index;
    if let Some(mut keys) = keys {
        options.secrets = Some(Box::new(move || keys.next_secrets()));
    }
    create(options, capture)
}

/// Rejects indexes of files that have no offsets.
fn refuse_index(args: &CaptureArgs) -> Result<(), Failure> {
    let Some(path) = args.output.write.as_deref().filter(|_| args.index) else {
        return Ok(());
    };
    let line = if output::is_stdout(path) {
        "--index needs -w FILE: standard output cannot be indexed"
    } else if output::compression(&args.output, path) != Compression::None {
        "--index needs files without compression, because offsets in a compressed file lead nowhere"
    } else {
        return Ok(());
    };
    Err(Failure::new(Exit::Usage, line))
}

/// Opens the key log that is followed.
pub fn keys(args: &CaptureArgs) -> Result<Option<FollowedKeys>, Failure> {
    let Some(log) = &args.keylog else {
        return Ok(None);
    };
    let path = args.output.write.as_deref();
    let line = match path.map(|path| output::format(&args.output, path)) {
        Some(Format::Pcapng) => None,
        _ => Some("--keylog needs a pcapng file: pcap cannot hold secrets"),
    };
    let line = line.or_else(|| {
        let is_many = super::readers::files::has_files(args);
        is_many.then_some("--keylog goes into one file, not into one for each reader")
    });
    if let Some(line) = line {
        return Err(Failure::new(Exit::Usage, line));
    }
    FollowedKeys::open(log).map(Some).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => " (create it first, as the user whose program writes to it)",
            _ => "",
        };
        let log = log.display();
        Failure::new(
            Exit::Failed,
            format!("cannot follow the key log {log}: {error}{hint}"),
        )
    })
}

/// Creates a capture file with the machine and the statistics of `capture`.
pub fn create(mut options: CaptureFileOptions, capture: &Source) -> Result<CaptureFile, Failure> {
    options.section.os = Some(Capture::operating_system());
    options.section.hardware = Some(std::env::consts::ARCH.to_owned());
    options.statistics = capture.statistics_source();
    // Those of several readers, and of the interface.
    let readers = u32::try_from(capture.readers().len()).unwrap_or(u32::MAX);
    options.statistics_blocks = if readers > 1 { readers + 1 } else { 1 };
    CaptureFile::create(options, crate::values::moment::now_ns()).map_err(|error| match error {
        WriteError::CannotRotate
        | WriteError::CannotIndex { .. }
        | WriteError::LinkTypeDiffers { .. } => Failure::new(Exit::Usage, chain(&error)),
        error if is_closed_output(&error) => Failure::closed(),
        error => Failure::job(&error),
    })
}

/// Rejects `-r`, which other programs read files with.
pub fn refuse_file(args: &CaptureArgs) -> Result<(), Failure> {
    let Some(file) = &args.read_file else {
        return Ok(());
    };
    let file = file.display();
    let line = format!("'tapline capture' reads interfaces, not files: use 'tapline read {file}'");
    Err(Failure::new(Exit::Usage, line))
}

/// Rejects `--user` beside flags whose settings only root restores.
fn refuse_user(args: &CaptureArgs) -> Result<(), Failure> {
    let is_hardware = args.timestamp.source == TimestampSource::Hardware;
    let restored = [
        (!args.ethtool.is_empty(), "--ethtool"),
        (args.readers.cpus.is_some(), "--cpus"),
        (args.own_sockets, "--own-sockets"),
        (is_hardware, "--timestamp of a device"),
    ];
    let flag = restored.iter().find(|(is_given, _)| *is_given);
    if let (Some(_), Some((_, flag))) = (&args.user.user, flag) {
        let line = format!("--user cannot be used with {flag}, which is undone as root at the end");
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(())
}
