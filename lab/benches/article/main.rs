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
/// The methods that take turns. `batch` is tapline with all changes in memory first: `Batch` and `INetlinkFactory::run`.
const TURNS: [&str; 3] = ["raw", "tapline", "batch"];
const OTHERS: [&str; 3] = ["libnl", "exec", "system"];
/// The least number of routes a second, as a share of that of the raw socket.
const ROUTES_TO_RAW: f64 = 0.97;
const FIGURE: &str = "figure";
const RATIO: &str = "to raw";
const COLUMNS: [Column; 1] = [column(FIGURE, 1.0, 2)];

struct Task {
    /// Its name in the program.
    name: &'static str,
    title: &'static str,
    /// How often each method is measured in a round. What takes the time is to undo the changes: the kernel waits for all
    /// readers of a link.
    repetitions: u32,
    /// The figure of a time in microseconds.
    figure: fn(f64) -> f64,
}

const TASKS: [Task; 3] = [
    Task {
        name: "create",
        title: "create a link, us",
        repetitions: 8,
        figure: |us| us,
    },
    Task {
        name: "up",
        title: "up a link, us",
        repetitions: 8,
        figure: |us| us,
    },
    Task {
        name: "routes",
        title: "100 000 routes in a batch, thousands a second",
        repetitions: 1,
        figure: |us| 100_000.0 / us * 1e3,
    },
];

