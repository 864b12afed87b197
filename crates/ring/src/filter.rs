//! Classic programs for the socket, put together from a filter, a direction and a snaplen.

use abi::bpf::SockFilter;
use abi::packet::PACKET_OUTGOING;

/// What a filter refuses by direction, because nothing before it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Nothing,
    /// What the interface received.
    Incoming,
    /// What the interface sent.
    Outgoing,
}

// Operations of classic BPF (linux/bpf_common.h).
const LD_W_ABS: u16 = 0x20;
const LD_IMM: u16 = 0x00;
const JEQ_K: u16 = 0x15;
const RET_K: u16 = 0x06;
const RET_MASK: u16 = 0x1f;
/// Where the kernel answers with the packet's type: `SKF_AD_OFF + SKF_AD_PKTTYPE`.
const PACKET_TYPE: u32 = (-0x1000_i32).cast_unsigned() + 4;

const fn op(code: u16, k: u32) -> SockFilter {
    SockFilter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Refuses every packet.
pub(crate) fn nothing() -> Vec<SockFilter> {
    answer(0)
}

/// Gives every packet the same answer.
pub(crate) fn answer(number: u32) -> Vec<SockFilter> {
    vec![op(RET_K, number)]
}

/// Takes `snaplen` bytes of what `program` takes (everything, if there is none), unless it is
/// `refused`.
///
/// Jumps are relative, so a program stays right when others are put before it. A program's constant
/// return values are cut to the snaplen; one that returns its accumulator is cut by the reader.
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
        // A program may rely on an accumulator of 0.
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
