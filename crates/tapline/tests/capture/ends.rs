//! How a capture ends, and its file afterwards, as read by other programs.

use std::fs::{File, metadata};
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Host, wait};
use ring::DeliveryMode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use store::write::{CaptureFileOptions, Output};
use tapline::Stop;
use tapline::capture::{Backend, CaptureOptions, CaptureSummary, Ended, Limits};

use crate::support::{
    BACKENDS, Call, Pair, Teller, Told, assert_account, file_consumer, options, packet_count,
    run_open, summary, until_reported,
};

#[test]
fn the_time_is_over() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        for duration in [Duration::ZERO, Duration::from_millis(30)] {
            let short = options(&pair.right, backend).duration(duration);
            let outcome = pair.run(short, &mut Teller::new(), |_, _| ());
            assert!(matches!(outcome.ended, Ended::Duration), "{outcome:?}");
            assert!(outcome.duration >= duration);
            assert_account(&outcome.account, 0, 0, 0);
        }
        // What lies in the ring by then is delivered.
        let capture = pair.open(options(&pair.right, backend).duration(Duration::ZERO));
        pair.send(0, 100);
        pair.until(100);
        let (outcome, ()) = run_open(capture, &mut Teller::new(), |_| ());
        assert!(matches!(outcome.ended, Ended::Duration), "{outcome:?}");
        assert_account(&outcome.account, 100, 0, 0);
    }
}

#[test]
fn any_clone_of_the_stopper_ends_it_from_any_thread() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let outcome = pair.run(
            options(&pair.right, backend),
            &mut Teller::new(),
            |_, stopper| {
                let other = stopper.clone();
                thread::scope(|scope| {
                    scope.spawn(move || other.stop());
                });
                // Once more changes nothing.
                stopper.stop();
            },
        );
        assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
    }
}

#[test]
fn a_stop_that_came_before_it_began_ends_it_with_what_the_rings_hold() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let capture = pair.open(options(&pair.right, backend));
        pair.send(0, 200);
        pair.until(200);
        let stop = Stop::new().unwrap();
        stop.stopper().stop();
        let mut teller = Teller::new();
        let outcome = summary(capture.run_consumer(&mut teller, &stop));
        assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
        assert_account(&outcome.account, teller.taken, 0, 0);
        assert_eq!(teller.taken, 200);
    }
}

/// Longer than the end waits for packets that are on their way into the rings.
#[test]
fn what_is_in_the_rings_at_the_end_is_delivered_however_long_the_consumer_takes() {
    const PACKETS: u32 = 4000;
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let capture = pair.open(options(&pair.right, backend));
        pair.send(0, PACKETS);
        pair.until(PACKETS.into());
        capture.stopper().stop();
        let mut taken = 0;
        let outcome = summary(capture.run(|_| {
            taken += 1;
            if taken == 1500 {
                let begun = Instant::now();
                let is_over = || begun.elapsed() > Duration::from_secs(2);
                wait::until("two seconds are over", is_over);
            }
            Ok(())
        }));
        assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
        assert_account(&outcome.account, PACKETS.into(), 0, 0);
        assert_eq!(taken, PACKETS);
    }
}

/// A batch of `min_bytes` bytes, or after an hour.
fn patient(min_bytes: usize) -> DeliveryMode {
    DeliveryMode::Batch {
        min_bytes,
        timeout: Duration::from_hours(1),
    }
}

/// An incomplete batch does not delay the end of a capture, nor does the timer of a block, which is at its maximum here.
#[test]
fn a_stop_interrupts_the_wait_for_a_batch() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let patient = options(&pair.right, backend)
            .delivery(patient(1))
            .tick(Duration::from_hours(1));
        let mut teller = Teller::new();
        let outcome = pair.run(patient, &mut teller, |pair, stopper| {
            pair.send(0, 10);
            pair.until(10);
            stopper.stop();
        });
        assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
        assert_account(&outcome.account, 10, 0, 0);
        assert_eq!(teller.taken, 10);
    }
}

#[test]
fn ticks_come_while_nothing_else_does() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let ticking = options(&pair.right, backend)
            .tick(Duration::from_millis(1))
            .duration(Duration::from_millis(100));
        let mut teller = Teller::new();
        let outcome = pair.run(ticking, &mut teller, |_, _| ());
        assert!(matches!(outcome.ended, Ended::Duration), "{outcome:?}");
        assert!(teller.ticks > 0);
    }
}

/// Captures to a file, ends by method `end` after 300 packets, and reads the file with other programs.
fn ended_by(options: impl FnOnce(&Host) -> CaptureOptions, end: &str) -> CaptureSummary {
    let mut pair = Pair::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.pcapng");
    let capture = pair.open(options(&pair.right));
    let output = Output::Path(path.clone());
    let mut consumer = file_consumer(&capture, output, Duration::ZERO, |_| ());
    let (outcome, ()) = run_open(capture, &mut consumer, |_| {
        pair.send(0, 300);
        pair.until(300);
        pair.right.ip(end);
    });
    let account = outcome.account;
    assert_eq!(
        (account.delivered, account.received()),
        (300, Some(300)),
        "{outcome:?}"
    );
    assert_eq!(consumer.packets_written(), 300);
    assert_eq!(packet_count(&path), 300);
    assert_eq!(metadata(&path).unwrap().len(), consumer.bytes_written());
    assert_eq!(consumer.paths(), [path]);
    outcome
}

