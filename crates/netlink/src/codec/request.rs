//! Builds requests.

use std::net::IpAddr;

use super::reader::HEADER_BYTES;
use crate::uapi::{NLA_F_NESTED, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_ECHO, NLM_F_REQUEST};

/// The largest length of an attribute in bytes, with its header of 4 bytes: the length has 16 bits.
pub(crate) const MAX_ATTRIBUTE_BYTES: usize = u16::MAX as usize;

/// An attribute that a kernel would read as something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FaultyAttribute {
    /// Its type and where it begins in the requests, and those of the attributes around it, from the inside to the outside.
    pub path: Vec<(u16, usize)>,
    /// What is wrong with it.
    pub fault: AttributeFault,
}

/// What is wrong with an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeFault {
    /// Its length, with its header, has more than 16 bits.
    Length(usize),
    /// Its text contains a zero byte, at which a kernel ends it.
    ZeroByte,
}

/// A state of a [`Request`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    length: usize,
    start: usize,
}

/// Builds requests: consecutive messages in one buffer.
///
/// A message with an attribute that is longer than 65,535 bytes must not be sent: a kernel would read its bytes as further
/// attributes. Neither must a text with a zero byte, at which a kernel ends it. `Netlink` refuses both.
#[derive(Clone, Debug, Default)]
pub struct Request {
    bytes: Vec<u8>,
    /// Offset of the current message.
    start: usize,
    faulty: Option<Box<FaultyAttribute>>,
}

impl Request {
    /// A request with an acknowledgement; `header` is its fixed header.
    pub fn new(kind: u16, flags: u16, header: &[u8]) -> Self {
        let mut request = Self::default();
        request.begin(kind, flags | NLM_F_ACK, header);
        request
    }

    /// A list request.
    pub fn dump(kind: u16, header: &[u8]) -> Self {
        Self::new(kind, NLM_F_DUMP, header)
    }

    /// Starts another message. Without `NLM_F_ACK` in `flags` the reply is an object or an error only.
    #[inline]
    pub fn begin(&mut self, kind: u16, flags: u16, header: &[u8]) {
        self.start = self.bytes.len();
        let mut fixed = [0; HEADER_BYTES];
        fixed[4..6].copy_from_slice(&kind.to_ne_bytes());
        fixed[6..8].copy_from_slice(&(flags | NLM_F_REQUEST).to_ne_bytes());
        self.bytes.reserve(HEADER_BYTES + header.len());
        self.bytes.extend_from_slice(&fixed);
        self.bytes.extend_from_slice(header);
    }

