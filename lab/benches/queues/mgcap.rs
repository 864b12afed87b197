//! The table that mgcap publishes, in drop mode and without a merge: one and several queues, with and without time stamps.
//!
//! mgcap's stamps are those of its card. No card is here: with stamps, the XDP program reads a clock for each packet;
//! without, the reader stamps the packets that it takes together from an AF_XDP socket.

use ring::TimestampSource;
use tapline::capture::Mode;

use crate::harness::{Column, Report, column};
use crate::rates::{Rig, Way};

const TITLE: &str =
    "mgcap's table: captured in drop mode to /dev/null at full speed, a sender on each CPU";
const ONE: &str = "one reader, kpps";
const TWO: &str = "two readers, kpps";
const COLUMNS: [Column; 6] = [
    column(ONE, 1e3, 0),
    column(TWO, 1e3, 0),
    column("two / one", 1.0, 2),
    column("mgcap, one queue, kpps", 1e3, 0),
    column("mgcap, several, kpps", 1e3, 0),
    column("mgcap, several / one", 1.0, 2),
];

/// mgcap's README, packets per second: frame length, whether with stamps, one queue, several.
const PUBLISHED: [(usize, bool, f64, f64); 4] = [
    (128, false, 5_273_111.0, 8_428_798.0),
    (128, true, 3_872_648.0, 7_858_722.0),
    (256, false, 4_383_530.0, 4_521_520.0),
    (256, true, 2_920_175.0, 4_526_545.0),
];

/// Adds the table.
pub fn measure(report: &mut Report) {
    for (bytes, has_stamps, one, several) in PUBLISHED {
        let stamps = if has_stamps { "with" } else { "without" };
        let name = format!("{bytes} bytes, {stamps} stamps");
        let mut rig = Rig::new(bytes, Mode::Drop);
        for round in report.rounds(&format!("mgcap, {name}")) {
            let timestamps = if has_stamps {
                TimestampSource::Kernel
            } else {
                TimestampSource::Reader
            };
            let mut rates = [0.0; 2];
            let mut all = [1, 2];
            all.rotate_left(round as usize % 2);
            for readers in all {
                let way = Way::drop(readers, timestamps);
                let trial = report.undisturbed("cpu", || rig.trial(way, None));
                rates[readers - 1] = trial.captured_pps();
            }
            let figures = [
                rates[0],
                rates[1],
                rates[1] / rates[0],
                one,
                several,
                several / one,
            ];
            report.table(TITLE, &COLUMNS).add(&name, &figures);
        }
    }
    report.note(
        "mgcap's README has its rates: a 10 GbE card whose line rate is 8446 kpps at 128 bytes and 4529 at 256, Linux \
         4.4. It counts no losses. Here both CPUs send as well, and one reader has to share a CPU with a sender.",
    );
}
