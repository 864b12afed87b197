//! The kernel's counter of ICMPv6 checksum errors.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Buffer for the table, which has about 90 lines of 40 bytes.
const TABLE_BYTES: usize = 16 << 10;

/// ICMPv6 messages with a wrong checksum that arrived in this network namespace.
///
/// A filtered raw IPv6 socket counts them as drops. Its other drops are buffer overruns. Messages of types that the
/// socket does not accept are counted here only, so the number of overruns may be too low by these.
///
/// # Source
/// `rawv6_rcv_skb`, net/ipv6/raw.c; `icmpv6_rcv`, net/ipv6/icmp.c; `Icmp6InCsumErrors` in /proc/net/snmp6.
#[derive(Debug)]
pub(super) struct ChecksumErrors {
    /// Refers to the namespace in which it was opened.
    table: File,
    before: u64,
}

impl ChecksumErrors {
    /// Counts from now on; `None` if the counter is unavailable.
    pub fn open() -> Option<Self> {
        let table = File::open("/proc/thread-self/net/snmp6").ok()?;
        let before = read(&table)?;
        Some(Self { table, before })
    }

    /// Checksum errors since [`ChecksumErrors::open`].
    pub fn since(&self) -> Option<u64> {
        Some(read(&self.table)?.saturating_sub(self.before))
    }
}

fn read(table: &File) -> Option<u64> {
    let mut bytes = [0; TABLE_BYTES];
    let mut len = 0;
    // Each iteration reads something or ends the loop.
    while let Some(rest) = bytes.get_mut(len..).filter(|rest| !rest.is_empty()) {
        match table.read_at(rest, len as u64).ok()? {
            0 => break,
            more => len += more,
        }
    }
    let text = str::from_utf8(&bytes[..len]).ok()?;
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("Icmp6InCsumErrors "))?;
    line.trim().parse().ok()
}
