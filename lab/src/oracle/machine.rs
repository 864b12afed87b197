//! Interprets classic BPF by libpcap's and by the kernel's rules.

use filter::classic::{Instruction, opcode};

use super::packet::Packet;

/// Maximum steps of a run. Only libpcap's `protochain` loops, for some packets forever.
const MOST_STEPS: u32 = 50_000;
const WORDS: usize = 16;
/// Start of the ancillary offsets in the kernel. To libpcap these offsets are beyond the end of every packet.
const ANCILLARY: u32 = (-0x1000_i32).cast_unsigned();

/// The rules by which the two classic BPF interpreters differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// A shift uses the low five bits of `X`; `X + k` wraps at 32 bits.
    Kernel,
    /// A shift by 32 or more gives 0. A load at an `X + k` beyond 32 bits rejects the packet.
    Libpcap,
}

/// Result of a load of missing bytes and of a division by zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Rejects the packet, as real interpreters do.
    Refuses,
    /// Substitutes a value derived from this seed: always the same for one byte of the packet, and a new one for each
    /// division.
    Anything(u32),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At a return instruction.
    Returned,
    /// At a load of bytes that the packet lacks.
    Missing,
    /// At a division by zero.
    Divided,
    /// At the step limit or at an invalid instruction.
    Lost,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes to keep; 0 rejects the packet.
    pub value: u32,
    /// How it ended.
    pub end: End,
    /// Whether the run executed a shift or an offset that the two [`Rules`] handle differently.
    pub depends_on_rules: bool,
    /// Whether the run read a word of scratch memory that no instruction had written, or that had only served as a
    /// temporary. libpcap reserves words and writes some of them on one path only.
    pub reads_unset: bool,
}

/// Runs a program compiled by libpcap on `packet`. Jumps may go backwards.
///
/// Ancillary data is not available.
///
/// # Source
/// `pcapint_filter_with_aux_data`, bpf_filter.c of libpcap; `bpf_convert_filter`, net/core/filter.c.
pub fn trace(program: &[Instruction], packet: &Packet, rules: Rules) -> Outcome {
    trace_with(program, packet, rules, Missing::Refuses)
}

/// Like [`trace`], with substitute values for missing data.
pub fn trace_with(
    program: &[Instruction],
    packet: &Packet,
    rules: Rules,
    missing: Missing,
) -> Outcome {
    let mut machine = Machine {
        packet,
        rules,
        missing,
        fill: match missing {
            Missing::Refuses => 0,
            Missing::Anything(seed) => seed,
        },
        a: 0,
        x: 0,
        memory: [0; WORDS],
        depends_on_rules: false,
        words: [Word::Unset; WORDS],
        block: 0,
        reads_unset: false,
    };
    let mut at = 0;
    for _ in 0..MOST_STEPS {
        let Some(&instruction) = program.get(at) else {
            break;
        };
        match machine.step(instruction) {
            Ok(skip) => {
                machine.block += u32::from(is_jump(instruction.code));
                at = at
                    .wrapping_add(1)
                    .wrapping_add((skip as isize).cast_unsigned());
            }
            Err((value, end)) => return machine.outcome(value, end),
        }
    }
    machine.outcome(0, End::Lost)
}

fn is_jump(code: u16) -> bool {
    code & 7 == opcode::JA
}

struct Machine<'a> {
    packet: &'a Packet,
    rules: Rules,
    missing: Missing,
    /// Seed of the substitutes for missing bytes.
    fill: u32,
    a: u32,
    x: u32,
    memory: [u32; WORDS],
    depends_on_rules: bool,
    words: [Word; WORDS],
    /// Number of jumps so far. It identifies the current basic block.
    block: u32,
    reads_unset: bool,
}

/// State of a word of scratch memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Unset,
    /// Written in this basic block.
    Written(u32),
    /// Written and read in this basic block: an operand of arithmetic.
    Used(u32),
}

/// The number of instructions to skip, or the value and how the run ended.
type Step = Result<i32, (u32, End)>;

