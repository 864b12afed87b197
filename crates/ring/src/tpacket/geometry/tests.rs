//! Layouts, checked against the kernel's rules and the documented guarantees.

use super::*;

fn geometry(
    version: TpacketVersion,
    snaplen: u32,
    buffer_bytes: usize,
    page_bytes: usize,
) -> Geometry {
    let options = RingOptions {
        version: Some(version),
        snaplen,
        buffer_bytes,
        ..RingOptions::default()
    };
    Geometry::in_pages(&options, page_bytes).unwrap()
}

#[test]
fn the_kernel_rules_hold_for_every_size() {
    for (version, page_bytes) in [
        (TpacketVersion::V2, 4096),
        (TpacketVersion::V3, 4096),
        (TpacketVersion::V2, 65_536),
        (TpacketVersion::V3, 65_536),
    ] {
        for snaplen in [1, 64, 96, 1514, 1518, 4000, 9018, 65_535, 262_144] {
            for buffer in [1, 4096, 2 << 20, 32 << 20] {
                let g = geometry(version, snaplen, buffer, page_bytes);
                // packet_set_ring, net/packet/af_packet.c.
                assert_eq!(g.block_bytes % page_bytes, 0);
                assert_eq!(g.slot_bytes % abi::packet::TPACKET_ALIGNMENT, 0);
                assert_eq!(g.block_bytes % g.slot_bytes, 0);
                assert_eq!(g.block_count() * g.block_bytes, g.bytes());
                assert!(g.bytes() >= buffer && g.block_count() >= MIN_BLOCKS);
                let kept = (snaplen as usize).min(LARGEST_PACKET_BYTES);
                assert!(g.slot_bytes >= kept + HEADROOM_BYTES);
            }
        }
    }
}

#[test]
fn small_frames_are_packed() {
    assert_eq!(
        geometry(TpacketVersion::V2, 96, 2 << 20, 4096).slot_bytes,
        256
    );
}

const TARGET: DeliveryMode = DeliveryMode::Adaptive {
    target: Duration::from_micros(200),
};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn batch(min_bytes: usize, timeout: Duration) -> DeliveryMode {
    DeliveryMode::Batch { min_bytes, timeout }
}

/// The geometry of a 16 MiB ring for `delivery` and `gather`, with the version chosen automatically.
fn chosen(
    delivery: DeliveryMode,
    gather: Duration,
    snaplen: u32,
    stall: Option<Duration>,
) -> Geometry {
    let options = RingOptions {
        snaplen,
        buffer_bytes: 16 << 20,
        delivery,
        stall,
        gather,
        ..RingOptions::default()
    };
    Geometry::in_pages(&options, 4096).unwrap()
}

fn adaptive(snaplen: u32, target: Duration, stall: Option<Duration>) -> Geometry {
    chosen(
        DeliveryMode::Adaptive { target },
        Duration::ZERO,
        snaplen,
        stall,
    )
}

#[test]
fn adaptive_delivery_takes_frames_where_they_last_and_many_blocks_elsewhere() {
    let us = Duration::from_micros;
    // 10 000 packets come within 200 ms, and beside them those within a target.
    for (snaplen, slot_bytes) in [(1, 256), (96, 256), (128, 256), (384, 512), (896, 1024)] {
        let g = adaptive(snaplen, us(200), None);
        assert_eq!((g.version, g.slot_bytes), (TpacketVersion::V2, slot_bytes));
        assert!(g.count >= 10_000 + 10 + 256);
        assert_eq!((g.bytes(), g.grown_for), (16 << 20, None));
    }
    for (snaplen, ms, stall, least) in [
        (897, 0, None, 400),
        (1518, 0, None, 400),
        (9018, 0, None, 400),
        (262_144, 0, None, 400),
        (262_144, 0, Some(Duration::from_secs(2)), 4000),
        (9018, 5, Some(Duration::from_secs(2)), 800),
    ] {
        let g = adaptive(snaplen, us(200 + 1000 * ms), stall);
        assert_eq!(
            (g.version, u64::from(g.retire_ms)),
            (TpacketVersion::V3, ms.max(1))
        );
        // One more with the reader, and one with the kernel.
        assert!(g.count >= least + 2, "{}", g.count);
        assert!(g.bytes() >= 16 << 20 && g.block_bytes.is_multiple_of(4096));
    }
}

