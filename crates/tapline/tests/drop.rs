//! Drop mode: what a capture takes from the driver and what it leaves to the stack, against the number
//! that was sent.

use crate::support;
use std::net::UdpSocket;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::support::{DEADLINE, Witness, frames, number, run, send};
use lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use lab::{Host, Net};
use ring::{DirectionFilter, TimestampSource};
use tapline::Packet;
use tapline::capture::{
    Account, Backend, Capture, CaptureError, CaptureOptions, CaptureSummary, Consumer,
    ConsumerError, Ended, Expression, Filter, Limits, Mode, ModeError, UnmatchedAction,
    XdpAttachMode, XdpMode,
};
use tapline::filter::NoNames;

/// The interface's own MTU takes one chunk of 2048 bytes a packet.
const CHUNK_BYTES: usize = 2048;

/// Memory that the program fills, where it suits, and AF_XDP sockets.
const WAYS: [Option<Backend>; 2] = [None, Some(Backend::Xdp)];

fn options(host: &Host) -> CaptureOptions {
    CaptureOptions::default()
        .links(vec![host.interface().name.to_string()])
        .mode(Mode::Drop)
        .snaplen(96)
        .buffer_bytes(4096 * CHUNK_BYTES)
        .limits(Limits {
            packets: None,
            duration: Some(DEADLINE),
        })
        .tick(Duration::from_millis(5))
}

fn expression(text: &str) -> Filter {
    Filter::Expression(Expression {
        text: text.to_owned(),
        names: std::sync::Arc::new(NoNames),
    })
}

/// Keeps packets, and tells how many the account has.
struct Reporter {
    packets: Vec<(u64, Vec<u8>)>,
    received: Sender<u64>,
    /// Held up by the first packet until it hears something.
    hold: Option<Receiver<()>>,
    lost_before: u64,
}

impl Reporter {
    fn new() -> (Self, Receiver<u64>) {
        let (received, told) = channel();
        let reporter = Self {
            packets: Vec::new(),
            received,
            hold: None,
            lost_before: 0,
        };
        (reporter, told)
    }
}

impl Consumer for Reporter {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        if let Some(hold) = self.hold.take() {
            hold.recv_timeout(DEADLINE)?;
        }
        self.lost_before += packet.drops_before();
        // There is one queue, which tells nothing.
        assert_eq!(packet.record().queue, None);
        let time_ns = packet.time().as_nanos().unwrap();
        self.packets.push((time_ns, packet.data().to_vec()));
        Ok(())
    }

    fn tick(&mut self, _now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        // A test that has heard enough has gone.
        let _ = self.received.send(account.received().unwrap());
        Ok(())
    }
}

/// Returns when the account has `count` packets.
#[track_caller]
fn until(told: &Receiver<u64>, count: u64) {
    while told.recv_timeout(DEADLINE).expect("the account grows") < count {}
}

#[track_caller]
fn assert_adds_up(outcome: &CaptureSummary, received: u64) {
    let account = outcome.account;
    assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
    let sum = account.delivered + account.filtered.unwrap() + account.lost.total();
    assert_eq!((account.received(), sum), (Some(received), received));
    assert_eq!(outcome.timestamp_source, TimestampSource::Kernel);
}

