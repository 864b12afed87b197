//! Filters with long lists, and frames for them.

/// Marsaglia's xorshift64: the same numbers in every run.
pub fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// A TCP segment in IPv4.
pub fn ethernet4(source: u32, destination: u32, ports: (u16, u16)) -> Vec<u8> {
    let mut frame = vec![0; 64];
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    frame[23] = 6;
    frame[26..30].copy_from_slice(&source.to_be_bytes());
    frame[30..34].copy_from_slice(&destination.to_be_bytes());
    frame[34..36].copy_from_slice(&ports.0.to_be_bytes());
    frame[36..38].copy_from_slice(&ports.1.to_be_bytes());
    frame
}

/// An IPv6 header.
pub fn ethernet6(source: u128, destination: u128) -> Vec<u8> {
    let mut frame = vec![0; 64];
    frame[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]);
    frame[22..38].copy_from_slice(&source.to_be_bytes());
    frame[38..54].copy_from_slice(&destination.to_be_bytes());
    frame
}

/// The terms joined by `or`.
pub fn joined(terms: impl IntoIterator<Item = String>) -> String {
    terms.into_iter().collect::<Vec<_>>().join(" or ")
}
