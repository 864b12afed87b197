//! Compares rules and verdicts with the running kernel.

use crate::programs;
use proptest::prelude::*;
use socket2::{SockFilter, SockRef};
use std::os::unix::net::UnixDatagram;
use tapline_filter::classic::{
    Ancillary, ClassicProgram, Instruction, KernelRule, MAX_INSTRUCTIONS, opcode, run_unchecked,
};

/// Two connected sockets; a filter on the second receives what the first sends.
fn pair() -> (UnixDatagram, UnixDatagram) {
    let (sender, receiver) = UnixDatagram::pair().unwrap();
    receiver.set_nonblocking(true).unwrap();
    (sender, receiver)
}

fn kernel_accepts(receiver: &UnixDatagram, list: &[Instruction]) -> bool {
    let list: Vec<_> = list
        .iter()
        .map(|i| SockFilter::new(i.code, i.jt, i.jf, i.k))
        .collect();
    match SockRef::from(receiver).attach_filter(&list) {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
            false
        }
    }
}

/// Bytes of `packet` that the kernel passes.
fn kernel_keeps((sender, receiver): &(UnixDatagram, UnixDatagram), packet: &[u8]) -> usize {
    sender.send(packet).unwrap();
    match receiver.recv(&mut [0; 256]) {
        Ok(count) => count,
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}");
            0
        }
    }
}

fn assert_same_rules(list: &[Instruction]) -> Option<KernelRule> {
    let (_sender, receiver) = pair();
    let ours = ClassicProgram::new(list.to_vec());
    assert_eq!(
        ours.is_ok(),
        kernel_accepts(&receiver, list),
        "{ours:?} {list:?}"
    );
    ours.err().map(|error| error.rule)
}

#[test]
fn each_rule_is_the_kernels() {
    let ret = Instruction::new(opcode::RET_K, 1);
    let broken = |instruction| assert_same_rules(&[instruction, ret]);
    let with = Instruction::new;
    assert_eq!(assert_same_rules(&[]), Some(KernelRule::Empty));
    assert_eq!(broken(with(0xff, 0)), Some(KernelRule::Opcode(0xff)));
    // BPF_RET|BPF_X is defined in the header, but rejected.
    assert_eq!(broken(with(0x0e, 0)), Some(KernelRule::Opcode(0x0e)));
    assert_eq!(
        broken(with(opcode::DIV_K, 0)),
        Some(KernelRule::DivisionByZero)
    );
    assert_eq!(
        broken(with(opcode::MOD_K, 0)),
        Some(KernelRule::DivisionByZero)
    );
    assert_eq!(broken(with(opcode::LSH_K, 32)), Some(KernelRule::Shift(32)));
    assert_eq!(broken(with(opcode::RSH_K, 31)), None);
    assert_eq!(broken(with(opcode::ST, 16)), Some(KernelRule::Memory(16)));
    assert_eq!(
        broken(with(opcode::LD_MEM, 3)),
        Some(KernelRule::Uninitialised(3))
    );
    assert_eq!(broken(with(opcode::JA, 1)), Some(KernelRule::Jump));
    assert_eq!(broken(with(opcode::JA, u32::MAX)), Some(KernelRule::Jump));
    assert_eq!(broken(with(opcode::JA, 0)), None);
    assert_eq!(
        broken(Instruction::jump(opcode::JEQ_K, 0, 0, 1)),
        Some(KernelRule::Jump)
    );
    let unknown = Ancillary::BASE + 64;
    assert_eq!(
        broken(with(opcode::LD_W_ABS, unknown)),
        Some(KernelRule::Ancillary(unknown))
    );
    assert_eq!(
        assert_same_rules(&[with(opcode::TAX, 0)]),
        Some(KernelRule::NoReturn)
    );
}

