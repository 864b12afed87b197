//! Experiments 2 to 5: reject packets by a filter, deliver them to a program, dump them to disk.

use std::path::Path;

use crate::harness::{BenchOptions, Report, packets_in};
use crate::receive::{Link, Program, Received, Task};
use crate::{BySize, SIZES, add_rates, columns};

const PACKETS: u64 = 300_000;

/// Reject every packet: after the type of the frame, and after the ports.
const FILTERS: [(&str, &str); 2] = [
    ("ip6", "a short filter"),
    ("udp port 5555", "a long filter"),
];

/// Bytes that are kept of each packet, of which none means all.
const DELIVERED: [(Option<u32>, &str); 2] =
    [(Some(1), "1 byte of each packet"), (None, "whole packets")];
const DUMPED: [(Option<u32>, &str); 2] = [
    (Some(68), "68 bytes of each packet"),
    (None, "whole packets"),
];

const ALONE: &str = "no program";

pub fn measure(tapline: &Path, options: &BenchOptions, report: &mut Report) {
    let parts = ["reject", "deliver", "dump"];
    if !parts.iter().any(|part| options.has(part)) {
        return;
    }
    let link = Link::build();
    let folder = tempfile::tempdir_in(&options.trace_in).expect("a folder on disk");
    let mut programs = Program::all(tapline);
    programs.retain(Program::is_installed);
    let experiments = Experiments {
        link,
        programs,
        folder: folder.path(),
    };
    experiments.describe(report);
    if options.has("reject") {
        experiments.reject(report);
    }
    if options.has("deliver") {
        for (snaplen, what) in DELIVERED {
            let title = format!("Experiment 4: {what} to a program");
            experiments.capture(&title, snaplen, "/dev/null".as_ref(), report);
        }
    }
    if options.has("dump") {
        let file = folder.path().join("dump");
        for (snaplen, what) in DUMPED {
            let title = format!("Experiment 5: {what} to disk");
            experiments.capture(&title, snaplen, &file, report);
        }
    }
}

struct Experiments<'f> {
    link: Link,
    programs: Vec<Program>,
    folder: &'f Path,
}

impl Experiments<'_> {
    fn describe(&self, report: &mut Report) {
        let task = Task {
            filter: None,
            snaplen: None,
            output: "FILE".as_ref(),
            frame_bytes: SIZES[0],
            packets: PACKETS,
        };
        for program in &self.programs {
            let words = program.arguments(&task, &self.link.interface(), self.folder);
            let tool = program.name.split(' ').next().unwrap_or_default();
            report.note(format!("{}: `{tool} {}`", program.name, words.join(" ")));
        }
        report.note(format!(
            "{PACKETS} packets at full speed; the generator and the receiving kernel run on CPU 0, the program on CPU 1. \
             Rings of 32 MiB, in drop mode 128. The CPU of a program is its user and system time from its first wait for \
             packets to its end. netsniff-ng keeps fewer bytes of a packet by a filter."
        ));
    }

    /// One task for each size.
    fn tasks<'t>(
        filter: Option<&'t str>,
        snaplen: Option<u32>,
        output: &'t Path,
    ) -> impl Iterator<Item = Task<'t>> {
        SIZES.into_iter().map(move |frame_bytes| Task {
            filter,
            snaplen,
            output,
            frame_bytes,
            packets: PACKETS,
        })
    }

    fn reject(&self, report: &mut Report) {
        for (number, (filter, what)) in (2..).zip(FILTERS) {
            let title = format!("Experiment {number}: reject by {what}");
            report.note(format!("{title}: `{filter}`"));
            for _ in report.rounds(&title) {
                let alone = Self::tasks(Some(filter), None, "/dev/null".as_ref());
                let alone: Vec<_> = alone.map(|task| self.link.alone(&task)).collect();
                add_reject(report, &title, ALONE, &alone);
                for program in &self.programs {
                    let tasks = Self::tasks(Some(filter), None, "/dev/null".as_ref());
                    let run = |task| self.link.run(program, &task, self.folder);
                    let received: Vec<_> = tasks.map(run).collect();
                    if let Some(wrong) = received.iter().find(|run| run.counted.captured > 0) {
                        let captured = wrong.counted.captured;
                        report.fail(format!(
                            "{}: {captured} packets pass {filter}",
                            program.name
                        ));
                    }
                    add_reject(report, &title, program.name, &received);
                }
            }
        }
    }

    fn capture(&self, title: &str, snaplen: Option<u32>, output: &Path, report: &mut Report) {
        for _ in report.rounds(title) {
            for program in &self.programs {
                let mut received = Vec::new();
                for task in Self::tasks(None, snaplen, output) {
                    let run = self.link.run(program, &task, self.folder);
                    if output.is_file() {
                        check_file(output, program, &run, report);
                        std::fs::remove_file(output).expect("the file is removed");
                    }
                    received.push(run);
                }
                let name = program.name;
                let rate = format!("{title}, thousands of packets/s");
                add_rates(
                    report,
                    &rate,
                    name,
                    &by_size(&received, Received::captured_pps),
                );
                let lost = by_size(&received, Received::lost_percent);
                report
                    .table(&format!("{title}, lost, %"), &columns(1.0, 1))
                    .add(name, &lost);
                let cpu = by_size(&received, Received::program_ns);
                let title = format!("{title}, ns of the program's CPU per packet");
                report.table(&title, &columns(1.0, 0)).add(name, &cpu);
            }
        }
    }
}

/// Compares the packets in a file with what the program counted.
fn check_file(path: &Path, program: &Program, run: &Received, report: &mut Report) {
    let (in_file, counted) = (packets_in(path), run.counted.captured);
    if in_file != counted {
        let name = program.name;
        let complaint = format!("{name} counted {counted} packets and its file holds {in_file}");
        if program.is_tapline() {
            report.fail(complaint);
        } else {
            report.note(complaint);
        }
    }
}

fn add_reject(report: &mut Report, title: &str, name: &str, received: &[Received]) {
    let rate = format!("{title}, thousands of packets/s that pass");
    let pps = by_size(received, |run| run.sent.delivered_pps());
    add_rates(report, &rate, name, &pps);
    let title = format!("{title}, ns of CPU per packet of sender, kernel and program");
    let cpu = by_size(received, Received::total_ns);
    report.table(&title, &columns(1.0, 0)).add(name, &cpu);
}

fn by_size(received: &[Received], figure: impl Fn(&Received) -> f64) -> BySize {
    let mut figures = [f64::NAN; SIZES.len()];
    for (place, run) in figures.iter_mut().zip(received) {
        *place = figure(run);
    }
    figures
}
