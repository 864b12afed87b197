//! The user-space ends of the rings shared with the kernel.
//!
//! A ring has a power of two of entries and two indices, which count entries written and entries read and wrap at
//! 2³². Always `0 ≤ produced − consumed ≤ entries`, modulo 2³². The low bits of an index select the entry. Each index
//! has one writer: we write the consumer's index of the receive and completion rings, and the producer's index of the
//! fill and transmit rings.

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use abi::region::Region;
use abi::xdp::{RingOffset, XDP_RING_NEED_WAKEUP, XdpDesc};

/// A mapped ring.
#[derive(Debug)]
struct Ring {
    region: Region,
    producer_at: usize,
    consumer_at: usize,
    flags_at: usize,
    entries_at: usize,
    count: u32,
}

impl Ring {
    /// # Panics
    /// If `count` is not a power of two.
    fn new(region: Region, at: &RingOffset, count: u32) -> Self {
        assert!(
            count.is_power_of_two(),
            "a ring has a power of two of entries"
        );
        Self {
            region,
            producer_at: at.producer as usize,
            consumer_at: at.consumer as usize,
            flags_at: at.flags as usize,
            entries_at: at.desc as usize,
            count,
        }
    }

    /// Offset of the entry with this index.
    #[inline]
    fn place(&self, index: u32, entry_bytes: usize) -> usize {
        self.entries_at + (index & (self.count - 1)) as usize * entry_bytes
    }
}

/// Size of a ring's mapping.
pub(super) fn mapping_bytes(at: &RingOffset, count: u32, entry_bytes: usize) -> usize {
    at.desc as usize + count as usize * entry_bytes
}

/// An entry of a ring: a descriptor, or the address of a chunk.
pub(super) trait Entry: Copy {
    const BYTES: usize = size_of::<Self>();

    /// Reads the entry at byte `place`.
    fn load(region: &Region, place: usize) -> Self;

    /// Writes the entry at byte `place`.
    fn store(self, region: &Region, place: usize);
}

// Relaxed throughout: the indices order the accesses to entries.
impl Entry for XdpDesc {
    #[inline]
    fn load(region: &Region, place: usize) -> Self {
        Self {
            addr: region.word64(place).load(Ordering::Relaxed),
            len: region.word(place + 8).load(Ordering::Relaxed),
            options: region.word(place + 12).load(Ordering::Relaxed),
        }
    }

    #[inline]
    fn store(self, region: &Region, place: usize) {
        region.word64(place).store(self.addr, Ordering::Relaxed);
        region.word(place + 8).store(self.len, Ordering::Relaxed);
        let options = region.word(place + 12);
        options.store(self.options, Ordering::Relaxed);
    }
}

impl Entry for u64 {
    #[inline]
    fn load(region: &Region, place: usize) -> Self {
        region.word64(place).load(Ordering::Relaxed)
    }

    #[inline]
    fn store(self, region: &Region, place: usize) {
        region.word64(place).store(self, Ordering::Relaxed);
    }
}

/// Our end of the receive ring, or of the completion ring: the kernel writes entries, we read them.
#[derive(Debug)]
pub(super) struct Consumer<E = XdpDesc> {
    ring: Ring,
    /// The consumer's index, as written.
    consumed: u32,
    entries: PhantomData<E>,
}

impl<E: Entry> Consumer<E> {
    pub const ENTRY_BYTES: usize = E::BYTES;

    pub fn new(region: Region, at: &RingOffset, count: u32) -> Self {
        let ring = Ring::new(region, at, count);
        let consumed = ring.region.word(ring.consumer_at).load(Ordering::Relaxed);
        Self {
            ring,
            consumed,
            entries: PhantomData,
        }
    }

    pub fn count(&self) -> u32 {
        self.ring.count
    }

    /// Number of descriptors that wait to be read.
    #[inline]
    pub fn ready(&self) -> u32 {
        // Acquire pairs with the store-release of the producer's index in __xskq_prod_submit, net/xdp/xsk_queue.h.
        // With a weaker load, a descriptor or its packet could be read before it was written.
        let produced = self
            .ring
            .region
            .word(self.ring.producer_at)
            .load(Ordering::Acquire);
        produced.wrapping_sub(self.consumed).min(self.ring.count)
    }

    /// The entry `ahead` of the oldest one. Beyond [`Consumer::ready`] the value is arbitrary.
    #[inline]
    pub fn descriptor(&self, ahead: u32) -> E {
        let index = self.consumed.wrapping_add(ahead);
        // `ready` has synchronised with the kernel, which does not write the entry until `release`.
        E::load(&self.ring.region, self.ring.place(index, E::BYTES))
    }

