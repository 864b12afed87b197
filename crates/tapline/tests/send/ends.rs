//! Send jobs that stop, fail or fall behind: how soon they end, and their account.

use std::sync::mpsc::channel;
use std::time::Duration;

use abi::clock::monotonic_ns;
use tapline::send::{Fill, Rate, SendError, SendOptions, SendPath, SendQueue, Sender};

use crate::support::{Pair, frames};

/// A job on the left interface.
fn open(pair: &Pair, with: impl FnOnce(SendOptions) -> SendOptions) -> Sender {
    let options = with(tapline::send(pair.left.interface().name.to_string()));
    pair.left.run(|| options.open()).unwrap()
}

fn push(queue: &mut SendQueue, time_ns: u64, frames: &[Vec<u8>]) {
    for frame in frames {
        queue.push(time_ns, frame);
    }
}

/// Without the stop, each would be offered for half a second, and the job would fail.
#[test]
fn a_stop_ends_a_job_whose_device_is_full() {
    for path in [SendPath::Xdp, SendPath::Bypass, SendPath::Qdisc] {
        let pair = Pair::new();
        let mut sender = open(&pair, |options| options.path(path));
        sender.inject(&frames(0, 1)[0]).unwrap();
        lab::wait::until("the first packet arrives", || {
            pair.right.counters().rx_packets == 1
        });
        if path == SendPath::Qdisc {
            // A packet in eight seconds, behind the burst.
            let name = pair.left.interface().name;
            let line =
                format!("qdisc replace dev {name} root tbf rate 1kbit burst 2000 limit 2000");
            let status = pair.left.command("tc").args(line.split(' ')).status();
            assert!(status.unwrap().success());
        } else {
            // The device drops what it gets from now on.
            let name = pair.right.interface().name;
            pair.right.ip(&format!("link set {name} down"));
        }
        sender.stopper().stop();
        let mut queue = SendQueue::default();
        push(&mut queue, 0, &frames(1, 200));
        assert!(!sender.transmit(&queue).unwrap(), "{path:?}");
        if path == SendPath::Xdp {
            // The socket still has a packet that nobody asks for any more.
            let refused = sender.inject(&frames(1, 1)[0]);
            assert!(matches!(refused, Err(SendError::Stalled { .. })));
        }
        let summary = sender.finish().unwrap();
        assert!(summary.is_stopped, "{path:?}");
        assert_eq!(summary.submitted, summary.accepted, "{summary:?}");
        assert!(summary.failed.is_empty() && summary.accepted < 200);
        if path != SendPath::Qdisc {
            assert_eq!((summary.accepted, summary.delivered), (1, Some(1)));
        }
    }
}

#[test]
fn a_packet_is_injected_or_the_job_was_stopped() {
    let pair = Pair::new();
    let mut sender = open(&pair, |options| options.path(SendPath::Bypass));
    sender.stopper().stop();
    // There is room for it.
    sender.inject(&frames(0, 1)[0]).unwrap();
    let name = pair.right.interface().name;
    pair.right.ip(&format!("link set {name} down"));
    let stopped = sender.inject(&frames(1, 1)[0]);
    assert!(matches!(stopped, Err(SendError::Stopped)));
    assert_eq!(sender.finish().unwrap().submitted, 1);
}

/// The source has no packets for a while; those that come then do not leave all at once.
#[test]
fn a_sender_that_is_behind_moves_its_plan() {
    const GAP: Duration = Duration::from_millis(1);
    const PAUSE: Duration = Duration::from_millis(200);
    let pair = Pair::new();
    let rate = Rate::Packets(1000.try_into().unwrap());
    let mut sender = open(&pair, |options| options.rate(rate));
    let live = sender.live();
    let mut parts = [frames(0, 100), frames(100, 200)].into_iter();
    let complete = sender.run(move |queue| {
        if parts.len() == 1 {
            lab::wait::until("the first packets are sent", || live.packets() == 100);
            let end_ns = monotonic_ns() + PAUSE.as_nanos() as u64;
            lab::wait::until("the pause is over", || monotonic_ns() >= end_ns);
        }
        push(queue, 0, &parts.next().unwrap());
        Ok(if parts.len() > 0 {
            Fill::More
        } else {
            Fill::End
        })
    });
    assert!(complete.unwrap());
    let summary = sender.finish().unwrap();
    assert_eq!(summary.accepted, 300);
    // The packet behind the pause was planned for one gap behind that before it.
    let made_up = GAP + Duration::from_millis(20);
    assert!(summary.postponed + made_up >= PAUSE, "{summary:?}");
    let planned = 299 * GAP + summary.postponed;
    assert!(summary.duration >= planned, "{:?}", summary.duration);
    // Times of the caller are not moved.
    let mut sender = open(&pair, |options| options.rate(Rate::Absolute));
    let mut queue = SendQueue::default();
    push(&mut queue, 1, &frames(0, 10));
    assert!(sender.transmit(&queue).unwrap());
    assert_eq!(sender.finish().unwrap().postponed, Duration::ZERO);
}

/// The other threads wait for their time, and the dividing one for the source.
#[test]
fn a_thread_that_fails_ends_those_that_wait() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let pair = Pair::new();
    let two = 2.try_into().unwrap();
    let paced = |options: SendOptions| {
        let options = options.path(SendPath::Bypass).threads(two);
        options.rate(Rate::Recorded(1.0))
    };
    let mut sender = open(&pair, paced);
    let (end, ended) = channel::<()>();
    let mut is_first = true;
    let failed = sender.run(move |queue| {
        if !std::mem::take(&mut is_first) {
            // Until the test has ended.
            let _ = ended.recv();
            return Ok(Fill::End);
        }
        let mut long = frames(0, 1).remove(0);
        long.resize(2000, 0);
        push(queue, 0, &[long]);
        push(queue, HOUR_NS, &super::paths::flows(64).collect::<Vec<_>>());
        Ok(Fill::More)
    });
    assert!(matches!(
        failed,
        Err(SendError::TooLong { bytes: 2000, .. })
    ));
    let summary = sender.finish().unwrap();
    assert_eq!((summary.submitted, summary.is_stopped), (0, false));
    drop(end);
}

/// Each thread meets the interface that is gone; one error is reported, and each failed packet counted.
#[test]
fn an_interface_that_goes_down_ends_all_threads() {
    let pair = Pair::new();
    let two = 2.try_into().unwrap();
    let rate = Rate::Packets(2000.try_into().unwrap());
    let paced = |options: SendOptions| options.path(SendPath::Bypass).threads(two).rate(rate);
    let mut sender = open(&pair, paced);
    let live = sender.live();
    let name = pair.left.interface().name;
    let result = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            sender.run(|queue| {
                push(queue, 0, &super::paths::flows(64).collect::<Vec<_>>());
                Ok(Fill::More)
            })
        });
        lab::wait::until("packets are sent", || live.packets() > 20);
        pair.left.ip(&format!("link set {name} down"));
        running.join().unwrap()
    });
    let Err(SendError::Send { source, .. }) = &result else {
        panic!("{result:?}");
    };
    assert_eq!(source.raw_os_error(), Some(libc::ENETDOWN));
    let summary = sender.finish().unwrap();
    assert!((1..=2).contains(&summary.all_failed()), "{summary:?}");
    assert_eq!(summary.submitted, summary.accepted + summary.all_failed());
    assert_eq!(summary.delivered, Some(summary.accepted));
    assert_eq!(pair.right.counters().rx_packets, summary.accepted);
}
