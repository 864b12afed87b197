//! What ends a capture, and what is left of it then, as other programs read it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::{
    BACKENDS, Call, Teller, Told, Witness, frames, options, run, run_open, send, summary,
    until_told,
};
use lab::{Host, Net, tool};
use ring::DeliveryMode;
use store::write::{self, CaptureFile, Output};
use tapline::Stop;
use tapline::capture::{
    Backend, Capture, CaptureOptions, CaptureSummary, Ended, FileConsumer, Limits,
};

fn ip(host: &Host, arguments: &str) {
    let output = host
        .command("ip")
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A consumer that writes what `capture` delivers to a file in `folder`.
fn file_consumer(capture: &Capture, folder: &Path) -> (FileConsumer, PathBuf) {
    let path = folder.join("capture.pcapng");
    let output = Output::Path(path.clone());
    let mut options = write::CaptureFileOptions::new(output, capture.interfaces().to_vec());
    options.statistics = capture.statistics_source();
    let file = CaptureFile::create(options, 0).unwrap();
    (FileConsumer::new(file, Duration::ZERO), path)
}

/// Packets that tshark finds in the file, without a complaint.
fn read_by_tshark(path: &Path) -> usize {
    let mut command: Command = tool::command("tshark");
    command
        .args(["-n", "-T", "fields", "-e", "frame.number", "-r"])
        .arg(path);
    let output = command.output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = complaints
        .lines()
        .filter(|line| !line.contains("Running as user"))
        .collect();
    assert!(
        output.status.success() && complaints.is_empty(),
        "{complaints:?}"
    );
    String::from_utf8(output.stdout).unwrap().lines().count()
}

#[test]
fn the_time_is_over() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        for duration in [Duration::ZERO, Duration::from_millis(30)] {
            let mut short = options(&right, backend);
            short.limits = Limits {
                packets: None,
                duration: Some(duration),
            };
            let (outcome, ()) = run(&right, short, &mut Teller::new(), |_| ());
            assert!(matches!(outcome.ended, Ended::Duration), "{outcome:?}");
            assert!(outcome.duration >= duration);
            assert_eq!(outcome.account.received(), Some(0));
        }
        // What lies in the ring by then is delivered.
        let mut witness = Witness::on(&right);
        let mut short = options(&right, backend);
        short.limits = Limits {
            packets: None,
            duration: Some(Duration::ZERO),
        };
        let capture = right.run(|| Capture::open(short)).unwrap();
        send(&left, &frames(0, 100));
        witness.until(100);
        let (outcome, ()) = run_open(capture, &mut Teller::new(), |_| ());
        assert!(matches!(outcome.ended, Ended::Duration), "{outcome:?}");
        assert_eq!(
            (outcome.account.delivered, outcome.account.received()),
            (100, Some(100))
        );
    }
}

