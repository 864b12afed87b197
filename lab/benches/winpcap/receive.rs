//! The link, and one run of a program that captures.

use std::path::{Path, PathBuf};
use std::time::Duration;

use netlink::Gro;
use tapline_lab::generator::{Generator, GeneratorOptions, Sent, pin_to_cpu, udp_frame};
use tapline_lab::{Host, Net, tool};

use crate::harness::{
    Capturer, Counted, Running, on_cpu, softirq_time, thread_time, wait_for_capture,
};

const SENDER_CPU: usize = 0;
const READER_CPU: usize = 1;

/// For a program to drain its ring, beyond the time of its blocks.
const WORK: Duration = Duration::from_millis(300);

/// Memory of a program's ring.
const RING_MIB: u32 = 32;
const DROP_RING_MIB: u32 = 128;

pub struct Link {
    sender: Host,
    receiver: Host,
}

/// A program that captures.
#[derive(Clone, Debug)]
pub struct Program {
    pub name: &'static str,
    capturer: Capturer,
    path: Option<PathBuf>,
    /// Its XDP program takes packets from the driver.
    is_drop_mode: bool,
}

/// What a program is to do.
pub struct Task<'t> {
    /// The packets that it captures; all without one.
    pub filter: Option<&'t str>,
    /// Bytes of each packet; all without a number.
    pub snaplen: Option<u32>,
    pub output: &'t Path,
    pub frame_bytes: usize,
    pub packets: u64,
}

/// One run.
pub struct Received {
    pub sent: Sent,
    pub counted: Counted,
    /// CPU time of the sender, with what the kernel does to receive.
    sender: Duration,
    program: Duration,
}

impl Received {
    pub fn captured_pps(&self) -> f64 {
        self.counted.captured as f64 / self.sent.duration.as_secs_f64()
    }

    pub fn lost_percent(&self) -> f64 {
        let (captured, delivered) = (self.counted.captured as f64, self.sent.delivered as f64);
        (1.0 - captured / delivered) * 100.0
    }

    /// CPU time of the program per captured packet.
    pub fn program_ns(&self) -> f64 {
        self.program.as_nanos() as f64 / self.counted.captured as f64
    }

    /// CPU time of sender, kernel and program per packet that arrived.
    pub fn total_ns(&self) -> f64 {
        (self.sender + self.program).as_nanos() as f64 / self.sent.delivered as f64
    }
}

impl Program {
    pub fn all(tapline: &Path) -> Vec<Self> {
        let own = |name, is_drop_mode| Self {
            name,
            capturer: Capturer::Tapline,
            path: Some(tapline.into()),
            is_drop_mode,
        };
        let peer = |name, capturer| Self {
            name,
            capturer,
            path: tool::find(name),
            is_drop_mode: false,
        };
        vec![
            own("tapline", false),
            own("tapline --mode drop", true),
            peer("tcpdump", Capturer::Tcpdump),
            peer("dumpcap", Capturer::Dumpcap),
            peer("netsniff-ng", Capturer::NetsniffNg),
        ]
    }

    pub fn is_tapline(&self) -> bool {
        self.capturer == Capturer::Tapline
    }

    pub fn is_installed(&self) -> bool {
        self.path.is_some()
    }

