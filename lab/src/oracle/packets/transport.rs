//! Generates transport headers.

use super::Frame;
use crate::oracle::pool;

const VXLAN_PORT: u16 = 4789;
const GENEVE_PORT: u16 = 6081;

impl Frame<'_> {
    pub(super) fn upper_of(&mut self, protocol: u8) {
        match protocol {
            6 => self.tcp(),
            17 => self.udp(),
            132 => {
                self.ports();
                self.word(7);
                self.word(0);
                self.payload(20);
            }
            1 | 58 => {
                let kind = *self
                    .random
                    .pick(&[0, 3, 5, 8, 11, 1, 2, 128, 129, 134, 135, 136]);
                let code = self.random.below(4) as u8;
                self.put(&[kind, code, 0, 0]);
                self.payload(24);
            }
            51 => {
                let next = *self.random.pick(&[6, 17, 4, 50]);
                self.put(&[next, 4, 0, 0]);
                self.payload(40);
            }
            4 if self.nest() => self.ip4(),
            41 if self.nest() => self.ip6(),
            _ => self.payload(40),
        }
    }

    fn ports(&mut self) {
        let (source, destination) = (pool::port(self.random), pool::port(self.random));
        self.half(source);
        self.half(destination);
    }

    fn tcp(&mut self) {
        self.ports();
        let (number, answered) = (self.random.below(1000), self.random.number() as u32);
        self.word(number);
        self.word(answered);
        let options = if self.random.one_in(3) { 3 } else { 0 };
        let flags = *self.random.pick(&[2, 0x12, 0x10, 0x18, 0x11, 4, 0xff]);
        self.put(&[(5 + options) << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
        for _ in 0..options {
            self.word(0x0101_080a);
        }
        if self.random.one_in(3) {
            self.put(b"GET / HTTP/1.1\r\n");
        } else {
            self.payload(30);
        }
    }

    fn udp(&mut self) {
        let source = pool::port(self.random);
        self.half(source);
        match self.random.below(6) {
            0 if self.nest() => self.vxlan(),
            1 if self.nest() => self.geneve(),
            _ => {
                let destination = pool::port(self.random);
                self.half(destination);
                let length = self.random.between(8, 60) as u16;
                self.half(length);
                self.half(0);
                self.payload(52);
            }
        }
    }

    fn vxlan(&mut self) {
        self.half(VXLAN_PORT);
        self.put(&[0, 60, 0, 0]);
        let (flags, network) = (*self.random.pick(&[8, 8, 8, 0]), pool::small(self.random));
        self.put(&[flags, 0, 0, 0]);
        self.word(network << 8);
        self.ethernet();
    }

    fn geneve(&mut self) {
        self.half(GENEVE_PORT);
        self.put(&[0, 60, 0, 0]);
        let options = *self.random.pick(&[0, 0, 1, 3]);
        let version = if self.random.one_in(10) { 0x40 } else { 0 };
        let kind = *self.random.pick(&[0x6558, 0x6558, 0x0800, 0x86dd, 0x0806]);
        let network = pool::small(self.random);
        self.put(&[version | options, 0]);
        self.half(kind);
        self.word(network << 8);
        for _ in 0..options {
            self.word(0x0102_0304);
        }
        match kind {
            0x6558 => self.ethernet(),
            kind => self.payload_of(kind),
        }
    }
}
