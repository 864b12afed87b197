//! The send paths: contents, order and account of each, and the automatic selection.

use bpf::{Insn, Program, ProgramKind, Reg, XdpAttachMode, XdpLink};
use lab::Host;
use lab::kernel::{AF_XDP_FRAGMENTS, LIVE_FRAMES, THREADED_NAPI, XDP_ABILITIES};
use lab::skip::without;
use netlink::NetDevices;
use tapline::capture::Backend;
use tapline::send::{
    Fill, Generator, LongFrames, PacketKind, Rate, SendError, SendOptions, SendPath, SendQueue,
    Sender,
};
use wire::MacAddress;
use wire::build::Frame;

use crate::support::{Pair, frames, number, options};

pub const PATHS: [SendPath; 4] = [
    SendPath::LiveFrames,
    SendPath::Xdp,
    SendPath::Bypass,
    SendPath::Qdisc,
];

/// Attaches a program that passes all packets: a veth interface takes XDP frames from its peer only then.
pub fn pass_all(host: &Host) -> XdpLink {
    let code = [Insn::mov(Reg::R0, 2), Insn::Exit];
    // Live frames and these programs came together.
    let kind = if is_missing(SendPath::LiveFrames) {
        ProgramKind::Xdp
    } else {
        ProgramKind::XdpFrags
    };
    let program = Program::load(kind, "tapline_pass", &code).unwrap();
    let index = host.interface().index.0;
    host.run(|| XdpLink::attach(&program, index, XdpAttachMode::Native))
        .unwrap()
}

/// Whether the kernel lacks a path.
fn is_missing(path: SendPath) -> bool {
    path == SendPath::LiveFrames && without(&LIVE_FRAMES)
}

/// A job on the left interface.
fn open(pair: &Pair, with: impl FnOnce(SendOptions) -> SendOptions) -> Sender {
    try_open(pair, with).unwrap()
}

fn try_open(
    pair: &Pair,
    with: impl FnOnce(SendOptions) -> SendOptions,
) -> Result<Sender, SendError> {
    let options = with(tapline::send(pair.left.interface().name.to_string()));
    pair.left.run(|| options.open())
}

fn queue(frames: &[Vec<u8>]) -> SendQueue {
    let mut queue = SendQueue::default();
    for frame in frames {
        queue.push(0, frame);
    }
    queue
}

/// A frame of `bytes` bytes whose contents follow from them, with a VLAN tag or not.
fn frame(bytes: usize, has_tag: bool) -> Vec<u8> {
    let mut frame = vec![0x02; 12];
    if has_tag {
        frame.extend([0x81, 0x00, 0x00, 0x07]);
    }
    frame.extend([0x88, 0xb5]);
    let filler = (frame.len()..bytes).map(|place| (place * 7 + bytes) as u8);
    frame.extend(filler.collect::<Vec<_>>());
    frame
}

#[test]
fn frames_of_all_lengths_arrive_as_they_were() {
    let paced = Rate::Packets(20_000.try_into().unwrap());
    let on = |rate| {
        [
            (SendPath::LiveFrames, 1500, rate),
            (SendPath::LiveFrames, 3310, rate),
            (SendPath::Xdp, 1500, rate),
            (SendPath::Xdp, 9000, rate),
            (SendPath::Bypass, 1500, rate),
            (SendPath::Bypass, 9000, rate),
            (SendPath::Qdisc, 1500, rate),
            (SendPath::Qdisc, 9000, rate),
        ]
    };
    let has_no_fragments = without(&AF_XDP_FRAGMENTS);
    for (path, mtu, rate) in on(Rate::Max).into_iter().chain(on(paced)) {
        if has_no_fragments && (path, mtu) == (SendPath::Xdp, 9000) || is_missing(path) {
            continue;
        }
        let pair = Pair::new();
        for host in [&pair.left, &pair.right] {
            host.ip(&format!("link set {} mtu {mtu}", host.interface().name));
        }
        let _pass = (path == SendPath::LiveFrames).then(|| pass_all(&pair.right));
        let longest = mtu + 14;
        let lengths = (60..1515)
            .step_by(31)
            .chain([1514])
            .chain((1515..longest).step_by(611))
            .chain([longest]);
        let mut sent = Vec::new();
        for bytes in lengths {
            sent.extend([frame(bytes, false), frame(bytes + 4, true)]);
        }
        let capture = options(&pair.right, Backend::PacketV3).snaplen(10_000);
        let mut capture = pair.open(capture.packets(sent.len() as u64));
        let mut sender = open(&pair, |options| options.path(path).rate(rate));
        assert!(sender.transmit(&queue(&sent)).unwrap());
        let summary = sender.finish().unwrap();
        let all = sent.len() as u64;
        assert_eq!((summary.accepted, summary.path), (all, path), "{summary}");
        assert_eq!(summary.delivered, Some(all), "{path:?}");
        for expected in &sent {
            let packet = capture.next().unwrap().unwrap();
            let bytes = expected.len();
            assert_eq!(packet.data(), expected, "{path:?}, {bytes} bytes");
        }
    }
}

