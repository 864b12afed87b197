//! Helpers for this crate's tests: socket pairs to run filters on, and random numbers.

use lab::rerun;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;

use abi::bpf::SockFilter;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use tapline_bpf::socket_filter::{CountingFilter, Direction, TranslateOptions};
use tapline_bpf::{Condition, Insn, Label, Map, Program, ProgramKind, Reg, Size};

/// A datagram socket pair: the receiving end has a filter, which sees the payload as the packet.
pub struct Bed {
    sender: OwnedFd,
    receiver: OwnedFd,
}

impl Bed {
    pub fn new() -> Self {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (sender, receiver) =
            socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None).unwrap();
        Self { sender, receiver }
    }

    /// A pair with the classic program; `None` if the kernel rejects it.
    pub fn classic(filter: &[SockFilter]) -> Option<Self> {
        let bed = Self::new();
        abi::bpf::attach_classic(bed.receiver.as_fd(), filter).ok()?;
        Some(bed)
    }

    /// A pair with the translated program.
    pub fn counting(filter: &CountingFilter) -> Self {
        let bed = Self::new();
        abi::socket::attach_program(bed.receiver.as_fd(), filter.as_fd()).unwrap();
        bed
    }

    /// The bytes of `packet` that pass the filter.
    pub fn pass(&self, packet: &[u8]) -> Option<Vec<u8>> {
        assert_eq!(
            send(&self.sender, packet, SendFlags::empty()),
            Ok(packet.len())
        );
        let mut kept = vec![0; packet.len() + 1];
        match recv(&self.receiver, &mut kept[..], RecvFlags::empty()) {
            Ok((bytes, _)) => {
                kept.truncate(bytes);
                Some(kept)
            }
            Err(rustix::io::Errno::AGAIN) => None,
            Err(error) => panic!("recv: {error}"),
        }
    }
}

/// A tc program that counts packets, all or those of a length, and returns `verdict`.
pub fn counting_tc(counter: &Map, only_bytes: Option<i32>, verdict: i32) -> Program {
    let other = Label(0);
    let mut code = vec![Insn::load(Size::Word, Reg::R3, Reg::R1, 0)];
    if let Some(bytes) = only_bytes {
        code.push(Insn::jump_if(Condition::NotEqual, Reg::R3, bytes, other));
    }
    code.extend([
        Insn::LoadMapValue {
            dst: Reg::R1,
            map: counter.as_fd(),
        },
        Insn::mov(Reg::R2, 1),
        Insn::AtomicAdd {
            base: Reg::R1,
            offset: 0,
            src: Reg::R2,
        },
        Insn::Place(other),
        Insn::mov32(Reg::R0, verdict),
        Insn::Exit,
    ]);
    Program::load(ProgramKind::Tc, "tapline_test", &code).unwrap()
}

pub fn read_counter(counter: &Map) -> u64 {
    let mut bytes = [0; 8];
    counter.read(&mut bytes).unwrap();
    u64::from_ne_bytes(bytes)
}

/// A selection in an XDP program: jumps to `take` if the first byte of a packet is `wanted`, else to `others`.
pub fn first_byte_is(wanted: i32, take: Label, others: Label) -> Vec<Insn<'static>> {
    let short = Label(2);
    vec![
        Insn::mov(Reg::R6, Reg::R1),
        Insn::load(Size::Word, Reg::R2, Reg::R6, 0),
        Insn::load(Size::Word, Reg::R3, Reg::R6, 4),
        Insn::mov(Reg::R4, Reg::R2),
        Insn::add(Reg::R4, 1),
        Insn::jump_if(Condition::Greater, Reg::R4, Reg::R3, short),
        Insn::load(Size::Byte, Reg::R5, Reg::R2, 0),
        Insn::jump_if32(Condition::Equal, Reg::R5, wanted, take),
        Insn::Place(short),
        Insn::Jump { target: others },
    ]
}

pub fn options(snaplen: u32) -> TranslateOptions {
    TranslateOptions {
        snaplen: snaplen.try_into().unwrap(),
        direction: Direction::Both,
        sampling: None,
    }
}

/// Runs every packet through the kernel's classic filter and the translated one. Checks that they pass the same bytes
/// and that the counters agree.
pub fn compare(name: &str, classic: &[SockFilter], packets: &[Vec<u8>]) {
    let counting = CountingFilter::load(classic, &options(u32::MAX))
        .unwrap_or_else(|error| panic!("{name}: {}", whole(&error)));
    let (kernel, ours) = (Bed::classic(classic).expect(name), Bed::counting(&counting));
    let mut accepted = 0;
    for packet in packets {
        let expected = kernel.pass(packet);
        assert_eq!(ours.pass(packet), expected, "{name}: {packet:02x?}");
        accepted += u64::from(expected.is_some());
    }
    let counts = counting.counts().unwrap();
    assert_eq!(
        (counts.offered, counts.accepted),
        (packets.len() as u64, accepted),
        "{name}"
    );
}

/// Formats an error with its whole source chain.
pub fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Compiles `expression` for Ethernet with libpcap, through `tcpdump -ddd`.
pub fn libpcap(expression: &str) -> Vec<SockFilter> {
    let output = Command::new("tcpdump")
        .args(["-y", "EN10MB", "-ddd", expression])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{expression}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .skip(1)
        .map(|line| {
            let numbers: Vec<u32> = line.split(' ').map(|n| n.parse().unwrap()).collect();
            let [code, jt, jf, k] = numbers[..] else {
                panic!("{line}")
            };
            SockFilter {
                code: code as u16,
                jt: jt as u8,
                jf: jf as u8,
                k,
            }
        })
        .collect()
}

/// Marsaglia's xorshift64: the same sequence in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    pub fn below(&mut self, end: u32) -> u32 {
        self.next() % end
    }

    pub fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// Reruns the calling test in a new network namespace. Returns `true` in that second run, which has no access to the
/// machine's network.
pub fn in_own_namespace() -> bool {
    const OUTSIDE: &str = "TAPLINE_TEST_OUTSIDE_NAMESPACE";
    let here = std::fs::read_link("/proc/self/ns/net").unwrap();
    if let Some(outside) = std::env::var_os(OUTSIDE) {
        assert_ne!(
            here,
            std::path::Path::new(&outside),
            "not in a namespace of its own"
        );
        return true;
    }
    let status = Command::new("unshare")
        .arg("--net")
        .arg(rerun::program())
        .args(rerun::arguments())
        .env(OUTSIDE, here)
        .status()
        .unwrap();
    assert!(status.success(), "failed in its namespace");
    false
}

/// Runs ip(8) and returns its output.
pub fn ip(arguments: &str) -> String {
    let output = Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
