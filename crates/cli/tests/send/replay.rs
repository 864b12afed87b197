//! `tapline send`: what arrives at the other end of a veth, as tcpdump reads it from the file of a capture there.

use std::fs::{self, File};
use std::io::Write;

use rustix::process::Signal;
use serde_json::json;

use crate::support::files::{bytes, pcap};
use crate::support::frames::{frame, frames, tagged};
use crate::support::run::{Ended, Running, spawn, spawn_with_input};
use crate::support::{
    PROGRAM, Scene, arrived, assert_has, assert_refused, ip, tapline, tool_bytes,
};

/// A pcap file of `frames`, a microsecond apart.
fn file(scene: &Scene, name: &str, frames: &[Vec<u8>]) -> String {
    let mut content = pcap(&[]);
    for (number, frame) in (0u32..).zip(frames) {
        let length = u32::try_from(frame.len()).expect("short");
        let record = [0, number * 1_000, length, length].map(u32::to_le_bytes);
        content.extend(record.as_flattened());
        content.extend(frame);
    }
    scene.write(name, content)
}

/// `tapline send -i left0 LINE` at left.
fn start(scene: &Scene, line: &str) -> Running {
    let mut command = tapline(&scene.left, &format!("send -i left0 {line}"));
    command.current_dir(scene.folder.path());
    spawn(command)
}

fn send(scene: &Scene, line: &str) -> Ended {
    start(scene, line).finish()
}

/// Sends with `line` while right captures; returns what arrives, which is `count` packets.
#[track_caller]
fn captured(scene: &Scene, line: &str, count: u64) -> Vec<Vec<u8>> {
    let mut capture = scene.capture("--direction in -w got.pcapng");
    let ended = send(scene, &format!("--json {line}"));
    let summary = ended.done();
    summary
        .has(&json!({ "submitted": count, "accepted": count, "delivered": count, "failed": {} }));
    capture.received(count);
    capture.stop().done().conserves(count);
    bytes(&scene.file("got.pcapng"))
}

#[test]
fn exactly_what_is_in_the_file_arrives_in_order() {
    let scene = Scene::new();
    let lengths = (60..=1514).step_by(7).map(|length| (0, length));
    let mut wanted: Vec<_> = lengths.map(|(at, length)| frame(at, length)).collect();
    wanted.push(tagged(&frame(7, 1514), &[(0x8100, 5)]));
    wanted.push(tagged(&frame(8, 60), &[(0x88a8, 7), (0x8100, 9)]));
    let path = file(&scene, "frames.pcap", &wanted);
    let count = wanted.len() as u64;
    for line in ["", "--path qdisc", "--rate 100kpps", "--speed 0.5"] {
        assert_eq!(
            captured(&scene, &format!("-r {path} {line}"), count),
            wanted,
            "{line}"
        );
    }
    // Jumbo frames.
    for (host, link) in [(&scene.left, "left0"), (&scene.right, "right0")] {
        ip(host, &format!("link set {link} mtu 9000"));
    }
    let wanted = vec![frame(1, 9014), frame(2, 5000)];
    let path = file(&scene, "jumbo.pcap", &wanted);
    assert_eq!(captured(&scene, &format!("-r {path}"), 2), wanted);
}

#[test]
fn files_are_filtered_repeated_limited_and_changed() {
    let scene = Scene::new();
    let wanted: Vec<_> = (0..40)
        .map(|number| frame(number, 60 + number as usize))
        .collect();
    let path = file(&scene, "frames.pcap", &wanted);
    let all = |count: usize| {
        wanted
            .iter()
            .cycle()
            .take(count)
            .cloned()
            .collect::<Vec<_>>()
    };
    let few = captured(&scene, &format!("-r {path} 'len <= 69'"), 10);
    assert_eq!(few, wanted[..10]);
    let thrice = captured(&scene, &format!("-r {path} --loop 3"), 120);
    assert_eq!(thrice, all(120));
    let limited = captured(&scene, &format!("-r {path} --loop 100 -c 1003"), 1003);
    assert_eq!(limited, all(1003));
    let addressed = "--dst-mac 02:00:00:00:00:05 --src-mac 02:00:00:00:00:06 --vlan 77";
    let changed = captured(&scene, &format!("-r {path} {addressed}"), 40);
    let expected = wanted.iter().map(|frame| {
        let mut frame = tagged(frame, &[(0x8100, 77)]);
        frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 6]);
        frame
    });
    assert_eq!(changed, expected.collect::<Vec<_>>());
    // Compressed, from standard input.
    let packed = scene.write("frames.pcap.gz", tool_bytes("gzip", &format!("-c {path}")));
    let mut command = tapline(&scene.left, "send -i left0 -r - --json");
    command.stdin(File::open(packed).expect("the file"));
    assert_eq!(spawn_with_input(command).done().number("accepted"), 40);
}

