//! Packets that wait in a ring before anybody reads them.

use std::time::Duration;

use abi::process::thread_usage;
use tapline::capture::{Account, Backend, Capture, CaptureOptions, DeliveryMode, PacketBatch};
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use tapline_lab::{Host, Net};

/// Two hosts, of which one fills the rings of the other.
pub struct FullRing {
    left: Host,
    right: Host,
    generator: Generator,
    packets: u64,
}

impl FullRing {
    /// `packets` frames of `frame_bytes` fill a ring.
    pub fn new(packets: u64, frame_bytes: usize) -> Self {
        let [left, right] = Net::new().pair();
        let options = GeneratorOptions::new(left.interface().index, udp_frame(frame_bytes));
        let mut generator = left.run(|| Generator::new(options));
        right.run(|| generator.attach_peer(right.interface().index));
        Self {
            left,
            right,
            generator,
            packets,
        }
    }

    /// The host whose rings are filled.
    pub fn host(&self) -> &Host {
        &self.right
    }

    /// Sends the packets. They wait in the rings that are open.
    pub fn fill(&mut self) {
        let (generator, packets) = (&mut self.generator, self.packets);
        let sent = self.left.run(|| generator.deliver(packets, None));
        assert_eq!(sent.delivered, packets);
    }

    /// A capture that ends after the packets, which wait in its ring. The calling thread, which is to read it, stays on
    /// CPU 1.
    pub fn open(&mut self, backend: Backend) -> Capture {
        self.open_for(backend, self.packets)
    }

    /// A capture that ends after `limit` packets, and has a full ring.
    fn open_for(&mut self, backend: Backend, limit: u64) -> Capture {
        pin_to_cpu(1).expect("a second CPU");
        let options = CaptureOptions::default()
            .interface(self.right.interface().name.to_string())
            .backend(backend)
            .delivery(match backend {
                Backend::PacketV2 => DeliveryMode::Immediate,
                _ => DeliveryMode::default(),
            })
            .snaplen(96)
            .buffer_bytes(64 << 20)
            .packets(limit);
        let capture = self.right.run(|| options.open()).expect("a capture");
        self.fill();
        capture
    }

    /// CPU nanoseconds per packet of the calling thread while `read` reads all packets. `read` returns the account.
    pub fn thread_ns(&self, read: impl FnOnce() -> Account) -> f64 {
        let before = thread_usage();
        let account = read();
        self.ns(thread_usage().cpu.saturating_sub(before.cpu), &account)
    }

    /// CPU nanoseconds per packet of the calling thread to read a full ring in batches with `read`, which touches the
    /// packets of a batch and returns their number: the median of `turns` full rings without the first, which makes caches and
    /// pages warm.
    pub fn batches_ns(
        &mut self,
        backend: Backend,
        turns: u64,
        read: fn(PacketBatch<'_>) -> u64,
    ) -> f64 {
        let mut capture = self.open_for(backend, turns * self.packets);
        let packets = self.packets;
        let read_all = |capture: &mut Capture| {
            let mut received = 0;
            while received < packets {
                let batch = capture.next_batch(Duration::MAX).expect("a batch");
                received += read(batch.expect("packets"));
            }
        };
        read_all(&mut capture);
        let mut times = Vec::new();
        for _ in 1..turns {
            self.fill();
            let before = thread_usage();
            read_all(&mut capture);
            times.push(thread_usage().cpu.saturating_sub(before.cpu));
        }
        times.sort_unstable();
        let used = times[(times.len() - 1) / 2];
        let account = capture.finish().expect("a summary").account;
        assert_eq!(
            (account.delivered, account.lost.total()),
            (turns * self.packets, 0)
        );
        used.as_nanos() as f64 / self.packets as f64
    }

    /// `used` per packet, in nanoseconds, after a check that all packets were delivered.
    pub fn ns(&self, used: Duration, account: &Account) -> f64 {
        let found = (account.delivered, account.lost.total());
        assert_eq!(found, (self.packets, 0));
        used.as_nanos() as f64 / self.packets as f64
    }
}

/// Reads all packets with [`Capture::next`], and touches each.
pub fn read_with_next(mut capture: Capture) -> Account {
    let mut bytes = 0;
    while let Some(packet) = capture.next().expect("a packet") {
        bytes += packet.len() + usize::from(packet.data()[0]);
    }
    assert!(bytes > 0, "packets have bytes");
    capture.finish().expect("a summary").account
}
