//! Hardware time stamps, from the command line to the file, with a device whose stamps are known (`lab/driver`).

use lab::Host;
use lab::stamp_device::{LINK, host, send, times};
use rustix::process::Signal;
use serde_json::json;
use tapline::hwtstamp::{HardwareStamping, StampDevice};
use tempfile::TempDir;

use crate::VM;
use crate::support::blocks::{Line, lines};
use crate::support::run::{Ended, Running, spawn};
use crate::support::{tapline, text};

const FRAMES: u64 = 100;

/// What ptp4l sets: it stamps what it sends, and PTP events that it receives.
const OF_PTP4L: HardwareStamping = HardwareStamping::new(1, 12);

fn run(host: &Host, line: &str) -> Ended {
    spawn(tapline(host, line)).finish()
}

/// Starts a capture of the device, and waits until it runs.
fn start(host: &Host, line: &str) -> Running {
    let line = format!("capture -i {LINK} --direction in --json {line}");
    let mut running = spawn(tapline(host, &line));
    running.ready();
    running
}

/// What the kernel says of the device.
fn setting(host: &Host) -> HardwareStamping {
    let open = || StampDevice::open(LINK).and_then(|mut device| device.present());
    host.run(open).expect("the setting")
}

fn set(host: &Host, setting: HardwareStamping) {
    let set = || StampDevice::open(LINK).and_then(|mut device| device.set(setting));
    assert_eq!(host.run(set).expect("set"), setting);
}

fn of_kind<'l>(lines: &'l [Line], what: &'l str) -> impl Iterator<Item = &'l Line> {
    lines.iter().filter(move |line| line.what == what)
}

/// An option of a block with this text.
fn text_option(code: u16, text: &str) -> String {
    let bytes: Vec<_> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{code} {}", bytes.concat())
}

/// Time in nanoseconds and bytes of a packet.
fn packet(line: &Line) -> (u64, Vec<u8>) {
    let words: Vec<_> = line.text.split(' ').collect();
    let ["time", time, "of", _, "bytes", bytes] = words[..] else {
        panic!("{line:?}");
    };
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16);
    let bytes: Result<_, _> = bytes.as_bytes().chunks(2).map(byte).collect();
    (time.parse().expect("a time"), bytes.expect("hexadecimal"))
}

#[test]
fn a_file_has_the_devices_stamps_to_the_nanosecond_and_names_their_source() {
    if VM.has_run() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    for mode in ["mirror", "drop"] {
        let host = host(&[]);
        let file = text(&folder.path().join(mode));
        let line = format!("--timestamp hardware --mode {mode} -c {FRAMES} -w {file}");
        let running = start(&host, &line);
        assert!(setting(&host).stamps_all_received());
        send(&host, 0..FRAMES);
        let summary = running.done();
        summary.has(&json!({
            "timestamp_source": "hardware",
            "timestamps": { "hardware": FRAMES, "kernel": 0 },
            "interfaces": [{ "device_clock": { "offset_ns": 37_000_000_000_u64, "steps": 0 } }],
        }));
        assert_eq!(setting(&host), HardwareStamping::default());

        let lines = lines(&file);
        let source =
            "time stamps: hardware, ptp0 converted to UTC by its measured offset and drift";
        let [interface] = of_kind(&lines, "interface").collect::<Vec<_>>()[..] else {
            panic!("{lines:?}");
        };
        assert!(
            interface.options.contains(&text_option(1, source)),
            "{interface:?}"
        );
        let packets: Vec<_> = of_kind(&lines, "packet").map(packet).collect();
        assert_eq!(packets.len() as u64, FRAMES);
        for (number, (time_ns, bytes)) in (0..).zip(packets) {
            assert_eq!(bytes[14..22], u64::to_be_bytes(number));
            assert_eq!(time_ns, times(&bytes)[0], "{mode}");
        }
    }
}

/// One frame in ten has only the stamp of the kernel.
#[test]
fn latency_takes_the_devices_stamps_with_every_back_end() {
    if VM.has_run() {
        return;
    }
    for backend in ["packet-v2", "packet-v3", "xdp", "xdp-ringbuf"] {
        let host = host(&[("unstamped", "10")]);
        set(&host, OF_PTP4L);
        let line = format!(
            "latency -i {LINK} --direction in --backend {backend} --timestamp hardware -s 256 -c {FRAMES} --each --json"
        );
        let mut running = spawn(tapline(&host, &line));
        let start = running.ready();
        assert_eq!(start["timestamp_source"], "hardware");
        assert!(setting(&host).stamps_all_received());
        send(&host, 0..FRAMES);
        let ended = running.finish();
        ended.done().has(&json!({
            "packets": FRAMES,
            "delivered": FRAMES,
            "backend": backend,
            "timestamp_source": "mixed",
            "timestamps": { "hardware": FRAMES * 9 / 10, "kernel": FRAMES / 10 },
        }));
        let packets = ended.events_of("packet");
        assert_eq!(packets.len() as u64, FRAMES);
        assert_eq!(setting(&host), OF_PTP4L, "{backend}");
    }
    let host = host(&[("receive", "0")]);
    for backend in ["packet-v2", "xdp", "xdp-ringbuf"] {
        let line = format!("latency -i {LINK} --backend {backend} --timestamp hardware -c 1");
        let said = run(&host, &line).refusal(4).to_owned();
        assert!(said.contains("hardware time stamps"), "{backend}: {said}");
    }
}

