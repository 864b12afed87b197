//! Hardware time stamps from the driver to the capture file, with a device whose stamps are known (`lab/driver`).

use std::fs;
use std::path::Path;
use std::process::Command;

use pcap::Precision;
use tapline::capture::{
    Backend, Capture, CaptureErrorKind, CaptureOptions, CaptureSummary, DeliveryMode,
    DirectionFilter, FanoutMode, FileConsumer, Mode, ParallelCapture, ReaderOptions,
    TimestampSource,
};
use tapline::file::write::{CaptureFile, CaptureFileOptions, Output};
use tapline::hwtstamp::{HardwareStamping, RestoreOutcome, StampDevice, restore_leftovers};
use tapline_lab::generator::send_frames;
use tapline_lab::stamp_device::{LINK, frame, host, send, times};
use tapline_lab::{Host, rerun};

use crate::VM;

const FRAMES: u64 = 200;
const BACKENDS: [Backend; 4] = [
    Backend::PacketV2,
    Backend::PacketV3,
    Backend::Xdp,
    Backend::XdpRingbuf,
];

/// TAI minus UTC since 2017.
const TAI_NS: i64 = 37_000_000_000;

/// What ptp4l sets: it stamps what it sends, and PTP events that it receives.
const OF_PTP4L: HardwareStamping = HardwareStamping::new(1, 12);

fn options(backend: Backend) -> CaptureOptions {
    tapline::capture(LINK)
        .backend(backend)
        .snaplen(256)
        .direction(DirectionFilter::In)
        .timestamps(TimestampSource::Hardware)
        .mode(match backend {
            Backend::Xdp => Mode::Drop,
            _ => Mode::Mirror,
        })
        .delivery(match backend {
            Backend::PacketV2 => DeliveryMode::Immediate,
            _ => DeliveryMode::default(),
        })
        .packets(FRAMES)
}

fn open(host: &Host, options: CaptureOptions) -> Capture {
    host.run(|| options.open()).expect("a capture")
}

fn setting(host: &Host) -> HardwareStamping {
    let open = || StampDevice::open(LINK).and_then(|mut device| device.present());
    host.run(open).expect("the setting")
}

fn set(host: &Host, setting: HardwareStamping) {
    let set = || StampDevice::open(LINK).and_then(|mut device| device.set(setting));
    assert_eq!(host.run(set).expect("set"), setting);
}

/// Captures what `send` sends into a file.
fn capture_to(
    path: &Path,
    host: &Host,
    options: CaptureOptions,
    send: impl FnOnce(),
) -> CaptureSummary {
    let capture = open(host, options);
    let output = Output::Path(path.to_owned());
    let file = CaptureFileOptions::new(output, capture.interfaces().to_vec());
    let file = CaptureFile::create(file, 0).expect("a file");
    let mut consumer = FileConsumer::new(file, std::time::Duration::ZERO);
    let stop = tapline::Stop::new().expect("a stop");
    send();
    capture
        .run_consumer(&mut consumer, &stop)
        .expect("captured")
}

/// Times and bytes of the packets in a file, as libpcap reads them.
fn packets(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let opened = pcap::Capture::from_file_with_precision(path, Precision::Nano);
    let mut file = opened.expect("a capture file");
    let mut packets = Vec::new();
    while let Ok(packet) = file.next_packet() {
        let time = packet.header.ts;
        // With this precision the fraction is in nanoseconds.
        let time_ns = time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned();
        packets.push((time_ns, packet.data.to_vec()));
    }
    packets
}

#[test]
fn stamps_arrive_in_the_file_to_the_nanosecond() {
    if VM.has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for offset_ns in [0, TAI_NS, -1_600_000_000_000_000_000] {
        for backend in BACKENDS {
            let host = host(&[("offset_ns", &offset_ns.to_string())]);
            let path = folder.path().join("file.pcapng");
            let summary = capture_to(&path, &host, options(backend), || send(&host, 0..FRAMES));
            assert_eq!(summary.timestamp_source(), Some(TimestampSource::Hardware));
            assert_eq!(summary.timestamp_counts().hardware, FRAMES);
            let clock = summary.links[0].device_clock.expect("a clock");
            assert_eq!((clock.offset_ns, clock.steps), (offset_ns, 0));
            let packets = packets(&path);
            assert_eq!(packets.len() as u64, FRAMES);
            for (number, (time_ns, bytes)) in (0..).zip(packets) {
                assert_eq!(bytes[14..22], u64::to_be_bytes(number));
                let [real_ns, device_ns] = times(&bytes);
                assert_eq!(device_ns, real_ns.wrapping_add_signed(offset_ns));
                assert_eq!(time_ns, real_ns, "{backend:?}");
            }
        }
    }
}

