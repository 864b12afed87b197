//! A cursor: C takes packets one by one, and reads those of a packet ring where the kernel put them. The inline
//! functions of `include/tapline/cursor.h` move it.

use std::cell::UnsafeCell;
use std::ptr;

use tapline::capture::{Capture, Frames};

use crate::packet::tapline_packet;

/// A position in packets that are lent: `tapline_cursor_next` of tapline/cursor.h moves it. The fields are for that function.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_cursor {
    /// Packets to come.
    pub left: usize,
    /// The next packet, if they are in an array; null if they lie in a ring.
    pub array: *const tapline_packet,
    /// The kernel's header of the next packet in the ring: a `struct tpacket3_hdr` in a block, a `struct tpacket2_hdr` in a
    /// frame.
    pub frame: *const u8,
    /// Bytes from there to the end of the block; 0 with frames.
    pub room: usize,
    /// Length on the wire of the packets of the ring that the cursor has passed.
    pub wire_bytes: u64,
    /// Maximum captured bytes of a packet in the ring.
    pub snaplen: u32,
    /// Interface of the packets in the ring.
    pub interface: u32,
    /// Bytes from a frame to the next; 0 in a block.
    pub frame_bytes: usize,
}

impl tapline_cursor {
    const EMPTY: Self = Self {
        left: 0,
        array: ptr::null(),
        frame: ptr::null(),
        room: 0,
        wire_bytes: 0,
        snaplen: 0,
        interface: 0,
        frame_bytes: 0,
    };
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
            Lent::Array(lent) => Untaken::Array(cursor.left.min(lent)),
            Lent::Frames(frames) => {
                let left = u32::try_from(cursor.left).unwrap_or(u32::MAX);
                let passed = frames.packets.saturating_sub(left);
                if passed == 0 {
                    return Untaken::AllFrames;
                }
                let bytes = cursor.frame.addr().saturating_sub(frames.first.addr());
                let mut batch = capture.ready_batch();
                batch.skip_frames(passed, bytes, cursor.wire_bytes);
                Untaken::None
            }
        }
    }

    /// Lends the packets of a block, or of frames. Those have no room, so that a program that knows only blocks leaves them to
    /// the library.
    pub fn lend_frames(&mut self, frames: Frames, interface: u32) -> *mut tapline_cursor {
        self.lent = Lent::Frames(frames);
        *self.place.get_mut() = tapline_cursor {
            left: frames.packets as usize,
            frame: frames.first,
            room: if frames.frame_bytes == 0 {
                frames.room
            } else {
                0
            },
            snaplen: frames.snaplen,
            interface,
            frame_bytes: frames.frame_bytes,
            ..tapline_cursor::EMPTY
        };
        self.place.get()
    }

    /// Lends an array.
    pub fn lend_array(&mut self, packets: &[tapline_packet]) -> *mut tapline_cursor {
        self.lent = Lent::Array(packets.len());
        *self.place.get_mut() = tapline_cursor {
            left: packets.len(),
            array: packets.as_ptr(),
            ..tapline_cursor::EMPTY
        };
        self.place.get()
    }
}
