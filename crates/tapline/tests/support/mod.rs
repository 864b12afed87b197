//! Helpers for this crate's tests: captures on test hosts, traffic, and a consumer that reports its calls.

pub mod answering;
pub mod changes;
pub mod count;
pub mod doctor;
pub mod ping;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use lab::generator::{Generator, GeneratorOptions, pin_to_cpu, send_frames, udp_frame};
use lab::skip::Feature;
use lab::{Host, Net, tool, wait};
use ring::{DeliveryMode, PacketRing};
use store::model::Statistics;
use store::write::{CaptureFile, CaptureFileOptions, Output};
use tapline::Packet;
use tapline::capture::{
    Account, Backend, Capture, CaptureError, CaptureOptions, CaptureSummary, Consumer,
    ConsumerError, Expression, FileConsumer, Filter, Mode,
};
use tapline::filter::NoNames;
use tapline::filter::classic::{ClassicProgram, Instruction};
use tapline::{Stop, Stopper};
use tempfile::NamedTempFile;

pub const BACKENDS: [Backend; 2] = [Backend::PacketV2, Backend::PacketV3];

/// Time limit for any step of a test.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// A capture on the first interface of `host` with room for thousands of packets: 32768 in V2, or 2048 blocks in V3,
/// which starts a new block every millisecond.
pub fn options(host: &Host, backend: Backend) -> CaptureOptions {
    CaptureOptions::default()
        .links(vec![host.interface().name.to_string()])
        .backend(backend)
        .snaplen(100)
        .buffer_bytes(8 << 20)
        .delivery(DeliveryMode::Batch {
            min_bytes: 4096,
            timeout: Duration::from_millis(1),
        })
        // A capture that ought to have ended otherwise ends after all.
        .duration(DEADLINE)
}

/// The summary of a finished capture, whether it failed or not.
#[track_caller]
pub fn summary(result: Result<CaptureSummary, CaptureError>) -> CaptureSummary {
    result
        .or_else(CaptureError::into_summary)
        .expect("a capture that ran has a summary")
}

/// Opens a capture on `host`, runs it on a new thread, and `drive` on this one.
#[track_caller]
pub fn run<C: Consumer + Send, T>(
    host: &Host,
    options: CaptureOptions,
    consumer: &mut C,
    drive: impl FnOnce(&Stopper) -> T,
) -> (CaptureSummary, T) {
    let capture = host.run(|| Capture::open(options));
    let capture = capture.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    run_open(capture, consumer, drive)
}

/// Like [`run`], with an open capture.
pub fn run_open<C: Consumer + Send, T>(
    capture: Capture,
    consumer: &mut C,
    drive: impl FnOnce(&Stopper) -> T,
) -> (CaptureSummary, T) {
    let stop = Stop::new().unwrap();
    let guard = EndWithTest(stop.stopper());
    thread::scope(|scope| {
        let running = scope.spawn(|| summary(capture.run_consumer(consumer, &stop)));
        let driven = drive(&guard.0);
        (running.join().unwrap(), driven)
    })
}

/// Ends the capture if the test fails; the test would otherwise hang.
pub struct EndWithTest(pub Stopper);

impl Drop for EndWithTest {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

/// Two hosts, `left` and `right`. The left one sends exact numbers of packets; those that reach the right one are
/// counted.
pub struct Pair {
    pub left: Host,
    pub right: Host,
    witness: Witness,
    generator: Option<Generator>,
    /// Whether the capture has an XDP program, so that the generator needs none at right.
    has_xdp: bool,
}

impl Pair {
    #[track_caller]
    pub fn new() -> Self {
        let [left, right] = Net::new().pair();
        Self {
            witness: Witness::on(&right),
            generator: None,
            has_xdp: false,
            left,
            right,
        }
    }

    /// Opens a capture at right.
    #[track_caller]
    pub fn open(&self, options: CaptureOptions) -> Capture {
        let capture = self.right.run(|| Capture::open(options));
        capture.unwrap_or_else(|error| panic!("{error}: {error:?}"))
    }

    /// Like [`run`], at right.
    #[track_caller]
    pub fn run<C: Consumer + Send>(
        &mut self,
        options: CaptureOptions,
        consumer: &mut C,
        drive: impl FnOnce(&mut Self, &Stopper),
    ) -> CaptureSummary {
        self.has_xdp = options.mode == Mode::Drop || options.backend == Some(Backend::XdpRingbuf);
        let capture = self.open(options);
        run_open(capture, consumer, |stopper| drive(self, stopper)).0
    }

