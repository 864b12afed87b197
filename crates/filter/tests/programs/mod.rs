//! Random programs, shared by the tests.

use proptest::prelude::*;
use tapline_filter::classic::{Ancillary, Instruction, opcode};

fn code() -> impl Strategy<Value = u16> {
    prop_oneof![
        20 => proptest::sample::select(opcode::ALL),
        1 => any::<u16>(),
        1 => 0_u16..256,
    ]
}

fn operand() -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => 0_u32..40,
        2 => any::<u32>(),
        1 => Ancillary::BASE..Ancillary::BASE + 80,
        1 => 0xffff_ff00_u32..=u32::MAX,
    ]
}

fn instruction() -> impl Strategy<Value = Instruction> {
    (code(), operand(), 0_u8..4, 0_u8..4).prop_map(|(code, k, jt, jf)| Instruction {
        code,
        jt,
        jf,
        k,
    })
}

/// Any list of instructions. Most violate a rule, at a random position.
pub fn any_instructions() -> impl Strategy<Value = Vec<Instruction>> {
    (
        proptest::collection::vec(instruction(), 0..12),
        any::<bool>(),
    )
        .prop_map(|(mut list, ends)| {
            if ends {
                list.push(Instruction::new(opcode::RET_A, 0));
            }
            list
        })
}

/// Instructions corrected to satisfy all rules; all scratch memory is initialized first.
pub fn valid_instructions() -> impl Strategy<Value = Vec<Instruction>> {
    proptest::collection::vec(instruction(), 0..40).prop_map(|random| {
        let mut list: Vec<_> = (0..16).map(|k| Instruction::new(opcode::ST, k)).collect();
        let count = random.len();
        for (index, mut instruction) in random.into_iter().enumerate() {
            // The return after the random part is at most `behind - 1` instructions away.
            let behind = count - index;
            instruction.code = match instruction.code {
                code if opcode::ALL.contains(&code) => code,
                code => opcode::ALL[usize::from(code) % opcode::ALL.len()],
            };
            let k = &mut instruction.k;
            match instruction.code {
                opcode::ST | opcode::STX | opcode::LD_MEM | opcode::LDX_MEM => *k %= 16,
                opcode::LSH_K | opcode::RSH_K => *k %= 32,
                opcode::DIV_K | opcode::MOD_K => *k = (*k).max(1),
                opcode::JA => *k %= behind as u32,
                opcode::LD_W_ABS | opcode::LD_H_ABS | opcode::LD_B_ABS => *k &= 0x7fff_ffff,
                _ => {}
            }
            let reach = (behind - 1).min(255) as u8;
            instruction.jt = instruction.jt.min(reach);
            instruction.jf = instruction.jf.min(reach);
            list.push(instruction);
        }
        list.push(Instruction::new(opcode::RET_A, 0));
        list
    })
}
