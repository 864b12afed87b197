use super::message::HEADER_BYTES;
use crate::uapi::{NLA_F_NESTED, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};

/// A request under construction: the bytes of one message.
///
/// Payloads are far below the 65,531 bytes of an attribute: their types bound them.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A request that is answered at least by an acknowledgement; `header` is its fixed header.
    pub(crate) fn new(kind: u16, flags: u16, header: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
        bytes.extend(header);
        Self { bytes }
    }

    /// A request for all objects of a kind.
    pub(crate) fn dump(kind: u16, header: &[u8]) -> Self {
        Self::new(kind, NLM_F_DUMP, header)
    }

    pub(crate) fn attribute(&mut self, kind: u16, payload: &[u8]) {
        self.nested_with(kind, payload, |_| ());
    }

    pub(crate) fn u32(&mut self, kind: u16, value: u32) {
        self.attribute(kind, &value.to_ne_bytes());
    }

    /// A text, ended by a NUL.
    pub(crate) fn text(&mut self, kind: u16, text: &[u8]) {
        let end = |request: &mut Self| request.bytes.push(0);
        self.nested_with(kind, text, end);
    }

    /// An attribute that holds `header` and then the attributes that `fill` adds.
    pub(crate) fn nested(&mut self, kind: u16, header: &[u8], fill: impl FnOnce(&mut Self)) {
        self.nested_with(kind | NLA_F_NESTED, header, fill);
    }

    fn nested_with(&mut self, kind: u16, payload: &[u8], fill: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(payload);
        fill(self);
        let length = self.bytes.len() - start;
        debug_assert!(
            u16::try_from(length).is_ok(),
            "an attribute of {length} bytes"
        );
        self.bytes[start..start + 2].copy_from_slice(&(length as u16).to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The finished message, numbered.
    pub(crate) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}
