//! Generates link-layer headers.

use filter::LinkType;

use super::Frame;
use crate::oracle::pool;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const MPLS: u16 = 0x8847;

impl Frame<'_> {
    pub(super) fn link(&mut self, link: LinkType) {
        match link {
            LinkType::Raw => {
                let kind = self.internet();
                self.payload_of(kind);
            }
            LinkType::Ipv4 => self.ip4(),
            LinkType::Ipv6 => self.ip6(),
            LinkType::Null | LinkType::Loop => self.loopback(link == LinkType::Loop),
            LinkType::LinuxSll => self.cooked(),
            LinkType::LinuxSll2 => self.cooked2(),
            LinkType::Wlan => self.wlan(0),
            LinkType::Radiotap => self.radiotap(),
            _ => self.ethernet(),
        }
    }

    pub(super) fn ethernet(&mut self) {
        let [destination, source] = [pool::mac(self.random), pool::mac(self.random)];
        self.put(&destination);
        self.put(&source);
        if self.random.one_in(12) {
            let length = self.random.below(1501) as u16;
            self.half(length);
            self.llc();
            return;
        }
        self.typed();
    }

    /// Writes an EtherType and the header it announces.
    pub(super) fn typed(&mut self) {
        let kind = self.ether_type();
        self.half(kind);
        self.payload_of(kind);
    }

    fn ether_type(&mut self) -> u16 {
        match self.random.below(10) {
            0..=5 => self.internet(),
            6 => *self.random.pick(&[0x0806, 0x8035]),
            7 => *self.random.pick(&pool::ETHER_TYPES),
            _ => *self
                .random
                .pick(&[0x8100, 0x8100, 0x88a8, 0x9100, MPLS, 0x8864]),
        }
    }

    fn internet(&mut self) -> u16 {
        *self.random.pick(&[IPV4, IPV4, IPV6])
    }

    pub(super) fn payload_of(&mut self, kind: u16) {
        if !self.nest() {
            return self.payload(24);
        }
        match kind {
            IPV4 => self.ip4(),
            IPV6 => self.ip6(),
            0x0806 | 0x8035 => self.arp(),
            0x8100 | 0x88a8 | 0x9100 => {
                let tag = pool::small(self.random) | self.random.below(8) << 13;
                self.half(tag as u16);
                self.typed();
            }
            MPLS => self.labels(),
            0x8864 => self.session(),
            _ => self.payload(40),
        }
    }

    fn arp(&mut self) {
        self.put(&[0, 1, 8, 0, 6, 4, 0]);
        let operation = self.random.between(1, 4) as u8;
        self.byte(operation);
        for _ in 0..2 {
            let (mac, address) = (pool::mac(self.random), pool::address4(self.random));
            self.put(&mac);
            self.put(&address.octets());
        }
    }

    fn labels(&mut self) {
        let count = self.random.between(1, 3);
        for left in (0..count).rev() {
            let label = pool::small(self.random);
            self.word(label << 12 | u32::from(left == 0) << 8 | 64);
        }
        let kind = self.internet();
        self.payload_of(kind);
    }

    fn session(&mut self) {
        let session = pool::small(self.random) as u16;
        self.put(&[0x11, 0]);
        self.half(session);
        self.half(40);
        let (protocol, kind) =
            *self
                .random
                .pick(&[(0x0021, IPV4), (0x0057, IPV6), (0x0281, MPLS), (0xc021, 0)]);
        self.half(protocol);
        self.payload_of(kind);
    }

    fn loopback(&mut self, is_big_endian: bool) {
        let (family, kind): (u32, u16) = *self.random.pick(&[
            (2, IPV4),
            (2, IPV4),
            (10, IPV6),
            (24, IPV6),
            (28, IPV6),
            (30, IPV6),
            (7, 0),
        ]);
        let is_turned = self.random.one_in(8);
        self.put(&if is_big_endian == is_turned {
            family.to_le_bytes()
        } else {
            family.to_be_bytes()
        });
        self.payload_of(kind);
    }

    fn cooked(&mut self) {
        let kind = self.random.below(5) as u16;
        self.half(kind);
        self.half(1);
        self.half(6);
        let mac = pool::mac(self.random);
        self.put(&mac);
        self.half(0);
        match self.random.below(12) {
            0 => {
                self.half(4);
                self.llc();
            }
            1 => {
                self.half(1);
                self.payload(30);
            }
            _ => self.typed(),
        }
    }

    fn cooked2(&mut self) {
        let kind = self.ether_type();
        self.half(kind);
        self.half(0);
        let (index, way) = (self.random.below(4), self.random.below(5) as u8);
        self.word(index);
        self.half(1);
        self.put(&[way, 6]);
        let mac = pool::mac(self.random);
        self.put(&mac);
        self.half(0);
        self.payload_of(kind);
    }

    /// Writes an LLC header, with or without SNAP, and its payload.
    pub(super) fn llc(&mut self) {
        match self.random.below(6) {
            0..=2 => {
                let organisation = *self.random.pick(&[[0; 3], [0; 3], [8, 0, 7], [0, 0, 0xc]]);
                self.put(&[0xaa, 0xaa, 3]);
                self.put(&organisation);
                self.typed();
            }
            3 => {
                let identifier = *self.random.pick(&[0x81, 0x82, 0x83, 0x83]);
                let kind = self.random.between(14, 28) as u8;
                self.put(&[0xfe, 0xfe, 3, identifier, 27, 1, 0, kind]);
                self.payload(20);
            }
            _ => {
                let access = *self.random.pick(&pool::ACCESS_POINTS);
                let control = *self
                    .random
                    .pick(&[0, 1, 2, 3, 5, 9, 0x13, 0x7f, 0xaf, 0xbf, 0xe3]);
                self.put(&[access, access, control]);
                self.payload(24);
            }
        }
    }
}
