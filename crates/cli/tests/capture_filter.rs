//! Filter expressions in captures, held against tcpdump's programs for them in the kernel, on the same
//! traffic; in the kernel whole, and split between the kernel and the reader.

use crate::support;
use std::fs;

use crate::support::files::options;
use crate::support::frames::{frame, frames, tagged, udp};
use crate::support::run::{Ended, Running, start};
use crate::support::{Scene, ip, ip_json, name};

/// Frames both ways: untagged, with tags of both kinds, with two tags, to all and to groups.
struct Traffic {
    there: Vec<Vec<u8>>,
    back: Vec<Vec<u8>>,
}

impl Traffic {
    fn new() -> Self {
        let plain = udp(b"plain");
        let mut there = vec![
            plain.clone(),
            udp(&[7; 400]),
            tagged(&plain, &[(0x8100, 10)]),
            tagged(&plain, &[(0x8100, 0xa00a)]),
            tagged(&plain, &[(0x8100, 20)]),
            tagged(&plain, &[(0x8100, 0)]),
            tagged(&plain, &[(0x88a8, 10)]),
            tagged(&plain, &[(0x88a8, 30), (0x8100, 10)]),
            tagged(&plain, &[(0x8100, 10), (0x8100, 20)]),
            tagged(&frame(1, 80), &[(0x8100, 10)]),
            frame(2, 60),
            frame(3, 1400),
        ];
        for destination in [[0xff; 6], [1, 0, 0x5e, 0, 0, 9], [2, 0, 0, 0, 9, 9]] {
            let mut frame = frame(4, 80);
            frame[..6].copy_from_slice(&destination);
            there.push(frame);
        }
        let back = vec![
            udp(b"answer"),
            frame(5, 90),
            tagged(&plain, &[(0x8100, 10)]),
            tagged(&frame(6, 70), &[(0x8100, 20)]),
        ];
        Self { there, back }
    }

    /// Sends all of it; gives how many frames that are.
    fn send(&self, scene: &Scene) -> u64 {
        scene.send(&self.there);
        let out = scene.right.interface().index;
        let back = &self.back;
        let sent = scene.right.run(|| lab::generator::send_frames(out, back));
        assert_eq!(sent.expect("frames are sent"), back.len() as u64);
        (self.there.len() + back.len()) as u64
    }
}

/// The frames in a pcap file.
fn packets(file: &str) -> Vec<Vec<u8>> {
    let bytes = fs::read(file).expect("a file");
    let mut rest = &bytes[24..];
    let mut packets = Vec::new();
    while let Some((head, behind)) = rest.split_first_chunk::<16>() {
        let kept = u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize;
        packets.push(behind[..kept].to_vec());
        rest = &behind[kept..];
    }
    packets
}

/// A capture with `arguments` into `file`, begun.
fn into(scene: &Scene, file: &str, arguments: &[&str]) -> Running {
    let common = ["-w", file, "--format", "pcap", "--stats-interval", "5ms"];
    start(&scene.right, &[&common, arguments].concat())
}

/// What tcpdump makes of `expression` for a socket on the right host's interface.
fn tcpdumps(scene: &Scene, expression: &str) -> String {
    let mut command = scene.right.command("tcpdump");
    command.args(["-i", &name(&scene.right), "-ddd", expression]);
    let output = command.output().expect("tcpdump runs");
    assert!(output.status.success(), "{expression}: {output:?}");
    let file = scene.file("program");
    fs::write(&file, output.stdout).expect("a file");
    file
}

/// `expression`, and a list of senders that nobody is and that the kernel cannot hold.
fn made_long(expression: &str) -> String {
    let stations: Vec<String> = (0..4000)
        .map(|n: u32| format!("06:00:00:00:{:02x}:{:02x}", n / 251, n % 251))
        .collect();
    let nobody = format!("not ether src ({})", stations.join(" or "));
    match expression {
        "" => nobody,
        expression => format!("{nobody} and ({expression})"),
    }
}

fn counted(ended: &Ended, sent: u64, delivered: usize, place: &str) {
    ended.exit(0);
    let summary = ended.summary();
    summary.conserves(sent);
    assert_eq!(summary.number("delivered"), delivered as u64);
    assert_eq!(summary.all_lost(), 0);
    assert_eq!(summary.0["filter"], place, "{summary:?}");
    assert_eq!(summary.0["interfaces"][0]["filter"], place);
}

/// Captures with our expression, with tcpdump's program for it, and with ours made too long for the
/// kernel: all three see the same.
fn assert_same(scene: &Scene, expression: &str, flags: &[&str]) {
    let traffic = Traffic::new();
    let [ours, theirs, split] = ["ours", "theirs", "split"].map(|name| scene.file(name));
    let program = tcpdumps(scene, expression);
    let long = made_long(expression);
    let mut running = [
        into(scene, &ours, &[flags, &[expression]].concat()),
        into(scene, &theirs, &[flags, &["--bpf", &program]].concat()),
        into(scene, &split, &[flags, &[&long]].concat()),
    ];
    let sent = traffic.send(scene);
    for running in &mut running {
        running.received(sent);
    }
    let [with_ours, with_theirs, with_split] = running.map(Running::stop);
    let expected = packets(&theirs);
    with_theirs.exit(0);
    assert_eq!(
        with_theirs.summary().number("delivered"),
        expected.len() as u64
    );
    counted(&with_ours, sent, expected.len(), "kernel");
    counted(&with_split, sent, expected.len(), "split");
    assert_eq!(packets(&ours), expected, "{expression}");
    assert_eq!(packets(&split), expected, "{expression}, split");
}

