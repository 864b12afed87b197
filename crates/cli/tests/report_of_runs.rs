//! The pages of `ping --report` and `latency --report`, compared with the kernel's counters and known numbers of
//! packets.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::ping::{echoes_answered, ping, start, with_files};
use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene, assert_refused, text, words};

/// Writes a page by `run`, which gets the flag for it. It replaces another file.
fn page(run: impl FnOnce(&str)) -> String {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("page.html");
    fs::write(&path, "old").expect("written");
    let number = || fs::metadata(&path).expect("a page").ino();
    let old = number();
    run(&format!("--report {}", text(&path)));
    assert_ne!(number(), old);
    fs::read_to_string(path).expect("a page")
}

/// The value of a fact in the overview.
#[track_caller]
fn fact<'a>(page: &'a str, name: &str) -> &'a str {
    let found = page.split_once(&format!("<dt>{name}</dt><dd>"));
    let (_, rest) = found.unwrap_or_else(|| panic!("{name} in {page}"));
    rest.split('<').next().expect("a value")
}

/// The cells of all rows of the table with this caption.
#[track_caller]
fn rows<'a>(page: &'a str, caption: &str) -> Vec<Vec<&'a str>> {
    let found = page.split_once(&format!("<caption>{caption}</caption>"));
    let (_, rest) = found.unwrap_or_else(|| panic!("{caption} in {page}"));
    let (table, _) = rest.split_once("</table>").expect("its end");
    let cells = |row: &'a str| {
        let cells = row.split("<td").skip(1);
        let inside = cells.map(|cell| cell.split_once('>').expect("a cell").1);
        inside
            .map(|cell| {
                cell.trim_start_matches('<')
                    .split("</")
                    .next()
                    .expect("its text")
            })
            .collect()
    };
    table.split("<tr>").skip(2).map(cells).collect()
}

/// The sum of a column of numbers.
fn sum(rows: &[Vec<&str>], column: usize) -> u64 {
    rows.iter()
        .map(|row| row[column].parse::<u64>().expect("a number"))
        .sum()
}

#[test]
fn the_page_of_a_run_has_every_probe_and_answer() {
    let scene = Scene::new();
    let page = page(|flag| {
        let line = format!("10.1.0.2 10.1.0.77 -c 20 -i 20ms -W 100ms -q {flag}");
        assert_eq!(ping(&scene, &line).status.code(), Some(1));
    });
    let answered = echoes_answered(&scene.right);
    assert_eq!(answered, 20);
    assert_eq!((fact(&page, "Sent"), fact(&page, "Received")), ("40", "20"));
    assert_eq!(fact(&page, "Not answered in time"), "50.00 %");
    let targets = rows(&page, "Each target");
    let of = |target: &str| {
        let row = targets
            .iter()
            .find(|row| row[0] == target)
            .expect("its row");
        (row[2], row[3])
    };
    assert_eq!(
        (of("10.1.0.2"), of("10.1.0.77")),
        (("20", "20"), ("20", "0"))
    );
    assert_eq!(sum(&rows(&page, "Each step is 1 s"), 1), 40);
    assert_eq!(sum(&rows(&page, "All targets"), 1), answered);
}

#[test]
fn the_page_of_many_targets_shows_those_with_losses() {
    let scene = Scene::new();
    let page = page(|flag| {
        let line = format!("127.0.0.0/21 10.1.0.77 -c 1 -i 1ms -W 300ms -q {flag}");
        assert_eq!(ping(&scene, &line).status.code(), Some(1));
    });
    let targets = rows(&page, "Each target");
    assert_eq!(targets.len(), 1000);
    assert_eq!(targets[0][0], "10.1.0.77");
    let sent = fact(&page, "Sent").replace(' ', "");
    let others = sent.parse::<u64>().expect("a number") - 1000;
    assert!((1000..1100).contains(&others), "{others}");
    let line = format!(
        "<p>These are the 1 000 targets with the most losses; 1 {:03} others are not shown.</p>",
        others - 1000
    );
    assert!(page.contains(&line), "{line}");
}

#[test]
fn the_page_of_a_measurement_has_every_packet() {
    let scene = Scene::new();
    let measured = |flags: &str, packets: u64| {
        page(|flag| {
            let mut running =
                spawn(scene.command(&format!("latency -i right0 --json {flags} {flag}")));
            running.ready();
            scene.generate(packets, None);
            running.finish().exit(0);
        })
    };
    let one = measured("-c 500", 500);
    assert_eq!(fact(&one, "Measured packets"), "500");
    assert_eq!(
        sum(&rows(&one, "From the time stamp to the reader"), 1),
        500
    );
    let compared = measured("--compare -c 300", 300);
    let settings = rows(&compared, "All settings saw the same packets");
    assert!(settings.len() > 5, "{settings:?}");
    // A small ring may lose some.
    for row in &settings {
        let seen = [row[2], row[10]].map(|cell| cell.parse::<u64>().expect("a number"));
        assert_eq!(seen.iter().sum::<u64>(), 300, "{row:?}");
    }
}

#[test]
fn a_page_that_exists_is_replaced_at_the_end() {
    let scene = Scene::new();
    let old = "x".repeat(1 << 20);
    let path = scene.write("page.html", &old);
    let read = || fs::read_to_string(&path).expect("a page");
    let line = format!("10.1.0.2 -i 10ms --report {path}");
    let mut killed = start(&scene, &line);
    // The page is open once an answer is printed.
    while !killed.line().contains("icmp_seq=") {}
    killed.signal(Signal::KILL);
    killed.finish();
    assert_eq!(read(), old);
    // Killed when the new page is complete, but has no name yet.
    let mut command = scene.left.command("strace");
    let kill = "inject=renameat:signal=SIGKILL";
    command.args(["-f", "-qq", "-e", "trace=renameat", "-e", kill]);
    command.args(["-o", "/dev/null", PROGRAM, "ping", "-q", "-c", "1"]);
    command.args(words(&line));
    let killed = spawn(command).finish();
    assert_eq!(killed.status.signal(), Some(libc::SIGKILL), "{killed:?}");
    assert_eq!(read(), old);
    // The permissions of the page stay.
    fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("ours");
    let mut stopped = start(&scene, &line);
    while !stopped.line().contains("icmp_seq=") {}
    stopped.stop().exit(0);
    let page = read();
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"),
        "{page}"
    );
    let mode = fs::metadata(&path).expect("a page").permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    // A mount point cannot be replaced.
    fs::write(&path, &old).expect("written");
    let line = format!("10.1.0.2 -q -c 1 --report {path}");
    with_files(&scene, &[[&path, &path]], &line).exit(0);
    let page = read();
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"),
        "{page}"
    );
}

#[test]
fn nothing_runs_for_a_page_that_cannot_be_written() {
    let scene = Scene::new();
    assert_refused(
        |line| ping(&scene, line),
        &[
            (
                "10.1.0.2 -c 1 --report /nowhere/page.html",
                1,
                "cannot write the page to /nowhere/page.html",
            ),
            (
                "10.1.0.2 -c 1 --report /proc/page.html",
                1,
                "(create its directory first, or choose another file for --report)",
            ),
            (
                "10.1.0.2 -c 1 --report /",
                1,
                "(choose another file for --report)",
            ),
            (
                "10.1.0.2 -c 1 --dry-run --report page.html",
                2,
                "cannot be used with",
            ),
        ],
    );
    assert_eq!(echoes_answered(&scene.right), 0);
}
