//! `tapline doctor` changes nothing without `--fix`, and `--undo` restores what it changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use serde_json::json;

use crate::support::doctor::{command, doctor, examine, plant, records, state};
use crate::support::run::spawn;
use crate::support::{Scene, output, tapline};

#[test]
fn nothing_changes_without_fix() {
    let scene = Scene::new();
    plant(&scene);
    let before = state(&scene.right);
    examine(&scene, "").exit(0);
    examine(&scene, "--json").exit(0);
    assert!(state(&scene.right) == before, "a setting has changed");
    assert!(records(&scene).is_empty());
}

#[test]
fn undo_restores_exactly_what_fix_changed() {
    let scene = Scene::new();
    let healthy = state(&scene.right);
    plant(&scene);
    let planted = state(&scene.right);
    assert!(planted != healthy, "nothing was planted");

    let ended = examine(&scene, "--fix --json");
    let changes = ended.events_of("change");
    assert!(
        changes.iter().all(|change| change["state"] == "made"),
        "{changes:?}"
    );
    assert_eq!((changes.len(), ended.done().number("changed")), (3, 3));
    assert!(state(&scene.right) == healthy, "a setting has changed");

    // Only the user may read the record.
    let record = records(&scene).pop().expect("a record");
    let metadata = fs::metadata(&record).expect("the record");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);

    // A second run finds nothing to fix and keeps the record.
    let again = examine(&scene, "--fix");
    again.exit(0);
    let last = again.stdout.last().expect("a summary");
    assert!(last.ends_with("; 0 changed"), "{again:?}");

    let undone = doctor(&scene, "--undo");
    undone.exit(0);
    assert_eq!(undone.stdout.last().expect("a line"), "3 undone");
    assert!(state(&scene.right) == planted, "a setting has changed");
    assert!(records(&scene).is_empty());
    let nothing = doctor(&scene, "--undo --json");
    nothing.exit(0);
    let summary = json!({ "event": "summary", "undone": 0, "left": 0, "failed": 0 });
    assert_eq!(nothing.events(), [summary]);
}

#[test]
fn undo_reads_no_record_of_another_user() {
    let scene = Scene::new();
    plant(&scene);
    examine(&scene, "--fix").exit(0);
    let fixed = state(&scene.right);
    let record = records(&scene).pop().expect("a record");
    chown(&record, Some(12_345), None).expect("root");
    let folder = record.parent().expect("a folder");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o1777)).expect("ours");
    let mut command = command(&scene, "--undo");
    command.env_remove("SUDO_UID");
    let ended = spawn(command).finish();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let errors = ended.stderr.join("\n");
    assert!(errors.contains("it is a file of user 12345"), "{errors}");
    assert!(state(&scene.right) == fixed, "a setting has changed");
}

#[test]
fn undo_leaves_values_that_changed_since() {
    let scene = Scene::new();
    plant(&scene);
    examine(&scene, "--fix").exit(0);
    scene.right.set_sysctl("core/optmem_max", "65536");
    doctor(&scene, "--undo --json")
        .done()
        .has(&json!({"undone": 2, "left": 1}));
    let value = output(&scene.right, "/bin/cat", "/proc/sys/net/core/optmem_max");
    assert_eq!(value.trim(), "65536");
}

/// A record belongs to its namespace; interfaces elsewhere may have the same names.
#[test]
fn undo_in_another_namespace_changes_nothing() {
    let scene = Scene::new();
    plant(&scene);
    examine(&scene, "--fix").exit(0);
    let fixed = state(&scene.right);
    let mut command = tapline(&scene.left, "doctor --undo");
    command.env("XDG_STATE_HOME", scene.folder.path());
    let ended = spawn(command).finish();
    ended.exit(0);
    assert_eq!(ended.stdout, ["nothing to undo in this network namespace"]);
    assert!(state(&scene.right) == fixed, "a setting has changed");
    assert_eq!(records(&scene).len(), 1);
}

