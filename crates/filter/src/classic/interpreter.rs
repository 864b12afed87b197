//! Interprets classic BPF programs.

use crate::classic::ancillary::Ancillary;
use crate::classic::check::MEMORY_WORDS;
use crate::classic::instruction::Instruction;
use crate::classic::opcode;
use crate::classic::program::ClassicProgram;

impl ClassicProgram {
    /// The number of bytes of `packet` to keep; 0 rejects it.
    ///
    /// `packet` is the captured part, `original_len` the length on the wire in bytes. There is no
    /// metadata: see [`Ancillary`]. Never allocates; each instruction runs at most once.
    pub fn run(&self, packet: &[u8], original_len: u32) -> u32 {
        self.run_with(packet, original_len, &Ancillary::default())
    }

    /// The same as [`ClassicProgram::run`], with metadata.
    ///
    /// The verdict is the kernel's, also where libpcap's interpreter differs: a shift by `X` uses
    /// its low five bits, and `X + k` wraps at 32 bits. A load outside `packet`, or of an unknown
    /// ancillary value, rejects the packet. So do loads relative to a header (`SKF_NET_OFF`,
    /// `SKF_LL_OFF`).
    ///
    /// # Source
    /// `bpf_convert_filter`, net/core/filter.c.
    pub fn run_with(&self, packet: &[u8], original_len: u32, ancillary: &Ancillary) -> u32 {
        run(self.instructions(), packet, original_len, ancillary)
    }
}

/// Runs a program that nobody has checked. An invalid one rejects the packet when it comes to an instruction that is unknown,
/// or to its end.
pub fn run_unchecked(program: &[Instruction], packet: &[u8], original_len: u32) -> u32 {
    run(program, packet, original_len, &Ancillary::default())
}

fn run(program: &[Instruction], packet: &[u8], original_len: u32, ancillary: &Ancillary) -> u32 {
    let mut interpreter = Interpreter {
        packet,
        original_len,
        ancillary,
        a: 0,
        x: 0,
        memory: [0; MEMORY_WORDS],
    };
    let mut rest = program.iter().copied();
    // Every iteration consumes at least one instruction of `rest`. A checked program reaches a return.
    while let Some(instruction) = rest.next() {
        match interpreter.step(instruction) {
            Flow::Next | Flow::Skip(0) => {}
            Flow::Skip(count) => {
                rest.nth(count as usize - 1);
            }
            Flow::Return(verdict) => return verdict,
        }
    }
    0
}

enum Flow {
    Next,
    Skip(u32),
    Return(u32),
}

struct Interpreter<'a> {
    packet: &'a [u8],
    original_len: u32,
    ancillary: &'a Ancillary,
    a: u32,
    x: u32,
    memory: [u32; MEMORY_WORDS],
}

