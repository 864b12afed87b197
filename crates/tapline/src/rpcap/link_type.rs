//! Link types: the protocol has the numbers of programs (`DLT_…`), and files have `LINKTYPE_…`.
//!
//! # Source
//! <https://www.tcpdump.org/linktypes.html>; `pcap/dlt.h` of libpcap.

/// Numbers that differ, in programs and in files.
const DIFFERENT: [(i32, u16); 5] = [(11, 100), (12, 101), (15, 102), (16, 103), (19, 106)];

/// From here on, numbers are the same.
const SAME_FROM: i32 = 104;

/// The number in files; `None` if they have none for it.
pub fn to_file(number: i32) -> Option<u16> {
    if let Some(row) = DIFFERENT.iter().find(|row| row.0 == number) {
        return Some(row.1);
    }
    let is_known = matches!(number, 0..=10 | 50 | 51 | 99) || number >= SAME_FROM;
    u16::try_from(number).ok().filter(|_| is_known)
}

/// The number in programs.
pub fn from_file(number: u16) -> i32 {
    let row = DIFFERENT.iter().find(|row| row.1 == number);
    row.map_or(number.into(), |row| row.0)
}
