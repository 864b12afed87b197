//! Frames that an AF_XDP socket sends with a request in front of them.

use std::io::ErrorKind;

use crate::support::{BROADCAST, bytes_of, collect, frame, open_on, options};
use lab::kernel::LAUNCH_TIMES;
use lab::skip::without;
use lab::{Host, Net};
use tapline_ring::{TpacketVersion, XdpSendOptions, XdpSender};

/// Opens a copying socket on the first interface of `host`.
fn sender(host: &Host, has_launch_times: bool) -> XdpSender {
    let interface = host.interface();
    let options = XdpSendOptions {
        queue: 0,
        zero_copy: false,
        longest: 1514,
        has_launch_times,
    };
    let (index, name) = (interface.index.0, interface.name.to_string());
    host.run(|| XdpSender::open(index, &name, &options))
        .expect("an AF_XDP socket")
}

/// A veth interface sends at once, but the kernel reads the request: it refuses one with an unknown flag or at another place.
#[test]
fn frames_with_a_launch_time_arrive_as_they_were() {
    if without(&LAUNCH_TIMES) {
        return;
    }
    let [left, right] = Net::new().pair();
    let mut ring = open_on(
        &right,
        &right.interface().name.to_string(),
        &options(TpacketVersion::V3),
    );
    let lengths = [14, 60, 1000, 1514];
    let frames: Vec<_> = lengths.map(|bytes| frame(BROADCAST, bytes)).into();
    let mut sender = sender(&left, true);
    for (number, frame) in frames.iter().enumerate() {
        // Without a launch time every other one.
        let is_pushed = if number % 2 == 0 {
            sender.push_at(frame, u64::MAX >> 1)
        } else {
            sender.push(frame)
        };
        assert!(is_pushed);
    }
    let mut taken = 0;
    while taken < frames.len() {
        taken += sender.transmit().expect("the kernel takes them");
    }
    assert_eq!(bytes_of(collect(&mut ring, frames.len())), frames);
}

/// What waits in the ring can be replaced or given up, more often than the ring has entries.
#[test]
fn frames_that_were_not_taken_can_be_replaced_and_cancelled() {
    const ENTRIES: usize = 4096;
    let [left, right] = Net::new().pair();
    let mut ring = open_on(
        &right,
        &right.interface().name.to_string(),
        &options(TpacketVersion::V3),
    );
    let [first, second, third, fourth] = [60, 61, 62, 63].map(|bytes| frame(BROADCAST, bytes));
    let mut sender = sender(&left, false);
    assert!(sender.push(&first) && sender.push(&second));
    assert!(sender.replace(1, &third) && !sender.replace(2, &third));
    let transmit = |sender: &mut XdpSender| {
        for _ in 0..2 * ENTRIES {
            match sender.transmit() {
                Ok(_) if sender.waiting() == 0 => return,
                Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
                // A cancelled entry was skipped.
                _ => {}
            }
        }
        panic!("the kernel takes nothing");
    };
    transmit(&mut sender);
    let mut cancelled = 0;
    while cancelled < ENTRIES - 1 {
        assert!(sender.push(&first));
        cancelled += sender.cancel();
    }
    assert!(sender.push(&fourth));
    // The ring is full of entries that the kernel has not read.
    assert!(!sender.push(&second));
    transmit(&mut sender);
    assert!(sender.push(&second));
    transmit(&mut sender);
    let expected = vec![first, third, fourth, second];
    assert_eq!(bytes_of(collect(&mut ring, expected.len())), expected);
}