#[test]
fn expressions_without_tags_mean_what_they_mean_to_tcpdump() {
    let scene = Scene::new();
    for expression in [
        "",
        "udp",
        "udp port 9 and src host 198.18.0.1",
        "ether proto 0x88b5",
        "ether broadcast",
        "ether multicast",
        "not ip",
        "greater 100",
        "less 70",
        "len = 84",
        "ip[8] = 64 and udp[4:2] > 100",
        "inbound",
        "outbound",
        "outbound and udp",
    ] {
        assert_same(&scene, expression, &[]);
    }
}

#[test]
fn expressions_with_tags_mean_what_they_mean_to_tcpdump() {
    let scene = Scene::new();
    for expression in [
        "vlan",
        "vlan 10",
        "not vlan",
        "vlan 10 and udp",
        "vlan and vlan",
        "vlan 30 and vlan 10 and udp",
        "vlan 10 and vlan 20 and udp port 9",
        "udp or (vlan 10 and udp)",
        "vlan 10 and inbound",
        "vlan 20 and less 80",
        "vlan and ether[12:2] = 0x88b5",
    ] {
        assert_same(&scene, expression, &[]);
    }
}

/// The reader looks at whole packets, whatever is kept of them.
#[test]
fn a_split_filter_sees_more_than_the_snaplen() {
    let scene = Scene::new();
    for backend in ["packet-v2", "packet-v3"] {
        let flags = ["-s", "20", "--backend", backend];
        assert_same(&scene, "udp[8] = 7 and udp[400] = 7", &flags);
        assert_same(&scene, "vlan 10 and udp port 9", &flags);
        let kept = packets(&scene.file("split"));
        assert!(kept.len() > 2 && kept.iter().all(|bytes| bytes.len() == 20));
    }
}

#[test]
fn each_direction_is_filtered_alone() {
    let scene = Scene::new();
    let traffic = Traffic::new();
    for (direction, offered) in [("in", traffic.there.len()), ("out", traffic.back.len())] {
        for (expression, place) in [("udp", "kernel"), (&made_long("udp"), "split")] {
            let file = scene.file("file");
            let mut running = into(&scene, &file, &["--direction", direction, expression]);
            traffic.send(&scene);
            running.received(offered as u64);
            let ended = running.stop();
            let delivered = if direction == "in" { 7 } else { 1 };
            counted(&ended, offered as u64, delivered, place);
        }
    }
}

/// The mask of an address of the interface says what is a broadcast.
#[test]
fn the_netmask_is_the_interfaces() {
    let scene = Scene::new();
    let to = |address: [u8; 4]| {
        let mut frame = udp(b"to all");
        frame[30..34].copy_from_slice(&address);
        frame
    };
    let frames = [
        to([10, 1, 15, 255]),
        to([10, 1, 2, 255]),
        to([10, 1, 16, 0]),
        to([255; 4]),
        to([0; 4]),
    ];
    let interface = name(&scene.right);
    // The lab gives it an address, which would be the first.
    ip(&scene.right, &["address", "flush", "dev", &interface]);
    let wanted = |numbers: &[usize]| numbers.iter().map(|&n| frames[n].clone()).collect();
    let limited: Vec<Vec<u8>> = wanted(&[3, 4]);
    let directed: Vec<Vec<u8>> = wanted(&[0, 2, 3, 4]);
    for (address, expected) in [
        (None, limited),
        (Some("10.1.2.3/20"), directed.clone()),
        // The first address counts.
        (Some("10.9.9.9/8"), directed),
    ] {
        if let Some(address) = address {
            let words = [
                "address",
                "add",
                address,
                "broadcast",
                "+",
                "dev",
                &interface,
            ];
            ip(&scene.right, &words);
            let shown = ip_json(&scene.right, &["-4", "address", "show", "dev", &interface]);
            assert_eq!(shown[0]["addr_info"][0]["broadcast"], "10.1.15.255");
        }
        let file = scene.file("file");
        let mut running = into(&scene, &file, &["ip", "broadcast"]);
        scene.send(&frames);
        running.received(5);
        counted(&running.stop(), 5, expected.len(), "kernel");
        assert_eq!(packets(&file), expected, "{address:?}");
    }
}