#[test]
fn no_packet_is_sent_before_its_time() {
    let scene = Scene::new();
    let wanted = frames(100, 125);
    let path = file(&scene, "frames.pcap", &wanted);
    // 99 gaps; a frame has 1000 bits, and 1192 on the wire.
    for (rate, least_ns) in [
        ("--rate 10kpps", 9_900_000),
        ("--rate 10Mbps", 9_900_000),
        ("--rate 10Mbps-wire", 11_800_800),
        ("--speed 0.01", 9_900_000),
    ] {
        let ended = send(&scene, &format!("-r {path} {rate} --json"));
        let summary = ended.done();
        assert!(
            summary.number("duration_ns") >= least_ns,
            "{rate} {summary:?}"
        );
        assert!(summary.number("late_p50_ns") <= summary.number("late_max_ns"));
    }
    // A plan of half a millisecond: packets go out together, and the few that the kernel stamps say nothing about the others.
    let behind = format!("-r {path} --loop 500 --rate 100Mpps --json");
    let behind = send(&scene, &behind).done();
    behind.has(&json!({ "late_against": "system call", "late_packets": 50_000 }));
    let unpaced = send(&scene, &format!("-r {path} --path bypass --json")).done();
    unpaced.has(&json!({ "late_p50_ns": null, "path": "bypass" }));
}

#[test]
fn frames_above_the_mtu_are_refused_skipped_or_truncated() {
    let scene = Scene::new();
    let tag = [(0x8100, 5)];
    let wanted = [
        frame(1, 1514),
        frame(2, 1515),
        tagged(&frame(3, 1514), &tag),
        tagged(&frame(4, 1515), &tag),
    ];
    let path = file(&scene, "frames.pcap", &wanted);
    let skipped = captured(&scene, &format!("-r {path} --fit skip"), 2);
    assert_eq!(skipped, [&wanted[0][..], &wanted[2]]);
    let truncated = captured(&scene, &format!("-r {path} --fit truncate"), 4);
    let most = [1514, 1514, 1518, 1518];
    let expected = wanted
        .iter()
        .zip(most)
        .map(|(frame, most)| frame[..most].to_vec());
    assert_eq!(truncated, expected.collect::<Vec<_>>());
    let refused = send(&scene, &format!("-r {path} --json"));
    let text = "a frame of 1515 bytes is too long for left0, which takes 1514; use --fit truncate or --fit skip";
    assert_eq!(refused.exit(1), text);
    assert_eq!(refused.summary().number("accepted"), 1);
}

#[test]
fn an_interface_that_goes_down_and_a_signal_end_it_with_a_true_account() {
    let scene = Scene::new();
    let path = file(&scene, "frames.pcap", &frames(1000, 60));
    let sent = |running: Running, code: i32| {
        let before = arrived(&scene.right);
        let ended = running.finish();
        (ended.exit(code).to_owned(), ended.summary(), before)
    };
    let running = start(
        &scene,
        &format!("-r {path} --rate 2kpps --loop 1000 --json"),
    );
    lab::wait::until("packets arrive", || arrived(&scene.right) > 0);
    running.signal(Signal::INT);
    let (_, summary, _) = sent(running, 0);
    summary.has(&json!({ "stopped": true, "failed": {} }));
    assert_eq!(summary.number("accepted"), arrived(&scene.right));
    let before = arrived(&scene.right);
    let running = start(
        &scene,
        &format!("-r {path} --rate 2kpps --loop 1000 --json"),
    );
    lab::wait::until("packets arrive", || arrived(&scene.right) > before);
    ip(&scene.left, "link set left0 down");
    let (said, summary, _) = sent(running, 1);
    assert_eq!(said, "cannot send on left0 by path bypass: Network is down");
    assert_eq!(summary.number("accepted"), arrived(&scene.right) - before);
    assert_eq!(summary.number("submitted"), summary.number("accepted") + 1);
}

