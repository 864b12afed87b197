//! Translates each classic instruction.

use abi::bpf::SockFilter;

use super::error::TranslateError;
use super::opcode as op;
use super::translate::{A, CONTEXT, SAVED, Translation, X};
use crate::{Alu, Condition, Helper, Insn, Label, Reg, Size, Width};

/// Offsets in `struct __sk_buff`.
mod skb {
    pub(super) const LEN: i16 = 0;
    pub(super) const PKT_TYPE: i16 = 4;
    pub(super) const MARK: i16 = 8;
    pub(super) const QUEUE_MAPPING: i16 = 12;
    pub(super) const PROTOCOL: i16 = 16;
    pub(super) const VLAN_PRESENT: i16 = 20;
    pub(super) const VLAN_TCI: i16 = 24;
    pub(super) const VLAN_PROTO: i16 = 28;
    pub(super) const IFINDEX: i16 = 40;
    pub(super) const HASH: i16 = 68;
}

impl Translation<'_> {
    /// Translates instruction `at`.
    pub(super) fn instruction(
        &mut self,
        at: usize,
        classic: SockFilter,
    ) -> Result<(), TranslateError> {
        let invalid = TranslateError::Invalid {
            at,
            instruction: classic,
        };
        let SockFilter { code, k, .. } = classic;
        let constant = k.cast_signed();
        match code {
            op::LD_W_ABS | op::LD_H_ABS | op::LD_B_ABS if k >= op::SKF_AD_OFF => {
                self.property(at, k - op::SKF_AD_OFF)?;
            }
            op::LD_W_ABS => self.push(Insn::LoadPacket {
                size: Size::Word,
                offset: constant,
            }),
            op::LD_H_ABS => self.push(Insn::LoadPacket {
                size: Size::Half,
                offset: constant,
            }),
            op::LD_B_ABS => self.push(Insn::LoadPacket {
                size: Size::Byte,
                offset: constant,
            }),
            op::LD_W_IND => self.load_at_x(Size::Word, constant),
            op::LD_H_IND => self.load_at_x(Size::Half, constant),
            op::LD_B_IND => self.load_at_x(Size::Byte, constant),
            op::LD_IMM => self.push(Insn::mov32(A, constant)),
            op::LDX_IMM => self.push(Insn::mov32(X, constant)),
            op::LD_LEN => self.push(Insn::load(Size::Word, A, CONTEXT, skb::LEN)),
            op::LDX_LEN => self.push(Insn::load(Size::Word, X, CONTEXT, skb::LEN)),
            op::LDX_MSH => self.header_length(constant),
            op::LD_MEM | op::LDX_MEM | op::ST | op::STX => {
                self.memory(code, k).ok_or(invalid)?;
            }
            op::MISC_TAX => self.push(Insn::mov32(X, A)),
            op::MISC_TXA => self.push(Insn::mov32(A, X)),
            op::RET_K => {
                self.push(Insn::mov32(A, constant));
                self.jump_to_verdict();
                return Ok(());
            }
            op::RET_A => {
                self.jump_to_verdict();
                return Ok(());
            }
            op::JMP_JA => {
                let target = self.reach(at, k as usize)?;
                self.push(Insn::Jump { target });
                return Ok(());
            }
            op::ALU_NEG => self.push(Insn::Negate {
                width: Width::W32,
                dst: A,
            }),
            _ => match code & op::CLASS {
                op::CLASS_ALU => self.arithmetic(code, k).ok_or(invalid)?,
                op::CLASS_JMP => return self.branch(at, classic, invalid),
                _ => return Err(invalid),
            },
        }
        self.reach(at, 0)?;
        Ok(())
    }

    fn jump_to_verdict(&mut self) {
        self.accepts = true;
        self.push(Insn::Jump {
            target: self.verdict,
        });
    }

    /// Records that a path leads from `at` to the instruction `skipped` after the next.
    fn reach(&mut self, at: usize, skipped: usize) -> Result<Label, TranslateError> {
        let to = (at + 1).saturating_add(skipped);
        *self.reached.get_mut(to).ok_or(TranslateError::NoReturn)? = true;
        Ok(Label(to as u32))
    }

    fn load_at_x(&mut self, size: Size, offset: i32) {
        self.push(Insn::LoadPacketAt {
            size,
            index: X,
            offset,
        });
    }

    /// X = 4 × (low half of the byte at `offset`), A unchanged.
    fn header_length(&mut self, offset: i32) {
        self.push(Insn::mov(SAVED, A));
        self.push(Insn::LoadPacket {
            size: Size::Byte,
            offset,
        });
        self.push(Insn::alu32(Alu::And, A, 0xf));
        self.push(Insn::alu32(Alu::Lsh, A, 2));
        self.push(Insn::mov(X, A));
        self.push(Insn::mov(A, SAVED));
    }

    fn memory(&mut self, code: u16, k: u32) -> Option<()> {
        if k >= op::MEMORY_WORDS {
            return None;
        }
        let offset = -4 * (k as i16 + 1);
        self.push(match code {
            op::LD_MEM => Insn::load(Size::Word, A, Reg::R10, offset),
            op::LDX_MEM => Insn::load(Size::Word, X, Reg::R10, offset),
            op::ST => Insn::store(Size::Word, Reg::R10, offset, A),
            _ => Insn::store(Size::Word, Reg::R10, offset, X),
        });
        Some(())
    }

    fn arithmetic(&mut self, code: u16, k: u32) -> Option<()> {
        let operation = match code & op::OPERATION {
            0x00 => Alu::Add,
            0x10 => Alu::Sub,
            0x20 => Alu::Mul,
            0x30 => Alu::Div,
            0x40 => Alu::Or,
            0x50 => Alu::And,
            0x60 => Alu::Lsh,
            0x70 => Alu::Rsh,
            0x90 => Alu::Mod,
            0xa0 => Alu::Xor,
            _ => return None,
        };
        let divides = matches!(operation, Alu::Div | Alu::Mod);
        let shifts = matches!(operation, Alu::Lsh | Alu::Rsh);
        if code & op::SOURCE_X == 0 {
            if (divides && k == 0) || (shifts && k >= 32) {
                return None;
            }
            self.push(Insn::alu32(operation, A, k.cast_signed()));
        } else {
            if divides {
                self.push(Insn::jump_if32(Condition::Equal, X, 0, self.refuse));
            }
            self.push(Insn::alu32(operation, A, X));
        }
        Some(())
    }

    fn branch(
        &mut self,
        at: usize,
        SockFilter { code, jt, jf, k }: SockFilter,
        invalid: TranslateError,
    ) -> Result<(), TranslateError> {
        let (condition, opposite) = match code & op::OPERATION {
            0x10 => (Condition::Equal, Some(Condition::NotEqual)),
            0x20 => (Condition::Greater, Some(Condition::LessOrEqual)),
            0x30 => (Condition::GreaterOrEqual, Some(Condition::Less)),
            0x40 => (Condition::AnyBitSet, None),
            _ => return Err(invalid),
        };
        let jump = |condition, target| {
            if code & op::SOURCE_X == 0 {
                Insn::jump_if32(condition, A, k.cast_signed(), target)
            } else {
                Insn::jump_if32(condition, A, X, target)
            }
        };
        let then = self.reach(at, jt as usize)?;
        let otherwise = self.reach(at, jf as usize)?;
        match opposite {
            Some(opposite) if jt == 0 => self.push(jump(opposite, otherwise)),
            _ => {
                self.push(jump(condition, then));
                if jf != 0 {
                    self.push(Insn::Jump { target: otherwise });
                }
            }
        }
        Ok(())
    }

    /// A = a property of the packet.
    fn property(&mut self, at: usize, property: u32) -> Result<(), TranslateError> {
        let field = match property {
            op::SKF_AD_PROTOCOL => skb::PROTOCOL,
            op::SKF_AD_PKTTYPE => skb::PKT_TYPE,
            op::SKF_AD_IFINDEX => {
                self.interface();
                return Ok(());
            }
            op::SKF_AD_MARK => skb::MARK,
            op::SKF_AD_QUEUE => skb::QUEUE_MAPPING,
            op::SKF_AD_RXHASH => skb::HASH,
            op::SKF_AD_VLAN_TAG => skb::VLAN_TCI,
            op::SKF_AD_VLAN_TAG_PRESENT => skb::VLAN_PRESENT,
            op::SKF_AD_VLAN_TPID => skb::VLAN_PROTO,
            op::SKF_AD_CPU => {
                self.helper(Helper::GetSmpProcessorId);
                return Ok(());
            }
            op::SKF_AD_RANDOM => {
                self.helper(Helper::GetPrandomU32);
                return Ok(());
            }
            op::SKF_AD_ALU_XOR_X => {
                self.push(Insn::alu32(Alu::Xor, A, X));
                return Ok(());
            }
            _ => return Err(TranslateError::Ancillary { at, property }),
        };
        self.push(Insn::load(Size::Word, A, CONTEXT, field));
        if matches!(property, op::SKF_AD_PROTOCOL | op::SKF_AD_VLAN_TPID) {
            self.push(Insn::Be16ToHost { dst: A });
        }
        Ok(())
    }

    /// A = interface index. For a packet without an interface, the program returns the current A.
    fn interface(&mut self) {
        self.push(Insn::load(Size::Word, Reg::R1, CONTEXT, skb::IFINDEX));
        self.push(Insn::jump_if32(Condition::Equal, Reg::R1, 0, self.verdict));
        self.accepts = true;
        self.push(Insn::mov32(A, Reg::R1));
    }

    fn helper(&mut self, helper: Helper) {
        self.push(Insn::Call(helper));
        self.push(Insn::mov32(A, Reg::R0));
    }
}

#[cfg(test)]
mod tests;
