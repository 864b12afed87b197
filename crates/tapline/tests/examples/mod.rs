//! The examples are short and work on real traffic. Expected is what was sent, or what another tool reports.

mod changes;
mod traffic;

use std::fs;
use std::path::Path;
use std::process::Output;

/// The first programs to read: one for each job, at most 20 lines long. The others have at most 60.
const SHORTEST: [&str; 6] = ["capture", "count", "event_loop", "netlink", "ping", "read"];

fn text(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Name and source of each example.
fn sources() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = fs::read_dir(folder).expect("the examples");
    let paths = entries.map(|entry| entry.expect("an example").path());
    let read = |path: &Path| fs::read_to_string(path).expect("a source");
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into();
    paths.map(|path| (name(&path), read(&path))).collect()
}

#[test]
fn the_first_examples_have_at_most_20_lines_and_the_others_60() {
    let sources = sources();
    assert!(sources.len() >= 14, "{} examples", sources.len());
    for (name, source) in &sources {
        let is_short = SHORTEST.contains(&name.as_str());
        let limit = if is_short { 20 } else { 60 };
        assert!(source.lines().count() <= limit, "{name}");
    }
}

#[test]
fn each_example_is_run_by_a_test() {
    let tests = [include_str!("traffic.rs"), include_str!("changes.rs")].concat();
    for (name, _) in sources() {
        assert!(tests.contains(&format!("\"{name}\"")), "{name}");
    }
}
