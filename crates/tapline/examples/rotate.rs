//! Captures to pcapng files of 1000 packets each and keeps the last five:
//! `rotate eth0 /var/tmp/trace.pcapng 10` captures for ten seconds.

use std::error::Error;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tapline::Stop;
use tapline::capture::FileConsumer;
use tapline::file::write::{CaptureFile, CaptureFileOptions, Output, Rotation};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = || words.next().ok_or("usage: rotate INTERFACE FILE SECONDS");
    let (interface, path, seconds) = (word()?, PathBuf::from(word()?), word()?.parse()?);

    let duration = Duration::from_secs(seconds);
    let capture = tapline::capture(interface).duration(duration).open()?;
    let mut file = CaptureFileOptions::new(Output::Path(path), capture.interfaces().to_vec());
    // Each file ends with the counters up to then.
    file.statistics = capture.statistics_source();
    file.rotation = Rotation {
        packets: NonZeroU64::new(1000),
        keep: NonZeroUsize::new(5),
        ..Rotation::default()
    };
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
    let file = CaptureFile::create(file, now_ns)?;

    let mut consumer = FileConsumer::new(file, Duration::from_secs(1));
    // `stop.stopper()` would end the capture from another thread or a signal handler.
    let stop = Stop::new()?;
    let summary = capture.run_consumer(&mut consumer, &stop)?;
    for path in consumer.paths() {
        println!("{}", path.display());
    }
    println!("{summary}");
    Ok(())
}