#[test]
fn an_endless_replay_ends_at_a_signal_or_the_limit_on_every_path() {
    let scene = Scene::new();
    let path = file(&scene, "frames.pcap", &frames(1000, 60));
    // Its XDP program makes the veth interface take XDP frames.
    let mut count = spawn(tapline(&scene.right, "count -i right0 --json"));
    count.ready();
    for way in [
        "--path live-frames",
        "--path xdp",
        "--path bypass",
        "--path qdisc",
        "--path bypass --threads 2",
        "--rate 10kpps",
    ] {
        let before = arrived(&scene.right);
        let running = start(&scene, &format!("-r {path} --loop 0 {way} --json"));
        lab::wait::until("more than one pass arrives", || {
            arrived(&scene.right) > before + 1000
        });
        running.signal(Signal::INT);
        let ended = running.finish();
        let summary = ended.done();
        summary.has(&json!({ "stopped": true, "failed": {} }));
        let accepted = summary.number("accepted");
        lab::wait::until("all packets arrive", || {
            arrived(&scene.right) == before + accepted
        });
    }
    let before = arrived(&scene.right);
    let limited = send(&scene, &format!("-r {path} --loop 0 -c 2500 --json"));
    limited
        .done()
        .has(&json!({ "accepted": 2500, "stopped": false }));
    lab::wait::until("all packets arrive", || {
        arrived(&scene.right) == before + 2500
    });
    count.stop().exit(0);
}

#[test]
fn a_signal_ends_it_while_a_pipe_gives_no_packets() {
    for threads in ["", "--threads 2"] {
        let scene = Scene::new();
        let path = file(&scene, "frames.pcap", &frames(3, 60));
        let content = fs::read(path).expect("the file");
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(&content).expect("room");
        let mut command = tapline(&scene.left, &format!("send -i left0 -r - {threads} --json"));
        command.stdin(reader);
        let mut running = spawn_with_input(command);
        running.ready();
        running.signal(Signal::INT);
        running.finish().done().has(&json!({ "stopped": true }));
        drop(writer);
    }
}

#[test]
fn packets_of_a_pipe_are_sent_when_it_pauses() {
    for threads in ["", "--threads 2"] {
        let scene = Scene::new();
        // The last is not to be sent.
        let wanted = [frames(3, 60), vec![frame(9, 70)]].concat();
        let path = file(&scene, "frames.pcap", &wanted);
        let content = fs::read(path).expect("the file");
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(&content).expect("room");
        // The beginning of another packet.
        writer.write_all(&content[24..50]).expect("room");
        let before = arrived(&scene.right);
        let line = format!("send -i left0 -r - {threads} --json less 60");
        let mut command = tapline(&scene.left, &line);
        command.stdin(reader);
        let mut running = spawn_with_input(command);
        lab::wait::until("the packets arrive", || arrived(&scene.right) == before + 3);
        // Its rest, and nothing more.
        writer.write_all(&content[50..24 + 76]).expect("room");
        lab::wait::until("the last packet arrives", || {
            arrived(&scene.right) == before + 4
        });
        drop(writer);
        running.ready();
        running.finish().done().has(&json!({ "accepted": 4 }));
    }
}

#[test]
fn packets_of_a_pipe_are_in_the_file_when_it_pauses() {
    let scene = Scene::new();
    let wanted = frames(3, 60);
    let content = fs::read(file(&scene, "frames.pcap", &wanted)).expect("the file");
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(&content).expect("room");
    let out = scene.file("out.pcapng");
    let mut command = tapline(&scene.left, &format!("send -r - -w {out} --json"));
    command.stdin(reader);
    let mut running = spawn_with_input(command);
    running.ready();
    lab::wait::until("the last packet is in the file", || {
        let is_last = |part: &[u8]| part == &wanted[2][..];
        fs::read(&out).is_ok_and(|content| content.windows(60).any(is_last))
    });
    // The pipe stays open.
    running.signal(Signal::INT);
    running.finish().exit(0);
    assert_eq!(bytes(&out), wanted);
    drop(writer);
}

