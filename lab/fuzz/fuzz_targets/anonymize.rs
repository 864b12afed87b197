#![no_main]

use std::sync::Mutex;

use tapline::read::{AnonymizationKey, Anonymizer};

/// Link types that are anonymized, and one that is unknown.
const LINK_TYPES: [u16; 13] = [0, 1, 9, 50, 101, 104, 108, 113, 204, 228, 229, 276, 147];

// The first byte selects the link type; the rest is a packet.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static ANONYMIZER: Mutex<Option<Anonymizer>> = Mutex::new(None);
    let Some((&first, packet)) = bytes.split_first() else {
        return;
    };
    let mut guard = ANONYMIZER.lock().expect("no panic before");
    let anonymizer =
        guard.get_or_insert_with(|| Anonymizer::new(&AnonymizationKey::from_bytes([7; 32])));
    let link_type = LINK_TYPES[usize::from(first) % LINK_TYPES.len()];
    let kept = anonymizer.packet(link_type, packet).to_vec();
    assert!(kept.len() <= packet.len());
    // Addresses that are remembered are those that were computed.
    assert_eq!(anonymizer.packet(link_type, packet), kept);
});
