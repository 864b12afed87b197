//! Rings that take over from others while a capture runs.

use std::io;

use super::close::block_ns;
use super::job::Capture;

impl Capture {
    /// Does what was asked for from outside, as far as the reader has to; says whether there was
    /// something.
    pub(super) fn take_wish(&mut self) -> bool {
        let Some(next) = self.wish.take() else {
            return false;
        };
        if !next.rings.is_empty() {
            self.block_ns = self.block_ns.max(block_ns(self.options.delivery));
        }
        (self.options.delivery, self.options.spin) = (next.delivery, next.spin);
        for (number, ring) in next.rings {
            self.lanes[number].next = Some(ring);
        }
        true
    }

    /// Goes on with the next ring of each lane whose ring is at its end; says whether there was one.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        let mut is_changed = false;
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            if lane.advance()? {
                // The one before it left with its descriptor.
                self.waiter.add(number, lane)?;
                self.wish.settle_one();
                is_changed = true;
            }
        }
        Ok(is_changed)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.wish.end();
    }
}