#[test]
fn a_larger_buffer_holds_frames_of_longer_packets() {
    for (buffer_bytes, snaplen) in [(32 << 20, 1920), (64 << 20, 3968), (128 << 20, 9018)] {
        let of = |snaplen| {
            let options = RingOptions {
                snaplen,
                buffer_bytes,
                delivery: TARGET,
                ..RingOptions::default()
            };
            Geometry::in_pages(&options, 4096).unwrap().version
        };
        assert_eq!(of(snaplen), TpacketVersion::V2);
        assert_eq!(of(262_144), TpacketVersion::V3);
    }
}

#[test]
fn a_ring_of_frames_grows_for_a_stall_that_is_asked_for() {
    let batch = batch(1, ms(10));
    for delivery in [DeliveryMode::Immediate, TARGET, batch] {
        for (snaplen, stall, least) in [
            (96, ms(200), 10_000),
            (1518, ms(200), 10_000),
            (1518, ms(400), 20_000),
            (9018, ms(100), 5000),
        ] {
            let options = |stall| RingOptions {
                version: Some(TpacketVersion::V2),
                snaplen,
                buffer_bytes: 16 << 20,
                delivery,
                gather: ms(10),
                stall,
                ..RingOptions::default()
            };
            let g = Geometry::in_pages(&options(Some(stall)), 4096).unwrap();
            assert!(g.count >= least, "{g:?}");
            assert_eq!(g.grown_for.is_some(), g.bytes() > 16 << 20);
            assert_eq!(g.block_count() * g.block_bytes, g.bytes());
            let unasked = Geometry::in_pages(&options(None), 4096).unwrap();
            assert!(unasked.bytes() < (16 << 20) + 16_384, "{unasked:?}");
        }
    }
}

#[test]
fn a_small_ring_has_a_longer_timer_while_a_reader_gathers() {
    for (snaplen, buffer_bytes, expected) in [
        (96, 2 << 20, (7, 2 << 20)),
        (262_144, 32 << 20, (7, 32 << 20)),
        (262_144, 16 << 20, (14, 16 << 20)),
        (262_144, 2 << 20, (100, 2 << 20)),
        // 6 blocks of 128 KiB: 200 ms twice, and two.
        (262_144, 64 << 10, (100, 6 << 17)),
    ] {
        let options = RingOptions {
            snaplen,
            buffer_bytes,
            delivery: batch(256 << 10, ms(7)),
            gather: ms(100),
            ..RingOptions::default()
        };
        let g = Geometry::in_pages(&options, 4096).unwrap();
        let beyond = g.bytes() - expected.1;
        assert!(g.retire_ms == expected.0 && beyond < g.slot_bytes, "{g:?}");
    }
}

/// A quarter of the ring is more than what the timer hands over while a batch gathers.
#[test]
fn blocks_last_for_a_batch_that_gathers_and_for_a_stall() {
    for (timer, gather) in [(1, 1), (2, 10), (7, 100), (16, 256), (65_535, 3_600_000)] {
        for snaplen in [96, 1518, 262_144] {
            let options = RingOptions {
                version: Some(TpacketVersion::V3),
                snaplen,
                buffer_bytes: 16 << 20,
                delivery: batch(256 << 10, ms(timer)),
                gather: ms(gather),
                ..RingOptions::default()
            };
            let g = Geometry::in_pages(&options, 4096).unwrap();
            let count = g.count as u64;
            let timer = u64::from(g.retire_ms);
            assert!(timer <= gather);
            let handed_over = gather.div_ceil(timer).min(16);
            assert!(count / 4 > handed_over, "{timer} {g:?}");
            assert!((count - handed_over) * timer >= 2 * 200, "{timer} {g:?}");
        }
    }
}

