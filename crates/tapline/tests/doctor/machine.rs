//! Faults of a whole host, which a test may not change here. The tests use User-Mode Linux, which has no BPF JIT and a
//! 100 Hz clock, and folders that replace `/proc` and `/sys`.

use crate::UML;
use std::fs;

use crate::support::doctor::{faults, finding, look_with};
use lab::Net;
use tapline::doctor::{Report, Severity, SystemPaths, examine};
use tempfile::TempDir;

/// A folder with these files, to replace `/proc` or `/sys`.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    folder
}

/// `/proc` and `/sys` are replaced by folders.
#[test]
fn host_faults_in_a_fake_proc_are_found() {
    let [_left, right] = Net::new().pair();
    let proc = folder(&[
        ("sys/net/core/bpf_jit_enable", "0\n"),
        ("sys/net/core/busy_poll", "50\n"),
        ("sys/net/core/rmem_max", "212992\n"),
        ("sys/net/core/wmem_max", "4096\n"),
        ("sys/net/ipv4/neigh/default/gc_thresh3", "64\n"),
        ("sys/net/ipv4/icmp_msgs_per_sec", "10\n"),
    ]);
    let clock = "devices/system/clocksource/clocksource0";
    let sys = folder(&[
        (&format!("{clock}/current_clocksource"), "hpet\n"),
        (
            &format!("{clock}/available_clocksource"),
            "hpet tsc acpi_pm\n",
        ),
    ]);
    let paths = SystemPaths {
        proc: proc.path().into(),
        sys: sys.path().into(),
        ..SystemPaths::default()
    };
    let report = look_with(&right, &paths);
    let found: Vec<_> = faults(&report).into_iter().map(|(id, _)| id).collect();
    assert_eq!(
        found,
        ["jit", "clock-source", "neighbour-table", "icmp-rate"]
    );
    assert_eq!(
        finding(&report, "jit").remedy,
        ["sysctl -w net.core.bpf_jit_enable=1"]
    );
    let polls = finding(&report, "busy-poll");
    assert_eq!(polls.severity, Severity::Info);
    assert_eq!(polls.remedy, ["sysctl -w net.core.busy_poll=0"]);
    let clock_remedy = format!("echo tsc > /sys/{clock}/current_clocksource");
    assert_eq!(finding(&report, "clock-source").remedy, [clock_remedy]);
    // Root may exceed these limits; other users may not.
    for id in ["receive-buffer", "send-buffer"] {
        assert_eq!(finding(&report, id).severity, Severity::Info);
    }
    // A missing file is unknown, not healthy.
    let unknown: Vec<_> = report.unknown.iter().map(|unknown| unknown.id).collect();
    assert_eq!(
        unknown,
        [
            "icmp-echo",
            "icmp-echo",
            "icmp-rate",
            "icmp-rate",
            "sandbox"
        ]
    );
}

/// Runs the test under user-mode-linux and returns true, except inside user-mode-linux.
#[track_caller]
fn has_run() -> bool {
    UML.has_run()
}

/// Examines the host, in its initial network namespace.
fn machine() -> Report {
    examine(None, &SystemPaths::default()).expect("no interface is named")
}

fn ids(report: &Report) -> Vec<&'static str> {
    faults(report).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn a_kernel_without_a_compiler_is_found() {
    if has_run() {
        return;
    }
    let report = machine();
    let jit = finding(&report, "jit");
    assert_eq!(jit.severity, Severity::Warning);
    assert_eq!(
        jit.observed,
        "the kernel loaded a program without compiling it"
    );
    // There is no compiler to enable.
    assert_eq!(jit.remedy, [""; 0]);
}

#[test]
fn a_block_timer_of_10_ms_is_found() {
    if has_run() {
        return;
    }
    let report = machine();
    let timer = finding(&report, "block-timer");
    assert_eq!(timer.severity, Severity::Warning, "{timer:?}");
}

#[test]
fn low_limits_are_found_until_they_are_raised() {
    if has_run() {
        return;
    }
    let planted = [
        ("filter-memory", "core/optmem_max", "20480"),
        ("neighbour-table", "ipv4/neigh/default/gc_thresh3", "64"),
        ("icmp-rate", "ipv4/icmp_msgs_per_sec", "10"),
        ("icmp-echo", "ipv4/icmp_echo_ignore_all", "1"),
    ];
    let path = |setting: &str| format!("/proc/sys/net/{setting}");
    let enough = ["131072", "1024", "1000", "0"];
    for ((_, setting, _), value) in planted.iter().zip(enough) {
        fs::write(path(setting), value).expect("it is set");
    }
    let healthy = ids(&machine());
    for (id, setting, value) in planted {
        let before = fs::read_to_string(path(setting)).expect("it is shown");
        fs::write(path(setting), value).expect("it is set");
        let mut expected = healthy.clone();
        assert!(!expected.contains(&id), "{id} in {expected:?}");
        expected.push(id);
        let mut found = ids(&machine());
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{setting}");
        fs::write(path(setting), before).expect("it is set");
    }
    assert_eq!(ids(&machine()), healthy);
}

/// The limits apply to users without CAP_NET_ADMIN.
#[test]
fn small_buffers_are_found() {
    if has_run() {
        return;
    }
    for (id, setting) in [("receive-buffer", "rmem_max"), ("send-buffer", "wmem_max")] {
        let path = format!("/proc/sys/net/core/{setting}");
        let before = fs::read_to_string(&path).expect("it is shown");
        fs::write(&path, "16777216").expect("it is set");
        assert!(!machine().findings.iter().any(|finding| finding.id == id));
        fs::write(&path, "65536").expect("it is set");
        assert!(finding(&machine(), id).observed.contains("65536"));
        fs::write(&path, before).expect("it is set");
    }
}
