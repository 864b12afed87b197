//! Listings of classic BPF programs, as `tcpdump -d` prints them.

use crate::classic::ancillary::Ancillary;
use crate::classic::instruction::Instruction;
use crate::classic::opcode;
use crate::classic::program::ClassicProgram;
use std::fmt;

/// A program in the notation of `tcpdump -d`, one instruction a line. Created by
/// [`ClassicProgram::listing`].
#[derive(Clone, Copy, Debug)]
pub struct ClassicListing<'a>(&'a ClassicProgram);

impl ClassicProgram {
    /// The listing of the program: `(000) ldh      [12]` and so on, with line numbers as jump
    /// targets.
    pub fn listing(&self) -> ClassicListing<'_> {
        ClassicListing(self)
    }
}

impl fmt::Display for ClassicListing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, instruction) in self.0.instructions().iter().copied().enumerate() {
            writeln!(f, "{}", instruction.listed(index))?;
        }
        Ok(())
    }
}

/// A line of a listing. Created by [`Instruction::listed`].
#[derive(Clone, Copy, Debug)]
pub struct ListedInstruction {
    instruction: Instruction,
    index: usize,
}

impl Instruction {
    /// The line of the instruction in a listing of a program in which it has the number `index`. An operation that does not exist
    /// is `unimp`.
    pub fn listed(self, index: usize) -> ListedInstruction {
        ListedInstruction {
            instruction: self,
            index,
        }
    }
}

impl fmt::Display for ListedInstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instruction, index } = *self;
        let Instruction { code, jt, jf, k } = instruction;
        let (name, operand) = words(instruction);
        write!(f, "({index:03}) {name:<8} ")?;
        let is_branch = code & 7 == opcode::JA && code & 0xf0 != 0;
        operand.write(f, k, index, if is_branch { 16 } else { 0 })?;
        if is_branch {
            let target = |skip: u8| index + 1 + usize::from(skip);
            write!(f, " jt {}\tjf {}", target(jt), target(jf))?;
        }
        Ok(())
    }
}

/// The notation of an operand.
#[derive(Clone, Copy)]
enum Operand {
    None,
    Decimal,
    Hexadecimal,
    Absolute,
    Indirect,
    Memory,
    HeaderLength,
    Length,
    X,
    Target,
    /// An operation that does not exist, by its number.
    Unknown(u16),
}

impl Operand {
    fn write(self, f: &mut fmt::Formatter<'_>, k: u32, index: usize, width: usize) -> fmt::Result {
        let signed = k.cast_signed();
        let text = match self {
            Self::None => String::new(),
            Self::Decimal => format!("#{signed}"),
            Self::Hexadecimal => format!("#{k:#x}"),
            Self::Absolute => match Ancillary::name(k) {
                Some(name) => format!("[{name}]"),
                None => format!("[{signed}]"),
            },
            Self::Indirect => format!("[x + {signed}]"),
            Self::Memory => format!("M[{k}]"),
            Self::HeaderLength => format!("4*([{signed}]&0xf)"),
            Self::Length => "#pktlen".to_owned(),
            Self::X => "x".to_owned(),
            Self::Target => format!(
                "{}",
                (index as u32).wrapping_add(k).wrapping_add(1).cast_signed()
            ),
            Self::Unknown(code) => format!("{code:#x}"),
        };
        write!(f, "{text:<width$}")
    }
}

fn words(instruction: Instruction) -> (&'static str, Operand) {
    match instruction.code {
        opcode::LD_IMM => ("ld", Operand::Hexadecimal),
        opcode::LD_W_ABS => ("ld", Operand::Absolute),
        opcode::LD_H_ABS => ("ldh", Operand::Absolute),
        opcode::LD_B_ABS => ("ldb", Operand::Absolute),
        opcode::LD_W_IND => ("ld", Operand::Indirect),
        opcode::LD_H_IND => ("ldh", Operand::Indirect),
        opcode::LD_B_IND => ("ldb", Operand::Indirect),
        opcode::LD_MEM => ("ld", Operand::Memory),
        opcode::LD_LEN => ("ld", Operand::Length),
        opcode::LDX_IMM => ("ldx", Operand::Hexadecimal),
        opcode::LDX_MEM => ("ldx", Operand::Memory),
        opcode::LDX_LEN => ("ldx", Operand::Length),
        opcode::LDX_MSH => ("ldxb", Operand::HeaderLength),
        opcode::ST => ("st", Operand::Memory),
        opcode::STX => ("stx", Operand::Memory),
        opcode::ADD_K => ("add", Operand::Decimal),
        opcode::ADD_X => ("add", Operand::X),
        opcode::SUB_K => ("sub", Operand::Decimal),
        opcode::SUB_X => ("sub", Operand::X),
        opcode::MUL_K => ("mul", Operand::Decimal),
        opcode::MUL_X => ("mul", Operand::X),
        opcode::DIV_K => ("div", Operand::Decimal),
        opcode::DIV_X => ("div", Operand::X),
        opcode::MOD_K => ("mod", Operand::Decimal),
        opcode::MOD_X => ("mod", Operand::X),
        opcode::OR_K => ("or", Operand::Hexadecimal),
        opcode::OR_X => ("or", Operand::X),
        opcode::AND_K => ("and", Operand::Hexadecimal),
        opcode::AND_X => ("and", Operand::X),
        opcode::XOR_K => ("xor", Operand::Hexadecimal),
        opcode::XOR_X => ("xor", Operand::X),
        opcode::LSH_K => ("lsh", Operand::Decimal),
        opcode::LSH_X => ("lsh", Operand::X),
        opcode::RSH_K => ("rsh", Operand::Decimal),
        opcode::RSH_X => ("rsh", Operand::X),
        opcode::NEG => ("neg", Operand::None),
        opcode::JA => ("ja", Operand::Target),
        opcode::JEQ_K => ("jeq", Operand::Hexadecimal),
        opcode::JEQ_X => ("jeq", Operand::X),
        opcode::JGT_K => ("jgt", Operand::Hexadecimal),
        opcode::JGT_X => ("jgt", Operand::X),
        opcode::JGE_K => ("jge", Operand::Hexadecimal),
        opcode::JGE_X => ("jge", Operand::X),
        opcode::JSET_K => ("jset", Operand::Hexadecimal),
        opcode::JSET_X => ("jset", Operand::X),
        opcode::RET_K => ("ret", Operand::Decimal),
        opcode::RET_A => ("ret", Operand::None),
        opcode::TAX => ("tax", Operand::None),
        opcode::TXA => ("txa", Operand::None),
        code => ("unimp", Operand::Unknown(code)),
    }
}
