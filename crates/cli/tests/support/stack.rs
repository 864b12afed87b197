//! The network stack of a test host, configured and shown by tapline and by iproute2.

use std::process::Output;

use lab::Host;
use serde_json::Value;

use super::PROGRAM;

/// A host with a veth pair, `va` (address 10.0.0.1/24) and `vb`, both up, after the commands `more`.
#[track_caller]
pub fn pair_host(more: &[&str]) -> Host {
    let host = Host::new("host");
    let pair = [
        "link add va type veth peer name vb",
        "link set va up",
        "link set vb up",
        "addr add 10.0.0.1/24 dev va",
    ];
    for line in pair.iter().chain(more) {
        done(&host, line);
    }
    host
}

/// Runs `tapline LINE` on `host`.
#[track_caller]
pub fn tapline(host: &Host, line: &str) -> Output {
    let mut command = host.command(PROGRAM);
    command
        .args(line.split_whitespace())
        .output()
        .expect("tapline runs")
}

/// Output of `tapline LINE`, which must succeed.
#[track_caller]
pub fn done(host: &Host, line: &str) -> String {
    let output = tapline(host, line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Standard error and exit status of `tapline LINE`.
#[track_caller]
pub fn refused(host: &Host, line: &str) -> (String, i32) {
    let output = tapline(host, line);
    let text = String::from_utf8(output.stderr).expect("text");
    let code = output.status.code().expect("it ends by itself");
    (text.trim_end().to_owned(), code)
}

/// Output of an iproute2 program, which must succeed.
#[track_caller]
pub fn theirs(host: &Host, program: &str, line: &str) -> String {
    let mut command = host.command(program);
    let output = command.args(line.split_whitespace()).output();
    let output = output.expect("iproute2 runs");
    assert!(output.status.success(), "{program} {line}");
    String::from_utf8(output.stdout).expect("text")
}

/// JSON output of an iproute2 program.
#[track_caller]
pub fn json_of(host: &Host, program: &str, line: &str) -> Vec<Value> {
    let text = theirs(host, program, &format!("-json {line}"));
    serde_json::from_str(&text).expect("JSON")
}

/// Checks that ours has each key of iproute2's output, with the same value.
#[track_caller]
pub fn assert_has_all(ours: &[Value], theirs: &[Value]) {
    assert_eq!(ours.len(), theirs.len(), "{ours:?}\n{theirs:?}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        for (key, value) in theirs.as_object().expect("keys") {
            assert_eq!(&ours[key], value, "{key} of {theirs}: {ours}");
        }
    }
}

/// JSON Lines without the summary.
#[track_caller]
pub fn objects(text: &str) -> Vec<Value> {
    let lines = text.lines();
    let lines = lines.map(|line| serde_json::from_str(line).expect("JSON"));
    let mut lines: Vec<Value> = lines.collect();
    let summary = lines.pop().expect("a summary");
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["objects"], lines.len());
    lines
}

/// Lines without trailing blanks.
pub fn trimmed(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim_end().to_owned());
    lines.collect()
}

/// Lines with single spaces between words.
pub fn words(text: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).collect()
}

/// Checks that ours has everything in iproute2's output with the same value, at any depth.
#[track_caller]
pub fn assert_prints_all(ours: &[Value], theirs: &[Value], line: &str) {
    let mut missing = Vec::new();
    let [ours, theirs] = [ours, theirs].map(|objects| Value::from(objects.to_vec()));
    find_missing(&ours, [&theirs, &theirs], line, &mut missing);
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Lists what `theirs` has and `ours` lacks or has with another value. Ignores values that differ in iproute2's `later`
/// output, because they vary.
pub fn find_missing(
    ours: &Value,
    [theirs, later]: [&Value; 2],
    path: &str,
    missing: &mut Vec<String>,
) {
    match (ours, theirs, later) {
        (Value::Object(ours), Value::Object(theirs), Value::Object(later)) => {
            for (key, value) in theirs {
                let path = format!("{path}.{key}");
                match (ours.get(key), later.get(key)) {
                    (Some(own), Some(later)) => find_missing(own, [value, later], &path, missing),
                    // iproute2 leaves out an age of 0 in some outputs.
                    (None, Some(_)) if key == "age" && *value == 0 => {}
                    (None, Some(_)) => missing.push(format!("{path}: {value} is missing")),
                    (_, None) => {}
                }
            }
        }
        (Value::Array(own), Value::Array(first), Value::Array(later))
            if own.len() == first.len() && own.len() == later.len() =>
        {
            for (number, ((own, first), later)) in own.iter().zip(first).zip(later).enumerate() {
                find_missing(own, [first, later], &format!("{path}[{number}]"), missing);
            }
        }
        _ if ours == theirs || theirs != later => {}
        _ => missing.push(format!("{path}: {ours} instead of {theirs}")),
    }
}

/// Checks that each line fails with an exit status and one line of text that contains the words.
#[track_caller]
pub fn assert_refused(host: &Host, lines: &[(&str, &str, i32)]) {
    for (line, words, status) in lines {
        let (text, code) = refused(host, line);
        assert!(text.contains(words), "{line}: {text}");
        assert_eq!((text.lines().count(), code), (1, *status), "{line}: {text}");
    }
}

/// Runs `tapline LINE` on `host` as an unprivileged user. Returns standard error and exit status.
#[track_caller]
pub fn refused_nobody(host: &Host, line: &str) -> (String, i32) {
    let mut command = host.command("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--reuid=65534"]);
    command.args(["--clear-groups", PROGRAM]);
    let output = command.args(line.split_whitespace()).output();
    let output = output.expect("it runs");
    let text = String::from_utf8(output.stderr).expect("text");
    let code = output.status.code().expect("it ends by itself");
    (text.trim_end().to_owned(), code)
}

/// Results of `commands`, line by line, with `tapline batch --json ARGUMENTS`, and the exit status.
#[track_caller]
pub fn batch(host: &Host, arguments: &str, commands: &str) -> (Vec<Value>, i32) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("commands");
    std::fs::write(&file, commands).expect("written");
    let line = format!("batch --json {arguments} {}", file.display());
    let output = tapline(host, &line);
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    (
        lines.collect(),
        output.status.code().expect("it ends by itself"),
    )
}