#[test]
fn what_matches_is_taken_and_the_stack_sees_the_others() {
    let cpus = bpf::RingBufferProgram::cpu_count().unwrap();
    for (place, mode, backend, rings) in [
        (XdpAttachMode::Native, XdpMode::Native, None, cpus),
        (XdpAttachMode::Generic, XdpMode::Generic, None, cpus),
        (
            XdpAttachMode::Native,
            XdpMode::Native,
            Some(Backend::Xdp),
            1,
        ),
        (
            XdpAttachMode::Generic,
            XdpMode::Generic,
            Some(Backend::Xdp),
            1,
        ),
    ] {
        let [left, right] = Net::new().pair();
        let mut stack = Witness::on(&right);
        let wanted = options(&right)
            .with_filter(Some(expression("udp")))
            .xdp(place)
            .backend(backend);
        let (mut reporter, told) = Reporter::new();
        let before_ns = abi::clock::realtime_ns();
        let (outcome, ()) = run(&right, wanted, &mut reporter, |stopper| {
            let datagrams = vec![udp_frame(200); 30];
            send(&left, &[frames(0, 20), datagrams, frames(20, 5)].concat());
            until(&told, 55);
            stopper.stop();
        });
        let after_ns = abi::clock::realtime_ns();
        assert_adds_up(&outcome, 55);
        let account = outcome.account;
        assert_eq!((account.delivered, account.filtered), (30, Some(25)));
        assert_eq!(account.lost.total(), 0);
        stack.until(25);
        assert_eq!((outcome.rings(), outcome.xdp_mode()), (rings, Some(mode)));
        assert_eq!(reporter.packets.len(), 30);
        assert!(reporter.packets.is_sorted_by_key(|(time_ns, _)| *time_ns));
        for (time_ns, bytes) in &reporter.packets {
            assert!((before_ns..=after_ns).contains(time_ns));
            assert_eq!(*bytes, udp_frame(200)[..96]);
        }
    }
}

#[test]
fn others_may_be_dropped_too() {
    for backend in WAYS {
        let [left, right] = Net::new().pair();
        let mut stack = Witness::on(&right);
        let wanted = options(&right)
            .with_filter(Some(expression("udp")))
            .others(UnmatchedAction::Drop)
            .backend(backend);
        let (mut reporter, told) = Reporter::new();
        let (outcome, ()) = run(&right, wanted, &mut reporter, |stopper| {
            send(&left, &frames(0, 20));
            until(&told, 20);
            stopper.stop();
        });
        assert_adds_up(&outcome, 20);
        assert_eq!(outcome.account.filtered, Some(20));
        // The first that the stack sees are those that come when the capture is over.
        send(&left, &frames(20, 3));
        stack.until(3);
    }
}

/// A filter that is too long for a socket is all in the kernel here.
#[test]
fn a_list_of_hosts_is_a_set_in_the_kernel() {
    for backend in WAYS {
        let [left, right] = Net::new().pair();
        let hosts = (0..5000).map(|n: u32| format!("10.1.{}.{}", n / 250, n % 250));
        let hosts = hosts.chain(["198.18.0.1".to_owned()]);
        let text = format!("src host ({})", hosts.collect::<Vec<_>>().join(" or "));
        let wanted = options(&right)
            .with_filter(Some(expression(&text)))
            .backend(backend);
        let (mut reporter, told) = Reporter::new();
        let (outcome, ()) = run(&right, wanted, &mut reporter, |stopper| {
            let mut other = udp_frame(100);
            other[29] = 9;
            send(&left, &[vec![udp_frame(100); 7], vec![other; 4]].concat());
            until(&told, 11);
            stopper.stop();
        });
        assert_adds_up(&outcome, 11);
        assert_eq!(
            (outcome.account.delivered, outcome.account.filtered),
            (7, Some(4))
        );
    }
}

/// The consumer is away while ten times as many packets come as the ring holds.
#[test]
fn at_overload_every_packet_is_delivered_filtered_or_lost() {
    const SENT: u64 = 40_000;
    for backend in WAYS {
        let [left, right] = Net::new().pair();
        let wanted = options(&right)
            .with_filter(Some(expression("udp")))
            .backend(backend);
        let (mut reporter, told) = Reporter::new();
        let (release, hold) = channel();
        reporter.hold = Some(hold);
        let mut generator = left.run(|| {
            let datagram = udp_frame(128);
            Generator::new(GeneratorOptions::new(left.interface().index, datagram))
        });
        let (outcome, ()) = run(&right, wanted, &mut reporter, |stopper| {
            // Each processor has memory of its own, and loss of its own.
            pin_to_cpu(0).unwrap();
            send(&left, &frames(0, 100));
            let sent = left.run(|| generator.deliver(SENT, None));
            assert_eq!(sent.delivered, SENT);
            release.send(()).unwrap();
            until(&told, SENT + 100);
            // And a packet that tells of the loss.
            send(&left, &[udp_frame(128)]);
            until(&told, SENT + 101);
            stopper.stop();
        });
        assert_adds_up(&outcome, SENT + 101);
        let account = outcome.account;
        assert_eq!(account.filtered, Some(100));
        let lost = match backend {
            Some(_) => account.lost.ring,
            None => account.lost.program,
        };
        assert!(lost > 0, "{account:?}");
        assert_eq!(account.lost.total(), lost);
        assert_eq!(account.delivered, reporter.packets.len() as u64);
        assert_eq!(lost, reporter.lost_before);
    }
}