/// A receiving thread that does not keep up makes the veth interface refuse frames: its ring holds 256.
#[test]
fn a_slow_receiver_costs_no_packet_and_no_order() {
    if without(&THREADED_NAPI) {
        return;
    }
    for path in [SendPath::Xdp, SendPath::Bypass] {
        send_to_a_thread(path);
    }
}

#[test]
fn live_frames_that_a_slow_receiver_refuses_are_sent_again() {
    if is_missing(SendPath::LiveFrames) {
        return;
    }
    // The other ways cost more for each packet than receiving it may. With this one it depends on the scheduler how
    // soon frames are refused.
    let is_refused = (0..20).any(|_| send_to_a_thread(SendPath::LiveFrames) > 0);
    assert!(is_refused, "the thread has kept up each time");
}

/// Sends to an interface that a thread of the kernel serves, and returns how often it refused frames.
pub fn send_to_a_thread(path: SendPath) -> u64 {
    const PACKETS: u32 = 30_000;
    let pair = Pair::new();
    let _pass = pass_all(&pair.right);
    let name = pair.right.interface().name;
    let line = format!("mount -t sysfs none /sys && echo 1 > /sys/class/net/{name}/threaded");
    let threaded = pair
        .right
        .command("unshare")
        .args(["--mount", "sh", "-c", &line])
        .status();
    assert!(threaded.unwrap().success());
    let capture = options(&pair.right, Backend::PacketV3).packets(PACKETS.into());
    let mut capture = pair.open(capture);
    let mut sender = open(&pair, |options| options.path(path));
    assert!(sender.transmit(&queue(&frames(0, PACKETS))).unwrap());
    let summary = sender.finish().unwrap();
    let all = Some(PACKETS.into());
    let sent = (Some(summary.accepted), summary.delivered);
    assert_eq!(sent, (all, all), "{summary:?}");
    for expected in 0..PACKETS {
        let packet = capture.next().unwrap().expect("all packets arrive");
        assert_eq!(number(packet.data()), expected, "{path:?}");
    }
    summary.retries
}

#[test]
fn live_frames_are_chosen_while_the_peer_takes_them() {
    if without(&XDP_ABILITIES) {
        return;
    }
    let pair = Pair::new();
    let mut capture = pair.open(options(&pair.right, Backend::PacketV3).packets(600));
    let pass = pass_all(&pair.right);
    let mut sender = open(&pair, |options| options);
    assert!(sender.transmit(&queue(&frames(0, 300))).unwrap());
    // From now on the peer refuses them, and the next path is taken.
    drop(pass);
    let index = pair.left.interface().index;
    lab::wait::until("the program is detached", || {
        let abilities = pair.left.run(|| NetDevices::open().unwrap().xdp(index));
        !abilities.unwrap().transmits()
    });
    assert!(sender.transmit(&queue(&frames(300, 300))).unwrap());
    let summary = sender.finish().unwrap();
    assert_eq!((summary.accepted, summary.path), (600, SendPath::Xdp));
    for expected in 0..600 {
        let packet = capture.next().unwrap().unwrap();
        assert_eq!(number(packet.data()), expected);
    }
}

#[test]
fn a_path_that_delivers_nothing_is_refused_or_reports_no_packet_as_accepted() {
    if without(&XDP_ABILITIES) {
        return;
    }
    let pair = Pair::new();
    // The peer has no XDP program.
    let refused = try_open(&pair, |options| options.path(SendPath::LiveFrames));
    let text = chain(&refused.err().unwrap());
    assert!(text.contains("the device sends no XDP frames"), "{text}");
    // The peer has one that is taken away.
    let pass = pass_all(&pair.right);
    let mut sender = open(&pair, |options| options.path(SendPath::LiveFrames));
    drop(pass);
    let index = pair.left.interface().index;
    lab::wait::until("the program is detached", || {
        let abilities = pair.left.run(|| NetDevices::open().unwrap().xdp(index));
        !abilities.unwrap().transmits()
    });
    let failed = sender.transmit(&queue(&frames(0, 100))).unwrap_err();
    let SendError::Send { path, source, .. } = failed else {
        panic!("{failed}");
    };
    assert_eq!(path, SendPath::LiveFrames);
    let errno = source.raw_os_error();
    assert!(
        [libc::EOPNOTSUPP, libc::ENXIO].map(Some).contains(&errno),
        "{source}"
    );
    let summary = sender.finish().unwrap();
    assert_eq!((summary.submitted, summary.accepted), (1, 0));
    assert_eq!(summary.delivered, Some(0));
    assert_eq!(pair.right.counters().rx_packets, 0);
}