#[test]
fn a_batch_gets_frames_where_blocks_are_too_coarse_for_it() {
    let of = |timer, gather, snaplen| {
        let bytes = 256 << 10;
        chosen(batch(bytes, timer), gather, snaplen, None).version
    };
    let short = Duration::from_micros(100);
    for (timer, gather, snaplen, expected) in [
        (ms(1), ms(1), 96, TpacketVersion::V3),
        (ms(7), ms(100), 96, TpacketVersion::V3),
        (ms(17), ms(260), 96, TpacketVersion::V2),
        // As many frames would not last.
        (ms(17), ms(260), 1518, TpacketVersion::V3),
        // There is no such timer.
        (short, short, 96, TpacketVersion::V2),
        (short, short, 262_144, TpacketVersion::V2),
        // Nobody holds back.
        (ms(1000), Duration::ZERO, 96, TpacketVersion::V3),
    ] {
        assert_eq!(of(timer, gather, snaplen), expected, "{timer:?} {snaplen}");
    }
}

/// A ring of 16 MiB has 65536 frames of 256 bytes. A quarter of them holds 1.75 MiB of short packets.
#[test]
fn a_reader_that_waits_for_bytes_sees_each_packet_if_the_frames_hold_them() {
    for (snaplen, gather, gather_bytes, expected) in [
        (96, 10, 1, TpacketVersion::V2),
        (96, 10, 16_384 * 112, TpacketVersion::V2),
        (96, 10, 16_384 * 112 + 1, TpacketVersion::V3),
        (96, 10, usize::MAX, TpacketVersion::V3),
        (96, 10, 0, TpacketVersion::V3),
        // Nobody holds back.
        (96, 0, 4096, TpacketVersion::V3),
        // The frames do not outlast a pause of the reader.
        (262_144, 10, 4096, TpacketVersion::V3),
    ] {
        let options = RingOptions {
            snaplen,
            buffer_bytes: 16 << 20,
            delivery: batch(gather_bytes / 4, Duration::from_millis(2)),
            gather: Duration::from_millis(gather),
            gather_bytes,
            ..RingOptions::default()
        };
        let g = Geometry::in_pages(&options, 4096).unwrap();
        assert_eq!(g.version, expected, "{snaplen} {gather} {gather_bytes}");
    }
}

/// The blocks of a batch that may be as large as the ring allows.
fn gathered(buffer_bytes: usize, snaplen: u32, gather: Duration) -> Geometry {
    let options = RingOptions {
        snaplen,
        buffer_bytes,
        delivery: batch(usize::MAX / 4, ms(2)),
        gather,
        gather_bytes: usize::MAX,
        gather_in_kernel: Some(ms(1000)),
        ..RingOptions::default()
    };
    Geometry::in_pages(&options, 4096).unwrap()
}

#[test]
fn a_block_is_a_batch_if_the_ring_has_enough_of_them() {
    for (buffer_bytes, snaplen, gather, slot_bytes, timer) in [
        (32 << 20, 96, ms(100), 2 << 20, 100),
        (32 << 20, 262_144, ms(100), 2 << 20, 100),
        // No power of two: the ring has 24 blocks.
        (48 << 20, 96, ms(100), 2 << 20, 100),
        (2 << 20, 262_144, ms(100), 128 << 10, 100),
        (1 << 30, 96, ms(100), 4 << 20, 100),
        // A pause of 1.2 s.
        (32 << 20, 96, ms(32), 512 << 10, 32),
        // The kernel's time is shorter.
        (32 << 20, 96, ms(5000), 2 << 20, 1000),
    ] {
        let g = gathered(buffer_bytes, snaplen, gather);
        assert_eq!(g.reason, BlockReason::Batch, "{g:?}");
        assert_eq!((g.version, g.slot_bytes), (TpacketVersion::V3, slot_bytes));
        assert_eq!((g.retire_ms, g.bytes()), (timer, buffer_bytes), "{g:?}");
        assert!(g.count >= BATCH_BLOCKS_MIN, "{g:?}");
        assert!(g.count as u64 * u64::from(timer) * 3 / 4 >= 1200, "{g:?}");
    }
}

