//! The newest packets of a capture, encoded in memory of a fixed size.

use super::buffer::pages;
use super::{CaptureFile, WriteError, pcapng};
use crate::model::Packet;
use abi::pages::Pages;

/// Type of a block whose packet has been written. Block types with this bit are reserved for local use.
const WRITTEN: u32 = 0x8000_0006;

/// Header of an Enhanced Packet Block up to the packet, bytes.
const HEADER: usize = 28;

/// Keeps the newest packets as Enhanced Packet Blocks, in memory that is allocated once, and writes them to a pcapng
/// file: each at most once.
///
/// ```text
/// 0          next      oldest          wrap     length
/// ├─ newer ───┤  free  ├─ older ────────┤ unused ┤
/// ```
///
/// Cost: a packet is copied once, without an allocation or system call. A packet for which there is no room
/// replaces the oldest ones.
pub struct RecentPackets {
    memory: Pages,
    oldest: usize,
    next: usize,
    /// End of the older blocks, if newer ones begin at the start of the memory again. Then `next <= oldest`.
    wrap: Option<usize>,
    blocks: u64,
}

impl RecentPackets {
    /// Memory of `bytes` bytes, rounded up to whole pages.
    pub fn new(bytes: usize) -> Self {
        Self {
            memory: pages(bytes),
            oldest: 0,
            next: 0,
            wrap: None,
            blocks: 0,
        }
    }

