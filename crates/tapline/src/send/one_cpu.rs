//! Keeps the sending thread on one CPU, so that all its packets take the same queue of the device.

use std::thread::{self, ThreadId};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// While it lives, the thread that made it stays on its CPU.
///
/// # Source
/// `packet_pick_tx_queue`, net/packet/af_packet.c: the queue follows from the CPU. Packets of two queues can overtake
/// each other.
pub struct OneCpu {
    thread: ThreadId,
    /// Where the thread may run otherwise; `None` if that was not changed.
    before: Option<CpuSet>,
}

impl OneCpu {
    /// Where the kernel refuses, the thread may still move.
    pub fn begin() -> Self {
        let before = sched_getaffinity(None).ok().filter(|_| {
            let mut here = CpuSet::new();
            here.set(sched_getcpu());
            sched_setaffinity(None, &here).is_ok()
        });
        Self {
            thread: thread::current().id(),
            before,
        }
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        if let Some(before) = &self.before
            && self.thread == thread::current().id()
        {
            // It was allowed before.
            let _ = sched_setaffinity(None, before);
        }
    }
}
