//! Filter, snaplen, sampling, buffer and delivery of a running capture, changed under load and compared with the
//! number of frames sent.
//!
//! Alone, because each change waits for a process that another test forks (`ring::HandoverGroup`).

use std::time::Duration;

use crate::support;
use crate::support::changes::{batch, delivery, open, send_during, set, until_delivered};
use crate::support::{Witness, assert_account, frames, number, options, run_open, send};
use lab::{Host, Net, wait};
use tapline::Packet;
use tapline::capture::{
    Backend, CaptureOptions, ChangeError, Consumer, ConsumerError, Control, DirectionFilter, Ended,
    LiveCounters, Mode, Sampling,
};

/// Changes under load: each of four options a quarter of them.
const CHANGES: usize = 1000;

/// Each change takes some ten milliseconds, and longer on a busy machine.
const DURATION: Duration = Duration::from_mins(10);

/// Frames whose number is a multiple of this are refused by one of the filters.
const REFUSED_ONE_IN: u32 = 1 << 14;

const FILTERS: [Option<&str>; 4] = [
    Some("ether proto 0x88b5"),
    // REFUSED_ONE_IN - 1
    Some("ether[14:4] & 0x3fff != 0"),
    None,
    Some("greater 60"),
];

const SNAPLENS: [u32; 4] = [18, 60, 96, 20];

/// Keeps the numbers of the frames, and the lengths that were captured.
#[derive(Default)]
struct Kept {
    numbers: Vec<u32>,
    lengths: Vec<usize>,
}

impl Consumer for Kept {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.numbers.push(number(packet.data()));
        let length = packet.data().len();
        if self.lengths.last() != Some(&length) {
            self.lengths.push(length);
        }
        Ok(())
    }
}

fn change(control: &Control, turn: usize) -> Result<(), ChangeError> {
    let round = turn / 4;
    match turn % 4 {
        0 => control.set_filter(FILTERS[round % 4].map(support::expression)),
        1 => control.set_snaplen(SNAPLENS[round % 4]),
        2 => control.set_buffer((64 + round % 4) << 20),
        _ => set(control, delivery(round)),
    }
}

/// Changes a capture on `right` under load. Each frame is delivered or refused once. Returns the lengths that were captured.
fn each_frame_comes_once(
    [left, right]: &[Host; 2],
    options: CaptureOptions,
    changes: usize,
    change: impl Fn(&Control, usize) -> Result<(), ChangeError>,
) -> Vec<usize> {
    let options = options
        .direction(DirectionFilter::In)
        .duration(DURATION)
        .delivery(batch(64 << 10, 10));
    let mut kept = Kept::default();
    let (mut capture, control) = open(right, options);
    let live = capture.live();
    let (outcome, sent) = run_open(capture, &mut kept, |stopper| {
        let sent = send_during(left, &live, || {
            for turn in 0..changes {
                change(&control, turn).unwrap_or_else(|error| panic!("{turn}: {error:?}"));
                control.wait();
            }
        });
        until_received(&live, sent);
        stopper.stop();
        sent
    });
    assert!(matches!(outcome.ended, Ended::Stopped));
    let mut expected = 0;
    let mut refused = 0;
    for number in kept.numbers {
        while expected != number {
            let account = &outcome.account;
            assert_eq!(
                expected % REFUSED_ONE_IN,
                0,
                "{expected} is missing, or {number} twice: {account:?}"
            );
            (expected, refused) = (expected + 1, refused + 1);
        }
        expected += 1;
    }
    let delivered = u64::from(expected) - refused;
    // At the end none or one is refused.
    refused += sent - u64::from(expected);
    assert!(refused > 0 && sent - u64::from(expected) <= 1, "{refused}");
    assert_account(&outcome.account, delivered, refused, 0);
    assert!(sent > 10 * changes as u64, "{sent}");
    kept.lengths
}

