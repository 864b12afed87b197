//! Random packets: consistent headers, then some damage.

mod link;
mod network;
mod transport;
mod wlan;

use filter::LinkType;
use filter::classic::Ancillary;

use super::packet::Packet;
use super::random::Random;

/// Maximum nesting depth of headers.
const MOST_NESTED: u32 = 4;
const MOST_BYTES: usize = 4096;

/// Generates a packet of link type `link`. Two of three are complete and valid.
pub fn packet(random: &mut Random, link: LinkType) -> Packet {
    let mut bytes = Vec::with_capacity(128);
    Frame {
        random,
        bytes: &mut bytes,
        nested: 0,
    }
    .link(link);
    bytes.truncate(MOST_BYTES);
    let mut packet = Packet::whole(bytes);
    if random.one_in(3) {
        damage(random, &mut packet);
    }
    packet
}

/// Changes some bytes of a packet, truncates it, or both.
pub fn damage(random: &mut Random, packet: &mut Packet) {
    let kind = random.below(4);
    if kind != 0 {
        for _ in 0..random.between(1, 3) {
            let end = packet.bytes.len().clamp(1, 96) as u32;
            let at = random.below(end) as usize;
            if let Some(byte) = packet.bytes.get_mut(at) {
                *byte = match random.below(3) {
                    0 => *byte ^ 1 << random.below(8),
                    1 => *random.pick(&[0, 1, 0x45, 0x60, 0xff, 6, 17]),
                    _ => random.number() as u8,
                };
            }
        }
    }
    if kind < 2 {
        let end = packet.bytes.len().min(160) as u32;
        packet.bytes.truncate(random.below(end + 1) as usize);
        // Half of them were equally short on the wire; the others were truncated by the capture.
        if random.one_in(2) {
            packet.original_len = packet.bytes.len() as u32;
        }
    }
}

/// Adds all or part of the ancillary data that a live capture has.
pub fn know_beside(random: &mut Random, packet: &mut Packet) {
    let mut known = |value: u32| (!random.one_in(6)).then_some(value);
    packet.ancillary = Ancillary {
        packet_type: known(0).map(|_| 0),
        interface_index: known(1),
        queue: known(0),
        vlan_tag: known(1).map(|_| 0),
    };
    let ancillary = &mut packet.ancillary;
    if let Some(kind) = &mut ancillary.packet_type {
        *kind = *random.pick(&[0, 0, 1, 2, 3, 4]);
    }
    if let Some(index) = &mut ancillary.interface_index {
        *index = random.below(4);
    }
    if let Some(tag) = &mut ancillary.vlan_tag {
        *tag = (super::pool::small(random) | random.below(2) << 13) as u16;
    }
    if random.one_in(2) {
        ancillary.vlan_tag = None;
    }
}

/// A packet under construction, header by header.
struct Frame<'a> {
    random: &'a mut Random,
    bytes: &'a mut Vec<u8>,
    nested: u32,
}

impl Frame<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn half(&mut self, half: u16) {
        self.put(&half.to_be_bytes());
    }

    fn word(&mut self, word: u32) {
        self.put(&word.to_be_bytes());
    }

    /// Writes up to `most` bytes, many of them with small values.
    fn payload(&mut self, most: u32) {
        let count = self.random.below(most + 1);
        for _ in 0..count {
            let byte = match self.random.below(2) {
                0 => self.random.below(16) as u8,
                _ => self.random.number() as u8,
            };
            self.byte(byte);
        }
    }

    /// Whether another header may be nested inside.
    fn nest(&mut self) -> bool {
        self.nested += 1;
        self.nested <= MOST_NESTED
    }
}
