//! One ring per queue, and queues without a ring, compared with the packets sent to each.

use crate::support;
use std::os::fd::AsFd;

use crate::support::xsk_rings::{RingSetup, XskRings, steer};
use crate::support::{BROADCAST, Ring, bytes_of, collect, frame, read, send};
use lab::bpf::XdpAttachMode;
use lab::generator::{Generator, GeneratorOptions, SEQUENCE_AT, pin_to_cpu, udp_frame};
use lab::skip::{Feature, without};
use lab::{Host, Net};
use tapline_ring::{TpacketVersion, XdpOpenError, XdpRing, XdpRingOptions};

/// A veth's receive queue follows the CPU that sends.
const TWO_PROCESSORS: Feature = Feature {
    name: "two processors",
    probe: || match std::thread::available_parallelism() {
        Ok(count) if count.get() >= 2 => Ok(()),
        other => Err(format!("available: {other:?}")),
    },
};

fn set_queues(host: &Host, queues: u32) {
    let (name, queues) = (host.interface().name.to_string(), queues.to_string());
    let mut command = host.command("ethtool");
    let status = command
        .args(["-L", &name, "rx", &queues, "tx", &queues])
        .status();
    assert!(status.unwrap().success());
}

/// Delivers `count` frames to the queue of `cpu`.
fn deliver(host: &Host, generator: &mut Generator, cpu: usize, count: u64) {
    host.run(|| {
        pin_to_cpu(cpu).unwrap();
        generator.deliver(count, None);
    });
}

fn generator(left: &Host, number: u8) -> Generator {
    let mut frame = udp_frame(80);
    frame[50] = number;
    let options = GeneratorOptions {
        sequence_at: Some(SEQUENCE_AT),
        ..GeneratorOptions::new(left.interface().index, frame)
    };
    left.run(|| Generator::new(options))
}

/// Receives the next `count` packets, which must all be from generator `number`, and returns their sequence numbers.
#[track_caller]
fn sequence(ring: &mut impl Ring, count: usize, number: u8) -> Vec<u64> {
    let mut seen = Vec::new();
    read(ring, |batch| {
        for packet in batch.packets() {
            assert_eq!(packet.bytes[50], number);
            let at = &packet.bytes[usize::from(SEQUENCE_AT)..];
            seen.push(u64::from_be_bytes(*at.first_chunk().unwrap()));
        }
        seen.len() >= count
    });
    assert_eq!(seen.len(), count);
    seen
}

/// Waits until `count` packets have bypassed the rings.
#[track_caller]
fn until_unsteered(steered: &XskRings, count: u64) {
    lab::wait::until_ok(|| match steered.counters() {
        counts if counts.lost >= count => Ok(()),
        counts => Err(counts),
    });
    assert_eq!(steered.counters().lost, count);
}

#[test]
fn each_queue_has_a_ring_and_each_ring_its_queues_packets() {
    if without(&TWO_PROCESSORS) {
        return;
    }
    let [left, right] = Net::new().pair();
    set_queues(&right, 2);
    let name = right.interface().name.to_string();
    assert_eq!(right.run(|| XdpRing::queue_count(&name)).unwrap(), 2);
    let wanted = RingSetup {
        rings: 2,
        ..RingSetup::new(XdpAttachMode::Native, 4096)
    };
    let XskRings {
        mut rings,
        redirect,
    } = steer(&right, &wanted);
    let counts = [1000, 3000];
    for (cpu, count) in counts.into_iter().enumerate() {
        let mut generator = generator(&left, cpu as u8 + 1);
        deliver(&left, &mut generator, cpu, count);
    }
    for (queue, count) in counts.into_iter().enumerate() {
        let ring = &mut rings[queue];
        assert_eq!(ring.queue(), queue as u32);
        let seen = sequence(ring, count as usize, queue as u8 + 1);
        // The order is that of sending; a number is missing where the link dropped a frame.
        assert!(seen.is_sorted_by(|a, b| a < b));
        ring.refresh().unwrap();
        assert_eq!(
            (ring.counters().accepted, ring.counters().dropped),
            (count, 0)
        );
    }
    assert_eq!(redirect.counters().unwrap().delivered, 4000);
}

#[test]
fn packets_of_a_queue_without_a_ring_are_counted_and_go_on_into_the_stack() {
    if without(&TWO_PROCESSORS) {
        return;
    }
    let [left, right] = Net::new().pair();
    set_queues(&right, 2);
    let mut steered = steer(&right, &RingSetup::new(XdpAttachMode::Native, 1024));
    let mut stack = support::open(&right, &support::options(TpacketVersion::V3));
    deliver(&left, &mut generator(&left, 1), 0, 100);
    deliver(&left, &mut generator(&left, 2), 1, 200);
    assert_eq!(sequence(steered.ring(), 100, 1).len(), 100);
    // What the XDP program passes on, a packet socket sees.
    assert_eq!(sequence(&mut stack, 200, 2).len(), 200);
    let counts = steered.counters();
    assert_eq!((counts.delivered, counts.lost), (100, 200));
}

#[test]
fn a_ring_of_another_queue_joins_while_packets_come() {
    if without(&TWO_PROCESSORS) {
        return;
    }
    let [left, right] = Net::new().pair();
    set_queues(&right, 2);
    let mut steered = steer(&right, &RingSetup::new(XdpAttachMode::Native, 1024));
    deliver(&left, &mut generator(&left, 2), 1, 10);
    let mut late = support::xsk_rings::open(
        &right,
        &XdpRingOptions {
            queue: 1,
            ..RingSetup::new(XdpAttachMode::Native, 1024).ring
        },
    );
    steered.redirect.insert(1, late.as_fd()).unwrap();
    deliver(&left, &mut generator(&left, 2), 1, 20);
    assert_eq!(sequence(&mut late, 20, 2).len(), 20);
    until_unsteered(&steered, 10);
    // A ring that is dropped leaves the program's map.
    drop(late);
    deliver(&left, &mut generator(&left, 2), 1, 30);
    until_unsteered(&steered, 40);
    send(&left, &[frame(BROADCAST, 60)]);
    assert_eq!(bytes_of(collect(steered.ring(), 1)), [frame(BROADCAST, 60)]);
}

#[test]
fn a_missing_queue_is_rejected_with_the_number_of_queues() {
    let [_left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let options = XdpRingOptions {
        queue: 1,
        ..XdpRingOptions::default()
    };
    match right.run(|| XdpRing::open(&name, &options)) {
        Err(
            error @ XdpOpenError::NoSuchQueue {
                queue: 1,
                queues: 1,
                ..
            },
        ) => {
            assert_eq!(
                error.to_string(),
                "cannot receive from queue 1 of right0: it has 1, numbered from 0 ('ethtool -L' \
                 sets their number)"
            );
        }
        other => panic!("{other:?}"),
    }
}