#[test]
fn an_interface_that_goes_ends_it_in_order() {
    for backend in BACKENDS {
        let outcome = ended_by(|right| options(right, backend), "link set right0 down");
        let is_it = matches!(&outcome.ended, Ended::LinkDown { link } if link == "right0");
        assert!(is_it, "{outcome:?}");
        let lost = outcome.account.lost;
        assert_eq!((lost.nic, lost.driver), (Some(0), Some(0)));

        let outcome = ended_by(|right| options(right, backend), "link del right0");
        let is_it = matches!(&outcome.ended, Ended::LinkRemoved { link } if link == "right0");
        assert!(is_it, "{outcome:?}");
        // Nobody can be asked any more.
        let lost = outcome.account.lost;
        assert_eq!((lost.nic, lost.driver), (None, None));
    }
    // The reader of a batch that gathers sleeps beside the ring then.
    let batch = |right: &Host| options(right, Backend::PacketV2).delivery(patient(4 << 20));
    let outcome = ended_by(batch, "link del right0");
    let is_it = matches!(&outcome.ended, Ended::LinkRemoved { link } if link == "right0");
    assert!(is_it, "{outcome:?}");
}

/// Packets in a ring are delivered after its interface disappears, even if the reader stalls.
#[test]
fn what_a_removed_interface_left_in_the_ring_is_delivered() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let (mut teller, release, told) = Teller::stalling();
        let outcome = pair.run(options(&pair.right, backend), &mut teller, |pair, _| {
            pair.send(0, 1);
            until_reported(&told, Told::Holding);
            pair.send(1, 299);
            pair.until(300);
            pair.right.ip("link del right0");
            release.send(()).unwrap();
        });
        assert!(
            matches!(outcome.ended, Ended::LinkRemoved { .. }),
            "{outcome:?}"
        );
        let counts = (teller.taken, outcome.account.received());
        assert_eq!(counts, (300, Some(300)), "{outcome:?}");
    }
}

#[test]
fn a_link_that_goes_down_ends_it_unless_it_outlasts_that() {
    for backend in [Backend::PacketV2, Backend::PacketV3] {
        let pair = Pair::new();
        let mut short = pair.open(options(&pair.right, backend));
        let mut long = pair.open(options(&pair.right, backend).outlast_link_down(true));
        pair.right.ip("link set right0 down");
        assert!(short.next_batch(Duration::ZERO).unwrap().is_none());
        let ended = short.ended();
        assert!(matches!(ended, Some(Ended::LinkDown { .. })), "{ended:?}");
        assert!(long.next_batch(Duration::ZERO).unwrap().is_some());
        assert!(long.has_down_link());
        pair.right.ip("link set right0 up");
        wait::until("the link is up", || pair.left.link().carrier == Some(true));
        pair.send(0, 3);
        let mut packets = 0;
        wait::until("the packets and the link", || {
            let mut batch = long.next_batch(Duration::ZERO).unwrap().expect("it runs");
            while batch.next().is_some() {
                packets += 1;
            }
            packets == 3 && !long.has_down_link()
        });
        pair.right.ip("link set right0 down");
        pair.right.ip("link del right0");
        wait::until("its end", || {
            long.next_batch(Duration::ZERO).unwrap().is_none()
        });
        let ended = long.ended();
        assert!(
            matches!(ended, Some(Ended::LinkRemoved { .. })),
            "{ended:?}"
        );
        // Whoever polls the descriptor finds the end.
        let mut polled = [PollFd::new(&long, PollFlags::IN)];
        assert_eq!(poll(&mut polled, Some(&Timespec::default())).unwrap(), 1);
        assert!(long.next_batch(Duration::ZERO).unwrap().is_none());
        let account = long.finish().unwrap().account;
        assert_eq!((account.delivered, account.lost.total()), (3, 0));
    }
}

#[test]
fn a_consumer_ends_it_by_failing_at_any_call() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        for call in [Call::Idle, Call::Tick, Call::Finish] {
            let mut options = options(&pair.right, backend).tick(Duration::from_millis(1));
            if call == Call::Finish {
                options = options.limits(Limits {
                    packets: Some(0),
                    duration: None,
                });
            }
            let mut teller = Teller::new();
            teller.fails_to = Some(call);
            let outcome = pair.run(options, &mut teller, |_, _| ());
            match &outcome.ended {
                Ended::Consumer(error) => {
                    assert_eq!(error.to_string(), format!("{call:?}, as asked"));
                }
                other => panic!("{other:?}"),
            }
            assert!(teller.finished.is_some());
        }
    }
}

/// A disk with `room` bytes, which accepts each write completely or not at all.
struct Disk {
    file: File,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room.checked_sub(bytes.len());
        self.room = room.ok_or(io::ErrorKind::StorageFull)?;
        self.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_it_and_what_was_not_written_is_counted() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture.pcapng");
        let capture = pair.open(options(&pair.right, backend));
        let disk = Disk {
            file: File::create(&path).unwrap(),
            room: 30_000,
        };
        let output = Output::Stream {
            writer: Box::new(disk),
            name: path.clone(),
        };
        let small = |file: &mut CaptureFileOptions| file.buffer_bytes = 8192;
        let mut consumer = file_consumer(&capture, output, Duration::from_hours(1), small);
        // They come before anybody reads.
        pair.send(0, 500);
        pair.until(500);
        let (outcome, ()) = run_open(capture, &mut consumer, |_| ());
        assert!(matches!(outcome.ended, Ended::Consumer(_)), "{outcome:?}");
        let (delivered, lost) = (outcome.account.delivered, outcome.account.lost.writer);
        assert!(delivered > 100, "{outcome:?}");
        assert_eq!(delivered + lost, 500, "{outcome:?}");
        assert_account(&outcome.account, delivered, 0, lost);
        assert_eq!(consumer.packets_written(), delivered);
        assert_eq!(packet_count(&path), delivered);
    }
}
