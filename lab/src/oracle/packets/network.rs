//! Generates network-layer headers.

use super::Frame;
use crate::oracle::pool;

const EXTENSIONS: [u8; 5] = [0, 43, 60, 44, 51];

impl Frame<'_> {
    pub(super) fn ip4(&mut self) {
        let start = self.bytes.len();
        let options = match self.random.below(6) {
            0 => self.random.between(1, 10) as u8,
            _ => 0,
        };
        let protocol = self.upper();
        let fragment = match self.random.below(10) {
            0 => *self.random.pick(&[0x2000, 0x4000, 0x0001, 0x2010, 0x1fff]),
            _ => 0,
        };
        let time = *self.random.pick(&[1, 64, 64, 128, 255]);
        let identification = self.random.below(64) as u16;
        self.put(&[0x45 + options, 0, 0, 0]);
        self.half(identification);
        self.half(fragment);
        self.put(&[time, protocol, 0, 0]);
        for _ in 0..2 {
            let address = pool::address4(self.random);
            self.put(&address.octets());
        }
        for _ in 0..options {
            self.word(0x0101_0100);
        }
        self.upper_of(protocol);
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    pub(super) fn ip6(&mut self) {
        let start = self.bytes.len();
        self.put(&[0x60, 0, 0, 0, 0, 0, 0, 64]);
        for _ in 0..2 {
            let address = pool::address6(self.random);
            self.put(&address.octets());
        }
        let mut next_at = start + 6;
        let count = match self.random.below(5) {
            0 => self.random.between(1, 3),
            _ => 0,
        };
        for _ in 0..count {
            let kind = *self.random.pick(&EXTENSIONS);
            self.bytes[next_at] = kind;
            next_at = self.bytes.len();
            self.extension(kind);
        }
        let protocol = self.upper();
        self.bytes[next_at] = protocol;
        self.upper_of(protocol);
        let length = (self.bytes.len() - start - 40) as u16;
        self.bytes[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
    }

    fn extension(&mut self, kind: u8) {
        let (length, bytes) = match kind {
            44 => (0, 8),
            51 => (4, 24),
            _ if self.random.one_in(3) => (1, 16),
            _ => (0, 8),
        };
        self.put(&[0, length]);
        if kind == 44 {
            let fragment = *self.random.pick(&[0, 1, 8, 9]);
            self.half(fragment);
        } else {
            self.half(0);
        }
        for _ in 4..bytes {
            self.byte(0);
        }
    }

    fn upper(&mut self) -> u8 {
        match self.random.below(12) {
            0..=3 => 6,
            4..=7 => 17,
            8 => *self.random.pick(&[1, 58, 2]),
            9 => 132,
            _ => *self.random.pick(&pool::PROTOCOLS),
        }
    }
}
