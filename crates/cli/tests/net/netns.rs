//! `tapline netns` is as ip-netns(8). Compared with its JSON and its text.
//!
//! The tests run themselves on a host, with a `/run` and an `/etc` of their own: the machine's names are not
//! touched.

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::support::run::{spawn, spawn_with_input};
use crate::support::stack::{assert_has_all, objects, trimmed};
use crate::support::{PROGRAM, has_run_with_own_mounts};
use lab::tool;
use serde_json::Value;

const MARK: &str = "TAPLINE_CLI_NETNS";
const OWN_FILES: &str =
    "mount -t tmpfs tmpfs /run && cp -a /etc /run/etc && mount --bind /run/etc /etc";

/// Whether the calling test has run inside; false when that is where it runs now.
#[track_caller]
fn has_run() -> bool {
    has_run_with_own_mounts(MARK, OWN_FILES)
}

fn tapline(line: &str) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("netns").args(line.split_whitespace());
    command.output().expect("tapline runs")
}

/// What `tapline netns LINE` prints; it has to succeed.
#[track_caller]
fn done(line: &str) -> String {
    let output = tapline(line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// What ip(8) prints; it has to succeed.
#[track_caller]
fn ip(line: &str) -> String {
    let output = tool::command("ip").args(line.split_whitespace()).output();
    let output = output.expect("ip runs");
    assert!(output.status.success(), "ip {line}");
    String::from_utf8(output.stdout).expect("text")
}

/// What ip(8) shows as JSON, sorted by name.
#[track_caller]
fn ip_json(line: &str) -> Vec<Value> {
    let text = ip(&format!("-json {line}"));
    let mut shown: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    shown.sort_by_key(|shown| shown["name"].to_string());
    shown
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines = trimmed(text);
    lines.sort();
    lines
}

#[test]
fn names_and_numbers_are_those_of_ip() {
    if has_run() {
        return;
    }
    assert_eq!((done(""), done("list-id")), (String::new(), String::new()));
    done("add one");
    ip("netns add two");
    done("add three");
    done("set one 7");
    ip("netns set two 9");
    assert_eq!(sorted(&done("list")), sorted(&ip("netns list")));
    let ours = objects(&done("--json list"));
    assert_eq!(ours.len(), 3);
    assert_has_all(&ours, &ip_json("netns list"));
    assert_eq!(sorted(&done("list-id")), sorted(&ip("netns list-id")));
    let ours = objects(&done("list-id --json"));
    assert_eq!(ours.len(), 2);
    assert_has_all(&ours, &ip_json("netns list-id"));
    let one = done("list-id nsid 9");
    assert_eq!(one.trim(), "nsid 9 (iproute2 netns name: two)");
    done("set three auto");
    assert!(done("list-id nsid 0").contains("three"));
    // Numbers are those that a namespace has in another.
    let line = "-n one netns set two 55";
    ip(line);
    assert_eq!(
        trimmed(&done("-n one list-id")),
        trimmed(&ip("-n one netns list-id"))
    );
    let theirs = ip_json("netns list-id target-nsid 7");
    assert_has_all(&objects(&done("list-id target-nsid 7 --json")), &theirs);
    assert_eq!((theirs.len(), &theirs[0]["nsid"]), (1, &55.into()));
    // A link is where it is said to be.
    ip("link add va type veth peer name vb netns one");
    assert!(ip("-n one link show vb").contains("vb"));
    // Its line has the name of the namespace, or the number if there is no name.
    let show = |line: &str| {
        let mut command = Command::new(PROGRAM);
        let output = command.args(line.split(' ')).output();
        trimmed(&shown_of(output.expect("it runs")))
    };
    let line = "link show va";
    assert_eq!(show(line), trimmed(&ip(line)));
    assert!(show(line).concat().contains(" link-netns one"));
    let line = "-n one link show vb";
    assert_eq!(show(line), trimmed(&ip(line)));
    done("del two");
    ip("netns del one");
    done("delete three");
    assert_eq!(done("list"), "");
    assert_eq!(fs::read_dir("/run/netns").expect("the folder").count(), 0);
}

#[test]
fn programs_run_inside() {
    if has_run() {
        return;
    }
    done("add one");
    ip("-n one link add inside type veth peer name other");
    fs::create_dir_all("/etc/netns/one").expect("a folder");
    fs::write("/etc/netns/one/hosts", "192.0.2.1 of-one\n").expect("written");
    fs::write("/etc/netns/one/no-such-file-there", "").expect("written");
    let mut command = tool::command("ip");
    command.args(["netns", "exec", "one", "cat", "/etc/hosts"]);
    let shown = shown_of(command.output().expect("it runs"));
    assert_eq!(shown, "192.0.2.1 of-one\n");
    assert_eq!(shown, done("exec one cat /etc/hosts"));
    let output = tapline("exec one ls -1 /sys/class/net");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains("/etc/no-such-file-there: No such file"),
        "{said}"
    );
    let mut links = trimmed(&shown_of(output));
    links.sort();
    assert_eq!(links, ["inside", "lo", "other"]);
    fs::remove_file("/etc/netns/one/no-such-file-there").expect("removed");
    // Nothing of that is seen outside.
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    assert!(!hosts.contains("of-one"));
    let mut command = Command::new(PROGRAM);
    command.args(["netns", "exec", "one", "sh", "-c", "exit 7"]);
    assert_eq!(command.status().expect("it runs").code(), Some(7));

    let mut command = Command::new(PROGRAM);
    command.args(["netns", "exec", "one", "sh", "-c", "echo ready; read line"]);
    command.stdin(Stdio::piped());
    let mut running = spawn_with_input(command);
    assert_eq!(running.line(), "ready");
    let pid = running.pid().as_raw_nonzero().to_string();
    assert_eq!(done("pids one").trim(), pid);
    assert_eq!(done("pids one"), ip("netns pids one"));
    let told = objects(&done("pids one --json"));
    assert_eq!(told[0]["pid"].to_string(), pid);
    let line = format!("identify {pid}");
    assert_eq!(
        (done(&line).trim(), done(&line)),
        ("one", ip(&format!("netns {line}")))
    );
    done(&format!("attach other {pid}"));
    assert_eq!(done(&line), "one\nother\n");
    assert_eq!(objects(&done(&format!("{line} --json"))).len(), 2);
    assert_eq!(done("identify").trim(), ip("netns identify").trim());
    done("del other");
    done("del one");
}

#[track_caller]
fn shown_of(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_monitor_tells_of_numbers() {
    if has_run() {
        return;
    }
    done("add one");
    done("set one 7");
    let mut command = Command::new(PROGRAM);
    command.args(["monitor", "netns", "--json"]);
    let mut running = spawn(command);
    let mut of = |event: &str, number: i32| {
        let event = running.event(|told| told["event"] == event && told["netns"]["nsid"] == number);
        event["netns"]["name"].as_str().map(str::to_owned)
    };
    assert_eq!(of("added", 7).as_deref(), Some("one"));
    ip("netns add two");
    ip("netns set two 9");
    assert_eq!(of("added", 9).as_deref(), Some("two"));
    done("del one");
    assert_eq!(of("removed", 7).as_deref(), Some("one"));
    running.stop().exit(0);
    done("del two");
}

#[test]
fn a_batch_does_what_that_of_ip_does() {
    if has_run() {
        return;
    }
    let lines = "netns add three\nnetns set three 9\nnetns list-id\nnetns\nnetns del three\n";
    fs::write("/run/commands", lines).expect("written");
    let [ours, theirs] = [PROGRAM, "ip"].map(|program| {
        let output = Command::new(program).args(["-b", "/run/commands"]).output();
        shown_of(output.expect("it runs"))
    });
    assert_eq!(ours, theirs.replace(" \n", "\n"));
    assert!(
        ours.contains("nsid 9 (iproute2 netns name: three)"),
        "{ours}"
    );
    fs::write("/run/commands", "netns add three\nnetns\n").expect("written");
    let mut batch = Command::new(PROGRAM);
    let output = batch.args(["batch", "--json", "/run/commands"]).output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let lines = text.lines();
    let events: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |event: &str| {
        let found = events.iter().filter(|value| value["event"] == event);
        found.collect::<Vec<_>>()
    };
    let [shown, summary] = [of("shown"), of("summary")];
    assert_eq!((shown.len(), summary.len()), (1, 1), "{text}");
    assert_eq!(shown[0]["line"], 2);
    // The batch stays in its own namespace.
    fs::write("/run/commands", "netns attach four self\n").expect("written");
    let mut batch = Command::new(PROGRAM);
    let output = batch
        .args(["batch", "-n", "three", "/run/commands"])
        .output();
    assert_eq!(output.expect("it runs").status.code(), Some(2));
    done("del three");
    fs::write("/run/commands", "netns add three\n").expect("written");
    let mut undone = Command::new(PROGRAM);
    let output = undone.args(["batch", "--undo", "/run/commands"]).output();
    assert_eq!(output.expect("it runs").status.code(), Some(2));
}

#[test]
fn a_refusal_says_what_is_wrong() {
    if has_run() {
        return;
    }
    done("add one");
    done("set one 7");
    for (line, words, status) in [
        ("add one", "cannot create /run/netns/one: File exists", 1),
        ("add a/b", "Invalid argument", 1),
        ("del two", "cannot delete /run/netns/two: No such file", 1),
        (
            "exec two ls",
            "network namespace /run/netns/two: No such file",
            1,
        ),
        (
            "exec one no-such-program",
            "cannot run no-such-program: No such file",
            1,
        ),
        ("exec one", "PROGRAM", 2),
        ("pids two", "/run/netns/two: No such file", 1),
        ("identify frob", "'frob'", 2),
        ("identify 4194305", "/proc/4194305/ns/net: No such file", 1),
        ("set one 8", "already has a nsid assigned", 1),
        ("set one frob", "'frob'", 2),
        ("list-id frob", "\"frob\"", 2),
        ("list-id nsid -1x", "-1", 2),
        ("frob", "'frob'", 2),
        ("-n one pids one", "-n is for list, set and list-id", 2),
    ] {
        let output = tapline(line);
        let said = String::from_utf8(output.stderr).expect("text");
        assert!(
            said.starts_with("tapline: ") && said.contains(words),
            "{line}: {said}"
        );
        assert_eq!(
            (said.lines().count(), output.status.code()),
            (1, Some(status)),
            "{line}: {said}"
        );
    }
    fs::write("/run/commands", "netns exec one ls\n").expect("written");
    let mut batch = Command::new(PROGRAM);
    let output = batch.args(["batch", "/run/commands"]).output();
    let output = output.expect("tapline runs");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("in place of the batch"), "{said}");
    assert_eq!(output.status.code(), Some(2));
    for line in [
        "add two",
        "exec one ls",
        "del one",
        "set one 9",
        "attach two 1",
    ] {
        let mut command = tool::command("setpriv");
        command.args(["--bounding-set=-all", "--inh-caps=-all", "--reuid=65534"]);
        command
            .args(["--clear-groups", PROGRAM, "netns"])
            .args(line.split(' '));
        let output = command.output().expect("it runs");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(3), "{line}: {said}");
        assert!(said.contains("needs CAP_"), "{line}: {said}");
    }
    done("del one");
}