impl Machine<'_> {
    fn outcome(&self, value: u32, end: End) -> Outcome {
        Outcome {
            value,
            end,
            depends_on_rules: self.depends_on_rules,
            reads_unset: self.reads_unset,
        }
    }

    fn read(&mut self, word: u32) -> u32 {
        let word = word as usize % WORDS;
        match self.words[word] {
            Word::Unset => self.reads_unset = true,
            Word::Written(block) if block == self.block => self.words[word] = Word::Used(block),
            Word::Used(block) if block != self.block => self.reads_unset = true,
            Word::Written(_) | Word::Used(_) => {}
        }
        self.memory[word]
    }

    fn write(&mut self, word: u32, value: u32) {
        let word = word as usize % WORDS;
        self.words[word] = Word::Written(self.block);
        self.memory[word] = value;
    }

    fn step(&mut self, instruction: Instruction) -> Step {
        let Instruction { code, jt, jf, k } = instruction;
        let branch = |holds: bool| Ok(i32::from(if holds { jt } else { jf }));
        let operand = if code & 8 != 0 { self.x } else { k };
        match code {
            opcode::LD_IMM => self.a = k,
            opcode::LD_W_ABS => self.a = self.load(k, 4)?,
            opcode::LD_H_ABS => self.a = self.load(k, 2)?,
            opcode::LD_B_ABS => self.a = self.load(k, 1)?,
            opcode::LD_W_IND => self.a = self.indirect(k, 4)?,
            opcode::LD_H_IND => self.a = self.indirect(k, 2)?,
            opcode::LD_B_IND => self.a = self.indirect(k, 1)?,
            opcode::LD_MEM => self.a = self.read(k),
            opcode::LD_LEN => self.a = self.packet.original_len,
            opcode::LDX_IMM => self.x = k,
            opcode::LDX_MEM => self.x = self.read(k),
            opcode::LDX_LEN => self.x = self.packet.original_len,
            opcode::LDX_MSH => self.x = (self.load(k, 1)? & 15) << 2,
            opcode::ST => self.write(k, self.a),
            opcode::STX => self.write(k, self.x),
            opcode::TAX => self.x = self.a,
            opcode::TXA => self.a = self.x,
            opcode::NEG => self.a = self.a.wrapping_neg(),
            opcode::JA => return Ok(k.cast_signed()),
            opcode::JEQ_K | opcode::JEQ_X => return branch(self.a == operand),
            opcode::JGT_K | opcode::JGT_X => return branch(self.a > operand),
            opcode::JGE_K | opcode::JGE_X => return branch(self.a >= operand),
            opcode::JSET_K | opcode::JSET_X => return branch(self.a & operand != 0),
            opcode::RET_K => return Err((k, End::Returned)),
            opcode::RET_A => return Err((self.a, End::Returned)),
            _ => self.a = self.compute(code & !8, operand)?,
        }
        Ok(0)
    }

    fn compute(&mut self, code: u16, operand: u32) -> Result<u32, (u32, End)> {
        let a = self.a;
        Ok(match code {
            opcode::ADD_K => a.wrapping_add(operand),
            opcode::SUB_K => a.wrapping_sub(operand),
            opcode::MUL_K => a.wrapping_mul(operand),
            opcode::DIV_K => match a.checked_div(operand) {
                Some(result) => result,
                None => self.without(4, End::Divided)?,
            },
            opcode::MOD_K => match a.checked_rem(operand) {
                Some(result) => result,
                None => self.without(4, End::Divided)?,
            },
            opcode::AND_K => a & operand,
            opcode::OR_K => a | operand,
            opcode::XOR_K => a ^ operand,
            opcode::LSH_K => self.shifted(operand, u32::wrapping_shl),
            opcode::RSH_K => self.shifted(operand, u32::wrapping_shr),
            _ => return Err((0, End::Lost)),
        })
    }

    fn shifted(&mut self, bits: u32, shift: fn(u32, u32) -> u32) -> u32 {
        if bits > 31 {
            self.depends_on_rules = true;
            if self.rules == Rules::Libpcap {
                return 0;
            }
        }
        shift(self.a, bits)
    }

    fn indirect(&mut self, k: u32, bytes: usize) -> Result<u32, (u32, End)> {
        let (at, wraps) = self.x.overflowing_add(k);
        if wraps {
            self.depends_on_rules = true;
            if self.rules == Rules::Libpcap {
                return self.without(bytes, End::Missing);
            }
        }
        self.load(at, bytes)
    }

    /// Loads the big-endian number of `bytes` bytes at `at`.
    fn load(&mut self, at: u32, bytes: usize) -> Result<u32, (u32, End)> {
        if at >= ANCILLARY {
            return self.without(bytes, End::Missing);
        }
        let mut number = 0;
        for at in (at as usize..).take(bytes) {
            let byte = match (self.packet.bytes.get(at), &self.missing) {
                (Some(&byte), _) => byte,
                (None, Missing::Refuses) => return Err((0, End::Missing)),
                // The substitute for a byte is the same for all loads that contain it.
                (None, Missing::Anything(_)) => missing_byte(self.fill, at),
            };
            number = number << 8 | u32::from(byte);
        }
        Ok(number)
    }

    /// The substitute for a missing number of `bytes` bytes.
    fn without(&mut self, bytes: usize, end: End) -> Result<u32, (u32, End)> {
        match &mut self.missing {
            Missing::Refuses => Err((0, end)),
            Missing::Anything(seed) => {
                *seed = seed.wrapping_mul(0x9e37_79b1).rotate_left(13) ^ 0x5bd1_e995;
                Ok(*seed >> (32 - 8 * bytes))
            }
        }
    }
}

/// The substitute for the missing byte at `at`.
fn missing_byte(fill: u32, at: usize) -> u8 {
    let mixed = (fill ^ at as u32).wrapping_mul(0x9e37_79b1);
    ((mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b) >> 24) as u8
}
