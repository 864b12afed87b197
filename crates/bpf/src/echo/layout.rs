//! Memory that the programs of a prober share with user space.
//!
//! ```text
//! targets   one entry each   address, number of the next hop │ counters, round trips
//! hops      one entry each   MAC address
//! window    8 bytes each     number of the latest answered probe, `slots` per target
//! totals    one value        counters │ histogram
//! ```

/// An entry of a target, 8 bytes each unless stated.
pub(super) mod target {
    /// 16 bytes; an IPv4 address is mapped (`::ffff:a.b.c.d`).
    pub const ADDRESS: i16 = 0;
    /// 4 bytes.
    pub const HOP: i16 = 16;
    pub const RECEIVED: i16 = 24;
    pub const LATE: i16 = 32;
    pub const DUPLICATE: i16 = 40;
    pub const CORRUPT: i16 = 48;
    pub const ERRORS: i16 = 56;
    /// Nanoseconds, as all that follow.
    pub const SUM: i16 = 64;
    /// Sum of the low and of the high 32 bits of the squares.
    pub const SQUARES_LOW: i16 = 72;
    pub const SQUARES_HIGH: i16 = 80;
    /// The minimum, at first [`u64::MAX`].
    pub const MIN: i16 = 88;
    pub const MAX: i16 = 96;
    pub const LAST: i16 = 104;
    /// In sixteenths.
    pub const JITTER: i16 = 112;
    pub const BYTES: usize = 120;
}

/// Bytes of a next hop: its MAC address, and 2 unused ones.
pub(super) const HOP_BYTES: u32 = 8;

/// Counters of the run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Total {
    Received,
    Late,
    Duplicate,
    Corrupt,
    Errors,
    WrongSource,
    Forged,
    CutShort,
    Foreign,
    Stale,
    Notices,
    /// Kinds of errors that the table had no room for.
    OtherErrors,
}

impl Total {
    pub const fn offset(self) -> i16 {
        8 * self as i16
    }
}

/// Offset of the histogram in the totals.
pub(super) const HISTOGRAM: i16 = 128;
/// Each doubling above 128 ns has 2⁷ buckets, as the fine histogram of the library.
pub(super) const PARTS: i32 = 7;
/// Buckets up to 2⁴³ ns.
pub(super) const BUCKETS: usize = 4736;
pub(super) const TOTALS_BYTES: usize = HISTOGRAM as usize + 8 * BUCKETS;

/// Key of the table of ICMP errors: address of the router (mapped if IPv4), type, code, 2 zeros.
pub(super) const ERROR_KEY_BYTES: u32 = 20;

/// Bits of a probe's number that travel with it.
pub(super) const NUMBER_BITS: i32 = 24;
