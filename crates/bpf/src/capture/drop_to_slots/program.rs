//! The program that copies packets into slots.
//!
//! ```text
//! select ─MATCH─▶ sample ─▶ slot free? ─▶ time ─▶ header and bytes into the slot ─▶ publish ─▶ XDP_DROP
//!    │              └ sampled out ─┐  └ no ─▶ count ─▶ XDP_DROP
//!    └──NO_MATCH─▶ count ──────────┴▶ XDP_PASS or XDP_DROP
//! ```
//!
//! Loads and stores of 8 bytes copy a packet that is at least as long as the snaplen. A helper copies shorter packets.

use std::mem::offset_of;
use std::os::fd::BorrowedFd;

use abi::ring_buffer::HEADER_BYTES;
use wire::record::{LOST_AT as LOST_IN_PAGE, RECORD_HEADER_BYTES, RecordHeader};

use super::SlotProgram;
use crate::capture::PacketSelection;
use crate::capture::select::{self, CONTEXT, Rejected};

use crate::{Alu, Condition, Helper, Insn, Label, Reg, Sampler, Size};

// The program's page. It begins at the offset of a BPF ring buffer's write position.
/// Bytes written so far.
pub(super) const WRITTEN: i16 = 0;
/// Packets lost because no slot was free.
pub(super) const LOST: i16 = 8;
const _: () = assert!(LOST as usize == LOST_IN_PAGE);
/// Packets that did not match.
pub(super) const UNMATCHED: i16 = 16;
/// Packets that were sampled out.
pub(super) const SAMPLED_OUT: i16 = 24;
/// The read position as last read from the reader's page.
const READ: i16 = 32;
/// Time of the latest packet; 0 after the end of a NAPI poll.
pub(super) const TIME: i16 = 40;
/// Jiffies at that time.
const TICKS: i16 = 48;
/// Bytes written at the end of the latest NAPI poll.
pub(super) const SEEN: i16 = 56;

// A slot: record length, `RecordHeader`, packet bytes.
const LENGTH_AT: i16 = 0;
const MONOTONIC_AT: i16 = 8;
const LOST_AT: i16 = 16;
const ORIGINAL_AT: i16 = 24;
const QUEUE_AT: i16 = 28;
const BYTES_AT: i16 = 32;
/// Bytes of a `RecordHeader`.
const MIRRORED: i32 = 24;
const RECORD: usize = HEADER_BYTES as usize;
const _: () = assert!(MONOTONIC_AT as usize == RECORD + offset_of!(RecordHeader, monotonic_ns));
const _: () = assert!(LOST_AT as usize == RECORD + offset_of!(RecordHeader, lost));
const _: () = assert!(ORIGINAL_AT as usize == RECORD + offset_of!(RecordHeader, original_len));
const _: () = assert!(QUEUE_AT as usize == RECORD + offset_of!(RecordHeader, queue));
const _: () = assert!(BYTES_AT as usize == RECORD + RECORD_HEADER_BYTES);
const _: () = assert!(MIRRORED as usize == RECORD_HEADER_BYTES);

// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const RX_QUEUE_INDEX: i16 = 16;

const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;

/// Number of pages whose TLB entries are loaded together, the size of a page, and of all.
const PAGES: i16 = 8;
const PAGE_BYTES: i16 = 4096;
const LOOKED_UP: i32 = PAGES as i32 * PAGE_BYTES as i32;

/// Number of packets that share one time stamp.
const STAMPED: u32 = SlotProgram::PACKETS_PER_TIMESTAMP;

/// Preserved across calls, like the context: the CPU's memory from its page 1 on, the write position, and the slot.
const PAGE: Reg = Reg::R7;
const POSITION: Reg = Reg::R8;
const SLOT: Reg = Reg::R9;

/// Stack: the map key and the number of bytes kept; the sampler's bytes are below.
const KEY: i16 = -4;
const KEPT: i16 = -16;
const SAMPLER_STACK: i16 = -40;

// Labels that no earlier code uses.
const ROOM: Label = Label(u32::MAX - 1);
const FULL: Label = Label(u32::MAX - 2);
const FRESH: Label = Label(u32::MAX - 3);
const SAME: Label = Label(u32::MAX - 4);
const SLOW: Label = Label(u32::MAX - 5);
const WHOLE: Label = Label(u32::MAX - 6);
const DONE: Label = Label(u32::MAX - 7);
const NO_MEMORY: Label = Label(u32::MAX - 8);
const NOT_CHOSEN: Label = Label(u32::MAX - 9);
const NOT_SAMPLED: Label = Label(u32::MAX - 10);
const NEAR: Label = Label(u32::MAX - 11);

/// The memory of the CPUs.
#[derive(Clone, Copy)]
pub(super) struct Memory<'m> {
    pub slots: BorrowedFd<'m>,
    pub slot_bytes: u32,
    pub data_bytes: u32,
    pub page_bytes: u32,
    pub snaplen: u32,
}

