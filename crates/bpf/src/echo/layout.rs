//! Memory that the programs of a prober share with user space.
//!
//! ```text
//! targets   one entry each   address, number of the next hop │ counters, round trips, or one answer
//! hops      one entry each   MAC address, source address of the requests
//! window    8 bytes each     time and number of the latest answered probe, `slots` per target; none for one probe to each
//! totals    one value        counters │ histogram
//! histograms                 one each, if they are wanted
//! ```

/// An entry of a target with any number of probes, 8 bytes each unless stated. Before them, its address in 16 bytes and its
/// hop in 4: [`Entries`].
pub(super) mod target {
    /// The timeout in microseconds, 4 bytes; 0 is that of the run.
    pub const TIMEOUT: i16 = 20;
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
    /// Two cache lines, which CPUs fetch together.
    pub const BYTES: usize = 128;
}

/// The answer to the only probe of a target: one word.
///
/// ```text
/// bit 63   62–54     53–44        42–40   39–0
/// settled  damaged   duplicates   kind    round trip, nanoseconds, at most 18 minutes; of an ICMP error its type and code
/// ```
pub(super) mod answer {
    pub const SETTLED: u64 = 1 << 63;
    /// Where the kind begins.
    pub const KIND: i32 = 40;
    pub const RECEIVED: i32 = 1;
    pub const LATE: i32 = 2;
    pub const ERROR: i32 = 3;
    pub const DUPLICATE: i32 = 44;
    pub const CORRUPT: i32 = 54;
    pub const DUPLICATE_MASK: i32 = 0x3ff;
    pub const CORRUPT_MASK: i32 = 0x1ff;
    /// Not counted beyond this, with room for CPUs that count at the same time.
    pub const MOST: i32 = 255;
    pub const MAX_RTT_NS: u64 = (1 << KIND) - 1;
}

/// The hop of a target that is not reached.
pub(super) const NO_HOP: u32 = u32::MAX;

/// Offsets of the fields in a target's map entry. The address is at offset 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entries {
    /// Bytes of an address; IPv4 addresses are mapped (`::ffff:a.b.c.d`) to 16.
    pub address_bytes: i16,
    /// Whether each has one probe at most, whose answer is the last word.
    pub is_single: bool,
}

impl Entries {
    /// For one probe to each target, or for more; `has_ipv6`: some targets have IPv6 addresses.
    pub fn new(is_single: bool, has_ipv6: bool) -> Self {
        let is_narrow = is_single && !has_ipv6;
        Self {
            address_bytes: if is_narrow { 4 } else { 16 },
            is_single,
        }
    }

    /// Offset of the number of the next hop, 4 bytes.
    pub fn hop(self) -> i16 {
        self.address_bytes
    }

    /// Offset of the answer, if there is one probe.
    pub fn answer(self) -> i16 {
        if self.address_bytes == 4 { 8 } else { 24 }
    }

    pub fn bytes(self) -> usize {
        if self.is_single {
            usize::from(self.answer().cast_unsigned()) + 8
        } else {
            target::BYTES
        }
    }

    /// Offset of the 4 bytes of an IPv4 address.
    pub fn ipv4(self) -> i16 {
        self.address_bytes - 4
    }
}

/// An entry of a next hop. The MAC address is at offset 0.
pub(super) mod hop {
    /// The folded sum of the source address, 2 bytes; only of an IPv6 address.
    pub const SOURCE_SUM: i16 = 6;
    /// The source address: 16 bytes, of which an IPv4 address has the first 4.
    pub const SOURCE: i16 = 8;
    pub const BYTES: u32 = 24;
}

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
/// Buckets of a target, 8 bytes each, as the coarse histogram of `tapline-probe`: the round trip in units of 2⁷ ns, 2³ of
/// each doubling, up to 2³⁶ ns.
pub(super) const TARGET_FLOOR: i32 = 7;
pub(super) const TARGET_PARTS: i32 = 3;
pub(super) const TARGET_BUCKETS: usize = 216;
pub(super) const TARGET_HISTOGRAM_BYTES: usize = 8 * TARGET_BUCKETS;
pub(super) const TOTALS_BYTES: usize = HISTOGRAM as usize + 8 * BUCKETS;

/// Key of the table of ICMP errors: address of the router (mapped if IPv4), type, code, 2 zeros.
pub(super) const ERROR_KEY_BYTES: u32 = 20;
