//! Packet memory of an AF_XDP socket.

use std::io;
use std::ptr::NonNull;

use abi::region::Region;
use abi::xdp::{XDP_PACKET_HEADROOM, XdpDesc};
use wire::record::{DEVICE_METADATA_MARK, DeviceMetadata, FrameMetadata, METADATA_MARK};

const METADATA_BYTES: usize = size_of::<FrameMetadata>();
const DEVICE_BYTES: usize = size_of::<DeviceMetadata>();

/// Equal, contiguous chunks. A chunk begins with the kernel's headroom, whose last bytes may hold [`FrameMetadata`]. The
/// packet, or a part of it, follows.
#[derive(Debug)]
pub(super) struct Memory {
    region: Region,
    chunk_bytes: usize,
}

impl Memory {
    /// # Panics
    /// If `chunk_bytes` is not a power of two.
    pub fn new(chunk_bytes: usize, count: usize) -> io::Result<Self> {
        assert!(chunk_bytes.is_power_of_two());
        let region = Region::anonymous(chunk_bytes * count)?;
        Ok(Self {
            region,
            chunk_bytes,
        })
    }

    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Address of the chunk that contains the descriptor. `None` if it lies outside the memory.
    #[inline]
    pub fn chunk(&self, desc: &XdpDesc) -> Option<u64> {
        let is_inside = desc.addr < self.region.bytes() as u64;
        is_inside.then_some(desc.addr & !(self.chunk_bytes as u64 - 1))
    }

    /// Address of a descriptor's bytes. `None` if they do not lie in one chunk.
    #[inline]
    fn find(&self, desc: &XdpDesc) -> Option<NonNull<u8>> {
        self.chunk(desc)?;
        let (at, bytes) = (desc.addr as usize, desc.len as usize);
        let room = self.chunk_bytes - self.before(desc);
        (bytes <= room).then(|| self.region.pointer(at, bytes))
    }

    /// Bytes of the chunk before the descriptor's.
    #[inline]
    fn before(&self, desc: &XdpDesc) -> usize {
        desc.addr as usize & (self.chunk_bytes - 1)
    }

    /// The bytes of a descriptor; `None` if they do not lie in one chunk.
    ///
    /// # Safety
    /// The descriptor lies in the receive ring, and its chunk is not returned while the bytes are borrowed.
    #[inline]
    pub unsafe fn bytes(&self, desc: &XdpDesc) -> Option<&[u8]> {
        let at = self.find(desc)?;
        // SAFETY: `len` bytes from there are mapped (checked) and were zeroed at first. They belong to the reader
        // (promised by the caller), so nobody writes them.
        Some(unsafe { std::slice::from_raw_parts(at.as_ptr(), desc.len as usize) })
    }

    /// The metadata that the program wrote before a packet, if any.
    ///
    /// # Safety
    /// As for [`Memory::bytes`].
    #[inline]
    pub unsafe fn metadata(&self, desc: &XdpDesc) -> Option<FrameMetadata> {
        let at = self.metadata_place(desc)?;
        // SAFETY: mapped (checked), owned by the reader (promised by the caller). Any bytes are valid for this
        // struct of integers, and no alignment is needed.
        let metadata = unsafe { at.read_unaligned() };
        matches!(metadata.mark, METADATA_MARK | DEVICE_METADATA_MARK).then_some(metadata)
    }

    /// What the device reported to the program about a packet with this `metadata`, if anything.
    ///
    /// # Safety
    /// As for [`Memory::bytes`].
    #[inline]
    pub unsafe fn device_metadata(
        &self,
        desc: &XdpDesc,
        metadata: FrameMetadata,
    ) -> Option<DeviceMetadata> {
        const BYTES: usize = METADATA_BYTES + DEVICE_BYTES;
        if metadata.mark != DEVICE_METADATA_MARK || self.before(desc) < BYTES {
            return None;
        }
        self.chunk(desc)?;
        let at = self
            .region
            .pointer(desc.addr as usize - BYTES, DEVICE_BYTES);
        // SAFETY: mapped (checked), owned by the reader (promised by the caller). Any bytes are valid for this
        // struct of integers, and no alignment is needed.
        Some(unsafe { at.cast().read_unaligned() })
    }

