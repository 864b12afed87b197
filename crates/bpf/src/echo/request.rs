//! The program that makes a request of a live frame.
//!
//! ```text
//! record: target, number ─▶ template ─▶ addresses ─▶ redirected to the interface ─▶ stamp, tag ─▶ checksum
//! ```

use std::os::fd::BorrowedFd;

use super::code::{CONTEXT, Code, DATA, DATA_END, IPV4, IPV6, START, XDP_DROP, immediate};
use super::layout::{Entries, hop};
use super::tag::tag;
use crate::live_frames::program as frames;
use crate::{Alu, Condition, Helper, Insn, Label, Reg, Size, Width};

/// Records of one run; a power of two.
pub(super) const RECORDS: usize = 1 << 14;
/// Bytes of a record: target and number, 4 bytes each.
pub(super) const RECORD_BYTES: usize = 8;
pub(super) const MEMORY_BYTES: usize = frames::RECORDS_AT + RECORDS * RECORD_BYTES;

// The stack.
const TARGET: i16 = -8;
const NUMBER: i16 = -4;
const HOP: i16 = -12;
const WORDS: [i16; 2] = [-24, -32];
const VERDICT: i16 = -40;
/// Position of the record; not 0 once the frame has a stamp.
const POSITION: i16 = -48;

/// What a program is generated from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program<'m> {
    pub is_ipv6: bool,
    pub key: [u64; 2],
    pub identifier: u16,
    /// Start of the run on the monotonic clock.
    pub start_ns: u64,
    /// Length of the frame, and of its Ethernet header with a VLAN tag.
    pub bytes: usize,
    pub ethernet: i16,
    /// Sums of the IPv4 header and of the message with its pseudo header, without what differs between requests: addresses,
    /// number and cookie.
    pub sums: [u16; 2],
    pub template: BorrowedFd<'m>,
    pub entries: Entries,
    pub targets: BorrowedFd<'m>,
    pub hops: BorrowedFd<'m>,
    pub memory: BorrowedFd<'m>,
    pub device: BorrowedFd<'m>,
}