#[test]
fn the_summary_and_the_file_say_which_packets_the_device_did_not_stamp() {
    if VM.has_run() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let host = host(&[("unstamped", "10")]);
    let file = text(&folder.path().join("file"));
    let line = format!("capture -i {LINK} --direction in --timestamp auto -c {FRAMES} -w {file}");
    let mut running = spawn(tapline(&host, &line));
    running.ready_text();
    send(&host, 0..FRAMES);
    let ended = running.finish();
    ended.exit(0);
    ended.assert_mentions("time stamps: hardware (90) and kernel (10)");
    ended.assert_mentions("clock of stamp0: ptp0, +37.000000000 s from UTC");
    let lines = lines(&file);
    let comment = text_option(1, "time stamp by the kernel, not by the hardware");
    let is_marked = |line: &&Line| line.options.contains(&comment);
    let marked = of_kind(&lines, "packet").filter(is_marked);
    assert_eq!(marked.count() as u64, FRAMES / 10);
}

#[test]
fn ctl_shows_and_changes_what_the_device_stamps_and_keeps_what_it_sends() {
    if VM.has_run() {
        return;
    }
    let host = host(&[]);
    set(&host, OF_PTP4L);
    let line = |receive: &str| {
        format!(
            "{LINK}  receive {receive}  transmit on  supported none,all,ptpv2-event  clock /dev/ptp0"
        )
    };
    let steps = [
        ("", OF_PTP4L),
        ("on", OF_PTP4L.stamping_all_received()),
        ("on", OF_PTP4L.stamping_all_received()),
        ("off", OF_PTP4L.stamping_none_received()),
    ];
    for (state, expected) in steps {
        let ended = run(&host, &format!("ctl hwtstamp {LINK} {state}"));
        ended.exit(0);
        assert_eq!(ended.stdout, [line(expected.receive_name())]);
        assert_eq!(setting(&host), expected);
    }
    let ended = run(&host, &format!("ctl hwtstamp {LINK} on --json"));
    let event = json!({
        "event": "hwtstamp",
        "interface": LINK,
        "receive": "all",
        "transmit": "on",
        "receive_filters": ["none", "all", "ptpv2-event"],
        "clock": "/dev/ptp0",
    });
    assert_eq!(ended.events(), [event]);
}

#[test]
fn doctor_restores_the_setting_of_a_killed_capture() {
    if VM.has_run() {
        return;
    }
    let host = host(&[]);
    set(&host, OF_PTP4L);
    let running = start(&host, "--timestamp hardware -w /dev/null");
    assert_eq!(setting(&host), OF_PTP4L.stamping_all_received());
    running.signal(Signal::KILL);
    assert_eq!(running.finish().status.code(), None);
    assert_eq!(setting(&host), OF_PTP4L.stamping_all_received());

    let undone = run(&host, "doctor --undo --json");
    undone.exit(0);
    let change = json!({
        "event": "change",
        "command": format!("hwstamp_ctl -i {LINK} -t 1 -r 12"),
        "state": "undone",
    });
    let mut changes = undone.events_of("change");
    assert_eq!(changes.len(), 1, "{changes:?}");
    let mut found = changes.remove(0);
    found
        .as_object_mut()
        .expect("an object")
        .retain(|key, _| !change[key].is_null());
    assert_eq!(found, change);
    assert_eq!(setting(&host), OF_PTP4L);
    let again = run(&host, "doctor --undo --json");
    let summary = json!({ "event": "summary", "undone": 0, "left": 0, "failed": 0 });
    assert_eq!(again.events(), [summary]);
}

#[test]
fn a_device_that_cannot_stamp_everything_ends_hardware_and_is_replaced_under_auto() {
    if VM.has_run() {
        return;
    }
    let host = host(&[("receive", "2")]);
    let reason = "the driver of stamp0 stamps only some packets in hardware: none, ptpv2-event";
    let refused = run(
        &host,
        &format!("capture -i {LINK} --timestamp hardware -c 1 -w /dev/null"),
    );
    let said = refused.refusal(4);
    assert!(said.starts_with(reason), "{said}");
    let running = start(&host, "--timestamp auto -c 1 -w /dev/null");
    send(&host, 0..1);
    let summary = running.done();
    summary.has(&json!({
        "timestamp_source": "kernel",
        "timestamps": { "hardware": 0, "kernel": 1 },
        "interfaces": [{ "timestamp_refusal": reason }],
    }));
}
