//! Answers that are left to be read together.

/// Probes after which answers are read, and room in a socket that they may take till then, bytes. A group of probes
/// that leave together may have as many more.
const MAX_PROBES: u64 = 8;
const MAX_ROOM: u64 = 1 << 15;
/// What the kernel takes for a packet beside its payload, bytes, at most.
const OVERHEAD: u64 = 1024;
/// As much, of drivers that give each packet half a page.
const MOST_OVERHEAD: u64 = 2304;

/// Probes that were sent since answers were read.
#[derive(Debug)]
pub(super) struct Unread {
    /// How long an answer may wait; 0 reads what comes.
    patience_ns: u64,
    timeout_ns: u64,
    most: u64,
    probes: u64,
    /// When the oldest was sent.
    since_ns: u64,
}

impl Unread {
    /// Without patience. Of the room in a socket's buffer a quarter is taken at most.
    pub fn new(timeout_ns: u64, payload_bytes: usize, buffer_bytes: usize) -> Self {
        let room = (buffer_bytes as u64 / 4).min(MAX_ROOM);
        Self {
            patience_ns: 0,
            timeout_ns,
            most: MAX_PROBES.min(room / (payload_bytes as u64 + OVERHEAD)),
            probes: 0,
            since_ns: 0,
        }
    }

    /// Whether answers to a `group` of probes leave half of the room in a socket's buffer free.
    pub fn has_room_for(group: u32, payload_bytes: usize, room: usize) -> bool {
        let each = payload_bytes as u64 + MOST_OVERHEAD;
        u64::from(group) * each <= room as u64 / 2
    }

    /// Lets answers wait so long, but half of the timeout at most: what is read is never late for that.
    pub fn be_patient(&mut self, patience_ns: u64) {
        self.patience_ns = patience_ns.min(self.timeout_ns / 2);
    }

    pub fn is_patient(&self) -> bool {
        self.patience_ns > 0
    }

    /// Notes that a probe was sent.
    #[inline]
    pub fn sent(&mut self, now_ns: u64) {
        if self.probes == 0 {
            self.since_ns = now_ns;
        }
        self.probes += 1;
    }

    /// Notes that all answers were read.
    #[inline]
    pub fn read(&mut self) {
        self.probes = 0;
    }

    /// Whether answers may wait until the next probe is sent at `turn_ns`, and still be read in time.
    #[inline]
    pub fn may_wait(&self, turn_ns: u64) -> bool {
        let is_in_time = turn_ns <= self.since_ns.saturating_add(self.patience_ns);
        is_in_time && (1..self.most).contains(&self.probes)
    }

    /// Whether nothing but these is `pending`, and the time of none is over: no loss can be told.
    #[inline]
    pub fn is_all(&self, pending: u64, now_ns: u64) -> bool {
        self.is_patient()
            && pending <= self.probes
            && now_ns < self.since_ns.saturating_add(self.timeout_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_the_systems_limit_has_no_room_for_the_largest_groups() {
        // What a process without privileges gets, and what a privileged one asks for, as the kernel counts it.
        let (limited, asked_for) = (2 * 212_992, 64 << 20);
        assert!(!Unread::has_room_for(250, 56, limited));
        assert!(Unread::has_room_for(64, 56, limited));
        assert!(!Unread::has_room_for(64, 1400, limited));
        assert!(Unread::has_room_for(256, 9000, asked_for));
    }
}
