//! The prober and the responder of ICMP echo, connected by a veth pair; all counts are known.

use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::process::Stdio;
use std::time::Duration;

use abi::clock::monotonic_ns;
use lab::kernel::{LIVE_FRAMES, XDP_FRAGMENTS};
use lab::skip::without;
use lab::{Host, Net};
use tapline_bpf::{
    EchoProber, EchoProberOptions, EchoResponder, EchoResponderOptions, EchoTotals, Insn, Program,
    ProgramKind, Reg, XdpAttachMode, XdpLink,
};
use wire::MacAddress;
use wire::build::{Frame, IpFrame};

const IDENTIFIER: u16 = 0xbeef;
const PAYLOAD: [u8; 56] = [0x5a; 56];

/// A host that probes and one that answers.
struct Pair {
    left: Host,
    right: Host,
}

impl Pair {
    fn new() -> Self {
        let [left, right] = Net::new().pair();
        Self { left, right }
    }

    /// A frame from `from` to the other host, up to the IP header.
    fn frame(from: &Host, to: &Host, is_ipv6: bool, vlan: Option<u16>) -> IpFrame {
        let (from, to) = (from.interface(), to.interface());
        let mut frame = Frame::ethernet(MacAddress(from.mac.0), MacAddress(to.mac.0));
        if let Some(vlan) = vlan {
            frame = frame.vlan(vlan);
        }
        if is_ipv6 {
            frame.ipv6(from.v6, to.v6)
        } else {
            frame.ipv4(from.v4, to.v4)
        }
    }

    /// A prober at left with right as its targets: 0 by IPv4, 1 by IPv6.
    fn prober(&self, timeout: Duration) -> EchoProber {
        self.prober_of(timeout, false)
    }

    /// The same; `is_single`: for one probe to each.
    fn prober_of(&self, timeout: Duration, is_single: bool) -> EchoProber {
        self.prober_with(timeout, is_single, None)
    }

    /// The same, with a VLAN tag in the requests.
    fn prober_with(&self, timeout: Duration, is_single: bool, vlan: Option<u16>) -> EchoProber {
        let frame = |is_ipv6| {
            let frame = Self::frame(&self.left, &self.right, is_ipv6, vlan);
            Some(frame.echo_request(IDENTIFIER, 0).payload(&PAYLOAD))
        };
        let options = EchoProberOptions {
            key: [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210],
            identifier: IDENTIFIER,
            start_ns: monotonic_ns(),
            timeout_ns: timeout.as_nanos() as u64,
            window_ns: 60_000_000_000,
            window: 1 << 20,
            targets: 2,
            is_single,
            has_histograms: true,
            hops: 2,
            ipv4: frame(false),
            ipv6: frame(true),
            payload_bytes: PAYLOAD.len() as u16,
            egress: None,
            tag_bytes: if vlan.is_some() { 4 } else { 0 },
            sends: true,
            mode: XdpAttachMode::Native,
        };
        let index = self.left.interface().index.0;
        let prober = self.left.run(|| EchoProber::open(index, &options));
        let mut prober = prober.unwrap_or_else(|error| panic!("{}", crate::support::whole(&error)));
        let (left, right) = (self.left.interface(), self.right.interface());
        prober.set_hop(0, right.mac.0, left.v4.into());
        prober.set_hop(1, right.mac.0, left.v6.into());
        prober.set_target(0, right.v4.into(), Some(0));
        prober.set_target(1, right.v6.into(), Some(1));
        prober
    }

    fn responder(&self) -> EchoResponder {
        let right = *self.right.interface();
        let options = EchoResponderOptions {
            mac: right.mac.0,
            ttl: 64,
            hop_limit: 64,
            rate_pps: None,
            mode: XdpAttachMode::Native,
        };
        let attached = self
            .right
            .run(|| EchoResponder::attach(right.index.0, &options));
        let mut responder = attached.unwrap();
        let local: [(IpAddr, u8); 2] = [(right.v4.into(), 32), (right.v6.into(), 128)];
        responder.set_local(local).unwrap();
        responder
    }
}

