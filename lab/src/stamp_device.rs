//! The device of `lab/driver`, whose hardware time stamps are known. It exists in the virtual machine of the tests.
//!
//! It writes the time of day and its own time into each [frame] that it receives, so a packet carries what its time
//! stamp has to be.

use std::fs;
use std::ops::Range;

use crate::Host;
use crate::generator::send_frames;

/// Name of the device.
pub const LINK: &str = "stamp0";

/// A host with the device, whose clock and stamps are as in the parameters of the module.
///
/// # Panics
/// If the driver is not loaded.
pub fn host(parameters: &[(&str, &str)]) -> Host {
    let defaults = [
        ("offset_ns", "37000000000"),
        ("drift_ppb", "0"),
        ("precise", "1"),
        ("unstamped", "0"),
        ("receive", "1"),
    ];
    for (name, value) in defaults.iter().chain(parameters) {
        let path = format!("/sys/module/tapstamp/parameters/{name}");
        fs::write(path, value).expect("a parameter of the driver");
    }
    let host = Host::new("host");
    host.ip(&format!("link add {LINK} type tapstamp"));
    host.ip(&format!("link set {LINK} up"));
    host
}

/// A frame into whose end the device writes its times.
pub fn frame(number: u64) -> Vec<u8> {
    let mut frame = [[0xff; 6], [2, 0, 0, 0, 0, 1]].concat();
    frame.extend([0x88, 0xb5]);
    frame.extend(number.to_be_bytes());
    frame.resize(100, 0);
    frame
}

/// The time of day and the device's time that the device wrote into a frame.
///
/// # Panics
/// If it is too short.
pub fn times(frame: &[u8]) -> [u64; 2] {
    let (rest, device) = frame.split_last_chunk::<8>().expect("a frame");
    let (_, real) = rest.split_last_chunk::<8>().expect("a frame");
    [real, device].map(|time| u64::from_be_bytes(*time))
}

/// Sends the frames with these numbers, which come back.
///
/// # Panics
/// If they cannot be sent.
pub fn send(host: &Host, numbers: Range<u64>) {
    let link = host.netlink().link_named(LINK).expect("the device");
    let sent = host.run(|| send_frames(link.ifindex(), numbers.map(frame)));
    sent.expect("frames are sent");
}
