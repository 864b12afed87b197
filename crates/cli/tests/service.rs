//! The unit templates of `packaging/systemd`, under a systemd of the test's own.

use std::path::Path;

use lab::systemd::Systemd;
use serde_json::Value;

use crate::support::frames::frames;
use crate::support::{PROGRAM, Scene};

/// Runs a script beside the service and returns what it prints. It must succeed.
#[track_caller]
fn run(systemd: &Systemd, script: &str) -> String {
    let output = systemd.run(script);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{script}\n{printed}{errors}");
    printed
}

/// A counter of the capture, which the control socket reports.
#[track_caller]
fn delivered(systemd: &Systemd) -> u64 {
    let stats = run(systemd, "tapline ctl --name edge --json stats");
    let stats: Value = serde_json::from_str(&stats).expect("JSON");
    stats["interfaces"][0]["delivered"]
        .as_u64()
        .expect("a count")
}

/// A property of the service.
#[track_caller]
fn property(systemd: &Systemd, name: &str) -> String {
    let script = format!("systemctl show --value --property {name} tapline-capture@edge");
    run(systemd, &script).trim().to_owned()
}

#[test]
fn systemd_starts_restarts_and_stops_a_capture() {
    let scene = Scene::new();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let systemd = Systemd::start(&scene.right, &repository, Path::new(PROGRAM));
    // A started capture has opened its rings: systemd waits for its message.
    run(
        &systemd,
        "cp packaging/systemd/tapline-capture@.service packaging/systemd/tapline-capture@.socket /etc/systemd/system/
        mkdir /etc/tapline
        echo 'FLAGS=-i right0 -w trace.pcapng' >/etc/tapline/edge.conf
        systemctl start tapline-capture@edge",
    );
    let first = property(&systemd, "MainPID");
    scene.send(&frames(10, 100));
    lab::wait::until("the packets are delivered", || delivered(&systemd) == 10);
    // It is a user of its own, with these capabilities only: CAP_NET_RAW, CAP_PERFMON, CAP_BPF.
    let status = run(&systemd, &format!("cat /proc/{first}/status"));
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.expect("a line")
            .split_whitespace()
            .next()
            .expect("a value")
    };
    assert_ne!(field("Uid:"), "0");
    assert_eq!(field("CapBnd:"), "000000c000002000");

    // A capture that is killed is started again.
    run(
        &systemd,
        "systemctl kill --signal KILL tapline-capture@edge",
    );
    lab::wait::until("another capture runs", || {
        let now = property(&systemd, "MainPID");
        now != first && now != "0" && property(&systemd, "ActiveState") == "active"
    });
    assert_eq!(delivered(&systemd), 0);

    // One that is stopped ends well, and a request to its socket starts it.
    run(&systemd, "systemctl stop tapline-capture@edge");
    assert_eq!(property(&systemd, "Result"), "success");
    assert_eq!(delivered(&systemd), 0);
    assert_eq!(property(&systemd, "ActiveState"), "active");

    // As on a host whose administrator lets only a group run the program.
    run(
        &systemd,
        "systemctl stop tapline-capture@edge
        groupadd --system tapline
        chown root:tapline /usr/local/bin/tapline
        chmod 750 /usr/local/bin/tapline
        setcap cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon=ep /usr/local/bin/tapline
        cp -r packaging/systemd/tapline-capture@.service.d /etc/systemd/system/
        systemctl daemon-reload
        systemctl start tapline-capture@edge",
    );
    scene.send(&frames(10, 100));
    lab::wait::until("the packets are delivered", || delivered(&systemd) == 10);
}
