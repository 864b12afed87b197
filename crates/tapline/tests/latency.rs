//! Latency measurement with delays that the test controls.

use crate::support;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::{DEADLINE, Pair, Witness, deliver, frames, generator, options, run, send};
use abi::datagram::{Queue, receive};
use abi::socket::set_option;
use lab::{Host, Net};
use ring::{DeliveryMode, DirectionFilter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline::Packet;
use tapline::Stop;
use tapline::capture::{Backend, CaptureError, CaptureOptions, ConsumerError, Limits};
use tapline::latency::{Comparison, DelayMeter, DelayObserver, DeliverySetting};

fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_nanos() as u64
}

/// Delays the reader at the first packet.
struct Holder {
    holding: Sender<()>,
    release: Receiver<()>,
    /// Time, delay and time stamp of each packet.
    seen: Vec<(u64, u64, u64)>,
}

impl DelayObserver for Holder {
    fn packet(
        &mut self,
        packet: &Packet<'_>,
        now_ns: u64,
        delay_ns: Option<u64>,
    ) -> Result<(), ConsumerError> {
        let stamp_ns = packet.time().as_nanos().unwrap();
        self.seen.push((now_ns, delay_ns.unwrap(), stamp_ns));
        if self.seen.len() == 1 {
            self.holding.send(())?;
            self.release.recv_timeout(DEADLINE)?;
        }
        Ok(())
    }
}

#[test]
fn packets_that_wait_for_their_reader_have_waited_as_long() {
    let [left, right] = Net::new().pair();
    let mut witness = Witness::on(&right);
    let (holding, is_holding) = channel();
    let (release, released) = channel();
    let mut meter = DelayMeter::new(Holder {
        holding,
        release: released,
        seen: Vec::new(),
    });
    let options = options(&right, Backend::PacketV2).delivery(DeliveryMode::Immediate);
    let before_ns = now_ns();
    let (outcome, (arrived_ns, released_ns)) = run(&right, options, &mut meter, |stopper| {
        send(&left, &frames(0, 1));
        is_holding.recv_timeout(DEADLINE).unwrap();
        send(&left, &frames(1, 9));
        witness.until(10);
        let arrived_ns = now_ns();
        let released_ns = now_ns();
        release.send(()).unwrap();
        witness.until(10);
        stopper.stop();
        (arrived_ns, released_ns)
    });
    let after_ns = now_ns();
    assert_eq!(outcome.account.delivered, 10);
    let (delays, seen) = (&meter.delays, &meter.observer.seen);
    assert_eq!((delays.histogram.count(), delays.ahead), (10, 0));
    for &(moment_ns, delay_ns, stamp_ns) in seen {
        assert_eq!(delay_ns, moment_ns - stamp_ns);
        assert!(before_ns <= stamp_ns && moment_ns <= after_ns);
    }
    // They were there before `arrived_ns`, and nobody had them before `released_ns`.
    for &(moment_ns, _, stamp_ns) in &seen[1..] {
        assert!(stamp_ns <= arrived_ns && moment_ns >= released_ns);
    }
    let longest = seen.iter().map(|&(_, delay_ns, _)| delay_ns).max();
    assert_eq!(delays.max_ns, longest);
}

