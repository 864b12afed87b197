//! Builds pcapng and pcap bytes in either byte order.

/// Builds blocks and records in one byte order.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    pub big: bool,
}

pub const LITTLE: Build = Build { big: false };
pub const BIG: Build = Build { big: true };

/// An Ethernet frame of 60 bytes.
pub fn frame(last: u8) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1, 0x08, 0x00]);
    frame.extend([0x2e; 45]);
    frame.push(last);
    frame
}

impl Build {
    pub fn u16(self, value: u16) -> [u8; 2] {
        if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    pub fn u64(self, value: u64) -> [u8; 8] {
        if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    pub fn words(self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| self.u32(*word)).collect()
    }

    pub fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padding = body.len().next_multiple_of(4) - body.len();
        let length = (12 + body.len() + padding) as u32;
        let header = [self.u32(kind), self.u32(length)].concat();
        [&header, body, &vec![0; padding], &self.u32(length)].concat()
    }

    pub fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let padding = value.len().next_multiple_of(4) - value.len();
        let header = [self.u16(code), self.u16(value.len() as u16)].concat();
        [&header, value, &vec![0; padding]].concat()
    }

    pub fn section(self, options: &[u8]) -> Vec<u8> {
        let version = [self.u16(1), self.u16(0)].concat();
        let body = [&self.u32(0x1a2b_3c4d)[..], &version, &[0xff; 8], options].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    pub fn interface(self, link_type: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
        let body = [
            &self.u16(link_type)[..],
            &[0; 2],
            &self.u32(snaplen),
            options,
        ]
        .concat();
        self.block(1, &body)
    }

    pub fn enhanced(self, interface: u32, ticks: u64, frame: &[u8], options: &[u8]) -> Vec<u8> {
        let length = frame.len() as u32;
        let fixed = self.words(&[
            interface,
            (ticks >> 32) as u32,
            ticks as u32,
            length,
            length + 100,
        ]);
        let padding = frame.len().next_multiple_of(4) - frame.len();
        self.block(6, &[&fixed, frame, &vec![0; padding], options].concat())
    }

    pub fn simple(self, original_len: u32, kept: &[u8]) -> Vec<u8> {
        self.block(3, &[&self.u32(original_len), kept].concat())
    }

    pub fn obsolete(self, interface: u16, drops: u16, ticks: u64, frame: &[u8]) -> Vec<u8> {
        let length = frame.len() as u32;
        let first = [self.u16(interface), self.u16(drops)].concat();
        let rest = self.words(&[(ticks >> 32) as u32, ticks as u32, length, length]);
        self.block(2, &[&first, &rest, frame].concat())
    }

    pub fn statistics(self, interface: u32, ticks: u64, options: &[u8]) -> Vec<u8> {
        let fixed = self.words(&[interface, (ticks >> 32) as u32, ticks as u32]);
        self.block(5, &[&fixed, options].concat())
    }

    pub fn pcap_header(self, magic: u32, version: (u16, u16), network: u32) -> Vec<u8> {
        let version = [self.u16(version.0), self.u16(version.1)].concat();
        [
            &self.u32(magic)[..],
            &version,
            &self.words(&[0, 0, 65535, network]),
        ]
        .concat()
    }

    pub fn record(self, time: (u32, u32), lengths: (u32, u32), bytes: &[u8]) -> Vec<u8> {
        [&self.words(&[time.0, time.1, lengths.0, lengths.1]), bytes].concat()
    }
}
