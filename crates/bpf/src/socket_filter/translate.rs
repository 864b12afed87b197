//! Translates classic BPF to eBPF for a socket.
//!
//! Follows the rules by which the kernel itself runs classic programs (`bpf_convert_filter`, net/core/filter.c), so the
//! verdicts are the same:
//!
//! - A is `R0`, X is `R7`, both 32 bits wide and 0 at the start. The context is in `R6`, where packet loads expect it.
//!   M\[k\] is on the stack.
//! - A load outside the packet and a division by zero return 0.
//! - Properties of the packet are read from the context (`struct __sk_buff`).
//! - Unreachable code is omitted: the verifier refuses it, classic BPF allows it.
//!
//! `R8` is a second scratch register, `R9` the address of this CPU's counters.

use std::num::NonZeroU32;
use std::os::fd::BorrowedFd;

use abi::bpf::SockFilter;

use super::error::TranslateError;
use crate::{
    Condition, Helper, Insn, Label, Reg, Sampler, SamplerLabels, Sampling, Size, SocketPorts,
};

pub(super) const A: Reg = Reg::R0;
pub(super) const X: Reg = Reg::R7;
pub(super) const CONTEXT: Reg = Reg::R6;
pub(super) const SAVED: Reg = Reg::R8;
const COUNTERS: Reg = Reg::R9;

/// Offsets of the counters. The kernel copies them in ascending order, so a packet read as accepted or sampled out was
/// counted as offered before.
const ACCEPTED: i16 = 0;
const SAMPLED_OUT: i16 = 8;
const OFFERED: i16 = 16;
/// Number of counters.
pub(super) const COUNTER_COUNT: usize = 3;

/// The map key and the sampler's stack are below the 16 words of M.
const KEY: i16 = -68;
const SAMPLER_STACK: i16 = -88;
/// Where the code of [`SocketPorts`] keeps a packet's header, before the filter uses M there.
const PORTS_STACK: i16 = -24;

/// Which packets are offered to the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// All packets.
    #[default]
    Both,
    /// Packets that this host sends (`PACKET_OUTGOING`). Others are rejected and not counted.
    Outgoing,
    /// Packets that this host does not send. Others are rejected and not counted.
    Incoming,
}

/// Options for the code around the classic filter.
#[derive(Clone, Copy, Debug)]
pub struct TranslateOptions {
    /// Largest number of bytes kept of an accepted packet.
    pub snaplen: NonZeroU32,
    /// Which packets are offered.
    pub direction: Direction,
    /// Sampling of accepted packets. `None` keeps all.
    pub sampling: Option<Sampling>,
}

/// Translates `classic` and adds counters. `counters` is a per-CPU array whose first value holds three u64: accepted,
/// sampled out, offered. `sampler` follows the filter and replaces the sampling of the options. Packets without one of `ports` are not offered.
///
/// # Errors
/// [`TranslateError`] names the instruction.
pub fn translate<'map>(
    classic: &[SockFilter],
    options: &TranslateOptions,
    counters: BorrowedFd<'map>,
    sampler: Option<&'map Sampler>,
    ports: Option<&'map SocketPorts>,
) -> Result<Vec<Insn<'map>>, TranslateError> {
    if classic.is_empty() {
        return Err(TranslateError::Empty);
    }
    // Labels 0 to n-1 are the positions of the classic instructions.
    let label = |number: usize| Label((classic.len() + number) as u32);
    let mut translation = Translation {
        code: Vec::with_capacity(classic.len() * 2 + 24),
        reached: vec![false; classic.len()],
        verdict: label(0),
        refuse: label(1),
        end: label(2),
        left_out: label(3),
        keep: label(4),
        accepts: false,
    };
    translation.prologue(options.direction, counters, ports, label(5));
    translation.reached[0] = true;
    // Jumps only go forward, so all jumps to an instruction precede it.
    for (at, instruction) in classic.iter().enumerate() {
        if translation.reached[at] {
            translation.code.push(Insn::Place(Label(at as u32)));
            translation.instruction(at, *instruction)?;
        }
    }
    translation.epilogue(options.snaplen, sampler);
    Ok(translation.code)
}