/// A long list of hosts: few are wanted, and the summary tells what became of all.
#[test]
fn a_list_that_the_kernel_cannot_hold_is_split() {
    let scene = Scene::new();
    let hosts: Vec<String> = (0..2000)
        .map(|n: u32| format!("198.{}.{}.2", 18 + n / 250, n % 250))
        .collect();
    let list = hosts.join(" or ");
    let from = |n: u8| {
        let mut frame = udp(b"one of many");
        frame[28..30].copy_from_slice(&[n, 2]);
        frame[30..34].copy_from_slice(&[10, 0, 0, 1]);
        frame
    };
    let wanted: Vec<Vec<u8>> = (0..200).map(from).collect();
    let mut strangers = wanted.clone();
    for frame in &mut strangers {
        frame[29] = 3;
    }
    let file = scene.file("file.pcapng");
    for backend in ["packet-v2", "packet-v3"] {
        let flags = ["-w", &file, "--stats-interval", "5ms", "-s", "256"];
        let filter = ["--backend", backend, "host", &list];
        let mut running = start(&scene.right, &[&flags[..], &filter].concat());
        scene.send(&strangers);
        scene.send(&wanted);
        scene.send(&frames(100, 60));
        running.received(500);
        let ended = running.stop();
        counted(&ended, 500, 200, "split");
        let options = options(&file);
        let filter = options.iter().find(|option| option.starts_with("Filter"));
        assert!(filter.is_some(), "{options:?}");
    }
}

/// What a socket may take for its filter is limited too, also for a list that has few instructions
/// enough.
#[test]
fn a_filter_beyond_the_memory_of_the_socket_is_split() {
    let scene = Scene::new();
    scene.right.set_sysctl("core/optmem_max", "20480");
    let hosts: Vec<String> = (0..1000)
        .map(|n: u32| format!("10.{}.{}.1", n / 250, n % 250))
        .collect();
    let list = format!("host {} or 198.18.0.1", hosts.join(" or "));
    let file = scene.file("file");
    let mut running = into(&scene, &file, &[&list]);
    scene.send(&frames(20, 60));
    scene.send(&[udp(b"wanted"), udp(b"too")]);
    running.received(22);
    counted(&running.stop(), 22, 2, "split");
    assert_eq!(packets(&file), [udp(b"wanted"), udp(b"too")]);
}

/// What is wanted beyond the count was not asked for: it is filtered, as what the reader refuses.
#[test]
fn a_split_filter_counts_to_the_last_packet_wanted() {
    let scene = Scene::new();
    let file = scene.file("file");
    let long = made_long("udp");
    let running = into(&scene, &file, &["-c", "30", &long]);
    for _ in 0..10 {
        scene.send(&frames(10, 60));
        scene.send(&[udp(b"a"), udp(b"b"), udp(b"c")]);
    }
    let ended = running.finish();
    ended.exit(0);
    let summary = ended.summary();
    assert_eq!(summary.number("delivered"), 30);
    // The last one wanted was the last one sent.
    summary.conserves(130);
    assert_eq!(packets(&file).len(), 30);
}

/// Once, on standard error, also for two interfaces and for those who want to be left alone.
#[test]
fn what_a_reader_may_not_expect_is_warned_of() {
    let scene = Scene::new();
    let file = scene.file("file");
    let running = start(
        &scene.right,
        &["-i", "lo", "-q", "-w", &file, "-c", "1", "vlan or ip"],
    );
    scene.send(&[udp(b"one")]);
    scene.send(&[tagged(&udp(b"two"), &[(0x8100, 10)])]);
    let ended = running.finish();
    ended.exit(0);
    let [warning, line, carets] = &ended.stderr[..] else {
        panic!("{ended:?}");
    };
    assert!(
        warning.starts_with("warning: column 1: \"vlan\" "),
        "{warning}"
    );
    assert_eq!((&line[..], &carets[..]), ("  vlan or ip", "  ^^^^"));
}

/// Each interface has a program for its own link type, and a filter has to fit all.
#[test]
fn the_filter_is_compiled_for_each_interface() {
    let scene = Scene::new();
    for words in ["tuntap add dev tun0 mode tun", "link set tun0 up"] {
        ip(&scene.right, &words.split(' ').collect::<Vec<_>>());
    }
    let file = scene.file("file.pcapng");
    let arguments = ["-i", "tun0", "-w", &file, "-c", "2", "udp"];
    let running = start(&scene.right, &arguments);
    scene.send(&frames(3, 60));
    scene.send(&[udp(b"one"), udp(b"two")]);
    let ended = running.finish();
    ended.exit(0);
    let summary = ended.summary();
    assert_eq!(summary.number("delivered"), 2);
    for interface in [0, 1] {
        assert_eq!(summary.0["interfaces"][interface]["filter"], "kernel");
    }
    let refused = ["-i", "tun0", "-w", &file, "ether host 1:2:3:4:5:6"];
    let ended = support::run::run(&scene.right, &refused);
    let complaint = ended.exit(2);
    assert!(
        complaint.starts_with("filter for tun0 is invalid: column "),
        "{complaint}"
    );
    assert!(
        complaint.contains("not supported on DLT_RAW"),
        "{complaint}"
    );
}