#[test]
fn packets_before_the_damage_of_a_file_are_sent() {
    let scene = Scene::new();
    let wanted = frames(5, 100);
    let whole = fs::read(file(&scene, "whole.pcap", &wanted)).expect("the file");
    let cut = scene.write("cut.pcap", &whole[..whole.len() - 7]);
    let mut huge = whole.clone();
    // The captured length of the fourth packet.
    let at = 24 + 3 * 116 + 8;
    huge[at..at + 4].copy_from_slice(&[0xff; 4]);
    let huge = scene.write("huge.pcap", huge);
    let noise = scene.write("noise.pcap", [7; 400]);
    for (path, count, text) in [
        (&cut, 4, "truncated packet record (block 5 at byte 488)"),
        (&huge, 3, "corrupt packet record (block 4 at byte 372)"),
        (&noise, 0, "not a capture file"),
    ] {
        let before = arrived(&scene.right);
        let ended = send(&scene, &format!("-r {path} --json"));
        let said = ended.exit(1);
        assert!(said.contains(text), "{said}");
        if count > 0 {
            let summary = ended.summary();
            summary.has(&json!({ "submitted": count, "accepted": count, "delivered": count }));
        }
        assert_eq!(arrived(&scene.right), before + count);
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let scene = Scene::new();
    let path = file(&scene, "frames.pcap", &frames(3, 60));
    let mut raw = pcap(&[]);
    raw[20] = 101;
    raw.extend([
        0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0x45, 0, 0, 4,
    ]);
    let raw = scene.write("raw.pcap", raw);
    let fifo = scene.file("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo runs").success());
    let run = |line: &str| send(&scene, &format!("--quiet {line}"));
    assert_refused(
        run,
        &[
            (
                "--split left0 -r none.pcap",
                2,
                "--split needs another interface than -i left0",
            ),
            ("-r none.pcap", 1, "cannot open none.pcap: No such file"),
            (
                &format!("-r {raw}"),
                1,
                "link type 101; only Ethernet can be sent",
            ),
            (&format!("-r {path} ip6"), 1, "tapline: no packet to send"),
            (
                &format!("-r {path} tcp prot 80"),
                2,
                "did you mean \"port\"?",
            ),
            (
                &format!("-r {path} --rate 10"),
                2,
                "use max, recorded, or a rate",
            ),
            (&format!("-r {path} --speed 0"), 2, "use a number above 0"),
            (
                &format!("-r {path} --vlan 4095"),
                2,
                "4095 is not in 0..=4094",
            ),
            ("-r - --loop 2", 2, "--loop needs a file"),
            (
                &format!("-r {fifo} --loop 2"),
                2,
                &format!("{fifo} is a pipe, which can be sent only once: --loop needs a file"),
            ),
            (
                &format!("-r {path} --path live-frames"),
                4,
                "the device sends no XDP frames (a veth interface does while its peer has an XDP program or GRO); --path auto chooses another",
            ),
            ("-r - --loop 0", 2, "--loop needs a file"),
            (
                &format!("-r {path} --loop 0 --dry-run"),
                2,
                "give --count for a dry run",
            ),
        ],
    );
    assert_eq!(arrived(&scene.right), 0);
    ip(&scene.left, "address add 192.0.2.1/24 dev left0");
    ip(&scene.left, "route add default via 192.0.2.2");
    let refused = send(&scene, &format!("-r {path}"));
    let text = "interface left0 is an uplink: it carries a route wider than 10.0.0.0/8 or fc00::/7, such as a default route, or is stacked with such an interface; give --yes-on-uplink to send on it";
    assert_eq!(refused.refusal(2), text);
    send(&scene, &format!("-r {path} --yes-on-uplink")).exit(0);
    ip(&scene.left, "route del default");
    ip(&scene.left, "link add br0 type bridge");
    ip(&scene.left, "link set left0 master br0");
    ip(&scene.left, "link set br0 up");
    ip(&scene.left, "route add default dev br0");
    assert_eq!(send(&scene, &format!("-r {path}")).refusal(2), text);
    let mut command = scene.left.command("setpriv");
    command.args(["--bounding-set", "-all", PROGRAM, "send", "-i", "left0"]);
    command.args(["-r", &path, "--yes-on-uplink"]);
    let refused = spawn(command).finish();
    assert_eq!(
        refused.refusal(3),
        "cannot send on left0 by path auto: cannot open a packet socket: Operation not permitted (needs CAP_NET_RAW; run with sudo or setcap)"
    );
    // Files are opened before interfaces.
    let absent = spawn(tapline(&scene.left, "send -i none -r none.pcap")).finish();
    assert!(absent.refusal(1).contains("cannot open none.pcap"));
    let absent = spawn(tapline(&scene.left, &format!("send -i none -r {path}"))).finish();
    assert!(
        absent
            .refusal(1)
            .contains("No such device ('ip link' lists the interfaces)")
    );
}