/// Sends probes `first..=last` to the target; the driver takes all of them in the end.
fn send(pair: &Pair, prober: &mut EchoProber, target: u32, first: u32, last: u32) {
    let probes: Vec<_> = (first..=last).map(|number| (target, number)).collect();
    let mut rest = &probes[..];
    while !rest.is_empty() {
        let sent = pair.left.run(|| prober.send(target == 1, rest)).unwrap();
        rest = &rest[sent.sent as usize..];
    }
}

/// Waits until the totals are `expected`.
#[track_caller]
fn expect(prober: &EchoProber, expected: EchoTotals) {
    let is_there = || prober.totals() == expected;
    lab::wait::until(&format!("{expected:?}"), is_there);
}

#[test]
fn a_million_probes_are_all_answered_and_counted_once() {
    const PROBES: u32 = 1_000_000;
    let pair = Pair::new();
    let mut prober = pair.prober(Duration::from_mins(1));
    let responder = pair.responder();
    for target in [0, 1] {
        send(&pair, &mut prober, target, 1, PROBES);
    }
    let all = 2 * u64::from(PROBES);
    let mut expected = EchoTotals::default();
    expected.received = all;
    expect(&prober, expected);
    let answered = responder.counts().unwrap();
    assert_eq!((answered.answered, answered.damaged), (all, 0));
    assert_eq!(prober.counters().round_trips().iter().sum::<u64>(), all);
    for target in [0, 1] {
        let found = prober.counters().target(target);
        assert_eq!(found.received, u64::from(PROBES));
        assert!(found.min_ns <= found.last_ns && found.last_ns <= found.max_ns);
        let mean = found.sum_ns / u64::from(PROBES);
        assert!((found.min_ns..=found.max_ns).contains(&mean));
        // The mean of the squares is at least the square of the mean.
        assert!(found.squares / u128::from(PROBES) >= u128::from(mean).pow(2));
    }
}

/// The kernel answers, which the programs do not know.
#[test]
fn the_kernel_answers_the_requests() {
    if without(&LIVE_FRAMES) {
        return;
    }
    let pair = Pair::new();
    let mut prober = pair.prober(Duration::from_mins(1));
    // A veth takes XDP frames only with a program.
    let code = [Insn::mov(Reg::R0, 2), Insn::Exit];
    let pass = Program::load(ProgramKind::Xdp, "tapline_pass", &code).unwrap();
    let index = pair.right.interface().index.0;
    let attach = || XdpLink::attach(&pass, index, XdpAttachMode::Native);
    let _pass = pair.right.run(attach).unwrap();
    for target in [0, 1] {
        send(&pair, &mut prober, target, 1, 300);
    }
    let mut expected = EchoTotals::default();
    expected.received = 600;
    expect(&prober, expected);
}

/// Checksums and tag as tcpdump reads them.
#[test]
fn requests_can_have_a_vlan_tag() {
    if without(&LIVE_FRAMES) {
        return;
    }
    let pair = Pair::new();
    let _responder = pair.responder();
    let mut prober = pair.prober_with(Duration::from_mins(1), false, Some(7));
    let mut tcpdump = pair.right.command("tcpdump");
    tcpdump.args([
        "-i",
        "right0",
        "-nevv",
        "-c",
        "2",
        "--immediate-mode",
        "vlan 7",
    ]);
    let tcpdump = tcpdump.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tcpdump = tcpdump.spawn().expect("tcpdump");
    let mut lines = BufReader::new(tcpdump.stderr.take().expect("a pipe")).lines();
    let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains("listening on")));
    assert!(is_ready);
    for target in [0, 1] {
        send(&pair, &mut prober, target, 5, 5);
    }
    let output = tcpdump.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "vlan 7, p 0, ethertype IPv4",
        "vlan 7, p 0, ethertype IPv6",
        "10.1.0.1 > 10.1.0.2: ICMP echo request, id 48879, seq 5, length 64",
        "fd00:1::1 > fd00:1::2: [icmp6 sum ok] ICMP6, echo request, id 48879, seq 5",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(
        !text.contains("bad cksum") && !text.contains("wrong icmp cksum"),
        "{text}"
    );
}

