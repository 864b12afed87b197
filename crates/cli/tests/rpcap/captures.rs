//! rpcap between tapline's client and server and those in `peer.py`: a known number of packets is sent, and
//! tshark and editcap read the files.

use rustix::process::Signal;
use serde_json::json;

use crate::support::files::{bytes, column, count, lengths, records};
use crate::support::frames::{frame, frames, tagged, udp};
use crate::support::rpcap::{FRAMES, peer, serve, served};
use crate::support::run::{Running, spawn};
use crate::support::{Scene, assert_has, number, tapline};

/// `tapline capture -i rpcap://…/right0 --json LINE` at the right host. Returns when packets come.
#[track_caller]
fn capture(scene: &Scene, port: u16, line: &str) -> Running {
    let line = format!("capture -i rpcap://127.0.0.1:{port}/right0 --json {line}");
    let mut running = spawn(scene.command(&line));
    running.ready();
    running
}

#[test]
fn every_packet_of_a_server_comes_and_is_accounted_for() {
    let scene = Scene::new();
    let (mut server, port) = serve(&scene.right, "");
    let running = capture(&scene, port, &format!("-w file.pcapng -c 500 '{FRAMES}'"));
    let sent = frames(500, 100);
    scene.send(&[udp(b"not wanted")]);
    scene.send(&sent);
    let summary = running.done();
    summary.has(&json!({
        "received": 500, "arrived": 500, "delivered": 500, "after_limit": 0, "written": 500,
        "lost": {"interface": 0, "ring": 0, "network": 0, "writer": 0},
        "server": {"ifrecv": 500, "ifdrop": 0, "krnldrop": 0, "svrcapt": 500},
    }));
    let account = served(&mut server);
    let wanted = json!({"interface": "right0", "sent": 500, "delivered": 500, "unsent": 0});
    assert_has(&account, &wanted);
    assert!(number(&account, "filtered") >= 1, "{account}");
    let file = scene.file("file.pcapng");
    assert_eq!(bytes(&file), sent);
    assert_eq!(
        column::<String>(&file, "frame.interface_name"),
        ["right0"; 500]
    );
    let ended = server.stop();
    ended.exit(0);
    let wanted = json!({"clients": 1, "refused": 0, "captures": 1, "sent": 500});
    assert_has(&ended.events_of("summary")[0], &wanted);
}

#[test]
fn packets_are_printed_as_they_come_and_a_signal_ends_the_capture_in_order() {
    let scene = Scene::new();
    let (_server, port) = serve(&scene.right, "");
    let mut running = capture(&scene, port, &format!("'{FRAMES}'"));
    for burst in 1..=3 {
        scene.send(&frames(burst, 60));
        for _ in 0..burst {
            running.event(|event| event["event"] == "packet");
        }
    }
    running.signal(Signal::INT);
    running.done().has(&json!({
        "received": 6, "delivered": 6, "server": {"ifrecv": 6, "krnldrop": 0, "svrcapt": 6},
    }));
}

#[test]
fn snaplen_and_limit_hold_and_what_comes_behind_the_limit_is_counted() {
    let scene = Scene::new();
    let (mut server, port) = serve(&scene.right, "");
    let line = format!("-w file.pcap -s 60 -c 10 '{FRAMES}'");
    let running = capture(&scene, port, &line);
    scene.send(&frames(40, 200));
    let summary = running.done();
    summary.has(&json!({"delivered": 10, "written": 10}));
    let arrived = summary.number("arrived");
    assert_eq!(summary.number("after_limit"), arrived - 10);
    assert_eq!(number(&served(&mut server), "sent"), arrived);
    let file = scene.file("file.pcap");
    assert_eq!(lengths(&file), [[60, 200]; 10]);
}

/// The kernel takes the tag out of a packet before a filter sees it: the server has to decide about it itself.
#[test]
fn a_filter_sees_vlan_tags_where_a_file_has_them() {
    let scene = Scene::new();
    let (mut server, port) = serve(&scene.right, "");
    let running = capture(&scene, port, "-w file.pcapng -s 40 -c 10 'vlan 5'");
    let of_vlan = |id: u16| (0..10).map(move |number| tagged(&frame(number, 100), &[(0x8100, id)]));
    let wanted: Vec<_> = of_vlan(5).collect();
    let other: Vec<_> = of_vlan(6).collect();
    scene.send(&[frames(10, 100), other, wanted.clone()].concat());
    running
        .done()
        .has(&json!({"delivered": 10, "after_limit": 0}));
    assert_has(&served(&mut server), &json!({"sent": 10, "refused": 10}));
    let file = scene.file("file.pcapng");
    let cut = wanted.iter().map(|frame| frame[..40].to_vec());
    assert_eq!(bytes(&file), cut.collect::<Vec<_>>());
}