/// Every reading method reports the same delays: single packets, batches, closures.
#[test]
fn packets_are_measured_as_they_are_read() {
    let mut pair = Pair::new();
    let open = |pair: &Pair, packets| {
        let options = options(&pair.right, Backend::PacketV2).delivery(DeliveryMode::Immediate);
        let builder = tapline::latency("").capture_options(options);
        let builder = builder.packets(packets);
        pair.right.run(|| builder.open()).unwrap()
    };
    let mut one_by_one = open(&pair, 15);
    let mut in_batches = open(&pair, 20);
    let in_closure = open(&pair, 20);
    let before_ns = now_ns();
    pair.send(0, 20);
    pair.until(20);

    let mut delays = Vec::new();
    while let Some(measured) = one_by_one.next().unwrap() {
        let delay = measured.delay.unwrap();
        let stamp_ns = measured.packet.time().as_nanos().unwrap();
        assert_eq!(measured.delivered_ns - stamp_ns, delay.as_nanos() as u64);
        assert!(before_ns <= stamp_ns && measured.delivered_ns <= now_ns());
        delays.push(delay.as_nanos() as u64);
    }
    let summary = one_by_one.finish().unwrap();
    assert_eq!((delays.len(), summary.delays.histogram.count()), (15, 15));
    assert_eq!(summary.delays.max_ns, delays.iter().copied().max());
    assert_eq!((summary.lost, summary.backend), (0, Backend::PacketV2));
    assert!(
        summary.to_string().starts_with("15 packets, p50 "),
        "{summary}"
    );

    let mut count = 0;
    while let Some(mut batch) = in_batches.next_batch(DEADLINE).unwrap() {
        while batch.next().is_some() {
            count += 1;
        }
    }
    assert_eq!(count, 20);
    assert_eq!(in_batches.finish().unwrap().delays.histogram.count(), 20);

    let mut stamps = Vec::new();
    let summary = in_closure.run(|measured| {
        stamps.push(measured.packet.time());
        Ok(())
    });
    assert_eq!(summary.unwrap().delays.histogram.count(), 20);
    assert!(stamps.len() == 20 && stamps.is_sorted());
    let failed = open(&pair, 1);
    pair.send(20, 1);
    let failed = failed.run(|_| Err("enough".into()));
    assert!(matches!(failed, Err(CaptureError::Run(_))), "{failed:?}");
}

#[test]
fn every_setting_sees_the_same_packets() {
    const COUNT: u64 = 200;
    let [left, right] = Net::new().pair();
    let mut generator = generator(&left, &right);
    let options = CaptureOptions::default()
        .links(vec![right.interface().name.to_string()])
        .snaplen(96)
        .buffer_bytes(4 << 20);
    let limits = Limits {
        packets: Some(COUNT),
        duration: Some(DEADLINE),
    };
    let settings = DeliverySetting::all(&options, Duration::from_micros(200));
    let names: Vec<String> = settings
        .iter()
        .map(|setting| setting.name.clone())
        .collect();
    let comparison = right.run(|| Comparison::open(settings, limits)).unwrap();
    let stop = Stop::new().unwrap();
    let (begin, begun) = channel();
    let rows = std::thread::scope(|scope| {
        let rows = scope.spawn(|| comparison.run(&stop, |at_ns| begin.send(at_ns).unwrap()));
        begun.recv_timeout(DEADLINE).unwrap();
        // libpcap's ring for immediate mode holds some thirty packets.
        for _ in 0..COUNT / 10 {
            deliver(&left, &mut generator, 10);
        }
        rows.join().unwrap().unwrap()
    });
    let measured: Vec<&String> = rows.iter().map(|(name, _)| name).collect();
    assert_eq!(measured, names.iter().collect::<Vec<_>>());
    let backends: Vec<Backend> = rows.iter().map(|(_, row)| row.backend).collect();
    let (v2, v3) = (Backend::PacketV2, Backend::PacketV3);
    assert_eq!(backends, [v2, v2, v3, v3, v3, v3, v2]);
    for (name, row) in &rows {
        let delays = &row.delays;
        assert_eq!(row.lost, row.capture.account.lost.ring);
        assert_eq!(delays.histogram.count() + row.lost, COUNT, "{name}");
        assert_eq!((delays.ahead, delays.unstamped), (0, 0));
        assert!(delays.min_ns <= delays.quantile(0.5));
        assert!(delays.quantile(0.5) <= delays.max_ns);
        assert!(row.cpu > Duration::ZERO && row.sleeps > 0);
    }
}

