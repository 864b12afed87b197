//! The program of a fanout group that shares packets: it returns the position of the member that gets a packet.
//!
//! A load beyond the end of a packet would end the program with 0, the position of another member. So the program checks
//! the length before each load.

use abi::bpf::SockFilter;
use abi::packet::PACKET_OUTGOING;

use crate::options::FanoutMode;

// Opcodes of classic BPF (linux/bpf_common.h).
const LD_IMM: u16 = 0x00;
const LD_W_ABS: u16 = 0x20;
const LD_LEN: u16 = 0x80;
const LD_W_IND: u16 = 0x40;
const LD_H_IND: u16 = 0x48;
const LD_B_IND: u16 = 0x50;
const LD_MEM: u16 = 0x60;
const LDX_MEM: u16 = 0x61;
const ST: u16 = 0x02;
const TAX: u16 = 0x07;
const ADD_K: u16 = 0x04;
const ADD_X: u16 = 0x0c;
const MUL_K: u16 = 0x24;
const AND_K: u16 = 0x54;
const LSH_K: u16 = 0x64;
const RSH_K: u16 = 0x74;
const MOD_K: u16 = 0x94;
const XOR_X: u16 = 0xac;
const JA: u16 = 0x05;
const JEQ_K: u16 = 0x15;
const JGE_X: u16 = 0x3d;
const JSET_K: u16 = 0x45;
const RET_A: u16 = 0x16;

/// Offsets at which the kernel returns facts about a packet: `SKF_AD_OFF` and the number of the fact (linux/filter.h).
const fn fact(number: u32) -> u32 {
    (-0x1000_i32).cast_unsigned() + number
}
const PROTOCOL: u32 = fact(0);
const PACKET_TYPE: u32 = fact(4);
const QUEUE: u32 = fact(24);
const HASH: u32 = fact(32);
const CPU: u32 = fact(36);
const RANDOM: u32 = fact(56);

const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const VLAN: u32 = 0x8100;
const SERVICE_VLAN: u32 = 0x88a8;

// Scratch memory of the program.
/// Offset of the header that is read.
const AT: u32 = 0;
/// Exclusive or of addresses and ports, which both directions of a flow have in common.
const KEY: u32 = 1;
/// Number of the transport protocol.
const TRANSPORT: u32 = 2;
const SAVED: u32 = 3;

/// A program that returns `base` and the number of a ring, of which there are `rings`. The Ethernet header of a packet that
/// is sent has `header_bytes` bytes.
pub(crate) fn program(
    mode: FanoutMode,
    rings: usize,
    base: usize,
    header_bytes: u32,
) -> Vec<SockFilter> {
    let mut code = Code::default();
    match mode {
        FanoutMode::Queue => code.op(LD_W_ABS, QUEUE),
        FanoutMode::Cpu => code.op(LD_W_ABS, CPU),
        FanoutMode::Random | FanoutMode::RoundRobin => code.op(LD_W_ABS, RANDOM),
        FanoutMode::Hash => code.hash(header_bytes),
    }
    code.op(MOD_K, rings as u32);
    code.op(ADD_K, base as u32);
    code.op(RET_A, 0);
    code.instructions
}

#[derive(Default)]
struct Code {
    instructions: Vec<SockFilter>,
}

/// A jump to a place that is not known yet.
struct Jump(usize);

impl Code {
    fn op(&mut self, code: u16, k: u32) {
        let (jt, jf) = (0, 0);
        self.instructions.push(SockFilter { code, jt, jf, k });
    }

    fn jump(&mut self) -> Jump {
        self.op(JA, 0);
        Jump(self.instructions.len() - 1)
    }

    /// Jumps if the accumulator passes `test`.
    fn jump_if(&mut self, test: u16, k: u32) -> Jump {
        self.op(test, k);
        // Over the jump that follows.
        self.instructions.last_mut().expect("just added").jf = 1;
        self.jump()
    }

    /// Jumps unless the accumulator passes `test`.
    fn jump_unless(&mut self, test: u16, k: u32) -> Jump {
        self.op(test, k);
        self.instructions.last_mut().expect("just added").jt = 1;
        self.jump()
    }

    /// The jumps lead to what follows.
    fn land(&mut self, jumps: impl IntoIterator<Item = Jump>) {
        let here = self.instructions.len();
        for Jump(from) in jumps {
            self.instructions[from].k = (here - from - 1) as u32;
        }
    }

