//! The program that redirects packets to AF_XDP sockets.
//!
//! ```text
//! select ─MATCH─▶ sample ─▶ time (and the device's metadata) before the frame ─▶ socket of the queue ─▶ count ─▶ XDP_REDIRECT
//!    │              └ sampled out ─┐                    └ none ─▶ count ─▶ XDP_PASS
//!    └──NO_MATCH─▶ count ──────────┴▶ XDP_PASS or XDP_DROP
//! ```

use std::mem::offset_of;
use std::os::fd::BorrowedFd;

use wire::record::{DEVICE_METADATA_MARK, FrameMetadata, METADATA_MARK};

use super::XskProgramOptions;
use crate::capture::UnmatchedAction;
use crate::capture::metadata::{self, Functions};
use crate::capture::select::{self, CONTEXT, Rejected};

use crate::{Condition, Helper, Insn, Label, Reg, Sampler, Size};

/// Number of counters.
pub(super) const COUNTERS: usize = 5;

// Offsets of the counters.
const REDIRECTED: i16 = 0;
const NO_SOCKET: i16 = 8;
const UNMATCHED: i16 = 16;
const UNSTAMPED: i16 = 24;
const SAMPLED_OUT: i16 = 32;

/// Each packet increments exactly one of these counters. The most frequent one is first.
const EXCLUSIVE_COUNTERS: [i16; 4] = [REDIRECTED, UNMATCHED, SAMPLED_OUT, NO_SOCKET];

// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_META: i16 = 8;
const RX_QUEUE_INDEX: i16 = 16;

const XDP_PASS: i32 = 2;
const XDP_REDIRECT: i32 = 4;

/// Preserved across calls, like the context: the verdict, the counter's offset, and 1 if there is no time stamp.
const VERDICT: Reg = Reg::R7;
const COUNTER: Reg = Reg::R8;
const IS_UNSTAMPED: Reg = Reg::R9;

// Labels that no earlier code uses.
const REDIRECT: Label = Label(u32::MAX);
const STAMP_FAILED: Label = Label(u32::MAX - 1);
const COUNT: Label = Label(u32::MAX - 2);
const END: Label = Label(u32::MAX - 3);
const STAMPED: Label = Label(u32::MAX - 16);
const KNOWN_QUEUE: Label = Label(u32::MAX - 15);
/// The first of one label per entry of [`EXCLUSIVE_COUNTERS`], in descending order.
const NEXT_COUNTER: Label = Label(u32::MAX - 17);

/// Stack offset of the sampler's memory, below the map key.
const SAMPLER_STACK: i16 = -24;

// Layout of `FrameMetadata`.
const METADATA_BYTES: i32 = 16;
const MONOTONIC_AT: i16 = 0;
const MARK_AT: i16 = 8;
const _: () = assert!(size_of::<FrameMetadata>() == 16);
const _: () = assert!(offset_of!(FrameMetadata, monotonic_ns) == 0);
const _: () = assert!(offset_of!(FrameMetadata, mark) == 8);

/// Maps of the program.
#[derive(Clone, Copy)]
pub(super) struct Maps<'m> {
    pub sockets: BorrowedFd<'m>,
    pub counters: BorrowedFd<'m>,
    pub sampler: Option<&'m Sampler>,
}

/// The program. With `functions` it asks the device about each packet.
pub(super) fn code<'m>(
    options: &XskProgramOptions<'m>,
    maps: Maps<'m>,
    functions: Option<&Functions>,
) -> Vec<Insn<'m>> {
    let mut code = select::code(
        &options.selection,
        maps.sampler,
        SAMPLER_STACK,
        |code, rejected| code.extend(reject(options.selection.unmatched, rejected)),
    );
    code.push(Insn::mov32(IS_UNSTAMPED, 0));
    if let Some(functions) = functions {
        metadata::ask(&mut code, functions);
    }
    if options.stamp || functions.is_some() {
        stamp(&mut code, functions.is_some());
    }
    code.extend([Insn::Place(REDIRECT), Insn::mov(Reg::R3, XDP_PASS)]);
    if functions.is_some() {
        // The stack has the tag that was put back, too: such a packet would have it twice.
        metadata::drop_tagged(&mut code, Reg::R3);
    }
    code.extend([
        Insn::LoadMap {
            dst: Reg::R1,
            map: maps.sockets,
        },
        Insn::load(Size::Word, Reg::R2, CONTEXT, RX_QUEUE_INDEX),
        Insn::Call(Helper::RedirectMap),
        Insn::mov(VERDICT, Reg::R0),
        Insn::mov32(COUNTER, i32::from(REDIRECTED)),
        Insn::jump_if32(Condition::Equal, VERDICT, XDP_REDIRECT, COUNT),
        Insn::mov32(COUNTER, i32::from(NO_SOCKET)),
        Insn::mov32(IS_UNSTAMPED, 0),
        Insn::Place(COUNT),
    ]);
    count(&mut code, maps.counters, options.queues);
    code
}

