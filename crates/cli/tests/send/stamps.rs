//! Stamped packets, and what `count --by stamp` and `read --stamps` derive from them: compared with edited files, with
//! numbers sent, and with times as tshark reads them.

use serde_json::{Value, json};

use crate::support::files::{bytes, tshark};
use crate::support::run::{Running, events, run, spawn};
use crate::support::{Scene, assert_has, assert_refused, ip, number, tapline};

const BETWEEN: &str = "--src 10.0.0.1 --dst 10.0.0.2 --dst-mac 02:00:00:00:00:02";

/// The frames of `tapline send LINE`.
fn frames(scene: &Scene, line: &str) -> Vec<Vec<u8>> {
    let file = scene.file("made.pcapng");
    run(&format!("send -w {file} --quiet {line}")).exit(0);
    bytes(&file)
}

/// A pcap file with frames at these times, nanoseconds since 1970.
fn write(scene: &Scene, name: &str, packets: &[(u64, &[u8])]) -> String {
    let header: [u32; 6] = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 1];
    let mut content = header.map(u32::to_le_bytes).as_flattened().to_vec();
    for (time, frame) in packets {
        let length = u32::try_from(frame.len()).expect("short");
        let seconds = u32::try_from(time / 1_000_000_000).expect("before 2106");
        let nanoseconds = (time % 1_000_000_000) as u32;
        let record = [seconds, nanoseconds, length, length].map(u32::to_le_bytes);
        content.extend(record.as_flattened());
        content.extend(*frame);
    }
    scene.write(name, content)
}

/// The send time in the last eight bytes.
fn sent_ns(frame: &[u8]) -> u64 {
    u64::from_be_bytes(*frame.last_chunk().expect("a stamp"))
}

/// 1000 packets, of which 10, 20 and 21 are missing, 30 comes behind 33, 40 comes twice and 0 comes again at the end.
fn edited(frames: &[Vec<u8>]) -> Vec<&[u8]> {
    let mut order: Vec<usize> = (0..1000).collect();
    order.retain(|number| ![10, 20, 21].contains(number));
    let place = |order: &[usize], wanted| order.iter().position(|number| *number == wanted);
    let late = order.remove(place(&order, 30).expect("there"));
    let behind = place(&order, 33).expect("there");
    order.insert(behind + 1, late);
    let twice = place(&order, 40).expect("there");
    order.insert(twice, 40);
    order.push(0);
    order.iter().map(|number| &*frames[*number]).collect()
}

fn edited_figures(stream: u16) -> Value {
    json!({
        "stream": stream, "received": 997, "lost": 3, "reordered": 1, "reordered_distance": 3, "duplicated": 2,
        "late": 0, "first_sequence": 0, "last_sequence": 999,
    })
}

#[test]
fn loss_order_copies_and_delay_of_a_file_are_known() {
    let scene = Scene::new();
    let frames = frames(
        &scene,
        &format!("--udp {BETWEEN} --stamp=7 --rate 1kpps --count 1000"),
    );
    let stamps: Vec<_> = frames.iter().map(|frame| sent_ns(frame)).collect();
    assert!(stamps.windows(2).all(|pair| pair[1] - pair[0] == 1_000_000));
    // A copy of a packet does not count for the delay: the last one is 0 again, after a second.
    let arrived = |frame: &[u8], place: usize| sent_ns(frame) + 5_000 + 100 * (place as u64 % 3);
    let packets: Vec<_> = edited(&frames)
        .into_iter()
        .enumerate()
        .map(|(place, frame)| (arrived(frame, place), frame))
        .collect();
    let file = write(&scene, "edited.pcap", &packets);
    let summary = &events(&format!("read {file} --stamps"))[0];
    assert_has(
        summary,
        &json!({ "streams": [edited_figures(7)], "unstamped": 0, "uncounted": 0 }),
    );
    assert_has(
        &summary["streams"][0],
        &json!({ "delay_min_ns": 5_000, "delay_max_ns": 5_200, "negative_delays": 0 }),
    );
    // The histogram is exact to 1/256.
    assert!(number(&summary["streams"][0], "delay_p50_ns").abs_diff(5_100) <= 20);
    let text = run(&format!("read {file} --stamps"));
    text.exit(0);
    text.assert_says("stream 7: 997 received, 3 lost, 1 reordered by up to 3, 2 duplicated");
    // The output says so if the clocks differ.
    let packets = [
        (stamps[0] - 9_000, &*frames[0]),
        (stamps[1] + 100, &*frames[1]),
    ];
    let file = write(&scene, "clock.pcap", &packets);
    let summary = &events(&format!("read {file} --stamps"))[0]["streams"][0];
    assert_has(
        summary,
        &json!({ "delay_min_ns": -9_000, "delay_max_ns": 100, "delay_p50_ns": null, "negative_delays": 1 }),
    );
}

