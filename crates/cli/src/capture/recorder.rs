//! From flags to a flight recorder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use signal_hook::consts::SIGUSR1;
use tapline::Expression;
use tapline::capture::{Capture, ConsumerError, Recorder, RecorderOptions};
use tapline::file::model::Section;

use super::readers::files;
use super::source::{Source, refused};
use crate::args::{CaptureArgs, RecordLimit};
use crate::failure::{Exit, Failure};
use crate::output::{self, Written};
use tapline::filter::SystemNames;

/// A recorder for each reader, with its share of the memory. They trigger together.
pub fn for_readers(
    args: &CaptureArgs,
    limit: RecordLimit,
    path: &Path,
    capture: &Source,
) -> Result<Vec<Recorder>, Failure> {
    let share = RecordLimit {
        bytes: limit.bytes / capture.readers().len().max(1) as u64,
        ..limit
    };
    let paths = files::paths(args, path, capture).into_iter();
    let recorders = paths.map(|path| open(args, share, &path, capture));
    let mut recorders = recorders.collect::<Result<Vec<_>, _>>()?;
    Recorder::trigger_together(&mut recorders);
    Ok(recorders)
}

/// The recorder that writes files named after `path`.
pub fn open(
    args: &CaptureArgs,
    limit: RecordLimit,
    path: &Path,
    capture: &Source,
) -> Result<Recorder, Failure> {
    let suffix = path
        .extension()
        .is_some_and(|extension| extension == "pcapng");
    if !suffix || output::is_stdout(path) {
        let line = "--record needs -w FILE.pcapng, after which its files are named";
        return Err(Failure::new(Exit::Usage, line));
    }
    if capture.is_hotplug() {
        let line = "--record needs interfaces that stay: it is not for -i any or --netns";
        return Err(Failure::new(Exit::Usage, line));
    }
    let names = Arc::new(SystemNames::new());
    let expression = |text: &Option<String>| {
        let text = text.clone()?;
        Some(Expression::new(text, names.clone()))
    };
    let flags = &args.record;
    let (files, base, index) = (args.output.clone(), path.to_owned(), args.index);
    let interfaces = capture.interfaces().to_vec();
    let make = move |number: u64| -> Result<_, ConsumerError> {
        let path = numbered(&base, number);
        let mut options = output::options(&files, &path, Section::default(), interfaces.clone())?;
        options.section.os = Some(Capture::operating_system());
        options.section.hardware = Some(std::env::consts::ARCH.to_owned());
        options.index = index;
        Ok(options)
    };
    let options = RecorderOptions {
        memory_bytes: usize::try_from(limit.bytes).unwrap_or(usize::MAX),
        keep: limit.time,
        after: flags.after.unwrap_or(std::time::Duration::from_secs(1)),
        trigger: expression(&flags.trigger),
        trigger_flow: expression(&flags.trigger_flow),
        trigger_loss: flags.trigger_loss.map(Into::into),
        trigger_rate_pps: flags.trigger_rate.map(Into::into),
        files: Box::new(make),
    };
    let text = flags.trigger.clone().or(flags.trigger_flow.clone());
    let recorder = Recorder::new(options, capture.interfaces());
    let recorder = recorder.map_err(|error| refused(&text.unwrap_or_default(), error))?;
    signal_hook::flag::register(SIGUSR1, recorder.trigger().flag())?;
    Ok(recorder)
}

/// `dir/name.pcapng` becomes `dir/name-trigger-00001.pcapng`.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-trigger-{number:05}.pcapng"));
    path.with_file_name(name)
}

/// What `recorders` wrote.
pub fn written(recorders: &[Recorder]) -> Written {
    Written {
        packets: recorders.iter().map(Recorder::packets_written).sum(),
        bytes: recorders.iter().map(Recorder::bytes_written).sum(),
        files: recorders
            .iter()
            .flat_map(Recorder::files)
            .cloned()
            .collect(),
        refused_flows: Some(recorders.iter().map(Recorder::refused_flows).sum()),
        indexes: files::all_indexes(recorders.iter().filter_map(Recorder::indexes)),
        ..Written::default()
    }
}
