//! Counting on a veth pair under full load, beside the ways that others count.
//!
//! One processor sends and, between the batches, does the receiver's work: driver, program, stack. A
//! way of counting costs what it takes from the rate; what a program copies to user space is paid by
//! another processor, too. Every way is read once in a trial, as it would be once a second.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use abi::process::{self, thread_usage};
use netlink::Gro;
use rustix::process::{Pid, Signal, kill_process};
use tapline::count::{Count, CountClass, CountDirection, CountOptions, IngressHook};
use tapline_lab::generator::{Generator, GeneratorOptions, Sent, pin_to_cpu};
use tapline_lab::{Host, Net, tool};

use crate::frames::ip4;

const SENDER_CPU: usize = 0;
const FRAME_BYTES: u16 = 128;
const SNAPLEN: &str = "68";

/// A way to count.
pub enum Way {
    Nothing,
    /// Filters of classes, of which the last counts every packet that is sent.
    Tapline(IngressHook, Vec<String>),
    Tcpdump,
    /// What comes before `counter` in a rule.
    Nftables(&'static str),
}

/// What a way did with the packets of a round.
pub struct Trial {
    pub passed_pps: f64,
    /// How many of those that passed it counted, of one million.
    pub counted_ppm: Option<f64>,
    /// Processor time of the sender and of its processor's softirq thread, in which driver, programs and
    /// stack of the receiver work, nanoseconds for each that passed.
    pub kernel_ns: f64,
    /// Processor time in user space to count and to read the counters, for each that passed.
    pub programs_ns: f64,
}

/// The two hosts of a round; the counting one receives.
pub struct Rig {
    sender: Host,
    receiver: Host,
    generator: Generator,
    /// The thread that does what softirqs leave undone on the sender's processor.
    softirqs: u32,
}

impl Rig {
    pub fn build() -> Self {
        let [sender, receiver] = Net::new().pair();
        // The veth takes whole frames with it, as it would with an XDP program.
        receiver.set_gro(Gro::On);
        let frame = ip4(FRAME_BYTES, 17, [0x9c, 0x40, 0, 53]);
        let options = GeneratorOptions::new(sender.interface().index, frame);
        let generator = sender.run(|| Generator::new(options));
        Self {
            sender,
            receiver,
            generator,
            softirqs: softirq_thread(SENDER_CPU),
        }
    }

    /// `None` where the tool is not installed.
    pub fn trial(&mut self, way: &Way, packets: u64) -> Option<Trial> {
        match way {
            Way::Nothing => Some(self.send(packets).trial(None, Duration::ZERO)),
            Way::Tapline(ingress, filters) => Some(self.tapline(*ingress, filters, packets)),
            Way::Tcpdump => self.tcpdump(packets),
            Way::Nftables(rule) => self.nftables(rule, packets),
        }
    }

    fn send(&mut self, packets: u64) -> Load {
        let (generator, softirqs) = (&mut self.generator, self.softirqs);
        self.sender.run(move || {
            pin_to_cpu(SENDER_CPU).expect("the sender's processor");
            let used = || thread_usage().cpu + used(softirqs);
            let before = used();
            let sent = generator.send(packets, None);
            let cpu = used().saturating_sub(before);
            Load { sent, cpu }
        })
    }

    fn tapline(&mut self, ingress: IngressHook, filters: &[String], packets: u64) -> Trial {
        let class = |(number, text): (usize, &String)| CountClass {
            name: number.to_string(),
            filter: (!text.is_empty()).then(|| text.parse().expect("a filter")),
        };
        let mut options = CountOptions::default();
        options.interfaces = vec![self.receiver.interface().name.to_string()];
        options.classes = filters.iter().enumerate().map(class).collect();
        options.direction = CountDirection::In;
        options.ingress = ingress;
        let mut count = self.receiver.run(|| Count::open(options).expect("a count"));
        let load = self.send(packets);
        let before = thread_usage().cpu;
        let snapshot = count.read().expect("counters");
        let reading = thread_usage().cpu.saturating_sub(before);
        let last = snapshot.classes.last();
        load.trial(last.map(|class| class.traffic.packets), reading)
    }

