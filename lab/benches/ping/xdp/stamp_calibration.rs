//! Where a packet socket stamps a reply, beside the end of the poll that made it.
//!
//! The raw back end sends and receives socket buffers, so that a packet socket on its interface sees the replies. Both ends have
//! an XDP program, so that the driver does the same work on a reply as for the XDP back end.

use abi::clock::{monotonic_ns, realtime_ns};

use super::driver_stamps::DriverTrace;
use super::far_end::{FarEnd, attach_pass};
use crate::harness::{Column, Report, column};
use crate::rig::{Rig, on_subject_cpu};
use crate::tool::Tool;
use crate::truth::{self, Truth, quantiles};

/// One every millisecond.
const PROBES: usize = 1000;
/// Clock reads, of which the closest together count.
const READS: usize = 1000;

const TITLE: &str = "Packet socket on a reply, after the poll that made it";

const COLUMNS: [Column; 2] = [column("p50, us", 1.0, 2), column("p99", 1.0, 2)];

const ROWS: [(&str, &str); 2] = [
    ("tapline, raw", "10.2.0.1-10.2.3.232"),
    ("tapline, raw, IPv6", "fd00:2::1-fd00:2::3e8"),
];

pub fn measure(rig: &Rig, tool: &Tool, report: &mut Report) {
    let _far_end = FarEnd::Kernel.start(rig, true);
    let _takes = attach_pass(&rig.left);
    for _ in report.rounds("the packet socket's stamp") {
        for (name, targets) in ROWS {
            let arguments = format!(
                "ping --backend raw --json -q -s 16 -c 1 -i {PROBES}ms --gather 0 {targets}"
            );
            let (truth, polls) = truth::at(&rig.left, || {
                let trace = DriverTrace::start_polls();
                on_subject_cpu(|| tool.start(&rig.left, &arguments)).finish();
                trace.finish_polls()
            });
            if truth.len() != PROBES || polls.len() < 2 * PROBES {
                let (replies, polls) = (truth.len(), polls.len());
                report.fail(format!("{name}: {replies} replies, {polls} polls"));
                continue;
            }
            let figures = figures(&truth, polls);
            report.table(TITLE, &COLUMNS).add(name, &figures);
        }
    }
    report.note(
        "Packet socket on a reply: its stamp minus the end of the poll that made the reply (napi_poll), in the raw back end's \
         runs. That is how much later a packet socket would end a round trip than the reference that the verdicts of the XDP \
         back end use.",
    );
}

/// From the end of the last poll before a reply was stamped, which is that of the other interface: that of this one is going on.
fn figures(truth: &Truth, mut polls: Vec<u64>) -> [f64; 2] {
    polls.sort_unstable();
    let offset_ns = realtime_offset_ns();
    let later = truth.values().filter_map(|trip| {
        let stamp_ns = (trip.sent_ns + trip.ns).checked_sub(offset_ns)?;
        let before = polls.partition_point(|poll| *poll <= stamp_ns);
        let poll_ns = polls.get(before.checked_sub(1)?)?;
        Some((stamp_ns - poll_ns) as f64 / 1000.0)
    });
    quantiles(later.collect())
}

/// The real time when the monotonic clock began.
fn realtime_offset_ns() -> u64 {
    let reads = (0..READS).map(|_| {
        let (before, real, after) = (monotonic_ns(), realtime_ns(), monotonic_ns());
        (after - before, real - before.midpoint(after))
    });
    let (_, offset_ns) = reads.min().expect("some");
    offset_ns
}
