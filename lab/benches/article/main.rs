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
/// `batch` is tapline with all changes in memory first: `Batch` and `INetlinkFactory::run`.
const OTHERS: [&str; 4] = ["batch", "libnl", "exec", "system"];
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
        repetitions: 2,
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
            compile(BASELINE, "-O0", "#include <memory>\n");
            for header in &headers {
                compile(header, "-O0", &format!("#include <tapline/{header}>\n"));
            }
            for level in LEVELS {
                compile(&use_title(level), level, USE);
            }
        }
    }
    verdicts(options, &headers, report);
}

/// The headers in a folder and below, without that of the mocks: GMock alone takes longer than the limit.
fn headers(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for part in ["", "netlink"] {
        for entry in std::fs::read_dir(folder.join(part)).expect("the headers") {
            let path = Path::new(part).join(entry.expect("an entry").file_name());
            if path.extension().is_some_and(|end| end == "hpp") && !path.ends_with("mock.hpp") {
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// The title of a table.
fn title(title: &str, level: &str) -> String {
    format!("C++ {level}: {title}")
}

fn verdicts(options: &BenchOptions, headers: &[String], report: &mut Report) {
    for level in LEVELS {
        for task in TASKS.iter().filter(|task| options.has(task.name)) {
            let title = title(task.title, level);
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
            match task.name {
                "routes" => report.at_least(&format!("{title}, to raw"), &to_raw, 0.97),
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

/// A header of the standard library, for comparison: the interfaces need its `shared_ptr`.
const BASELINE: &str = "`<memory>` alone";

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
