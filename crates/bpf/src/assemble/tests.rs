//! Slots are compared with RFC 9669's encoding, written out by hand.

use super::*;
use crate::insn::Condition;

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
        Insn::Exit,
    ])
    .unwrap();
    let expected = [
        Instruction::new(0xbf, 2, 10, 0, 0),
        Instruction::new(0x07, 2, 0, 0, -68),
        Instruction::new(0x69, 3, 6, 16, 0),
        Instruction::new(0xdb, 9, 1, 8, 0),
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
fn the_longest_jump_is_32767_slots() {
    let target = Label(0);
    let program = |slots: usize| {
        let mut code = vec![Insn::Jump { target }];
        code.resize(slots + 1, Insn::mov(Reg::R0, 0));
        code.push(Insn::Place(target));
        code.push(Insn::Exit);
        assemble(&code)
    };
    assert_eq!(program(32767).unwrap()[0].offset(), 32767);
    let error = program(32768).unwrap_err();
    assert_eq!(
        error,
        AssembleError::TooFar {
            label: target,
            slots: 32768
        }
    );
}