    /// Clears the metadata, so that the chunk's next packet does not inherit it.
    ///
    /// # Safety
    /// The descriptor lies in the receive ring, and nothing of its chunk is borrowed.
    #[inline]
    pub unsafe fn forget_metadata(&self, desc: &XdpDesc) {
        if let Some(at) = self.metadata_place(desc) {
            // SAFETY: mapped (checked), owned by the reader (promised by the caller).
            unsafe { at.write_unaligned(FrameMetadata::default()) };
        }
    }

    #[inline]
    fn metadata_place(&self, desc: &XdpDesc) -> Option<NonNull<FrameMetadata>> {
        self.chunk(desc)?;
        let has_room = self.before(desc) >= METADATA_BYTES;
        let place = || {
            self.region
                .pointer(desc.addr as usize - METADATA_BYTES, METADATA_BYTES)
        };
        has_room.then(|| place().cast())
    }

    /// Address of the descriptor's packet, for a prefetch; it may be outside the memory.
    #[inline]
    pub fn hint(&self, desc: &XdpDesc) -> *const u8 {
        let start = self.region.pointer(0, 0);
        start.as_ptr().wrapping_add(desc.addr as usize).cast_const()
    }
}

/// Bytes of a packet that fit into a chunk.
pub(super) fn room(chunk_bytes: usize) -> usize {
    chunk_bytes - XDP_PACKET_HEADROOM
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desc(addr: u64, len: u32) -> XdpDesc {
        let options = 0;
        XdpDesc { addr, len, options }
    }

    #[test]
    fn a_descriptor_outside_its_chunk_or_the_memory_is_refused() {
        let memory = Memory::new(2048, 4).unwrap();
        for (addr, len) in [
            (0, 2048),
            (256, 1792),
            (2047, 1),
            (2048 * 3 + 2047, 1),
            (2048, 0),
        ] {
            // SAFETY: no kernel knows of this memory.
            let bytes = unsafe { memory.bytes(&desc(addr, len)) };
            assert_eq!(bytes.map(<[u8]>::len), Some(len as usize));
        }
        let beyond = u64::from(u32::MAX);
        for (addr, len) in [
            (0, 2049),
            (256, 1793),
            (2048 * 4, 0),
            (2048 * 4 - 1, 2),
            (beyond, 1),
            (u64::MAX, 1),
            (0, u32::MAX),
        ] {
            // SAFETY: as above.
            assert_eq!(unsafe { memory.bytes(&desc(addr, len)) }, None);
        }
        assert_eq!(memory.chunk(&desc(2048 + 300, 9)), Some(2048));
        assert_eq!(memory.chunk(&desc(u64::MAX, 9)), None);
    }

    #[test]
    fn metadata_is_found_by_its_mark_and_forgotten() {
        let memory = Memory::new(2048, 2).unwrap();
        let packet = desc(2048 + 256, 60);
        let written = FrameMetadata {
            monotonic_ns: 77,
            mark: METADATA_MARK,
        };
        // SAFETY: no kernel knows of this memory, and nothing of it is borrowed.
        assert_eq!(unsafe { memory.metadata(&packet) }, None);
        let place = memory.metadata_place(&packet).unwrap();
        // SAFETY: the place was checked.
        unsafe { place.write_unaligned(written) };
        // SAFETY: as above.
        assert_eq!(unsafe { memory.metadata(&packet) }, Some(written));
        // SAFETY: as above.
        unsafe { memory.forget_metadata(&packet) };
        // SAFETY: as above.
        assert_eq!(unsafe { memory.metadata(&packet) }, None);
        let of_device = FrameMetadata {
            mark: DEVICE_METADATA_MARK,
            ..written
        };
        // SAFETY: the place was checked.
        unsafe { place.write_unaligned(of_device) };
        // SAFETY: as above.
        assert_eq!(unsafe { memory.metadata(&packet) }, Some(of_device));
        // SAFETY: as above.
        let told = unsafe { memory.device_metadata(&packet, of_device) };
        assert_eq!(told, Some(DeviceMetadata::default()));
        // SAFETY: as above.
        assert_eq!(unsafe { memory.device_metadata(&packet, written) }, None);
        let close = desc(2048 + 31, 60);
        // SAFETY: as above. There is no room for both.
        let told = unsafe { memory.device_metadata(&close, of_device) };
        assert_eq!(told, None);
        // A packet at the very beginning of a chunk has no room before it.
        assert!(memory.metadata_place(&desc(2048 + 15, 60)).is_none());
    }
}
