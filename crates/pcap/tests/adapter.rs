//! Time stamps that the adapter makes, and rings whose frames have the size of its packets.
//!
//! Tests of time stamps run with a device whose stamps are known (`lab/driver`), which writes the time of day and its own
//! time into each frame.

use std::fs;
use std::path::{Path, PathBuf};

use lab::generator::udp_frame;
use lab::guest::GuestFile;
use lab::vm::Tests;
use lab::{Host, Net, wait};
use tapline::hwtstamp::{HardwareStamping, StampDevice};

use crate::support::{
    BOTH, GUEST_LIBRARY, Library, Running, compile, is_guest, library, start, succeed,
};

static VM: Tests = Tests::with_files(&["adapter::stamps::"], || {
    let file = |host: &Path, guest| GuestFile {
        host: host.to_owned(),
        guest,
    };
    vec![
        file(&program(), GUEST_PROGRAM),
        file(library(), GUEST_LIBRARY),
    ]
});

const GUEST_PROGRAM: &str = "/bin/adapter";

fn program() -> PathBuf {
    if is_guest() {
        return GUEST_PROGRAM.into();
    }
    compile("adapter", &[])
}

fn begin(host: &Host, library: Library, arguments: &[&str]) -> Running {
    start(host, library, &program(), arguments)
}

/// Packets that a ring of 2 MiB in immediate mode holds.
fn held(library: Library, snaplen: u32, offloads: &str) -> u64 {
    const SENT: u64 = 3000;
    let [left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let mut ethtool = right.command("ethtool");
    ethtool.args(["-K", &name]);
    for offload in ["tso", "gso", "gro"] {
        ethtool.args([offload, offloads]);
    }
    succeed(&mut ethtool);
    let snaplen = snaplen.to_string();
    let mut running = begin(&right, library, &["held", &name, "2097152", &snaplen]);
    running.ready();
    left.send((0..SENT).map(|_| udp_frame(60)));
    wait::until("the packets arrive", || right.counters().rx_packets >= SENT);
    running.tell(0);
    let lines = running.finish();
    lines[0].parse().expect("a number")
}

#[test]
fn a_ring_of_immediate_mode_holds_as_many_packets_as_libpcaps() {
    for snaplen in [262_144, 1000, 385, 96] {
        let [libpcap, tapline] = BOTH.map(|library| held(library, snaplen, "off"));
        assert!(libpcap >= 1000, "snaplen {snaplen}: {libpcap}");
        assert!(tapline >= libpcap, "{snaplen}: {tapline}, {libpcap}");
    }
    // Packets may be joined up to 64 KiB.
    let [libpcap, tapline] = BOTH.map(|library| held(library, 262_144, "on"));
    assert!(libpcap < 100, "{libpcap}");
    assert!(tapline >= libpcap, "{tapline}, {libpcap}");
}

#[test]
fn an_adapter_that_stamps_nothing_offers_the_hosts_stamps() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [_left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        begin(&right, library, &["types", &name]).finish()
    });
    assert_eq!(libpcap[0], "host");
    assert_eq!(libpcap, tapline);
}

mod stamps {
    use super::*;

    const LINK: &str = "stamp0";

    /// What ptp4l sets.
    const OF_PTP4L: HardwareStamping = HardwareStamping::new(1, 12);

    /// Which packets the device stamps.
    fn stamp(receive: &str) {
        fs::write("/sys/module/tapstamp/parameters/receive", receive).expect("a parameter");
    }

    fn host(receive: &str) -> Host {
        stamp(receive);
        let host = Host::new("host");
        host.ip(&format!("link add {LINK} type tapstamp"));
        host.ip(&format!("link set {LINK} up"));
        host
    }

    fn setting(host: &Host) -> HardwareStamping {
        let open = || StampDevice::open(LINK).and_then(|mut device| device.present());
        host.run(open).expect("the setting")
    }

    fn set(host: &Host, setting: HardwareStamping) {
        let set = || StampDevice::open(LINK).and_then(|mut device| device.set(setting));
        host.run(set).expect("set");
    }

    #[test]
    fn types_are_libpcaps_and_those_that_are_converted() {
        if VM.has_run() {
            return;
        }
        for receive in ["0", "1", "2"] {
            let [libpcap, tapline] =
                BOTH.map(|library| begin(&host(receive), library, &["types", LINK]).finish());
            if receive != "1" {
                assert_eq!(libpcap[0], "host");
                assert_eq!(libpcap, tapline);
                continue;
            }
            assert_eq!(libpcap[..2], ["host", "adapter_unsynced"]);
            // No driver says that its time stamps are times of day; here they are converted.
            let mut more = libpcap;
            for (line, now) in [("set 3: 3", "set 3: 0"), ("adapter_unsynced", "adapter")] {
                let at = more.iter().position(|found| found == line);
                more[at.expect("the line")] = now.to_owned();
            }
            more.insert(2, "adapter_unsynced".to_owned());
            let at = more.iter().rposition(|line| line == "adapter_unsynced");
            more.insert(at.expect("the second list"), "adapter".to_owned());
            assert_eq!(more, tapline);
        }
    }

    #[test]
    fn stamps_are_times_of_day_or_the_devices() {
        if VM.has_run() {
            return;
        }
        for (library, stamps, expected) in [
            (Library::Libpcap, "adapter_unsynced", "device"),
            (Library::Tapline, "adapter_unsynced", "device"),
            (Library::Tapline, "adapter", "time of day"),
            (Library::Libpcap, "host", "host"),
            (Library::Tapline, "host", "host"),
        ] {
            let host = host("1");
            set(&host, OF_PTP4L);
            let mut running = begin(&host, library, &["stamps", LINK, stamps]);
            assert_eq!(running.ready(), ["set: 0"]);
            running.tell(0);
            assert_eq!(running.ready(), ["activate: 0 "]);
            let widened = match stamps {
                "host" => OF_PTP4L,
                _ => OF_PTP4L.stamping_all_received(),
            };
            assert_eq!(setting(&host), widened);
            running.tell(0);
            assert_eq!(running.finish(), [expected; 20], "{library:?} {stamps}");
            // libpcap leaves it as it has made it.
            let after = match library {
                Library::Libpcap => widened,
                Library::Tapline => OF_PTP4L,
            };
            assert_eq!(setting(&host), after, "{library:?} {stamps}");
        }
    }

    #[test]
    fn a_device_that_stamps_no_more_is_a_warning() {
        if VM.has_run() {
            return;
        }
        for receive in ["0", "2"] {
            let [libpcap, tapline] = BOTH.map(|library| {
                let host = host("1");
                let mut running = begin(&host, library, &["stamps", LINK, "adapter_unsynced"]);
                running.ready();
                stamp(receive);
                running.tell(0);
                let mut lines = running.ready();
                running.tell(0);
                lines.extend(running.finish());
                lines
            });
            assert_eq!(libpcap[0], "activate: 3 ");
            assert_eq!(libpcap[1..], ["host"; 20]);
            assert_eq!(libpcap, tapline);
        }
    }

    #[test]
    fn a_missing_privilege_is_an_error() {
        if VM.has_run() {
            return;
        }
        let [libpcap, tapline] = BOTH.map(|library| {
            let host = host("1");
            let mut running = begin(
                &host,
                library,
                &["stamps_without", LINK, "adapter_unsynced"],
            );
            running.ready();
            running.tell(0);
            running.finish()
        });
        let denied =
            "activate: -8 Attempt to set hardware timestamp failed - CAP_NET_ADMIN may be required";
        assert_eq!(libpcap, [denied]);
        assert_eq!(libpcap, tapline);
    }
}
