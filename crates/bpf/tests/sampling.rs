//! Sampling in programs of each kind, with known numbers of packets on known CPUs.

use std::net::{Ipv4Addr, UdpSocket};
use std::num::NonZeroU32;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use crate::support::{Bed, libpcap, options};
use abi::bpf::TestRun;
use lab::generator::{pin_to_cpu, send_frames, udp_frame};
use lab::{Host, Net};
use tapline_bpf::socket_filter::{CountingFilter, FilterCounters, TranslateOptions};
use tapline_bpf::{
    Counters, Helper, Insn, Label, Probability, Program, ProgramKind, Reg, Sampler, SamplerLabels,
    Sampling, Size, TcHook, TcLink, XdpAttachMode, XdpLink,
};

const LEFT_OUT: Label = Label(0);
const OWN: Label = Label(1);

fn one_in(n: u32) -> Sampling {
    Sampling::OneIn(NonZeroU32::new(n).unwrap())
}

fn with_chance(p: f64) -> Sampling {
    Sampling::Probability(Probability::new(p).unwrap())
}

/// A program that counts sampled packets and passes all packets.
fn program(kind: ProgramKind, sampler: &Sampler, kept: &Counters<1>) -> Program {
    let verdict = if kind == ProgramKind::Tc { -1 } else { 2 };
    let mut code = vec![Insn::mov(Reg::R6, Reg::R1)];
    code.extend(sampler.code(SamplerLabels {
        left_out: LEFT_OUT,
        own: OWN,
        stack: -16,
    }));
    code.extend([
        Insn::store(Size::Word, Reg::R10, -4, 0),
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, -4),
        Insn::LoadMap {
            dst: Reg::R1,
            map: kept.as_fd(),
        },
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(tapline_bpf::Condition::Equal, Reg::R0, 0, LEFT_OUT),
        Insn::mov(Reg::R1, 1),
        Insn::AtomicAdd {
            base: Reg::R0,
            offset: 0,
            src: Reg::R1,
        },
        Insn::Place(LEFT_OUT),
        Insn::mov32(Reg::R0, verdict),
        Insn::Exit,
    ]);
    Program::load(kind, "tapline_test", &code).unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// How many of `count` packets, run on `cpu`, a new sampler keeps.
fn kept_of(sampling: Sampling, shows: &[(usize, u32)]) -> u64 {
    let sampler = Sampler::create("tapline_test", sampling).unwrap();
    let kept = Counters::create("tapline_test").unwrap();
    let program = program(ProgramKind::Xdp, &sampler, &kept);
    for &(cpu, repeat) in shows {
        pin_to_cpu(cpu).unwrap();
        let run = TestRun {
            data: &[0; 64],
            repeat,
            ..TestRun::default()
        };
        program.test_run(&run, &mut []).unwrap();
    }
    kept.read().unwrap()[0]
}

#[test]
fn one_in_n_is_exact_on_each_cpu() {
    for (n, count) in [(1, 1000), (2, 1000), (7, 1000), (100, 1000), (1000, 999)] {
        let of_one = u64::from(count).div_ceil(n.into());
        assert_eq!(kept_of(one_in(n), &[(0, count)]), of_one, "1/{n}");
        let shows = [(0, count), (1, count), (0, n), (1, n)];
        assert_eq!(kept_of(one_in(n), &shows), 2 * (of_one + 1), "1/{n}");
    }
    assert_eq!(kept_of(one_in(u32::MAX), &[(0, 1000), (1, 10)]), 2);
}

#[test]
fn chance_keeps_its_share_within_six_deviations() {
    // Beyond 6 standard deviations are 2 of a billion runs.
    const SHOWN: u32 = 1_000_000;
    for p in [0.5, 0.1, 0.01] {
        let kept = kept_of(with_chance(p), &[(0, SHOWN)]) as f64;
        let mean = f64::from(SHOWN) * p;
        let deviation = (mean * (1.0 - p)).sqrt();
        assert!((kept - mean).abs() <= 6.0 * deviation, "p={p}: {kept}");
    }
    assert_eq!(kept_of(with_chance(1.0), &[(0, 10_000)]), 10_000);
    // One is kept in 4 billion.
    assert!(kept_of(with_chance(Probability::LEAST), &[(0, 10_000)]) <= 1);
}