#[test]
fn any_clone_of_the_stopper_ends_it_from_any_thread() {
    for backend in BACKENDS {
        let [_left, right] = Net::new().pair();
        let (outcome, ()) = run(
            &right,
            options(&right, backend),
            &mut Teller::new(),
            |stopper| {
                let other = stopper.clone();
                std::thread::scope(|scope| {
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
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let capture = right
            .run(|| Capture::open(options(&right, backend)))
            .unwrap();
        send(&left, &frames(0, 200));
        witness.until(200);
        let stop = Stop::new().unwrap();
        stop.stopper().stop();
        let mut teller = Teller::new();
        let outcome = summary(capture.run_consumer(&mut teller, &stop));
        assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
        assert_eq!((teller.taken, outcome.account.received()), (200, Some(200)));
    }
}

/// A batch that waits for others does not keep a capture from ending.
#[test]
fn a_stop_interrupts_the_wait_for_a_batch() {
    let [left, right] = Net::new().pair();
    let patient = options(&right, Backend::PacketV2)
        .delivery(DeliveryMode::Batch {
            min_bytes: 1,
            timeout: Duration::from_hours(1),
        })
        .tick(Duration::from_hours(1));
    let mut witness = Witness::on(&right);
    let mut teller = Teller::new();
    let (outcome, ()) = run(&right, patient, &mut teller, |stopper| {
        send(&left, &frames(0, 10));
        witness.until(10);
        stopper.stop();
    });
    assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
    assert_eq!((teller.taken, outcome.account.received()), (10, Some(10)));
}

#[test]
fn ticks_come_while_nothing_else_does() {
    for backend in BACKENDS {
        let [_left, right] = Net::new().pair();
        let mut ticking = options(&right, backend);
        ticking.tick = Duration::from_millis(1);
        ticking.limits.duration = Some(Duration::from_millis(100));
        let mut teller = Teller::new();
        let (outcome, ()) = run(&right, ticking, &mut teller, |_| ());
        assert!(matches!(outcome.ended, Ended::Duration), "{outcome:?}");
        assert!(teller.ticks > 0);
    }
}

/// Captures to a file, has `end` end it after 300 packets, and lets others read the file.
fn ended_by(backend: Backend, end: impl FnOnce(&Host)) -> CaptureSummary {
    ended_with(|right| options(right, backend), end)
}

fn ended_with(
    options: impl FnOnce(&Host) -> CaptureOptions + Send,
    end: impl FnOnce(&Host),
) -> CaptureSummary {
    let [left, right] = Net::new().pair();
    let folder = tempfile::tempdir().unwrap();
    let mut witness = Witness::on(&right);
    let capture = right.run(|| Capture::open(options(&right))).unwrap();
    let (mut consumer, path) = file_consumer(&capture, folder.path());
    let (outcome, ()) = run_open(capture, &mut consumer, |_| {
        send(&left, &frames(0, 300));
        witness.until(300);
        end(&right);
    });
    let account = outcome.account;
    assert_eq!(
        (account.delivered, account.received()),
        (300, Some(300)),
        "{outcome:?}"
    );
    assert_eq!(consumer.packets_written(), 300);
    assert_eq!(read_by_tshark(&path), 300);
    assert_eq!(
        std::fs::metadata(&path).unwrap().len(),
        consumer.bytes_written()
    );
    assert_eq!(consumer.paths(), [path]);
    outcome
}

#[test]
fn an_interface_that_goes_down_ends_it_in_order() {
    for backend in BACKENDS {
        let outcome = ended_by(backend, |right| ip(right, "link set right0 down"));
        match &outcome.ended {
            Ended::LinkDown { link } => assert_eq!(link, "right0"),
            other => panic!("{other:?}"),
        }
        assert_eq!(
            (outcome.account.lost.nic, outcome.account.lost.driver),
            (Some(0), Some(0))
        );
    }
}

#[test]
fn an_interface_that_is_removed_ends_it_in_order() {
    for backend in BACKENDS {
        let outcome = ended_by(backend, |right| ip(right, "link del right0"));
        match &outcome.ended {
            Ended::LinkRemoved { link } => assert_eq!(link, "right0"),
            other => panic!("{other:?}"),
        }
        // Nobody can be asked any more.
        assert_eq!(
            (outcome.account.lost.nic, outcome.account.lost.driver),
            (None, None)
        );
    }
}

/// The reader sleeps beside the ring then.
#[test]
fn an_interface_that_is_removed_ends_a_batch_that_gathers() {
    let batch = |right: &Host| {
        options(right, Backend::PacketV2).delivery(DeliveryMode::Batch {
            min_bytes: 4 << 20,
            timeout: Duration::from_hours(1),
        })
    };
    let outcome = ended_with(batch, |right| ip(right, "link del right0"));
    assert!(
        matches!(&outcome.ended, Ended::LinkRemoved { link } if link == "right0"),
        "{outcome:?}"
    );
}

/// The packets that are in a ring when its interface goes are delivered, though the reader stalls.
#[test]
fn what_a_removed_interface_left_in_the_ring_is_delivered() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let (mut teller, release, told) = Teller::stalling();
        let (outcome, ()) = run(&right, options(&right, backend), &mut teller, |_| {
            send(&left, &frames(0, 1));
            until_told(&told, Told::Holding);
            send(&left, &frames(1, 299));
            witness.until(300);
            ip(&right, "link del right0");
            release.send(()).unwrap();
        });
        assert!(
            matches!(outcome.ended, Ended::LinkRemoved { .. }),
            "{outcome:?}"
        );
        assert_eq!(
            (teller.taken, outcome.account.received()),
            (300, Some(300)),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_consumer_ends_it_by_failing_at_any_call() {
    for backend in BACKENDS {
        let [_left, right] = Net::new().pair();
        for call in [Call::Idle, Call::Tick, Call::Finish] {
            let mut options = options(&right, backend);
            options.tick = Duration::from_millis(1);
            if call == Call::Finish {
                options.limits.packets = Some(0);
            }
            let mut teller = Teller::new();
            teller.fails_to = Some(call);
            let (outcome, ()) = run(&right, options, &mut teller, |_| ());
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

/// A disk with room for `room` bytes, which takes each write whole or not at all.
struct Disk {
    file: std::fs::File,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.room.checked_sub(bytes.len()) {
            None => Err(io::ErrorKind::StorageFull.into()),
            Some(room) => {
                self.room = room;
                self.file.write_all(bytes)?;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_it_and_what_was_not_written_is_counted() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture.pcapng");
        let mut witness = Witness::on(&right);
        let capture = right
            .run(|| Capture::open(options(&right, backend)))
            .unwrap();
        let disk = Disk {
            file: std::fs::File::create(&path).unwrap(),
            room: 30_000,
        };
        let output = Output::Stream {
            writer: Box::new(disk),
            name: path.clone(),
        };
        let mut file = write::CaptureFileOptions::new(output, capture.interfaces().to_vec());
        file.buffer_bytes = 8192;
        let file = CaptureFile::create(file, 0).unwrap();
        let mut consumer = FileConsumer::new(file, Duration::from_hours(1));
        // They come before anybody reads.
        send(&left, &frames(0, 500));
        witness.until(500);
        let (outcome, ()) = run_open(capture, &mut consumer, |_| ());
        assert!(matches!(outcome.ended, Ended::Consumer(_)), "{outcome:?}");
        let account = outcome.account;
        assert!(account.delivered > 100, "{outcome:?}");
        assert_eq!(account.delivered + account.lost.writer, 500, "{outcome:?}");
        assert_eq!(account.received(), Some(500));
        assert_eq!(consumer.packets_written(), account.delivered);
        assert_eq!(read_by_tshark(&path) as u64, account.delivered);
    }
}
