//! Batching of replies: some may stay unread while further probes are sent.

/// Maximum probes between two reads, and maximum buffer space of their replies. A group of probes that are sent
/// together may need as much again.
const MAX_PROBES: u64 = 8;
const MAX_BYTES: u64 = 1 << 15;
/// Memory that the kernel charges for a packet besides its payload.
const OVERHEAD_BYTES: u64 = 1024;
/// The same for drivers that use half a page per packet.
const MAX_OVERHEAD_BYTES: u64 = 2304;

/// The probes that were sent since replies were last read.
#[derive(Debug)]
pub(super) struct ReplyBatcher {
    /// How long a reply may stay unread; 0 disables batching.
    max_wait_ns: u64,
    timeout_ns: u64,
    max_probes: u64,
    probes: u64,
    /// When the oldest of them was sent.
    since_ns: u64,
}

impl ReplyBatcher {
    /// Starts disabled. Batches use at most a quarter of the socket buffer.
    pub fn new(timeout_ns: u64, payload_bytes: usize, buffer_bytes: usize) -> Self {
        let room = (buffer_bytes as u64 / 4).min(MAX_BYTES);
        Self {
            max_wait_ns: 0,
            timeout_ns,
            max_probes: MAX_PROBES.min(room / (payload_bytes as u64 + OVERHEAD_BYTES)),
            probes: 0,
            since_ns: 0,
        }
    }

    /// Whether the replies to `group` probes fit into half of a socket buffer.
    pub fn has_room_for(group: u32, payload_bytes: usize, room: usize) -> bool {
        let each = payload_bytes as u64 + MAX_OVERHEAD_BYTES;
        u64::from(group) * each <= room as u64 / 2
    }

    /// Sets the maximum wait, up to half of the timeout, so that no reply becomes late by it.
    pub fn set_max_wait(&mut self, max_wait_ns: u64) {
        self.max_wait_ns = max_wait_ns.min(self.timeout_ns / 2);
    }

    pub fn is_enabled(&self) -> bool {
        self.max_wait_ns > 0
    }

    /// Notes that a probe was sent.
    #[inline]
    pub fn sent(&mut self, now_ns: u64) {
        if self.probes == 0 {
            self.since_ns = now_ns;
        }
        self.probes += 1;
    }

    /// Notes that all replies were read.
    #[inline]
    pub fn read(&mut self) {
        self.probes = 0;
    }

    /// Whether replies may stay unread until the next probe is sent at `due_ns`.
    #[inline]
    pub fn can_wait_until(&self, due_ns: u64) -> bool {
        let is_in_time = due_ns <= self.since_ns.saturating_add(self.max_wait_ns);
        is_in_time && (1..self.max_probes).contains(&self.probes)
    }

    /// Whether all `pending` probes are among these, and none has timed out: nothing is lost.
    #[inline]
    pub fn holds_all(&self, pending: u64, now_ns: u64) -> bool {
        self.is_enabled()
            && pending <= self.probes
            && now_ns < self.since_ns.saturating_add(self.timeout_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_buffer_limit_has_no_room_for_the_largest_groups() {
        // Buffers of an unprivileged and of a privileged process, as the kernel counts them.
        let (limited, requested) = (2 * 212_992, 64 << 20);
        assert!(!ReplyBatcher::has_room_for(250, 56, limited));
        assert!(ReplyBatcher::has_room_for(64, 56, limited));
        assert!(!ReplyBatcher::has_room_for(64, 1400, limited));
        assert!(ReplyBatcher::has_room_for(256, 9000, requested));
    }
}
