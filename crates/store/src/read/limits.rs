//! What a reader accepts at most, so that a hostile length cannot make it allocate.

use crate::model::LinkType;

/// Bytes of a pcapng block at most; a longer one is refused as unsupported.
///
/// It is the largest packet of any link type and room for its options.
pub const BLOCK_BYTES_MAX: usize = PACKET_BYTES_LARGE + (1 << 20);

/// Interfaces of one file at most, all its sections together.
pub const INTERFACES_MAX: usize = 65_536;

/// Captured bytes of a packet at most, for the link types that carry messages of an operating
/// system and not frames.
const PACKET_BYTES_LARGE: usize = 128 << 20;

/// Captured bytes of a packet of `link_type` at most; more is taken for damage.
///
/// 256 KiB for networks, which is also the longest that other readers of capture files accept;
/// 128 MiB for D-Bus and USB, 8 MiB for EBHSCR.
pub fn packet_bytes_max(link_type: LinkType) -> usize {
    match link_type.0 {
        LINKTYPE_USB_LINUX | LINKTYPE_USB_LINUX_MMAPPED | LINKTYPE_DBUS | LINKTYPE_USBPCAP => {
            PACKET_BYTES_LARGE
        }
        LINKTYPE_EBHSCR => 8 << 20,
        _ => 256 << 10,
    }
}

const LINKTYPE_USB_LINUX: u16 = 189;
const LINKTYPE_USB_LINUX_MMAPPED: u16 = 220;
const LINKTYPE_DBUS: u16 = 231;
const LINKTYPE_USBPCAP: u16 = 249;
const LINKTYPE_EBHSCR: u16 = 279;
