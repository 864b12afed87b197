//! The tests play the kernel's end, with 64-bit indices that do not wrap.

use super::*;

const AT: RingOffset = RingOffset {
    producer: 0,
    consumer: 64,
    flags: 128,
    desc: 192,
};

/// Starts that lie before, at and behind the wrap.
fn starts() -> impl Iterator<Item = u64> {
    (0..40).map(|back| u32::MAX as u64 - 20 + back)
}

/// Memory of a ring whose two indices are `start`.
fn ring_at(start: u64, count: u32, entry_bytes: usize) -> Region {
    let region = Region::anonymous(mapping_bytes(&AT, count, entry_bytes)).unwrap();
    for at in [AT.producer, AT.consumer] {
        region
            .word(at as usize)
            .store(start as u32, Ordering::Relaxed);
    }
    region
}

/// A descriptor that tells its number.
fn numbered(number: u64) -> XdpDesc {
    XdpDesc {
        addr: number * 2048,
        len: number as u32 ^ 0x5555,
        options: 0,
    }
}

/// The kernel's end of a receive ring: writes the entry of the 64-bit index `produced`.
fn produce(ring: &Ring, produced: u64) {
    let place = AT.desc as usize + (produced % ring.count as u64) as usize * 16;
    let desc = numbered(produced);
    ring.region
        .word64(place)
        .store(desc.addr, Ordering::Relaxed);
    ring.region
        .word(place + 8)
        .store(desc.len, Ordering::Relaxed);
    ring.region
        .word(place + 12)
        .store(desc.options, Ordering::Relaxed);
    let index = (produced + 1) as u32;
    ring.region
        .word(AT.producer as usize)
        .store(index, Ordering::Release);
}

#[test]
fn a_receive_ring_is_read_in_order_across_the_wrap_of_its_indices() {
    for (start, count) in starts().flat_map(|start| [1, 2, 8].map(|count| (start, count))) {
        let region = ring_at(start, count, <Consumer>::ENTRY_BYTES);
        let mut consumer = <Consumer>::new(region, &AT, count);
        let (mut produced, mut consumed) = (start, start);
        assert_eq!(consumer.ready(), 0);
        // Each number of entries from one to a full ring, then one less is read than lies there.
        for step in 0..64 {
            let fill = 1 + step % count as u64;
            while produced - consumed < fill {
                produce(&consumer.ring, produced);
                produced += 1;
            }
            assert_eq!(consumer.ready() as u64, produced - consumed);
            for ahead in 0..consumer.ready() {
                let expected = numbered(consumed + ahead as u64);
                assert_eq!(consumer.descriptor(ahead), expected);
            }
            let read = consumer.ready().div_ceil(2);
            consumer.release(read);
            consumed += read as u64;
            let told = consumer.ring.region.word(AT.consumer as usize);
            assert_eq!(told.load(Ordering::Relaxed), consumed as u32);
        }
        assert!(produced > u32::MAX as u64, "the test goes over the wrap");
    }
}

#[test]
fn an_index_that_cannot_be_is_taken_for_a_full_ring() {
    for produced in [6, 16, 1000] {
        let region = ring_at(7, 8, <Consumer>::ENTRY_BYTES);
        let consumer = <Consumer>::new(region, &AT, 8);
        let word = consumer.ring.region.word(AT.producer as usize);
        word.store(produced, Ordering::Relaxed);
        assert_eq!(consumer.ready(), 8);
    }
}

/// The kernel's end of a fill ring: reads the entry of the 64-bit index `consumed`.
fn consume(ring: &Ring, consumed: u64) -> u64 {
    let place = AT.desc as usize + (consumed % ring.count as u64) as usize * 8;
    let address = ring.region.word64(place).load(Ordering::Relaxed);
    let index = (consumed + 1) as u32;
    ring.region
        .word(AT.consumer as usize)
        .store(index, Ordering::Release);
    address
}

#[test]
fn a_fill_ring_is_written_in_order_across_the_wrap_of_its_indices() {
    for (start, count) in starts().flat_map(|start| [1, 2, 8].map(|count| (start, count))) {
        let region = ring_at(start, count, <Producer>::ENTRY_BYTES);
        let mut producer = <Producer>::new(region, &AT, count);
        let (mut produced, mut consumed) = (start, start);
        for step in 0..64 {
            assert_eq!(producer.is_empty(), produced == consumed);
            let shown = |producer: &Producer| {
                let word = producer.ring.region.word(AT.producer as usize);
                word.load(Ordering::Relaxed)
            };
            let before = shown(&producer);
            let fill = 1 + step % count as u64;
            while produced - consumed < fill {
                assert!(producer.put(produced * 2048));
                produced += 1;
            }
            assert_eq!(
                shown(&producer),
                before,
                "nothing shows before it is published"
            );
            producer.publish();
            assert_eq!(shown(&producer), produced as u32);
            for _ in 0..(produced - consumed).div_ceil(2) {
                assert_eq!(consume(&producer.ring, consumed), consumed * 2048);
                consumed += 1;
            }
        }
        assert!(produced > u32::MAX as u64, "the test goes over the wrap");
    }
}

#[test]
fn a_full_fill_ring_takes_no_more_across_the_wrap() {
    for start in starts() {
        let region = ring_at(start, 4, <Producer>::ENTRY_BYTES);
        let mut producer = <Producer>::new(region, &AT, 4);
        for number in 0..4 {
            assert!(producer.put(start + number));
        }
        assert!(!producer.put(0));
        producer.publish();
        assert_eq!(consume(&producer.ring, start), start);
        assert!(producer.put(start + 4));
        assert!(!producer.put(0));
        for number in 1..5 {
            assert_eq!(consume(&producer.ring, start + number), start + number);
        }
    }
}

/// The kernel hands a packet over before it tells that it has read the entry of its chunk.
#[test]
fn twice_the_entries_take_every_chunk_back_before_the_kernel_tells() {
    for start in starts() {
        let chunks = 4;
        let region = ring_at(start, 2 * chunks, <Producer>::ENTRY_BYTES);
        let mut producer = <Producer>::new(region, &AT, 2 * chunks);
        for round in 0..2 {
            for chunk in 0..chunks {
                assert!(producer.put(u64::from(round * chunks + chunk)));
            }
            producer.publish();
        }
        assert!(!producer.put(0));
    }
}

#[test]
fn entries_are_inserted_before_those_that_wait_across_the_wrap() {
    for start in starts() {
        let region = ring_at(start, 8, <Producer>::ENTRY_BYTES);
        let mut producer = <Producer>::new(region, &AT, 8);
        for number in 0..5 {
            assert!(producer.put(number));
        }
        producer.publish();
        for number in 0..2 {
            assert_eq!(consume(&producer.ring, start + number), number);
        }
        let taken = producer.taken();
        producer.insert(taken, &[100, 101]);
        let published = |ring: &Ring| {
            ring.region
                .word(AT.producer as usize)
                .load(Ordering::Acquire)
        };
        // One of the entries that wait is published, then all are.
        producer.publish_before(taken.wrapping_add(1));
        assert_eq!(published(&producer.ring), (start + 3) as u32);
        producer.publish();
        assert_eq!(published(&producer.ring), (start + 7) as u32);
        assert_eq!(producer.produced(), (start + 7) as u32);
        let rest = (2..7).map(|number| consume(&producer.ring, start + number));
        assert_eq!(rest.collect::<Vec<_>>(), [100, 101, 2, 3, 4]);
        assert!(producer.is_empty());
    }
}
