use crate::codec::{Malformed, split};

/// The fixed header of messages about routes (`struct rtmsg`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    pub family: u8,
    pub dst_len: u8,
    pub src_len: u8,
    pub tos: u8,
    /// The table, if that is less than 256.
    pub table: u8,
    pub protocol: u8,
    pub scope: u8,
    pub kind: u8,
    pub flags: u32,
}

impl Header {
    pub const BYTES: usize = 12;

    pub fn emit(self) -> [u8; Self::BYTES] {
        let [f0, f1, f2, f3] = self.flags.to_ne_bytes();
        [
            self.family,
            self.dst_len,
            self.src_len,
            self.tos,
            self.table,
            self.protocol,
            self.scope,
            self.kind,
            f0,
            f1,
            f2,
            f3,
        ]
    }

    /// The header and what follows it.
    pub fn split(body: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (header, rest) = split::<{ Self::BYTES }>("route header", 0, body)?;
        let [
            family,
            dst_len,
            src_len,
            tos,
            table,
            protocol,
            scope,
            kind,
            f0,
            f1,
            f2,
            f3,
        ] = *header;
        let header = Self {
            family,
            dst_len,
            src_len,
            tos,
            table,
            protocol,
            scope,
            kind,
            flags: u32::from_ne_bytes([f0, f1, f2, f3]),
        };
        Ok((header, rest))
    }
}
