//! The steering program.
//!
//! ```text
//! select ─TAKE─▶ stamp in front of the frame ─▶ socket of the queue ─▶ count ─▶ XDP_REDIRECT
//!    └──OTHERS─▶ count ─▶ XDP_PASS or XDP_DROP        └ none ─▶ count ─▶ XDP_PASS
//! ```

use std::mem::offset_of;
use std::os::fd::BorrowedFd;

use abi::xdp::{METADATA_MARK, Metadata};

use super::{Others, Redirect, RedirectOptions};
use crate::{Condition, Helper, Insn, Label, Reg, Size};

/// Number of counters.
pub(super) const COUNTERS: usize = 4;

// Their places: 8 bytes each.
const REDIRECTED: i16 = 0;
const UNSTEERED: i16 = 8;
const OTHER: i16 = 16;
const UNSTAMPED: i16 = 24;

/// One of them counts a packet, the likeliest first.
const PLACES: [i16; 3] = [REDIRECTED, OTHER, UNSTEERED];

// Displacements in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_META: i16 = 8;
const RX_QUEUE_INDEX: i16 = 16;

const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;
const XDP_REDIRECT: i32 = 4;

/// Survive calls: the context, the verdict, the place of the counter, and 1 if there is no stamp.
const CONTEXT: Reg = Reg::R6;
const VERDICT: Reg = Reg::R7;
const COUNTER: Reg = Reg::R8;
const IS_UNSTAMPED: Reg = Reg::R9;

// Labels that no code before this has.
const STEER: Label = Label(u32::MAX);
const UNSTAMPED_HERE: Label = Label(u32::MAX - 1);
const COUNT: Label = Label(u32::MAX - 2);
const END: Label = Label(u32::MAX - 3);
const STAMPED: Label = Label(u32::MAX - 16);
/// The first of as many as there are [`PLACES`], downwards.
const NOT_THIS: Label = Label(u32::MAX - 17);

// The layout of `Metadata`.
const METADATA_BYTES: i32 = 16;
const MONOTONIC_AT: i16 = 0;
const MARK_AT: i16 = 8;
const _: () = assert!(size_of::<Metadata>() == 16);
const _: () = assert!(offset_of!(Metadata, monotonic_ns) == 0);
const _: () = assert!(offset_of!(Metadata, mark) == 8);

pub(super) fn code<'m>(
    options: &RedirectOptions<'m>,
    sockets: BorrowedFd<'m>,
    counters: BorrowedFd<'m>,
) -> Vec<Insn<'m>> {
    let mut code = vec![Insn::mov(CONTEXT, Reg::R1)];
    if !options.select.is_empty() {
        code.extend(options.select);
        code.extend([
            Insn::Place(Redirect::OTHERS),
            Insn::mov32(
                VERDICT,
                match options.others {
                    Others::Pass => XDP_PASS,
                    Others::Drop => XDP_DROP,
                },
            ),
            Insn::mov32(COUNTER, i32::from(OTHER)),
            Insn::mov32(IS_UNSTAMPED, 0),
            Insn::Jump { target: COUNT },
            Insn::Place(Redirect::TAKE),
        ]);
    }
    code.push(Insn::mov32(IS_UNSTAMPED, 0));
    if options.stamp {
        stamp(&mut code);
    }
    code.extend([
        Insn::Place(STEER),
        Insn::LoadMap {
            dst: Reg::R1,
            map: sockets,
        },
        Insn::load(Size::Word, Reg::R2, CONTEXT, RX_QUEUE_INDEX),
        Insn::mov(Reg::R3, XDP_PASS),
        Insn::Call(Helper::RedirectMap),
        Insn::mov(VERDICT, Reg::R0),
        Insn::mov32(COUNTER, i32::from(REDIRECTED)),
        Insn::jump_if32(Condition::Equal, VERDICT, XDP_REDIRECT, COUNT),
        Insn::mov32(COUNTER, i32::from(UNSTEERED)),
        Insn::mov32(IS_UNSTAMPED, 0),
        Insn::Place(COUNT),
    ]);
    count(&mut code, counters);
    code
}

/// Puts the time in front of the frame, where the copy into a socket's memory begins.
fn stamp(code: &mut Vec<Insn<'_>>) {
    code.extend([
        Insn::mov(Reg::R1, CONTEXT),
        Insn::mov(Reg::R2, -METADATA_BYTES),
        Insn::Call(Helper::XdpAdjustMeta),
        Insn::jump_if32(Condition::NotEqual, Reg::R0, 0, UNSTAMPED_HERE),
        Insn::Call(Helper::KtimeGetNs),
        Insn::load(Size::Word, Reg::R2, CONTEXT, DATA_META),
        Insn::load(Size::Word, Reg::R3, CONTEXT, DATA),
        Insn::mov(Reg::R4, Reg::R2),
        Insn::add(Reg::R4, METADATA_BYTES),
        // Never so, but the verifier asks.
        Insn::jump_if(Condition::Greater, Reg::R4, Reg::R3, UNSTAMPED_HERE),
        Insn::store(Size::Double, Reg::R2, MONOTONIC_AT, Reg::R0),
        Insn::store(Size::Double, Reg::R2, MARK_AT, METADATA_MARK as i32),
        Insn::Jump { target: STEER },
        Insn::Place(UNSTAMPED_HERE),
        Insn::mov32(IS_UNSTAMPED, 1),
    ]);
}

/// Counts and returns. A CPU runs one such program at a time, so its own counters need no
/// indivisible addition.
fn count<'m>(code: &mut Vec<Insn<'m>>, counters: BorrowedFd<'m>) {
    code.extend([
        Insn::store(Size::Word, Reg::R10, -4, 0),
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
    // To add a register to an address would take CAP_PERFMON.
    for (number, place) in (0..).zip(PLACES) {
        let next = Label(NOT_THIS.0 - number);
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