#[test]
fn several_readers_merge_packets_by_hardware_stamps() {
    if VM.has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for offset_ns in [0, TAI_NS, -1_600_000_000_000_000_000] {
        for backend in [Backend::PacketV3, Backend::Xdp] {
            let host = host(&[("offset_ns", &offset_ns.to_string())]);
            let mut readers = ReaderOptions::default();
            readers.distribution = (backend == Backend::PacketV3).then_some(FanoutMode::Random);
            let opened = host.run(|| ParallelCapture::open(options(backend), &readers));
            let capture = opened.expect("a capture");
            assert!(capture.readers().len() > 1, "{backend:?}");
            let path = folder.path().join("file.pcapng");
            let output = Output::Path(path.clone());
            let file = CaptureFileOptions::new(output, capture.interfaces().to_vec());
            let file = CaptureFile::create(file, 0).expect("a file");
            let mut consumer = FileConsumer::new(file, std::time::Duration::ZERO);
            let stop = tapline::Stop::new().expect("a stop");
            send(&host, 0..FRAMES);
            let summary = capture.run_file(&mut consumer, &stop).expect("captured");
            assert_eq!(summary.timestamp_counts().hardware, FRAMES);
            assert_eq!(summary.merge.expect("a merge").late, 0);
            let packets = packets(&path);
            assert_eq!(packets.len() as u64, FRAMES);
            for (number, (time_ns, bytes)) in (0..).zip(packets) {
                assert_eq!(bytes[14..22], u64::to_be_bytes(number));
                assert_eq!(time_ns, times(&bytes)[0], "{backend:?}");
            }
        }
    }
}

/// The rings of several queues have a clock each. Each measurement has an error, so clocks that are measured one by one differ.
#[test]
fn clocks_of_one_device_share_their_measurements() {
    if VM.has_run() {
        return;
    }
    let host = host(&[("drift_ppb", "10000"), ("precise", "0")]);
    let known = || StampDevice::open(LINK).and_then(|mut device| Ok(device.capabilities()?));
    let known = host.run(known).expect("the device");
    let index = known.and_then(|known| known.clock).expect("a clock");
    let clocks = [(); 2].map(|()| ring::DeviceClock::open(index).expect("it can be read"));
    let [one, other] = clocks.each_ref().map(ring::DeviceClock::state);
    assert_eq!(one, other);
}

#[test]
fn a_drifting_clock_is_followed() {
    if VM.has_run() {
        return;
    }
    let host = host(&[("drift_ppb", "10000")]);
    let mut capture = open(&host, options(Backend::PacketV2));
    for number in 0..FRAMES {
        send(&host, number..number + 1);
        let packet = capture.next().expect("captured").expect("a packet");
        let [real_ns, device_ns] = times(packet.data());
        assert!(device_ns - real_ns > TAI_NS as u64);
        let time_ns = packet.time().as_nanos().expect("a time");
        // Within the first 10 ms the drift is not known.
        assert!(time_ns.abs_diff(real_ns) <= 200, "{number}");
    }
    let summary = capture.finish().expect("an end");
    assert_eq!(summary.timestamp_counts().hardware, FRAMES);
}

/// A tag that the device strips is metadata, for packet sockets and for XDP programs.
#[test]
fn a_tag_that_the_device_strips_is_put_back() {
    if VM.has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let tagged = |number: u64| {
        let mut frame = frame(number);
        frame.splice(12..12, [0x81, 0x00, 0x60, 0x07]);
        frame
    };
    // Ring buffers hold packets as they pass on to the stack, without the tag.
    for backend in &BACKENDS[..3] {
        let backend = *backend;
        let host = host(&[]);
        let path = folder.path().join("file.pcapng");
        let link = host.netlink().link_named(LINK).expect("the device");
        let send = || {
            let sent = host.run(|| send_frames(link.ifindex(), (0..FRAMES).map(tagged)));
            sent.expect("frames are sent");
        };
        let summary = capture_to(&path, &host, options(backend), send);
        assert_eq!(summary.timestamp_counts().hardware, FRAMES);
        let packets = packets(&path);
        assert_eq!(packets.len() as u64, FRAMES);
        for (number, (time_ns, bytes)) in (0..).zip(packets) {
            // The device writes its times into the end.
            let [real_ns, _] = times(&bytes);
            assert_eq!(time_ns, real_ns);
            let kept = bytes.len() - 16;
            assert_eq!(bytes[..kept], tagged(number)[..kept], "{backend:?}");
        }
    }
}