#[test]
fn delays_of_a_capture_agree_with_tshark() {
    let scene = Scene::new();
    let mut capture = scene.capture("--direction in -w got.pcapng");
    let line =
        format!("send -i left0 --udp {BETWEEN} --size 61 --stamp --rate 20kpps --count 500 --json");
    let sent = spawn(tapline(&scene.left, &line)).finish().done();
    assert_eq!(sent.number("accepted"), 500);
    capture.received(500);
    capture.stop().done();
    let file = scene.file("got.pcapng");
    let rows = tshark(&file, &["frame.time_epoch", "udp.payload"]);
    let delays = rows.iter().map(|row| {
        let (seconds, fraction) = row[0].split_once('.').expect("a time");
        let whole: u64 = seconds.parse().expect("seconds");
        let nanoseconds: u64 = fraction.parse().expect("nine digits");
        let payload = &row[1];
        let sent = u64::from_str_radix(&payload[payload.len() - 16..], 16).expect("hexadecimal");
        whole * 1_000_000_000 + nanoseconds - sent
    });
    let delays: Vec<u64> = delays.collect();
    assert_eq!(delays.len(), 500);
    let summary = &events(&format!("read {file} --stamps"))[0];
    let expected = json!({
        "received": 500, "lost": 0, "reordered": 0, "duplicated": 0,
        "delay_min_ns": delays.iter().min(), "delay_max_ns": delays.iter().max(),
    });
    assert_has(&summary["streams"][0], &expected);
}

/// Waits until `count` has counted so many packets of all streams.
fn counted(running: &mut Running, packets: u64) {
    running.event(|event| {
        let streams = event["streams"].as_array();
        let all = streams.map(|streams| {
            let count = |stream| ["received", "duplicated"].map(|key| number(stream, key));
            streams.iter().flat_map(count).sum::<u64>()
        });
        event["event"] == "interval" && all == Some(packets)
    });
}

/// A count in the kernel, if it has the privileges.
const KERNEL: &str = "count -i right0 --by stamp --json --interval 5ms";

/// Two counts of the same packets: by the program in the kernel, and by a capture, for which the privileges of the first are
/// missing.
struct BothWays {
    kernel: Running,
    copies: Running,
}

impl BothWays {
    fn begin(scene: &Scene) -> Self {
        let mut kernel = spawn(tapline(&scene.right, KERNEL));
        let start = kernel.ready();
        assert_has(
            &start["points"][0],
            &json!({ "name": "right0", "direction": "in" }),
        );
        let mut copies = spawn(scene.privileged_by(",+net_raw", KERNEL));
        let reason = copies.ready()["reason"].to_string();
        assert!(reason.contains("Operation not permitted"), "{reason}");
        Self { kernel, copies }
    }

