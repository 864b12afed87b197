//! Mode, filter, snaplen and buffer of a running capture, changed under load with one reader and with several, and compared
//! with the number of frames sent.
//!
//! Alone, because a process that another test forks keeps a ring alive whose packets nobody reads (`ring::RingShare`).

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use crate::support;
use crate::support::changes::{Numbers, batch, open, send_during};
use crate::support::{EndWithTest, assert_account, options, summary};
use lab::{Host, Net, wait};
use ring::FanoutMode;
use tapline::Stop;
use tapline::capture::{
    Backend, CaptureError, CaptureOptions, CaptureSummary, ChangeError, Control, DirectionFilter,
    Ended, LiveCounters, Mode, ParallelCapture, Queues, ReaderOptions, XdpAttachMode,
};

/// Frames whose number is a multiple of this are refused by some of the filters.
const REFUSED_ONE_IN: u32 = 1 << 6;

const FILTERS: [&str; 3] = [
    // REFUSED_ONE_IN - 1
    "ether[14:4] & 0x3f != 0",
    "greater 60",
    "ether proto 0x88b5 and ether[14:4] & 0x3f != 0",
];

/// Short enough for the shared memory of drop mode.
const SNAPLENS: [u32; 4] = [18, 60, 480, 96];

/// Each change takes some ten milliseconds, and longer on a busy machine.
const DURATION: Duration = Duration::from_mins(20);

/// Changes under load. `make soak` makes 1000.
fn changes() -> usize {
    let count = std::env::var("TAPLINE_SOAK_CHANGES").ok();
    count.map_or(100, |count| count.parse().expect("a number"))
}

/// A packet that no filter accepts counts in both modes while the mode changes, so everything is accepted then.
fn change(control: &Control, turn: usize) -> Result<(), ChangeError> {
    let round = turn / 6;
    match turn % 6 {
        0 => control.set_filter(Some(support::expression(FILTERS[round % 3]))),
        1 => control.set_snaplen(SNAPLENS[round % 4]),
        2 => control.set_buffer((64 + round % 4) << 20),
        3 => control.set_filter(None),
        4 => control.set_mode(None, Mode::Drop),
        _ => control.set_mode(None, Mode::Mirror),
    }
}

/// The capture is to have counted `sent` packets.
fn until_counted(live: &LiveCounters, sent: u64) {
    wait::until_ok(|| match live.accounts()[0].account {
        account if account.received() == Some(sent) => Ok(()),
        account => Err(account),
    });
}

fn of(host: &Host) -> CaptureOptions {
    options(host, Backend::PacketV3)
        .backend(None::<Backend>)
        .direction(DirectionFilter::In)
        // A veth loses what waits in it when its driver gets or loses a program.
        .xdp(XdpAttachMode::Generic)
        .buffer_bytes(64 << 20)
        .tick(Duration::from_millis(5))
        .duration(DURATION)
        .delivery(batch(64 << 10, 10))
}

/// Changes the capture while `left` sends, and ends it. Returns the number of frames.
fn drive(left: &Host, live: &LiveCounters, control: &Control, stop: &Stop) -> u64 {
    let guard = EndWithTest(stop.stopper());
    let sent = send_during(left, live, || {
        for turn in 0..changes() {
            change(control, turn).unwrap_or_else(|error| panic!("{turn}: {error:?}"));
            control.wait();
        }
    });
    until_counted(live, sent);
    guard.0.stop();
    sent
}

fn check(outcome: &CaptureSummary, mut numbers: Vec<u32>, sent: u64) {
    assert!(matches!(outcome.ended, Ended::Stopped));
    let account = &outcome.account;
    numbers.sort_unstable();
    let (mut expected, mut refused) = (0, 0);
    for number in numbers {
        while expected != number {
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
    let last = sent - u64::from(expected);
    assert!(refused > 0 && last <= 1, "{refused} {last}");
    assert_account(account, delivered, refused + last, 0);
    assert!(sent > 10 * changes() as u64, "{sent}");
}

#[test]
fn each_frame_comes_once_however_often_one_reader_changes() {
    let [left, right] = Net::new().pair();
    let (mut capture, control) = open(&right, of(&right));
    let live = capture.live();
    let mut numbers = Numbers::default();
    let stop = Stop::new().unwrap();
    let (outcome, sent) = thread::scope(|scope| {
        let running = scope.spawn(|| summary(capture.run_consumer(&mut numbers, &stop)));
        let sent = drive(&left, &live, &control, &stop);
        (running.join().unwrap(), sent)
    });
    check(&outcome, numbers.0, sent);
}

#[test]
fn each_frame_comes_once_however_often_several_readers_change() {
    let [left, right] = Net::new().pair();
    let mut readers = ReaderOptions::default();
    readers.queues = Queues::Count(NonZeroUsize::new(2).unwrap());
    readers.distribution = Some(FanoutMode::Random);
    let opened = right.run(|| {
        let mut capture = ParallelCapture::open(of(&right), &readers)?;
        let control = capture.control();
        Ok((capture, control))
    });
    let (capture, control) =
        opened.unwrap_or_else(|error: CaptureError| panic!("{error}: {error:?}"));
    let live = capture.live();
    let mut numbers = Numbers::default();
    let stop = Stop::new().unwrap();
    let (outcome, sent) = thread::scope(|scope| {
        let running = scope.spawn(|| summary(capture.run_consumer(&mut numbers, &stop)));
        let sent = drive(&left, &live, &control, &stop);
        (running.join().unwrap(), sent)
    });
    for reader in &outcome.readers {
        assert!(reader.account.delivered > 0, "{reader:?}");
    }
    check(&outcome, numbers.0, sent);
}