#[test]
fn packets_without_a_stamp_have_the_kernels_and_are_marked_and_counted() {
    if VM.has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for backend in BACKENDS {
        let host = host(&[("unstamped", "10")]);
        let path = folder.path().join("file.pcapng");
        let summary = capture_to(&path, &host, options(backend), || send(&host, 0..FRAMES));
        let counts = summary.timestamp_counts();
        assert_eq!(
            (counts.hardware, counts.kernel),
            (FRAMES * 9 / 10, FRAMES / 10)
        );
        assert_eq!(summary.timestamp_source(), None);
        let bytes = fs::read(&path).expect("the file");
        let comment = b"time stamp by the kernel, not by the hardware";
        let marked = bytes.windows(comment.len()).filter(|part| part == comment);
        assert_eq!(marked.count() as u64, FRAMES / 10);
        let late = packets(&path)
            .into_iter()
            .filter(|(time_ns, bytes)| *time_ns > times(bytes)[0]);
        // The kernel stamps a frame after the device has received it.
        assert_eq!(late.count() as u64, FRAMES / 10);
    }
}

#[test]
fn the_setting_is_widened_and_restored_by_the_last_capture() {
    if VM.has_run() {
        return;
    }
    let host = host(&[]);
    set(&host, OF_PTP4L);
    let first = open(&host, options(Backend::PacketV3));
    let widened = OF_PTP4L.stamping_all_received();
    assert_eq!(setting(&host), widened);
    let second = open(&host, options(Backend::PacketV2));
    drop(first);
    assert_eq!(setting(&host), widened);
    drop(second);
    assert_eq!(setting(&host), OF_PTP4L);

    // What somebody else has set since is not touched.
    let capture = open(&host, options(Backend::PacketV3));
    set(&host, HardwareStamping::default());
    drop(capture);
    assert_eq!(setting(&host), HardwareStamping::default());
}

/// A process that cannot restore anything any more.
const KILLED: &str = "TAPLINE_LAB_KILLED";

#[test]
fn the_setting_of_a_killed_capture_is_restored_later() {
    if VM.has_run() {
        return;
    }
    if std::env::var_os(KILLED).is_some() {
        // In the host's namespace already.
        let _capture = options(Backend::PacketV3).open().expect("a capture");
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
            .expect("killed");
    }
    let host = host(&[]);
    let kill = || {
        let mut command: Command = host.command(rerun::program().to_str().expect("a path"));
        let status = command.args(rerun::arguments()).env(KILLED, "1").status();
        assert!(!status.expect("it ran").success());
        assert_eq!(setting(&host), OF_PTP4L.stamping_all_received());
    };
    set(&host, OF_PTP4L);
    kill();
    let undone = host.run(restore_leftovers).expect("undone");
    let [one] = &undone[..] else {
        panic!("{undone:?}");
    };
    assert!(matches!(one.restored, RestoreOutcome::Done), "{one:?}");
    assert_eq!((&*one.link, one.former), (LINK, OF_PTP4L));
    assert_eq!(setting(&host), OF_PTP4L);
    assert!(host.run(restore_leftovers).expect("undone").is_empty());

    // The next capture takes the record over.
    kill();
    drop(open(&host, options(Backend::PacketV3)));
    assert_eq!(setting(&host), OF_PTP4L);
    assert!(host.run(restore_leftovers).expect("undone").is_empty());
}

#[test]
fn a_driver_that_cannot_stamp_all_packets_is_refused_or_replaced_by_the_kernel() {
    if VM.has_run() {
        return;
    }
    for (receive, reason) in [
        ("0", "the driver of stamp0 has no hardware time stamps"),
        (
            "2",
            "the driver of stamp0 stamps only some packets in hardware: none, ptpv2-event",
        ),
    ] {
        let host = host(&[("receive", receive)]);
        let refused = host.run(|| options(Backend::PacketV3).open().map(drop));
        let refused = refused.expect_err("it cannot");
        assert_eq!(refused.to_string(), reason);
        assert_eq!(refused.kind(), CaptureErrorKind::NoHardwareTimestamps);
        let mut capture = open(&host, options(Backend::PacketV3).timestamp_fallback(true));
        let link = capture.links().next().expect("an interface");
        assert_eq!(link.timestamps, TimestampSource::Kernel);
        let refusal = link.timestamp_refusal.expect("a reason");
        assert_eq!(refusal.to_string(), reason);
        send(&host, 0..1);
        capture.next().expect("captured").expect("a packet");
        let summary = capture.finish().expect("an end");
        assert_eq!(summary.timestamp_counts().kernel, 1);
    }
}