#[test]
fn memory_written_on_one_of_two_paths_is_uninitialised() {
    let list = [
        Instruction::jump(opcode::JEQ_K, 0, 1, 0),
        Instruction::new(opcode::ST, 5),
        Instruction::new(opcode::LD_MEM, 5),
        Instruction::new(opcode::RET_A, 0),
    ];
    assert_eq!(assert_same_rules(&list), Some(KernelRule::Uninitialised(5)));
}

#[test]
fn the_longest_program_is_the_kernels() {
    let mut list = vec![Instruction::new(opcode::RET_K, 1); MAX_INSTRUCTIONS];
    assert_eq!(assert_same_rules(&list), None);
    list.push(Instruction::new(opcode::RET_K, 1));
    assert_eq!(
        assert_same_rules(&list),
        Some(KernelRule::TooLong(MAX_INSTRUCTIONS))
    );
    // User space runs it, checked or not.
    assert_eq!(run_unchecked(&list, &[], 0), 1);
    let program = ClassicProgram::for_user_space(list).expect("a valid program");
    assert_eq!(program.run(&[], 0), 1);
}

#[test]
fn a_program_without_an_end_rejects_when_nobody_checked_it() {
    let endless = [
        Instruction::new(opcode::LD_IMM, 7),
        Instruction::new(opcode::JA, u32::MAX),
    ];
    assert_eq!(run_unchecked(&endless, &[0; 60], 60), 0);
    assert_eq!(run_unchecked(&[], &[0; 60], 60), 0);
    assert_eq!(run_unchecked(&[Instruction::new(0xffff, 0)], &[], 0), 0);
    let word_that_is_not_there = [Instruction::new(opcode::LD_MEM, 99)];
    assert_eq!(run_unchecked(&word_that_is_not_there, &[], 0), 0);
}

/// Our verdict on `packet`, limited to the range in which the kernel's is visible.
fn ours_keeps(program: &ClassicProgram, packet: &[u8]) -> usize {
    (program.run(packet, packet.len() as u32) as usize).min(packet.len())
}

#[test]
fn shifts_and_offsets_wrap_as_in_the_kernel() {
    let program = |body: &[Instruction]| {
        let mut list = body.to_vec();
        list.push(Instruction::new(opcode::RET_A, 0));
        list
    };
    let with = Instruction::new;
    let cases = [
        program(&[
            with(opcode::LD_IMM, 1),
            with(opcode::LDX_IMM, 33),
            with(opcode::LSH_X, 0),
        ]),
        program(&[
            with(opcode::LD_IMM, 8),
            with(opcode::LDX_IMM, 32),
            with(opcode::RSH_X, 0),
        ]),
        program(&[with(opcode::LDX_IMM, 1), with(opcode::LD_B_IND, u32::MAX)]),
        program(&[with(opcode::LDX_IMM, u32::MAX), with(opcode::LD_B_IND, 1)]),
        program(&[
            with(opcode::LD_IMM, 9),
            with(opcode::LDX_IMM, 12),
            with(opcode::LD_W_ABS, Ancillary::BASE + 40),
        ]),
    ];
    let packet = [7; 64];
    for (list, expected) in cases.into_iter().zip([2, 8, 7, 7, 5]) {
        let sockets = pair();
        assert!(kernel_accepts(&sockets.1, &list));
        assert_eq!(kernel_keeps(&sockets, &packet), expected);
        assert_eq!(
            ours_keeps(&ClassicProgram::new(list).unwrap(), &packet),
            expected
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_program_is_accepted_or_refused_as_by_the_kernel(list in programs::any_instructions()) {
        assert_same_rules(&list);
    }

    #[test]
    fn every_verdict_is_the_kernels(
        list in programs::valid_instructions(),
        packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..70), 1..8),
    ) {
        let sockets = pair();
        prop_assert!(kernel_accepts(&sockets.1, &list));
        let program = ClassicProgram::new(list).unwrap();
        for packet in packets {
            prop_assert_eq!(ours_keeps(&program, &packet), kernel_keeps(&sockets, &packet));
        }
    }
}
