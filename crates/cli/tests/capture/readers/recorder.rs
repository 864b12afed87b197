//! Flight recorders of several readers. The hosts and senders are those of `files`.

use std::net::UdpSocket;

use lab::generator::pin_to_cpu;

use super::files::{
    COUNT, Seen, assert_complete, has_run, late, seen, send_from_both, start, stop,
};
use crate::support::{number, text};

#[test]
fn a_flight_recorder_has_the_packets_of_all_readers_in_order() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("rec.pcapng"));
    let line = "--queues all --direction in --record 16M --after 1h --trigger 'udp port 9'";
    let (running, _) = start(&folder, &format!("{line} -w {file}"));
    send_from_both();
    let summary = stop(running, 2 * COUNT);
    assert_eq!(summary.number("written"), 2 * COUNT);
    let files = summary.files();
    assert_eq!(files.len(), 1);
    let seen = seen(&files[0]);
    assert_complete(&seen, true);
    assert_eq!(late(&seen), number(&summary.0["merge"], "late"));
}

/// What one of them triggers, the others write too.
#[test]
fn each_queue_has_a_flight_recorder() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let flags = "--queues all --order queue --direction in --record 16M --after 1h";
    let line = format!("{flags} --trigger 'greater 200' -w rec.pcapng");
    let (mut running, _) = start(&folder, &line);
    send_from_both();
    running.event(|event| event["event"] == "stats" && number(event, "delivered") >= 2 * COUNT);
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        0
    );
    pin_to_cpu(1).expect("the CPU is there");
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.send_to(&[1; 300], "10.9.0.2:9").expect("it is sent");
    let summary = stop(running, 2 * COUNT + 1);
    assert_eq!(summary.number("written"), 2 * COUNT + 1);
    for (queue, count) in [(0, COUNT), (1, COUNT + 1)] {
        let file = folder
            .path()
            .join(format!("rec-queue{queue}-trigger-00001.pcapng"));
        let seen = seen(&text(&file));
        assert_eq!(seen.len() as u64, count, "{queue}");
        seen.iter().for_each(Seen::assert_queue);
    }
}
