//! The table of the README: a few figures of the benches, each beside the best other tool.

use super::figures::{Figures, Measurements};

const START: &str = "<!-- figures: written by make bench -->";
const END: &str = "<!-- end of figures -->";

/// A row of the README's table, and where its figures are.
struct Comparison {
    /// What was measured.
    subject: &'static str,
    bench: &'static str,
    /// Title of the bench's table.
    table: &'static str,
    /// Row and column of tapline's figure.
    tapline: [&'static str; 2],
    /// Names of the other tools, and their rows and columns.
    others: &'static [(&'static str, [&'static str; 2])],
    best: Best,
    /// The divisor of the figures in the bench's table, the digits after the point, and the unit.
    shown: (f64, usize, &'static str),
}

/// Which figure of several is the best.
#[derive(Clone, Copy)]
enum Best {
    Least,
    Most,
}

const CPU: &str = "reader CPU at 500 kpps, ns/packet";
const RATE: &str = "loss-free, kpps";
const WALL: &str = "wall, ms";
const FLOW_CPU: &str = "CPU, ns/packet";
const PING_CPU: &str = "CPU, %";

const COMPARISONS: [Comparison; 8] = [
    Comparison {
        subject: "capture, 128-byte frames at 500 kpps to /dev/null, CPU per packet",
        bench: "capture",
        table: "to /dev/null",
        tapline: ["tapline", CPU],
        others: &[
            ("tcpdump", ["tcpdump", CPU]),
            ("dumpcap", ["dumpcap", CPU]),
            ("netsniff-ng", ["netsniff-ng", CPU]),
            ("xdpdump", ["xdpdump", CPU]),
        ],
        best: Best::Least,
        shown: (1.0, 0, " ns"),
    },
    Comparison {
        subject: "capture in drop mode to a file, loss-free rate",
        bench: "capture",
        table: "to tmpfs",
        tapline: ["tapline --mode drop", RATE],
        others: &[
            ("tcpdump", ["tcpdump", RATE]),
            ("dumpcap", ["dumpcap", RATE]),
            ("netsniff-ng", ["netsniff-ng", RATE]),
            ("xdpdump", ["xdpdump", RATE]),
        ],
        best: Best::Most,
        shown: (1000.0, 1, " Mpps"),
    },
    Comparison {
        subject: "filter for 400 hosts, CPU per packet",
        bench: "filter",
        table: "mixed web, 19589 frames, ns of CPU time per packet",
        tapline: ["400 hosts", "native"],
        others: &[
            ("bpfjit", ["400 hosts", "bpfjit"]),
            ("libpcap", ["400 hosts", "libpcap"]),
        ],
        best: Best::Least,
        shown: (1.0, 0, " ns"),
    },
    Comparison {
        subject: "print a million packets of a file",
        bench: "read",
        table: "1000000 printed packets, tcpdump with -nn",
        tapline: ["tapline", WALL],
        others: &[
            ("tcpdump -nn", ["tcpdump", WALL]),
            ("tcpdump -nn -S", ["tcpdump -S", WALL]),
        ],
        best: Best::Least,
        shown: (1000.0, 2, " s"),
    },
    Comparison {
        subject: "flows of a file with 100 000 of them, CPU per packet",
        bench: "flows",
        table: "Flows of a file",
        tapline: ["tapline", FLOW_CPU],
        others: &[
            ("nfpcapd", ["nfpcapd", FLOW_CPU]),
            ("softflowd", ["softflowd", FLOW_CPU]),
            ("pmacctd", ["pmacctd", FLOW_CPU]),
            ("argus", ["argus", FLOW_CPU]),
        ],
        best: Best::Least,
        shown: (1.0, 0, " ns"),
    },
    Comparison {
        subject: "send 64-byte frames of a file over veth to an XDP program",
        bench: "send",
        table: "Sent to an XDP program, thousands of packets/s by frame size",
        tapline: ["tapline --path auto", "64 B"],
        others: &[
            ("tcpreplay", ["tcpreplay", "64 B"]),
            (
                "tcpreplay --preload-pcap",
                ["tcpreplay --preload-pcap", "64 B"],
            ),
            ("trafgen", ["trafgen", "64 B"]),
            (
                "sendmmsg in C",
                ["sendmmsg in C, the file from memory", "64 B"],
            ),
        ],
        best: Best::Most,
        shown: (1000.0, 2, " Mpps"),
    },
    Comparison {
        subject: "ping 1000 hosts once a second, CPU",
        bench: "ping",
        table: "1000 targets, once a second each",
        tapline: ["tapline ping", PING_CPU],
        others: &[("fping", ["fping", PING_CPU])],
        best: Best::Least,
        shown: (1.0, 2, " %"),
    },
    Comparison {
        subject: "add routes in batches",
        bench: "netlink",
        table: "100 000 routes, thousands a second",
        tapline: ["tapline batch", "figure"],
        others: &[
            ("libnl", ["libnl", "figure"]),
            ("rtnetlink", ["rtnetlink, batch", "figure"]),
            ("ip -batch", ["ip -batch", "figure"]),
        ],
        best: Best::Most,
        shown: (1.0, 0, " 000/s"),
    },
];

/// Replaces the table of `readme` by one of the measured figures. The rest stays as it is.
///
/// # Errors
/// The README has no markers of a table, or a bench has no such figure.
pub fn update_readme(readme: &str, measured: &[Measurements]) -> Result<String, String> {
    let missing = || format!("no table between {START} and {END}");
    let (before, rest) = readme.split_once(START).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let mut table = String::from("| | tapline | best other tool |\n| --- | --: | --: |\n");
    for comparison in &COMPARISONS {
        table.push_str(&comparison.row(measured)?);
    }
    Ok(format!("{before}{START}\n\n{table}\n{END}{after}"))
}

impl Comparison {
    fn row(&self, measured: &[Measurements]) -> Result<String, String> {
        let benches = measured.iter().filter(|found| found.bench == self.bench);
        let mut tables = benches
            .flat_map(|bench| &bench.runs)
            .flat_map(|run| &run.tables);
        let table = tables
            .find(|table| table.title == self.table)
            .ok_or_else(|| format!("the bench {} has no table {}", self.bench, self.table))?;
        let tapline = median(table, self.tapline)?;
        let mut others = Vec::new();
        for (name, place) in self.others {
            others.push((median(table, *place)?, *name));
        }
        let order = |a: &(f64, &str), b: &(f64, &str)| a.0.total_cmp(&b.0);
        let best = match self.best {
            Best::Least => others.into_iter().min_by(order),
            Best::Most => others.into_iter().max_by(order),
        };
        let (best, name) = best.ok_or("no other tool")?;
        let (divisor, decimals, unit) = self.shown;
        let text = |value: f64| format!("{:.decimals$}{unit}", value / divisor);
        let (ours, theirs) = (text(tapline), text(best));
        Ok(format!(
            "| {} | {ours} | {theirs} ({name}) |\n",
            self.subject
        ))
    }
}

/// The median of a figure, in the unit of its column.
fn median(table: &Figures, [row, column]: [&str; 2]) -> Result<f64, String> {
    let missing = || format!("no figure for {row}, {column}: {}", table.title);
    let at = table.columns.iter().position(|found| found.head == column);
    let at = at.ok_or_else(missing)?;
    let row = table.rows.iter().find(|found| found.name == row);
    let cell = row.and_then(|row| row.cells.get(at)?.as_ref());
    Ok(cell.ok_or_else(missing)?.spread.median / table.columns[at].unit)
}
