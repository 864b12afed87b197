//! The C++ library of netlink: the examples of the article as GoogleTest programs, in a private namespace and under
//! user-mode-linux.

use std::path::PathBuf;
use std::process::Command;

use lab::skip::{self, Feature};
use lab::{Host, Net, once};

use crate::UML;
use crate::support::{
    CHECKERS, Checker, SANITIZERS, WARNINGS, built, is_inside_uml, library, precompiled, room,
    sanitized, succeed, twins,
};

/// The tests that use a kernel, and then those that do not.
const SOURCES: [&str; 6] = [
    "article.cpp",
    "ip_mgr.cpp",
    "service.cpp",
    "settable.cpp",
    "sockets.cpp",
    "mocks.cpp",
];

/// The sanitizer for programs under user-mode-linux. Processes have 512 GiB of addresses there, and AddressSanitizer cannot
/// map its shadow memory of 16 TiB.
const UNDEFINED: [&str; 2] = ["-fsanitize=undefined", "-fno-sanitize-recover=all"];

/// Flags of the compilers. Without optimisation: GoogleTest takes long to compile.
const FLAGS: [&str; 3] = ["-std=c++20", "-g1", "-O0"];

/// Where the GoogleTest program that `use_of_it` names is built.
fn program(use_of_it: &str) -> PathBuf {
    built().join(format!("netlink-{use_of_it}"))
}

/// Builds the GoogleTest program of the first `count` sources.
fn build(use_of_it: &str, compiler: &str, flags: &[&str], count: usize) -> PathBuf {
    let program = program(use_of_it);
    let library = library();
    let folder = room().join("tests/programs/netlink");
    let mut command = Command::new(compiler);
    command.args(FLAGS).args(WARNINGS).args(flags);
    command.arg("-I").arg(room().join("include"));
    if *flags == SANITIZERS {
        let (headers, code) = precompiled();
        command.arg("-include-pch").arg(headers).arg(code);
    }
    command.args(SOURCES[..count].iter().map(|source| folder.join(source)));
    command.arg("-o").arg(&program).arg("-L").arg(library);
    command.arg(format!("-Wl,-rpath,{}", library.display()));
    command.args([
        "-ltapline",
        "-lsqlite3",
        "-lgmock_main",
        "-lgmock",
        "-lgtest",
        "-pthread",
    ]);
    succeed(&mut command);
    program
}

#[test]
fn the_examples_of_the_article_work_and_sanitizers_find_nothing() {
    let program = build("sanitizers", "clang++", &SANITIZERS, 6);
    let [host, _peer] = Net::new().pair();
    let mut command = host.command(program.to_str().expect("a path of text"));
    command.arg("--gtest_filter=-Kinds.*");
    let said = succeed(&mut command);
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(said.contains("[  PASSED  ] "), "{said}");
}

#[test]
fn valgrind_finds_nothing_in_the_examples_of_the_article() {
    let program = build("valgrind", "g++", &[], 5);
    let [host, _peer] = Net::new().pair();
    let mut command = host.command("valgrind");
    command.args(["--error-exitcode=9", "--quiet", "--leak-check=full"]);
    command.args(["--errors-for-leak-kinds=definite", "--read-inline-info=no"]);
    command.arg(program);
    // Slow as it is here, it sees changes that the kernel makes meanwhile; its own test runs it at full speed.
    let filter = "--gtest_filter=-Kinds.*:Kernel.AWatchReportsWhatExistsAndThenEveryChange";
    let said = succeed(command.arg(filter));
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(said.contains("[  PASSED  ] "), "{said}");
}

