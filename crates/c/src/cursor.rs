//! A cursor: C takes packets one by one, and reads those of a packet ring where the kernel put them. The inline
//! functions of `include/tapline/cursor.h` move it.

use std::cell::UnsafeCell;
use std::ptr;

use tapline::capture::{Capture, Frames};

use crate::packet::tapline_packet;

/// A position in packets that are lent: `tapline_cursor_next` of tapline/cursor.h moves it. The fields are for that function,
/// which changes two of them for each packet.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_cursor {
    /// In the upper 20 bits the number of packets to come. In the lower 44 the length on the wire of the packets of the ring
    /// that the cursor has passed.
    pub progress: u64,
    /// The kernel's header of the next packet in the ring: a `struct tpacket3_hdr` in a block, a `struct tpacket2_hdr` in a
    /// frame.
    pub frame: *const u8,
    /// The end of the block; null with frames.
    pub end: *const u8,
    /// The next packet, if they are in an array; null if they lie in a ring.
    pub array: *const tapline_packet,
    /// Bytes from a frame to the next; 0 in a block.
    pub frame_bytes: usize,
    /// Maximum captured bytes of a packet in the ring.
    pub snaplen: u32,
    /// Interface of the packets in the ring.
    pub interface: u32,
}

/// What a packet to come adds to `progress`. Lengths stay below it: 2^20 packets have less than 2^24 bytes each.
const PACKET: u64 = 1 << 44;

/// The largest number of packets that `progress` has room for.
const MAX_PACKETS: u32 = (1 << 20) - 1;

impl tapline_cursor {
    const EMPTY: Self = Self {
        progress: 0,
        frame: ptr::null(),
        end: ptr::null(),
        array: ptr::null(),
        frame_bytes: 0,
        snaplen: 0,
        interface: 0,
    };

    /// Packets to come: at most [`MAX_PACKETS`].
    fn left(&self) -> u32 {
        (self.progress / PACKET) as u32
    }

    /// Length on the wire of the packets of a ring that it has passed.
    fn wire_bytes(&self) -> u64 {
        self.progress % PACKET
    }
}

/// The cursor of a capture, and what it was set to.
pub struct Cursor {
    /// C moves it between the calls.
    place: Box<UnsafeCell<tapline_cursor>>,
    lent: Lent,
}

#[derive(Clone, Copy)]
enum Lent {
    Nothing,
    /// The last packets of the capture's array.
    Array(usize),
    Frames(Frames),
}

/// The packets that were lent with a cursor and that C has not taken.
#[derive(Clone, Copy)]
pub enum Untaken {
    /// None, or packets that are still in a ring.
    None,
    /// The last packets of the array.
    Array(usize),
    /// All packets of a block or of frames, which the inline functions may not be able to read.
    AllFrames,
}

// SAFETY: the cursor's pointers are addresses for C, and those of `lent` are compared only.
unsafe impl Send for Cursor {}

impl Cursor {
    pub fn new() -> Self {
        Self {
            place: Box::new(UnsafeCell::new(tapline_cursor::EMPTY)),
            lent: Lent::Nothing,
        }
    }

    /// Takes the packets back, and counts those of a ring that C has taken. The cursor is empty then.
    pub fn take_back(&mut self, capture: &mut Capture) -> Untaken {
        let cursor = std::mem::replace(self.place.get_mut(), tapline_cursor::EMPTY);
        match std::mem::replace(&mut self.lent, Lent::Nothing) {
            Lent::Nothing => Untaken::None,
            Lent::Array(lent) => Untaken::Array(lent.min(cursor.left() as usize)),
            Lent::Frames(frames) => {
                let passed = frames.packets.saturating_sub(cursor.left());
                if passed == 0 {
                    return Untaken::AllFrames;
                }
                let bytes = cursor.frame.addr().saturating_sub(frames.first.addr());
                let mut batch = capture.ready_batch();
                batch.skip_frames(passed, bytes, cursor.wire_bytes());
                Untaken::None
            }
        }
    }

    /// Lends the packets of a block, or of frames. With more than [`MAX_PACKETS`], the next call lends the others.
    pub fn lend_frames(&mut self, mut frames: Frames, interface: u32) -> *mut tapline_cursor {
        frames.packets = frames.packets.min(MAX_PACKETS);
        self.lent = Lent::Frames(frames);
        *self.place.get_mut() = tapline_cursor {
            progress: u64::from(frames.packets) * PACKET,
            frame: frames.first,
            end: if frames.frame_bytes == 0 {
                frames.first.wrapping_add(frames.room)
            } else {
                ptr::null()
            },
            frame_bytes: frames.frame_bytes,
            snaplen: frames.snaplen,
            interface,
            ..tapline_cursor::EMPTY
        };
        self.place.get()
    }

    /// Lends an array of at most [`MAX_PACKETS`].
    pub fn lend_array(&mut self, packets: &[tapline_packet]) -> *mut tapline_cursor {
        self.lent = Lent::Array(packets.len());
        *self.place.get_mut() = tapline_cursor {
            progress: packets.len() as u64 * PACKET,
            array: packets.as_ptr(),
            ..tapline_cursor::EMPTY
        };
        self.place.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_beyond_the_room_of_progress_are_left_to_the_next_call() {
        let frames = Frames {
            first: ptr::null(),
            room: 0,
            frame_bytes: 128,
            packets: u32::MAX,
            snaplen: 96,
        };
        let mut cursor = Cursor::new();
        let lent = cursor.lend_frames(frames, 3);
        // SAFETY: it is in `cursor`.
        let lent = unsafe { *lent };
        assert_eq!((lent.left(), lent.wire_bytes()), (MAX_PACKETS, 0));
        assert!(lent.end.is_null());
    }
}