#[test]
fn jumbo_frames_are_whole() {
    let hosts = Net::new().pair();
    for host in &hosts {
        let name = host.interface().name.to_string();
        let mut command = host.command("ip");
        let status = command.args(["link", "set", &name, "mtu", "9000"]).status();
        assert!(status.unwrap().success());
    }
    let [left, right] = &hosts;
    let wanted = options(right)
        .snaplen(65_535)
        .with_filter(Some(expression("ether proto 0x88b5")));
    let frame = |length: usize| {
        let mut frame = frames(7, 1).remove(0);
        frame.resize(length, 0xa5);
        frame
    };
    let frames = [60, 9014, 1514, 4000].map(frame);
    let (mut reporter, told) = Reporter::new();
    let (outcome, ()) = run(right, wanted, &mut reporter, |stopper| {
        send(left, &frames);
        until(&told, 4);
        stopper.stop();
    });
    assert_adds_up(&outcome, 4);
    let bytes: Vec<_> = reporter.packets.iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(bytes, frames.iter().collect::<Vec<_>>());
    assert!(bytes.iter().all(|bytes| number(bytes) == 7));
}

#[test]
fn a_queue_that_was_just_left_is_waited_for() {
    let [_left, right] = Net::new().pair();
    let options = options(&right).backend(Backend::Xdp);
    for _ in 0..5 {
        let capture = right.run(|| Capture::open(options.clone()));
        drop(capture.unwrap_or_else(|error| panic!("{error}: {error:?}")));
    }
    // One that somebody keeps is not had.
    let _kept = right.run(|| Capture::open(options.clone()).unwrap());
    let refusal = right.run(|| Capture::open(options.clone()).err().unwrap());
    assert!(
        refusal.to_string().contains("another AF_XDP socket has"),
        "{refusal}"
    );
}

#[test]
fn what_drop_mode_has_not_is_refused() {
    let [_left, right] = Net::new().pair();
    let cases = [
        (
            options(&right).direction(DirectionFilter::Out),
            ModeError::Outgoing,
        ),
        (
            options(&right).timestamps(TimestampSource::Hardware),
            ModeError::HardwareTime,
        ),
        (
            options(&right).with_filter(Some(support::ipv4_only())),
            ModeError::ClassicProgram,
        ),
        (
            options(&right).backend(Backend::PacketV3),
            ModeError::Backend {
                backend: Backend::PacketV3,
                mode: Mode::Drop,
            },
        ),
    ];
    for (options, expected) in cases {
        match right.run(|| Capture::open(options)) {
            Err(CaptureError::Mode(error)) => assert_eq!(error, expected),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was opened"),
        }
    }
}

/// Sockets on either side of the capture's end.
#[test]
fn a_socket_receives_again_when_the_capture_is_over() {
    for backend in WAYS {
        let [left, right] = Net::new().pair();
        let to = right.interface().v4;
        let bind = |host: &Host, port| host.run(|| UdpSocket::bind(("0.0.0.0", port)).unwrap());
        let (sender, receiver) = (bind(&left, 0), bind(&right, 7001));
        receiver.set_read_timeout(Some(DEADLINE)).unwrap();
        let (mut reporter, told) = Reporter::new();
        let wanted = options(&right)
            .with_filter(Some(expression("udp dst port 7001")))
            .backend(backend);
        let (outcome, ()) = run(&right, wanted, &mut reporter, |stopper| {
            for _ in 0..3 {
                sender.send_to(b"taken", (to, 7001)).unwrap();
            }
            until(&told, 3);
            stopper.stop();
        });
        assert_adds_up(&outcome, 3);
        sender.send_to(b"received", (to, 7001)).unwrap();
        let mut buffer = [0; 20];
        let length = receiver.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..length], *b"received");
    }
}