    fn tcpdump(&mut self, packets: u64) -> Option<Trial> {
        let name = self.receiver.interface().name.to_string();
        let mut command = self.receiver.command("tcpdump");
        command
            .args(["-i", &name, "-n", "-s", SNAPLEN, "-w", "-", "udp port 53"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut dump = command.spawn().ok()?;
        let mut counter = Command::new("wc");
        counter
            .arg("-c")
            .stdin(dump.stdout.take()?)
            .stdout(Stdio::null());
        let counter = counter.spawn().ok()?;
        let mut errors = BufReader::new(dump.stderr.take()?);
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            if errors.read_line(&mut line).ok()? == 0 {
                return None;
            }
        }
        let before = used(dump.id()) + used(counter.id());
        let load = self.send(packets);
        interrupt(&dump);
        let mut rest = String::new();
        errors.read_to_string(&mut rest).ok()?;
        let captured = rest.lines().find(|line| line.contains("captured"))?;
        let captured = captured.split(' ').next()?.parse().ok()?;
        let cpu = process::wait(dump).ok()?.cpu + process::wait(counter).ok()?.cpu;
        Some(load.trial(Some(captured), cpu.saturating_sub(before)))
    }

    /// A rule with a counter on the interface's ingress hook.
    fn nftables(&mut self, rule: &str, packets: u64) -> Option<Trial> {
        tool::find("nft")?;
        let name = self.receiver.interface().name.to_string();
        let nft = |arguments: &str| {
            let mut command = self.receiver.command("nft");
            let status = command.args(arguments.split_whitespace()).status().ok()?;
            status.success().then_some(())
        };
        nft("add table netdev bench")?;
        let hook = format!("type filter hook ingress device {name} priority 0");
        nft(&format!("add chain netdev bench in {{ {hook} ; }}"))?;
        nft(&format!("add rule netdev bench in {rule} counter"))?;
        let load = self.send(packets);
        let mut list = self.receiver.command("nft");
        list.args(["list", "table", "netdev", "bench"]);
        let mut list = list.stdout(Stdio::piped()).spawn().ok()?;
        let mut text = String::new();
        list.stdout.take()?.read_to_string(&mut text).ok()?;
        let reading = process::wait(list).ok()?.cpu;
        let counted = text.split("packets ").nth(1)?;
        let counted = counted.split(' ').next()?.parse().ok()?;
        let mut delete = self.receiver.command("nft");
        delete
            .args(["delete", "table", "netdev", "bench"])
            .status()
            .ok()?;
        Some(load.trial(Some(counted), reading))
    }
}

/// What was sent, and the sender's processor time for it.
struct Load {
    sent: Sent,
    cpu: Duration,
}

impl Load {
    fn trial(&self, counted: Option<u64>, programs: Duration) -> Trial {
        let passed = self.sent.delivered.max(1) as f64;
        let per_packet = |cpu: Duration| cpu.as_nanos() as f64 / passed;
        Trial {
            passed_pps: self.sent.delivered_pps(),
            counted_ppm: counted.map(|counted| counted as f64 / passed * 1e6),
            kernel_ns: per_packet(self.cpu),
            programs_ns: per_packet(programs),
        }
    }
}

/// Processor time of a process with one thread so far.
fn used(process: u32) -> Duration {
    let told = fs::read_to_string(format!("/proc/{process}/schedstat"));
    let told = told.unwrap_or_default();
    let nanoseconds = told.split(' ').next().and_then(|told| told.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the scheduler counts"))
}

fn softirq_thread(cpu: usize) -> u32 {
    let name = format!("ksoftirqd/{cpu}\n");
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let named = |process: &fs::DirEntry| {
        fs::read_to_string(process.path().join("comm")).is_ok_and(|comm| comm == name)
    };
    let found = processes.into_iter().find(named).expect("the thread");
    let number = found.file_name();
    let number = number.to_str().and_then(|number| number.parse().ok());
    number.expect("a number")
}

fn interrupt(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        kill_process(pid, Signal::INT).expect("a child of ours");
    }
}
