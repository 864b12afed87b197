//! Packet numbers that several readers write. The hosts and senders are those of `files`.

use std::collections::BTreeMap;

use super::files::{has_run, send, start, stop, stop_any};
use crate::support::files::tshark;
use crate::support::text;

/// Datagrams of each sender.
const COUNT: u64 = 100;

/// Readers encode packets into chunks themselves, and a single reader writes them to the file.
#[test]
fn several_readers_write_the_same_packet_numbers_as_one() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [several, one] = ["several", "one"].map(|name| {
        let file = folder.path().join(format!("{name}.pcapng"));
        text(&file)
    });
    let line = format!("--queues all --direction in --packet-id -w {several}");
    let (of_several, start_event) = start(&folder, &line);
    assert_eq!(start_event["readers"].as_array().map(Vec::len), Some(2));
    let (of_one, _) = start(&folder, &format!("--direction in --packet-id -w {one}"));
    for cpu in [0, 1] {
        send(cpu, COUNT);
    }
    stop(of_several, 2 * COUNT);
    stop_any(of_one, 2 * COUNT);
    let [several, one] = [several, one].map(|file| {
        let rows = tshark(&file, &["udp.payload", "frame.packet_id"]);
        let rows = rows
            .into_iter()
            .map(|mut row| (row.remove(0), row.remove(0)));
        rows.collect::<BTreeMap<String, String>>()
    });
    assert_eq!(several.len() as u64, 2 * COUNT);
    assert!(several.values().all(|id| !id.is_empty()), "{several:?}");
    assert_eq!(several, one);
}