    /// Ends both when they have counted so many packets; returns the figures of the kernel, which are those of the other one.
    fn agreed(mut self, packets: u64) -> Value {
        counted(&mut self.kernel, packets);
        counted(&mut self.copies, packets);
        let kernel = self.kernel.stop();
        let kernel = kernel.done();
        let copies = self.copies.stop();
        let copies = copies.done();
        kernel.has(&json!({ "uncounted": 0, "lost": null }));
        copies.has(&json!({ "uncounted": 0, "lost": { "ring": 0, "reader": 0 } }));
        let [of_kernel, of_copies] = [kernel, copies].map(|summary| summary.0["streams"].clone());
        assert_eq!(without_delays(&of_kernel), without_delays(&of_copies));
        of_kernel
    }
}

/// The figures of streams that are the same wherever packets are counted.
fn without_delays(streams: &Value) -> Value {
    let mut streams = streams.clone();
    for stream in streams.as_array_mut().expect("a list") {
        let figures = stream.as_object_mut().expect("an object");
        figures.retain(|key, _| !key.starts_with("delay_"));
    }
    streams
}

#[test]
fn count_finds_stamps_in_every_kind_of_packet() {
    let scene = Scene::new();
    let both = BothWays::begin(&scene);
    let v6 = "--src fd00::1 --dst fd00::2 --dst-mac 02:00:00:00:00:02";
    let lines = [
        format!("--udp {BETWEEN}"),
        format!("--udp {BETWEEN} --size 61"),
        format!("--tcp-syn {BETWEEN} --vlan 5"),
        format!("--icmp {v6}"),
        format!("--udp {v6} --vlan 5 --size 1500"),
        format!("--udp {BETWEEN} --vxlan 9 --outer-src 192.0.2.1 --outer-dst 192.0.2.2"),
        format!("--tcp-syn {BETWEEN} --vxlan 9 --outer-src fd00::1 --outer-dst fd00::2"),
    ];
    for (stream, line) in lines.iter().enumerate() {
        let line = format!("send -i left0 -q {line} --stamp={stream} --count 100");
        spawn(tapline(&scene.left, &line)).finish().exit(0);
    }
    // Others do not count.
    let line = format!("send -i left0 -q --udp {BETWEEN} --count 100");
    spawn(tapline(&scene.left, &line)).finish().exit(0);
    let frames = frames(&scene, &format!("--udp {BETWEEN} --stamp=9 --count 1000"));
    let packets: Vec<_> = edited(&frames)
        .into_iter()
        .map(|frame| (0, frame))
        .collect();
    let file = write(&scene, "edited.pcap", &packets);
    let line = format!("send -i left0 -q -r {file}");
    spawn(tapline(&scene.left, &line)).finish().exit(0);
    let mut expected: Vec<_> = (0..lines.len())
        .map(|stream| {
            json!({
                "stream": stream, "received": 100, "lost": 0, "reordered": 0, "duplicated": 0,
                "first_sequence": 0, "last_sequence": 99, "negative_delays": 0,
            })
        })
        .collect();
    expected.push(edited_figures(9));
    let streams = both.agreed(700 + 999);
    assert_has(
        &json!({ "streams": streams }),
        &json!({ "streams": expected }),
    );
    for stream in streams.as_array().into_iter().flatten() {
        let delays =
            ["min", "p50", "p99", "max"].map(|name| number(stream, &format!("delay_{name}_ns")));
        // The histogram is exact to 1/256.
        assert!(
            delays.is_sorted_by(|one, other| one - one / 128 <= *other),
            "{delays:?}"
        );
        assert!(delays[0] > 0);
    }
}

/// `frame` with other numbers in its stamp.
fn stamped(frame: &[u8], stream: u16, sequence: u32, time_ns: u64) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let at = frame.len() - 14;
    frame[at..at + 2].copy_from_slice(&stream.to_be_bytes());
    frame[at + 2..at + 6].copy_from_slice(&sequence.to_be_bytes());
    frame[at + 6..].copy_from_slice(&time_ns.to_be_bytes());
    frame
}

