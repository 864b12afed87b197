//! The program that answers.
//!
//! It changes the request into the reply in place, as `icmp_echo` and `icmpv6_echo_reply` of the kernel would answer,
//! and transmits it where it came from. The identification of an IPv4 reply is random.

use std::os::fd::BorrowedFd;

use super::code::{
    CONTEXT, Code, DATA, DATA_END, END, ETHERNET, IPV4, IPV6, START, XDP_DROP, XDP_PASS, XDP_TX,
    wire16,
};
use crate::{Alu, Condition, Helper, Insn, Label, Reg, Size};

/// Position of a counter in the map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counter {
    Answered,
    Limited,
    Damaged,
    Passed,
}

/// Number of counters.
pub(super) const COUNTERS: usize = 4;

/// Number of answers that may leave at once after a pause: `tapline ping` sends as many probes at once.
const BURST: i32 = 256;
/// At a low rate they are fewer, those of the second of these times; at a high one more, those of the first.
const BURST_NS: [i32; 2] = [10_000_000, 250_000_000];

/// What a program is generated from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program<'m> {
    /// The interface's own address, in the first six bytes of the value.
    pub mac: BorrowedFd<'m>,
    pub ttl: u8,
    pub hop_limit: u8,
    /// Minimum time between two answers on average; `None` sets no limit.
    pub answer_ns: Option<u32>,
    pub counters: BorrowedFd<'m>,
    /// The time up to which answers have used the limit.
    pub used_until: BorrowedFd<'m>,
    /// Own addresses, IPv4 and IPv6.
    pub local: [BorrowedFd<'m>; 2],
}

/// Where a frame leaves the program.
#[derive(Clone, Copy, Debug)]
struct Exits {
    pass: Label,
    damaged: Label,
    limited: Label,
    answer: Label,
}

const ICMP4: i16 = ETHERNET + IPV4;
const ICMP6: i16 = ETHERNET + IPV6;
/// Bytes of an ICMP echo header.
const ECHO: i16 = 8;