    /// Delivers [`frames`] to right.
    #[track_caller]
    pub fn send(&self, first: u32, count: u32) {
        send(&self.left, &frames(first, count));
    }

    /// Delivers `count` generated frames to right: numbered datagrams of 80 bytes.
    #[track_caller]
    pub fn deliver(&mut self, count: u64) {
        self.deliver_at(count, None);
    }

    #[track_caller]
    pub fn deliver_at(&mut self, count: u64, rate_pps: Option<u64>) {
        let Self { left, right, .. } = self;
        let far = (!self.has_xdp).then_some(&*right);
        let generator = self.generator.get_or_insert_with(|| generator(left, far));
        let sent = left.run(|| generator.deliver(count, rate_pps));
        assert_eq!(sent.delivered, count);
    }

    /// Waits until `count` packets have been offered to the capture.
    #[track_caller]
    pub fn until(&mut self, count: u64) {
        self.witness.until(count);
    }
}

/// Asserts how many packets a capture delivered, filtered and lost, and that they add up to those received.
#[track_caller]
pub fn assert_account(account: &Account, delivered: u64, filtered: u64, lost: u64) {
    let found = (account.delivered, account.filtered, account.lost.total());
    assert_eq!(found, (delivered, Some(filtered), lost), "{account:?}");
    assert_eq!(
        account.received(),
        Some(delivered + filtered + lost),
        "{account:?}"
    );
}

/// A filter without name resolution.
pub fn expression(text: &str) -> Filter {
    Expression::new(text, Arc::new(NoNames)).into()
}

/// A veth receives on the CPU that sends, in that CPU's queue.
pub const TWO_PROCESSORS: Feature = Feature {
    name: "two processors",
    probe: || match thread::available_parallelism() {
        Ok(count) if count.get() >= 2 => Ok(()),
        other => Err(format!("available: {other:?}")),
    },
};

/// Drop mode with a short snap length, which updates its statistics every 5 ms.
pub fn drop_options(host: &Host, buffer_bytes: usize) -> CaptureOptions {
    CaptureOptions::default()
        .links(vec![host.interface().name.to_string()])
        .mode(Mode::Drop)
        .snaplen(96)
        .buffer_bytes(buffer_bytes)
        .duration(DEADLINE)
        .tick(Duration::from_millis(5))
}

/// Path of a program in `examples`, built with the tests or on demand.
pub fn example(name: &str) -> String {
    let test = std::env::current_exe().expect("the path of the test program");
    let target = test.ancestors().nth(2).expect("the folder of the build");
    let program = target.join("examples").join(name);
    if !program.exists() {
        let arguments = ["build", "-p", "tapline", "--examples"];
        let status = Command::new(env!("CARGO")).args(arguments).status();
        assert!(status.expect("cargo runs").success());
    }
    program.to_str().expect("a path in UTF-8").to_owned()
}

/// A consumer that writes what `capture` delivers to `output`, with file options modified by `change`.
pub fn file_consumer(
    capture: &Capture,
    output: Output,
    flush_interval: Duration,
    change: impl FnOnce(&mut CaptureFileOptions),
) -> FileConsumer {
    let mut options = CaptureFileOptions::new(output, capture.interfaces().to_vec());
    options.statistics = capture.statistics_source();
    change(&mut options);
    FileConsumer::new(CaptureFile::create(options, 0).unwrap(), flush_interval)
}

/// The number of packets in a file by capinfos, which must not report an error.
#[track_caller]
pub fn packet_count(path: &Path) -> u64 {
    let mut command = tool::command("capinfos");
    let output = command.arg("-TrcM").arg(path).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, count) = text.trim().rsplit_once('\t').expect("a table");
    count.parse().expect("a number")
}

/// A file with the packets of these files, one after the other, by mergecap: tshark takes long to start.
#[track_caller]
pub fn concatenated<P: AsRef<OsStr>>(paths: &[P]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let mut command = tool::command("mergecap");
    command.args(["-a", "-w"]).arg(file.path()).args(paths);
    assert!(command.status().unwrap().success());
    file
}

