//! Drop mode on an interface with several queues: one order, one account, and whose queue it was.

use std::process::Command;
use std::time::Duration;

use crate::support::{DEADLINE, summary};
use lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use lab::skip::{Feature, without};
use lab::{Host, Net};
use tapline::Packet;
use tapline::capture::{
    Account, Backend, Capture, CaptureOptions, Consumer, ConsumerError, Limits, Mode, XdpMode,
};

/// A veth's receiving queue is that of the processor that sends.
const TWO_PROCESSORS: Feature = Feature {
    name: "two processors",
    probe: || match std::thread::available_parallelism() {
        Ok(count) if count.get() >= 2 => Ok(()),
        other => Err(format!("available: {other:?}")),
    },
};

const QUEUES: u32 = 2;
const EACH: u64 = 3000;

fn two_queues(host: &Host) -> CaptureOptions {
    let name = host.interface().name.to_string();
    let mut command: Command = host.command("ethtool");
    let queues = QUEUES.to_string();
    let status = command.args(["-L", &name, "rx", &queues, "tx", &queues]);
    assert!(status.status().unwrap().success());
    CaptureOptions::default()
        .links(vec![name])
        .mode(Mode::Drop)
        .buffer_bytes(64 << 20)
        .limits(Limits {
            packets: None,
            duration: Some(DEADLINE),
        })
        .tick(Duration::from_millis(5))
}

/// Keeps queue and time of each packet, and ends the capture when all have come.
struct Seen {
    packets: Vec<(u32, u64)>,
    stopper: Option<tapline::Stopper>,
}

impl Consumer for Seen {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        assert_eq!(packet.record().interface, 0);
        let (queue, time_ns) = (
            packet.record().queue.unwrap(),
            packet.time().as_nanos().unwrap(),
        );
        // The queue is that of the processor, whose number the sender wrote.
        assert_eq!(packet.data()[50], queue as u8);
        self.packets.push((queue, time_ns));
        Ok(())
    }

    fn tick(&mut self, _now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        if account.received() == Some(u64::from(QUEUES) * EACH)
            && let Some(stopper) = self.stopper.take()
        {
            stopper.stop();
        }
        Ok(())
    }
}

#[test]
fn packets_of_all_queues_come_in_one_order_and_one_account() {
    if without(&TWO_PROCESSORS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let capture = right.run(|| Capture::open(two_queues(&right)).unwrap());
    let opened = capture.links().next().unwrap();
    assert_eq!(opened.rings, QUEUES as usize);
    assert_eq!(opened.backend, Backend::Xdp);
    assert_eq!(opened.xdp_mode, Some(XdpMode::Native));
    assert_eq!(opened.buffer_bytes, 64 << 20);
    assert_order(capture, &left);
}

/// Each processor has memory of its own, in which packets tell their queue.
#[test]
fn short_packets_of_all_queues_tell_theirs() {
    if without(&TWO_PROCESSORS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let options = two_queues(&right).snaplen(96);
    let capture = right.run(|| Capture::open(options).unwrap());
    let opened = capture.links().next().unwrap();
    assert_eq!(opened.backend, Backend::XdpRingbuf);
    assert_order(capture, &left);
}

/// Sends from `left` to each queue what `capture` is to see in order.
#[track_caller]
fn assert_order(capture: Capture, left: &Host) {
    // All are sent before any is read: what lies ready is put in order.
    for queue in (0..QUEUES).rev() {
        let mut frame = udp_frame(80);
        frame[50] = queue as u8;
        let options = GeneratorOptions::new(left.interface().index, frame);
        left.run(|| {
            pin_to_cpu(queue as usize).unwrap();
            let mut generator = Generator::new(options);
            assert_eq!(generator.deliver(EACH, None).delivered, EACH);
        });
    }
    let mut seen = Seen {
        packets: Vec::new(),
        stopper: None,
    };
    let rings = capture.links().next().unwrap().rings;
    let stop = tapline::Stop::new().unwrap();
    seen.stopper = Some(stop.stopper());
    let outcome = summary(capture.run_consumer(&mut seen, &stop));
    let all = u64::from(QUEUES) * EACH;
    assert_eq!(outcome.account.received(), Some(all), "{outcome:?}");
    assert_eq!(outcome.account.delivered, all);
    assert_eq!(outcome.rings(), rings);
    for queue in 0..QUEUES {
        let of_queue = seen.packets.iter().filter(|(of, _)| *of == queue);
        assert_eq!(of_queue.clone().count() as u64, EACH);
        assert!(of_queue.is_sorted_by_key(|(_, time_ns)| *time_ns));
    }
    assert!(seen.packets.is_sorted_by_key(|(_, time_ns)| *time_ns));
}
