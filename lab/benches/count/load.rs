//! Counting on a veth pair under full load, beside the ways that others count.
//!
//! One processor sends and, between the batches, does the receiver's work: driver, program, stack. A
//! way of counting costs what it takes from the rate; what a program copies to user space is paid by
//! another processor, too.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use abi::process;
use netlink::Gro;
use rustix::process::{Pid, Signal, kill_process};
use tapline::capture::Expression;
use tapline::count::{Class, Count, Direction, Ingress, Options};
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu};
use tapline_lab::{Host, Net, tool};

use crate::classes::Row;
use crate::frames::ip4;

const SENDER_CPU: usize = 0;
const FRAME_BYTES: u16 = 128;
const SNAPLEN: &str = "68";

/// A way to count.
pub enum Way {
    Nothing,
    Tapline(Ingress, Row),
    Tcpdump,
    Nftables,
}

/// What a way did with the packets of a round.
pub struct Trial {
    pub passed_pps: f64,
    /// How many of those that passed it counted, of one million.
    pub counted_ppm: Option<f64>,
    /// Processor time of its processes, of the wall clock's.
    pub cpu: f64,
}

/// The two hosts of a round; the counting one receives.
pub struct Rig {
    sender: Host,
    receiver: Host,
    generator: Generator,
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
        }
    }

    /// `None` where the tool is not installed.
    pub fn trial(&mut self, way: &Way, packets: u64) -> Option<Trial> {
        match way {
            Way::Nothing => {
                let (passed_pps, _, _) = self.send(packets);
                Some(Trial {
                    passed_pps,
                    counted_ppm: None,
                    cpu: 0.0,
                })
            }
            Way::Tapline(ingress, row) => Some(self.tapline(*ingress, row, packets)),
            Way::Tcpdump => self.tcpdump(packets),
            Way::Nftables => self.nftables(packets),
        }
    }

    /// The rate, how many passed, and how long that took.
    fn send(&mut self, packets: u64) -> (f64, u64, f64) {
        let generator = &mut self.generator;
        let sent = self.sender.run(move || {
            pin_to_cpu(SENDER_CPU).expect("the sender's processor");
            generator.send(packets, None)
        });
        (
            sent.delivered_pps(),
            sent.delivered,
            sent.duration.as_secs_f64(),
        )
    }

    fn tapline(&mut self, ingress: Ingress, row: &Row, packets: u64) -> Trial {
        let class = |text: &String| Class {
            name: text.clone(),
            filter: (!text.is_empty()).then(|| Expression {
                text: text.clone(),
                names: Arc::new(filter::NoNames),
            }),
        };
        let all = Class {
            name: "all of them".into(),
            ..class(&"udp port 53".into())
        };
        let options = Options {
            links: vec![self.receiver.interface().name.to_string()],
            classes: row.filters.iter().map(class).chain([all]).collect(),
            direction: Direction::In,
            ingress,
            ..Options::default()
        };
        let mut count = self.receiver.run(|| Count::open(options).expect("a count"));
        let (passed_pps, passed, seconds) = self.send(packets);
        let start = Instant::now();
        let snapshot = count.read().expect("counters");
        let reading = start.elapsed().as_secs_f64();
        let counted = snapshot
            .classes
            .last()
            .map_or(0, |class| class.tally.packets);
        Trial {
            passed_pps,
            counted_ppm: Some(ppm(counted, passed)),
            // One reading a second.
            cpu: reading / seconds.max(1.0),
        }
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
        let (passed_pps, passed, seconds) = self.send(packets);
        interrupt(&dump);
        let mut rest = String::new();
        errors.read_to_string(&mut rest).ok()?;
        let captured = rest.lines().find(|line| line.contains("captured"))?;
        let captured = captured.split(' ').next()?.parse().ok()?;
        let cpu = process::wait(dump).ok()?.cpu + process::wait(counter).ok()?.cpu;
        Some(Trial {
            passed_pps,
            counted_ppm: Some(ppm(captured, passed)),
            cpu: cpu.as_secs_f64() / seconds,
        })
    }

    /// A rule with a counter on the interface's ingress hook.
    fn nftables(&mut self, packets: u64) -> Option<Trial> {
        tool::find("nft")?;
        let name = self.receiver.interface().name.to_string();
        let nft = |arguments: &str| {
            let mut command = self.receiver.command("nft");
            let output = command.args(arguments.split(' ')).output().ok()?;
            output.status.success().then_some(output)
        };
        nft("add table netdev bench")?;
        let hook = format!("type filter hook ingress device {name} priority 0");
        nft(&format!("add chain netdev bench in {{ {hook} ; }}"))?;
        nft("add rule netdev bench in udp dport 53 counter")?;
        let (passed_pps, passed, _) = self.send(packets);
        let mut list = self.receiver.command("nft");
        let list = list
            .args(["list", "table", "netdev", "bench"])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&list.stdout).into_owned();
        let counted = text
            .split("packets ")
            .nth(1)?
            .split(' ')
            .next()?
            .parse()
            .ok()?;
        let mut delete = self.receiver.command("nft");
        delete
            .args(["delete", "table", "netdev", "bench"])
            .status()
            .ok()?;
        Some(Trial {
            passed_pps,
            counted_ppm: Some(ppm(counted, passed)),
            cpu: 0.0,
        })
    }
}

fn ppm(counted: u64, passed: u64) -> f64 {
    counted as f64 / passed.max(1) as f64 * 1e6
}

fn interrupt(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        kill_process(pid, Signal::INT).expect("a child of ours");
    }
}
