//! The benchmark of the article on typed netlink: the C++ library beside exec, `std::system`, libnl3 and a raw socket,
//! built with `-O0` and `-O2`, measured by Google Benchmark.
//!
//! `cargo bench -p tapline-lab --bench article -- [--rounds N | --quick] [--only PART]` requires root, g++, Google
//! Benchmark, libnl3 and iproute2. It builds the C library first.
//!
//! Everything runs in a temporary namespace. The library and the raw socket take turns change by change, and a figure is
//! the median of a repetition, so that other load on the machine affects both alike. Google Benchmark interleaves the
//! other methods at random. Links are of kind `ifb`, which every kernel with network namespaces supports; only the
//! programs of this bench are built with `-O0`, and not libtapline and libnl.

#![forbid(unsafe_code)]

#[path = "../harness/mod.rs"]
mod harness;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use harness::{
    BenchOptions, Column, Report, c_compiler, column, install_c_library, ratios, repository,
    succeed,
};
use serde_json::Value;
use tapline_lab::{Host, Net, tool};
use tempfile::TempDir;

const LEVELS: [&str; 2] = ["-O0", "-O2"];
/// The methods that take turns.
const TURNS: [&str; 2] = ["raw", "tapline"];
const OTHERS: [&str; 3] = ["libnl", "exec", "system"];
const FIGURE: &str = "figure";
const RATIO: &str = "to raw";
const COLUMNS: [Column; 1] = [column(FIGURE, 1.0, 2)];
/// How often each method is measured in a round.
const REPETITIONS: u32 = 15;
/// How often a header is compiled in a round.
const COMPILATIONS: u32 = 3;

const HEADERS: [&str; 4] = ["addr", "factory", "link", "route"];

type Task = (&'static str, &'static str, fn(f64) -> f64);

/// The tasks: their names in the program, their titles, and the figure of a time in microseconds.
const TASKS: [Task; 3] = [
    ("create", "create a link, us", |us| us),
    ("up", "up a link, us", |us| us),
    (
        "routes",
        "100 000 routes in a batch, thousands a second",
        |us| 100_000.0 / us * 1e3,
    ),
];

fn main() -> ExitCode {
    harness::run(3, &["create", "up", "routes", "compile"], measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let folder = tempfile::tempdir().expect("a folder");
    install_c_library(folder.path());
    let programs = LEVELS.map(|level| build(&folder, level));
    for _ in report.rounds("tasks") {
        for (level, program) in LEVELS.iter().zip(&programs) {
            for task in TASKS.iter().filter(|(task, ..)| options.has(task)) {
                let [host, _there] = Net::new().pair();
                run(&host, program, level, task, report);
            }
        }
        if options.has("compile") {
            for header in HEADERS {
                compile(&folder, header, report);
            }
        }
    }
    verdicts(options, report);
}

/// The title of a table.
fn title(title: &str, level: &str) -> String {
    format!("C++ {level}: {title}")
}

fn verdicts(options: &BenchOptions, report: &mut Report) {
    for level in LEVELS {
        for (task, name, _) in TASKS.iter().filter(|(task, ..)| options.has(task)) {
            let title = title(name, level);
            let [ours, raw, exec] =
                ["tapline", "raw", "exec"].map(|method| report.of(&title, method, FIGURE));
            let to_raw = ratios(&ours, &raw);
            report
                .table(&title, &COLUMNS)
                .derive(column(RATIO, 1.0, 3), |table, name| {
                    ratios(table.of(name, FIGURE), table.of("raw", FIGURE))
                });
            if level != "-O2" {
                continue;
            }
            match *task {
                "routes" => report.at_least(&format!("{title}, to raw"), &to_raw, 0.97),
                _ => report.at_most(&format!("{title}, to raw"), &to_raw, 1.03),
            }
            let least = if *task == "create" { 10.0 } else { 30.0 };
            if *task != "routes" {
                let faster = ratios(&exec, &ours);
                report.at_least(&format!("{title}, exec to tapline"), &faster, least);
            }
        }
    }
    if options.has("compile") {
        for header in HEADERS {
            let times = report.of(COMPILE_TITLE, header, FIGURE);
            report.at_most(&format!("{COMPILE_TITLE}: {header}.hpp"), &times, 1000.0);
        }
    }
}

/// g++ with the library in `folder`.
fn compiler(folder: &TempDir) -> Command {
    let mut command = c_compiler(&tool::path("g++"), folder.path());
    command.arg("-std=c++20");
    command
}

fn build(folder: &TempDir, level: &str) -> PathBuf {
    let program = folder.path().join(format!("article{level}"));
    let source = repository().join("lab/benches/article/article.cpp");
    let mut command = compiler(folder);
    command
        .args([level, "-I/usr/include/libnl3"])
        .arg(source)
        .arg("-o")
        .arg(&program);
    command.args([
        "-ltapline",
        "-lnl-route-3",
        "-lnl-3",
        "-lbenchmark",
        "-pthread",
    ]);
    succeed(&mut command);
    program
}

/// Runs one task by all methods.
fn run(host: &Host, program: &Path, level: &str, (task, name, figure): &Task, report: &mut Report) {
    let mut command = host.command(program.to_str().expect("a path of text"));
    command.arg("ifb").arg(host.interface().name.to_string());
    command.arg(format!("--benchmark_filter={task}/"));
    command.arg(format!("--benchmark_repetitions={REPETITIONS}"));
    command.args([
        "--benchmark_enable_random_interleaving=true",
        "--benchmark_format=json",
    ]);
    command.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    let printed: Value = serde_json::from_slice(&succeed(&mut command)).expect("JSON");
    let table = report.table(&title(name, level), &COLUMNS);
    let runs = printed["benchmarks"].as_array().expect("results");
    let runs = runs.iter().filter(|run| run["run_type"] == "iteration");
    let of = |method: &str| {
        let begins = format!("{task}/{method}/");
        let is_of = move |run: &&Value| {
            let name = run["name"].as_str();
            name.is_some_and(|name| name.starts_with(&begins))
        };
        runs.clone().filter(is_of)
    };
    let mut add = |method: &str, us: &Value| {
        table.add(method, &[figure(us.as_f64().expect("a time"))]);
    };
    for run in of("turns") {
        for method in TURNS {
            add(method, &run[method]);
        }
    }
    for method in OTHERS {
        for run in of(method) {
            add(method, &run["real_time"]);
        }
    }
}

const COMPILE_TITLE: &str = "C++: compile a file with one header, ms";

/// Compiles a file that only includes a header.
fn compile(folder: &TempDir, header: &str, report: &mut Report) {
    let source = folder.path().join(format!("{header}.cpp"));
    let text = format!("#include <tapline/netlink/{header}.hpp>\n");
    std::fs::write(&source, text).expect("room for a file");
    for _ in 0..COMPILATIONS {
        let mut command = compiler(folder);
        command
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(folder.path().join("compiled.o"));
        let begin = Instant::now();
        succeed(&mut command);
        let took = begin.elapsed().as_secs_f64() * 1e3;
        report.table(COMPILE_TITLE, &COLUMNS).add(header, &[took]);
    }
}