#[test]
fn each_frame_comes_once_however_often_the_filter_changes() {
    let hosts = Net::new().pair();
    let options = options(&hosts[1], Backend::PacketV3)
        .backend(None::<Backend>)
        .buffer_bytes(64 << 20);
    let lengths = each_frame_comes_once(&hosts, options, CHANGES, change);
    // Every snaplen was in effect; frames have 60 bytes.
    let seen = |length| lengths.contains(&length);
    assert!(seen(18) && seen(20) && seen(60), "{lengths:?}");
}

#[test]
fn each_frame_comes_once_however_often_shared_memory_changes() {
    let hosts = Net::new().pair();
    let options = options(&hosts[1], Backend::PacketV3)
        .backend(None::<Backend>)
        .mode(Mode::Drop)
        .snaplen(96)
        .buffer_bytes(64 << 20);
    let lengths = each_frame_comes_once(&hosts, options, CHANGES / 4, change);
    let seen = |length| lengths.contains(&length);
    assert!(seen(18) && seen(20) && seen(60), "{lengths:?}");
}

#[test]
fn each_frame_comes_once_however_often_ring_buffers_change() {
    let hosts = Net::new().pair();
    let options = options(&hosts[1], Backend::XdpRingbuf)
        .snaplen(96)
        .buffer_bytes(64 << 20);
    let lengths = each_frame_comes_once(&hosts, options, CHANGES / 4, change);
    let seen = |length| lengths.contains(&length);
    assert!(seen(18) && seen(20) && seen(60), "{lengths:?}");
}

#[test]
fn each_frame_comes_once_however_often_the_filter_of_sockets_changes() {
    let hosts = Net::new().pair();
    let options = options(&hosts[1], Backend::Xdp)
        .mode(Mode::Drop)
        .buffer_bytes(128 << 20);
    each_frame_comes_once(&hosts, options, CHANGES / 4, |control, turn| {
        match turn % 4 {
            // Those of the buffer and the snaplen are refused.
            1 | 2 => Ok(()),
            _ => change(control, turn),
        }
    });
}

/// Waits until `count` packets are in the account, refused ones included.
fn until_received(live: &LiveCounters, count: u64) {
    wait::until_ok(|| {
        let account = &live.accounts()[0].account;
        match account.delivered + account.filtered.unwrap_or(0) {
            received if received >= count => Ok(()),
            received => Err(received),
        }
    });
}

#[test]
fn a_filter_decides_from_its_change_on() {
    for backend in [Backend::PacketV2, Backend::PacketV3] {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let (mut capture, control) = open(&right, options(&right, backend).buffer_bytes(4 << 20));
        let live = capture.live();
        let mut kept = Kept::default();
        let (outcome, ()) = run_open(capture, &mut kept, |stopper| {
            let filter = |text: Option<&str>| {
                control.set_filter(text.map(support::expression)).unwrap();
                control.wait();
            };
            send(&left, &frames(0, 10));
            until_delivered(&live, 10);
            filter(Some("ether[17] & 1 = 0"));
            send(&left, &frames(10, 10));
            until_delivered(&live, 15);
            witness.until(20);
            filter(None);
            send(&left, &frames(20, 10));
            until_delivered(&live, 25);
            let half = Sampling::OneIn(2.try_into().unwrap());
            control.set_sampling(Some(half)).unwrap();
            control.wait();
            send(&left, &frames(30, 10));
            witness.until(40);
            // What is invalid changes nothing.
            let wrong = control.set_filter(Some(support::expression("tcp prt 1")));
            assert!(matches!(wrong, Err(ChangeError::Memory(_))), "{wrong:?}");
            stopper.stop();
        });
        assert_eq!(
            kept.numbers[..25],
            [
                (0..10).collect::<Vec<_>>(),
                (10..20).step_by(2).collect(),
                (20..30).collect()
            ]
            .concat()
        );
        assert_eq!(outcome.account.sampled_out, Some(5));
        assert_account(&outcome.account, 30, 10, 0);
    }
}

