//! The program that verifies, times and counts replies.
//!
//! ```text
//! frame ─▶ our identifier? ─▶ checksums ─▶ tag ─▶ target: address ─▶ window: first? ─▶ counters, histogram ─▶ dropped
//!             └ no: passed                 └ wrong: counted, passed
//! ```

use std::os::fd::BorrowedFd;

use super::code::{
    CONTEXT, Code, DATA, DATA_END, END, ETHERNET, START, XDP_DROP, XDP_PASS, wire16,
};
use super::family::{
    Family, LENGTH, V4, V6, find_end, header_sum, pseudo_header, require_header, sum,
};
use super::layout::{Entries, Total, target};
use super::single;
use super::statistics::{ENTRY, RTT, histogram, record, target_bucket};
use super::tag::tag;
use crate::{Alu, Condition, Helper, Insn, Label, Reg, Size};

// The stack.
/// Number of the target.
const KEY: i16 = -4;
/// Position in the window.
const SLOT: i16 = -8;
/// The words that the tag covers.
const WORDS: [i16; 2] = [-16, -24];
/// The sum of the message; 0 if the header's is wrong.
const SUM: i16 = -32;
// `LENGTH` at -40.
/// Key and first value in the table of errors.
const ERROR: i16 = -64;
const ONE: i16 = -72;
/// When the program began.
const ARRIVED: i16 = -80;

/// The first word of the cookie, once the context is not needed any more. Later probes to a target have greater ones.
const SENT: Reg = Reg::R6;

/// The bucket of the round trip in the histogram of the target, once the packet is not needed any more.
const BUCKET: Reg = START;

/// Times that another CPU may take the same place of the window meanwhile.
const ATTEMPTS: usize = 4;

/// Bytes of an ICMP header, and of the cookie behind it.
const ECHO: i16 = 8;
const COOKIE: i16 = 16;

/// What a program is generated from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program<'m> {
    pub key: [u64; 2],
    pub identifier: u16,
    pub start_ns: u64,
    pub timeout_ns: u64,
    /// Answers after this time are not classified.
    pub window_ns: u64,
    pub entries: Entries,
    /// Numbers in the window of a target; a power of two.
    pub slots: u32,
    pub payload_bytes: u16,
    /// The first bytes of the payload after the cookie, up to 8.
    pub filler: [u8; 8],
    /// The folded sum of all bytes after the cookie.
    pub filler_sum: u16,
    pub targets: BorrowedFd<'m>,
    pub window: BorrowedFd<'m>,
    /// One for each target.
    pub histograms: Option<BorrowedFd<'m>>,
    pub totals: BorrowedFd<'m>,
    pub errors: BorrowedFd<'m>,
}

/// Where packets leave the part of a family.
#[derive(Clone, Copy, Debug)]
struct Exits {
    pass: Label,
    answer: Label,
    error: Label,
    corrupt: Label,
    wrong_source: Label,
    forged: Label,
    cut_short: Label,
    foreign: Label,
    notice: Label,
    stale: Label,
    duplicate: Label,
}