impl<'m> Program<'m> {
    pub fn code(&self) -> Vec<Insn<'m>> {
        let mut code = Code::default();
        let [v4, v6] = [code.label(), code.label()];
        let exits = Exits {
            pass: code.label(),
            damaged: code.label(),
            limited: code.label(),
            answer: code.label(),
        };
        code.extend([
            Insn::mov(CONTEXT, Reg::R1),
            Insn::load(Size::Word, START, CONTEXT, DATA),
            Insn::load(Size::Word, END, CONTEXT, DATA_END),
        ]);
        code.require(ICMP4 + ECHO, exits.pass);
        self.require_own_mac(&mut code, exits.pass);
        code.extend([
            Insn::load(Size::Half, Reg::R1, START, 12),
            Insn::jump_if32(Condition::Equal, Reg::R1, wire16([0x08, 0x00]), v4),
            Insn::jump_if32(Condition::Equal, Reg::R1, wire16([0x86, 0xdd]), v6),
            Insn::Jump { target: exits.pass },
            Insn::Place(v4),
        ]);
        self.ipv4(&mut code, exits);
        code.place(v6);
        self.ipv6(&mut code, exits);
        code.place(exits.answer);
        // Addresses of the Ethernet header.
        code.swap_words(0, 6, 1);
        code.swap(Size::Half, 4, 10);
        self.end(&mut code, Counter::Answered, XDP_TX);
        for (label, counter, verdict) in [
            (exits.limited, Counter::Limited, XDP_DROP),
            (exits.damaged, Counter::Damaged, XDP_PASS),
            (exits.pass, Counter::Passed, XDP_PASS),
        ] {
            code.place(label);
            self.end(&mut code, counter, verdict);
        }
        code.insns
    }

    /// Passes frames to other hosts and to groups, and from groups.
    fn require_own_mac(&self, code: &mut Code<'m>, pass: Label) {
        code.extend([Insn::LoadMapValue {
            dst: Reg::R3,
            map: self.mac,
        }]);
        for (size, at) in [(Size::Word, 0), (Size::Half, 4)] {
            code.extend([
                Insn::load(size, Reg::R1, START, at),
                Insn::load(size, Reg::R2, Reg::R3, at),
                Insn::jump_if32(Condition::NotEqual, Reg::R1, Reg::R2, pass),
            ]);
        }
        code.extend([
            Insn::load(Size::Byte, Reg::R1, START, 6),
            Insn::jump_if32(Condition::AnyBitSet, Reg::R1, 1, pass),
        ]);
    }

    fn ipv4(&self, code: &mut Code<'m>, exits: Exits) {
        const IP: i16 = ETHERNET;
        // No options, no fragment.
        code.require_byte(IP, 0x45, exits.pass);
        code.require_byte(IP + 9, 1, exits.pass);
        code.extend([
            Insn::load(Size::Half, Reg::R1, START, IP + 6),
            Insn::jump_if32(
                Condition::AnyBitSet,
                Reg::R1,
                wire16([0x3f, 0xff]),
                exits.pass,
            ),
        ]);
        code.require_byte(ICMP4, 8, exits.pass);
        code.require_byte(ICMP4 + 1, 0, exits.pass);
        // Sources that the kernel refuses: 0/8, 127/8, groups and above.
        code.extend([
            Insn::load(Size::Byte, Reg::R1, START, IP + 12),
            Insn::jump_if32(Condition::Equal, Reg::R1, 0, exits.pass),
            Insn::jump_if32(Condition::Equal, Reg::R1, 127, exits.pass),
            Insn::jump_if32(Condition::GreaterOrEqual, Reg::R1, 224, exits.pass),
        ]);
        self.require_own_address(code, 0, IP + 16, 1, exits.pass);
        // The end of the message. Verifiers before Linux 6.13 do not know that the swapped length has 16 bits.
        code.extend([
            Insn::load(Size::Half, Reg::R9, START, IP + 2),
            Insn::Be16ToHost { dst: Reg::R9 },
            Insn::alu64(Alu::And, Reg::R9, 0xffff),
            Insn::jump_if(Condition::Less, Reg::R9, i32::from(IPV4 + ECHO), exits.pass),
            Insn::add(Reg::R9, START),
            Insn::add(Reg::R9, i32::from(IP)),
            Insn::jump_if(Condition::Greater, Reg::R9, END, exits.pass),
            // The sum of the header.
            Insn::mov(Reg::R0, 0),
        ]);
        code.sum_words(START, IP, 5);
        code.fold();
        code.extend([
            Insn::jump_if32(Condition::NotEqual, Reg::R0, 0xffff, exits.damaged),
            Insn::mov(Reg::R0, 0),
            Insn::mov(Reg::R1, START),
            Insn::add(Reg::R1, i32::from(ICMP4)),
        ]);
        code.sum_message(exits.pass);
        code.fold();
        code.extend([Insn::jump_if32(
            Condition::NotEqual,
            Reg::R0,
            0xffff,
            exits.damaged,
        )]);
        self.limit(code, exits.limited);
        code.swap_words(IP + 12, IP + 16, 1);
        // Identification, no flags, time to live; the protocol stays.
        code.extend([
            Insn::Call(Helper::GetPrandomU32),
            Insn::store(Size::Half, START, IP + 4, Reg::R0),
            Insn::store(Size::Half, START, IP + 6, 0),
            Insn::store(Size::Byte, START, IP + 8, i32::from(self.ttl)),
            Insn::store(Size::Half, START, IP + 10, 0),
            Insn::mov(Reg::R0, 0),
        ]);
        code.sum_words(START, IP, 5);
        code.fold();
        code.extend([
            Insn::alu64(Alu::Xor, Reg::R0, 0xffff),
            Insn::store(Size::Half, START, IP + 10, Reg::R0),
        ]);
        // Type 8 becomes 0.
        reply(code, ICMP4, 0, wire16([8, 0]));
        code.extend([Insn::Jump {
            target: exits.answer,
        }]);
    }

    fn ipv6(&self, code: &mut Code<'m>, exits: Exits) {
        const IP: i16 = ETHERNET;
        code.require(ICMP6 + ECHO, exits.pass);
        code.extend([
            Insn::load(Size::Byte, Reg::R1, START, IP),
            Insn::alu32(Alu::Rsh, Reg::R1, 4),
            Insn::jump_if32(Condition::NotEqual, Reg::R1, 6, exits.pass),
        ]);
        // No extension headers.
        code.require_byte(IP + 6, 58, exits.pass);
        code.require_byte(ICMP6, 128, exits.pass);
        code.require_byte(ICMP6 + 1, 0, exits.pass);
        // Sources that the kernel refuses: groups, :: and ::1; and mapped IPv4 addresses.
        let source_is_usual = code.label();
        code.extend([
            Insn::load(Size::Byte, Reg::R1, START, IP + 8),
            Insn::jump_if32(Condition::Equal, Reg::R1, 0xff, exits.pass),
            Insn::load(Size::Word, Reg::R1, START, IP + 8),
            Insn::jump_if32(Condition::NotEqual, Reg::R1, 0, source_is_usual),
            Insn::load(Size::Word, Reg::R1, START, IP + 12),
            Insn::jump_if32(Condition::Equal, Reg::R1, 0, exits.pass),
            Insn::Place(source_is_usual),
        ]);
        self.require_own_address(code, 1, IP + 24, 4, exits.pass);
        code.extend([
            Insn::load(Size::Half, Reg::R9, START, IP + 4),
            Insn::mov(Reg::R0, Reg::R9),
            Insn::Be16ToHost { dst: Reg::R9 },
            Insn::alu64(Alu::And, Reg::R9, 0xffff),
            Insn::jump_if(Condition::Less, Reg::R9, i32::from(ECHO), exits.pass),
            Insn::add(Reg::R9, START),
            Insn::add(Reg::R9, i32::from(ICMP6)),
            Insn::jump_if(Condition::Greater, Reg::R9, END, exits.pass),
            // The sum begins with the pseudo header: length, protocol, addresses.
            Insn::add(Reg::R0, wire16([0, 58])),
        ]);
        code.sum_words(START, IP + 8, 8);
        code.extend([
            Insn::mov(Reg::R1, START),
            Insn::add(Reg::R1, i32::from(ICMP6)),
        ]);
        code.sum_message(exits.pass);
        code.fold();
        code.extend([Insn::jump_if32(
            Condition::NotEqual,
            Reg::R0,
            0xffff,
            exits.damaged,
        )]);
        self.limit(code, exits.limited);
        code.swap_words(IP + 8, IP + 24, 4);
        code.extend([Insn::store(
            Size::Byte,
            START,
            IP + 7,
            i32::from(self.hop_limit),
        )]);
        // Type 128 becomes 129: adding the complement of the difference subtracts it.
        reply(code, ICMP6, 129, 0xffff - wire16([1, 0]));
        code.extend([Insn::Jump {
            target: exits.answer,
        }]);
    }

    /// Passes packets to addresses of other hosts.
    fn require_own_address(
        &self,
        code: &mut Code<'m>,
        map: usize,
        at: i16,
        words: i16,
        pass: Label,
    ) {
        let key = -(4 + 4 * words);
        code.extend([Insn::store(
            Size::Word,
            Reg::R10,
            key,
            i32::from(words) * 32,
        )]);
        for word in 0..words {
            code.extend([
                Insn::load(Size::Word, Reg::R1, START, at + 4 * word),
                Insn::store(Size::Word, Reg::R10, key + 4 + 4 * word, Reg::R1),
            ]);
        }
        code.extend([
            Insn::LoadMap {
                dst: Reg::R1,
                map: self.local[map],
            },
            Insn::mov(Reg::R2, Reg::R10),
            Insn::add(Reg::R2, i32::from(key)),
            Insn::Call(Helper::MapLookupElem),
            Insn::jump_if(Condition::Equal, Reg::R0, 0, pass),
        ]);
    }

    /// Jumps to `limited` if the limit is used up. Two CPUs that begin after a pause may both answer.
    fn limit(&self, code: &mut Code<'m>, limited: Label) {
        let Some(answer_ns) = self.answer_ns else {
            // The verifier refuses code that nothing jumps to.
            code.extend([
                Insn::mov32(Reg::R1, 0),
                Insn::jump_if32(Condition::NotEqual, Reg::R1, 0, limited),
            ]);
            return;
        };
        let answer_ns = answer_ns.cast_signed();
        let burst_ns = answer_ns.saturating_mul(BURST);
        let burst_ns = burst_ns.clamp(BURST_NS[0], BURST_NS[1]);
        let is_used = code.label();
        code.extend([
            Insn::Call(Helper::KtimeGetNs),
            Insn::LoadMapValue {
                dst: Reg::R1,
                map: self.used_until,
            },
            Insn::load(Size::Double, Reg::R2, Reg::R1, 0),
            Insn::mov(Reg::R3, Reg::R0),
            Insn::add(Reg::R3, -burst_ns),
            Insn::jump_if(Condition::GreaterOrEqual, Reg::R2, Reg::R3, is_used),
            Insn::store(Size::Double, Reg::R1, 0, Reg::R3),
            Insn::mov(Reg::R2, Reg::R3),
            Insn::Place(is_used),
            Insn::jump_if(Condition::Greater, Reg::R2, Reg::R0, limited),
            Insn::mov(Reg::R3, answer_ns),
            Insn::AtomicAdd {
                base: Reg::R1,
                offset: 0,
                src: Reg::R3,
            },
        ]);
    }

    /// Counts the frame and ends the program.
    fn end(&self, code: &mut Code<'m>, counter: Counter, verdict: i32) {
        let uncounted = code.label();
        let at = 8 * counter as i16;
        code.extend([
            Insn::store(Size::Word, Reg::R10, -4, 0),
            Insn::mov(Reg::R2, Reg::R10),
            Insn::add(Reg::R2, -4),
            Insn::LoadMap {
                dst: Reg::R1,
                map: self.counters,
            },
            Insn::Call(Helper::MapLookupElem),
            Insn::jump_if(Condition::Equal, Reg::R0, 0, uncounted),
            // Only this CPU writes its counters.
            Insn::load(Size::Double, Reg::R1, Reg::R0, at),
            Insn::add(Reg::R1, 1),
            Insn::store(Size::Double, Reg::R0, at, Reg::R1),
            Insn::Place(uncounted),
        ]);
        code.exit(verdict);
    }
}

/// Makes the message at `at` a reply: its type, and `added` to its checksum.
///
/// # Source
/// RFC 1624.
fn reply(code: &mut Code<'_>, at: i16, kind: i32, added: i32) {
    code.extend([
        Insn::store(Size::Byte, START, at, kind),
        Insn::load(Size::Half, Reg::R0, START, at + 2),
        Insn::add(Reg::R0, added),
    ]);
    code.fold();
    code.extend([Insn::store(Size::Half, START, at + 2, Reg::R0)]);
}
