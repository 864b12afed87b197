use super::{IpFrame, length_field};
use crate::checksum;
use crate::protocol::ip;

/// A frame whose transport header is written.
#[derive(Clone, Debug)]
pub struct TransportFrame {
    frame: IpFrame,
    kind: Kind,
    /// Where the transport header begins in the frame.
    at: usize,
}

/// Which transport header, and so where its checksum is and what it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tcp,
    Udp,
    Icmpv4,
    Icmpv6,
}

impl TransportFrame {
    pub(super) const fn new(frame: IpFrame, kind: Kind, at: usize) -> Self {
        Self { frame, kind, at }
    }

    pub(super) fn extend(&mut self, options: &[u8]) {
        self.frame.bytes_mut().extend_from_slice(options);
    }

    /// Ends the frame with `payload` and gives its bytes.
    pub fn payload(mut self, payload: &[u8]) -> Vec<u8> {
        self.extend(payload);
        let at = self.at;
        let length = self.frame.bytes_mut().len() - at;
        let (pseudo_header, checksum_at) = match self.kind {
            Kind::Tcp => (self.frame.pseudo_header(ip::TCP, length), 16),
            Kind::Udp => (self.frame.pseudo_header(ip::UDP, length), 6),
            Kind::Icmpv4 => (checksum::Sum::new(), 2),
            Kind::Icmpv6 => (self.frame.pseudo_header(ip::ICMPV6, length), 2),
        };
        let segment = &mut self.frame.bytes_mut()[at..];
        if self.kind == Kind::Udp {
            segment[4..6].copy_from_slice(&length_field(length));
        }
        let checksum = match pseudo_header.bytes(segment).finish() {
            // In UDP a checksum of 0 means none; its other form in ones' complement stands for it.
            0 if self.kind == Kind::Udp => u16::MAX,
            checksum => checksum,
        };
        segment[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
        self.frame.finish()
    }
}
