//! `tapline doctor` prints its findings, the most severe first.

use crate::support;
use serde_json::Value;

use crate::support::doctor::{doctor, examine, of_kind, plant};
use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene, name};

#[test]
fn a_healthy_host_has_no_warnings() {
    let scene = Scene::new();
    let ended = examine(&scene, &[]);
    ended.exit(0);
    let last = ended.stdout.last().expect("a summary");
    assert!(last.starts_with("0 severe, 0 warning, "), "{last}");
    // Commands are not wrapped, so that they can be copied.
    let mut words = ended
        .stdout
        .iter()
        .filter(|line| !line.contains("sysctl -w"));
    assert!(words.all(|line| line.chars().count() <= 100), "{ended:?}");
    assert!(
        ended.stdout.iter().all(|line| !line.starts_with("WARNING")),
        "{ended:?}"
    );
}

#[test]
fn the_most_severe_finding_comes_first() {
    let scene = Scene::new();
    plant(&scene);
    support::ip(&scene.right, &["link", "set", &name(&scene.right), "down"]);
    let ended = examine(&scene, &[]);
    // A severe finding is not an error of the program.
    assert_eq!(
        (ended.status.code(), ended.stderr.len()),
        (Some(1), 0),
        "{ended:?}"
    );
    let found = ended.stdout.iter().filter(|line| {
        ["SEVERE ", "WARNING ", "info "]
            .iter()
            .any(|mark| line.starts_with(mark))
    });
    let found: Vec<&str> = found
        .map(|line| line.split(':').next().unwrap_or_default())
        .collect();
    assert_eq!(
        found[..4],
        [
            "SEVERE link",
            "WARNING filter-memory",
            "WARNING icmp-rate",
            "WARNING gro"
        ]
    );
    let link = name(&scene.right);
    for command in [
        format!("  fix: ip link set {link} up"),
        format!("  fix: ethtool -K {link} gro off   (or --fix)"),
        "  fix: sysctl -w net.core.optmem_max=131072   (or --fix)".into(),
    ] {
        assert!(ended.stdout.contains(&command), "{command} in {ended:?}");
    }
    assert!(
        ended
            .stdout
            .last()
            .expect("a summary")
            .ends_with("--fix would change 3")
    );
}

#[test]
fn json_has_its_keys() {
    let scene = Scene::new();
    plant(&scene);
    let ended = examine(&scene, &["--json"]);
    ended.exit(0);
    let keys = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect()
    };
    let findings = of_kind(&ended, "finding");
    for finding in &findings {
        let expected = [
            "event", "id", "severity", "seen", "effect", "remedy", "fixable",
        ];
        assert_eq!(keys(finding), expected);
    }
    let gro = findings
        .iter()
        .find(|finding| finding["id"] == "gro")
        .expect("a finding");
    assert_eq!(
        (&gro["severity"], &gro["fixable"]),
        (&"warning".into(), &true.into())
    );
    assert_eq!(
        gro["remedy"][0],
        format!("ethtool -K {} gro off", name(&scene.right))
    );
    let abilities = of_kind(&ended, "ability");
    assert!(
        abilities
            .iter()
            .all(|ability| keys(ability) == ["event", "id", "value"])
    );
    let ring = abilities
        .iter()
        .find(|ability| ability["id"] == "ring")
        .expect("rings");
    assert!(ring["value"].as_str().expect("text").contains("packet-v3"));
    let last = ended.events().pop().expect("a summary");
    assert_eq!(last["event"], "summary");
    assert_eq!(last["interface"], name(&scene.right));
    let count = |severity: &str| {
        findings
            .iter()
            .filter(|finding| finding["severity"] == severity)
            .count()
    };
    for severity in ["severe", "warning", "info"] {
        assert_eq!(last[severity], count(severity), "{last}");
    }
    for key in ["unknown", "changed", "failed"] {
        assert_eq!(last[key], 0, "{last}");
    }
}

#[test]
fn a_low_locked_memory_limit_is_found() {
    let scene = Scene::new();
    let mut command = scene.right.command("prlimit");
    command.args(["--memlock=65536", "setpriv", "--bounding-set", "-ipc_lock"]);
    command.args([PROGRAM, "doctor", "--json"]);
    let ended = spawn(command).finish();
    ended.exit(0);
    let findings = of_kind(&ended, "finding");
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
    let ended = doctor(&scene, &["-i", "nowhere"]);
    let line = "cannot get link nowhere: No such device ('ip link' lists the interfaces)";
    assert_eq!(ended.refusal(1), line);
    doctor(&scene, &["--undo", "--fix"]).refusal(2);
    doctor(&scene, &["--undo", "-i", "nowhere"]).refusal(2);
}
