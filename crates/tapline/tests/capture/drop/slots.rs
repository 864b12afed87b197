//! Drop mode with a short snaplen: slots that a program fills on each CPU, while all CPUs receive.

#![cfg(target_arch = "x86_64")]

use std::sync::{Arc, OnceLock};
use std::thread;

use lab::generator::{Generator, GeneratorOptions, SEQUENCE_AT, pin_to_cpu, udp_frame};
use lab::skip::without;
use lab::{Host, Net};
use netlink::Gro;
use ring::{BusyPoll, TimestampSource};
use tapline::capture::{
    Account, Backend, Capture, CaptureSummary, Consumer, ConsumerError, XdpAttachMode, XdpMode,
};
use tapline::{Packet, Stopper};

use crate::support::{TWO_PROCESSORS, assert_account, drop_options, run, summary};

/// Offset of the sender's CPU number: after the sequence number.
const SENDER_AT: usize = SEQUENCE_AT as usize + 8;

/// Tracks each sender's sequence numbers, and ends the capture when all frames are accounted for.
#[derive(Default)]
struct Follower {
    /// The lowest possible number of each sender's next frame.
    next: [u64; 2],
    taken: [u64; 2],
    lost_before: u64,
    /// Number of frames that arrived, once known.
    arrived: Arc<OnceLock<u64>>,
    stopper: Option<Stopper>,
}

impl Consumer for Follower {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let sender = usize::from(packet.data()[SENDER_AT]);
        let number = &packet.data()[usize::from(SEQUENCE_AT)..];
        let number = u64::from_be_bytes(*number.first_chunk().unwrap());
        assert!(
            number >= self.next[sender],
            "{number} of {sender} comes late"
        );
        self.next[sender] = number + 1;
        self.taken[sender] += 1;
        self.lost_before += packet.drops_before();
        Ok(())
    }

    fn tick(&mut self, _now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        if let Some(&arrived) = self.arrived.get()
            && account.received() >= Some(arrived)
            && let Some(stopper) = self.stopper.take()
        {
            stopper.stop();
        }
        Ok(())
    }
}

/// Both CPUs send `count` frames each at the same time. Returns how many arrived, by the sending interface's own
/// counter (`veth_xdp_xmit`, drivers/net/veth.c).
fn send_from_both(left: &Host, count: u64, rate_pps: Option<u64>) -> u64 {
    let before = left.counters().tx_packets;
    thread::scope(|scope| {
        for cpu in 0..2_u8 {
            scope.spawn(move || {
                let mut frame = udp_frame(128);
                frame[SENDER_AT] = cpu;
                let options = GeneratorOptions {
                    sequence_at: Some(SEQUENCE_AT),
                    ..GeneratorOptions::new(left.interface().index, frame)
                };
                left.run(|| {
                    pin_to_cpu(usize::from(cpu)).unwrap();
                    Generator::new(options).send(count, rate_pps);
                });
            });
        }
    });
    left.counters().tx_packets - before
}

fn capture(
    buffer_bytes: usize,
    place: XdpAttachMode,
    count: u64,
    rate_pps: Option<u64>,
) -> (CaptureSummary, Follower) {
    let [left, right] = Net::new().pair();
    // Without a program in its driver a veth takes redirected frames only so.
    right.set_gro(Gro::On);
    let wanted = drop_options(&right, buffer_bytes).xdp(place);
    let mut follower = Follower::default();
    let capture = right.run(|| Capture::open(wanted).unwrap());
    let opened = capture.links().next().unwrap();
    assert_eq!(opened.backend, Backend::XdpRingbuf);
    assert_eq!((opened.sockets, opened.fall_back), (None, None));
    assert!(opened.rings >= 2);
    let stop = tapline::Stop::new().unwrap();
    follower.stopper = Some(stop.stopper());
    let known = follower.arrived.clone();
    let (outcome, arrived) = thread::scope(|scope| {
        let running = scope.spawn(|| summary(capture.run_consumer(&mut follower, &stop)));
        let arrived = send_from_both(&left, count, rate_pps);
        known.set(arrived).unwrap();
        (running.join().unwrap(), arrived)
    });
    let taken = follower.taken.iter().sum::<u64>();
    assert_account(&outcome.account, taken, 0, outcome.account.lost.program);
    assert_eq!(outcome.account.received(), Some(arrived), "{outcome:?}");
    assert_eq!(outcome.timestamp_source(), Some(TimestampSource::Kernel));
    (outcome, follower)
}

#[test]
fn what_all_processors_receive_at_once_is_delivered_in_each_ones_order() {
    if without(&TWO_PROCESSORS) {
        return;
    }
    for (place, mode) in [
        (XdpAttachMode::Native, XdpMode::Native),
        (XdpAttachMode::Generic, XdpMode::Generic),
    ] {
        let count = 60_000;
        let (outcome, follower) = capture(128 << 20, place, count, Some(100_000));
        assert_eq!(outcome.xdp_mode(), Some(mode));
        // Room for half a million packets on each.
        assert_eq!(outcome.account.lost.total(), 0);
        let [first, second] = follower.taken;
        assert!(first > 0 && second > 0, "both have sent");
    }
}

/// Memory for 512 packets on each CPU.
#[test]
fn at_overload_of_all_processors_the_account_adds_up() {
    if without(&TWO_PROCESSORS) {
        return;
    }
    let (outcome, follower) = capture(1, XdpAttachMode::Native, 200_000, None);
    let lost = outcome.account.lost.program;
    assert!(lost > 0, "{outcome:?}");
    // Only the statistics report packets lost after a CPU's last packet.
    assert!(follower.lost_before > 0 && follower.lost_before <= lost);
}

#[test]
fn a_way_that_was_asked_for_by_its_features_is_taken() {
    let [_left, right] = Net::new().pair();
    let busy = drop_options(&right, 1 << 20).busy_poll(BusyPoll::default());
    let mut follower = Follower::default();
    let (outcome, ()) = run(&right, busy, &mut follower, Stopper::stop);
    let sockets = outcome.sockets().unwrap();
    assert_eq!(sockets.busy_poll, Some(BusyPoll::default().budget));
    assert_eq!((sockets.zero_copy, sockets.need_wakeup), (false, true));
    assert_eq!(outcome.fall_back(), None);
}
