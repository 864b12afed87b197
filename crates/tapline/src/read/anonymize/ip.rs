//! IP headers, and what they carry.

use wire::Ipv6;
use wire::checksum::Change;
use wire::protocol::{ethertype, ip};

use super::headers::{CutAt, HeaderEnd, Headers};

/// Packets within packets that are followed: tunnels and quotations.
const DEPTH_MAX: u32 = 8;

/// IPv6 extension headers that are followed.
const EXTENSIONS_MAX: usize = 16;

/// Options of IPv4 with addresses.
mod ipv4_option {
    pub const END: u8 = 0;
    pub const NOTHING: u8 = 1;
    pub const RECORD_ROUTE: u8 = 7;
    pub const TIME_STAMPS: u8 = 68;
    pub const LOOSE_ROUTE: u8 = 131;
    pub const STRICT_ROUTE: u8 = 137;
    pub const ROUTER_ALERT: u8 = 148;
}

const IGMP: u8 = 2;
const SCTP: u8 = 132;

impl Headers<'_> {
    /// An IP packet of the version that its first bits tell.
    pub(super) fn ip(&mut self, at: usize, end: usize) -> HeaderEnd {
        self.need(at, 1, end)?;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(CutAt(at));
        }
        match self.bytes[at] >> 4 {
            4 => self.ipv4(at, end),
            6 => self.ipv6(at, end),
            _ => Err(CutAt(at)),
        }
    }

    fn ipv4(&mut self, at: usize, end: usize) -> HeaderEnd {
        self.need(at, 20, end)?;
        let header_len = usize::from(self.bytes[at] & 15) * 4;
        let total: usize = self.number(at + 2).into();
        if header_len < 20 || total != 0 && total < header_len {
            return Err(CutAt(at));
        }
        // Segmentation offload leaves a length of 0.
        let end = match total {
            0 => end,
            _ => end.min(at + total),
        };
        self.ipv4_address(at + 12);
        self.ipv4_address(at + 16);
        let pseudo = self.changed(at + 12, 8);
        let options = self.ipv4_options(at + 20, (at + header_len).min(end));
        let kept = match options {
            Ok(kept) | Err(CutAt(kept)) => kept,
        };
        self.correct(at + 10, at, kept, Change::new());
        options?;
        self.need(at, header_len, end)?;
        let place = self.number(at + 6);
        let protocol = self.bytes[at + 9];
        let at = at + header_len;
        if place & 0x1fff != 0 {
            return Err(CutAt(at));
        }
        self.transport(protocol, ip::ICMPV4, at, end, pseudo)
    }

    fn ipv4_options(&mut self, mut at: usize, end: usize) -> HeaderEnd {
        use ipv4_option as option;
        while at < end {
            let kind = self.bytes[at];
            match kind {
                // Nothing has a meaning behind it.
                option::END => {
                    self.bytes[at..end].fill(0);
                    return Ok(end);
                }
                option::NOTHING => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            self.need(at, 4, end)?;
            let length = usize::from(self.bytes[at + 1]).max(2);
            self.need(at, length, end)?;
            let (first, step) = match (kind, length, self.bytes[at + 3] & 15) {
                (option::RECORD_ROUTE | option::LOOSE_ROUTE | option::STRICT_ROUTE, ..) => (3, 4),
                (option::TIME_STAMPS, _, 0) | (option::ROUTER_ALERT, 4, _) => (length, 4),
                (option::TIME_STAMPS, _, 1 | 3) => (4, 8),
                _ => return Err(CutAt(at)),
            };
            for place in (first..length).step_by(step) {
                if place + 4 > length {
                    return Err(CutAt(at + place));
                }
                self.ipv4_address(at + place);
            }
            at += length;
        }
        Ok(end)
    }

    fn ipv6(&mut self, at: usize, end: usize) -> HeaderEnd {
        self.need(at, Ipv6::LEN, end)?;
        let payload: usize = self.number(at + 4).into();
        // A jumbogram has length 0.
        let end = match payload {
            0 => end,
            _ => end.min(at + Ipv6::LEN + payload),
        };
        self.ipv6_address(at + 8);
        self.ipv6_address(at + 24);
        let source = self.changed(at + 8, 16);
        let mut pseudo = self.changed_also(source, at + 24, 16);
        let mut protocol = self.bytes[at + 6];
        let mut at = at + Ipv6::LEN;
        for _ in 0..EXTENSIONS_MAX {
            match protocol {
                ip::HOP_BY_HOP | ip::DESTINATION => {
                    let length = self.extension(at, end)?;
                    self.ipv6_options(at + 2, at + length)?;
                    (protocol, at) = (self.bytes[at], at + length);
                }
                ip::ROUTING => {
                    let length = self.extension(at, end)?;
                    let addresses = match self.bytes[at + 2] {
                        0 | 2 | 4 => (length - 8) / 16,
                        _ => return Err(CutAt(at)),
                    };
                    let is_segment = self.bytes[at + 2] == 4;
                    // What follows the segments are further options.
                    let listed = if is_segment {
                        addresses.min(usize::from(self.bytes[at + 4]) + 1)
                    } else {
                        addresses
                    };
                    for place in 0..listed {
                        self.ipv6_address(at + 8 + 16 * place);
                    }
                    if 8 + 16 * listed != length {
                        return Err(CutAt(at + 8 + 16 * listed));
                    }
                    // Checksums cover the final destination.
                    if self.bytes[at + 3] != 0 && listed > 0 {
                        let last = if is_segment { 0 } else { listed - 1 };
                        pseudo = self.changed_also(source, at + 8 + 16 * last, 16);
                    }
                    (protocol, at) = (self.bytes[at], at + length);
                }
                ip::FRAGMENT => {
                    self.need(at, 8, end)?;
                    let place = self.number(at + 2);
                    (protocol, at) = (self.bytes[at], at + 8);
                    if place & !7 != 0 {
                        return Err(CutAt(at));
                    }
                }
                _ => return self.transport(protocol, ip::ICMPV6, at, end, pseudo),
            }
        }
        Err(CutAt(at))
    }

    /// The length of an extension header, which is there as a whole.
    fn extension(&self, at: usize, end: usize) -> Result<usize, CutAt> {
        self.need(at, 8, end)?;
        let length = (usize::from(self.bytes[at + 1]) + 1) * 8;
        self.need(at, length, end)?;
        Ok(length)
    }

    /// Options without addresses: padding, router alert, tunnel limit, length of a jumbogram. Others are cut off.
    fn ipv6_options(&mut self, mut at: usize, end: usize) -> HeaderEnd {
        while at < end {
            let kind = self.bytes[at];
            if kind == 0 {
                at += 1;
                continue;
            }
            self.need(at, 2, end)?;
            let length = 2 + usize::from(self.bytes[at + 1]);
            self.need(at, length, end)?;
            match (kind, length) {
                (1, _) => self.bytes[at + 2..at + length].fill(0),
                (4, 3) | (5, 4) | (0xc2, 6) => {}
                _ => return Err(CutAt(at)),
            }
            at += length;
        }
        Ok(end)
    }

    /// What follows an IP header. `icmp` is the protocol of ICMP in this version of IP, `pseudo` how the addresses in
    /// the pseudo header changed.
    fn transport(
        &mut self,
        protocol: u8,
        icmp: u8,
        at: usize,
        end: usize,
        pseudo: Change,
    ) -> HeaderEnd {
        match protocol {
            ip::TCP => {
                // A quotation can end in the header.
                let fixed = end.min(at + 20);
                let kept = match self.bytes.get(at + 12) {
                    Some(offset) if fixed == at + 20 => {
                        let options = (at + usize::from(offset >> 4) * 4).min(end);
                        self.tcp_options(fixed, options)
                    }
                    _ => fixed,
                };
                self.correct(at + 16, at, kept, pseudo);
                Ok(kept)
            }
            ip::UDP => {
                let kept = end.min(at + 8);
                self.correct_udp(at + 6, at, kept, pseudo);
                Ok(kept)
            }
            SCTP => Ok(end.min(at + 12)),
            IGMP => {
                let (Ok(kept) | Err(CutAt(kept))) = self.igmp(at, end);
                self.correct(at + 2, at, kept, Change::new());
                Ok(kept)
            }
            ip::ICMPV4 if protocol == icmp => {
                let (Ok(kept) | Err(CutAt(kept))) = self.icmpv4(at, end);
                self.correct(at + 2, at, kept, Change::new());
                Ok(kept)
            }
            ip::ICMPV6 if protocol == icmp => {
                let (Ok(kept) | Err(CutAt(kept))) = self.icmpv6(at, end);
                self.correct(at + 2, at, kept, pseudo);
                Ok(kept)
            }
            ip::IPV4 | ip::IPV6 => self.ip(at, end),
            ip::GRE => {
                let (Ok(kept) | Err(CutAt(kept))) = self.gre(at, end);
                if self.bytes.get(at).is_some_and(|flags| flags & 0x80 != 0) {
                    self.correct(at + 4, at, kept, Change::new());
                }
                Ok(kept)
            }
            _ => Err(CutAt(at)),
        }
    }

    /// Options that say nothing of a host: padding, segment size, window scale, acknowledgements, time stamps. Returns
    /// the end of those before another.
    fn tcp_options(&mut self, mut at: usize, end: usize) -> usize {
        while at < end {
            let length = self.bytes.get(at + 1).copied().unwrap_or_default();
            match (self.bytes[at], length) {
                (0, _) => {
                    self.bytes[at..end].fill(0);
                    return end;
                }
                (1, _) => at += 1,
                (2, 4) | (3, 3) | (4, 2) | (5, 10 | 18 | 26 | 34) | (8, 10) => {
                    let next = at + usize::from(length);
                    if next > end {
                        return at;
                    }
                    at = next;
                }
                _ => return at,
            }
        }
        at.min(end)
    }

    /// Generic routing encapsulation, without routing.
    fn gre(&mut self, at: usize, end: usize) -> HeaderEnd {
        self.need(at, 4, end)?;
        let (flags, kind) = (self.number(at), self.number(at + 2));
        // Version 0, no routing, whose fields are addresses.
        if flags & 0x4007 != 0 {
            return Err(CutAt(at));
        }
        let fields = [0x8000, 0x2000, 0x1000].map(|flag| flags & flag != 0);
        let next = at + 4 + 4 * fields.into_iter().filter(|is_there| *is_there).count();
        self.need(at, next - at, end)?;
        match kind {
            ethertype::IPV4 | ethertype::IPV6 => self.ip(next, end),
            ethertype::BRIDGED => self.ethernet(next, end),
            _ => Err(CutAt(next)),
        }
    }

    /// How `length` bytes at `at` changed.
    fn changed(&self, at: usize, length: usize) -> Change {
        self.changed_also(Change::new(), at, length)
    }

    fn changed_also(&self, change: Change, at: usize, length: usize) -> Change {
        match (
            self.original.get(at..at + length),
            self.bytes.get(at..at + length),
        ) {
            (Some(old), Some(new)) => change.bytes(old, new),
            _ => change,
        }
    }
}
