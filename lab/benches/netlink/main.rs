//! What configuring the kernel costs: tapline beside a raw loop in C, libnl3, the crate rtnetlink and processes
//! of ip(8).
//!
//! `cargo bench -p tapline-lab --bench netlink -- [--rounds N | --quick] [--only PART]` needs root, a C compiler,
//! libnl3 and iproute2; rtnetlink is left out, and that said, where cargo cannot build it.
//!
//! All happens in a namespace made for it. In each round the methods take turns at each task, so that whatever
//! else the machine does falls on all of them; a task begins with the namespace as it was. Links are of kind
//! `ifb`, which every kernel has that has network namespaces; a figure of links is the median of a round. tapline and C
//! on a bare socket are so near each other that what else the machine does between two turns shows: the tasks "by turns"
//! have many turns of both, and each goes first as often as the other.

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

/// A million routes, handed over one after another.
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
