//! How long the reader may stall, measured by packets sent during the stall and delivered afterwards.

use crate::support;
use std::time::Duration;

use crate::support::changes::{batch, open};
use crate::support::{
    Teller, Told, Witness, deliver, frames, options, run_open, send, until_reported,
};
use lab::Host;
use lab::Net;
use lab::generator::{Generator, GeneratorOptions, udp_frame};
use ring::DeliveryMode;
use tapline::capture::{Backend, CaptureOptions, CaptureSummary, Control};

/// Packets that arrive within 200 ms at 50 000 per second.
const PACKETS: u64 = 10_000;

const STALL: Duration = Duration::from_millis(200);

const ADAPTIVE: DeliveryMode = DeliveryMode::Adaptive {
    target: Duration::from_micros(200),
};

/// Frames of 100 bytes.
fn hundred_bytes(left: &Host, right: &Host) -> Generator {
    let options = GeneratorOptions::new(left.interface().index, udp_frame(100));
    let mut generator = left.run(|| Generator::new(options));
    right.run(|| generator.attach_peer(right.interface().index));
    generator
}

/// Stalls the reader from its first packet until all others have arrived; runs `change` before.
fn stalled(
    options: CaptureOptions,
    [left, right]: &[Host; 2],
    change: impl Fn(&Control),
) -> CaptureSummary {
    let mut witness = Witness::on(right);
    let mut generator = hundred_bytes(left, right);
    let (mut teller, release, told) = Teller::stalling();
    let (capture, control) = open(right, options);
    let (outcome, ()) = run_open(capture, &mut teller, |stopper| {
        change(&control);
        control.wait();
        send(left, &frames(0, 1));
        until_reported(&told, Told::Holding);
        deliver(left, &mut generator, PACKETS);
        witness.until(PACKETS + 1);
        release.send(()).unwrap();
        stopper.stop();
    });
    outcome
}

#[track_caller]
fn assert_all(outcome: &CaptureSummary, what: impl std::fmt::Debug) {
    let account = outcome.account;
    let expected = (Some(PACKETS + 1), PACKETS + 1, 0);
    let found = (account.received(), account.delivered, account.lost.total());
    assert_eq!(found, expected, "{what:?} {outcome:?}");
}

#[test]
fn a_ring_of_16_mib_lasts_for_a_stall_whatever_the_snaplen_and_the_delivery() {
    let hosts = Net::new().pair();
    for snaplen in [96, 1000, 1518, 9018, 262_144] {
        for (delivery, stall) in [
            (ADAPTIVE, None),
            (batch(1 << 20, 100), None),
            (batch(1 << 20, 10), None),
            (batch(4096, 1), None),
            (batch(1 << 20, 2000), None),
            (DeliveryMode::Immediate, Some(STALL)),
        ] {
            if delivery == DeliveryMode::Immediate && snaplen > 9018 {
                // A frame for each would be 700 MB.
                continue;
            }
            let options = options(&hosts[1], Backend::PacketV2)
                .backend(None::<Backend>)
                .snaplen(snaplen)
                .buffer_bytes(16 << 20)
                .delivery(delivery)
                .stall(stall);
            let outcome = stalled(options, &hosts, |_| ());
            assert_all(&outcome, (snaplen, delivery));
        }
    }
}

#[test]
fn a_ring_grows_for_a_stall_that_is_asked_for() {
    let hosts = Net::new().pair();
    for backend in support::BACKENDS {
        for stall in [None, Some(STALL)] {
            let options = options(&hosts[1], backend)
                .snaplen(1518)
                .buffer_bytes(1 << 20)
                // 100 frames, or blocks that are as few.
                .delivery(match backend {
                    Backend::PacketV2 => ADAPTIVE,
                    _ => DeliveryMode::Blocks {
                        bytes: 10_240,
                        timeout: Duration::from_millis(1),
                    },
                })
                .stall(stall);
            let outcome = stalled(options, &hosts, |_| ());
            match stall {
                Some(_) => assert_all(&outcome, backend),
                None => assert!(outcome.account.lost.ring > 0, "{backend:?} {outcome:?}"),
            }
        }
    }
}

#[test]
fn a_stall_changes_while_the_capture_runs() {
    let hosts = Net::new().pair();
    for backend in support::BACKENDS {
        let delivery = match backend {
            Backend::PacketV2 => ADAPTIVE,
            _ => batch(4096, 1),
        };
        let options = options(&hosts[1], backend)
            .snaplen(1518)
            .buffer_bytes(1 << 20)
            .delivery(delivery)
            .stall(Duration::ZERO);
        let small = stalled(options.clone(), &hosts, |_| ());
        assert!(small.account.lost.ring > 0, "{backend:?} {small:?}");
        let changed = stalled(options, &hosts, |control| {
            control.set_stall(Some(STALL)).unwrap();
            control.wait();
            // The ring that takes over because of this has that stall, too.
            control.set_delivery(delivery, Duration::ZERO).unwrap();
            control.wait();
            control.set_buffer(1 << 19).unwrap();
        });
        assert_all(&changed, backend);
    }
}
