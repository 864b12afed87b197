//! Frames that an AF_XDP socket sends with a request in front of them.

use crate::support::{BROADCAST, bytes_of, collect, frame, open_on, options};
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
