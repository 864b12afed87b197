//! What the kernel throws away for a wrong checksum.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Room for the table, which has some 90 lines of 40 bytes.
const TABLE_BYTES: usize = 16 << 10;

/// Messages of ICMPv6 that came damaged into this network namespace.
///
/// A raw socket of IPv6 with a filter counts them among its drops, so that what it had no room for is the rest.
/// Types that the socket does not let in are counted here and not there, so the rest may be too low by those.
///
/// # Source
/// `rawv6_rcv_skb`, net/ipv6/raw.c; `icmpv6_rcv`, net/ipv6/icmp.c; `Icmp6InCsumErrors` in /proc/net/snmp6.
#[derive(Debug)]
pub(super) struct Damage {
    /// It stays that of the namespace in which it was opened.
    table: File,
    before: u64,
}

impl Damage {
    /// Counts from now on; `None` when the kernel does not tell.
    pub fn open() -> Option<Self> {
        let table = File::open("/proc/thread-self/net/snmp6").ok()?;
        let before = read(&table)?;
        Some(Self { table, before })
    }

    /// How many have come since.
    pub fn since(&self) -> Option<u64> {
        Some(read(&self.table)?.saturating_sub(self.before))
    }
}

fn read(table: &File) -> Option<u64> {
    let mut bytes = [0; TABLE_BYTES];
    let mut len = 0;
    // Each time round takes something in or ends the loop.
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