    /// Removes all messages and keeps the buffer.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.start = 0;
        self.faulty = None;
    }

    /// Appends an encoded message.
    #[inline]
    pub(crate) fn append(&mut self, message: &[u8]) {
        self.start = self.bytes.len();
        self.bytes.extend_from_slice(message);
    }

    /// Appends an encoded message, which gets these flags and this sequence number.
    #[inline]
    pub(crate) fn append_numbered(&mut self, message: &[u8], flags: u16, sequence: u32) {
        self.append(message);
        if let Some(header) = self.bytes[self.start..].first_chunk_mut::<HEADER_BYTES>() {
            header[6..8].copy_from_slice(&flags.to_ne_bytes());
            header[8..12].copy_from_slice(&sequence.to_ne_bytes());
        }
    }

    /// Appends an attribute.
    #[inline]
    pub fn attribute(&mut self, kind: u16, payload: &[u8]) {
        match payload.try_into() {
            Ok(word) => self.word(kind, word),
            Err(_) => self.other(kind, payload),
        }
    }

    /// An attribute with four bytes, the most frequent size.
    #[inline]
    fn word(&mut self, kind: u16, [b0, b1, b2, b3]: [u8; 4]) {
        let ([l0, l1], [k0, k1]) = (8_u16.to_ne_bytes(), kind.to_ne_bytes());
        self.bytes
            .extend_from_slice(&[l0, l1, k0, k1, b0, b1, b2, b3]);
    }

    fn other(&mut self, kind: u16, payload: &[u8]) {
        let length = payload.len() + 4;
        if length > MAX_ATTRIBUTE_BYTES {
            self.note(kind, self.bytes.len(), AttributeFault::Length(length));
        }
        let ([l0, l1], [k0, k1]) = ((length as u16).to_ne_bytes(), kind.to_ne_bytes());
        self.bytes.reserve(length + 3);
        self.bytes.extend_from_slice(&[l0, l1, k0, k1]);
        self.bytes.extend_from_slice(payload);
        let padding = length.next_multiple_of(4) - length;
        self.bytes.extend_from_slice(&[0; 3][..padding]);
    }

    /// Appends a 32-bit number in host byte order.
    #[inline]
    pub fn u32(&mut self, kind: u16, value: u32) {
        self.attribute(kind, &value.to_ne_bytes());
    }

    /// Appends text with a trailing NUL.
    pub fn text(&mut self, kind: u16, text: &[u8]) {
        if text.contains(&0) {
            self.note(kind, self.bytes.len(), AttributeFault::ZeroByte);
        }
        let end = |request: &mut Self| request.bytes.push(0);
        self.nested_with(kind, text, end);
    }

    /// Appends an attribute that contains `header` and the attributes that `fill` appends.
    pub fn nested(&mut self, kind: u16, header: &[u8], fill: impl FnOnce(&mut Self)) {
        self.nested_with(kind | NLA_F_NESTED, header, fill);
    }

    /// Appends an attribute that contains the bytes that `fill` appends.
    pub(crate) fn bytes_of(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        self.nested_with(kind, &[], fill);
    }

    /// Appends raw bytes inside an attribute (`struct rtnexthop`).
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// The length of all messages so far.
    pub(crate) fn position(&self) -> usize {
        self.bytes.len()
    }

    /// Overwrites the bytes at `position`, e.g. a length that was unknown before.
    pub(crate) fn overwrite(&mut self, position: usize, bytes: &[u8]) {
        self.bytes[position..position + bytes.len()].copy_from_slice(bytes);
    }

    /// Overwrites the bytes at `position` with an address.
    #[inline]
    pub(crate) fn overwrite_ip(&mut self, position: usize, ip: IpAddr) {
        match ip {
            IpAddr::V4(ip) => self.overwrite(position, &ip.octets()),
            IpAddr::V6(ip) => self.overwrite(position, &ip.octets()),
        }
    }

    fn nested_with(&mut self, kind: u16, payload: &[u8], fill: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(payload);
        fill(self);
        let length = self.bytes.len() - start;
        self.note_around(kind, start);
        if length > MAX_ATTRIBUTE_BYTES {
            self.note(kind, start, AttributeFault::Length(length));
        }
        self.bytes[start..start + 2].copy_from_slice(&(length as u16).to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Notes an attribute that must not be sent, if it is the first one.
    #[cold]
    fn note(&mut self, kind: u16, at: usize, fault: AttributeFault) {
        let path = vec![(kind & !NLA_F_NESTED, at)];
        self.faulty
            .get_or_insert_with(|| Box::new(FaultyAttribute { path, fault }));
    }

    /// Notes the attribute of type `kind` at `at` if it contains the one that must not be sent.
    #[inline]
    fn note_around(&mut self, kind: u16, at: usize) {
        if let Some(inner) = &mut self.faulty
            && inner.path.iter().all(|(_, inner)| at < *inner)
        {
            inner.path.push((kind & !NLA_F_NESTED, at));
        }
    }

    /// The first attribute that must not be sent.
    #[inline]
    pub(crate) fn faulty(&self) -> Option<&FaultyAttribute> {
        self.faulty.as_deref()
    }

    /// Adds `flags` to the current message.
    pub(crate) fn add_flags(&mut self, flags: u16) {
        let all = self.flags() | flags;
        self.overwrite(self.start + 6, &all.to_ne_bytes());
    }

    /// Removes `flags` from the current message.
    pub(crate) fn remove_flags(&mut self, flags: u16) {
        let left = self.flags() & !flags;
        self.overwrite(self.start + 6, &left.to_ne_bytes());
    }

    /// What [`rewind`](Self::rewind) returns to.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            length: self.bytes.len(),
            start: self.start,
        }
    }

    /// Discards what was appended after a mark: the message before it is the current one again.
    pub(crate) fn rewind(&mut self, Mark { length, start }: Mark) {
        self.bytes.truncate(length);
        self.start = start;
        let is_cut =
            |faulty: &mut Box<FaultyAttribute>| faulty.path.iter().any(|(_, at)| *at >= length);
        self.faulty.take_if(is_cut);
    }

    /// Completes the current message: sets its length and sequence number.
    pub fn finish(&mut self, sequence: u32) {
        let length = (self.bytes.len() - self.start) as u32;
        self.overwrite(self.start, &length.to_ne_bytes());
        self.overwrite(self.start + 8, &sequence.to_ne_bytes());
    }

    /// The flags of the current message.
    pub(crate) fn flags(&self) -> u16 {
        let offset = self.start + 6;
        u16::from_ne_bytes([self.bytes[offset], self.bytes[offset + 1]])
    }

    /// Whether the current message creates or changes something.
    pub(crate) fn changes(&self) -> bool {
        self.flags() & (NLM_F_CREATE | NLM_F_ECHO) != 0
    }

    /// Pads the message, so that another can follow.
    pub(crate) fn fill_up(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// All messages.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The body of the current message: its fixed header and attributes.
    pub fn body(&self) -> &[u8] {
        self.bytes
            .get(self.start + HEADER_BYTES..)
            .unwrap_or_default()
    }
}
