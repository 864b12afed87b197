//! How a capture is started, with its filter.
//!
//! # Source
//! `struct rpcap_startcapreq`, `struct rpcap_startcapreply`, `struct rpcap_filter` and `struct rpcap_filterbpf_insn`,
//! `rpcap-protocol.h` of libpcap.

use filter::classic::Instruction;

use super::error::MessageError;
use super::fields::Fields;

/// `RPCAP_UPDATEFILTER_BPF`: the only kind of filter.
const FILTER_IS_BPF: u16 = 1;

/// `RPCAP_STARTCAPREQ_FLAG_…`.
const PROMISCUOUS: u16 = 1;
const DATAGRAMS: u16 = 2;
const SERVER_CONNECTS: u16 = 4;
const INBOUND: u16 = 8;
const OUTBOUND: u16 = 16;

/// What a capture is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the message"
)]
pub struct StartRequest {
    /// Bytes to keep of each packet.
    pub snaplen: u32,
    /// How long packets may be gathered, ms.
    pub read_timeout_ms: u32,
    /// Put the interface into promiscuous mode.
    pub promiscuous: bool,
    /// Packets come in UDP datagrams.
    pub datagrams: bool,
    /// The server connects to the client. It does so in any case with `datagrams`.
    pub server_connects: bool,
    /// Only received packets.
    pub inbound: bool,
    /// Only sent packets.
    pub outbound: bool,
    /// The client's port for packets, if the server connects.
    pub port: u16,
    /// The filter; no instruction accepts all packets.
    pub filter: Vec<Instruction>,
}

impl StartRequest {
    const BYTES: usize = 12;

    pub(super) fn parse(payload: &[u8]) -> Result<Self, MessageError> {
        let mut fields = Fields::new(payload);
        let (snaplen, read_timeout_ms) = (fields.u32()?, fields.u32()?);
        let (flags, port) = (fields.u16()?, fields.u16()?);
        // A reply has no more, and old clients send none of what follows.
        let filter = if fields.is_over() {
            Vec::new()
        } else {
            filter_instructions(&mut fields)?
        };
        fields.end()?;
        let has = |flag| flags & flag != 0;
        Ok(Self {
            snaplen,
            read_timeout_ms,
            promiscuous: has(PROMISCUOUS),
            datagrams: has(DATAGRAMS),
            server_connects: has(SERVER_CONNECTS),
            inbound: has(INBOUND),
            outbound: has(OUTBOUND),
            port,
            filter,
        })
    }

    pub(super) fn payload(&self) -> Vec<u8> {
        let flags = [
            (self.promiscuous, PROMISCUOUS),
            (self.datagrams, DATAGRAMS),
            (self.server_connects, SERVER_CONNECTS),
            (self.inbound, INBOUND),
            (self.outbound, OUTBOUND),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set);
        let flags = flags.fold(0, |all, (_, flag)| all | flag);
        let mut bytes = Vec::with_capacity(Self::BYTES + 8 * (1 + self.filter.len()));
        bytes.extend(self.snaplen.to_be_bytes());
        bytes.extend(self.read_timeout_ms.to_be_bytes());
        bytes.extend(u16::to_be_bytes(flags));
        bytes.extend(self.port.to_be_bytes());
        put_filter(&mut bytes, &self.filter);
        bytes
    }
}

/// How the packets of a capture come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartReply {
    /// Bytes of the server's buffer.
    pub buffer_bytes: u32,
    /// The server's port for packets, if the client connects.
    pub port: u16,
}

/// Reads a filter: its kind, the number of its instructions, and these.
pub fn filter_instructions(fields: &mut Fields<'_>) -> Result<Vec<Instruction>, MessageError> {
    let (kind, _, count) = (fields.u16()?, fields.u16()?, fields.u32()?);
    if kind != FILTER_IS_BPF {
        return Err(MessageError::Filter { kind });
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let bytes = fields.bytes(count.saturating_mul(8))?;
    let (instructions, _) = bytes.as_chunks::<8>();
    let instruction = |&[c1, c0, jt, jf, k3, k2, k1, k0]: &[u8; 8]| Instruction {
        code: u16::from_be_bytes([c1, c0]),
        jt,
        jf,
        k: u32::from_be_bytes([k3, k2, k1, k0]),
    };
    Ok(instructions.iter().map(instruction).collect())
}

/// Appends a filter.
pub fn put_filter(bytes: &mut Vec<u8>, filter: &[Instruction]) {
    bytes.extend(FILTER_IS_BPF.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(
        u32::try_from(filter.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes(),
    );
    for instruction in filter {
        bytes.extend(instruction.code.to_be_bytes());
        bytes.extend([instruction.jt, instruction.jf]);
        bytes.extend(instruction.k.to_be_bytes());
    }
}
