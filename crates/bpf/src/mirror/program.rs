//! The mirroring program.
//!
//! ```text
//! choice ─▶ header and bytes into the CPU's scratch ─▶ its ring buffer ─▶ count ─▶ XDP_PASS
//!    └ unwanted ─▶ count ─▶ XDP_PASS                      └ no room ─▶ count ─▶ XDP_PASS
//! ```
//!
//! The record is put together in memory of the CPU's own and then copied into the buffer in one go, as
//! long as it is: a record reserved in the buffer has a constant length.

use std::mem::offset_of;
use std::os::fd::BorrowedFd;

use abi::ring_buffer::{MIRRORED_BYTES, Mirrored};

use super::MirrorOptions;
use crate::choice::{CONTEXT, Choice, Unwanted};
use crate::{Condition, Helper, Insn, Label, Reg, Sampler, Size};

/// Number of counters.
pub(super) const COUNTERS: usize = 4;

// A CPU's state: its counters, 8 bytes each, and a record, which is a `Mirrored` and a packet's bytes.
const MIRRORED: i16 = 0;
const OTHER: i16 = 8;
const LOST: i16 = 16;
const SAMPLED_OUT: i16 = 24;
const RECORD: i16 = 32;
const MONOTONIC_AT: i16 = RECORD;
const LOST_AT: i16 = RECORD + 8;
const LENGTH_AT: i16 = RECORD + 16;
const QUEUE_AT: i16 = RECORD + 20;
const BYTES: i16 = RECORD + HEADER_BYTES;

/// Bytes in front of the packet's.
const HEADER_BYTES: i16 = 24;
const _: () = assert!(RECORD as usize == 8 * COUNTERS);
const _: () = assert!(HEADER_BYTES as usize == MIRRORED_BYTES);
const _: () = assert!(offset_of!(Mirrored, monotonic_ns) == 0);
const _: () = assert!(offset_of!(Mirrored, lost) == 8);
const _: () = assert!(offset_of!(Mirrored, original_len) == 16);
const _: () = assert!(offset_of!(Mirrored, queue) == 20);

// Displacement in `struct xdp_md`.
const RX_QUEUE_INDEX: i16 = 16;

const XDP_PASS: i32 = 2;

/// Survive calls, as the context does: the bytes to be copied, the buffer, and the CPU's state.
const KEPT: Reg = Reg::R7;
const BUFFER: Reg = Reg::R8;
const STATE: Reg = Reg::R9;

// Labels that no code before this has.
const WHOLE: Label = Label(u32::MAX);
const NO_ROOM: Label = Label(u32::MAX - 1);
const END: Label = Label(u32::MAX - 2);

/// Below the key of a map.
const SAMPLER_STACK: i16 = -24;

/// Bytes of a record.
pub(super) fn record_bytes(snaplen: u32) -> u32 {
    MIRRORED_BYTES as u32 + snaplen
}

/// What the program looks into.
#[derive(Clone, Copy)]
pub(super) struct Maps<'m> {
    pub buffers: BorrowedFd<'m>,
    pub state: BorrowedFd<'m>,
    pub sampler: Option<&'m Sampler>,
}

pub(super) fn code<'m>(options: &MirrorOptions<'m>, maps: Maps<'m>) -> Vec<Insn<'m>> {
    let choice = Choice {
        select: options.select,
        sampler: maps.sampler,
        stack: SAMPLER_STACK,
    };
    let mut code = choice.code(|code, unwanted| {
        find_state(code, maps.state);
        let counter = match unwanted {
            Unwanted::Other => OTHER,
            Unwanted::SampledOut => SAMPLED_OUT,
        };
        count(code, counter);
        code.push(Insn::Jump { target: END });
    });
    find_state(&mut code, maps.state);
    put_together(&mut code, options.snaplen);
    find_buffer(&mut code, maps.buffers);
    code.extend([
        Insn::mov(Reg::R1, BUFFER),
        Insn::mov(Reg::R2, STATE),
        Insn::add(Reg::R2, i32::from(RECORD)),
        Insn::mov(Reg::R3, KEPT),
        Insn::add(Reg::R3, i32::from(HEADER_BYTES)),
        // No flags: a record wakes the reader if that has released all before it.
        Insn::mov(Reg::R4, 0),
        Insn::Call(Helper::RingbufOutput),
        Insn::jump_if(Condition::NotEqual, Reg::R0, 0, NO_ROOM),
    ]);
    count(&mut code, MIRRORED);
    code.extend([Insn::Jump { target: END }, Insn::Place(NO_ROOM)]);
    count(&mut code, LOST);
    code.extend([Insn::Place(END), Insn::mov32(Reg::R0, XDP_PASS), Insn::Exit]);
    code
}