#[test]
fn blocks_are_smaller_than_a_batch_if_batches_or_the_ring_are_small_or_rings_are_merged() {
    let usual = |change: fn(&mut RingOptions)| {
        let mut options = RingOptions {
            version: Some(TpacketVersion::V3),
            snaplen: 96,
            buffer_bytes: 32 << 20,
            delivery: batch(2 << 20, ms(7)),
            gather: ms(100),
            gather_bytes: 8 << 20,
            gather_in_kernel: Some(ms(100)),
            ..RingOptions::default()
        };
        change(&mut options);
        let geometry = Geometry::in_pages(&options, 4096).unwrap();
        (geometry.reason, geometry.retire_ms)
    };
    assert_eq!(usual(|_| ()), (BlockReason::Batch, 100));
    let small = usual(|options| options.gather_bytes -= 1);
    assert_eq!(small, (BlockReason::SmallBatch, 7));
    let several = usual(|options| options.gather_in_kernel = None);
    assert_eq!(several, (BlockReason::SeveralRings, 7));
    let waits_for_none = usual(|options| options.gather = Duration::ZERO);
    assert_eq!(waits_for_none, (BlockReason::Delivery, 7));
    let too_small: [fn(&mut RingOptions); 3] = [
        // 80 blocks of 20 ms, or 202 of 100 ms.
        |options| options.gather = ms(20),
        |options| options.stall = Some(Duration::from_secs(10)),
        // A sixteenth of the ring holds no packet of 64 KiB.
        |options| (options.snaplen, options.buffer_bytes) = (262_144, 1 << 20),
    ];
    for change in too_small {
        assert_eq!(usual(change).0, BlockReason::SmallRing);
    }
}

#[test]
fn a_block_has_the_size_of_a_batch() {
    for (min_bytes, slot_bytes) in [
        (1 << 20, 1 << 20),
        (100_000, 102_400),
        (4096, 4096),
        (1, 4096),
        (usize::MAX, 8 << 20),
    ] {
        let options = RingOptions {
            snaplen: 96,
            buffer_bytes: 16 << 20,
            delivery: DeliveryMode::Batch {
                min_bytes,
                timeout: Duration::from_millis(10),
            },
            ..RingOptions::default()
        };
        let g = Geometry::in_pages(&options, 4096).unwrap();
        assert_eq!((g.slot_bytes, g.retire_ms), (slot_bytes, 10));
    }
}

#[test]
fn a_stall_that_no_ring_lasts_for_is_named() {
    let hour = Duration::from_hours(1);
    for (version, snaplen, stall) in [
        (None, 262_144, Duration::from_mins(1)),
        (None, 96, hour),
        (Some(TpacketVersion::V2), 96, hour),
        (Some(TpacketVersion::V3), 9018, hour),
        (Some(TpacketVersion::V2), 96, Duration::MAX),
        (Some(TpacketVersion::V3), 96, Duration::MAX),
    ] {
        let options = RingOptions {
            version,
            snaplen,
            buffer_bytes: 16 << 20,
            delivery: TARGET,
            stall: Some(stall),
            ..RingOptions::default()
        };
        match Geometry::in_pages(&options, 4096) {
            Err(RingOptionError::StallTooLong {
                stall: named,
                bytes,
            }) => {
                assert_eq!(named, stall);
                assert!(bytes > u32::MAX as usize);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let options = |f: fn(&mut RingOptions)| {
        let mut options = RingOptions::default();
        f(&mut options);
        Geometry::new(&options).unwrap_err()
    };
    assert_eq!(options(|o| o.snaplen = 0), RingOptionError::SnaplenZero);
    for timeout in [Duration::ZERO, Duration::from_micros(999)] {
        let options = RingOptions {
            version: Some(TpacketVersion::V3),
            delivery: batch(1, timeout),
            ..RingOptions::default()
        };
        assert_eq!(
            Geometry::new(&options),
            Err(RingOptionError::Timeout { timeout })
        );
    }
    assert_eq!(
        options(|o| {
            o.version = Some(TpacketVersion::V3);
            o.delivery = DeliveryMode::Immediate;
        }),
        RingOptionError::ImmediateNeedsV2
    );
    for bytes in [u32::MAX as usize, 1 << 33, usize::MAX] {
        let mut o = RingOptions {
            buffer_bytes: bytes,
            ..RingOptions::default()
        };
        for min_bytes in [0, usize::MAX] {
            let timeout = Duration::from_millis(1);
            o.delivery = DeliveryMode::Batch { min_bytes, timeout };
            for version in [TpacketVersion::V2, TpacketVersion::V3] {
                o.version = Some(version);
                assert_eq!(
                    Geometry::new(&o),
                    Err(RingOptionError::BufferTooLarge { bytes })
                );
            }
        }
    }
}