impl<'m> Program<'m> {
    pub fn code(&self) -> Vec<Insn<'m>> {
        let mut code = Code::default();
        let [v4, v6] = [code.label(), code.label()];
        let exits = Exits {
            pass: code.label(),
            answer: code.label(),
            error: code.label(),
            corrupt: code.label(),
            wrong_source: code.label(),
            forged: code.label(),
            cut_short: code.label(),
            foreign: code.label(),
            notice: code.label(),
            stale: code.label(),
            duplicate: code.label(),
        };
        code.extend([
            Insn::mov(CONTEXT, Reg::R1),
            Insn::load(Size::Word, START, CONTEXT, DATA),
            Insn::load(Size::Word, END, CONTEXT, DATA_END),
        ]);
        code.require(V4.icmp + ECHO, exits.pass);
        self.stamp(&mut code, v4, v6, exits.pass);
        code.place(exits.pass);
        code.exit(XDP_PASS);
        code.place(v4);
        self.family(&mut code, &V4, exits);
        if self.has_ipv6() {
            code.place(v6);
            self.family(&mut code, &V6, exits);
        }
        code.place(exits.answer);
        self.answer(&mut code, exits);
        code.place(exits.error);
        self.error(&mut code, exits);
        for (label, total) in [
            (exits.corrupt, Total::Corrupt),
            (exits.duplicate, Total::Duplicate),
            (exits.stale, Total::Stale),
            (exits.wrong_source, Total::WrongSource),
        ] {
            code.place(label);
            self.end(&mut code, total, XDP_DROP);
        }
        for (label, total) in [
            (exits.forged, Total::Forged),
            (exits.cut_short, Total::CutShort),
            (exits.foreign, Total::Foreign),
            (exits.notice, Total::Notices),
        ] {
            code.place(label);
            self.end(&mut code, total, XDP_PASS);
        }
        code.insns
    }

    fn has_ipv6(&self) -> bool {
        self.entries.address_bytes == 16
    }

    /// Reads the clock, and jumps to the part of a packet's family, or to `pass` if it is not ICMP, without a read of the clock.
    /// Everything else comes later: at low rates, its instructions are not in the caches of the CPU.
    fn stamp(&self, code: &mut Code<'m>, v4: Label, v6: Label, pass: Label) {
        let [icmp4, arrived] = [code.label(), code.label()];
        let [is_ipv4, is_ipv6] = [[0x08, 0x00], [0x86, 0xdd]].map(wire16);
        code.extend([
            Insn::load(Size::Half, Reg::R1, START, 12),
            Insn::jump_if32(Condition::Equal, Reg::R1, is_ipv4, icmp4),
        ]);
        if self.has_ipv6() {
            code.extend([Insn::jump_if32(Condition::NotEqual, Reg::R1, is_ipv6, pass)]);
            code.require_byte(ETHERNET + 6, 58, pass);
            code.extend([Insn::Jump { target: arrived }]);
        } else {
            code.extend([Insn::Jump { target: pass }]);
        }
        code.place(icmp4);
        code.require_byte(ETHERNET + 9, 1, pass);
        code.extend([
            Insn::Place(arrived),
            Insn::Call(Helper::KtimeGetNs),
            Insn::store(Size::Double, Reg::R10, ARRIVED, Reg::R0),
            Insn::load(Size::Half, Reg::R1, START, 12),
            Insn::jump_if32(Condition::Equal, Reg::R1, is_ipv4, v4),
        ]);
        if self.has_ipv6() {
            code.extend([Insn::Jump { target: v6 }]);
        }
    }

    /// Finds out what a packet is: continues at `answer` or `error` with the entry of the target.
    fn family(&self, code: &mut Code<'m>, family: &Family, exits: Exits) {
        let [reply, error] = [code.label(), code.label()];
        if family.is_ipv6 {
            code.require(family.icmp + ECHO, exits.pass);
        }
        require_header(code, family, ETHERNET, exits.pass);
        code.extend([
            Insn::load(Size::Byte, Reg::R1, START, family.icmp),
            Insn::jump_if32(Condition::Equal, Reg::R1, family.reply, reply),
        ]);
        for kind in family.errors {
            code.extend([Insn::jump_if32(Condition::Equal, Reg::R1, *kind, error)]);
        }
        code.extend([Insn::Jump { target: exits.pass }, Insn::Place(reply)]);
        self.reply(code, family, exits);
        code.place(error);
        self.quote(code, family, exits);
    }

    fn reply(&self, code: &mut Code<'m>, family: &Family, exits: Exits) {
        let [invalid, damaged] = [code.label(), code.label()];
        let message = self.payload_bytes as i32 + i32::from(ECHO + family.counted);
        self.require_identifier(code, family.icmp, exits.pass);
        code.require_byte(family.icmp + 1, 0, exits.pass);
        let cut_short = exits.cut_short;
        find_end(code, family, ECHO + COOKIE, cut_short, cut_short);
        sum(code, family, family.icmp + ECHO + COOKIE, exits.pass);
        code.extend([Insn::store(Size::Double, Reg::R10, SUM, Reg::R0)]);
        if !family.is_ipv6 {
            let right = code.label();
            header_sum(code);
            code.extend([
                Insn::jump_if(Condition::Equal, Reg::R0, 0xffff, right),
                Insn::store(Size::Double, Reg::R10, SUM, 0),
                Insn::Place(right),
            ]);
        }
        self.verify(code, family.icmp, invalid);
        code.look_up(self.targets, KEY, invalid);
        code.extend([
            Insn::mov(ENTRY, Reg::R0),
            Insn::load(Size::Double, Reg::R1, Reg::R10, SUM),
            Insn::jump_if(Condition::NotEqual, Reg::R1, 0xffff, exits.corrupt),
            Insn::load(Size::Double, Reg::R1, Reg::R10, LENGTH),
            Insn::jump_if(Condition::NotEqual, Reg::R1, message, exits.corrupt),
        ]);
        // Header and cookie with the rest that was sent: another rest has another sum, and so another checksum.
        code.extend([Insn::mov(Reg::R0, i32::from(self.filler_sum))]);
        pseudo_header(code, family);
        code.sum_words(START, family.icmp, (ECHO + COOKIE) / 4);
        code.fold();
        code.extend([Insn::jump_if32(
            Condition::NotEqual,
            Reg::R0,
            0xffff,
            exits.corrupt,
        )]);
        self.require_source(code, family, exits.wrong_source);
        code.extend([
            Insn::Jump {
                target: exits.answer,
            },
            // Without a valid tag, or with a number that no target has.
            Insn::Place(invalid),
            Insn::load(Size::Double, Reg::R1, Reg::R10, SUM),
            Insn::jump_if(Condition::NotEqual, Reg::R1, 0xffff, damaged),
            Insn::load(Size::Double, Reg::R1, Reg::R10, LENGTH),
            Insn::jump_if(Condition::NotEqual, Reg::R1, message, exits.foreign),
        ]);
        self.require_filler(code, family, exits.foreign);
        code.extend([
            Insn::Jump {
                target: exits.forged,
            },
            // A wrong checksum distinguishes a damaged answer from one to another program.
            Insn::Place(damaged),
        ]);
        code.look_up(self.targets, KEY, exits.foreign);
        code.extend([Insn::mov(ENTRY, Reg::R0)]);
        self.require_source(code, family, exits.foreign);
        code.extend([Insn::Jump {
            target: exits.corrupt,
        }]);
    }

    /// An ICMP error that may quote a probe.
    fn quote(&self, code: &mut Code<'m>, family: &Family, exits: Exits) {
        let ip = family.icmp + ECHO;
        let quoted = ip + family.ip_bytes;
        code.require(quoted + ECHO, exits.pass);
        require_header(code, family, ip, exits.pass);
        code.require_byte(quoted, family.request, exits.pass);
        self.require_identifier(code, quoted, exits.pass);
        let least = ECHO + family.ip_bytes + ECHO + COOKIE;
        find_end(code, family, least, exits.notice, exits.pass);
        sum(code, family, quoted + ECHO + COOKIE, exits.pass);
        let require_right = |code: &mut Code<'m>| {
            code.extend([Insn::jump_if(
                Condition::NotEqual,
                Reg::R0,
                0xffff,
                exits.pass,
            )]);
        };
        require_right(code);
        if !family.is_ipv6 {
            header_sum(code);
            require_right(code);
        }
        self.verify(code, quoted, exits.foreign);
        code.look_up(self.targets, KEY, exits.foreign);
        code.extend([Insn::mov(ENTRY, Reg::R0)]);
        // Who says what.
        let (source, words) = family.source;
        let at = 16 - 4 * words;
        code.extend([
            Insn::store(Size::Double, Reg::R10, ERROR, 0),
            Insn::store(Size::Word, Reg::R10, ERROR + 8, wire32_mapped()),
            Insn::store(Size::Word, Reg::R10, ERROR + 16, 0),
        ]);
        for word in (0..words).map(|word| 4 * word) {
            code.extend([
                Insn::load(Size::Word, Reg::R1, START, source + word),
                Insn::store(Size::Word, Reg::R10, ERROR + at + word, Reg::R1),
            ]);
        }
        code.extend([
            Insn::load(Size::Half, Reg::R1, START, family.icmp),
            Insn::store(Size::Half, Reg::R10, ERROR + 16, Reg::R1),
            Insn::Jump {
                target: exits.error,
            },
        ]);
    }

    /// Jumps to `otherwise` unless the echo message at `message` has the identifier of the run. Keeps the time. Clobbers `R0`
    /// to `R5`.
    fn require_identifier(&self, code: &mut Code<'m>, message: i16, otherwise: Label) {
        code.extend([
            Insn::load(Size::Half, Reg::R1, START, message + 4),
            Insn::jump_if32(
                Condition::NotEqual,
                Reg::R1,
                wire16(self.identifier.to_be_bytes()),
                otherwise,
            ),
        ]);
    }

    /// Puts the words of the cookie of the echo message at `message` and its target onto the stack. Jumps to `invalid` if
    /// its tag is wrong.
    fn verify(&self, code: &mut Code<'m>, message: i16, invalid: Label) {
        code.extend([Insn::load(Size::Double, Reg::R1, START, message + ECHO)]);
        code.swap_bytes(Size::Double, Reg::R1);
        code.extend([
            Insn::store(Size::Double, Reg::R10, WORDS[0], Reg::R1),
            Insn::load(Size::Word, Reg::R2, START, message + ECHO + 8),
        ]);
        code.swap_bytes(Size::Word, Reg::R2);
        code.extend([
            Insn::store(Size::Word, Reg::R10, KEY, Reg::R2),
            Insn::alu64(Alu::Lsh, Reg::R2, 32),
            Insn::load(Size::Half, Reg::R1, START, message + 6),
        ]);
        code.swap_bytes(Size::Half, Reg::R1);
        code.extend([
            Insn::alu64(Alu::Or, Reg::R2, Reg::R1),
            Insn::mov32(Reg::R1, (u32::from(self.identifier) << 16).cast_signed()),
            Insn::alu64(Alu::Or, Reg::R2, Reg::R1),
            Insn::store(Size::Double, Reg::R10, WORDS[1], Reg::R2),
        ]);
        tag(code, self.key, WORDS);
        code.extend([Insn::load(Size::Word, Reg::R1, START, message + ECHO + 12)]);
        code.swap_bytes(Size::Word, Reg::R1);
        code.extend([Insn::jump_if32(
            Condition::NotEqual,
            Reg::R0,
            Reg::R1,
            invalid,
        )]);
    }

    /// Jumps to `otherwise` unless the first bytes after the cookie are those of this run.
    fn require_filler(&self, code: &mut Code<'m>, family: &Family, otherwise: Label) {
        let at = family.icmp + ECHO + COOKIE;
        let bytes = self
            .payload_bytes
            .saturating_sub(COOKIE as u16)
            .min(8)
            .cast_signed();
        code.require(at + bytes, otherwise);
        for (offset, byte) in (0..bytes).zip(self.filler) {
            code.require_byte(at + offset, byte.into(), otherwise);
        }
    }

    /// A verified reply of the target in [`ENTRY`].
    fn answer(&self, code: &mut Code<'m>, exits: Exits) {
        let [late, known] = [code.label(), code.label()];
        self.age(code);
        if let Some(histograms) = self.histograms {
            // Each target has one.
            target_bucket(code, histograms, KEY, exits.stale);
            // At low rates, neither the bucket nor the place in the window is in the caches of the CPU. An atomic instruction
            // waits for its memory. A read before it does not, so the CPU fetches both at the same time.
            code.extend([
                Insn::mov(BUCKET, Reg::R0),
                Insn::load(Size::Double, Reg::R1, BUCKET, 0),
            ]);
        }
        self.settle(code, exits);
        code.constant(Reg::R1, self.timeout_ns, Reg::R2);
        if !self.entries.is_single {
            // The target may have a timeout of its own.
            code.extend([
                Insn::load(Size::Word, Reg::R2, ENTRY, target::TIMEOUT),
                Insn::jump_if(Condition::Equal, Reg::R2, 0, known),
                Insn::mov(Reg::R1, Reg::R2),
                Insn::alu64(Alu::Mul, Reg::R1, 1000),
                Insn::Place(known),
            ]);
        }
        code.extend([Insn::jump_if(Condition::Greater, RTT, Reg::R1, late)]);
        if self.entries.is_single {
            single::write(code, self.entries, false);
            histogram(code, self.totals);
        } else {
            record(code, self.totals);
        }
        if self.histograms.is_some() {
            code.count(BUCKET, 0);
        }
        self.end(code, Total::Received, XDP_DROP);
        code.place(late);
        if self.entries.is_single {
            single::write(code, self.entries, true);
        }
        self.end(code, Total::Late, XDP_DROP);
    }

    /// A verified error about a probe to the target in [`ENTRY`].
    fn error(&self, code: &mut Code<'m>, exits: Exits) {
        let [known, counted, full] = [(); 3].map(|()| code.label());
        let address = |code: &mut Code<'m>, register, at: i16| {
            code.extend([
                Insn::mov(register, Reg::R10),
                Insn::add(register, i32::from(at)),
            ]);
        };
        code.extend([Insn::LoadMap {
            dst: Reg::R1,
            map: self.errors,
        }]);
        address(code, Reg::R2, ERROR);
        code.extend([
            Insn::Call(Helper::MapLookupElem),
            Insn::jump_if(Condition::NotEqual, Reg::R0, 0, known),
            Insn::store(Size::Double, Reg::R10, ONE, 1),
            Insn::LoadMap {
                dst: Reg::R1,
                map: self.errors,
            },
        ]);
        address(code, Reg::R2, ERROR);
        address(code, Reg::R3, ONE);
        code.extend([
            Insn::mov(Reg::R4, 0),
            Insn::Call(Helper::MapUpdateElem),
            Insn::jump_if(Condition::Equal, Reg::R0, 0, counted),
            Insn::Jump { target: full },
            Insn::Place(known),
        ]);
        code.count(Reg::R0, 0);
        code.extend([Insn::Jump { target: counted }, Insn::Place(full)]);
        self.total(code, Total::OtherErrors);
        code.place(counted);
        self.age(code);
        self.settle(code, exits);
        if self.entries.is_single {
            single::write_error(code, self.entries, ERROR + 16);
        }
        self.end(code, Total::Errors, XDP_DROP);
    }

    /// `RTT =` the time since the probe of the cookie was sent.
    fn age(&self, code: &mut Code<'m>) {
        let past = code.label();
        code.extend([Insn::load(Size::Double, Reg::R0, Reg::R10, ARRIVED)]);
        code.constant(Reg::R1, self.start_ns, Reg::R2);
        code.extend([
            Insn::alu64(Alu::Sub, Reg::R0, Reg::R1),
            Insn::load(Size::Double, Reg::R1, Reg::R10, WORDS[0]),
            Insn::alu64(Alu::Rsh, Reg::R1, 8),
            Insn::mov(RTT, 0),
            // Clocks of two CPUs may differ.
            Insn::jump_if(Condition::Greater, Reg::R1, Reg::R0, past),
            Insn::mov(RTT, Reg::R0),
            Insn::alu64(Alu::Sub, RTT, Reg::R1),
            Insn::Place(past),
        ]);
    }

    /// Continues if this is the first answer to the probe of the cookie, and it is within the window.
    fn settle(&self, code: &mut Code<'m>, exits: Exits) {
        code.constant(Reg::R1, self.window_ns, Reg::R2);
        code.extend([Insn::jump_if(Condition::Greater, RTT, Reg::R1, exits.stale)]);
        if self.entries.is_single {
            single::settle(code, self.entries, exits.duplicate);
        } else {
            self.settle_in_window(code, exits);
        }
    }

    fn settle_in_window(&self, code: &mut Code<'m>, exits: Exits) {
        let first = code.label();
        code.extend([
            Insn::load(Size::Double, Reg::R2, Reg::R10, WORDS[0]),
            Insn::alu64(Alu::And, Reg::R2, 0xff),
            Insn::alu64(Alu::Lsh, Reg::R2, 16),
            Insn::load(Size::Double, Reg::R1, Reg::R10, WORDS[1]),
            Insn::alu64(Alu::And, Reg::R1, 0xffff),
            Insn::alu64(Alu::Or, Reg::R2, Reg::R1),
            Insn::alu64(Alu::And, Reg::R2, self.slots.cast_signed() - 1),
            Insn::load(Size::Word, Reg::R1, Reg::R10, KEY),
            Insn::alu64(Alu::Mul, Reg::R1, self.slots.cast_signed()),
            Insn::add(Reg::R1, Reg::R2),
            Insn::store(Size::Word, Reg::R10, SLOT, Reg::R1),
        ]);
        code.look_up(self.window, SLOT, exits.stale);
        code.extend([
            Insn::load(Size::Double, SENT, Reg::R10, WORDS[0]),
            Insn::mov(Reg::R1, Reg::R0),
            Insn::load(Size::Double, Reg::R0, Reg::R1, 0),
        ]);
        for _ in 0..ATTEMPTS {
            code.extend([
                Insn::jump_if(Condition::Equal, Reg::R0, SENT, exits.duplicate),
                // A later probe has taken the place.
                Insn::jump_if(Condition::Greater, Reg::R0, SENT, exits.stale),
                Insn::mov(Reg::R2, Reg::R0),
                Insn::AtomicCompareExchange {
                    base: Reg::R1,
                    offset: 0,
                    src: SENT,
                },
                Insn::jump_if(Condition::Equal, Reg::R0, Reg::R2, first),
            ]);
        }
        code.extend([
            Insn::Jump {
                target: exits.stale,
            },
            Insn::Place(first),
        ]);
    }

    /// Jumps to `otherwise` unless the packet comes from the target in [`ENTRY`].
    fn require_source(&self, code: &mut Code<'m>, family: &Family, otherwise: Label) {
        let (source, words) = family.source;
        let at = self.entries.address_bytes - 4 * words;
        if at > 0 {
            code.extend([
                Insn::load(Size::Word, Reg::R1, ENTRY, at - 4),
                Insn::jump_if32(Condition::NotEqual, Reg::R1, wire32_mapped(), otherwise),
            ]);
        }
        for word in (0..words).map(|word| 4 * word) {
            code.extend([
                Insn::load(Size::Word, Reg::R1, START, source + word),
                Insn::load(Size::Word, Reg::R2, ENTRY, at + word),
                Insn::jump_if32(Condition::NotEqual, Reg::R1, Reg::R2, otherwise),
            ]);
        }
    }

    fn total(&self, code: &mut Code<'m>, total: Total) {
        code.extend([Insn::LoadMapValue {
            dst: Reg::R1,
            map: self.totals,
        }]);
        code.count(Reg::R1, total.offset());
    }

    /// Counts the packet, also for the target in [`ENTRY`] if it has one, and ends the program.
    fn end(&self, code: &mut Code<'m>, total: Total, verdict: i32) {
        let at = match total {
            Total::Late => Some(target::LATE),
            Total::Duplicate => Some(target::DUPLICATE),
            Total::Corrupt => Some(target::CORRUPT),
            Total::Errors => Some(target::ERRORS),
            _ => None,
        };
        match at {
            Some(_) if self.entries.is_single => single::count(code, self.entries, total),
            Some(at) => code.count(ENTRY, at),
            None => {}
        }
        self.total(code, total);
        code.exit(verdict);
    }
}

/// The third word of a mapped IPv4 address.
const fn wire32_mapped() -> i32 {
    u32::from_ne_bytes([0, 0, 0xff, 0xff]).cast_signed()
}
