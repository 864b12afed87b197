use crate::classic::Ancillary;

/// What is known beside a packet, as native code reads it: [`Ancillary`] with a layout.
#[repr(C)]
pub(super) struct Beside {
    /// Which of the others are known, a bit each.
    pub known: u32,
    pub packet_type: u32,
    pub interface_index: u32,
    pub queue: u32,
    pub vlan_tag: u32,
    pub has_vlan_tag: u32,
}

impl Beside {
    pub(super) const PACKET_TYPE: u32 = 1;
    pub(super) const INTERFACE_INDEX: u32 = 2;
    pub(super) const QUEUE: u32 = 4;

    /// Of a packet from a file.
    pub(super) const NOTHING: Self = Self {
        known: 0,
        packet_type: 0,
        interface_index: 0,
        queue: 0,
        vlan_tag: 0,
        has_vlan_tag: 0,
    };

    #[inline]
    pub(super) fn of(ancillary: &Ancillary) -> Self {
        let bit = |is_known, bit| if is_known { bit } else { 0 };
        Self {
            known: bit(ancillary.packet_type.is_some(), Self::PACKET_TYPE)
                | bit(ancillary.interface_index.is_some(), Self::INTERFACE_INDEX)
                | bit(ancillary.queue.is_some(), Self::QUEUE),
            packet_type: ancillary.packet_type.map_or(0, u32::from),
            interface_index: ancillary.interface_index.unwrap_or(0),
            queue: ancillary.queue.unwrap_or(0),
            vlan_tag: ancillary.vlan_tag.map_or(0, u32::from),
            has_vlan_tag: u32::from(ancillary.vlan_tag.is_some()),
        }
    }
}
