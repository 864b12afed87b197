//! pcap file header and records, in the byte order of this machine.

use crate::model::LinkType;

/// Bytes of a record before its packet.
pub(super) const RECORD_HEADER: usize = 16;
/// The value of libpcap for "no limit".
const UNLIMITED: u32 = 262_144;

/// The unit of a pcap file's time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Micros,
    Nanos,
}

/// The file's header. `snaplen` 0 means no limit.
pub(super) fn header(unit: TimeUnit, link_type: LinkType, snaplen: u32) -> Vec<u8> {
    let magic: u32 = match unit {
        TimeUnit::Micros => 0xA1B2_C3D4,
        TimeUnit::Nanos => 0xA1B2_3C4D,
    };
    let mut header = magic.to_ne_bytes().to_vec();
    header.extend(2_u16.to_ne_bytes());
    header.extend(4_u16.to_ne_bytes());
    header.extend([0; 8]);
    let snaplen = if snaplen == 0 { UNLIMITED } else { snaplen };
    header.extend(snaplen.to_ne_bytes());
    header.extend(u32::from(link_type.0).to_ne_bytes());
    header
}

/// Writes a record to `out`, which must be [`RECORD_HEADER`] longer than `bytes`.
#[inline]
pub(super) fn encode(
    out: &mut [u8],
    unit: TimeUnit,
    time_ns: u64,
    bytes: &[u8],
    original_len: u32,
) {
    let fraction_ns = (time_ns % 1_000_000_000) as u32;
    let fraction = match unit {
        TimeUnit::Micros => fraction_ns / 1000,
        TimeUnit::Nanos => fraction_ns,
    };
    let header = [
        (time_ns / 1_000_000_000) as u32,
        fraction,
        bytes.len() as u32,
        original_len,
    ];
    let (head, body) = out.split_at_mut(RECORD_HEADER);
    head.copy_from_slice(header.map(u32::to_ne_bytes).as_flattened());
    body.copy_from_slice(bytes);
}

/// Whether a record can store the time.
#[inline]
pub(super) fn time_fits(time_ns: u64) -> bool {
    u32::try_from(time_ns / 1_000_000_000).is_ok()
}

/// Length of the record at the start of `bytes`. `None` if it is incomplete.
pub(super) fn first_record(bytes: &[u8]) -> Option<usize> {
    let kept = u32::from_ne_bytes(*bytes.get(8..)?.first_chunk()?) as usize;
    let length = RECORD_HEADER + kept;
    (length <= bytes.len()).then_some(length)
}