#[test]
fn the_first_after_a_time_is_one_a_cpu_or_all() {
    let first = |time| Sampling::FirstAfter(time);
    let shows = [(0, 1000), (1, 1000), (0, 1000)];
    for long in [Duration::from_hours(1), Duration::MAX] {
        assert_eq!(kept_of(first(long), &shows), 2, "{long:?}");
    }
    assert_eq!(kept_of(first(Duration::ZERO), &shows), 3000);
}

#[test]
fn a_socket_filter_samples_what_it_accepts_and_counts_the_rest() {
    pin_to_cpu(0).unwrap();
    let [wanted, other] = [[0, 1, 2, 3], [9, 1, 2, 3]];
    let classic = libpcap("ether[0] = 0");
    for (sampling, expected) in [
        (one_in(10), 30),
        (Sampling::FirstAfter(Duration::from_hours(1)), 1),
        (with_chance(1.0), 300),
    ] {
        let sampled = TranslateOptions {
            sampling: Some(sampling),
            ..options(3)
        };
        let filter = CountingFilter::load(&classic, &sampled).unwrap();
        let bed = Bed::counting(&filter);
        let mut arrived = 0;
        for _ in 0..300 {
            assert_eq!(bed.pass(&other), None);
            if let Some(bytes) = bed.pass(&wanted) {
                assert_eq!(bytes, wanted[..3], "cut at the snaplen");
                arrived += 1;
            }
        }
        assert_eq!(arrived, expected, "{sampling}");
        let FilterCounters {
            offered,
            accepted,
            sampled_out,
        } = filter.counts().unwrap();
        assert_eq!((offered, accepted), (600, expected), "{sampling}");
        assert_eq!(sampled_out, 300 - expected, "{sampling}");
    }
}

#[test]
fn a_filter_that_refuses_all_has_nothing_to_sample() {
    let sampled = TranslateOptions {
        sampling: Some(one_in(2)),
        ..options(3)
    };
    let nothing = [abi::bpf::SockFilter {
        code: 6,
        ..abi::bpf::SockFilter::default()
    }];
    let filter = CountingFilter::load(&nothing, &sampled).unwrap();
    assert_eq!(Bed::counting(&filter).pass(&[1]), None);
    let counts = filter.counts().unwrap();
    assert_eq!((counts.offered, counts.sampled_out), (1, 0));
}

/// Packets from one CPU, to a program on ingress and one on egress.
#[test]
fn xdp_and_tc_programs_sample_real_packets() {
    const SENT: usize = 1003;
    let [left, right] = Net::new().pair();
    let samplers = [one_in(100), one_in(10), one_in(4)]
        .map(|sampling| Sampler::create("tapline_test", sampling).unwrap());
    let kept = [(); 3].map(|()| Counters::create("tapline_test").unwrap());
    let load = |kind, at: usize| program(kind, &samplers[at], &kept[at]);
    let (xdp, ingress, egress) = (
        load(ProgramKind::Xdp, 0),
        load(ProgramKind::Tc, 1),
        load(ProgramKind::Tc, 2),
    );
    let index = |host: &Host| host.interface().index.0;
    let _xdp = right.run(|| XdpLink::attach(&xdp, index(&right), XdpAttachMode::Generic).unwrap());
    let _in = right.run(|| TcLink::attach(&ingress, index(&right), TcHook::Ingress).unwrap());
    let _out = left.run(|| TcLink::attach(&egress, index(&left), TcHook::Egress).unwrap());
    let last = right.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 7099)).unwrap());
    last.set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    left.run(|| {
        pin_to_cpu(0).unwrap();
        let socket: OwnedFd = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap().into();
        send_frames(left.interface().index, vec![udp_frame(100); SENT - 1]).unwrap();
        let to = (right.interface().v4, 7099);
        UdpSocket::from(socket).send_to(b"last", to).unwrap();
    });
    last.recv(&mut [0; 9]).unwrap();
    let kept = kept.each_ref().map(|kept| kept.read().unwrap()[0]);
    assert_eq!(kept, [11, 101, 251]);
}
