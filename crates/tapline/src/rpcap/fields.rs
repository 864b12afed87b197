//! The fields of a payload, read one after another. All numbers are big-endian.

use super::error::MessageError;

/// The fields of a payload, in their order.
pub struct Fields<'p> {
    rest: &'p [u8],
    length: usize,
}

impl<'p> Fields<'p> {
    pub fn new(payload: &'p [u8]) -> Self {
        Self {
            rest: payload,
            length: payload.len(),
        }
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let Some((field, rest)) = self.rest.split_first_chunk() else {
            return Err(self.short(N));
        };
        self.rest = rest;
        Ok(*field)
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    fn short(&self, bytes: usize) -> MessageError {
        MessageError::Short {
            at: self.length - self.rest.len(),
            need: bytes,
            have: self.rest.len(),
        }
    }

    pub fn u16(&mut self) -> Result<u16, MessageError> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, MessageError> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn bytes(&mut self, length: usize) -> Result<&'p [u8], MessageError> {
        let Some((field, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.short(length));
        };
        self.rest = rest;
        Ok(field)
    }

    pub fn end(&self) -> Result<(), MessageError> {
        match self.rest.len() {
            0 => Ok(()),
            bytes => Err(MessageError::Long { bytes }),
        }
    }
}