#[test]
fn an_interface_without_ethernet_headers_is_refused() {
    let scene = Scene::new();
    let path = file(&scene, "frames.pcap", &frames(3, 60));
    ip(&scene.left, "tuntap add tun0 mode tun");
    ip(&scene.left, "link set tun0 up");
    for packets in [
        format!("-r {path}"),
        "--raw 'ffffffffffff 020000000001 88b5' --count 1".into(),
    ] {
        let refused = spawn(tapline(&scene.left, &format!("send -i tun0 {packets}"))).finish();
        assert_eq!(
            refused.refusal(2),
            "interface tun0 has hardware type 65534, and the packets have link type 1; only Ethernet interfaces take these frames"
        );
    }
}

#[test]
fn a_dry_run_sends_nothing() {
    let scene = Scene::new();
    let path = file(
        &scene,
        "frames.pcap",
        &[frame(1, 60), frame(2, 100), frame(3, 1514)],
    );
    let dry = |words: &str| -> serde_json::Value {
        let ended = send(&scene, &format!("-r {path} {words} --dry-run --json"));
        ended.exit(0);
        serde_json::from_str(&ended.stdout[0]).expect("JSON")
    };
    let plan = dry("--loop 2 -c 5");
    assert_has(
        &plan,
        &json!({ "packets": 5, "bytes": 60 + 100 + 1514 + 60 + 100, "shortest_bytes": 60, "longest_bytes": 1514 }),
    );
    assert_has(&plan, &json!({ "duration_ns": null, "path_error": null }));
    // From the first packet to the fifth.
    let paced = dry("--loop 2 -c 5 --rate 1kpps");
    assert_has(&paced, &json!({ "duration_ns": 4_000_000 }));
    let forced = dry("--path xdp-zerocopy");
    assert_has(&forced, &json!({ "path": "xdp-zerocopy" }));
    // As the job would treat them.
    ip(&scene.left, "link set left0 mtu 80");
    let skipped = dry("--fit skip");
    assert_has(
        &skipped,
        &json!({ "packets": 1, "bytes": 60, "skipped": 2, "truncated": 0 }),
    );
    let cut = dry("--fit truncate");
    assert_has(
        &cut,
        &json!({ "packets": 3, "bytes": 60 + 94 + 94, "skipped": 0, "truncated": 2 }),
    );
    let refused = send(&scene, &format!("-r {path} --dry-run"));
    let text = "a frame of 100 bytes is too long for left0, which takes 94; use --fit truncate or --fit skip";
    assert_eq!(refused.refusal(1), text);
    ip(&scene.left, "link set left0 mtu 1500");
    assert_eq!(arrived(&scene.right), 0);
    for (words, plan) in [("", plan), ("--rate 100kpps", dry("--rate 100kpps"))] {
        let sent = send(&scene, &format!("-r {path} {words} --json"));
        sent.done().has(&json!({ "path": plan["path"] }));
    }
}
