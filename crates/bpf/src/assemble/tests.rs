//! Slots are compared with RFC 9669's encoding, written out by hand.

use super::*;
use crate::Condition;

#[test]
fn instructions_have_the_standard_encoding() {
    let slots = assemble(&[
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, -68),
        Insn::load(Size::Half, Reg::R3, Reg::R6, 16),
        Insn::AtomicAdd {
            base: Reg::R9,
            offset: 8,
            src: Reg::R1,
        },
        Insn::AtomicFetchOr {
            base: Reg::R9,
            offset: 16,
            src: Reg::R4,
        },
        Insn::Exit,
    ])
    .unwrap();
    let expected = [
        Instruction::new(0xbf, 2, 10, 0, 0),
        Instruction::new(0x07, 2, 0, 0, -68),
        Instruction::new(0x69, 3, 6, 16, 0),
        Instruction::new(0xdb, 9, 1, 8, 0),
        Instruction::new(0xdb, 9, 4, 16, 0x41),
        Instruction::new(0x95, 0, 0, 0, 0),
    ];
    assert_eq!(slots, expected);
}

#[test]
fn a_jump_counts_slots_from_the_one_after_it() {
    let (skipped, back) = (Label(7), Label(1));
    let null = std::fs::File::open("/dev/null").unwrap();
    let slots = assemble(&[
        Insn::Place(back),
        Insn::jump_if32(Condition::Equal, Reg::R0, 5, skipped),
        Insn::LoadMap {
            dst: Reg::R1,
            map: std::os::fd::AsFd::as_fd(&null),
        },
        Insn::Place(skipped),
        Insn::Jump { target: back },
    ])
    .unwrap();
    // The map takes two slots.
    assert_eq!(
        (slots[0].code(), slots[0].offset(), slots[0].immediate()),
        (0x16, 2, 5)
    );
    assert_eq!((slots[3].code(), slots[3].offset()), (0x05, -4));
}

#[test]
fn a_label_without_a_place_is_an_error() {
    let label = Label(3);
    let error = assemble(&[Insn::Jump { target: label }, Insn::Exit]).unwrap_err();
    assert_eq!(error, AssembleError::NoPlace { label });
}

#[test]
fn a_label_with_two_places_is_an_error() {
    let label = Label(3);
    let error = assemble(&[Insn::Place(label), Insn::Exit, Insn::Place(label)]).unwrap_err();
    assert_eq!(error, AssembleError::TwoPlaces { label });
}

#[test]
fn a_jump_of_more_than_32767_slots_is_one_of_32_bits() {
    let target = Label(0);
    let program = |jump: Insn<'static>, slots: usize| {
        let mut code = vec![jump];
        code.resize(slots + 1, Insn::mov(Reg::R0, 0));
        code.push(Insn::Place(target));
        code.push(Insn::Exit);
        assemble(&code).unwrap()
    };
    let jump = Insn::Jump { target };
    assert_eq!(
        program(jump, 32767)[0],
        Instruction::new(0x05, 0, 0, 32767, 0)
    );
    let far = program(jump, 32768);
    assert_eq!(far[0], Instruction::new(0x06, 0, 0, 0, 32768));
    assert_eq!(far.len(), 32770);
    let jump = Insn::jump_if32(Condition::AnyBitSet, Reg::R1, 5, target);
    let far = program(jump, 32768);
    let expected = [
        Instruction::new(0x46, 1, 0, 1, 5),
        Instruction::new(0x05, 0, 0, 1, 0),
        Instruction::new(0x06, 0, 0, 0, 32768),
    ];
    assert_eq!(far[..3], expected);
    assert_eq!(far.len(), 32772);
}

#[test]
fn a_far_jump_pushes_others_apart() {
    // The first jump is near only as long as the second one takes one slot.
    let (near, far) = (Label(0), Label(1));
    let mut code = vec![
        Insn::Jump { target: near },
        Insn::jump_if32(Condition::Equal, Reg::R0, 1, far),
    ];
    code.resize(2 + 32766, Insn::mov(Reg::R0, 0));
    code.push(Insn::Place(near));
    code.extend([Insn::mov(Reg::R0, 0); 2]);
    code.push(Insn::Place(far));
    code.push(Insn::Exit);
    let slots = assemble(&code).unwrap();
    assert_eq!(slots[0], Instruction::new(0x06, 0, 0, 0, 32769));
    assert_eq!(slots[3], Instruction::new(0x06, 0, 0, 0, 32768));
}