#[test]
fn the_choice_follows_the_device_and_the_rate() {
    if without(&XDP_ABILITIES) {
        return;
    }
    let pair = Pair::new();
    let path = |with: fn(SendOptions) -> SendOptions| {
        let mut sender = open(&pair, with);
        sender.inject(&frames(0, 1)[0]).unwrap();
        sender.finish().unwrap().path
    };
    assert_eq!(path(|options| options), SendPath::Xdp);
    let paced = |options: SendOptions| options.rate(Rate::Recorded(1.0));
    assert_eq!(path(paced), SendPath::Bypass);
    let _pass = pass_all(&pair.right);
    assert_eq!(path(|options| options), SendPath::LiveFrames);
    // Frames of a larger MTU do not fit into a page.
    for host in [&pair.left, &pair.right] {
        let _ = host.ip(&format!("link set {} mtu 3400", host.interface().name));
    }
    assert_eq!(path(|options| options), SendPath::Xdp);
}

#[test]
fn an_af_xdp_queue_in_use_and_missing_zero_copy_are_reported() {
    let pair = Pair::new();
    let held = open(&pair, |options| options.path(SendPath::Xdp));
    let refused = try_open(&pair, |options| options.path(SendPath::Xdp));
    let text = chain(&refused.err().unwrap());
    assert!(
        text.contains("another AF_XDP socket has this queue"),
        "{text}"
    );
    // The next way needs no queue of its own.
    let mut other = open(&pair, |options| options);
    other.inject(&frames(0, 1)[0]).unwrap();
    assert_eq!(other.finish().unwrap().path, SendPath::Bypass);
    drop(held);
    let pair = Pair::new();
    let refused = try_open(&pair, |options| options.path(SendPath::XdpZeroCopy));
    let text = chain(&refused.err().unwrap());
    assert!(text.contains("no zero copy"), "{text}");
    let refused = try_open(&pair, |options| options.path(SendPath::XdpTimed));
    let text = chain(&refused.err().unwrap());
    assert!(text.contains("the device has no launch times"), "{text}");
    let two = 2.try_into().unwrap();
    let refused = try_open(&pair, |options| options.path(SendPath::Xdp).threads(two));
    let text = chain(&refused.err().unwrap());
    assert!(
        text.contains("queue 1 of left0 (the interface has no such queue)"),
        "{text}"
    );
}

fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(Some(error), |error| error.source());
    let texts = sources.map(ToString::to_string);
    texts.collect::<Vec<_>>().join(": ")
}

#[test]
fn frames_above_the_mtu_are_cut_on_every_path() {
    for path in PATHS {
        if is_missing(path) {
            continue;
        }
        let pair = Pair::new();
        let _pass = (path == SendPath::LiveFrames).then(|| pass_all(&pair.right));
        let capture = options(&pair.right, Backend::PacketV3).snaplen(2000);
        let mut capture = pair.open(capture.packets(1));
        let cut = |options: SendOptions| options.path(path).long_frames(LongFrames::Truncate);
        let mut sender = open(&pair, cut);
        assert!(sender.transmit(&queue(&[frame(1700, false)])).unwrap());
        let summary = sender.finish().unwrap();
        assert_eq!((summary.accepted, summary.truncated), (1, 1), "{path:?}");
        let packet = capture.next().unwrap().unwrap();
        assert_eq!(packet.data(), &frame(1700, false)[..1514]);
    }
}

#[test]
fn an_interface_that_is_deleted_or_down_ends_the_job_on_every_path() {
    for (path, is_deleted) in PATHS
        .into_iter()
        .flat_map(|path| [(path, true), (path, false)])
    {
        if is_missing(path) {
            continue;
        }
        let pair = Pair::new();
        let _pass = (path == SendPath::LiveFrames).then(|| pass_all(&pair.right));
        let mut sender = open(&pair, |options| options.path(path));
        sender.inject(&frame(60, false)).unwrap();
        let name = pair.left.interface().name;
        pair.left.ip(&if is_deleted {
            format!("link delete {name}")
        } else {
            format!("link set {name} down")
        });
        let failed = sender.inject(&frame(60, false)).unwrap_err();
        assert!(matches!(failed, SendError::Send { .. }), "{failed}");
        let summary = sender.finish().unwrap();
        assert_eq!((summary.submitted, summary.accepted), (2, 1), "{path:?}");
        // The counters of a deleted interface went with it.
        let delivered = (!is_deleted).then_some(1);
        assert_eq!(summary.delivered, delivered, "{path:?}");
    }
}

