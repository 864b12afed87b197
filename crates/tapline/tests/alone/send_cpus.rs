//! What a sender requests of idle CPUs, as the kernel reports it.

use std::fs::File;
use std::io::Read;
use std::thread;

use tapline::send::{Rate, SendQueue};

use crate::support::{Pair, frames};

/// The largest latency of idle CPUs, microseconds, that all programs together allow.
fn allowed_latency_us() -> i32 {
    let mut bytes = [0; 4];
    File::open("/dev/cpu_dma_latency")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .unwrap();
    i32::from_ne_bytes(bytes)
}

/// The smallest latency that the kernel reports while packets are sent at a rate.
fn while_sending(packets: u32, rate: u64) -> i32 {
    let pair = Pair::new();
    let options = tapline::send(pair.left.interface().name.to_string());
    let options = options.rate(Rate::Packets(rate.try_into().unwrap()));
    let mut sender = pair.left.run(|| options.open()).unwrap();
    let mut queue = SendQueue::default();
    for frame in frames(0, packets) {
        queue.push(0, &frame);
    }
    let mut least = i32::MAX;
    thread::scope(|scope| {
        let sending = scope.spawn(|| assert!(sender.transmit(&queue).unwrap()));
        while !sending.is_finished() {
            least = least.min(allowed_latency_us());
            thread::yield_now();
        }
    });
    least
}

#[test]
fn idle_cpus_stay_awake_only_while_gaps_are_short() {
    let before = allowed_latency_us();
    assert!(before > 0, "another program keeps the CPUs awake");
    assert_eq!(while_sending(500, 1000), 0);
    assert_eq!(allowed_latency_us(), before);
    assert_eq!(while_sending(20, 100), before);
}
