//! From flags to the library's options.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ring::BusyPoll;
use store::model::Section;
use store::write::{CaptureFile, WriteError};
use tapline::capture::{
    Backend, Capture, DROP_BUFFER_BYTES, Expression, Filter, Limits, Mode, Options, XdpPlace,
};

use super::progress;
use crate::args::{BackendChoice, CaptureArgs, Delivery, DeliveryArgs, ModeArgs};
use crate::failure::{Exit, Failure, chain};
use crate::names::System;
use crate::{filter_file, output};

pub fn options(args: &CaptureArgs) -> Result<Options, Failure> {
    output::refuse_two_on_stdout(&args.output, args.json)?;
    output::refuse_keep_alone(&args.output)?;
    refuse_without_xdp(args)?;
    refuse_misplaced(args.delivery, usual(args))?;
    refuse_busy_batches(args)?;
    refuse_misplaced_stall(args)?;
    let text = match &args.filter_file {
        Some(path) => Some(filter_file::expression(path)?),
        None => (!args.filter.is_empty()).then(|| args.filter.join(" ")),
    };
    let expression = |text| {
        Filter::Expression(Expression {
            text,
            names: Arc::new(System::new()),
        })
    };
    let filter = match &args.bpf {
        Some(path) => Some(filter_file::program(path)?.into()),
        None => text.map(expression),
    };
    Ok(Options {
        links: args.interface.clone(),
        filter_text: args
            .bpf
            .as_ref()
            .map(|path| format!("classic BPF, {}", path.display())),
        filter,
        sampling: args.sample,
        mode: args.mode.mode,
        others: args.mode.others.unwrap_or_default(),
        xdp: args.mode.xdp.unwrap_or(XdpPlace::NativeOrGeneric),
        backend: match args.backend {
            BackendChoice::Ring(backend) => Some(backend),
            BackendChoice::Auto => None,
        },
        promiscuous: !args.no_promisc,
        direction: args.direction,
        // As in tcpdump, 0 stands for the default.
        snaplen: match args.snaplen {
            0 => ring::DEFAULT_SNAPLEN,
            bytes => bytes,
        },
        buffer_bytes: args.buffer.map_or_else(|| default_buffer(args), bytes),
        delivery: args.delivery.policy(usual(args), default_timeout(args)),
        spin: args.delivery.spin.unwrap_or_else(|| default_spin(args)),
        busy_poll: args.mode.busy_poll.map(|budget| BusyPoll {
            budget,
            ..BusyPoll::default()
        }),
        stall: args.delivery.stall,
        timestamps: args.timestamp,
        limits: Limits {
            packets: args.count.map(Into::into),
            duration: args.duration,
        },
        tick: progress::ticks(args).0,
    })
}

/// The delivery if none was asked for. A file gains nothing from being early, and batches cost it less;
/// somebody watches a pipe or a screen.
fn usual(args: &CaptureArgs) -> Delivery {
    if args.mode.busy_poll.is_some() {
        // Who runs the driver does not sleep until a batch is there.
        return Delivery::Adaptive;
    }
    let is_batch = args.delivery.min_bytes.is_some() || args.delivery.timeout.is_some();
    if is_batch || args.mode.mode == Mode::Drop || is_into_file(args) {
        Delivery::Batch
    } else {
        Delivery::Adaptive
    }
}

fn is_into_file(args: &CaptureArgs) -> bool {
    let path = args.output.write.as_ref();
    path.is_some_and(|path| !output::is_stdout(path))
}

/// How long the reader spins if nothing is said: a driver that it runs is to be run again soon.
fn default_spin(args: &CaptureArgs) -> Duration {
    match args.mode.busy_poll {
        Some(_) => Duration::from_millis(1),
        None => Duration::ZERO,
    }
}

/// A reader that sleeps until a batch is there runs no driver.
fn refuse_busy_batches(args: &CaptureArgs) -> Result<(), Failure> {
    if args.mode.busy_poll.is_some() && args.delivery.delivery == Some(Delivery::Batch) {
        let line = "--busy-poll needs --delivery adaptive or immediate";
        return Err(Failure::new(Exit::Usage, line.to_owned()));
    }
    Ok(())
}

/// How many packets wait elsewhere while the reader is away, the buffer alone decides.
fn refuse_misplaced_stall(args: &CaptureArgs) -> Result<(), Failure> {
    let of_xdp = |backend| matches!(backend, Backend::Xdp | Backend::XdpRingbuf);
    let is_xdp = matches!(args.backend, BackendChoice::Ring(backend) if of_xdp(backend));
    if args.delivery.stall.is_some() && (args.mode.mode == Mode::Drop || is_xdp) {
        let line = "--stall needs a packet ring; of --mode drop and xdp-ringbuf --buffer decides";
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(())
}

/// A flag of one delivery has no effect with another.
pub fn refuse_misplaced(args: DeliveryArgs, usual: Delivery) -> Result<(), Failure> {
    let Some((flag, delivery)) = args.misplaced(usual) else {
        return Ok(());
    };
    let line = format!("{flag} needs --delivery {delivery}");
    Err(Failure::new(Exit::Usage, line))
}

/// A file can wait; a longer time then means that each block of the ring holds more of sparse traffic, and
/// the ring more of a pause of the disk.
fn default_timeout(args: &CaptureArgs) -> Duration {
    if is_into_file(args) {
        Duration::from_millis(100)
    } else {
        Duration::from_millis(10)
    }
}

fn default_buffer(args: &CaptureArgs) -> usize {
    match args.mode.mode {
        Mode::Drop => DROP_BUFFER_BYTES,
        _ => Options::default().buffer_bytes,
    }
}

/// Flags that say something only of XDP programs.
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

fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Makes the capture file.
pub fn file(args: &CaptureArgs, path: &Path, capture: &Capture) -> Result<CaptureFile, Failure> {
    let section = Section {
        os: Some(Capture::operating_system()),
        hardware: Some(std::env::consts::ARCH.to_owned()),
        ..Section::default()
    };
    let mut options = output::options(&args.output, path, section, capture.interfaces().to_vec())?;
    options.statistics = capture.statistics_source();
    CaptureFile::create(options, abi::clock::realtime_ns()).map_err(|error| match error {
        WriteError::CannotRotate | WriteError::LinkTypeDiffers { .. } => {
            Failure::new(Exit::Usage, chain(&error))
        }
        error => Failure::job(&error),
    })
}