    /// Number of packets in memory, written ones among them.
    pub fn len(&self) -> u64 {
        self.blocks
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Adds a packet. Returns whether it fits into the memory at all.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to memory"
    )]
    pub fn push(&mut self, packet: &Packet<'_>) -> bool {
        if let Some(block) = pcapng::FastPacketBlock::new(packet, packet.bytes) {
            return self.claim(block.length()).is_some_and(|out| {
                block.encode(out);
                true
            });
        }
        // Copied only here: a packet whose address is taken cannot stay in registers.
        let packet = *packet;
        self.push_any(&packet)
    }

    #[inline(never)]
    fn push_any(&mut self, packet: &Packet<'_>) -> bool {
        let block = pcapng::EnhancedPacketBlock::new(packet, packet.bytes);
        self.claim(block.length()).is_some_and(|out| {
            block.encode(out);
            true
        })
    }

    /// Makes room for a block, and counts it.
    #[inline]
    fn claim(&mut self, length: usize) -> Option<&mut [u8]> {
        let at = self.make_room(length)?;
        self.next = at + length;
        self.blocks += 1;
        self.memory.get_mut(at..at + length)
    }

    /// Makes room for a block, and returns where.
    #[inline]
    fn make_room(&mut self, length: usize) -> Option<usize> {
        if length > self.memory.len() {
            return None;
        }
        // Bound: each turn but the last removes a block, and an empty memory has room.
        loop {
            let end = match self.wrap {
                Some(_) => self.oldest,
                None => self.memory.len(),
            };
            if end - self.next >= length {
                return Some(self.next);
            }
            if self.wrap.is_none() && self.oldest >= length {
                self.wrap = Some(self.next);
                return Some(0);
            }
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        self.blocks = self.blocks.saturating_sub(1);
        if self.blocks == 0 {
            (self.oldest, self.next, self.wrap) = (0, 0, None);
            return;
        }
        self.oldest += self.block_bytes(self.oldest);
        if self.wrap == Some(self.oldest) {
            (self.oldest, self.wrap) = (0, None);
        }
    }

    /// Forgets packets older than `time_ns`, nanoseconds since 1970 UTC, up to the first that is not.
    pub fn forget_before(&mut self, time_ns: u64) {
        while self.blocks > 0 && self.time_ns(self.oldest) < time_ns {
            self.forget_oldest();
        }
    }

    /// Writes all packets that are not written yet to `file`, and forgets them. The file must have the interfaces
    /// of the packets, be pcapng and not rotate ([`CaptureFile::takes_blocks`]). Returns their number.
    ///
    /// # Errors
    /// As [`CaptureFile::write_blocks`].
    pub fn write_all(&mut self, file: &mut CaptureFile) -> Result<u64, WriteError> {
        let mut written = 0;
        // Blocks that follow each other are written together.
        let mut run = (self.oldest, 0);
        let mut at = self.oldest;
        for _ in 0..self.blocks {
            let start = self.wrapped(at);
            let end = start + self.block_bytes(start);
            let is_written = self.word(start) == WRITTEN;
            if start != at || is_written {
                written += self.write_run(file, run, at)?;
                run = (if is_written { end } else { start }, 0);
            }
            run.1 += u64::from(!is_written);
            at = end;
        }
        written += self.write_run(file, run, at)?;
        self.clear();
        Ok(written)
    }

    fn write_run(
        &self,
        file: &mut CaptureFile,
        (start, packets): (usize, u64),
        end: usize,
    ) -> Result<u64, WriteError> {
        if packets > 0 {
            file.write_blocks(&self.memory[start..end], packets)?;
        }
        Ok(packets)
    }

    /// Writes the packets that `selects` accepts, by their interface and bytes, and that are not written yet. They
    /// stay in memory, marked as written. Otherwise as [`write_all`](Self::write_all).
    ///
    /// # Errors
    /// As [`CaptureFile::write_blocks`].
    pub fn write_selected(
        &mut self,
        file: &mut CaptureFile,
        mut selects: impl FnMut(u32, &[u8]) -> bool,
    ) -> Result<u64, WriteError> {
        let mut written = 0;
        let mut at = self.oldest;
        for _ in 0..self.blocks {
            at = self.wrapped(at);
            let end = at + self.block_bytes(at);
            let bytes = at + HEADER..at + HEADER + self.word(at + 20) as usize;
            if self.word(at) != WRITTEN && selects(self.word(at + 8), &self.memory[bytes]) {
                file.write_blocks(&self.memory[at..end], 1)?;
                self.memory[at..at + 4].copy_from_slice(&WRITTEN.to_ne_bytes());
                written += 1;
            }
            at = end;
        }
        Ok(written)
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        (self.oldest, self.next, self.wrap, self.blocks) = (0, 0, None, 0);
    }

    /// Where the block at `at` is, which may be behind the older ones.
    fn wrapped(&self, at: usize) -> usize {
        if self.wrap == Some(at) { 0 } else { at }
    }

    fn block_bytes(&self, at: usize) -> usize {
        self.word(at + 4) as usize
    }

    fn time_ns(&self, at: usize) -> u64 {
        u64::from(self.word(at + 12)) << 32 | u64::from(self.word(at + 16))
    }

    fn word(&self, at: usize) -> u32 {
        let word = self.memory[at..].first_chunk();
        u32::from_ne_bytes(*word.unwrap_or(&[0; 4]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::model::{Interface, LinkType};
    use crate::read::{Item, Reader};
    use crate::write::{CaptureFileOptions, Output};

    /// Compares with a queue of lengths, for packets of lengths that wrap at different places.
    #[test]
    fn the_newest_packets_are_kept_and_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut recent = RecentPackets::new(4096);
        let mut written = Vec::new();
        let mut expected = Vec::new();
        let mut model = VecDeque::new();
        let mut seed = 1_u64;
        for number in 0..5000_u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let length = (seed >> 33) as usize % 700;
            assert!(recent.push(&Packet::new(number, &vec![7; length])));
            model.push_back((number, 32 + length.next_multiple_of(4)));
            while model.len() as u64 > recent.len() {
                let (_, forgotten) = model.pop_front().unwrap();
                // Only for lack of room: less than a block is unused at the end, and one is free.
                let kept: usize = model.iter().map(|(_, bytes)| bytes).sum();
                assert!(kept + forgotten + 732 > 4096, "{number}: {kept}");
            }
            if number % 97 == 0 {
                let path = folder.path().join(format!("{number}.pcapng"));
                let output = Output::Path(path.clone());
                let interfaces = vec![Interface::new(LinkType::ETHERNET, 0)];
                let options = CaptureFileOptions::new(output, interfaces);
                let mut file = CaptureFile::create(options, 0).unwrap();
                let is_long = |_, bytes: &[u8]| bytes.len() > 400;
                let some = recent.write_selected(&mut file, is_long).unwrap();
                assert_eq!(recent.write_selected(&mut file, is_long).unwrap(), 0);
                let rest = recent.write_all(&mut file).unwrap();
                assert_eq!(some + rest, model.len() as u64);
                assert!(recent.is_empty());
                file.close(&[]).unwrap();
                assert_eq!(file.packets_written(), some + rest);
                expected.extend(model.drain(..).map(|(number, _)| number));
                let mut reader = Reader::open(&path).unwrap();
                let mut times = Vec::new();
                while let Some(item) = reader.next_item().unwrap() {
                    if let Item::Packet(packet) = item {
                        times.push(packet.timestamp_ns.unwrap());
                    }
                }
                times.sort_unstable();
                written.extend(times);
            }
        }
        assert_eq!(written, expected);
        assert!(!recent.push(&Packet::new(0, &[0; 4096])));
    }

    #[test]
    fn old_packets_are_forgotten_by_their_time() {
        let mut recent = RecentPackets::new(4096);
        for time in 0..10 {
            recent.push(&Packet::new(time, &[0; 60]));
        }
        recent.forget_before(7);
        assert_eq!(recent.len(), 3);
        recent.forget_before(u64::MAX);
        assert!(recent.is_empty());
    }
}