pub(super) fn code<'m>(
    selection: &PacketSelection<'m>,
    memory: &Memory<'m>,
    sampler: Option<&'m Sampler>,
) -> Vec<Insn<'m>> {
    let verdict = selection.unmatched.verdict();
    let mut code = select::code(selection, sampler, SAMPLER_STACK, |code, rejected| {
        reject(code, memory, verdict, rejected);
    });
    find_page(&mut code, memory, NO_MEMORY);
    find_slot(&mut code, memory);
    find_pages(&mut code, memory);
    stamp(&mut code, memory);
    copy(&mut code, memory);
    code.extend([
        Insn::Place(DONE),
        // After all other stores: from now on the reader owns the slot.
        Insn::add(POSITION, memory.slot_bytes.cast_signed()),
        Insn::store(Size::Double, PAGE, WRITTEN, POSITION),
        Insn::mov32(Reg::R0, XDP_DROP),
        Insn::Exit,
        Insn::Place(FULL),
    ]);
    count(&mut code, LOST);
    code.extend([
        Insn::mov32(Reg::R0, XDP_DROP),
        Insn::Exit,
        // A CPU above the highest one online at load time has no memory.
        Insn::Place(NO_MEMORY),
        Insn::mov32(Reg::R0, XDP_PASS),
        Insn::Exit,
    ]);
    code
}

/// Handles a packet that does not match or is sampled out.
fn reject<'m>(code: &mut Vec<Insn<'m>>, memory: &Memory<'m>, verdict: i32, rejected: Rejected) {
    let (counter, end) = match rejected {
        Rejected::Unmatched => (UNMATCHED, NOT_CHOSEN),
        Rejected::SampledOut => (SAMPLED_OUT, NOT_SAMPLED),
    };
    find_page(code, memory, end);
    count(code, counter);
    code.extend([
        // The network stack spends time on the packet, so the time is outdated.
        Insn::store(Size::Double, PAGE, TIME, 0),
        Insn::Place(end),
        Insn::mov32(Reg::R0, verdict),
        Insn::Exit,
    ]);
}

/// Sets `PAGE` to this CPU's page 1.
pub(super) fn find_page<'m>(code: &mut Vec<Insn<'m>>, memory: &Memory<'m>, none: Label) {
    code.extend([
        Insn::Call(Helper::GetSmpProcessorId),
        Insn::store(Size::Word, Reg::R10, KEY, Reg::R0),
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, i32::from(KEY)),
        Insn::LoadMap {
            dst: Reg::R1,
            map: memory.slots,
        },
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(Condition::Equal, Reg::R0, 0, none),
        Insn::mov(PAGE, Reg::R0),
        Insn::add(PAGE, memory.page_bytes.cast_signed()),
    ]);
}

/// Sets `SLOT` to the next slot if the reader has released it.
fn find_slot<'m>(code: &mut Vec<Insn<'m>>, memory: &Memory<'m>) {
    let data_bytes = memory.data_bytes.cast_signed();
    let page_bytes = memory.page_bytes.cast_signed();
    code.extend([
        Insn::load(Size::Double, POSITION, PAGE, WRITTEN),
        Insn::load(Size::Double, Reg::R2, PAGE, READ),
        Insn::mov(Reg::R3, POSITION),
        Insn::alu64(Alu::Sub, Reg::R3, Reg::R2),
        Insn::jump_if(Condition::Less, Reg::R3, data_bytes, ROOM),
        // Read the reader's page only when necessary: it is in the reader's cache.
        Insn::mov(Reg::R1, PAGE),
        Insn::add(Reg::R1, -page_bytes),
        Insn::load(Size::Double, Reg::R2, Reg::R1, 0),
        Insn::store(Size::Double, PAGE, READ, Reg::R2),
        Insn::mov(Reg::R3, POSITION),
        Insn::alu64(Alu::Sub, Reg::R3, Reg::R2),
        Insn::jump_if(Condition::GreaterOrEqual, Reg::R3, data_bytes, FULL),
        Insn::Place(ROOM),
        Insn::mov(Reg::R1, POSITION),
        Insn::alu64(
            Alu::And,
            Reg::R1,
            (memory.data_bytes - memory.slot_bytes).cast_signed(),
        ),
        Insn::mov(SLOT, PAGE),
        Insn::add(SLOT, page_bytes),
        Insn::alu64(Alu::Add, SLOT, Reg::R1),
    ]);
}

/// Reads one word from each of the next pages, so that the CPU loads their TLB entries together.
///
/// The memory consists of small pages, more than the TLB holds. The driver's next locked instruction waits for the page
/// walk of a slot's page. Several page walks at once take as long as one.
fn find_pages<'m>(code: &mut Vec<Insn<'m>>, memory: &Memory<'m>) {
    code.extend([
        Insn::mov(Reg::R1, POSITION),
        Insn::alu64(Alu::And, Reg::R1, LOOKED_UP - 1),
        Insn::jump_if(Condition::NotEqual, Reg::R1, 0, NEAR),
        Insn::mov(Reg::R1, POSITION),
        Insn::alu64(
            Alu::And,
            Reg::R1,
            memory.data_bytes.cast_signed() - LOOKED_UP,
        ),
        Insn::mov(Reg::R2, PAGE),
        Insn::add(Reg::R2, memory.page_bytes.cast_signed()),
        Insn::alu64(Alu::Add, Reg::R2, Reg::R1),
    ]);
    for page in 0..PAGES {
        code.push(Insn::load(
            Size::Double,
            Reg::R1,
            Reg::R2,
            page * PAGE_BYTES,
        ));
    }
    code.push(Insn::Place(NEAR));
}

