//! Copies without addresses of hosts, names and payloads.

mod addresses;
mod headers;
mod ip;
mod messages;

use store::block::kind;

use addresses::Addresses;
pub use addresses::{AnonymizationKey, AnonymizationKeyError};

/// Replaces the addresses in packets and cuts off what it does not know.
///
/// What stays of a packet: the headers of the link layer, IP, TCP, UDP, SCTP, ICMP, IGMP and ARP with other addresses,
/// the packets that ICMP errors quote, and packets in IP and GRE tunnels, in the same way. It ends at the first byte
/// of anything else: payload, unknown protocol, unknown option. Packets of an unknown link type become empty.
///
/// IP addresses are replaced by Crypto-PAn: addresses with a common prefix keep one of the same length. MAC
/// addresses keep only the bits for groups and local administration. Ports, times and lengths stay. Checksums are
/// corrected by the difference, so those of packets with a right one stay right and wrong ones stay wrong.
///
/// ```
/// use tapline::read::{AnonymizationKey, Anonymizer};
///
/// let mut anonymizer = Anonymizer::new(&AnonymizationKey::from_bytes([7; 32]));
/// let packet = [0x45, 0, 0, 23, 0, 0, 0, 0, 64, 253, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 1, 2, 3];
/// let raw = 101; // LINKTYPE_RAW
/// let anonymized = anonymizer.packet(raw, &packet);
/// assert_eq!(anonymized.len(), 20);
/// assert_eq!(anonymized[12..15], anonymized[16..19]);
/// ```
pub struct Anonymizer {
    addresses: Addresses,
    scratch: Vec<u8>,
}

impl Anonymizer {
    /// An anonymizer with this key.
    pub fn new(key: &AnonymizationKey) -> Self {
        Self {
            addresses: Addresses::new(key),
            scratch: Vec::new(),
        }
    }

    /// What stays of a packet with this link-layer header type (`LINKTYPE_*`).
    pub fn packet(&mut self, link_type: u16, packet: &[u8]) -> &[u8] {
        self.scratch.clear();
        self.scratch.extend_from_slice(packet);
        let addresses = &mut self.addresses;
        let kept = headers::Headers::new(packet, &mut self.scratch, addresses).link(link_type);
        &self.scratch[..kept]
    }
}

/// Whether an anonymized copy keeps this option of a block, with a value of `length` bytes: only numbers. The name of an
/// interface stays.
pub(super) fn keeps_option(block: u32, code: u16, length: usize) -> bool {
    match (block, code) {
        (kind::INTERFACE, 2) => true,
        // Units of time, length of the frame check sequence.
        (kind::INTERFACE, 9 | 13) => length == 1,
        // Time zone; flags, queue.
        (kind::INTERFACE, 10) | (kind::PACKET, 2 | 6) => length == 4,
        // Speed, offset of times; drops; times and counters.
        (kind::INTERFACE, 8 | 14) | (kind::PACKET, 4) | (kind::STATISTICS, 2..=8) => length == 8,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A byte that occurs only where options have no meaning for it.
    const HIDDEN: u8 = 0xab;

    /// A raw IPv4 packet with these options, and in it a TCP header with those.
    fn with_options(ip: &[u8], tcp: &[u8]) -> Vec<u8> {
        let mut header = vec![
            0x45 + (ip.len() / 4) as u8,
            0,
            0,
            0,
            1,
            2,
            0,
            0,
            64,
            6,
            0,
            0,
        ];
        header.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        header.extend(ip);
        let length = header.len() + 20 + tcp.len();
        header[3] = length as u8;
        let checksum = wire::checksum::internet(&header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        let mut segment = [0; 20];
        segment[12] = 0x50 + (tcp.len() * 4) as u8;
        [header, segment.to_vec(), tcp.to_vec()].concat()
    }

    #[test]
    fn nothing_hides_in_options() {
        let hidden = |options: &[u8]| {
            let mut options = options.to_vec();
            options.resize(40, HIDDEN);
            options
        };
        let mut anonymizer = Anonymizer::new(&AnonymizationKey::from_bytes([7; 32]));
        // The options, and how many bytes of the packet stay.
        for (ip, tcp, length) in [
            // The end of the list, behind nothing and behind a router alert.
            (hidden(&[1, 0]), hidden(&[2, 4, 5, 180, 0]), 120),
            (hidden(&[148, 4, 0, 0, 0]), hidden(&[1, 1, 0]), 120),
            // A router alert, and a maximum segment size, of 38 bytes.
            (hidden(&[148, 38, 0, 0]), Vec::new(), 20),
            (Vec::new(), hidden(&[1, 1, 2, 38]), 42),
        ] {
            let packet = with_options(&ip, &tcp);
            let copy = anonymizer.packet(101, &packet);
            let header_len = usize::from(copy[0] & 15) * 4;
            assert!(!copy[20..].contains(&HIDDEN), "{copy:x?}");
            assert_eq!(copy.len(), length);
            if let Some(header) = copy.get(..header_len) {
                assert_eq!(wire::checksum::internet(header), 0);
            }
        }
    }

    /// Link types that are anonymized, and one that is unknown.
    const LINK_TYPES: [u16; 13] = [0, 1, 9, 50, 101, 104, 108, 113, 204, 228, 229, 276, 147];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Whatever the bytes say, nothing panics, and the same packet gives the same copy.
        #[test]
        fn any_bytes_are_a_packet(
            link_type in prop::sample::select(LINK_TYPES.to_vec()),
            protocol in prop::sample::select(vec![0_u8, 1, 2, 4, 6, 17, 41, 43, 44, 47, 58, 60, 132]),
            version in prop::sample::select(vec![0x45_u8, 0x46, 0x4f, 0x60]),
            mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            // An IP header of Ethernet, or of a raw packet, so that more than the link layer is reached.
            for start in [0, 14] {
                if let Some(header) = bytes.get_mut(start..start + 12) {
                    header[0] = version;
                    header[2] = 0;
                    header[if version == 0x60 { 6 } else { 9 }] = protocol;
                }
            }
            if let Some(ethertype) = bytes.get_mut(12..14) {
                ethertype.copy_from_slice(if version == 0x60 { &[0x86, 0xdd] } else { &[8, 0] });
            }
            let mut anonymizer = Anonymizer::new(&AnonymizationKey::from_bytes([7; 32]));
            let kept = anonymizer.packet(link_type, &bytes).to_vec();
            prop_assert!(kept.len() <= bytes.len());
            prop_assert_eq!(anonymizer.packet(link_type, &bytes), kept);
        }
    }
}
