//! Link-layer headers, and the pieces that all headers share.

use wire::checksum::{Change, udp_field};
use wire::protocol::{ethertype, link_type};
use wire::{CiscoHdlc, Ppp};

use super::addresses::Addresses;

/// MPLS labels in front of a packet that are followed.
const LABELS_MAX: usize = 16;

/// The packet is truncated at this offset.
pub(super) struct CutAt(pub usize);

/// Offset of the end of the known headers; `Err` if the next one is unknown or truncated.
pub(super) type HeaderEnd = Result<usize, CutAt>;

/// A packet whose headers are anonymized one after another.
pub(super) struct Headers<'a> {
    /// As captured.
    pub(super) original: &'a [u8],
    /// As it will be.
    pub(super) bytes: &'a mut [u8],
    addresses: &'a mut Addresses,
    /// Headers within which other packets can be: at most a few.
    pub(super) depth: u32,
}

impl<'a> Headers<'a> {
    /// `bytes` is a copy of `original`.
    pub(super) fn new(
        original: &'a [u8],
        bytes: &'a mut [u8],
        addresses: &'a mut Addresses,
    ) -> Self {
        Self {
            original,
            bytes,
            addresses,
            depth: 0,
        }
    }

    /// Anonymizes the packet. Returns how many bytes of it stay.
    pub(super) fn link(mut self, link_type: u16) -> usize {
        let end = self.bytes.len();
        match self.walk_link(link_type, end) {
            Ok(kept) | Err(CutAt(kept)) => kept.min(end),
        }
    }

    fn walk_link(&mut self, link_type: u16, end: usize) -> HeaderEnd {
        match link_type {
            link_type::ETHERNET => self.ethernet(0, end),
            link_type::LINUX_SLL => {
                self.need(0, 16, end)?;
                self.cooked_address(6, self.number(4));
                self.ethertype(16, self.number(14), end)
            }
            link_type::LINUX_SLL2 => {
                self.need(0, 20, end)?;
                let length = u16::from(self.bytes[11]);
                self.cooked_address(12, length);
                self.ethertype(20, self.number(0), end)
            }
            link_type::RAW | link_type::IPV4 | link_type::IPV6 => self.ip(0, end),
            // The family of protocols. IP tells its version itself.
            link_type::NULL | link_type::LOOP => self.ip(4, end),
            link_type::PPP => self.ppp(0, end),
            link_type::PPP_HDLC | link_type::CISCO_HDLC => {
                let first = self.bytes.first().copied().unwrap_or_default();
                let is_cisco = match link_type {
                    link_type::PPP_HDLC => CiscoHdlc::is_address(first),
                    _ => first != 0xff,
                };
                if is_cisco {
                    self.need(0, CiscoHdlc::LEN, end)?;
                    return self.ethertype(CiscoHdlc::LEN, self.number(2), end);
                }
                self.ppp(0, end)
            }
            link_type::PPP_WITH_DIRECTION => self.ppp(1, end),
            _ => Err(CutAt(0)),
        }
    }

    /// A hardware address of a cooked header, with room for 8 bytes.
    fn cooked_address(&mut self, at: usize, length: u16) {
        match length {
            0 => {}
            4 => self.ipv4_address(at),
            6 => self.mac(at),
            _ => self.bytes[at..at + 8].fill(0),
        }
        // The rest of the field is not part of the address.
        let used = usize::from(length.min(8));
        self.bytes[at + used..at + 8].fill(0);
    }

    pub(super) fn ethernet(&mut self, at: usize, end: usize) -> HeaderEnd {
        self.need(at, 14, end)?;
        self.mac(at);
        self.mac(at + 6);
        self.ethertype(at + 14, self.number(at + 12), end)
    }

    fn ppp(&mut self, at: usize, end: usize) -> HeaderEnd {
        let (header, _) = Ppp::split(&self.bytes[at.min(end)..end], at).map_err(|_| CutAt(at))?;
        let next = at + header.len();
        match header.protocol() {
            Ppp::IPV4 | Ppp::IPV6 => self.ip(next, end),
            Ppp::MPLS | Ppp::MPLS_MULTICAST => self.mpls(next, end),
            _ => Err(CutAt(next)),
        }
    }