/// Writes the record header. `R0` becomes the packet's length.
fn stamp(code: &mut Vec<Insn<'_>>, memory: &Memory<'_>) {
    let group = ((STAMPED - 1) * memory.slot_bytes).cast_signed();
    code.extend([
        Insn::load(Size::Double, Reg::R1, PAGE, TIME),
        Insn::jump_if(Condition::Equal, Reg::R1, 0, FRESH),
        Insn::mov(Reg::R2, POSITION),
        Insn::alu64(Alu::And, Reg::R2, group),
        Insn::jump_if(Condition::Equal, Reg::R2, 0, FRESH),
        Insn::Call(Helper::Jiffies64),
        Insn::load(Size::Double, Reg::R1, PAGE, TICKS),
        Insn::jump_if(Condition::NotEqual, Reg::R0, Reg::R1, FRESH),
        Insn::load(Size::Double, Reg::R0, PAGE, TIME),
        Insn::Jump { target: SAME },
        Insn::Place(FRESH),
        Insn::Call(Helper::Jiffies64),
        Insn::store(Size::Double, PAGE, TICKS, Reg::R0),
        Insn::Call(Helper::KtimeGetNs),
        Insn::store(Size::Double, PAGE, TIME, Reg::R0),
        Insn::Place(SAME),
        Insn::store(Size::Double, SLOT, MONOTONIC_AT, Reg::R0),
        Insn::load(Size::Double, Reg::R1, PAGE, LOST),
        Insn::store(Size::Double, SLOT, LOST_AT, Reg::R1),
        Insn::load(Size::Word, Reg::R1, CONTEXT, RX_QUEUE_INDEX),
        Insn::store(Size::Half, SLOT, QUEUE_AT, Reg::R1),
        Insn::mov(Reg::R1, CONTEXT),
        Insn::Call(Helper::XdpGetBuffLen),
        Insn::store(Size::Word, SLOT, ORIGINAL_AT, Reg::R0),
    ]);
}

/// Copies the beginning of a packet of `R0` bytes and writes the record's length.
fn copy(code: &mut Vec<Insn<'_>>, memory: &Memory<'_>) {
    let snaplen = memory.snaplen.cast_signed();
    // The slot has room for the whole last word.
    let words = memory.snaplen.div_ceil(8) as i16;
    code.extend([
        Insn::load(Size::Word, Reg::R2, CONTEXT, DATA),
        Insn::load(Size::Word, Reg::R3, CONTEXT, DATA_END),
        Insn::mov(Reg::R4, Reg::R2),
        Insn::add(Reg::R4, 8 * i32::from(words)),
        Insn::jump_if(Condition::Greater, Reg::R4, Reg::R3, SLOW),
    ]);
    for word in 0..words {
        // Alternate between two registers, so that a load need not wait for the previous store.
        let register = if word % 2 == 0 { Reg::R4 } else { Reg::R5 };
        code.extend([
            Insn::load(Size::Double, register, Reg::R2, 8 * word),
            Insn::store(Size::Double, SLOT, BYTES_AT + 8 * word, register),
        ]);
    }
    code.extend([
        Insn::store(Size::Word, SLOT, LENGTH_AT, MIRRORED + snaplen),
        Insn::Jump { target: DONE },
        Insn::Place(SLOW),
        Insn::jump_if(Condition::LessOrEqual, Reg::R0, snaplen, WHOLE),
        Insn::mov(Reg::R0, snaplen),
        Insn::Place(WHOLE),
        // No packet is empty, but the verifier requires the check.
        Insn::jump_if(Condition::Less, Reg::R0, 1, FULL),
        Insn::store(Size::Double, Reg::R10, KEPT, Reg::R0),
        Insn::mov(Reg::R4, Reg::R0),
        Insn::mov(Reg::R1, CONTEXT),
        Insn::mov(Reg::R2, 0),
        Insn::mov(Reg::R3, SLOT),
        Insn::add(Reg::R3, i32::from(BYTES_AT)),
        Insn::Call(Helper::XdpLoadBytes),
        Insn::jump_if(Condition::NotEqual, Reg::R0, 0, FULL),
        Insn::load(Size::Double, Reg::R1, Reg::R10, KEPT),
        Insn::add(Reg::R1, MIRRORED),
        Insn::store(Size::Word, SLOT, LENGTH_AT, Reg::R1),
    ]);
}

/// Adds 1 to a counter. Only one such program runs on a CPU at a time, so per-CPU counters need no atomic addition.
fn count(code: &mut Vec<Insn<'_>>, counter: i16) {
    code.extend([
        Insn::load(Size::Double, Reg::R1, PAGE, counter),
        Insn::add(Reg::R1, 1),
        Insn::store(Size::Double, PAGE, counter, Reg::R1),
    ]);
}