#[test]
fn the_direction_narrows_and_widens() {
    let [left, right] = Net::new().pair();
    let both = options(&right, Backend::PacketV2).direction(DirectionFilter::Both);
    let (mut capture, control) = open(&right, both);
    let live = capture.live();
    let mut kept = Kept::default();
    let (outcome, ()) = run_open(capture, &mut kept, |stopper| {
        for (turn, direction, delivered) in [
            (0, DirectionFilter::Out, 1),
            (1, DirectionFilter::In, 2),
            (2, DirectionFilter::Both, 4),
        ] {
            control.set_direction(direction).unwrap();
            control.wait();
            send(&left, &frames(10 * turn, 1));
            send(&right, &frames(10 * turn + 1, 1));
            until_delivered(&live, delivered);
        }
        stopper.stop();
    });
    assert_eq!(kept.numbers, [1, 10, 20, 21]);
    assert_eq!(outcome.account.delivered, 4);
    assert_eq!(outcome.account.lost.total(), 0);
    let (capture, control) = open(
        &right,
        options(&right, Backend::PacketV2).direction(DirectionFilter::In),
    );
    let refused = control.set_direction(DirectionFilter::Both);
    assert!(matches!(refused, Err(ChangeError::FixedDirection { .. })));
    assert_eq!(capture.finish().unwrap().account.delivered, 0);
}

/// In drop mode, with AF_XDP and with shared memory; and with ring buffers.
#[test]
fn the_filter_of_an_xdp_program_decides_from_its_change_on() {
    for (mode, backend, snaplen) in [
        (Mode::Drop, None, 1000),
        (Mode::Drop, None, 96),
        (Mode::Mirror, Some(Backend::XdpRingbuf), 96),
    ] {
        let [left, right] = Net::new().pair();
        let options = options(&right, Backend::PacketV3)
            .backend(backend)
            .direction(DirectionFilter::In)
            .mode(mode)
            .snaplen(snaplen);
        let (mut capture, control) = open(&right, options.delivery(batch(4096, 10)));
        let live = capture.live();
        let mut kept = Kept::default();
        let (outcome, ()) = run_open(capture, &mut kept, |stopper| {
            let filter = |text: Option<&str>| {
                control.set_filter(text.map(support::expression)).unwrap();
                control.wait();
            };
            send(&left, &frames(0, 10));
            until_delivered(&live, 10);
            filter(Some("ether[17] & 1 = 0"));
            send(&left, &frames(10, 10));
            until_received(&live, 20);
            // A ring that takes over keeps the filter.
            control.set_snaplen(20).unwrap();
            control.wait();
            if snaplen == 96 {
                control.set_buffer(1 << 20).unwrap();
                control.wait();
            }
            send(&left, &frames(20, 10));
            until_received(&live, 30);
            filter(None);
            let half = Sampling::OneIn(2.try_into().unwrap());
            control.set_sampling(Some(half)).unwrap();
            control.wait();
            send(&left, &frames(30, 10));
            until_received(&live, 40);
            // What is invalid, and what is fixed, changes nothing.
            let wrong = control.set_filter(Some(support::expression("tcp prt 1")));
            assert!(matches!(wrong, Err(ChangeError::Memory(_))), "{wrong:?}");
            let wrong = control.set_direction(DirectionFilter::Both);
            let is_fixed = matches!(wrong, Err(ChangeError::FixedDirection { .. }));
            assert!(is_fixed, "{wrong:?}");
            let longer = control.set_snaplen(1001);
            let is_right = match (mode, snaplen) {
                (Mode::Drop, 1000) => longer.is_ok(),
                (Mode::Drop, _) => matches!(longer, Err(ChangeError::FixedSnaplen)),
                _ => matches!(longer, Err(ChangeError::LongerSnaplen { most: 96 })),
            };
            assert!(is_right, "{longer:?}");
            let wrong = control.set_snaplen(0);
            assert!(wrong.is_err(), "{wrong:?}");
            stopper.stop();
        });
        assert_eq!(
            kept.numbers[..20],
            [(0..10).collect::<Vec<_>>(), (10..30).step_by(2).collect()].concat()
        );
        assert_eq!(kept.lengths, [60, 20]);
        assert_eq!(outcome.account.sampled_out, Some(5));
        assert_account(&outcome.account, 25, 15, 0);
    }
}
