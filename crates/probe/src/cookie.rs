//! The cookie in each probe. It identifies, times and authenticates answers without a table.

use crate::probe::Probe;

/// Length of the cookie at the start of each payload.
pub const COOKIE_BYTES: usize = 16;

/// Length of the shortest payload: the number of a target.
pub const MIN_PAYLOAD_BYTES: usize = 3;
/// Targets that such a payload can name.
pub(crate) const MAX_SHORT_TARGETS: u32 = 1 << 24;
/// Bytes of the target, and of the tag behind it, in a payload without room for a cookie.
const SHORT_TARGET_BYTES: usize = 3;
const TAG_BYTES: usize = 4;
/// In the place of the send time for the tag of such a payload. No probe is sent at this time.
const NO_TIME: u64 = (1 << 56) - 1;

const TARGET_AT: usize = 8;
const TAG_AT: usize = 12;
/// Bits of a probe number that travel with it: 16 in the sequence number, 8 in the cookie.
const NUMBER_BITS: u32 = 24;

/// The secret of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RunKey(
    /// 128 random bits.
    pub [u64; 2],
);

impl std::fmt::Debug for RunKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunKey(…)")
    }
}

/// The contents of a cookie with a valid tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub target: u32,
    /// The low 24 bits of the probe number.
    pub number_low: u32,
    /// Send time in nanoseconds since the start of the run.
    pub sent_ns: u64,
}

impl Cookie {
    /// The full probe number: the highest with these low bits, among `issued` probes to the target.
    /// `None` if there is none.
    #[inline]
    pub fn number(self, issued: u32) -> Option<u32> {
        last_with_low_bits(self.number_low, NUMBER_BITS, issued)
    }
}

/// The largest number from 1 to `most` whose low `bits` bits are `low`.
#[inline]
pub(crate) fn last_with_low_bits(low: u32, bits: u32, most: u32) -> Option<u32> {
    let span = 1_u32 << bits;
    let back = most.wrapping_sub(low) & (span - 1);
    most.checked_sub(back).filter(|number| *number > 0)
}

/// The target named in a cookie that is not verified.
#[inline]
pub(crate) fn claimed_target(cookie: &[u8; COOKIE_BYTES]) -> u32 {
    let [.., a, b, c, d, _, _, _, _] = *cookie;
    u32::from_be_bytes([a, b, c, d])
}

/// The target named in a payload without room for a cookie, which is not verified.
#[inline]
pub(crate) fn short_target(payload: &[u8]) -> Option<u32> {
    let [a, b, c] = *payload.first_chunk::<SHORT_TARGET_BYTES>()?;
    Some(u32::from_be_bytes([0, a, b, c]))
}

/// Encodes and verifies the cookies of a run.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------------------------------------------------------+
/// |      send time, nanoseconds since the start of the run        |
/// +-----------------------------------------------+---------------+
/// |                  (56 bits)                    | number >> 16  |
/// +-----------------------------------------------+---------------+
/// |                         target                                |
/// +---------------------------------------------------------------+
/// |   tag: SipHash-1-3 of the above, identifier and sequence      |
/// +---------------------------------------------------------------+
/// ```
///
/// The sequence number in the ICMP header is the low half of the probe number. The tag binds target,
/// number and time to the run. A host that has not seen the probe cannot forge an answer or its time.
///
/// # Source
/// Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CookieCodec {
    key: RunKey,
    identifier: u16,
}

impl CookieCodec {
    pub fn new(key: RunKey, identifier: u16) -> Self {
        Self { key, identifier }
    }

    pub fn key(&self) -> RunKey {
        self.key
    }

    /// Encodes the cookie of `probe`, sent at `sent_ns`. It holds the low 56 bits of the time: two years.
    #[inline]
    pub fn encode(&self, probe: Probe, sent_ns: u64) -> [u8; COOKIE_BYTES] {
        let time = sent_ns << 8 | u64::from(probe.number() >> 16 & 0xff);
        let tag = self.tag(time, probe.target, probe.sequence());
        let mut cookie = [0; COOKIE_BYTES];
        cookie[..TARGET_AT].copy_from_slice(&time.to_be_bytes());
        cookie[TARGET_AT..TAG_AT].copy_from_slice(&probe.target.to_be_bytes());
        cookie[TAG_AT..].copy_from_slice(&tag.to_be_bytes());
        cookie
    }

    /// Decodes `cookie` if its tag is valid for `sequence`.
    #[inline]
    pub fn decode(&self, cookie: &[u8; COOKIE_BYTES], sequence: u16) -> Option<Cookie> {
        let (time, rest) = cookie.split_first_chunk()?;
        let (target, tag) = rest.split_first_chunk()?;
        let time = u64::from_be_bytes(*time);
        let target = u32::from_be_bytes(*target);
        let expected = self.tag(time, target, sequence).to_be_bytes();
        (tag == expected).then_some(Cookie {
            target,
            number_low: (time as u32 & 0xff) << 16 | u32::from(sequence),
            sent_ns: time >> 8,
        })
    }