    /// Returns the oldest `count` entries to the kernel.
    pub fn release(&mut self, count: u32) {
        self.consumed = self.consumed.wrapping_add(count);
        // Release: the entries were read before the kernel can see that it may write them again. Pairs with the
        // control dependency on this index in xskq_prod_nb_free, net/xdp/xsk_queue.h.
        let word = self.ring.region.word(self.ring.consumer_at);
        word.store(self.consumed, Ordering::Release);
    }
}

/// Our end of the fill ring, or of the transmit ring: we write entries, the kernel reads them.
#[derive(Debug)]
pub(super) struct Producer<E = u64> {
    ring: Ring,
    /// Entries written, published or not.
    produced: u32,
    /// The consumer's index, as last read.
    consumed: u32,
    entries: PhantomData<E>,
}

impl<E: Entry> Producer<E> {
    pub const ENTRY_BYTES: usize = E::BYTES;

    pub fn new(region: Region, at: &RingOffset, count: u32) -> Self {
        let ring = Ring::new(region, at, count);
        let produced = ring.region.word(ring.producer_at).load(Ordering::Relaxed);
        let consumed = ring.region.word(ring.consumer_at).load(Ordering::Acquire);
        Self {
            ring,
            produced,
            consumed,
            entries: PhantomData,
        }
    }

    /// Writes an entry. Returns `false` if the ring is full.
    #[inline]
    pub fn put(&mut self, entry: E) -> bool {
        if self.is_full() {
            self.look();
            if self.is_full() {
                return false;
            }
        }
        // `publish` orders it before the kernel's read.
        self.write(self.produced, entry);
        self.produced = self.produced.wrapping_add(1);
        true
    }

    /// Makes the written entries visible to the kernel.
    pub fn publish(&mut self) {
        self.publish_before(self.produced);
    }

    /// Makes the written entries before index `end` visible to the kernel.
    pub fn publish_before(&mut self, end: u32) {
        // Release: the entries, and the last accesses to the chunks they name, happen before the kernel sees them.
        // Pairs with the load-acquire in __xskq_cons_peek, net/xdp/xsk_queue.h. With a weaker store, a packet could
        // change while it is read.
        let word = self.ring.region.word(self.ring.producer_at);
        word.store(end, Ordering::Release);
    }

    /// Index of the next entry to be written.
    pub fn produced(&self) -> u32 {
        self.produced
    }

    /// The kernel's index: of the next entry that it takes.
    pub fn taken(&mut self) -> u32 {
        self.look();
        self.consumed
    }

    /// The written entry with this index.
    pub fn entry(&self, index: u32) -> E {
        E::load(&self.ring.region, self.ring.place(index, E::BYTES))
    }

    /// Whether `count` more entries can be written.
    pub fn has_room(&mut self, count: u32) -> bool {
        let has_room = |ring: &Self| {
            let waiting = ring.produced.wrapping_sub(ring.consumed);
            waiting.saturating_add(count) <= ring.ring.count
        };
        if !has_room(self) {
            self.look();
        }
        has_room(self)
    }

    /// Writes the entry with this index; [`publish`](Self::publish) makes it visible.
    pub fn write(&self, index: u32, entry: E) {
        entry.store(&self.ring.region, self.ring.place(index, E::BYTES));
    }

    /// Writes `entries` before the entry with index `at`, and those from there on behind them; [`publish`](Self::publish)
    /// makes them visible. Only while the kernel does not read the ring.
    ///
    /// # Panics
    /// If the ring has no room for them.
    pub fn insert(&mut self, at: u32, entries: &[E]) {
        let count = entries.len() as u32;
        let waiting = self.produced.wrapping_sub(at);
        assert!(waiting + count <= self.ring.count, "the ring has room");
        for ahead in (0..waiting).rev() {
            let moved = self.entry(at.wrapping_add(ahead));
            self.write(at.wrapping_add(ahead + count), moved);
        }
        for (ahead, &entry) in (0..).zip(entries) {
            self.write(at.wrapping_add(ahead), entry);
        }
        self.produced = self.produced.wrapping_add(count);
    }

    /// Whether the kernel has taken every entry.
    pub fn is_empty(&mut self) -> bool {
        self.look();
        self.produced == self.consumed
    }

    /// Whether the kernel waits for a wake-up to take new entries.
    #[inline]
    pub fn needs_wakeup(&self) -> bool {
        // Relaxed: an independent flag; a late value is seen at the next call.
        let flags = self
            .ring
            .region
            .word(self.ring.flags_at)
            .load(Ordering::Relaxed);
        flags & XDP_RING_NEED_WAKEUP != 0
    }

    fn is_full(&self) -> bool {
        self.produced.wrapping_sub(self.consumed) >= self.ring.count
    }

    fn look(&mut self) {
        // Acquire pairs with the store-release in __xskq_cons_release, net/xdp/xsk_queue.h: the kernel has read the
        // entries that are overwritten now.
        self.consumed = self
            .ring
            .region
            .word(self.ring.consumer_at)
            .load(Ordering::Acquire);
    }
}

#[cfg(test)]
mod tests;