#[test]
fn a_password_opens_a_server_to_another_host_and_packets_come_by_both_ways() {
    let scene = Scene::new();
    let secret = scene.write("secret", "correct horse\n");
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("ours");
    let line = format!("--listen 10.1.0.2:0 --password-file {secret}");
    let (mut server, port) = serve(&scene.right, &line);
    for (way, user, flag) in [("tcp", "", ""), ("udp", "somebody@", "--udp")] {
        let url = format!("rpcap://{user}10.1.0.2:{port}/right0");
        let file = scene.file(&format!("{way}.pcapng"));
        let line = format!(
            "capture -i {url} --json --password-file {secret} {flag} -w {file} -c 50 '{FRAMES}'"
        );
        let mut running = spawn(tapline(&scene.left, &line));
        let start = running.ready();
        assert_eq!(
            (&start["transport"], &start["url"]),
            (
                &way.into(),
                &format!("rpcap://10.1.0.2:{port}/right0").into()
            )
        );
        scene.send(&frames(50, 100));
        running
            .done()
            .has(&json!({"received": 50, "delivered": 50, "lost": {"network": 0}}));
        assert_eq!(number(&served(&mut server), "sent"), 50);
        assert_eq!(bytes(&file), frames(50, 100));
    }
    server.stop().exit(0);
}

#[test]
fn a_password_comes_from_the_environment_or_from_the_url() {
    let scene = Scene::new();
    let secret = scene.write("secret", "correct:horse");
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("ours");
    let (_server, port) = serve(&scene.right, &format!("--password-file {secret}"));
    let line = format!("capture -D --json -i rpcap://me@127.0.0.1:{port}");
    let mut command = scene.command(&line);
    command.env("TAPLINE_RPCAP_PASSWORD", "correct:horse");
    let by_environment = spawn(command).finish();
    by_environment.exit(0);
    let line = format!("capture -D --json -i rpcap://me:correct%3Ahorse@127.0.0.1:{port}");
    let by_url = scene.run(&line);
    by_url.exit(0);
    assert_eq!(by_environment.stdout, by_url.stdout);
}

#[test]
fn the_interfaces_of_a_server_are_listed() {
    let scene = Scene::new();
    let (_server, port) = serve(&scene.right, "");
    let line = format!("capture -D -i rpcap://127.0.0.1:{port}/");
    let listed = scene.run(&format!("{line} --json")).events();
    let names: Vec<_> = listed.iter().map(|event| &event["name"]).collect();
    assert_eq!(names, ["lo", "right0"]);
    let wanted = json!({"state": "up"});
    assert_has(&listed[1], &wanted);
    // As ip(8) has them.
    let of_ip = crate::support::ip_json(&scene.right, "address show dev right0");
    let of_ip = of_ip[0]["addr_info"].as_array().expect("addresses");
    let of_ip: Vec<_> = of_ip.iter().map(|one| one["local"].clone()).collect();
    assert_eq!(listed[1]["addresses"], json!(of_ip));
    scene.run(&line).assert_mentions("lo [loopback] 127.0.0.1");
}

/// The other client is written from the description of the protocol.
#[test]
fn another_client_captures_by_each_kind_of_data_channel() {
    let scene = Scene::new();
    let (mut server, port) = serve(&scene.right, "");
    for way in ["tcp", "active", "udp"] {
        let file = scene.file(&format!("{way}.pcap"));
        let line = format!("client 127.0.0.1 {port} right0 30 {file} {way}");
        let mut client = spawn(peer(&scene.right, &line));
        let start = client.ready();
        assert_has(
            &start,
            &json!({"link_type": 1, "interfaces": ["lo", "right0"]}),
        );
        scene.send(&frames(30, 90));
        let end = client.event(|event| event["event"] == "end");
        let counted = json!({"ifrecv": 30, "ifdrop": 0, "krnldrop": 0, "svrcapt": 30});
        assert_has(&end, &json!({"stats": counted, "after": counted}));
        assert!(client.finish().status.success());
        assert_eq!(bytes(&file), frames(30, 90), "{way}");
        assert_has(&served(&mut server), &json!({"sent": 30, "unsent": 0}));
    }
    server.stop().exit(0);
}

