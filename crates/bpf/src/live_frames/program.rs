//! The programs: one sends the next record, one the same frame, two count what became of these.
//!
//! ```text
//! shared memory:  page 0     position of the next record; counters      (written by the programs)
//!                 records    length (8 bytes), frame, padding to 8      (written by user space)
//! ```
//!
//! The kernel runs a batch and hands it to the driver with softirqs disabled, so what the tracepoint of the same CPU
//! reports while frames are pending concerns these frames.

use std::os::fd::BorrowedFd;

use super::LiveFrames;
use crate::{Alu, Condition, Helper, Insn, Label, Reg, Size};

/// Bytes of all records; a power of two.
pub(super) const RECORDS_BYTES: usize = 1 << 21;
/// Offset of the records in the shared memory.
pub(crate) const RECORDS_AT: usize = 4096;
/// Bytes before each frame: its length.
pub(super) const HEADER_BYTES: usize = 8;
/// Size of the shared memory: a record that begins at the last byte of the records still lies in it.
pub(super) const MEMORY_BYTES: usize =
    RECORDS_AT + RECORDS_BYTES + HEADER_BYTES + LiveFrames::MAX_FRAME_BYTES;

// Offsets of the words in page 0.
/// Offset of the next record.
pub(crate) const NEXT: i16 = 0;
/// CPU that runs the program.
pub(crate) const CPU: i16 = 8;
/// Frames redirected and not handed to the driver yet.
const PENDING: i16 = 16;
/// Frames that the driver took.
pub(super) const SENT: i16 = 24;
/// Frames that it did not take.
pub(crate) const REFUSED: i16 = 32;
/// The last error, negative.
pub(super) const ERROR: i16 = 40;
/// Length of the frames before the program changes it.
pub(super) const TEMPLATE_BYTES: i16 = 48;

/// Words that are 0 at the start of a run.
pub(super) const COUNTERS: [i16; 5] = [NEXT, PENDING, SENT, REFUSED, ERROR];

/// Bytes of a record with a frame of `bytes` bytes.
#[inline]
pub(super) const fn record_bytes(bytes: usize) -> usize {
    HEADER_BYTES + bytes.next_multiple_of(8)
}

const XDP_DROP: i32 = 1;

const CONTEXT: Reg = Reg::R6;
pub(crate) const PAGE: Reg = Reg::R7;
const RECORD: Reg = Reg::R8;
const LENGTH: Reg = Reg::R9;

const DROP: Label = Label(0);
const FITS: Label = Label(1);
const END: Label = Label(2);
const PENDING_HERE: Label = Label(3);

/// A constant of this file as an operand; all are far below 2³¹.
const fn immediate(value: usize) -> i32 {
    (value as u32).cast_signed()
}