/// Handles a packet that does not match or is sampled out.
fn reject<'m>(unmatched: UnmatchedAction, rejected: Rejected) -> [Insn<'m>; 4] {
    let counter = match rejected {
        Rejected::Unmatched => UNMATCHED,
        Rejected::SampledOut => SAMPLED_OUT,
    };
    [
        Insn::mov32(VERDICT, unmatched.verdict()),
        Insn::mov32(COUNTER, i32::from(counter)),
        Insn::mov32(IS_UNSTAMPED, 0),
        Insn::Jump { target: COUNT },
    ]
}

/// Writes the time stamp, and what the device has reported, into the metadata area before the frame. The kernel copies that
/// area to the UMEM, too.
fn stamp(code: &mut Vec<Insn<'_>>, has_device: bool) {
    let (before, mark) = if has_device {
        (metadata::BYTES, DEVICE_METADATA_MARK)
    } else {
        (0, METADATA_MARK)
    };
    let bytes = METADATA_BYTES + i32::from(before);
    code.extend([
        Insn::mov(Reg::R1, CONTEXT),
        Insn::mov(Reg::R2, -bytes),
        Insn::Call(Helper::XdpAdjustMeta),
        Insn::jump_if32(Condition::NotEqual, Reg::R0, 0, STAMP_FAILED),
        Insn::Call(Helper::KtimeGetNs),
        Insn::load(Size::Word, Reg::R2, CONTEXT, DATA_META),
        Insn::load(Size::Word, Reg::R3, CONTEXT, DATA),
        Insn::mov(Reg::R4, Reg::R2),
        Insn::add(Reg::R4, bytes),
        // Always false, but the verifier requires the check.
        Insn::jump_if(Condition::Greater, Reg::R4, Reg::R3, STAMP_FAILED),
        Insn::store(Size::Double, Reg::R2, before + MONOTONIC_AT, Reg::R0),
        Insn::store(Size::Double, Reg::R2, before + MARK_AT, mark as i32),
    ]);
    if has_device {
        metadata::write(code, 0);
    }
    code.extend([
        Insn::Jump { target: REDIRECT },
        Insn::Place(STAMP_FAILED),
        Insn::mov32(IS_UNSTAMPED, 1),
    ]);
}

/// Counts the packet for its queue and returns. Only one such program runs on a CPU at a time, so per-CPU counters need no atomic
/// addition.
fn count<'m>(code: &mut Vec<Insn<'m>>, counters: BorrowedFd<'m>, queues: u32) {
    let queues = queues.cast_signed();
    code.extend([
        Insn::load(Size::Word, Reg::R1, CONTEXT, RX_QUEUE_INDEX),
        Insn::jump_if32(Condition::Less, Reg::R1, queues, KNOWN_QUEUE),
        Insn::mov32(Reg::R1, queues),
        Insn::Place(KNOWN_QUEUE),
        Insn::store(Size::Word, Reg::R10, -4, Reg::R1),
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, -4),
        Insn::LoadMap {
            dst: Reg::R1,
            map: counters,
        },
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(Condition::Equal, Reg::R0, 0, END),
        Insn::jump_if32(Condition::Equal, IS_UNSTAMPED, 0, STAMPED),
        Insn::load(Size::Double, Reg::R1, Reg::R0, UNSTAMPED),
        Insn::add(Reg::R1, 1),
        Insn::store(Size::Double, Reg::R0, UNSTAMPED, Reg::R1),
        Insn::Place(STAMPED),
    ]);
    // A constant offset for each counter: adding a register to an address would require CAP_PERFMON.
    for (number, place) in (0..).zip(EXCLUSIVE_COUNTERS) {
        let next = Label(NEXT_COUNTER.0 - number);
        code.extend([
            Insn::jump_if32(Condition::NotEqual, COUNTER, i32::from(place), next),
            Insn::load(Size::Double, Reg::R1, Reg::R0, place),
            Insn::add(Reg::R1, 1),
            Insn::store(Size::Double, Reg::R0, place, Reg::R1),
            Insn::Jump { target: END },
            Insn::Place(next),
        ]);
    }
    code.extend([Insn::Place(END), Insn::mov(Reg::R0, VERDICT), Insn::Exit]);
}
