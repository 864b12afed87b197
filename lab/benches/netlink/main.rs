//! Cost of kernel configuration: compares tapline with a raw loop in C, libnl3, the rtnetlink crate and ip(8)
//! processes.
//!
//! `cargo bench -p tapline-lab --bench netlink -- [--rounds N | --quick] [--only PART]` requires root, a C compiler,
//! libnl3 and iproute2. If cargo cannot build rtnetlink, the bench skips it and says so.
//!
//! Everything runs in a temporary namespace. The methods take turns at each task in each round, so that other load on
//! the machine affects all of them equally. Each task starts with the same state of the namespace. Links are of kind
//! `ifb`, which every kernel with network namespaces supports. A link figure is the median of a round. tapline and C on
//! a raw socket are so close that load between two turns matters. The "by turns" tasks therefore take many turns of
//! both, and each goes first equally often.

#![forbid(unsafe_code)]

mod burst;
#[path = "../harness/mod.rs"]
mod harness;
mod ours;
mod peer;
mod task;

use std::process::ExitCode;

use harness::{BenchOptions, Report, column, ratios};
use ours::Way;
use peer::Peers;
use tapline_lab::Net;
use task::{COLUMNS, FIGURE, ROUTES};

const MANY_ROUTES: u32 = 1_000_000;

fn main() -> ExitCode {
    let parts = &["links", "inserts", "dumps", "deletes", "bursts", "stream"];
    harness::run(7, parts, measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let peers = Peers::build();
    for _ in report.rounds("tasks") {
        for task in task::TASKS.iter().filter(|task| options.has(task.part)) {
            let [host, _there] = Net::new().pair();
            task.measure(&peers, &host, report);
        }
        if options.has("bursts") {
            bursts(report);
        }
    }
    for table in report.tables() {
        let names = table.names();
        table.derive(column("to the first", 1.0, 3), |table, name| {
            ratios(table.of(name, FIGURE), table.of(&names[0], FIGURE))
        });
    }
    if let Err(reason) = &peers.rtnetlink {
        report.note(format!(
            "rtnetlink is not here, for it cannot be built: {reason}"
        ));
    }
    if options.has("stream") {
        stream(report);
    }
}

fn bursts(report: &mut Report) {
    for (shown, reader) in [
        ("read afterwards", burst::Reader::Afterwards),
        ("read meanwhile", burst::Reader::Meanwhile),
    ] {
        let [host, _there] = Net::new().pair();
        let ns = burst::settle(&host, ROUTES, reader);
        let title = "a watch after a burst of 100 000 routes, ms";
        report.table(title, &COLUMNS).add(shown, &[ns / 1e6]);
    }
}

/// A million routes, sent as a stream.
fn stream(report: &mut Report) {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let way = Way::Gateway(host.interface().index);
    let insert = ours::route_batch(&mut netlink, MANY_ROUTES, 100, way) / 1e9;
    let [before, most_before] = ours::memory();
    let (count, ns) = ours::each(&mut netlink, 100);
    let [after, most_after] = ours::memory();
    assert_eq!(count, MANY_ROUTES);
    report.note(format!(
        "{MANY_ROUTES} routes: added in {insert:.2} s, read one after another in {:.2} s; memory before {before} \
         KiB (at most {most_before}), after {after} KiB (at most {most_after})",
        ns / 1e9
    ));
}