fn main() -> ExitCode {
    harness::run(3, &["create", "up", "routes", "compile"], measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let folder = tempfile::tempdir().expect("a folder");
    install_c_library(folder.path());
    let programs = LEVELS.map(|level| build(&folder, level));
    let headers = headers(&folder.path().join("include/tapline"));
    for round in report.rounds("tasks") {
        for (level, program) in LEVELS.iter().zip(&programs) {
            // No goal depends on programs without optimisation: they are measured once.
            let is_measured = round == 1 || *level != "-O0";
            for task in TASKS
                .iter()
                .filter(|task| is_measured && options.has(task.name))
            {
                let [host, _there] = Net::new().pair();
                run(&host, program, level, task, report);
            }
        }
        if options.has("compile") {
            let mut compile = |name: &str, level, text: &str| {
                compile(&folder, name, level, text, report);
            };
            for header in REFERENCES {
                compile(&alone(header), "-O0", &format!("#include <{header}>\n"));
            }
            for header in headers.iter().map(String::as_str).chain([MOCKS]) {
                compile(header, "-O0", &format!("#include <tapline/{header}>\n"));
            }
            for level in LEVELS {
                compile(&use_title(level), level, USE);
            }
        }
    }
    verdicts(options, &headers, report);
}

/// The headers in a folder and below that have a limit: all but that of the mocks.
fn headers(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for part in ["", "netlink"] {
        for entry in std::fs::read_dir(folder.join(part)).expect("the headers") {
            let path = Path::new(part).join(entry.expect("an entry").file_name());
            if path.extension().is_some_and(|end| end == "hpp") && path != Path::new(MOCKS) {
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// The title of a table. The report's number of rounds is not that of programs without optimisation.
fn title(title: &str, level: &str) -> String {
    if level == "-O0" {
        format!("C++ {level}, one round: {title}")
    } else {
        format!("C++ {level}: {title}")
    }
}

fn verdicts(options: &BenchOptions, headers: &[String], report: &mut Report) {
    for level in LEVELS {
        for task in TASKS.iter().filter(|task| options.has(task.name)) {
            let title = title(task.title, level);
            let [ours, raw, exec, batch] =
                ["tapline", "raw", "exec", "batch"].map(|method| report.of(&title, method, FIGURE));
            let to_raw = ratios(&ours, &raw);
            report
                .table(&title, &COLUMNS)
                .derive(column(RATIO, 1.0, 3), |table, name| {
                    ratios(table.of(name, FIGURE), table.of("raw", FIGURE))
                });
            if level != "-O2" {
                continue;
            }
            match task.name {
                "routes" => {
                    report.at_least(&format!("{title}, to raw"), &to_raw, ROUTES_TO_RAW);
                    let to_raw = ratios(&batch, &raw);
                    let what = format!("{title}, batch to raw");
                    report.at_least(&what, &to_raw, ROUTES_TO_RAW);
                }
                _ => report.at_most(&format!("{title}, to raw"), &to_raw, 1.03),
            }
            let least = if task.name == "create" { 10.0 } else { 30.0 };
            if task.name != "routes" {
                let faster = ratios(&exec, &ours);
                report.at_least(&format!("{title}, exec to tapline"), &faster, least);
            }
        }
    }
    if options.has("compile") {
        for header in headers {
            let times = report.of(COMPILE_TITLE, header, FIGURE);
            report.at_most(&format!("{COMPILE_TITLE}: {header}"), &times, 1000.0);
        }
        report.note(format!(
            "{MOCKS} has no target: most of its time is that of GMock, which is measured alone beside it."
        ));
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
fn run(host: &Host, program: &Path, level: &str, task: &Task, report: &mut Report) {
    let Task { name, figure, .. } = task;
    let mut command = host.command(program.to_str().expect("a path of text"));
    command.arg("ifb").arg(host.interface().name.to_string());
    command.arg(format!("--benchmark_filter={name}/"));
    command.arg(format!("--benchmark_repetitions={}", task.repetitions));
    command.args([
        "--benchmark_enable_random_interleaving=true",
        "--benchmark_format=json",
    ]);
    command.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    let printed: Value = serde_json::from_slice(&succeed(&mut command)).expect("JSON");
    let table = report.table(&title(task.title, level), &COLUMNS);
    let runs = printed["benchmarks"].as_array().expect("results");
    let runs = runs.iter().filter(|run| run["run_type"] == "iteration");
    let of = |method: &str| {
        let begins = format!("{name}/{method}/");
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
            if let Some(us) = run.get(method) {
                add(method, us);
            }
        }
    }
    for method in OTHERS {
        for run in of(method) {
            add(method, &run["real_time"]);
        }
    }
}

const COMPILE_TITLE: &str = "C++: compile a file with one header, ms";

/// Headers of others, which show how fast the machine compiles: the interfaces need the `shared_ptr` of `<memory>`, most
/// programs include `<iostream>`, and mocks need GMock.
const REFERENCES: [&str; 3] = ["memory", "iostream", "gmock/gmock.h"];

/// The header of the mocks.
const MOCKS: &str = "netlink/mock.hpp";

/// The name of the row of a header of others.
fn alone(header: &str) -> String {
    format!("`<{header}>` alone")
}

/// A program that uses a factory: the code for all objects is compiled.
const USE: &str = "#include <tapline/netlink/factory.hpp>\n\
    int main() {\n\
        const auto factory = tapline::netlink::NetlinkFactory::open().value();\n\
        factory->link()->add(tapline::netlink::LinkInfo().setName(\"b0\").setType(\"bridge\")).value();\n\
    }\n";

/// The name of its row.
fn use_title(level: &str) -> String {
    format!("open a factory and add one link, {level}")
}

/// Compiles a file with this text. `name` is that of its row.
fn compile(folder: &TempDir, name: &str, level: &str, text: &str, report: &mut Report) {
    let source = folder.path().join("header.cpp");
    std::fs::write(&source, text).expect("room for a file");
    let mut command = compiler(folder);
    command
        .args([level, "-c"])
        .arg(&source)
        .arg("-o")
        .arg(folder.path().join("compiled.o"));
    let begin = Instant::now();
    succeed(&mut command);
    let took = begin.elapsed().as_secs_f64() * 1e3;
    report.table(COMPILE_TITLE, &COLUMNS).add(name, &[took]);
}