/// Compilers whose standard library may have `std::format`, the first one that does.
fn formatting_compiler() -> Option<(&'static str, &'static [&'static str])> {
    let candidates: [(&str, &[&str]); 3] = [
        ("g++", &[]),
        ("g++-13", &[]),
        ("clang++-19", &["-stdlib=libc++"]),
    ];
    let has_format = |(compiler, flags): &(&str, &[&str])| {
        let mut command = Command::new(compiler);
        command.args(FLAGS).args(*flags);
        command.args(["-x", "c++", "-include", "version", "-dM", "-E", "/dev/null"]);
        command.output().is_ok_and(|output| {
            String::from_utf8_lossy(&output.stdout).contains("#define __cpp_lib_format ")
        })
    };
    candidates.into_iter().find(has_format)
}

/// GCC 13, or clang 17 with libc++.
const FORMAT: Feature = Feature {
    name: "std::format",
    probe: || match formatting_compiler() {
        Some(_) => Ok(()),
        None => Err("no compiler here has it: clang-19 and libc++-19-dev do".to_owned()),
    },
};

#[test]
fn objects_are_formatted_where_the_library_has_std_format() {
    if skip::without(&FORMAT) {
        return;
    }
    let (compiler, flags) = formatting_compiler().expect("a compiler");
    let program = built().join("netlink-format");
    let mut command = Command::new(compiler);
    command.args(FLAGS).args(WARNINGS).args(flags);
    command.arg("-I").arg(room().join("include"));
    command.arg(room().join("tests/programs/netlink/format.cpp"));
    succeed(command.arg("-o").arg(&program));
    let printed = succeed(&mut Command::new(program)).stdout;
    assert_eq!(
        String::from_utf8_lossy(&printed),
        "AddrInfo{dev=eth0, prefixlen=24, validLifeTime=300s, local=192.0.2.1}\n   \
         192.0.2.1|inet  |10.0.0.0/8\n\
         [    link: eth0 is down] submitted: 0, accepted: 0, failed: 0, delivered: unknown, bytes: 0, skipped: 0, \
         truncated: 0, retries: 0, duration: 0s\n"
    );
}

/// Builds the program of `links_of_rare_kinds_are_created`, once.
pub fn build_kinds() {
    once::build(&program("kinds"), || {
        build("kinds", "clang++", &UNDEFINED, 2);
    });
}

#[test]
fn links_of_rare_kinds_are_created() {
    if !is_inside_uml() {
        build_kinds();
    }
    if UML.has_run() {
        return;
    }
    let said = succeed(Command::new(program("kinds")).arg("--gtest_filter=Kinds.*"));
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(said.contains("[  PASSED  ] 4 tests"), "{said}");
}

#[test]
fn the_examples_create_a_bridge_and_report_it() {
    let [bridges, watches] = ["bridge", "watch"].map(|name| twins(&format!("examples/{name}")));
    for (bridge, watch) in bridges.into_iter().zip(watches) {
        let host = Host::new("alone");
        let mut events = watch.start(&host, &["2"]);
        let known = events.line();
        assert!(known.contains("lo"), "{known}");
        let printed = succeed(bridge.command(&host).arg("br7"));
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        assert!(printed.contains("br7"), "{printed}");
        let shown = host.ip("-json -details link show br7");
        assert!(shown.contains(r#""mtu":1400"#), "{shown}");
        assert!(shown.contains(r#""ageing_time":12300"#), "{shown}");
        let event = events.finish();
        assert!(event.len() == 1 && event[0].contains("br7"), "{event:?}");
        // A name with what has a meaning in JSON, and an error whose texts appear once. To valgrind, which takes seconds to
        // start, this name is as any other.
        if bridge.checker == Checker::Sanitizers {
            succeed(bridge.command(&host).arg(r#"a"\b"#));
            assert!(host.ip("link show").contains(r#"a"\b"#));
        }
        let mut again = bridge.command(&host);
        let again = again.arg("br7").output().expect("it runs").stderr;
        let again = String::from_utf8_lossy(&again).into_owned();
        assert_eq!(again.matches("File exists").count(), 1, "{again}");
    }
}

#[test]
fn a_call_that_finds_no_memory_leaves_nothing_open() {
    // Valgrind replaces the program's own allocator.
    let program = sanitized("tests/programs/no_memory.cpp");
    let host = Host::new("alone");
    assert_eq!(program.start(&host, &[]).finish(), ["done"]);
}

/// The lines of `batch.cpp` without the texts of its errors.
fn states(lines: &[String]) -> Vec<i32> {
    let states = lines.iter().map(|line| line.split(' ').next());
    let states = states.map(|state| state.expect("a state").parse().expect("a number"));
    states.collect()
}

#[test]
fn an_item_with_an_unknown_name_fails_and_the_mode_decides_about_the_others() {
    let [done, failed, not_run, undone] = [0, 1, 2, 3];
    // For each mode: the states, and the bridges that ip lists afterwards.
    let expected: [(&str, [i32; 8], &[&str]); 3] = [
        (
            "0",
            [done, done, done, failed, done, failed, failed, done],
            &["b0", "b1", "b2"],
        ),
        (
            "1",
            [done, done, done, failed, not_run, not_run, not_run, not_run],
            &["b0", "b1"],
        ),
        (
            "2",
            [
                undone, undone, undone, failed, not_run, not_run, not_run, not_run,
            ],
            &[],
        ),
    ];
    for checker in CHECKERS {
        let program = checker.program("tests/programs/batch.cpp", &[]);
        for (mode, wanted, bridges) in expected {
            let host = Host::new("alone");
            let lines = program.start(&host, &[mode]).finish();
            assert_eq!(states(&lines), wanted, "{lines:#?}");
            assert!(lines[3].contains("-6 ") && lines[3].contains("nowhere0"));
            for (line, state) in lines.iter().zip(wanted) {
                let text = match state {
                    2 => "2 -12 not carried out, because an earlier change failed",
                    3 => "3 -12 rolled back, because another change failed",
                    _ => continue,
                };
                assert_eq!(line, text);
            }
            let links = host.ip("-json link show type bridge");
            let addresses = host.ip("-json address show");
            for bridge in ["b0", "b1", "b2"] {
                let named = format!(r#""ifname":"{bridge}""#);
                assert_eq!(links.contains(&named), bridges.contains(&bridge), "{links}");
            }
            let count = addresses.matches(r#""local":"192.0.2.1""#).count();
            assert_eq!(count, bridges.len().saturating_sub(1), "{addresses}");
        }
    }
}
