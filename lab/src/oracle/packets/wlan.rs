//! Generates 802.11 headers.

use super::Frame;
use crate::oracle::pool;

const TYPE_CONTROL: u8 = 1;
const TYPE_DATA: u8 = 2;
const PADDED: u8 = 0x20;

impl Frame<'_> {
    /// Writes an 802.11 frame, with `padding` bytes between a data frame's header and its payload.
    pub(super) fn wlan(&mut self, padding: usize) {
        let kind = *self
            .random
            .pick(&[0, TYPE_CONTROL, TYPE_DATA, TYPE_DATA, TYPE_DATA]);
        let subtype = match self.random.below(2) {
            0 => *self.random.pick(&[0, 4, 8, 11, 12, 13]),
            _ => self.random.below(16) as u8,
        };
        let ways = self.random.below(4) as u8;
        self.put(&[subtype << 4 | kind << 2, ways, 0, 0]);
        let count = match (kind, subtype) {
            (TYPE_CONTROL, 12 | 13) => 1,
            (TYPE_CONTROL, _) => 2,
            _ => 3,
        };
        for _ in 0..count {
            let mac = pool::mac(self.random);
            self.put(&mac);
        }
        if kind == TYPE_CONTROL {
            return self.payload(8);
        }
        self.half(0x10);
        if kind != TYPE_DATA {
            return self.payload(40);
        }
        if ways == 3 {
            let mac = pool::mac(self.random);
            self.put(&mac);
        }
        if subtype & 8 != 0 {
            self.half(5);
        }
        for _ in 0..padding {
            self.byte(0);
        }
        self.llc();
    }

    /// Writes a radiotap header and an 802.11 frame.
    pub(super) fn radiotap(&mut self) {
        let flags = *self.random.pick(&[0, 0x10, PADDED]);
        let padding = if flags == PADDED { 2 } else { 0 };
        match self.random.below(3) {
            // No fields.
            0 => {
                self.put(&[0, 0, 8, 0, 0, 0, 0, 0]);
                self.wlan(0);
            }
            // Flags, rate.
            1 => {
                self.put(&[0, 0, 10, 0, 6, 0, 0, 0, flags, 12]);
                self.wlan(padding);
            }
            // Time, flags, rate, channel, signal.
            _ => {
                self.put(&[0, 0, 23, 0, 0x2f, 0, 0, 0]);
                self.put(&[1, 2, 3, 4, 5, 6, 7, 8, flags, 12, 0x6c, 9, 0xa0, 0, 0xc4]);
                self.wlan(padding);
            }
        }
    }
}
