//! The program that copies packets into ring buffers.
//!
//! ```text
//! select ─▶ header (metadata of the device) and bytes into the CPU's scratch memory ─▶ its ring buffer ─▶ count ─▶ XDP_PASS
//!    └ rejected ─▶ count ─▶ XDP_PASS                              └ full ─▶ count ─▶ XDP_PASS
//! ```
//!
//! The program assembles the record in per-CPU memory and then copies it into the buffer in one call, because a reserved
//! record would need a constant length.

use std::mem::offset_of;
use std::os::fd::BorrowedFd;

use wire::record::{RECORD_HEADER_BYTES, RecordHeader};

use super::RingBufferProgramOptions;
use crate::capture::metadata::{self, Functions};
use crate::capture::select::{self, CONTEXT, Rejected};

use crate::{Condition, Helper, Insn, Label, Reg, Sampler, Size};

/// Number of counters.
pub(super) const COUNTERS: usize = 4;

// Per-CPU state: the counters, 8 bytes each, and one record (a `RecordHeader` and a packet's bytes).
const MIRRORED: i16 = 0;
const UNMATCHED: i16 = 8;
const LOST: i16 = 16;
const SAMPLED_OUT: i16 = 24;
const RECORD: i16 = 32;
const MONOTONIC_AT: i16 = RECORD;
const LOST_AT: i16 = RECORD + 8;
const LENGTH_AT: i16 = RECORD + 16;
const QUEUE_AT: i16 = RECORD + 20;
/// Stack offset of what follows the header: the device's metadata of the packet, or else its bytes.
const AFTER_HEADER: i16 = RECORD + HEADER_BYTES;

/// Bytes of the record's header.
const HEADER_BYTES: i16 = 24;
const _: () = assert!(RECORD as usize == 8 * COUNTERS);
const _: () = assert!(HEADER_BYTES as usize == RECORD_HEADER_BYTES);
const _: () = assert!(offset_of!(RecordHeader, monotonic_ns) == 0);
const _: () = assert!(offset_of!(RecordHeader, lost) == 8);
const _: () = assert!(offset_of!(RecordHeader, original_len) == 16);
const _: () = assert!(offset_of!(RecordHeader, queue) == 20);

// Offset in `struct xdp_md`.
const RX_QUEUE_INDEX: i16 = 16;

const XDP_PASS: i32 = 2;

/// Preserved across calls, like the context: the number of bytes to copy, the buffer, and the per-CPU state.
const KEPT: Reg = Reg::R7;
const BUFFER: Reg = Reg::R8;
const STATE: Reg = Reg::R9;

// Labels that no earlier code uses.
const WHOLE: Label = Label(u32::MAX);
const NO_ROOM: Label = Label(u32::MAX - 1);
const END: Label = Label(u32::MAX - 2);

/// Below the map key.
const SAMPLER_STACK: i16 = -24;

/// Largest size of a record, bytes.
pub(super) fn record_bytes(options: &RingBufferProgramOptions<'_>) -> u32 {
    let told = options.metadata.map_or(0, |_| metadata::BYTES as u32);
    RECORD_HEADER_BYTES as u32 + told + options.snaplen
}

/// Maps of the program.
#[derive(Clone, Copy)]
pub(super) struct Maps<'m> {
    pub buffers: BorrowedFd<'m>,
    pub state: BorrowedFd<'m>,
    pub sampler: Option<&'m Sampler>,
}

/// The program. With `functions` it asks the device about each packet.
pub(super) fn code<'m>(
    options: &RingBufferProgramOptions<'m>,
    maps: Maps<'m>,
    functions: Option<&Functions>,
) -> Vec<Insn<'m>> {
    let mut code = select::code(
        &options.selection,
        maps.sampler,
        SAMPLER_STACK,
        |code, rejected| {
            find_state(code, maps.state);
            let counter = match rejected {
                Rejected::Unmatched => UNMATCHED,
                Rejected::SampledOut => SAMPLED_OUT,
            };
            count(code, counter);
            code.push(Insn::Jump { target: END });
        },
    );
    find_state(&mut code, maps.state);
    let mut before = HEADER_BYTES;
    if let Some(functions) = functions {
        metadata::ask(&mut code, functions);
        code.push(Insn::mov(Reg::R2, STATE));
        metadata::write(&mut code, AFTER_HEADER);
        before += metadata::BYTES;
    }
    put_together(&mut code, options.snaplen, RECORD + before);
    find_buffer(&mut code, maps.buffers);
    code.extend([
        Insn::mov(Reg::R1, BUFFER),
        Insn::mov(Reg::R2, STATE),
        Insn::add(Reg::R2, i32::from(RECORD)),
        Insn::mov(Reg::R3, KEPT),
        Insn::add(Reg::R3, i32::from(before)),
        // Without flags, a record wakes the reader if the reader has released all earlier records.
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

/// Sets `STATE` to the per-CPU state, which nothing else uses while the program runs.
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
        // Always found, but the verifier requires the check.
        Insn::jump_if(Condition::Equal, Reg::R0, 0, END),
        Insn::mov(STATE, Reg::R0),
    ]);
}

/// Assembles the record, with the packet's bytes at `bytes_at` of the state. `KEPT` becomes their number.
fn put_together(code: &mut Vec<Insn<'_>>, snaplen: u32, bytes_at: i16) {
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
        // No packet is empty, but the verifier requires the check.
        Insn::jump_if(Condition::Less, KEPT, 1, NO_ROOM),
        Insn::mov(Reg::R1, CONTEXT),
        Insn::mov(Reg::R2, 0),
        Insn::mov(Reg::R3, STATE),
        Insn::add(Reg::R3, i32::from(bytes_at)),
        Insn::mov(Reg::R4, KEPT),
        Insn::Call(Helper::XdpLoadBytes),
        Insn::jump_if(Condition::NotEqual, Reg::R0, 0, NO_ROOM),
    ]);
}

/// Sets `BUFFER` to this CPU's ring buffer.
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

/// Adds 1 to a counter. Only one such program runs on a CPU at a time, so per-CPU counters need no atomic addition.
fn count(code: &mut Vec<Insn<'_>>, counter: i16) {
    code.extend([
        Insn::load(Size::Double, Reg::R1, STATE, counter),
        Insn::add(Reg::R1, 1),
        Insn::store(Size::Double, STATE, counter, Reg::R1),
    ]);
}
