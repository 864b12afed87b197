//! Packets by size.

/// The largest size of each class but the last, which has no limit: those of Wireshark.
pub const SIZE_CLASSES: [u32; 9] = [19, 39, 79, 159, 319, 639, 1279, 2559, 5119];

/// Packets and bytes on the wire by class of size.
#[derive(Clone, Copy, Debug, Default)]
pub struct SizeClasses {
    /// Packets of each class.
    pub packets: [u64; 10],
    /// Their bytes.
    pub bytes: [u64; 10],
}

impl SizeClasses {
    pub(super) fn add(&mut self, bytes: u32) {
        let class = SIZE_CLASSES.partition_point(|&most| most < bytes);
        self.packets[class] += 1;
        self.bytes[class] += u64::from(bytes);
    }
}