#[test]
fn a_change_that_cannot_be_recorded_is_not_made() {
    let scene = Scene::new();
    plant(&scene);
    let before = state(&scene.right);
    let mut command = command(&scene, "-i right0 --fix");
    command.env("XDG_STATE_HOME", scene.write("file", ""));
    let ended = spawn(command).finish();
    assert!(ended.exit(1).contains("record"), "{ended:?}");
    assert!(state(&scene.right) == before, "a setting has changed");
}

#[test]
fn a_missing_privilege_is_reported() {
    let scene = Scene::new();
    plant(&scene);
    let before = state(&scene.right);
    let unprivileged = |line: &str| {
        let mut command = scene.privileged_by("", &format!("doctor -i right0 {line}"));
        command.env("XDG_STATE_HOME", scene.folder.path());
        spawn(command).finish()
    };
    let ended = unprivileged("--json");
    assert_eq!(
        (ended.status.code(), ended.stderr.len()),
        (Some(3), 0),
        "{ended:?}"
    );
    let unknown = ended.events_of("unknown");
    for id in ["ring", "block-timer", "ebpf", "af-xdp"] {
        let found = unknown.iter().find(|unknown| unknown["id"] == id);
        let found = found.unwrap_or_else(|| panic!("{id} in {unknown:?}"));
        assert_eq!(found["needs_privilege"], true, "{found}");
        assert!(
            found["why"]
                .as_str()
                .expect("text")
                .contains("not permitted"),
            "{found}"
        );
    }
    // Every user may query the settings of an interface; changing them needs a privilege.
    let findings = ended.events_of("finding");
    assert!(
        findings.iter().any(|finding| finding["id"] == "gro"),
        "{findings:?}"
    );
    let ended = unprivileged("--fix");
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert!(
        ended.stdout.iter().any(|line| line.starts_with("failed: ")),
        "{ended:?}"
    );
    assert!(state(&scene.right) == before, "a setting has changed");
    assert!(records(&scene).is_empty());
}

/// Records that captures left behind: one of time stamps that cannot be read, and one of an interrupt that is gone.
#[test]
fn undo_goes_on_behind_a_record_that_cannot_be_read() {
    let scene = Scene::new();
    let cookie = scene.right.run(tapline::doctor::namespace_cookie);
    let cookie = cookie.expect("the cookie of the namespace");
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the boot");
    let content = json!({"boot_id": boot_id.trim(), "irq": 4_000_000, "former": "0", "made": "1"});
    // Other tests use the folder of the machine.
    let script = format!(
        "mount -t tmpfs run /run && cd /run && mkdir -p tapline/hwtstamp-{cookie}-9.json && \
         echo '{content}' > tapline/irq-4000000.json && \"$@\"; status=$?; ls tapline; exit $status"
    );
    let undo = command(&scene, "--undo --json");
    let mut unshared = scene.right.command("unshare");
    unshared.args(["-m", "/bin/sh", "-c", &script, "sh"]);
    unshared.arg(undo.get_program()).args(undo.get_args());
    unshared.env("XDG_STATE_HOME", scene.folder.path());
    unshared.env("XDG_RUNTIME_DIR", "/run");
    let ended = unshared.output().expect("undone");
    let shown = String::from_utf8(ended.stdout).expect("text");
    let states: Vec<_> = shown
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|event| event["event"] == "change")
        .map(|event| (event["command"].clone(), event["state"].clone()))
        .collect();
    let expected = [
        (json!("tapline doctor --undo"), json!("failed")),
        (
            json!("echo 0 > /proc/irq/4000000/smp_affinity_list"),
            json!("left"),
        ),
    ];
    assert_eq!(states, expected, "{shown}");
    assert_eq!(ended.status.code(), Some(1), "{shown}");
    assert!(!shown.contains("irq-4000000.json"), "{shown}");
    assert!(shown.contains("hwtstamp-"), "{shown}");
}
