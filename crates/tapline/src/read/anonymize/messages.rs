//! Messages of ICMP, `ICMPv6` and IGMP.

use super::headers::{CutAt, HeaderEnd, Headers};

/// Options of neighbour discovery.
mod neighbour_option {
    pub const SOURCE_MAC: u8 = 1;
    pub const TARGET_MAC: u8 = 2;
    pub const PREFIX: u8 = 3;
    pub const REDIRECTED: u8 = 4;
    pub const MTU: u8 = 5;
    pub const NAME_SERVERS: u8 = 25;
}

impl Headers<'_> {
    pub(super) fn icmpv4(&mut self, at: usize, end: usize) -> HeaderEnd {
        self.need(at, 4, end)?;
        match self.bytes[at] {
            // Unreachable, source quench, time exceeded, parameter problem.
            3 | 4 | 11 | 12 => {
                self.need(at, 8, end)?;
                self.quoted(at + 8, end)
            }
            // Redirect: the other gateway.
            5 => {
                self.need(at + 4, 4, end)?;
                self.ipv4_address(at + 4);
                self.quoted(at + 8, end)
            }
            // Echo: identifier and sequence number.
            0 | 8 => Ok(end.min(at + 8)),
            // Time stamps.
            13 | 14 => Ok(end.min(at + 20)),
            _ => Err(CutAt(at + 4)),
        }
    }

    /// The packet that an error quotes.
    fn quoted(&mut self, at: usize, end: usize) -> HeaderEnd {
        if at == end {
            return Ok(end);
        }
        self.ip(at, end)
    }

    pub(super) fn icmpv6(&mut self, at: usize, end: usize) -> HeaderEnd {
        self.need(at, 4, end)?;
        let body = at + 8;
        match self.bytes[at] {
            1..=4 => {
                self.need(at, 8, end)?;
                self.quoted(body, end)
            }
            128 | 129 => Ok(end.min(body)),
            // Multicast listeners, of version 1; what queries of version 2 have in addition is cut off.
            130..=132 => {
                self.need(body, 16, end)?;
                self.ipv6_address(body);
                Ok(body + 16)
            }
            133 => self.neighbour_options(body, end),
            134 => self.neighbour_options(body + 8, end),
            135 | 136 => {
                self.need(body, 16, end)?;
                self.ipv6_address(body);
                self.neighbour_options(body + 16, end)
            }
            137 => {
                self.need(body, 32, end)?;
                self.ipv6_address(body);
                self.ipv6_address(body + 16);
                self.neighbour_options(body + 32, end)
            }
            143 => self.groups(at, 16, end),
            _ => Err(CutAt(at + 4)),
        }
    }

    fn neighbour_options(&mut self, mut at: usize, end: usize) -> HeaderEnd {
        use neighbour_option as option;
        while at < end {
            self.need(at, 8, end)?;
            let length = usize::from(self.bytes[at + 1]) * 8;
            if length == 0 {
                return Err(CutAt(at));
            }
            match (self.bytes[at], length) {
                (option::SOURCE_MAC | option::TARGET_MAC, 8) => self.mac(at + 2),
                (option::MTU, 8) => {}
                (option::PREFIX, 32) => {
                    self.need(at, length, end)?;
                    let bits = self.bytes[at + 2];
                    self.ipv6_prefix(at + 16, bits);
                }
                (option::NAME_SERVERS, 24..) => {
                    self.need(at, length, end)?;
                    for place in (8..length - 8).step_by(16) {
                        self.ipv6_address(at + place);
                    }
                }
                (option::REDIRECTED, 48..) => return self.ip(at + 8, end.min(at + length)),
                _ => return Err(CutAt(at)),
            }
            at += length;
        }
        Ok(end)
    }

    pub(super) fn igmp(&mut self, at: usize, end: usize) -> HeaderEnd {
        self.need(at, 4, end)?;
        match self.bytes[at] {
            // Query, reports of versions 1 and 2, leave; what queries of version 3 have in addition is cut off.
            0x11 | 0x12 | 0x16 | 0x17 => {
                self.need(at + 4, 4, end)?;
                self.ipv4_address(at + 4);
                Ok(at + 8)
            }
            0x22 => self.groups(at, 4, end),
            _ => Err(CutAt(at + 4)),
        }
    }

    /// The records of a report of multicast groups, with addresses of `width` bytes.
    fn groups(&mut self, at: usize, width: usize, end: usize) -> HeaderEnd {
        self.need(at, 8, end)?;
        let records = self.number(at + 6);
        let mut at = at + 8;
        for _ in 0..records {
            self.need(at, 4 + width, end)?;
            // Auxiliary data is not defined.
            let has_more = self.bytes[at + 1] != 0;
            let sources: usize = self.number(at + 2).into();
            at += 4;
            for _ in 0..=sources {
                self.need(at, width, end)?;
                match width {
                    4 => self.ipv4_address(at),
                    _ => self.ipv6_address(at),
                }
                at += width;
            }
            if has_more {
                return Err(CutAt(at));
            }
        }
        Ok(at)
    }
}
