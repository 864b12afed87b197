//! `tapline doctor` prints its findings, the most severe first.

use serde_json::{Value, json};

use crate::support::doctor::{doctor, examine, plant};
use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene, assert_has, assert_refused, ip, keys};

#[test]
fn a_healthy_host_has_no_warnings() {
    let scene = Scene::new();
    let ended = examine(&scene, "");
    ended.exit(0);
    let last = ended.stdout.last().expect("a summary");
    assert!(last.starts_with("0 severe, 0 warning, "), "{last}");
    // Commands are not wrapped, so that they can be copied.
    let mut prose = ended
        .stdout
        .iter()
        .filter(|line| !line.contains("sysctl -w"));
    assert!(prose.all(|line| line.chars().count() <= 100), "{ended:?}");
    assert!(
        ended.stdout.iter().all(|line| !line.starts_with("WARNING")),
        "{ended:?}"
    );
}

#[test]
fn the_most_severe_finding_comes_first() {
    let scene = Scene::new();
    plant(&scene);
    ip(&scene.right, "link set right0 down");
    let ended = examine(&scene, "");
    // A severe finding is not an error of the program.
    assert_eq!(
        (ended.status.code(), ended.stderr.len()),
        (Some(1), 0),
        "{ended:?}"
    );
    let is_finding = |line: &&String| {
        let marks = ["SEVERE ", "WARNING ", "info "];
        marks.iter().any(|mark| line.starts_with(mark))
    };
    let found = ended.stdout.iter().filter(is_finding).take(4);
    let found: Vec<&str> = found.filter_map(|line| line.split(':').next()).collect();
    assert_eq!(
        found,
        [
            "SEVERE link",
            "WARNING filter-memory",
            "WARNING icmp-rate",
            "WARNING gro"
        ]
    );
    for command in [
        "  fix: ip link set right0 up",
        "  fix: ethtool -K right0 gro off   (or --fix)",
        "  fix: sysctl -w net.core.optmem_max=131072   (or --fix)",
    ] {
        ended.assert_says(command);
    }
    let last = ended.stdout.last().expect("a summary");
    assert!(last.ends_with("--fix would change 3"), "{last}");
}

#[test]
fn json_has_its_keys() {
    let scene = Scene::new();
    plant(&scene);
    let ended = examine(&scene, "--json");
    let findings = ended.events_of("finding");
    for finding in &findings {
        let contract = [
            "event", "id", "severity", "seen", "effect", "remedy", "fixable",
        ];
        assert_eq!(keys(finding), contract);
    }
    let find = |events: &[Value], id: &str| {
        let found = events.iter().find(|event| event["id"] == id);
        found
            .unwrap_or_else(|| panic!("{id} in {events:?}"))
            .clone()
    };
    let gro =
        json!({"severity": "warning", "fixable": true, "remedy": ["ethtool -K right0 gro off"]});
    assert_has(&find(&findings, "gro"), &gro);
    let abilities = ended.events_of("ability");
    assert!(
        abilities
            .iter()
            .all(|ability| keys(ability) == ["event", "id", "value"])
    );
    let ring = find(&abilities, "ring");
    assert!(ring["value"].as_str().expect("text").contains("packet-v3"));
    let count = |severity: &str| {
        findings
            .iter()
            .filter(|finding| finding["severity"] == severity)
            .count()
    };
    ended.done().has(&json!({
        "interface": "right0", "severe": count("severe"), "warning": count("warning"), "info": count("info"),
        "unknown": 0, "changed": 0, "failed": 0,
    }));
}

#[test]
fn a_low_locked_memory_limit_is_found() {
    let scene = Scene::new();
    let mut command = scene.right.command("prlimit");
    command.args(["--memlock=65536", "setpriv", "--bounding-set", "-ipc_lock"]);
    command.args([PROGRAM, "doctor", "--json"]);
    let ended = spawn(command).finish();
    ended.exit(0);
    let findings = ended.events_of("finding");
    let found = findings
        .iter()
        .find(|finding| finding["id"] == "locked-memory");
    let found = found.unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!(found["severity"], "warning");
    assert!(
        found["seen"].as_str().expect("text").contains("65536"),
        "{found}"
    );
}

#[test]
fn wrong_usage_is_rejected() {
    let scene = Scene::new();
    let unknown =
        "tapline: cannot get link nowhere: No such device ('ip link' lists the interfaces)";
    let rows = [
        ("-i nowhere", 1, unknown),
        ("--undo --fix", 2, ""),
        ("--undo -i nowhere", 2, ""),
    ];
    assert_refused(|line| doctor(&scene, line), &rows);
}