impl Interpreter<'_> {
    // One match over all opcodes, so that it compiles to one jump table.
    #[inline]
    fn step(&mut self, instruction: Instruction) -> Flow {
        let Instruction { code, k, .. } = instruction;
        let x = self.x;
        let indirect = x.wrapping_add(k);
        match code {
            opcode::LD_W_ABS => return self.load_absolute(k, Self::word),
            opcode::LD_H_ABS => return self.load_absolute(k, Self::half),
            opcode::LD_B_ABS => return self.load_absolute(k, Self::byte),
            opcode::LD_W_IND => return self.load(self.word(indirect)),
            opcode::LD_H_IND => return self.load(self.half(indirect)),
            opcode::LD_B_IND => return self.load(self.byte(indirect)),
            opcode::LDX_MSH => match self.byte(k) {
                Some(byte) => self.x = (byte & 15) * 4,
                None => return Flow::Return(0),
            },
            opcode::LD_IMM => self.a = k,
            opcode::LD_MEM => self.a = self.memory[k as usize % MEMORY_WORDS],
            opcode::LD_LEN => self.a = self.original_len,
            opcode::LDX_IMM => self.x = k,
            opcode::LDX_MEM => self.x = self.memory[k as usize % MEMORY_WORDS],
            opcode::LDX_LEN => self.x = self.original_len,
            opcode::ST => self.memory[k as usize % MEMORY_WORDS] = self.a,
            opcode::STX => self.memory[k as usize % MEMORY_WORDS] = x,
            opcode::ADD_K => self.a = self.a.wrapping_add(k),
            opcode::ADD_X => self.a = self.a.wrapping_add(x),
            opcode::SUB_K => self.a = self.a.wrapping_sub(k),
            opcode::SUB_X => self.a = self.a.wrapping_sub(x),
            opcode::MUL_K => self.a = self.a.wrapping_mul(k),
            opcode::MUL_X => self.a = self.a.wrapping_mul(x),
            opcode::DIV_K => return self.load(self.a.checked_div(k)),
            opcode::DIV_X => return self.load(self.a.checked_div(x)),
            opcode::MOD_K => return self.load(self.a.checked_rem(k)),
            opcode::MOD_X => return self.load(self.a.checked_rem(x)),
            opcode::OR_K => self.a |= k,
            opcode::OR_X => self.a |= x,
            opcode::AND_K => self.a &= k,
            opcode::AND_X => self.a &= x,
            opcode::XOR_K => self.a ^= k,
            opcode::XOR_X => self.a ^= x,
            opcode::LSH_K => self.a = self.a.wrapping_shl(k),
            opcode::LSH_X => self.a = self.a.wrapping_shl(x),
            opcode::RSH_K => self.a = self.a.wrapping_shr(k),
            opcode::RSH_X => self.a = self.a.wrapping_shr(x),
            opcode::NEG => self.a = self.a.wrapping_neg(),
            opcode::TAX => self.x = self.a,
            opcode::TXA => self.a = x,
            opcode::JA => return Flow::Skip(k),
            opcode::JEQ_K => return instruction.branch(self.a == k),
            opcode::JEQ_X => return instruction.branch(self.a == x),
            opcode::JGT_K => return instruction.branch(self.a > k),
            opcode::JGT_X => return instruction.branch(self.a > x),
            opcode::JGE_K => return instruction.branch(self.a >= k),
            opcode::JGE_X => return instruction.branch(self.a >= x),
            opcode::JSET_K => return instruction.branch(self.a & k != 0),
            opcode::JSET_X => return instruction.branch(self.a & x != 0),
            opcode::RET_K => return Flow::Return(k),
            opcode::RET_A => return Flow::Return(self.a),
            _ => return Flow::Return(0),
        }
        Flow::Next
    }

    /// Sets `A`, or ends the program if there is no value.
    #[inline]
    fn load(&mut self, value: Option<u32>) -> Flow {
        match value {
            Some(value) => {
                self.a = value;
                Flow::Next
            }
            None => Flow::Return(0),
        }
    }

    #[inline]
    fn load_absolute(&mut self, k: u32, read: impl Fn(&Self, u32) -> Option<u32>) -> Flow {
        let value = match read(self, k) {
            None if k >= Ancillary::BASE => self.ancillary.load(k, self.a, self.x),
            value => value,
        };
        self.load(value)
    }

    #[inline]
    fn word(&self, at: u32) -> Option<u32> {
        let bytes = self.packet.get(at as usize..)?.first_chunk()?;
        Some(u32::from_be_bytes(*bytes))
    }

    #[inline]
    fn half(&self, at: u32) -> Option<u32> {
        let bytes = self.packet.get(at as usize..)?.first_chunk()?;
        Some(u32::from(u16::from_be_bytes(*bytes)))
    }

    #[inline]
    fn byte(&self, at: u32) -> Option<u32> {
        self.packet.get(at as usize).map(|&byte| u32::from(byte))
    }
}

impl Instruction {
    #[inline]
    fn branch(self, holds: bool) -> Flow {
        Flow::Skip(u32::from(if holds { self.jt } else { self.jf }))
    }
}