impl<'m> Program<'m> {
    pub fn code(&self) -> Vec<Insn<'m>> {
        let mut code = Code::default();
        let drop = code.label();
        self.take_record(&mut code, drop);
        // The template.
        code.extend([
            Insn::mov(Reg::R1, CONTEXT),
            Insn::mov(Reg::R2, 0),
            Insn::LoadMapValue {
                dst: Reg::R3,
                map: self.template,
            },
            Insn::mov(Reg::R4, immediate(self.bytes)),
            Insn::Call(Helper::XdpStoreBytes),
            Insn::jump_if(Condition::NotEqual, Reg::R0, 0, drop),
        ]);
        code.look_up(self.targets, TARGET, drop);
        code.extend([
            Insn::mov(Reg::R8, Reg::R0),
            Insn::load(Size::Word, Reg::R1, Reg::R8, self.entries.hop()),
            Insn::store(Size::Word, Reg::R10, HOP, Reg::R1),
        ]);
        code.look_up(self.hops, HOP, drop);
        code.extend([
            Insn::mov(Reg::R9, Reg::R0),
            Insn::load(Size::Word, START, CONTEXT, DATA),
            Insn::load(Size::Word, Reg::R2, CONTEXT, DATA_END),
            Insn::mov(Reg::R1, START),
            Insn::add(Reg::R1, i32::from(self.icmp() + 24)),
            Insn::jump_if(Condition::Greater, Reg::R1, Reg::R2, drop),
        ]);
        self.write_addresses(&mut code);
        // The stamp comes last, so that as little as possible is between it and the driver.
        self.redirect(&mut code);
        self.write_cookie(&mut code);
        code.extend([
            Insn::load(Size::Double, Reg::R0, Reg::R10, VERDICT),
            Insn::Exit,
        ]);
        code.place(drop);
        code.exit(XDP_DROP);
        code.insns
    }

    fn icmp(&self) -> i16 {
        self.ethernet + if self.is_ipv6 { IPV6 } else { IPV4 }
    }

    /// Copies the next record to the stack. Drops the frame if one before it was refused, so that none overtakes it.
    fn take_record(&self, code: &mut Code<'m>, drop: Label) {
        use frames::{CPU, NEXT, PAGE, RECORDS_AT, REFUSED};
        code.extend([
            Insn::mov(CONTEXT, Reg::R1),
            Insn::LoadMapValue {
                dst: PAGE,
                map: self.memory,
            },
            Insn::load(Size::Double, Reg::R1, PAGE, REFUSED),
            Insn::jump_if(Condition::NotEqual, Reg::R1, 0, drop),
            Insn::Call(Helper::GetSmpProcessorId),
            Insn::store(Size::Double, PAGE, CPU, Reg::R0),
            Insn::load(Size::Double, Reg::R1, PAGE, NEXT),
            Insn::store(Size::Double, Reg::R10, POSITION, Reg::R1),
            Insn::mov(Reg::R2, Reg::R1),
            Insn::alu64(Alu::And, Reg::R2, immediate(RECORDS - 1)),
            Insn::alu64(Alu::Mul, Reg::R2, immediate(RECORD_BYTES)),
            Insn::add(Reg::R2, PAGE),
            Insn::load(
                Size::Double,
                Reg::R3,
                Reg::R2,
                (RECORDS_AT as u16).cast_signed(),
            ),
            Insn::store(Size::Double, Reg::R10, TARGET, Reg::R3),
            Insn::add(Reg::R1, 1),
            Insn::store(Size::Double, PAGE, NEXT, Reg::R1),
        ]);
    }

    fn write_addresses(&self, code: &mut Code<'m>) {
        for (size, at) in [(Size::Word, 0), (Size::Half, 4)] {
            code.extend([
                Insn::load(size, Reg::R1, Reg::R9, at),
                Insn::store(size, START, at, Reg::R1),
            ]);
        }
        // The source is in front of the destination.
        let (target, source, words) = if self.is_ipv6 {
            (0, self.ethernet + 8, 4)
        } else {
            (self.entries.ipv4(), self.ethernet + 12, 1)
        };
        let destination = source + 4 * words;
        for at in (0..words).map(|word| 4 * word) {
            code.extend([
                Insn::load(Size::Word, Reg::R1, Reg::R9, hop::SOURCE + at),
                Insn::store(Size::Word, START, source + at, Reg::R1),
                Insn::load(Size::Word, Reg::R1, Reg::R8, target + at),
                Insn::store(Size::Word, START, destination + at, Reg::R1),
            ]);
        }
        if !self.is_ipv6 {
            code.extend([Insn::mov(Reg::R0, i32::from(self.sums[0]))]);
            code.sum_words(START, source, 2 * words);
            write_checksum(code, self.ethernet + 10);
        }
    }

    /// Chooses the interface to which the frame goes when the program ends. The context is not needed any more.
    fn redirect(&self, code: &mut Code<'m>) {
        const PAGE: Reg = CONTEXT;
        code.extend([Insn::LoadMapValue {
            dst: PAGE,
            map: self.memory,
        }]);
        code.extend(frames::redirect(PAGE, self.device));
        code.extend([Insn::store(Size::Double, Reg::R10, VERDICT, Reg::R0)]);
    }

    /// The sequence number, the cookie with the time of now, and the checksum over both. What does not need the time comes
    /// before it.
    ///
    /// The first frame of a run is stamped twice: after a pause, the instructions behind the stamp are not in the caches of
    /// the CPU the first time.
    fn write_cookie(&self, code: &mut Code<'m>) {
        const TIME: Reg = CONTEXT;
        const NUMBER_HIGH: Reg = Reg::R8;
        // The hop is not needed once the sum is known.
        const SUM: Reg = Reg::R9;
        let icmp = self.icmp();
        let stamp = code.label();
        code.extend([
            Insn::load(Size::Word, Reg::R1, Reg::R10, NUMBER),
            Insn::mov(NUMBER_HIGH, Reg::R1),
            Insn::alu64(Alu::Rsh, NUMBER_HIGH, 16),
            Insn::alu64(Alu::And, NUMBER_HIGH, 0xff),
            // The sequence number.
            Insn::alu64(Alu::And, Reg::R1, 0xffff),
            Insn::load(Size::Word, Reg::R2, Reg::R10, TARGET),
            Insn::alu64(Alu::Lsh, Reg::R2, 32),
            Insn::alu64(Alu::Or, Reg::R2, Reg::R1),
            Insn::mov32(Reg::R3, (u32::from(self.identifier) << 16).cast_signed()),
            Insn::alu64(Alu::Or, Reg::R2, Reg::R3),
            Insn::store(Size::Double, Reg::R10, WORDS[1], Reg::R2),
        ]);
        code.swap_bytes(Size::Half, Reg::R1);
        code.extend([
            Insn::store(Size::Half, START, icmp + 6, Reg::R1),
            Insn::mov(Reg::R0, i32::from(self.sums[1])),
            Insn::add(Reg::R0, Reg::R1),
            Insn::load(Size::Word, Reg::R1, Reg::R10, TARGET),
        ]);
        code.swap_bytes(Size::Word, Reg::R1);
        code.extend([
            Insn::store(Size::Word, START, icmp + 16, Reg::R1),
            Insn::add(Reg::R0, Reg::R1),
        ]);
        if self.is_ipv6 {
            code.sum_words(START, self.ethernet + 24, 4);
            code.extend([
                Insn::load(Size::Half, Reg::R1, Reg::R9, hop::SOURCE_SUM),
                Insn::add(Reg::R0, Reg::R1),
            ]);
        }
        code.extend([Insn::mov(SUM, Reg::R0), Insn::Place(stamp)]);
        code.constant(TIME, self.start_ns, Reg::R2);
        code.extend([
            Insn::Negate {
                width: Width::W64,
                dst: TIME,
            },
            Insn::Call(Helper::KtimeGetNs),
            Insn::add(TIME, Reg::R0),
            Insn::alu64(Alu::Lsh, TIME, 8),
            Insn::alu64(Alu::Or, TIME, NUMBER_HIGH),
            Insn::store(Size::Double, Reg::R10, WORDS[0], TIME),
        ]);
        tag(code, self.key, WORDS);
        code.swap_bytes(Size::Word, Reg::R0);
        code.extend([
            Insn::store(Size::Word, START, icmp + 20, Reg::R0),
            Insn::add(Reg::R0, SUM),
        ]);
        code.swap_bytes(Size::Double, TIME);
        code.extend([
            Insn::store(Size::Double, START, icmp + 8, TIME),
            Insn::mov32(Reg::R1, TIME),
            Insn::add(Reg::R0, Reg::R1),
            Insn::alu64(Alu::Rsh, TIME, 32),
            Insn::add(Reg::R0, TIME),
        ]);
        write_checksum(code, icmp + 2);
        code.extend([
            Insn::load(Size::Double, Reg::R1, Reg::R10, POSITION),
            // From a register: verifiers before Linux 6.3 do not follow other constants on the stack, and would see no end.
            Insn::mov(Reg::R2, 1),
            Insn::store(Size::Double, Reg::R10, POSITION, Reg::R2),
            Insn::jump_if(Condition::Equal, Reg::R1, 0, stamp),
        ]);
    }
}

/// Writes the complement of the sum in `R0` to offset `at` of the frame.
fn write_checksum(code: &mut Code<'_>, at: i16) {
    code.fold();
    code.extend([
        Insn::alu64(Alu::Xor, Reg::R0, 0xffff),
        Insn::store(Size::Half, START, at, Reg::R0),
    ]);
}
