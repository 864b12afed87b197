//! The program at the end of a NAPI poll.
//!
//! ```text
//! did the poll bring packets? ─▶ reset the time ─▶ does the reader sleep? ─▶ wake it
//! ```

use std::os::fd::BorrowedFd;

use wire::record::WOKEN_AT;

use super::program::{Memory, SEEN, TIME, WRITTEN, find_page};
use crate::{Alu, Condition, Helper, Insn, Label, Reg, Size};

const END: Label = Label(0);

const PAGE: Reg = Reg::R7;
const KEY: i16 = -4;
const RECORD: i16 = -16;
const RECORD_BYTES: i32 = 8;

/// Offset in the reader's page.
const WOKEN: i16 = 128;
const _: () = assert!(WOKEN as usize == WOKEN_AT);

/// `BPF_RB_FORCE_WAKEUP`, include/uapi/linux/bpf.h.
const FORCE_WAKEUP: i32 = 2;

pub(super) fn code<'m>(memory: &Memory<'m>, wakes: BorrowedFd<'m>) -> Vec<Insn<'m>> {
    let mut code = Vec::new();
    find_page(&mut code, memory, END);
    code.extend([
        Insn::store(Size::Double, PAGE, TIME, 0),
        Insn::load(Size::Double, Reg::R1, PAGE, WRITTEN),
        Insn::load(Size::Double, Reg::R2, PAGE, SEEN),
        Insn::alu64(Alu::Sub, Reg::R1, Reg::R2),
        Insn::jump_if(Condition::Equal, Reg::R1, 0, END),
        // A full barrier on x86-64. It pairs with the fence of `RecordMemory::prepare_sleep` (crate `ring`): either the
        // reader's last check sees the packets of this poll, or this program sees that the reader sleeps.
        Insn::AtomicAdd {
            base: PAGE,
            offset: SEEN,
            src: Reg::R1,
        },
        Insn::mov(Reg::R8, PAGE),
        Insn::add(Reg::R8, -memory.page_bytes.cast_signed()),
        Insn::load(Size::Double, Reg::R1, Reg::R8, WOKEN),
        Insn::jump_if(Condition::NotEqual, Reg::R1, 0, END),
        Insn::store(Size::Double, Reg::R8, WOKEN, 1),
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, i32::from(KEY)),
        Insn::LoadMap {
            dst: Reg::R1,
            map: wakes,
        },
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(Condition::Equal, Reg::R0, 0, END),
        Insn::mov(Reg::R1, Reg::R0),
        Insn::store(Size::Double, Reg::R10, RECORD, 0),
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, i32::from(RECORD)),
        Insn::mov(Reg::R3, RECORD_BYTES),
        Insn::mov(Reg::R4, FORCE_WAKEUP),
        Insn::Call(Helper::RingbufOutput),
        Insn::Place(END),
        Insn::mov(Reg::R0, 0),
        Insn::Exit,
    ]);
    code
}