/// The place of each target has a histogram, counted apart from that of all.
#[test]
fn histograms_of_targets_add_up_and_can_be_reset() {
    if without(&LIVE_FRAMES) {
        return;
    }
    let pair = Pair::new();
    let mut prober = pair.prober(Duration::from_mins(1));
    let _responder = pair.responder();
    for (target, last) in [(0, 300), (1, 700)] {
        send(&pair, &mut prober, target, 1, last);
    }
    let mut expected = EchoTotals::default();
    expected.received = 1000;
    expect(&prober, expected);
    let counters = prober.counters();
    let sums = [0, 1].map(|target| counters.histogram(target).iter().sum::<u64>());
    assert_eq!(sums, [300, 700]);
    counters.reset(1);
    let found = counters.target(1);
    assert_eq!(
        (found.received, found.min_ns, found.max_ns),
        (0, u64::MAX, 0)
    );
    assert_eq!(counters.histogram(1), [0; 216]);
    assert_eq!(counters.target(0).received, 300);
}

/// Numbers of the same place in the window.
#[test]
fn a_target_that_was_silent_for_millions_of_probes_is_heard_again() {
    if without(&LIVE_FRAMES) {
        return;
    }
    let pair = Pair::new();
    let mut prober = pair.prober(Duration::from_mins(1));
    let _responder = pair.responder();
    for number in [1, 1 + (9 << 20), 1 + (15 << 20), 1 + (31 << 20)] {
        send(&pair, &mut prober, 0, number, number);
    }
    let mut expected = EchoTotals::default();
    // The last one is 2²⁴ later than the one before: the same 24 bits, sent at another time.
    expected.received = 4;
    expect(&prober, expected);
}

/// One word holds the answer, instead of counters and a window.
#[test]
fn the_only_probe_to_a_target_is_counted_once() {
    if without(&LIVE_FRAMES) {
        return;
    }
    let pair = Pair::new();
    let mut prober = pair.prober_of(Duration::from_mins(1), true);
    let _responder = pair.responder();
    let mut expected = EchoTotals::default();
    for (target, copies) in [(0, 3), (1, 400)] {
        // Answers to further probes with the same number are duplicates.
        for _ in 0..copies {
            send(&pair, &mut prober, target, 1, 1);
        }
        expected.received += 1;
        expected.duplicate += copies - 1;
        expect(&prober, expected);
    }
    let counters = prober.counters();
    prober.detach();
    drop(prober);
    let [few, many] = [0, 1].map(|target| counters.target(target));
    assert_eq!((few.received, few.duplicate, few.corrupt), (1, 2, 0));
    assert_eq!((few.late, few.errors, many.received), (0, 0, 1));
    // The bits of a target count no further.
    assert_eq!(many.duplicate, 255);
    let rtt = few.min_ns;
    assert!(rtt > 0);
    assert_eq!([few.max_ns, few.last_ns, few.sum_ns], [rtt; 3]);
    assert_eq!(few.squares, u128::from(rtt).pow(2));
}

#[test]
fn late_answers_to_only_probes_have_no_round_trip() {
    if without(&LIVE_FRAMES) {
        return;
    }
    let pair = Pair::new();
    let mut prober = pair.prober_of(Duration::from_nanos(1), true);
    let _responder = pair.responder();
    send(&pair, &mut prober, 0, 1, 1);
    let mut expected = EchoTotals::default();
    expected.late = 1;
    expect(&prober, expected);
    let found = prober.counters().target(0);
    assert_eq!((found.received, found.late, found.sum_ns), (0, 1, 0));
}

/// 65 536 prefixes fit. What was set before the error is known: it is taken back afterwards.
#[test]
fn prefixes_can_be_set_after_there_were_too_many() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    let pair = Pair::new();
    let mut responder = pair.responder();
    let all =
        (0..=1 << 16).map(|number: u32| (IpAddr::from((0x0b00_0000 + number).to_be_bytes()), 32));
    let error = responder.set_local(all).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    let (left, right) = (*pair.left.interface(), *pair.right.interface());
    responder.set_local([(right.v4.into(), 32)]).unwrap();
    let mut prober = pair.prober(Duration::from_mins(1));
    send(&pair, &mut prober, 0, 1, 10);
    let mut expected = EchoTotals::default();
    expected.received = 10;
    expect(&prober, expected);
    responder.set_local([(left.v4.into(), 32)]).unwrap();
    let passed = responder.counts().unwrap().passed;
    send(&pair, &mut prober, 0, 11, 20);
    let is_there = || responder.counts().unwrap().passed == passed + 10;
    lab::wait::until("they are passed on", is_there);
}