/// 16 flows by turns; each packet has its number in its flow.
pub fn flows(packets: u32) -> impl Iterator<Item = Vec<u8>> {
    let macs = [1, 2].map(|host| MacAddress([2, 0, 0, 0, 0, host]));
    (0..packets).map(move |number| {
        let [a, b] = [[10, 9, 0, 1], [10, 9, 0, 2]].map(Into::into);
        let port = 1000 + (number % 16) as u16;
        let payload = (number / 16).to_be_bytes();
        Frame::ethernet(macs[0], macs[1])
            .ipv4(a, b)
            .udp(port, 9)
            .payload(&payload)
    })
}

#[test]
fn several_threads_send_all_packets_and_keep_the_order_of_each_flow() {
    const PACKETS: u32 = 8000;
    let rate = Rate::Packets(200_000.try_into().unwrap());
    for (path, rate) in [
        (SendPath::LiveFrames, Rate::Max),
        (SendPath::Bypass, Rate::Max),
        (SendPath::Bypass, rate),
    ] {
        if is_missing(path) {
            continue;
        }
        let pair = Pair::new();
        let _pass = pass_all(&pair.right);
        let capture = options(&pair.right, Backend::PacketV3).packets(PACKETS.into());
        let mut capture = pair.open(capture);
        let two = 2.try_into().unwrap();
        let mut sender = open(&pair, |options| {
            options
                .path(path)
                .rate(rate)
                .threads(two)
                .packets(u64::from(PACKETS))
        });
        let mut all = flows(2 * PACKETS);
        let is_complete = sender.run(move |queue| {
            for frame in all.by_ref().take(1000) {
                queue.push(0, &frame);
            }
            Ok(Fill::More)
        });
        assert!(!is_complete.unwrap(), "the limit ends the job");
        let summary = sender.finish().unwrap();
        assert_eq!((summary.accepted, summary.path), (PACKETS.into(), path));
        let timed = if rate == Rate::Max { 0 } else { PACKETS };
        assert_eq!(summary.lateness.count(), u64::from(timed));
        let mut next = [0; 16];
        for _ in 0..PACKETS {
            let packet = capture.next().unwrap().unwrap();
            let port = u16::from_be_bytes(packet.data()[34..36].try_into().unwrap());
            let number = u32::from_be_bytes(packet.data()[42..46].try_into().unwrap());
            let next = &mut next[usize::from(port - 1000)];
            assert_eq!(number, *next, "{path:?}, port {port}");
            *next += 1;
        }
    }
}

#[test]
fn an_error_of_one_thread_ends_the_others() {
    let pair = Pair::new();
    let two = 2.try_into().unwrap();
    let mut sender = open(&pair, |options| options.path(SendPath::Bypass).threads(two));
    let mut is_first = true;
    let result = sender.run(move |queue| {
        if std::mem::take(&mut is_first) {
            queue.push(0, &frame(2000, false));
        }
        for frame in flows(100) {
            queue.push(0, &frame);
        }
        Ok(Fill::More)
    });
    assert!(matches!(
        result,
        Err(SendError::TooLong { bytes: 2000, .. })
    ));
    let summary = sender.finish().unwrap();
    assert_eq!(summary.delivered, Some(summary.accepted));
}

/// Equal frames of a generator are sent without copies.
#[test]
fn equal_frames_arrive_as_often_as_they_are_sent() {
    const PACKETS: u64 = 20_000;
    for path in [SendPath::LiveFrames, SendPath::Xdp, SendPath::Bypass] {
        if is_missing(path) {
            continue;
        }
        let pair = Pair::new();
        let _pass = pass_all(&pair.right);
        let capture = options(&pair.right, Backend::PacketV3).packets(PACKETS);
        let mut capture = pair.open(capture);
        let expected = frame(90, false);
        let generator = Generator::new(PacketKind::Raw(expected.clone())).packets(PACKETS);
        let mut sender = open(&pair, |options| options.path(path));
        assert!(sender.run(generator.into_source().unwrap()).unwrap());
        let summary = sender.finish().unwrap();
        let sent = (summary.accepted, summary.bytes, summary.delivered);
        assert_eq!(sent, (PACKETS, 90 * PACKETS, Some(PACKETS)), "{path:?}");
        for _ in 0..PACKETS {
            let packet = capture.next().unwrap().expect("all packets arrive");
            assert_eq!(packet.data(), expected, "{path:?}");
        }
    }
}