fn shared(dst: Reg, map: BorrowedFd<'_>) -> Insn<'_> {
    Insn::LoadMapValue { dst, map }
}

/// Turns the frame into the next record and redirects it to the interface. Drops the frame if one before it was
/// refused, so that none overtakes it.
pub(super) fn send<'m>(memory: BorrowedFd<'m>, device: BorrowedFd<'m>) -> Vec<Insn<'m>> {
    let mut code = vec![
        Insn::mov(CONTEXT, Reg::R1),
        shared(PAGE, memory),
        Insn::load(Size::Double, Reg::R1, PAGE, REFUSED),
        Insn::jump_if(Condition::NotEqual, Reg::R1, 0, DROP),
        Insn::Call(Helper::GetSmpProcessorId),
        Insn::store(Size::Double, PAGE, CPU, Reg::R0),
        // The record.
        Insn::load(Size::Double, RECORD, PAGE, NEXT),
        Insn::alu64(Alu::And, RECORD, immediate(RECORDS_BYTES - 1)),
        Insn::add(RECORD, PAGE),
        Insn::load(
            Size::Double,
            LENGTH,
            RECORD,
            (RECORDS_AT as u16).cast_signed(),
        ),
        // As the verifier of Linux 6.1 understands that it is not 0.
        Insn::jump_if(Condition::Less, LENGTH, 1, DROP),
        Insn::jump_if(
            Condition::Greater,
            LENGTH,
            immediate(LiveFrames::MAX_FRAME_BYTES),
            DROP,
        ),
        // Its length.
        Insn::load(Size::Double, Reg::R1, PAGE, TEMPLATE_BYTES),
        Insn::mov(Reg::R2, LENGTH),
        Insn::alu64(Alu::Sub, Reg::R2, Reg::R1),
        Insn::jump_if(Condition::Equal, Reg::R2, 0, FITS),
        Insn::mov(Reg::R1, CONTEXT),
        Insn::Call(Helper::XdpAdjustTail),
        Insn::jump_if(Condition::NotEqual, Reg::R0, 0, DROP),
        Insn::Place(FITS),
        // Its bytes.
        Insn::mov(Reg::R1, CONTEXT),
        Insn::mov(Reg::R2, 0),
        Insn::mov(Reg::R3, RECORD),
        Insn::add(Reg::R3, immediate(RECORDS_AT + HEADER_BYTES)),
        Insn::mov(Reg::R4, LENGTH),
        Insn::Call(Helper::XdpStoreBytes),
        Insn::jump_if(Condition::NotEqual, Reg::R0, 0, DROP),
        // The next one.
        Insn::add(LENGTH, immediate(HEADER_BYTES + 7)),
        Insn::alu64(Alu::And, LENGTH, -8),
        Insn::load(Size::Double, Reg::R1, PAGE, NEXT),
        Insn::add(Reg::R1, LENGTH),
        Insn::store(Size::Double, PAGE, NEXT, Reg::R1),
    ];
    code.extend(redirect(PAGE, device));
    code.extend([
        Insn::Exit,
        Insn::Place(DROP),
        Insn::mov(Reg::R0, XDP_DROP),
        Insn::Exit,
    ]);
    code
}

/// Redirects each frame to the interface as it is.
pub(super) fn send_equal<'m>(memory: BorrowedFd<'m>, device: BorrowedFd<'m>) -> Vec<Insn<'m>> {
    let mut code = vec![
        shared(PAGE, memory),
        // While frames are pending, the kernel stays on this CPU.
        Insn::load(Size::Double, Reg::R1, PAGE, PENDING),
        Insn::jump_if(Condition::NotEqual, Reg::R1, 0, PENDING_HERE),
        Insn::Call(Helper::GetSmpProcessorId),
        Insn::store(Size::Double, PAGE, CPU, Reg::R0),
        Insn::Place(PENDING_HERE),
    ];
    code.extend(redirect(PAGE, device));
    code.push(Insn::Exit);
    code
}

/// Redirects the frame to the interface once the program ends with the verdict in `R0`. `page` points to the shared memory.
pub(crate) fn redirect(page: Reg, device: BorrowedFd<'_>) -> [Insn<'_>; 7] {
    [
        Insn::load(Size::Double, Reg::R1, page, PENDING),
        Insn::add(Reg::R1, 1),
        Insn::store(Size::Double, page, PENDING, Reg::R1),
        Insn::LoadMap {
            dst: Reg::R1,
            map: device,
        },
        Insn::mov(Reg::R2, 0),
        Insn::mov(Reg::R3, XDP_DROP),
        Insn::Call(Helper::RedirectMap),
    ]
}

/// Begins a tracepoint's program: ends it if nothing of this CPU is pending. The arguments are then in [`CONTEXT`].
fn if_pending(memory: BorrowedFd<'_>) -> Vec<Insn<'_>> {
    vec![
        Insn::mov(CONTEXT, Reg::R1),
        shared(PAGE, memory),
        Insn::load(Size::Double, Reg::R1, PAGE, PENDING),
        Insn::jump_if(Condition::Equal, Reg::R1, 0, END),
        Insn::Call(Helper::GetSmpProcessorId),
        Insn::load(Size::Double, Reg::R1, PAGE, CPU),
        Insn::jump_if(Condition::NotEqual, Reg::R0, Reg::R1, END),
    ]
}

fn end() -> [Insn<'static>; 3] {
    [Insn::Place(END), Insn::mov(Reg::R0, 0), Insn::Exit]
}

/// Counts frames that the driver took and refused. Arguments: `from_dev`, `to_dev`, `sent`, `drops`, `err`
/// (`xdp_devmap_xmit`, include/trace/events/xdp.h).
pub(super) fn handed_over(memory: BorrowedFd<'_>) -> Vec<Insn<'_>> {
    let mut code = if_pending(memory);
    code.extend([
        Insn::load(Size::Double, Reg::R1, CONTEXT, 16),
        Insn::mov32(Reg::R1, Reg::R1),
        Insn::load(Size::Double, Reg::R2, CONTEXT, 24),
        Insn::mov32(Reg::R2, Reg::R2),
        Insn::load(Size::Double, Reg::R3, PAGE, SENT),
        Insn::add(Reg::R3, Reg::R1),
        Insn::store(Size::Double, PAGE, SENT, Reg::R3),
        Insn::load(Size::Double, Reg::R3, PAGE, REFUSED),
        Insn::add(Reg::R3, Reg::R2),
        Insn::store(Size::Double, PAGE, REFUSED, Reg::R3),
        // The frame that made the kernel hand over a bulk stays pending.
        Insn::add(Reg::R1, Reg::R2),
        Insn::load(Size::Double, Reg::R3, PAGE, PENDING),
        Insn::alu64(Alu::Sub, Reg::R3, Reg::R1),
        Insn::store(Size::Double, PAGE, PENDING, Reg::R3),
        Insn::jump_if(Condition::Equal, Reg::R2, 0, END),
        Insn::load(Size::Double, Reg::R1, CONTEXT, 32),
        Insn::store(Size::Double, PAGE, ERROR, Reg::R1),
    ]);
    code.extend(end());
    code
}

/// Counts a frame that the kernel did not redirect. Arguments: `dev`, `xdp`, `tgt`, `err`, … (`xdp_redirect_template`,
/// include/trace/events/xdp.h).
pub(super) fn not_redirected(memory: BorrowedFd<'_>) -> Vec<Insn<'_>> {
    let mut code = if_pending(memory);
    code.extend([
        Insn::load(Size::Double, Reg::R1, CONTEXT, 24),
        Insn::store(Size::Double, PAGE, ERROR, Reg::R1),
        Insn::load(Size::Double, Reg::R1, PAGE, REFUSED),
        Insn::add(Reg::R1, 1),
        Insn::store(Size::Double, PAGE, REFUSED, Reg::R1),
        Insn::load(Size::Double, Reg::R1, PAGE, PENDING),
        Insn::add(Reg::R1, -1),
        Insn::store(Size::Double, PAGE, PENDING, Reg::R1),
    ]);
    code.extend(end());
    code
}