/// One field of each packet in a file, by tshark, which must not report an error.
#[track_caller]
pub fn tshark(path: &Path, field: &str) -> Vec<String> {
    let mut command = tool::command("tshark");
    let output = command
        .args(["-n", "-T", "fields", "-e", field, "-r"])
        .arg(path)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let mut complaints = errors
        .lines()
        .filter(|line| !line.contains("Running as user"));
    assert!(
        output.status.success() && complaints.next().is_none(),
        "{errors}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Counts the packets that an interface passes to packet sockets.
///
/// Open it before the capture: the kernel offers packets to the newest socket first (`dev_add_pack`, net/core/dev.c),
/// so the capture has been offered every packet that the witness has counted.
pub struct Witness(PacketRing);

impl Witness {
    #[track_caller]
    pub fn on(host: &Host) -> Self {
        Self::of_link(host, 0)
    }

    #[track_caller]
    pub fn of_link(host: &Host, number: usize) -> Self {
        let options = ring::RingOptions {
            snaplen: 1,
            buffer_bytes: 1,
            ..ring::RingOptions::default()
        };
        let name = host.interfaces()[number].name.to_string();
        Self(host.run(|| PacketRing::open(&name, &options)).unwrap())
    }

    /// Waits until `count` packets have arrived.
    #[track_caller]
    pub fn until(&mut self, count: u64) {
        wait::until_ok(|| match self.count() {
            come if come >= count => Ok(()),
            come => Err(come),
        });
        assert_eq!(self.0.counters().accepted, count);
    }

    /// Number of packets so far.
    pub fn count(&mut self) -> u64 {
        self.0.refresh().unwrap();
        self.0.counters().accepted
    }
}

/// A generator of numbered UDP datagrams of 80 bytes, whose program is also attached to the interface of `right`.
#[track_caller]
pub fn generator<'a>(left: &Host, right: impl Into<Option<&'a Host>>) -> Generator {
    let mut options = GeneratorOptions::new(left.interface().index, udp_frame(80));
    options.sequence_at = Some(lab::generator::SEQUENCE_AT);
    let mut generator = left.run(|| Generator::new(options));
    if let Some(right) = right.into() {
        right.run(|| generator.attach_peer(right.interface().index));
    }
    generator
}

#[track_caller]
pub fn deliver(host: &Host, generator: &mut Generator, count: u64) {
    assert_eq!(host.run(|| generator.deliver(count, None)).delivered, count);
}

/// `count` broadcast frames of a private EtherType, numbered from `first`.
pub fn frames(first: u32, count: u32) -> Vec<Vec<u8>> {
    let one = |number: u32| {
        let mut frame = vec![0xff; 12];
        frame.extend([0x88, 0xb5]);
        frame.extend(number.to_be_bytes());
        frame.resize(60, 0x5a);
        frame
    };
    (first..first + count).map(one).collect()
}

/// The number in a frame of [`frames`].
pub fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[14..18].try_into().unwrap())
}

/// Sends in order, from one CPU: another CPU would use another queue.
#[track_caller]
pub fn send(host: &Host, frames: &[Vec<u8>]) {
    let sent = host.run(|| {
        pin_to_cpu(0).unwrap();
        send_frames(host.interface().index, frames).unwrap()
    });
    assert_eq!(sent, frames.len() as u64);
}

/// `ether proto 0x0800`: the generator's frames, not those of [`frames`].
pub fn ipv4_only() -> Filter {
    program_with(&[])
}

/// The frames of [`frames`], and those of 6000 hosts, which are too many for the kernel: its program passes IPv4, and the reader
/// refuses the generator's frames.
pub fn frames_only_split() -> Filter {
    let hosts = (0..6000_u32).map(|host| {
        // Far from one another, so that no two are a network.
        let [_, a, b, c] = (host * 1601).to_be_bytes();
        format!(" or host 240.{a}.{b}.{c}")
    });
    expression(&format!("ether proto 0x88b5{}", hosts.collect::<String>()))
}

/// Like [`ipv4_only`], with a load that eBPF does not support: the payload offset.
pub fn ipv4_only_untranslatable() -> Filter {
    program_with(&[Instruction::new(0x20, 0xffff_f000 + 52)])
}

