//! Ways to count on a veth pair.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use abi::process;
use netlink::Gro;
use tapline::count::{Count, CountClass, CountDirection, CountOptions, IngressHook};
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu};
use tapline_lab::{Host, Net, tool};

use crate::harness::{Running, cpu_of, softirq_thread, thread_time};

const SENDER_CPU: usize = 0;

/// A way to count.
pub enum Way {
    Nothing,
    /// Filters of classes; the last one counts every packet that is sent.
    Tapline(IngressHook, Vec<String>),
    /// A filter; tcpdump's output is counted by wc(1).
    Tcpdump(&'static str),
    /// The part of a rule before `counter`.
    Nftables(&'static str),
}

/// The two hosts. The receiver counts.
pub struct Rig {
    sender: Host,
    receiver: Host,
    generator: Generator,
    /// The ksoftirqd thread of the sender's CPU.
    softirqs: u32,
    /// Passed packets, their rate, and the CPU time used, in the last trial.
    passed: f64,
    passed_pps: f64,
    kernel: Duration,
}

impl Rig {
    /// With copies of `frame` to send.
    pub fn build(frame: Vec<u8>) -> Self {
        let [sender, receiver] = Net::new().pair();
        // With GRO the veth accepts redirected frames, as it would with an XDP program.
        receiver.set_gro(Gro::On);
        let options = GeneratorOptions::new(sender.interface().index, frame);
        let generator = sender.run(|| {
            let mut generator = Generator::new(options);
            generator.attach_own();
            generator
        });
        Self {
            sender,
            receiver,
            generator,
            softirqs: softirq_thread(SENDER_CPU),
            passed: 0.0,
            passed_pps: 0.0,
            kernel: Duration::ZERO,
        }
    }

    /// Passed packets per second, counted ones in a million, and nanoseconds per packet: of sender and kernel, of
    /// programs, and of both. `None` if the tool is not installed.
    pub fn trial(&mut self, way: &Way, packets: u64) -> Option<[f64; 5]> {
        let (counted, programs) = match way {
            Way::Nothing => {
                self.send(packets);
                (f64::NAN, Duration::ZERO)
            }
            Way::Tapline(ingress, filters) => self.tapline(*ingress, filters, packets),
            Way::Tcpdump(filter) => self.tcpdump(filter, packets)?,
            Way::Nftables(rule) => self.nftables(rule, packets)?,
        };
        let [kernel, programs] =
            [self.kernel, programs].map(|cpu| cpu.as_nanos() as f64 / self.passed);
        let ppm = counted / self.passed * 1e6;
        Some([self.passed_pps, ppm, kernel, programs, kernel + programs])
    }

    fn send(&mut self, packets: u64) {
        let (generator, softirqs) = (&mut self.generator, self.softirqs);
        let (sent, cpu) = self.sender.run(move || {
            pin_to_cpu(SENDER_CPU).expect("the sender's CPU");
            let used = || thread_time() + cpu_of(softirqs).cpu;
            let before = used();
            let sent = generator.send(packets, None);
            (sent, used().saturating_sub(before))
        });
        self.passed = sent.delivered.max(1) as f64;
        self.passed_pps = sent.delivered_pps();
        self.kernel = cpu;
    }

    fn interface(&self) -> String {
        self.receiver.interface().name.to_string()
    }

    /// Returns the counted packets and the CPU time of the counting programs, like the other methods.
    fn tapline(&mut self, hook: IngressHook, filters: &[String], packets: u64) -> (f64, Duration) {
        let class = |(number, text): (usize, &String)| CountClass {
            name: number.to_string(),
            filter: (!text.is_empty()).then(|| text.parse().expect("a filter")),
        };
        let mut options = CountOptions::default();
        options.interfaces = vec![self.interface()];
        options.classes = filters.iter().enumerate().map(class).collect();
        options.direction = CountDirection::In;
        options.ingress = hook;
        let mut count = self.receiver.run(|| Count::open(options).expect("a count"));
        self.send(packets);
        let before = thread_time();
        let snapshot = count.read().expect("counters");
        let reading = thread_time().saturating_sub(before);
        let last = snapshot.classes.last().expect("a class");
        (last.traffic.packets as f64, reading)
    }

    fn tcpdump(&mut self, filter: &str, packets: u64) -> Option<(f64, Duration)> {
        tool::find("tcpdump")?;
        let mut command = self.receiver.command("tcpdump");
        command.args(["-i", &self.interface()]);
        command.args(["-n", "-s", "68", "-w", "-", filter]);
        let (mut dump, output) = Running::start_piped(command);
        let mut counter = Command::new("wc");
        counter.arg("-c").stdin(output).stdout(Stdio::null());
        let counter = counter.spawn().ok()?;
        dump.wait_until(|text| text.contains("listening on"));
        let before = dump.used().cpu + cpu_of(counter.id()).cpu;
        self.send(packets);
        dump.interrupt();
        let dump = dump.finish();
        let captured = dump.text.lines().find(|line| line.contains("captured"))?;
        let captured = captured.split(' ').next()?.parse().ok()?;
        let cpu = dump.used.cpu + process::wait(counter).ok()?.cpu;
        Some((captured, cpu.saturating_sub(before)))
    }

    /// A rule with a counter on the interface's ingress hook.
    fn nftables(&mut self, rule: &str, packets: u64) -> Option<(f64, Duration)> {
        tool::find("nft")?;
        let hook = format!(
            "type filter hook ingress device {} priority 0",
            self.interface()
        );
        let nft = |receiver: &Host, arguments: &str| {
            let mut command = receiver.command("nft");
            command.args(arguments.split_whitespace());
            let mut child = command.stdout(Stdio::piped()).spawn().expect("nft runs");
            let mut text = String::new();
            let mut output = child.stdout.take().expect("a pipe");
            output.read_to_string(&mut text).expect("text");
            let ended = process::wait(child).expect("nft ends");
            assert!(ended.status.success(), "nft {arguments}");
            (text, ended.cpu)
        };
        nft(&self.receiver, "add table netdev bench");
        nft(
            &self.receiver,
            &format!("add chain netdev bench in {{ {hook} ; }}"),
        );
        nft(
            &self.receiver,
            &format!("add rule netdev bench in {rule} counter"),
        );
        self.send(packets);
        let (text, reading) = nft(&self.receiver, "list table netdev bench");
        nft(&self.receiver, "delete table netdev bench");
        let counted = text.split("packets ").nth(1)?;
        Some((counted.split(' ').next()?.parse().ok()?, reading))
    }
}