    /// The payload of `probe` if it has less room than a cookie takes: its first bytes are sent.
    ///
    /// ```text
    /// | target (3 bytes) | tag (4 bytes) | filler (9 bytes) |
    /// ```
    ///
    /// The send time is not in it. The tag binds target and number to the run as far as it is sent.
    pub fn encode_short(&self, probe: Probe) -> [u8; COOKIE_BYTES] {
        let mut payload = [0; COOKIE_BYTES];
        self.fill(&mut payload);
        let time = NO_TIME << 8 | u64::from(probe.number() >> 16 & 0xff);
        let tag = self.tag(time, probe.target, probe.sequence());
        let [_, target @ ..] = probe.target.to_be_bytes();
        payload[..SHORT_TARGET_BYTES].copy_from_slice(&target);
        payload[SHORT_TARGET_BYTES..SHORT_TARGET_BYTES + TAG_BYTES]
            .copy_from_slice(&tag.to_be_bytes());
        payload
    }

    /// The bytes of the tag in a payload of `bytes` bytes.
    pub fn tag_bytes(bytes: usize) -> usize {
        bytes.saturating_sub(SHORT_TARGET_BYTES).min(TAG_BYTES)
    }

    #[inline]
    fn tag(&self, time: u64, target: u32, sequence: u16) -> u32 {
        let rest = u64::from(target) << 32 | u64::from(self.identifier) << 16 | u64::from(sequence);
        siphash13(self.key, [time, rest]) as u32
    }

    /// Fills the payload after the cookie with a pattern of this run.
    pub fn fill(&self, bytes: &mut [u8]) {
        for (index, chunk) in bytes.chunks_mut(8).enumerate() {
            // No send time has this value, so no tag is derived from these words.
            let word = siphash13(self.key, [u64::MAX, index as u64]).to_be_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// SipHash-1-3 of 16 bytes, given as two words in little-endian order.
#[inline]
fn siphash13(key: RunKey, words: [u64; 2]) -> u64 {
    let [k0, k1] = key.0;
    let mut state = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    // The last word holds the length, modulo 256, in its highest byte.
    for word in [words[0], words[1], 16 << 56] {
        state[3] ^= word;
        sip_round(&mut state);
        state[0] ^= word;
    }
    state[2] ^= 0xff;
    for _ in 0..3 {
        sip_round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

#[inline]
fn sip_round(state: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *state;
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{DefaultHasher, Hasher};

    /// The standard library's hasher is SipHash-1-3 with a zero key.
    #[test]
    fn the_hash_equals_that_of_the_standard_library() {
        for (one, other) in [
            (0_u64, 0_u64),
            (1, 2),
            (u64::MAX, 1 << 63),
            (0x0123_4567, 0x89ab_cdef),
        ] {
            let mut hasher = DefaultHasher::new();
            hasher.write(&one.to_le_bytes());
            hasher.write(&other.to_le_bytes());
            assert_eq!(siphash13(RunKey([0, 0]), [one, other]), hasher.finish());
        }
    }

    #[test]
    fn a_cookie_round_trips_and_any_change_invalidates_it() {
        let cookies = CookieCodec::new(RunKey([1, 2]), 77);
        let probe = Probe {
            target: 0x0102_0304,
            round: 0xfe_dcba,
        };
        let encoded = cookies.encode(probe, 0x00aa_bbcc_ddee_ff01);
        let decoded = cookies
            .decode(&encoded, probe.sequence())
            .expect("a valid tag");
        assert_eq!(
            (decoded.target, decoded.sent_ns),
            (probe.target, 0x00aa_bbcc_ddee_ff01)
        );
        assert_eq!(claimed_target(&encoded), probe.target);
        assert_eq!(decoded.number(probe.number()), Some(probe.number()));
        for bit in 0..COOKIE_BYTES * 8 {
            let mut forged = encoded;
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(cookies.decode(&forged, probe.sequence()), None, "bit {bit}");
        }
        assert_eq!(cookies.decode(&encoded, probe.sequence() ^ 1), None);
        assert_eq!(
            CookieCodec::new(RunKey([1, 3]), 77).decode(&encoded, probe.sequence()),
            None
        );
        assert_eq!(
            CookieCodec::new(RunKey([1, 2]), 78).decode(&encoded, probe.sequence()),
            None
        );
    }

    #[test]
    fn numbers_are_recovered_from_their_low_bits() {
        assert_eq!(last_with_low_bits(1, 16, 1), Some(1));
        assert_eq!(last_with_low_bits(2, 16, 1), None);
        assert_eq!(last_with_low_bits(0, 16, 65_535), None);
        assert_eq!(last_with_low_bits(0, 16, 65_536), Some(65_536));
        assert_eq!(last_with_low_bits(5, 16, 65_541), Some(65_541));
        assert_eq!(last_with_low_bits(6, 16, 65_541), Some(6));
        assert_eq!(last_with_low_bits(7, 24, u32::MAX), Some(0xff00_0007));
        assert_eq!(last_with_low_bits(0, 24, 0), None);
    }
}