#[test]
fn the_kernel_counts_any_order_as_user_space_does() {
    let scene = Scene::new();
    let line = format!("--udp {BETWEEN} --stamp --count 1");
    let frame = &frames(&scene, &line)[0];
    let now_ns = sent_ns(frame);
    let year_2200_ns = 7_258_118_400_000_000_000;
    // Numbers near the wrap, which go ahead and back by all distances around the window of 65536.
    let mut packets = Vec::new();
    let (mut next, mut seed) = (0_u32.wrapping_sub(30_000), 1_u64);
    for _ in 0..20_000 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let random = (seed >> 33) as u32;
        let far = 1 << ((random >> 8 & 31) % 18);
        let sequence = match random & 15 {
            0 => next.wrapping_sub(random >> 13 & (far - 1)),
            1 => next.wrapping_sub(65_534 + (random >> 13 & 7)),
            2 => {
                // About five go beyond the window and its double.
                let ahead = if (random >> 20).trailing_zeros() >= 8 {
                    200_000
                } else {
                    random >> 13 & 255
                };
                next = next.wrapping_add(ahead);
                next
            }
            _ => next,
        };
        packets.push(stamped(frame, (random >> 6 & 3) as u16, sequence, now_ns));
        next = next.wrapping_add(1);
    }
    packets.push(stamped(frame, 65_535, 7, year_2200_ns));
    let records: Vec<_> = packets.iter().map(|packet| (now_ns, &**packet)).collect();
    let file = write(&scene, "any.pcap", &records);
    let mut kernel = spawn(tapline(&scene.right, KERNEL));
    kernel.ready();
    let line = format!("send -i left0 -q -r {file} --rate 50kpps");
    spawn(tapline(&scene.left, &line)).finish().exit(0);
    let expected = &events(&format!("read {file} --stamps"))[0]["streams"];
    let all = expected.as_array().expect("a list");
    let sum = |key| all.iter().map(|stream| number(stream, key)).sum::<u64>();
    for key in ["lost", "reordered", "duplicated", "late"] {
        assert!(sum(key) > 50, "{key}");
    }
    counted(&mut kernel, sum("received") + sum("duplicated"));
    let summary = kernel.stop().done();
    let streams = &summary.0["streams"];
    assert_eq!(without_delays(streams), without_delays(expected));
    let future =
        json!({ "stream": 65_535, "received": 1, "negative_delays": 1, "delay_p50_ns": null });
    assert_has(&streams[4], &future);
}

#[test]
fn what_stamps_cannot_be_combined_with_is_refused() {
    assert_refused(
        run,
        &[
            (
                "count -i lo --by stamp udp",
                2,
                "--by stamp cannot be used with classes",
            ),
            (
                "count -i lo --by stamp --csv",
                2,
                "--by stamp cannot be used with --csv",
            ),
            ("count -i lo --by stamps", 2, "dmac, stamp"),
            ("count -i none --by stamp", 1, "none"),
        ],
    );
}

#[test]
fn an_interface_that_goes_down_does_not_end_the_count() {
    let scene = Scene::new();
    let mut running = spawn(tapline(
        &scene.right,
        "count -i right0 --by stamp --json --interval 5ms",
    ));
    running.ready();
    let line = format!("send -i left0 -q --udp {BETWEEN} --stamp --count 10");
    spawn(tapline(&scene.left, &line)).finish().exit(0);
    counted(&mut running, 10);
    ip(&scene.right, "link set right0 down");
    running.event(|event| event["event"] == "link" && event["state"] == "down");
    ip(&scene.right, "link set right0 up");
    running.event(|event| event["event"] == "link" && event["state"] == "up");
    let line = format!("send -i left0 -q --udp {BETWEEN} --stamp=1 --count 10");
    spawn(tapline(&scene.left, &line)).finish().exit(0);
    counted(&mut running, 20);
    ip(&scene.right, "link delete right0");
    let ended = running.finish();
    assert_eq!(ended.exit(1), "interface right0 was removed");
    ended
        .summary()
        .has(&json!({ "streams": [{ "received": 10, "lost": 0 }, { "received": 10, "lost": 0 }] }));
}
