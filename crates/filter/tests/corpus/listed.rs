use tapline_filter::classic::{Ancillary, ClassicProgram, Instruction, opcode};

/// A program as libpcap lists it.
pub struct Listed {
    instructions: Vec<Instruction>,
    program: Option<ClassicProgram>,
}

/// Maximum number of steps of a program that jumps backwards.
const MOST_STEPS: usize = 10_000;

impl Listed {
    pub fn parse(listing: &str) -> Self {
        let instructions: Vec<_> = listing.lines().enumerate().map(instruction).collect();
        // libpcap reads uninitialized words; its interpreter returns 0 for them.
        let zeros = (0..16).map(|k| Instruction {
            code: opcode::ST,
            jt: 0,
            jf: 0,
            k,
        });
        let program = ClassicProgram::new(instructions.clone())
            .or_else(|_| ClassicProgram::new(zeros.chain(instructions.clone()).collect()))
            .ok();
        Self {
            instructions,
            program,
        }
    }

    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// The verdict; `None` if the program does not end.
    pub fn run(&self, packet: &[u8], length: u32, ancillary: &Ancillary) -> Option<u32> {
        match &self.program {
            Some(program) => Some(program.run_with(packet, length, ancillary)),
            None => self.run_loops(packet),
        }
    }

    /// Runs a program that jumps backwards, as those of `protochain` do.
    fn run_loops(&self, packet: &[u8]) -> Option<u32> {
        let (mut a, mut x, mut memory) = (0u32, 0u32, [0u32; 16]);
        let byte = |at: u32| packet.get(at as usize).map(|&byte| u32::from(byte));
        let mut at = 0usize;
        for _ in 0..MOST_STEPS {
            let Instruction { code, jt, jf, k } = self.instructions[at];
            at += 1;
            let branch = |holds: bool| usize::from(if holds { jt } else { jf });
            match code {
                opcode::LD_B_ABS => match byte(k) {
                    Some(byte) => a = byte,
                    None => return Some(0),
                },
                opcode::LD_B_IND => match byte(x.wrapping_add(k)) {
                    Some(byte) => a = byte,
                    None => return Some(0),
                },
                opcode::LDX_MSH => match byte(k) {
                    Some(byte) => x = (byte & 15) * 4,
                    None => return Some(0),
                },
                opcode::LD_MEM => a = memory[k as usize],
                opcode::LDX_IMM => x = k,
                opcode::ST => memory[k as usize] = a,
                opcode::ADD_K => a = a.wrapping_add(k),
                opcode::ADD_X => a = a.wrapping_add(x),
                opcode::MUL_K => a = a.wrapping_mul(k),
                opcode::AND_K => a &= k,
                opcode::TAX => x = a,
                opcode::TXA => a = x,
                opcode::JA => at = at.wrapping_add_signed(k.cast_signed() as isize),
                opcode::JEQ_K => at += branch(a == k),
                opcode::RET_K => return Some(k),
                other => panic!("operation {other:#x} in a program with loops"),
            }
        }
        None
    }
}

/// Reads `(012) jeq      #0x800           jt 3 jf 7`, the line at `index`.
fn instruction((index, line): (usize, &str)) -> Instruction {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, operand) = (words[1], words[2..].join(" "));
    let base = Ancillary::BASE;
    let special = |name: &str| match name {
        "type" => Some(base + 4),
        "ifidx" => Some(base + 8),
        "vlan_tci" => Some(base + 44),
        "vlanp" => Some(base + 48),
        _ => None,
    };
    let bracket = |text: &str| text.trim_matches(['[', ']']).to_owned();
    let target = |at: usize| (words[at].parse::<usize>().unwrap() - index - 1) as u8;
    let (mut jt, mut jf) = (0, 0);
    let (code, k) = match name {
        "ld" | "ldh" | "ldb" | "ldx" => load(name, &operand, special),
        "ldxb" => (
            opcode::LDX_MSH,
            number(&bracket(&operand[2..operand.find('&').unwrap()]).replace(['(', '['], "")),
        ),
        "st" => (opcode::ST, number(&bracket(&operand[1..]))),
        "stx" => (opcode::STX, number(&bracket(&operand[1..]))),
        "tax" => (opcode::TAX, 0),
        "txa" => (opcode::TXA, 0),
        "ret" => (opcode::RET_K, number(&operand)),
        "ja" => {
            let to = operand.parse::<i32>().unwrap();
            (
                opcode::JA,
                (to - i32::try_from(index).unwrap() - 1).cast_unsigned(),
            )
        }
        "jeq" | "jgt" | "jge" | "jset" => {
            (jt, jf) = (target(4), target(6));
            let codes = match name {
                "jeq" => (opcode::JEQ_K, opcode::JEQ_X),
                "jgt" => (opcode::JGT_K, opcode::JGT_X),
                "jge" => (opcode::JGE_K, opcode::JGE_X),
                _ => (opcode::JSET_K, opcode::JSET_X),
            };
            with_operand(codes, words[2])
        }
        _ => {
            let codes = match name {
                "add" => (opcode::ADD_K, opcode::ADD_X),
                "sub" => (opcode::SUB_K, opcode::SUB_X),
                "mul" => (opcode::MUL_K, opcode::MUL_X),
                "and" => (opcode::AND_K, opcode::AND_X),
                "or" => (opcode::OR_K, opcode::OR_X),
                "lsh" => (opcode::LSH_K, opcode::LSH_X),
                other => panic!("{other} is not known"),
            };
            with_operand(codes, &operand)
        }
    };
    Instruction { code, jt, jf, k }
}

fn with_operand((constant, index): (u16, u16), operand: &str) -> (u16, u32) {
    match operand {
        "x" => (index, 0),
        operand => (constant, number(operand)),
    }
}

fn load(name: &str, operand: &str, special: impl Fn(&str) -> Option<u32>) -> (u16, u32) {
    let is_index = name == "ldx";
    if operand == "#pktlen" {
        return (
            if is_index {
                opcode::LDX_LEN
            } else {
                opcode::LD_LEN
            },
            0,
        );
    }
    if operand.starts_with('#') {
        let code = if is_index {
            opcode::LDX_IMM
        } else {
            opcode::LD_IMM
        };
        return (code, number(operand));
    }
    if let Some(word) = operand.strip_prefix('M') {
        let code = if is_index {
            opcode::LDX_MEM
        } else {
            opcode::LD_MEM
        };
        return (code, number(word.trim_matches(['[', ']'])));
    }
    let inner = operand.trim_matches(['[', ']']);
    if let Some(offset) = inner.strip_prefix("x + ") {
        let code = match name {
            "ld" => opcode::LD_W_IND,
            "ldh" => opcode::LD_H_IND,
            _ => opcode::LD_B_IND,
        };
        return (code, number(offset));
    }
    let code = match name {
        "ld" => opcode::LD_W_ABS,
        "ldh" => opcode::LD_H_ABS,
        _ => opcode::LD_B_ABS,
    };
    (code, special(inner).unwrap_or_else(|| number(inner)))
}

fn number(text: &str) -> u32 {
    let text = text.trim_start_matches('#');
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap_or_else(|_| panic!("{text:?}")),
    }
}