    /// Jumps if the packet has fewer than `bytes` bytes from [`AT`] on. Leaves [`AT`] in the index register.
    fn jump_unless_there_are(&mut self, bytes: u32) -> Jump {
        self.op(LD_MEM, AT);
        self.op(ADD_K, bytes);
        self.op(TAX, 0);
        self.op(LD_LEN, 0);
        let jump = self.jump_unless(JGE_X, 0);
        self.op(LDX_MEM, AT);
        jump
    }

    /// Moves [`AT`] by `bytes` bytes.
    fn advance(&mut self, bytes: u32) {
        self.op(LD_MEM, AT);
        self.op(ADD_K, bytes);
        self.op(ST, AT);
    }

    /// Adds the accumulator to the key. Leaves [`AT`] in the index register.
    fn add_to_key(&mut self) {
        self.op(LDX_MEM, KEY);
        self.op(XOR_X, 0);
        self.op(ST, KEY);
        self.op(LDX_MEM, AT);
    }

    /// Leaves a hash of the flow in the accumulator, the same for both directions: of the addresses, and of the ports unless
    /// the packet is a fragment. Packets of other protocols have the hash of the driver, which may be 0.
    fn hash(&mut self, header_bytes: u32) {
        let mut others = Vec::new();
        self.op(LD_IMM, 0);
        self.op(ST, KEY);
        self.op(ST, AT);
        // A received packet begins with the network header, one that is sent with the link-layer header.
        self.op(LD_W_ABS, PACKET_TYPE);
        let received = self.jump_unless(JEQ_K, PACKET_OUTGOING as u32);
        self.op(LD_IMM, header_bytes);
        self.op(ST, AT);
        self.land([received]);

        self.op(LD_W_ABS, PROTOCOL);
        // The kernel removes the first tag of a received packet, not of one that is sent.
        let mut untagged = Vec::new();
        for _ in 0..2 {
            let tags = [VLAN, SERVICE_VLAN].map(|tag| self.jump_if(JEQ_K, tag));
            untagged.push(self.jump());
            self.land(tags);
            others.push(self.jump_unless_there_are(4));
            self.op(LD_H_IND, 2);
            self.op(ST, SAVED);
            self.advance(4);
            self.op(LD_MEM, SAVED);
        }
        self.land(untagged);

        let is_ipv6 = self.jump_if(JEQ_K, IPV6);
        others.push(self.jump_unless(JEQ_K, IPV4));
        others.push(self.jump_unless_there_are(20));
        for address in [12, 16] {
            self.op(LD_W_IND, address);
            self.add_to_key();
        }
        self.op(LD_B_IND, 9);
        self.op(ST, TRANSPORT);
        self.op(LD_H_IND, 6);
        let fragment = self.jump_if(JSET_K, 0x3fff);
        self.op(LD_B_IND, 0);
        self.op(AND_K, 0x0f);
        self.op(LSH_K, 2);
        self.op(ADD_X, 0);
        self.op(ST, AT);
        let ports = self.jump();

        self.land([is_ipv6]);
        others.push(self.jump_unless_there_are(40));
        for word in (8..40).step_by(4) {
            self.op(LD_W_IND, word);
            self.add_to_key();
        }
        self.op(LD_B_IND, 6);
        self.op(ST, TRANSPORT);
        self.advance(40);
        self.land([ports]);
        let without_ports = self.ports();
        self.land([fragment]);
        self.land(without_ports);

        // The high bits of the product depend on all bits of the key.
        self.op(LD_MEM, KEY);
        self.op(MUL_K, 0x9e37_79b1);
        self.op(RSH_K, 16);
        let done = self.jump();
        self.land(others);
        self.op(LD_W_ABS, HASH);
        self.land([done]);
    }

    /// Adds the ports at [`AT`] to the key. Returns jumps for packets that have none.
    fn ports(&mut self) -> Vec<Jump> {
        const TCP: u32 = 6;
        const UDP: u32 = 17;
        const SCTP: u32 = 132;
        self.op(LD_MEM, TRANSPORT);
        let with_ports = [TCP, UDP, SCTP].map(|number| self.jump_if(JEQ_K, number));
        let other = self.jump();
        self.land(with_ports);
        let short = self.jump_unless_there_are(4);
        for port in [0, 2] {
            self.op(LD_H_IND, port);
            self.add_to_key();
        }
        vec![other, short]
    }
}