pub(super) struct Translation<'map> {
    code: Vec<Insn<'map>>,
    /// Which classic instructions are reachable.
    pub(super) reached: Vec<bool>,
    /// Label of returns, with the value in A.
    pub(super) verdict: Label,
    /// Label that returns 0.
    pub(super) refuse: Label,
    /// Label that returns R0.
    end: Label,
    /// Label that counts sampled-out packets and returns 0.
    left_out: Label,
    /// Label within the sampler.
    keep: Label,
    /// Whether anything jumps to `verdict`.
    pub(super) accepts: bool,
}

impl<'map> Translation<'map> {
    pub(super) fn push(&mut self, insn: Insn<'map>) {
        self.code.push(insn);
    }

    fn prologue(
        &mut self,
        direction: Direction,
        counters: BorrowedFd<'map>,
        ports: Option<&'map SocketPorts>,
        own: Label,
    ) {
        const PACKET_OUTGOING: i32 = 4;
        // Offset in `struct __sk_buff`.
        const PKT_TYPE: i16 = 4;
        self.push(Insn::mov(CONTEXT, Reg::R1));
        let is_other = match direction {
            Direction::Both => None,
            Direction::Outgoing => Some(Condition::NotEqual),
            Direction::Incoming => Some(Condition::Equal),
        };
        if let Some(is_other) = is_other {
            self.push(Insn::load(Size::Word, Reg::R1, CONTEXT, PKT_TYPE));
            let other = self.refuse;
            self.push(Insn::jump_if32(is_other, Reg::R1, PACKET_OUTGOING, other));
        }
        if let Some(ports) = ports {
            self.code.extend(ports.code(PORTS_STACK, own, self.refuse));
        }
        self.push(Insn::store(Size::Word, Reg::R10, KEY, 0));
        self.push(Insn::mov(Reg::R2, Reg::R10));
        self.push(Insn::add(Reg::R2, i32::from(KEY)));
        self.push(Insn::LoadMap {
            dst: Reg::R1,
            map: counters,
        });
        self.push(Insn::Call(Helper::MapLookupElem));
        // Key 0 always exists, but the verifier requires the check.
        self.push(Insn::jump_if(Condition::Equal, Reg::R0, 0, self.refuse));
        self.push(Insn::mov(COUNTERS, Reg::R0));
        self.count(OFFERED);
        self.push(Insn::mov32(A, 0));
        self.push(Insn::mov32(X, 0));
    }

    /// Adds 1 to a per-CPU counter. The addition is atomic because another task on the same CPU may preempt a sending task
    /// here (local sockets, PREEMPT_RT).
    fn count(&mut self, counter: i16) {
        self.push(Insn::mov(Reg::R1, 1));
        self.push(Insn::AtomicAdd {
            base: COUNTERS,
            offset: counter,
            src: Reg::R1,
        });
    }

    fn epilogue(&mut self, snaplen: NonZeroU32, sampler: Option<&'map Sampler>) {
        if self.accepts {
            let snaplen = snaplen.get().cast_signed();
            self.push(Insn::Place(self.verdict));
            self.push(Insn::jump_if32(Condition::Equal, A, 0, self.refuse));
            if let Some(sampler) = sampler {
                self.sample(sampler);
            }
            self.count(ACCEPTED);
            self.push(Insn::jump_if32(
                Condition::LessOrEqual,
                A,
                snaplen,
                self.end,
            ));
            self.push(Insn::mov32(A, snaplen));
            self.push(Insn::Place(self.end));
            self.push(Insn::Exit);
            if sampler.is_some() {
                self.push(Insn::Place(self.left_out));
                self.count(SAMPLED_OUT);
            }
        }
        self.push(Insn::Place(self.refuse));
        self.push(Insn::mov32(A, 0));
        self.push(Insn::Exit);
    }

    /// Continues with A unchanged for packets that sampling keeps.
    fn sample(&mut self, sampler: &'map Sampler) {
        self.push(Insn::mov(SAVED, A));
        self.code.extend(sampler.code(SamplerLabels {
            left_out: self.left_out,
            own: self.keep,
            stack: SAMPLER_STACK,
        }));
        self.push(Insn::mov(A, SAVED));
    }
}
