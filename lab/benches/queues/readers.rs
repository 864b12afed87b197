//! CPU per packet of one reader and of two while packets arrive, on the rig of [`rates`](crate::rates).
//!
//! It is that of all threads of the capture, with wake-ups, hand-over and merge. Sender and stack are not in it.

use tapline::capture::Mode;

use crate::harness::{Column, Report, column, ratios};
use crate::rates::{Rig, Way};

const TITLE: &str =
    "CPU per packet of a capture to /dev/null, all its threads; senders on both CPUs";
const ONE: &str = "one reader, ns";
const TWO: &str = "two readers, one file, ns";
const FILES: &str = "two readers, two files, ns";
const COLUMNS: [Column; 4] = [
    column(ONE, 1.0, 1),
    column(TWO, 1.0, 1),
    column(FILES, 1.0, 1),
    column("one file, late packets", 1.0, 0),
];

/// Packets per second of each sender, and packets of each.
const SPEEDS: [(Option<u64>, u64); 2] = [(Some(250_000), 500_000), (None, 2_000_000)];

/// Packets of each sender before the measurement.
///
/// They fill all memory that the capture uses, at full speed. Where the hypervisor takes unused memory away, as with free
/// page reporting, a first use costs a millisecond for each MiB: more than everything else of a short capture.
const WARM_UP: u64 = 1_000_000;

/// Adds the table and its targets.
pub fn measure(report: &mut Report) {
    let mut names = Vec::new();
    for bytes in [128, 256] {
        for (rate, count) in SPEEDS {
            let speed = rate.map_or("full speed".to_owned(), |pps| {
                format!("{} kpps", 2 * pps / 1000)
            });
            let name = format!("{bytes} bytes, {speed}");
            let mut rig = Rig::new(bytes, Mode::Mirror);
            for round in report.rounds(&format!("readers, {name}")) {
                let mut figures = [0.0; 4];
                // They take turns to go first.
                let mut ways = [(0, 1, false), (1, 2, true), (2, 2, false)];
                ways.rotate_left(round as usize % 3);
                for (place, readers, is_merged) in ways {
                    let way = Way::packet_rings(readers, is_merged);
                    let trial =
                        report.undisturbed("cpu", || rig.trial_of(way, rate, count, WARM_UP));
                    figures[place] = trial.cpu_ns;
                    figures[3] += trial.late as f64;
                }
                report.table(TITLE, &COLUMNS).add(&name, &figures);
            }
            names.push(name);
        }
    }
    let of = |head| -> Vec<f64> {
        let figures = names.iter().map(|name| report.of(TITLE, name, head));
        figures.collect::<Vec<_>>().concat()
    };
    let [one, files] = [ONE, FILES].map(of);
    report.at_most(
        "two readers with a file each / one reader",
        &ratios(&files, &one),
        1.1,
    );
    report.note(
        "Two readers have no CPUs that are free of the senders here, so their CPU per packet is compared, and no rate. What \
         merging costs is compared by the loss-free rates of one file and of two; its CPU per packet is the difference of \
         the columns.",
    );
}
