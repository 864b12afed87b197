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
    /// Keeps the thread on the CPU where it runs. Where the kernel refuses, the thread may still move.
    pub fn begin() -> Self {
        Self::on(sched_getcpu())
    }

    /// Keeps the thread on the CPU number `index` of those that it may run on, counted around.
    pub fn on_allowed(index: usize) -> Self {
        let allowed = sched_getaffinity(None).ok();
        let cpus = allowed.iter().flat_map(|allowed| {
            let is_allowed = |cpu: &usize| allowed.is_set(*cpu);
            (0..CpuSet::MAX_CPU).filter(is_allowed)
        });
        let cpus: Vec<usize> = cpus.collect();
        match cpus.len() {
            0 => Self::begin(),
            count => Self::on(cpus[index % count]),
        }
    }

    fn on(cpu: usize) -> Self {
        let before = sched_getaffinity(None).ok().filter(|_| {
            let mut only = CpuSet::new();
            only.set(cpu);
            sched_setaffinity(None, &only).is_ok()
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
