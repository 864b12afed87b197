//! The generator's XDP program and its two roles.
//!
//! On live frames of a test run it is the **sender**. It counts the run, writes the run's number into the frame if
//! requested (8 bytes, big endian) and redirects the frame. The kernel reuses pages without restoring their contents,
//! so the program always writes the whole number.
//!
//! Attached to the peer it is the **receiver**. It counts frames with the sender's Ethernet header and passes all
//! frames. A veth accepts redirected frames only if it has an XDP program. The attached program also makes test runs
//! cheap: for a program that no driver runs, the kernel patches its XDP dispatcher before and after each run
//! (`bpf_prog_change_xdp`), which takes about 25 ms.
//!
//! The ingress interface distinguishes the roles: live frames come from the loopback, which cannot have a native XDP
//! program.

use std::os::fd::AsFd;

use bpf::{
    Condition, Counters, Helper, Insn, Label, Map, Program, ProgramKind, Reg, Size, XdpAttachMode,
    XdpLink,
};
use netlink::IfIndex;

use super::options::GeneratorOptions;

// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const INGRESS_IFINDEX: i16 = 12;

const LOOPBACK_IFINDEX: i32 = 1;
const XDP_PASS: i32 = 2;

const SENDER: Label = Label(0);
const REDIRECT: Label = Label(1);
const PASS: Label = Label(2);

/// The loaded program and its counters.
#[derive(Debug)]
pub(super) struct LiveProgram {
    pub(super) program: Program,
    runs: Map,
    received: Counters<1>,
}

impl LiveProgram {
    #[track_caller]
    pub(super) fn load(options: &GeneratorOptions) -> Self {
        let runs = Map::value("generator_sent", 8).expect("a map for the sender");
        let received = Counters::create("generator_rcvd").expect("a map for the receiver");
        let mut code = vec![
            Insn::load(Size::Word, Reg::R2, Reg::R1, DATA),
            Insn::load(Size::Word, Reg::R3, Reg::R1, DATA_END),
            Insn::load(Size::Word, Reg::R4, Reg::R1, INGRESS_IFINDEX),
            Insn::jump_if32(Condition::Equal, Reg::R4, LOOPBACK_IFINDEX, SENDER),
        ];
        receive(&mut code, &received, &options.frame);
        send(&mut code, &runs, options);
        let program = Program::load(ProgramKind::Xdp, "generator", &code);
        Self {
            program: program.expect("the kernel loads the generator"),
            runs,
            received,
        }
    }

    /// Attaches the program to `peer`, an interface in the calling thread's network namespace, as the receiver.
    #[track_caller]
    pub(super) fn attach(&self, peer: IfIndex) -> XdpLink {
        XdpLink::attach(&self.program, peer.0, XdpAttachMode::Native)
            .expect("the peer accepts an XDP program")
    }

    /// Number of frames that the sender redirected.
    #[track_caller]
    pub(super) fn runs(&self) -> u64 {
        let mut value = [0; 8];
        self.runs.read(&mut value).expect("the sender's count");
        u64::from_ne_bytes(value)
    }

    /// Number of frames that the receiver counted.
    #[track_caller]
    pub(super) fn received(&self) -> u64 {
        let [received] = self.received.read().expect("the receiver's count");
        received
    }
}

/// Emits the receiver's code; `R2` and `R3` are the bounds of the frame.
fn receive<'map>(code: &mut Vec<Insn<'map>>, received: &'map Counters<1>, frame: &[u8]) {
    let header = &frame[..frame.len().min(14)];
    code.extend([
        Insn::mov(Reg::R4, Reg::R2),
        Insn::add(Reg::R4, i32::from(header.len() as u16)),
        Insn::jump_if(Condition::Greater, Reg::R4, Reg::R3, PASS),
    ]);
    for (at, byte) in (0..).zip(header) {
        code.extend([
            Insn::load(Size::Byte, Reg::R5, Reg::R2, at),
            Insn::jump_if32(Condition::NotEqual, Reg::R5, i32::from(*byte), PASS),
        ]);
    }
    code.extend([
        Insn::store(Size::Word, Reg::R10, -4, 0),
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, -4),
        Insn::LoadMap {
            dst: Reg::R1,
            map: received.as_fd(),
        },
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(Condition::Equal, Reg::R0, 0, PASS),
        Insn::mov(Reg::R1, 1),
        Insn::AtomicAdd {
            base: Reg::R0,
            offset: 0,
            src: Reg::R1,
        },
        Insn::Place(PASS),
        Insn::mov(Reg::R0, XDP_PASS),
        Insn::Exit,
    ]);
}

/// Emits the sender's code; `R2` and `R3` are the bounds of the frame.
fn send<'map>(code: &mut Vec<Insn<'map>>, runs: &'map Map, options: &GeneratorOptions) {
    // Only one thread runs the sender, so its counter needs no atomic addition.
    code.extend([
        Insn::Place(SENDER),
        Insn::LoadMapValue {
            dst: Reg::R1,
            map: runs.as_fd(),
        },
        Insn::load(Size::Double, Reg::R4, Reg::R1, 0),
        Insn::mov(Reg::R5, Reg::R4),
        Insn::add(Reg::R5, 1),
        Insn::store(Size::Double, Reg::R1, 0, Reg::R5),
    ]);
    if let Some(at) = options.sequence_at {
        code.extend([
            Insn::add(Reg::R2, i32::from(at)),
            Insn::mov(Reg::R5, Reg::R2),
            Insn::add(Reg::R5, 8),
            Insn::jump_if(Condition::Greater, Reg::R5, Reg::R3, REDIRECT),
            Insn::HostToBe64 { dst: Reg::R4 },
            Insn::store(Size::Double, Reg::R2, 0, Reg::R4),
        ]);
    }
    code.extend([
        Insn::Place(REDIRECT),
        Insn::mov32(Reg::R1, options.out.0.cast_signed()),
        Insn::mov(Reg::R2, 0),
        Insn::Call(Helper::Redirect),
        Insn::Exit,
    ]);
}
