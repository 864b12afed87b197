//! Changes of recorded frames before they are sent.

mod checksums;
mod header_offsets;
mod map;

use wire::MacAddress;

pub use checksums::fix_checksums;
pub use map::{AddressMap, AddressMapError};

/// What to change in each Ethernet frame: give [`apply`](Self::apply) to [`Replay::edit`](super::Replay::edit).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Rewrite {
    /// Replaces the destination MAC address.
    pub destination_mac: Option<MacAddress>,
    /// Replaces the source MAC address.
    pub source_mac: Option<MacAddress>,
    /// Adds an 802.1Q tag with this VLAN in front of others.
    pub vlan: Option<u16>,
    /// Replaces addresses. The first map that contains an address applies to it.
    pub maps: Vec<AddressMap>,
    /// Computes the checksums anew ([`fix_checksums`]), after the addresses were replaced.
    pub fix_checksums: bool,
}

impl Rewrite {
    /// Changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it changes anything.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.destination_mac.is_some()
            || self.source_mac.is_some()
            || self.vlan.is_some()
            || !self.maps.is_empty()
            || self.fix_checksums
    }

    /// Changes `frame`. One that is shorter than two MAC addresses stays as it is.
    pub fn apply(&self, frame: &mut Vec<u8>) {
        let Some(addresses) = frame.first_chunk_mut::<12>() else {
            return;
        };
        if let Some(destination) = self.destination_mac {
            addresses[..6].copy_from_slice(&destination.0);
        }
        if let Some(source) = self.source_mac {
            addresses[6..].copy_from_slice(&source.0);
        }
        if !self.maps.is_empty() {
            map::replace(&self.maps, frame);
        }
        if self.fix_checksums {
            fix_checksums(frame);
        }
        if let Some(id) = self.vlan {
            let [high, low] = id.to_be_bytes();
            frame.splice(12..12, [0x81, 0x00, high, low]);
        }
    }
}