    /// What follows a header with an `EtherType`.
    pub(super) fn ethertype(&mut self, mut at: usize, mut ethertype: u16, end: usize) -> HeaderEnd {
        for _ in 0..wire::dissect::MAX_VLANS {
            if !ethertype::is_vlan(ethertype) {
                break;
            }
            self.need(at, 4, end)?;
            ethertype = self.number(at + 2);
            at += 4;
        }
        match ethertype {
            ethertype::ARP => self.arp(at, end),
            ethertype::IPV4 | ethertype::IPV6 => self.ip(at, end),
            ethertype::MPLS | ethertype::MPLS_MULTICAST => self.mpls(at, end),
            ethertype::PPPOE_SESSION => {
                self.need(at, 6, end)?;
                self.ppp(at + 6, end)
            }
            _ => Err(CutAt(at)),
        }
    }

    fn mpls(&mut self, mut at: usize, end: usize) -> HeaderEnd {
        for _ in 0..LABELS_MAX {
            self.need(at, 4, end)?;
            at += 4;
            let is_last = self.bytes[at - 2] & 1 != 0;
            if is_last {
                return self.ip(at, end);
            }
        }
        Err(CutAt(at))
    }

    fn arp(&mut self, at: usize, end: usize) -> HeaderEnd {
        // IPv4 addresses for MAC addresses of 6 bytes.
        self.need(at, 28, end)?;
        if self.bytes[at + 2..at + 6] != [0x08, 0x00, 6, 4] {
            return Err(CutAt(at));
        }
        self.mac(at + 8);
        self.ipv4_address(at + 14);
        self.mac(at + 18);
        self.ipv4_address(at + 24);
        Ok(at + 28)
    }

    /// Checks that `length` bytes are there at `at`; otherwise the packet is cut there.
    pub(super) fn need(&self, at: usize, length: usize, end: usize) -> Result<(), CutAt> {
        if at + length <= end.min(self.bytes.len()) {
            Ok(())
        } else {
            Err(CutAt(at))
        }
    }

    /// The number at `at`, which must be there.
    pub(super) fn number(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    pub(super) fn mac(&mut self, at: usize) {
        if let Some(field) = self.bytes[at..].first_chunk_mut() {
            *field = self.addresses.mac(*field);
        }
    }

    pub(super) fn ipv4_address(&mut self, at: usize) {
        if let Some(field) = self.bytes[at..].first_chunk_mut() {
            let address = u32::from_be_bytes(*field);
            *field = self.addresses.ipv4(address).to_be_bytes();
        }
    }

    pub(super) fn ipv6_address(&mut self, at: usize) {
        self.ipv6_prefix(at, 128);
    }

    /// An address of which the first bits are meant.
    pub(super) fn ipv6_prefix(&mut self, at: usize, bits: u8) {
        if let Some(field) = self.bytes[at..].first_chunk_mut() {
            let address = u128::from_be_bytes(*field);
            let mask = !u128::MAX.checked_shr(bits.into()).unwrap_or(0);
            *field = (self.addresses.ipv6(address) & mask).to_be_bytes();
        }
    }

    /// Corrects the checksum at `at` by what was changed between `from` and `to`, and by `other` changes.
    pub(super) fn correct(&mut self, at: usize, from: usize, to: usize, other: Change) {
        let to = to.min(self.bytes.len());
        let (Some(old), Some(new)) = (self.original.get(from..to), self.bytes.get(from..to)) else {
            return;
        };
        let change = other.bytes(old, new);
        if let Some(field) = self.bytes.get_mut(at..at + 2) {
            let checksum = change.apply(u16::from_be_bytes([field[0], field[1]]));
            field.copy_from_slice(&checksum.to_be_bytes());
        }
    }

    /// As [`Self::correct`], of UDP: none stays none.
    pub(super) fn correct_udp(&mut self, at: usize, from: usize, to: usize, other: Change) {
        if self.bytes.get(at..at + 2) == Some(&[0; 2]) {
            return;
        }
        self.correct(at, from, to, other);
        if let Some(field) = self.bytes.get_mut(at..at + 2) {
            let checksum = udp_field(u16::from_be_bytes([field[0], field[1]]));
            field.copy_from_slice(&checksum.to_be_bytes());
        }
    }
}