/// `STATE` is this CPU's own, which nothing else uses while the program runs.
fn find_state<'m>(code: &mut Vec<Insn<'m>>, state: BorrowedFd<'m>) {
    code.extend([
        Insn::store(Size::Word, Reg::R10, -4, 0),
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, -4),
        Insn::LoadMap {
            dst: Reg::R1,
            map: state,
        },
        Insn::Call(Helper::MapLookupElem),
        // Never so, but the verifier asks.
        Insn::jump_if(Condition::Equal, Reg::R0, 0, END),
        Insn::mov(STATE, Reg::R0),
    ]);
}

/// Writes the record; `KEPT` is how many bytes of the packet it has.
fn put_together(code: &mut Vec<Insn<'_>>, snaplen: u32) {
    let snaplen = snaplen.cast_signed();
    code.extend([
        Insn::Call(Helper::KtimeGetNs),
        Insn::store(Size::Double, STATE, MONOTONIC_AT, Reg::R0),
        Insn::load(Size::Double, Reg::R1, STATE, LOST),
        Insn::store(Size::Double, STATE, LOST_AT, Reg::R1),
        Insn::load(Size::Word, Reg::R1, CONTEXT, RX_QUEUE_INDEX),
        Insn::store(Size::Half, STATE, QUEUE_AT, Reg::R1),
        Insn::mov(Reg::R1, CONTEXT),
        Insn::Call(Helper::XdpGetBuffLen),
        Insn::store(Size::Word, STATE, LENGTH_AT, Reg::R0),
        Insn::mov(KEPT, Reg::R0),
        Insn::jump_if(Condition::LessOrEqual, KEPT, snaplen, WHOLE),
        Insn::mov(KEPT, snaplen),
        Insn::Place(WHOLE),
        // No packet is empty, but the verifier asks.
        Insn::jump_if(Condition::Less, KEPT, 1, NO_ROOM),
        Insn::mov(Reg::R1, CONTEXT),
        Insn::mov(Reg::R2, 0),
        Insn::mov(Reg::R3, STATE),
        Insn::add(Reg::R3, i32::from(BYTES)),
        Insn::mov(Reg::R4, KEPT),
        Insn::Call(Helper::XdpLoadBytes),
        Insn::jump_if(Condition::NotEqual, Reg::R0, 0, NO_ROOM),
    ]);
}

/// `BUFFER` is this CPU's.
fn find_buffer<'m>(code: &mut Vec<Insn<'m>>, buffers: BorrowedFd<'m>) {
    code.extend([
        Insn::Call(Helper::GetSmpProcessorId),
        Insn::store(Size::Word, Reg::R10, -4, Reg::R0),
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, -4),
        Insn::LoadMap {
            dst: Reg::R1,
            map: buffers,
        },
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(Condition::Equal, Reg::R0, 0, NO_ROOM),
        Insn::mov(BUFFER, Reg::R0),
    ]);
}

/// Adds 1 to a counter. A CPU runs one such program at a time, so its own counters need no indivisible
/// addition.
fn count(code: &mut Vec<Insn<'_>>, counter: i16) {
    code.extend([
        Insn::load(Size::Double, Reg::R1, STATE, counter),
        Insn::add(Reg::R1, 1),
        Insn::store(Size::Double, STATE, counter, Reg::R1),
    ]);
}
