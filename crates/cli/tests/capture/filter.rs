//! Filter expressions in captures, compared with tcpdump's programs in the kernel on the same traffic; filters run in
//! the kernel, or partly in the reader.

use serde_json::json;

use crate::support::files::{bytes, options};
use crate::support::frames::{frame, frames, tagged, udp};
use crate::support::run::{Ended, Running};
use crate::support::{Scene, ip, ip_json, nobodys_stations, output};

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

    /// Sends all of it; returns how many frames that are.
    fn send(&self, scene: &Scene) -> u64 {
        scene.send(&self.there);
        scene.send_back(&self.back);
        (self.there.len() + self.back.len()) as u64
    }
}

/// `expression`, and a list of senders that nobody is and that the kernel cannot hold.
fn made_long(expression: &str) -> String {
    match (nobodys_stations(), expression) {
        (nobody, "") => format!("not {nobody}"),
        (nobody, expression) => format!("not {nobody} and ({expression})"),
    }
}

#[track_caller]
fn counted(ended: &Ended, sent: u64, delivered: usize, place: &str) {
    let summary = ended.done();
    summary.conserves(sent);
    assert_eq!(summary.all_lost(), 0);
    let interface = json!({"filter": place, "delivered": delivered});
    summary.has(&json!({"delivered": delivered, "filter": place, "interfaces": [interface]}));
}

/// Captures with our expression, with tcpdump's program for it, and with ours made too long for the
/// kernel: all three see the same.
#[track_caller]
fn assert_same(scene: &Scene, expression: &str, flags: &str) {
    let traffic = Traffic::new();
    scene.write(
        "program",
        output(
            &scene.right,
            "tcpdump",
            &format!("-i right0 -ddd '{expression}'"),
        ),
    );
    let filters = [
        ("ours", format!("'{expression}'")),
        ("theirs", "--bpf program".to_owned()),
        ("split", format!("'{}'", made_long(expression))),
    ];
    let mut running = filters
        .map(|(file, filter)| scene.capture(&format!("-w {file} --format pcap {flags} {filter}")));
    let sent = traffic.send(scene);
    for running in &mut running {
        running.received(sent);
    }
    let [ours, theirs, split] = running.map(Running::stop);
    let expected = bytes(&scene.file("theirs"));
    assert_eq!(theirs.done().number("delivered"), expected.len() as u64);
    counted(&ours, sent, expected.len(), "kernel");
    counted(&split, sent, expected.len(), "split");
    assert_eq!(bytes(&scene.file("ours")), expected, "{expression}");
    assert_eq!(bytes(&scene.file("split")), expected, "{expression}, split");
}

#[test]
fn expressions_mean_what_they_mean_to_tcpdump() {
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
        assert_same(&scene, expression, "");
    }
}

/// The reader looks at whole packets, whatever is kept of them.
#[test]
fn a_split_filter_sees_more_than_the_snaplen() {
    let scene = Scene::new();
    for backend in ["packet-v2", "packet-v3"] {
        let flags = format!("-s 20 --backend {backend}");
        assert_same(&scene, "udp[8] = 7 and udp[400] = 7", &flags);
        assert_same(&scene, "vlan 10 and udp port 9", &flags);
        let kept = bytes(&scene.file("split"));
        assert!(kept.len() > 2 && kept.iter().all(|bytes| bytes.len() == 20));
    }
}

#[test]
fn each_direction_is_filtered_alone() {
    let scene = Scene::new();
    let traffic = Traffic::new();
    for (direction, offered, delivered) in [
        ("in", traffic.there.len(), 7),
        ("out", traffic.back.len(), 1),
    ] {
        for (expression, place) in [("udp", "kernel"), (&made_long("udp"), "split")] {
            let running = scene.capture(&format!("-w file --direction {direction} '{expression}'"));
            traffic.send(&scene);
            let ended = running.stop_after(offered as u64);
            counted(&ended, offered as u64, delivered, place);
        }
    }
}