/// Sequential datagrams between two hosts; a plain socket receives their time stamps.
struct Flow {
    sender: UdpSocket,
    receiver: UdpSocket,
    stamps: Vec<u64>,
}

impl Flow {
    fn new(left: &Host, right: &Host) -> Self {
        let bound = |host: &Host| host.run(|| UdpSocket::bind((host.interface().v4, 0)).unwrap());
        let (sender, receiver) = (bound(left), bound(right));
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
        set_option(receiver.as_fd(), level, name, &1_i32).unwrap();
        Self {
            sender,
            receiver,
            stamps: Vec::new(),
        }
    }

    /// Sends one more datagram and returns its time stamp.
    fn go_on(&mut self) -> u64 {
        self.sender.send(b"tapline").unwrap();
        let timeout = Timespec::try_from(DEADLINE).unwrap();
        let mut waited = [PollFd::new(&self.receiver, PollFlags::IN)];
        assert_eq!(poll(&mut waited, Some(&timeout)).unwrap(), 1);
        let datagram = receive(self.receiver.as_fd(), &mut [0; 16], Queue::Data).unwrap();
        let stamp_ns = datagram.stamp_ns.unwrap();
        self.stamps.push(stamp_ns);
        stamp_ns
    }
}

/// The settings, except those with rings so small that a reader loses packets if it is scheduled late.
fn lossless(right: &Host) -> Vec<DeliverySetting> {
    let options = CaptureOptions::default()
        .links(vec![right.interface().name.to_string()])
        .direction(DirectionFilter::In)
        .with_filter(Some(support::ipv4_only()))
        .snaplen(96);
    let mut settings = DeliverySetting::all(&options, Duration::from_micros(200));
    settings.retain(|setting| !setting.name.starts_with("libpcap"));
    settings
}

/// Packets flow before, during and after the measurement. Packets queued before it do not count as late.
#[test]
fn rows_are_of_the_packets_between_two_moments_of_traffic_that_goes_on() {
    const BEFORE: usize = 500;
    const WITHIN: u64 = 3000;
    let [left, right] = Net::new().pair();
    let duration = Some(Duration::from_millis(50));
    for (packets, duration) in [(None, None), (None, duration), (Some(WITHIN), None)] {
        let limits = Limits { packets, duration };
        let settings = lossless(&right);
        let comparison = right.run(|| Comparison::open(settings, limits)).unwrap();
        let mut flow = Flow::new(&left, &right);
        for _ in 0..BEFORE {
            flow.go_on();
        }
        let stop = Stop::new().unwrap();
        let stopper = stop.stopper();
        let (begin_ns, is_over) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        let (rows, stamps) = std::thread::scope(|scope| {
            let flowing = scope.spawn(|| {
                let mut within = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let stamp_ns = flow.go_on();
                    within += u64::from(stamp_ns >= begin_ns.load(Ordering::Relaxed));
                    if within == WITHIN && limits == Limits::default() {
                        stopper.stop();
                    }
                }
                flow.stamps
            });
            let run = comparison.run(&stop, |at_ns| begin_ns.store(at_ns, Ordering::Relaxed));
            is_over.store(true, Ordering::Relaxed);
            (run.unwrap(), flowing.join().unwrap())
        });
        let begin_ns = begin_ns.into_inner();
        let end_ns = begin_ns + rows[0].1.duration.as_nanos() as u64;
        let within = stamps.iter().filter(|&&ns| begin_ns <= ns && ns < end_ns);
        let expected = packets.unwrap_or(within.count() as u64);
        assert!(expected > 0 && duration.is_none_or(|time| rows[0].1.duration == time));
        for (name, row) in &rows {
            let delays = &row.delays;
            assert_eq!((row.lost, delays.ahead), (0, 0), "{name}");
            assert_eq!(delays.histogram.count(), expected, "{name}");
            assert_eq!(row.capture.account.delivered, expected + row.outside);
            assert!(row.outside >= BEFORE as u64, "{name}");
        }
    }
}
