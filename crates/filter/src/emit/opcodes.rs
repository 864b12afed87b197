use crate::classic::opcode;
use crate::graph::values::Width;
use crate::language::tree::Operator;

/// Load at a fixed offset.
pub(super) fn absolute(width: Width) -> u16 {
    match width {
        Width::Byte => opcode::LD_B_ABS,
        Width::Half => opcode::LD_H_ABS,
        Width::Word => opcode::LD_W_ABS,
    }
}

/// Load at an offset from the index register.
pub(super) fn indirect(width: Width) -> u16 {
    match width {
        Width::Byte => opcode::LD_B_IND,
        Width::Half => opcode::LD_H_IND,
        Width::Word => opcode::LD_W_IND,
    }
}

/// The operation with a constant, and with the index register.
pub(super) fn binary(operator: Operator) -> (u16, u16) {
    match operator {
        Operator::Add => (opcode::ADD_K, opcode::ADD_X),
        Operator::Subtract => (opcode::SUB_K, opcode::SUB_X),
        Operator::Multiply => (opcode::MUL_K, opcode::MUL_X),
        Operator::Divide => (opcode::DIV_K, opcode::DIV_X),
        Operator::Modulo => (opcode::MOD_K, opcode::MOD_X),
        Operator::And => (opcode::AND_K, opcode::AND_X),
        Operator::Or => (opcode::OR_K, opcode::OR_X),
        Operator::Xor => (opcode::XOR_K, opcode::XOR_X),
        Operator::ShiftLeft => (opcode::LSH_K, opcode::LSH_X),
        Operator::ShiftRight => (opcode::RSH_K, opcode::RSH_X),
    }
}
