//! Builds classic BPF programs for the socket from a filter, a direction and a snaplen.

use abi::bpf::SockFilter;
use abi::packet::PACKET_OUTGOING;

/// Direction that a filter rejects because no socket option does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Nothing,
    /// Packets that the interface received.
    Incoming,
    /// Packets that the interface sent.
    Outgoing,
}

// Opcodes of classic BPF (linux/bpf_common.h).
const LD_W_ABS: u16 = 0x20;
const LD_IMM: u16 = 0x00;
const JEQ_K: u16 = 0x15;
const RET_K: u16 = 0x06;
const RET_MASK: u16 = 0x1f;
/// Offset at which the kernel returns the packet's type: `SKF_AD_OFF + SKF_AD_PKTTYPE`.
const PACKET_TYPE: u32 = (-0x1000_i32).cast_unsigned() + 4;

const fn op(code: u16, k: u32) -> SockFilter {
    SockFilter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// A program that rejects every packet.
pub(crate) fn nothing() -> Vec<SockFilter> {
    answer(0)
}

/// A program that returns `number` for every packet.
pub(crate) fn answer(number: u32) -> Vec<SockFilter> {
    vec![op(RET_K, number)]
}

/// A program that accepts `snaplen` bytes of the packets that `program` accepts (of all packets, without a
/// program), except packets of the direction `refused`.
///
/// Jumps are relative, so a program may be placed after other instructions. The snaplen limits constant return
/// values. A program that returns its accumulator is limited by the reader instead.
pub(crate) fn classic(
    refused: Refused,
    snaplen: u32,
    program: Option<&[SockFilter]>,
) -> Vec<SockFilter> {
    let mut code = Vec::new();
    if refused != Refused::Nothing {
        code.push(op(LD_W_ABS, PACKET_TYPE));
        code.push(SockFilter {
            code: JEQ_K,
            jt: u8::from(refused == Refused::Incoming),
            jf: u8::from(refused == Refused::Outgoing),
            k: PACKET_OUTGOING as u32,
        });
        code.push(op(RET_K, 0));
        // The program may rely on an accumulator of 0.
        code.push(op(LD_IMM, 0));
    }
    match program {
        None => code.push(op(RET_K, snaplen)),
        Some(program) => code.extend(program.iter().map(|instruction| {
            let mut instruction = *instruction;
            if instruction.code & RET_MASK == RET_K {
                instruction.k = instruction.k.min(snaplen);
            }
            instruction
        })),
    }
    code
}