#[test]
fn what_a_client_is_too_slow_for_is_dropped_in_the_ring_and_counted() {
    const SENT: u64 = 300_000;
    let scene = Scene::new();
    let (mut server, port) = serve(&scene.right, "");
    let file = scene.file("file.pcap");
    let line = format!("client 127.0.0.1 {port} right0 {SENT} {file} stalled");
    let mut client = spawn(peer(&scene.right, &line));
    client.ready();
    scene.generate(SENT, None);
    let end = client.event(|event| event["event"] == "end");
    assert!(client.finish().status.success());
    let stats = &end["after"];
    assert_eq!(number(stats, "ifrecv"), SENT);
    assert!(number(stats, "krnldrop") > 0, "{stats}");
    let read = SENT - number(stats, "krnldrop");
    assert_eq!((number(stats, "svrcapt"), count(&file)), (read, read));
    let account = served(&mut server);
    assert_has(
        &account,
        &json!({"sent": read, "delivered": read, "lost": {"ring": SENT - read}}),
    );
    server.stop().exit(0);
}

/// The other server is written from the description of the protocol; it also has the reply of old servers.
#[test]
fn packets_of_another_server_come_with_its_times_and_its_losses_are_in_the_account() {
    let scene = Scene::new();
    for script in ["ok", "old"] {
        let (mut server, port) = crate::support::rpcap::scripted(&scene, script);
        let file = scene.file(&format!("{script}.pcapng"));
        let line =
            format!("capture -i rpcap://127.0.0.1:{port}/eth9 --json -w {file} -c 3 udp port 53");
        let summary = scene.run(&line).done();
        // It says that it received 8 and dropped 5 and 2.
        summary.has(&json!({
            "received": 10, "arrived": 3, "delivered": 3,
            "lost": {"interface": 2, "ring": 5, "network": 0, "writer": 0},
            "server": {"ifrecv": 8, "ifdrop": 2, "krnldrop": 5, "svrcapt": 3},
        }));
        let records = records(&file).into_iter();
        let seen: Vec<(u64, usize)> = records.map(|one| (one.time_ns, one.original_len)).collect();
        let wanted =
            [1, 2, 3].map(|second| (1_700_000_000_123_456_000 + second * 1_000_000_000, 1500));
        assert_eq!(seen, wanted);
        // Authentication, interface, start, statistics, end, statistics, the end of the connection.
        let mut kinds = Vec::new();
        let mut filter = String::new();
        while kinds.last() != Some(&6) {
            let request = server.event(|event| event["event"] == "request");
            kinds.push(number(&request, "kind"));
            if kinds.last() == Some(&4) {
                filter = request["payload"].as_str().expect("text")[24..].to_owned();
            }
        }
        assert_eq!(kinds, [8, 3, 4, 9, 10, 9, 6]);
        assert_is_program(&filter, "udp port 53");
    }
}

/// The filter that was sent is that of `tapline filter`, in the layout of the protocol.
#[track_caller]
fn assert_is_program(sent: &str, text: &str) {
    let lines = crate::support::run::printed(&format!("filter --emit classic-decimal '{text}'"));
    let instructions = lines[1..].iter().map(|line| {
        let fields = line.split(' ').map(|one| one.parse().expect("a number"));
        let fields: Vec<u32> = fields.collect();
        let [code, jt, jf, k] = fields[..] else {
            panic!("{line}");
        };
        format!("{code:04x}{jt:02x}{jf:02x}{k:08x}")
    });
    let instructions: String = instructions.collect();
    let wanted = format!("00010000{:08x}{instructions}", lines.len() - 1);
    assert_eq!(sent, wanted);
}

#[test]
fn datagrams_that_do_not_come_or_are_damaged_are_lost_on_the_way() {
    let scene = Scene::new();
    let (_server, port) = crate::support::rpcap::scripted(&scene, "lossy");
    let line = format!("capture -i rpcap://127.0.0.1:{port}/eth9 --udp --json -w file.pcap -c 3");
    let summary = scene.run(&line).done();
    // Of seven that were sent, three have come.
    summary.has(&json!({
        "received": 12, "arrived": 3, "delivered": 3, "lost": {"interface": 2, "ring": 3, "network": 4},
        "server": {"svrcapt": 7},
    }));
    let line = "-i rpcap://127.0.0.1:1/eth9 --fail-loss 100%";
    let (_server, port) = crate::support::rpcap::scripted(&scene, "lossy");
    let line = format!(
        "capture {} --udp --json -c 3 -w file.pcap",
        line.replace(":1/", &format!(":{port}/"))
            .replace("100%", "3")
    );
    assert!(scene.run(&line).exit(1).starts_with("lost 9 of 12 packets"));
}
