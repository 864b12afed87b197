//! The unit templates of `packaging/systemd`, under a test systemd.

use std::fs;
use std::path::Path;

use lab::systemd::Systemd;
use serde_json::Value;

use crate::support::frames::{frames, udp};
use crate::support::objects::{KEY_ID, PORT, SECRET, Server};
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

/// A property of the capture.
#[track_caller]
fn property(systemd: &Systemd, name: &str) -> String {
    property_of(systemd, "tapline-capture@edge", name)
}

#[track_caller]
fn property_of(systemd: &Systemd, unit: &str, name: &str) -> String {
    let script = format!("systemctl show --value --property {name} {unit}");
    run(systemd, &script).trim().to_owned()
}

/// Checks that a process has a user of its own, and these capabilities only: CAP_NET_RAW, CAP_PERFMON, CAP_BPF.
#[track_caller]
fn assert_unprivileged(systemd: &Systemd, process: &str) {
    let status = run(systemd, &format!("cat /proc/{process}/status"));
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.expect("a line")
            .split_whitespace()
            .next()
            .expect("a value")
    };
    assert_ne!(field("Uid:"), "0");
    assert_eq!(field("CapBnd:"), "000000c000002000");
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
    assert_unprivileged(&systemd, &first);

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

/// With the settings that the guide names.
#[test]
fn a_capture_in_drop_mode_gets_the_privileges_for_it() {
    let scene = Scene::new();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = fs::read_to_string(repository.join("docs/guide/control.md")).expect("the guide");
    let (_, settings) = guide.split_once("```text\n[Service]\n").expect("settings");
    let (settings, _) = settings.split_once("```").expect("an end");
    let systemd = Systemd::start(&scene.right, &repository, Path::new(PROGRAM));
    // Where the machine limits locked memory, a small buffer is within the limit.
    run(
        &systemd,
        &format!(
            "cp packaging/systemd/tapline-capture@.service packaging/systemd/tapline-capture@.socket /etc/systemd/system/
            mkdir /etc/tapline /etc/systemd/system/tapline-capture@edge.service.d
            echo '[Service]\n{settings}' >/etc/systemd/system/tapline-capture@edge.service.d/override.conf
            echo 'FLAGS=-i right0 --mode drop --buffer 2M -w trace.pcapng' >/etc/tapline/edge.conf
            systemctl start tapline-capture@edge"
        ),
    );
    scene.send(&frames(10, 100));
    lab::wait::until("the packets are delivered", || delivered(&systemd) == 10);
}

#[test]
fn systemd_restarts_a_capture_until_its_interface_exists() {
    let scene = Scene::new();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let systemd = Systemd::start(&scene.right, &repository, Path::new(PROGRAM));
    run(
        &systemd,
        "cp packaging/systemd/tapline-capture@.service packaging/systemd/tapline-capture@.socket /etc/systemd/system/
        mkdir /etc/tapline
        echo 'FLAGS=-i later0 -w trace.pcapng' >/etc/tapline/later.conf
        echo 'FLAGS=-i right0 --no-such-flag' >/etc/tapline/wrong.conf
        systemctl start --no-block tapline-capture@later
        if systemctl start tapline-capture@wrong; then exit 1; fi",
    );
    let of =
        |unit: &str, name: &str| property_of(&systemd, &format!("tapline-capture@{unit}"), name);
    assert_eq!(of("wrong", "ActiveState"), "failed");
    assert_eq!(of("wrong", "NRestarts"), "0");
    // By default, systemd starts a unit five times in ten seconds, and then no more.
    lab::wait::until("it was started six times", || {
        of("later", "NRestarts").parse::<u32>().expect("a number") >= 6
    });
    run(
        &systemd,
        "ip link add later0 type veth peer name later1 && ip link set later0 up",
    );
    lab::wait::until("it captures", || of("later", "ActiveState") == "active");
}

#[test]
fn systemd_starts_flows_that_are_uploaded() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let systemd = Systemd::start(&scene.right, &repository, Path::new(PROGRAM));
    let flags = "-i right0 --direction in --active 100ms -w s3://logs/flows --partition=edge --rotate-interval 300ms udp";
    run(
        &systemd,
        &format!(
            "cp packaging/systemd/tapline-flows@.service /etc/systemd/system/
            mkdir /etc/tapline
            cat >/etc/tapline/flows-edge.conf <<END
FLAGS={flags}
AWS_ENDPOINT_URL=http://127.0.0.1:{PORT}
AWS_ALLOW_HTTP=true
AWS_REGION=us-east-1
AWS_ACCESS_KEY_ID={KEY_ID}
AWS_SECRET_ACCESS_KEY={SECRET}
END
            chmod 600 /etc/tapline/flows-edge.conf
            systemctl start tapline-flows@edge"
        ),
    );
    lab::wait::until("a file is uploaded", || {
        scene.send(&[udp(b"hello")]);
        !server.keys().is_empty()
    });
    let unit = "tapline-flows@edge";
    assert_unprivileged(&systemd, &property_of(&systemd, unit, "MainPID"));
    // Packets that came last are uploaded, too.
    let before = server.keys().len();
    scene.send(&[udp(b"hello")]);
    run(&systemd, "systemctl stop tapline-flows@edge");
    assert_eq!(property_of(&systemd, unit, "Result"), "success");
    assert!(server.keys().len() > before);
    let spool = "/var/lib/tapline/flows-edge/tapline/spool";
    let files = run(&systemd, &format!("find {spool}/ -name '*.parquet'"));
    assert_eq!(files, "");
}
