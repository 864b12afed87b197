//! Puts a VLAN tag that the kernel delivered as metadata back into its packet.

use std::ptr::NonNull;

use abi::packet::TP_STATUS_VLAN_TPID_VALID;

use crate::header::{Header, VLAN_TAG_BYTES};

const MAC_ADDRESSES_BYTES: usize = 12;
const ETHERTYPE_VLAN: u16 = 0x8100;

/// Moves the MAC addresses forward and writes the tag after them, as on the wire.
///
/// Updates the header, so that a second walk over the batch finds the tag in place. Reads the header again instead of
/// borrowing the caller's, which can then stay in registers if there is no tag.
///
/// # Safety
/// As for [`lend`], and the header is valid. The [`VLAN_TAG_BYTES`] bytes before the packet belong to it
/// (`PACKET_RESERVE`), and no slice of the packet exists.
#[cold]
#[inline(never)]
pub(crate) unsafe fn reinsert_vlan_tag<H: Header>(at: NonNull<u8>) -> H {
    // SAFETY: aligned and handed over (promised by the caller).
    let mut header = unsafe { at.cast::<H>().read() };
    let (start, kept) = (header.start(), header.kept());
    let moved = if kept < MAC_ADDRESSES_BYTES {
        0
    } else {
        VLAN_TAG_BYTES
    };
    if moved > 0 {
        let (tpid, tci) = header.vlan();
        let tagged = header.status() & TP_STATUS_VLAN_TPID_VALID != 0;
        let tpid = if tagged { tpid } else { ETHERTYPE_VLAN };
        // SAFETY: the packet's address (promised by the caller).
        let packet = unsafe { at.add(start) };
        // SAFETY: the reserved bytes before it.
        let front = unsafe { packet.sub(moved) };
        // SAFETY: both lie within the room; `copy_to` allows the overlap.
        unsafe { packet.copy_to(front, MAC_ADDRESSES_BYTES) };
        let tag = ((tpid as u32) << 16 | tci as u32).to_be_bytes();
        // SAFETY: the address after the moved MAC addresses: old bytes 8 to 12 of the packet.
        let place = unsafe { front.add(MAC_ADDRESSES_BYTES) }.cast::<[u8; VLAN_TAG_BYTES]>();
        // SAFETY: within the packet; bytes need no alignment.
        unsafe { place.write(tag) };
    }
    header.put_back(moved);
    // SAFETY: the header's own address, aligned, owned by the reader until the batch is dropped. In V2 its first word
    // is the atomic status, which the kernel does not touch while it is "user".
    unsafe { at.cast::<H>().write(header) };
    header
}