fn program_with(start: &[Instruction]) -> Filter {
    let mut code = start.to_vec();
    code.extend([
        Instruction::new(0x28, 12),
        Instruction::jump(0x15, 0x0800, 0, 1),
        Instruction::new(0x06, 262_144),
        Instruction::new(0x06, 0),
    ]);
    ClassicProgram::new(code).unwrap().into()
}

/// Reports of a [`Teller`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The first packet arrived; the consumer now waits to be released.
    Holding,
    /// No packet is waiting.
    Idle,
    /// This many packets are accounted for.
    Received(u64),
}

/// Calls of a consumer other than for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Idle,
    Tick,
    Finish,
}

/// A packet that a [`Teller`] has kept.
pub struct Kept {
    pub interface: u32,
    pub time_ns: u64,
    /// Length on the wire.
    pub len: usize,
    pub queue: Option<u32>,
    pub bytes: Vec<u8>,
}

/// Counts packets and keeps them.
#[derive(Default)]
pub struct Teller {
    pub taken: u64,
    /// Sum of the losses reported with packets.
    pub lost_before: u64,
    pub kept: Vec<Kept>,
    pub ticks: u64,
    pub finished: Option<Vec<Statistics>>,
    /// Number of the packet that is rejected, from 0.
    pub fails_at: Option<u64>,
    /// Which other call fails.
    pub fails_to: Option<Call>,
    /// How many accepted packets it claims to have lost.
    pub loses: u64,
    hold: Option<Receiver<()>>,
    told: Option<Sender<Told>>,
}

impl Teller {
    pub fn new() -> Self {
        Self::default()
    }

    /// The numbers of the kept packets, which must be [`frames`].
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.kept.iter().map(|kept| number(&kept.bytes))
    }

    /// A consumer that reports its calls.
    pub fn telling() -> (Self, Receiver<Told>) {
        let (tell, told) = channel();
        let teller = Self {
            told: Some(tell),
            ..Self::new()
        };
        (teller, told)
    }

    /// Like [`telling`](Self::telling), but stalls on the first packet until it receives `()`.
    pub fn stalling() -> (Self, Sender<()>, Receiver<Told>) {
        let (release, hold) = channel();
        let (mut teller, told) = Self::telling();
        teller.hold = Some(hold);
        (teller, release, told)
    }

    fn fail_if_asked_to(&self, call: Call) -> Result<(), ConsumerError> {
        if self.fails_to == Some(call) {
            return Err(format!("{call:?}, as asked").into());
        }
        Ok(())
    }

    fn tell(&self, what: Told) {
        if let Some(told) = &self.told {
            // A test that has heard enough has gone.
            let _ = told.send(what);
        }
    }
}

/// Waits until the teller reports `what`.
#[track_caller]
pub fn until_reported(told: &Receiver<Told>, what: Told) {
    while told.recv_timeout(DEADLINE).expect("the consumer tells") != what {}
}

/// Waits until `count` packets are accounted for.
#[track_caller]
pub fn until_received(told: &Receiver<Told>, count: u64) {
    loop {
        let what = told.recv_timeout(DEADLINE).expect("the account grows");
        if matches!(what, Told::Received(received) if received >= count) {
            return;
        }
    }
}

impl Consumer for Teller {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        if self.fails_at == Some(self.taken) {
            return Err("as asked".into());
        }
        self.taken += 1;
        self.lost_before += packet.drops_before();
        self.kept.push(Kept {
            interface: packet.record().interface,
            time_ns: packet.time().as_nanos().unwrap(),
            len: packet.len(),
            queue: packet.queue(),
            bytes: packet.data().to_vec(),
        });
        if let Some(hold) = self.hold.take() {
            self.tell(Told::Holding);
            hold.recv_timeout(DEADLINE)?;
        }
        Ok(())
    }

    fn idle(&mut self, _now_ns: u64) -> Result<(), ConsumerError> {
        if self.hold.is_none() {
            self.tell(Told::Idle);
        }
        self.fail_if_asked_to(Call::Idle)
    }

    fn tick(&mut self, _now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        if let Some(received) = account.received() {
            self.tell(Told::Received(received));
        }
        self.ticks += 1;
        self.fail_if_asked_to(Call::Tick)
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        assert!(self.finished.is_none());
        self.finished = Some(statistics.to_vec());
        self.fail_if_asked_to(Call::Finish)
    }

    fn lost(&self) -> u64 {
        self.loses
    }
}
