//! A packet as a job hands it over, and views of the headers in it.
//!
//! [`Packet`] is what jobs deliver. [`dissect()`] splits its bytes into headers, and each header type reads the
//! fields in place. [`build`] makes frames, with lengths and checksums filled in, and [`FrameSender`] sends
//! them.
//!
//! ```
//! use tapline::packet::{build::Frame, dissect, protocol::link_type, MacAddress};
//!
//! let [a, b] = [MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([2, 0, 0, 0, 0, 2])];
//! let [c, d] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
//! let frame = Frame::ethernet(a, b).ipv4(c, d).udp(1024, 53).payload(b"?");
//! assert_eq!(dissect(link_type::ETHERNET, &frame).ports(), Some((1024, 53)));
//! ```

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::SendFlags;
use store::model;
pub use wire::*;

use wire::metadata::{Checksum, Direction, Reception};

/// A packet, lent for as long as its job allows: nothing is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Packet<'a>(model::Packet<'a>);

impl<'a> Packet<'a> {
    /// When it was received or sent.
    #[inline]
    pub fn time(&self) -> Timestamp {
        Timestamp(self.0.timestamp_ns)
    }

    /// The captured bytes, from the link-layer header on, VLAN tags included.
    #[inline]
    pub fn data(&self) -> &'a [u8] {
        self.0.bytes
    }

    /// Length on the wire, bytes. A packet merged by GRO or not yet split by GSO counts as one.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "no packet is empty")]
    pub fn len(&self) -> usize {
        self.0.original_len as usize
    }

    /// Number of captured bytes: at most the snaplen.
    #[inline]
    pub fn captured_len(&self) -> usize {
        self.0.bytes.len()
    }

    /// Position of its interface among those of the job.
    #[inline]
    pub fn interface(&self) -> usize {
        self.0.interface as usize
    }

    /// Whether it was received or sent, if known.
    #[inline]
    pub fn direction(&self) -> Option<Direction> {
        self.0.direction
    }

    /// How it was addressed (unicast, broadcast, …), if known.
    #[inline]
    pub fn reception(&self) -> Option<Reception> {
        self.0.reception
    }

    /// State of its transport checksum.
    #[inline]
    pub fn checksum(&self) -> Checksum {
        self.0.checksum
    }

    /// Receive queue; `None` if the interface has only one, or if it is not known.
    #[inline]
    pub fn queue(&self) -> Option<u32> {
        self.0.queue
    }

    /// Packets that the ring dropped before this one, since the last packet that reported drops.
    #[inline]
    pub fn drops_before(&self) -> u64 {
        self.0.drop_count.unwrap_or(0)
    }

    /// The number of the process that sent it, in a capture file that has it.
    #[inline]
    pub fn process_id(&self) -> Option<u32> {
        self.0.process_id
    }

    /// The comment that a capture file has, or will have, at this packet.
    #[inline]
    pub fn comment(&self) -> Option<&'a str> {
        self.0.comment
    }

    /// The packet as capture files model it: for the writers of [`file`](crate::file).
    #[inline]
    pub fn record(&self) -> &model::Packet<'a> {
        &self.0
    }
}

impl<'a> From<model::Packet<'a>> for Packet<'a> {
    #[inline]
    fn from(record: model::Packet<'a>) -> Self {
        Self(record)
    }
}

/// The time of a packet in nanoseconds, shown in UTC as `2026-01-31T12:00:00.123456789Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(Option<u64>);

impl Timestamp {
    /// Nanoseconds since 1970-01-01 00:00 UTC; `None` if a capture file holds no time for the packet.
    #[inline]
    pub fn as_nanos(self) -> Option<u64> {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(nanos) = self.0 else {
            return f.write_str("-");
        };
        let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let (year, month, day) = civil_date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z"
        )
    }
}

/// Sends frames as they are, from the link-layer header on, through a packet socket that does not block.
#[derive(Debug)]
pub struct FrameSender(OwnedFd);

impl FrameSender {
    /// Opens a sender on the interface with index `ifindex` in the namespace of the calling thread.
    ///
    /// # Errors
    /// EPERM without the privilege, ENODEV if there is no such interface, ENETDOWN if it is down.
    /// # Privileges
    /// `CAP_NET_RAW`.
    pub fn open(ifindex: u32) -> io::Result<Self> {
        let socket = abi::socket::packet_socket()?;
        abi::socket::bind_link(socket.as_fd(), ifindex)?;
        Ok(Self(socket))
    }

    /// Sends one frame.
    ///
    /// # Errors
    /// EAGAIN if the send buffer is full, EMSGSIZE if the frame exceeds the MTU, ENETDOWN if the interface is
    /// down.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        rustix::net::send(&self.0, frame, SendFlags::empty())?;
        Ok(())
    }
}

/// Writable when the send buffer has room.
impl AsFd for FrameSender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Year, month and day, `days` after 1970-01-01, in the proleptic Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last of its year.
fn civil_date(days: u64) -> (u64, u64, u64) {
    const DAYS_TO_1970: u64 = 719_468; // from 0000-03-01
    const DAYS_OF_ERA: u64 = 146_097; // 400 years
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc() {
        for (nanos, shown) in [
            (Some(0), "1970-01-01T00:00:00.000000000Z"),
            (
                Some(951_782_399_000_000_001),
                "2000-02-28T23:59:59.000000001Z",
            ),
            (
                Some(951_868_799_000_000_000),
                "2000-02-29T23:59:59.000000000Z",
            ),
            (
                Some(1_709_251_200_123_456_789),
                "2024-03-01T00:00:00.123456789Z",
            ),
            (
                Some(4_107_542_400_000_000_000),
                "2100-03-01T00:00:00.000000000Z",
            ),
            (Some(u64::MAX), "2554-07-21T23:34:33.709551615Z"),
            (None, "-"),
        ] {
            assert_eq!(Timestamp(nanos).to_string(), shown);
        }
    }
}
