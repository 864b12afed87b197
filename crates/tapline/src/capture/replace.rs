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
        if !next.taken_over.is_empty() {
            self.block_ns = self.block_ns.max(block_ns(self.options.delivery));
        }
        (self.options.delivery, self.options.spin) = (next.delivery, next.spin);
        for (number, taken_over) in next.taken_over {
            self.ports[number].follow(taken_over, &mut self.lanes);
        }
        true
    }

    /// Goes on with the next ring of each lane whose ring is at its end; says whether there was one.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        let mut is_changed = false;
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            if lane.is_to_advance()? {
                self.waiter.remove(lane);
                lane.advance();
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