    /// Its arguments. netsniff-ng keeps fewer bytes of a packet by a filter in `folder`.
    pub fn arguments(&self, task: &Task<'_>, interface: &str, folder: &Path) -> Vec<String> {
        let Task {
            filter,
            snaplen,
            output,
            packets,
            ..
        } = task;
        let output = output.display();
        let mode = if self.is_drop_mode {
            format!(" --mode drop --xdp native --buffer {DROP_RING_MIB}M")
        } else {
            format!(" --backend packet-v3 --buffer {RING_MIB}M")
        };
        let ring_kib = RING_MIB << 10;
        let line = match self.capturer {
            Capturer::Tapline => {
                format!("capture -i {interface} --json -c {packets}{mode} -w {output}")
            }
            Capturer::Tcpdump => {
                format!("-i {interface} -n -c {packets} -B {ring_kib} -Z root -w {output}")
            }
            Capturer::Dumpcap => {
                format!("-i {interface} -q -c {packets} -B {RING_MIB} -w {output}")
            }
            Capturer::NetsniffNg => format!(
                "--in {interface} --num {packets} --ring-size {RING_MIB}MiB --silent -T 0xa1b23c4d -N -A -Q --out {output}"
            ),
            Capturer::Xdpdump => format!("-i {interface} --load-xdp-program -w {output}"),
        };
        let keep = match (self.capturer, snaplen) {
            (_, None) => String::new(),
            (Capturer::NetsniffNg, Some(bytes)) => {
                let path = folder.join(format!("{bytes}.bpf"));
                let text = format!("{{ 0x6, 0, 0, 0x{bytes:08x} }},\n");
                std::fs::write(&path, text).expect("room for a filter");
                format!(" --filter {}", path.display())
            }
            (_, Some(bytes)) => format!(" -s {bytes}"),
        };
        let mut words: Vec<_> = (line + &keep).split(' ').map(Into::into).collect();
        if let Some(filter) = filter {
            if matches!(self.capturer, Capturer::NetsniffNg | Capturer::Dumpcap) {
                words.push("-f".into());
            }
            words.push((*filter).into());
        }
        words
    }
}

impl Link {
    pub fn build() -> Self {
        let [sender, receiver] = Net::new().pair();
        // With GRO the veth accepts redirected frames, as it does with an XDP program.
        receiver.set_gro(Gro::On);
        Self { sender, receiver }
    }

    pub fn interface(&self) -> String {
        self.receiver.interface().name.to_string()
    }

    /// Runs a program while packets arrive at full speed.
    pub fn run(&self, program: &Program, task: &Task<'_>, folder: &Path) -> Received {
        let path = program.path.as_ref().expect("it is installed");
        let mut command = self
            .receiver
            .command(path.to_str().expect("a path of text"));
        command.args(program.arguments(task, &self.interface(), folder));
        let mut running = on_cpu(READER_CPU, || Running::start(command));
        let printed = program.is_drop_mode.then_some("\"start\"");
        wait_for_capture(&mut running, self.receiver.interface().index.0, printed);
        let before = running.used();
        let (sent, sender) = self.send(task);
        // A program that has captured all packets ends. One that rejects them does not.
        let is_done =
            task.filter.is_none() && running.has_ended(program.capturer.block_timeout() + WORK);
        if !is_done {
            running.interrupt();
        }
        let finished = running.finish();
        let counted = program.capturer.counted(&finished.text);
        let Some(counted) = counted.filter(|_| finished.status.success()) else {
            panic!(
                "{} ended with {}: {}",
                program.name, finished.status, finished.text
            );
        };
        Received {
            sent,
            counted,
            sender,
            program: finished.used.since(before).cpu,
        }
    }

    /// The same without a program.
    pub fn alone(&self, task: &Task<'_>) -> Received {
        let (sent, sender) = self.send(task);
        Received {
            sent,
            counted: Counted {
                captured: 0,
                lost: 0,
            },
            sender,
            program: Duration::ZERO,
        }
    }

    /// Sends the task's packets. Also returns the CPU time of the sender and of the kernel's softirq threads.
    fn send(&self, task: &Task<'_>) -> (Sent, Duration) {
        let out = self.sender.interface().index;
        let options = GeneratorOptions::new(out, udp_frame(task.frame_bytes));
        self.sender.run(|| {
            pin_to_cpu(SENDER_CPU).expect("the sender's CPU");
            let mut generator = Generator::new(options);
            generator.attach_own();
            let used = || thread_time() + softirq_time();
            let before = used();
            let sent = generator.send(task.packets, None);
            (sent, used().saturating_sub(before))
        })
    }
}
