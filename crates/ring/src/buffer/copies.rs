//! The records of a batch in memory of our own, where they cannot be lent.

use abi::ring_buffer::{MIRRORED_WORDS, MOST_SLOT_BYTES, Mirrored, RingBuffer};

/// Records of a batch at most: the copies stay near.
const MOST: usize = 64;

/// Copies of records.
///
/// They are all made before the first is looked at: what is written by double words and read at once by longer
/// ones makes the processor wait.
#[derive(Debug)]
pub(super) struct Copies {
    words: Vec<[u8; 8]>,
    /// From one copy to the next.
    stride: usize,
    /// Bytes kept of each packet.
    kept: [usize; MOST],
    count: usize,
}

impl Copies {
    /// Room for a batch of packets of which `snaplen` bytes are wanted.
    pub fn new(snaplen: u32) -> Self {
        let kept = snaplen.min(MOST_SLOT_BYTES) as usize;
        let stride = MIRRORED_WORDS + kept.div_ceil(8);
        Self {
            words: vec![[0; 8]; MOST * stride],
            stride,
            kept: [0; MOST],
            count: 0,
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds the record at `position`, which keeps `kept` bytes of its packet, as far as they are wanted; `None`
    /// when there is no room for it.
    #[inline]
    pub fn add(&mut self, memory: &RingBuffer, position: u64, kept: usize) -> Option<Mirrored> {
        let place = self.kept.get_mut(self.count)?;
        let copy = self.words[self.count * self.stride..].get_mut(..self.stride)?;
        let kept = kept.min(8 * (self.stride - MIRRORED_WORDS));
        let copy = &mut copy[..MIRRORED_WORDS + kept.div_ceil(8)];
        memory.copy(position, copy);
        *place = kept;
        self.count += 1;
        copy.first_chunk().map(Mirrored::from_words)
    }

    /// Copy `number` from 0: what is told of the packet, and its bytes.
    #[inline]
    pub fn get(&self, number: usize) -> Option<(Mirrored, &[u8])> {
        let kept = *self.kept[..self.count].get(number)?;
        let copy = self.words.get(number * self.stride..)?;
        let (mirrored, packet) = copy.split_first_chunk()?;
        let bytes = packet.as_flattened().get(..kept)?;
        Some((Mirrored::from_words(mirrored), bytes))
    }
}