/// The mask of an address of the interface says what is a broadcast.
#[test]
fn the_netmask_is_the_interfaces() {
    let scene = Scene::new();
    let destinations = [
        [10, 1, 15, 255],
        [10, 1, 2, 255],
        [10, 1, 16, 0],
        [255; 4],
        [0; 4],
    ];
    let frames = destinations.map(|address: [u8; 4]| {
        let mut frame = udp(b"to all");
        frame[30..34].copy_from_slice(&address);
        frame
    });
    // The lab gives it an address, which would be the first.
    ip(&scene.right, "address flush dev right0");
    let (limited, directed) = (&[3, 4][..], &[0, 2, 3, 4][..]);
    for (address, expected) in [
        (None, limited),
        (Some("10.1.2.3/20"), directed),
        // The first address counts.
        (Some("10.9.9.9/8"), directed),
    ] {
        if let Some(address) = address {
            ip(
                &scene.right,
                &format!("address add {address} broadcast + dev right0"),
            );
            let shown = ip_json(&scene.right, "-4 address show dev right0");
            assert_eq!(shown[0]["addr_info"][0]["broadcast"], "10.1.15.255");
        }
        let running = scene.capture("-w file ip broadcast");
        scene.send(&frames);
        counted(&running.stop_after(5), 5, expected.len(), "kernel");
        let expected: Vec<_> = expected
            .iter()
            .map(|&number: &usize| frames[number].clone())
            .collect();
        assert_eq!(bytes(&scene.file("file")), expected, "{address:?}");
    }
}

/// A long list of hosts: few packets match, and the summary accounts for all.
#[test]
fn a_list_that_the_kernel_cannot_hold_is_split() {
    let scene = Scene::new();
    let hosts = (0..2000).map(|n: u32| format!("198.{}.{}.2", 18 + n / 250, n % 250));
    let list = hosts.collect::<Vec<_>>().join(" or ");
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
    for backend in ["packet-v2", "packet-v3"] {
        let running = scene.capture(&format!(
            "-w file.pcapng -s 256 --backend {backend} host {list}"
        ));
        scene.send(&strangers);
        scene.send(&wanted);
        scene.send(&frames(100, 60));
        counted(&running.stop_after(500), 500, 200, "split");
        let options = options(&scene.file("file.pcapng"));
        assert!(
            options.iter().any(|option| option.starts_with("Filter")),
            "{options:?}"
        );
    }
}

/// What a socket may take for its filter is limited too, also for a list that has few instructions
/// enough.
#[test]
fn a_filter_beyond_the_memory_of_the_socket_is_split() {
    let scene = Scene::new();
    scene.right.set_sysctl("core/optmem_max", "20480");
    let hosts = (0..1000).map(|n: u32| format!("10.{}.{}.1", n / 250, n % 250));
    let list = hosts.collect::<Vec<_>>().join(" or ");
    let running = scene.capture(&format!("-w file host {list} or 198.18.0.1"));
    scene.send(&frames(20, 60));
    scene.send(&[udp(b"wanted"), udp(b"too")]);
    counted(&running.stop_after(22), 22, 2, "split");
    assert_eq!(bytes(&scene.file("file")), [udp(b"wanted"), udp(b"too")]);
}

/// What is wanted beyond the count was not asked for: it is filtered, as what the reader refuses.
#[test]
fn a_split_filter_counts_to_the_last_packet_wanted() {
    let scene = Scene::new();
    let running = scene.capture(&format!("-w file -c 30 '{}'", made_long("udp")));
    for _ in 0..10 {
        scene.send(&frames(10, 60));
        scene.send(&[udp(b"a"), udp(b"b"), udp(b"c")]);
    }
    // The last one wanted was the last one sent.
    counted(&running.finish(), 130, 30, "split");
    assert_eq!(bytes(&scene.file("file")).len(), 30);
}

/// Once, on standard error, also for two interfaces and for those who want to be left alone.
#[test]
fn what_a_reader_may_not_expect_is_warned_of() {
    let scene = Scene::new();
    let running = scene.capture("-i lo -q -w file -c 1 'vlan or ip'");
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
    ip(&scene.right, "tuntap add dev tun0 mode tun");
    ip(&scene.right, "link set tun0 up");
    let running = scene.capture("-i tun0 -w file.pcapng -c 2 udp");
    scene.send(&frames(3, 60));
    scene.send(&[udp(b"one"), udp(b"two")]);
    let kernel = json!({"filter": "kernel"});
    running
        .done()
        .has(&json!({"delivered": 2, "interfaces": [kernel, kernel]}));
    let ended = scene.run("capture -i right0 -i tun0 -w file 'ether host 1:2:3:4:5:6'");
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
