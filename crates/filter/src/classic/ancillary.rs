/// What is known of a packet beside its bytes, for the loads at [`Ancillary::BASE`].
///
/// The default is a packet from a file, of which nothing is known. A VLAN tag is then in the bytes,
/// so "tag present" reads 0 and a program made for a live interface looks for it there. Any other
/// value that is not known refuses the packet, as a load outside of it does.
///
/// # Source
/// `SKF_AD_OFF`, include/uapi/linux/filter.h; `pcap_bpf_aux_data`, libpcap `pcap-int.h`.
#[doc(alias = "SKF_AD_OFF")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ancillary {
    /// `PACKET_HOST` (0), `PACKET_BROADCAST` (1), `PACKET_MULTICAST` (2), `PACKET_OTHERHOST` (3) or
    /// `PACKET_OUTGOING` (4).
    pub packet_type: Option<u8>,
    /// Index of the interface.
    pub interface_index: Option<u32>,
    /// Index of the receive queue.
    pub queue: Option<u32>,
    /// Tag control information of a VLAN tag that was taken out of the bytes.
    pub vlan_tag: Option<u16>,
}

impl Ancillary {
    /// Offset of the first ancillary value (`SKF_AD_OFF`, -4096).
    pub const BASE: u32 = (-0x1000_i32).cast_unsigned();
    pub(super) const PROTOCOL: u32 = Self::BASE;
    pub(crate) const PACKET_TYPE: u32 = Self::BASE + 4;
    pub(crate) const INTERFACE_INDEX: u32 = Self::BASE + 8;
    pub(super) const NETLINK_ATTRIBUTE: u32 = Self::BASE + 12;
    pub(super) const NESTED_ATTRIBUTE: u32 = Self::BASE + 16;
    pub(super) const MARK: u32 = Self::BASE + 20;
    pub(crate) const QUEUE: u32 = Self::BASE + 24;
    pub(super) const HARDWARE_TYPE: u32 = Self::BASE + 28;
    pub(super) const RECEIVE_HASH: u32 = Self::BASE + 32;
    pub(super) const CPU: u32 = Self::BASE + 36;
    pub(crate) const XOR_X: u32 = Self::BASE + 40;
    pub(crate) const VLAN_TAG: u32 = Self::BASE + 44;
    pub(crate) const VLAN_TAG_PRESENT: u32 = Self::BASE + 48;
    pub(super) const PAYLOAD_OFFSET: u32 = Self::BASE + 52;
    pub(super) const RANDOM: u32 = Self::BASE + 56;
    pub(super) const VLAN_TPID: u32 = Self::BASE + 60;

    /// Whether the kernel has an ancillary value at offset `k`.
    pub(super) const fn exists(k: u32) -> bool {
        matches!(
            k,
            Self::PROTOCOL
                | Self::PACKET_TYPE
                | Self::INTERFACE_INDEX
                | Self::NETLINK_ATTRIBUTE
                | Self::NESTED_ATTRIBUTE
                | Self::MARK
                | Self::QUEUE
                | Self::HARDWARE_TYPE
                | Self::RECEIVE_HASH
                | Self::CPU
                | Self::XOR_X
                | Self::VLAN_TAG
                | Self::VLAN_TAG_PRESENT
                | Self::PAYLOAD_OFFSET
                | Self::RANDOM
                | Self::VLAN_TPID
        )
    }

    /// What tcpdump calls the ancillary value at offset `k`.
    pub(super) const fn name(k: u32) -> Option<&'static str> {
        Some(match k {
            Self::PROTOCOL => "proto",
            Self::PACKET_TYPE => "type",
            Self::INTERFACE_INDEX => "ifidx",
            Self::NETLINK_ATTRIBUTE => "nla",
            Self::NESTED_ATTRIBUTE => "nlan",
            Self::MARK => "mark",
            Self::QUEUE => "queue",
            Self::HARDWARE_TYPE => "hatype",
            Self::RECEIVE_HASH => "rxhash",
            Self::CPU => "cpu",
            Self::XOR_X => "xor_x",
            Self::VLAN_TAG => "vlan_tci",
            Self::VLAN_TAG_PRESENT => "vlanp",
            Self::PAYLOAD_OFFSET => "poff",
            Self::RANDOM => "random",
            Self::VLAN_TPID => "vlan_tpid",
            _ => return None,
        })
    }

    /// The value `A` takes from a load at offset `k`; `None` refuses the packet.
    pub(crate) fn load(&self, k: u32, a: u32, x: u32) -> Option<u32> {
        match k {
            Self::PACKET_TYPE => self.packet_type.map(u32::from),
            Self::INTERFACE_INDEX => self.interface_index,
            Self::QUEUE => self.queue,
            Self::XOR_X => Some(a ^ x),
            Self::VLAN_TAG => Some(u32::from(self.vlan_tag.unwrap_or(0))),
            Self::VLAN_TAG_PRESENT => Some(u32::from(self.vlan_tag.is_some())),
            _ => None,
        }
    }
}
