//! Delays that a test has a hand in.

mod support;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lab::Net;
use support::{DEADLINE, Witness, deliver, frames, generator, options, run, send};
use tapline::Stop;
use tapline::capture::{Backend, ConsumerError, Limits, Options};
use tapline::latency::{Comparison, Meter, Observer, Setting};
use tapline::ring::Delivery;
use tapline::store::model::Packet;

fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_nanos() as u64
}

/// Holds the reader up at the first packet.
struct Holder {
    holding: Sender<()>,
    release: Receiver<()>,
    /// Moment and delay of each packet, and its stamp.
    seen: Vec<(u64, u64, u64)>,
}

impl Observer for Holder {
    fn packet(
        &mut self,
        packet: &Packet<'_>,
        now_ns: u64,
        delay_ns: Option<u64>,
    ) -> Result<(), ConsumerError> {
        let stamp_ns = packet.timestamp_ns.unwrap();
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
    let mut meter = Meter::new(Holder {
        holding,
        release: released,
        seen: Vec::new(),
    });
    let options = Options {
        delivery: Delivery::Immediate,
        ..options(&right, Backend::PacketV2)
    };
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

#[test]
fn every_setting_sees_the_same_packets() {
    const COUNT: u64 = 200;
    let [left, right] = Net::new().pair();
    let mut generator = generator(&left, &right);
    let options = Options {
        links: vec![right.interface().name.to_string()],
        snaplen: 96,
        buffer_bytes: 4 << 20,
        limits: Limits {
            packets: Some(COUNT),
            duration: Some(DEADLINE),
        },
        ..Options::default()
    };
    let settings = Setting::all(&options, Duration::from_micros(200));
    let names: Vec<String> = settings
        .iter()
        .map(|setting| setting.name.clone())
        .collect();
    let comparison = right.run(|| Comparison::open(settings)).unwrap();
    let stop = Stop::new().unwrap();
    let rows = std::thread::scope(|scope| {
        let rows = scope.spawn(|| comparison.run(&stop));
        // libpcap's ring for immediate mode holds some thirty packets.
        for _ in 0..COUNT / 10 {
            deliver(&left, &mut generator, 10);
        }
        rows.join().unwrap()
    });
    assert_eq!(
        rows.iter().map(|row| &row.name).collect::<Vec<_>>(),
        names.iter().collect::<Vec<_>>()
    );
    let backends: Vec<Backend> = rows.iter().map(|row| row.backend).collect();
    let (v2, v3) = (Backend::PacketV2, Backend::PacketV3);
    assert_eq!(backends, [v2, v2, v3, v3, v3, v3, v2]);
    for row in &rows {
        let delays = &row.delays;
        let lost = row.outcome.account.lost.ring;
        assert_eq!(delays.histogram.count() + lost, COUNT, "{}", row.name);
        assert_eq!((delays.ahead, delays.unstamped), (0, 0));
        assert!(delays.min_ns <= delays.quantile(0.5));
        assert!(delays.quantile(0.5) <= delays.max_ns);
        assert!(row.cpu > Duration::ZERO && row.sleeps > 0);
    }
}
