use super::Malformed;
use super::malformed::split;

pub(crate) const HEADER_BYTES: usize = 16;

/// A netlink message, borrowed from the datagram it came in.
#[doc(alias = "nlmsghdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is (`RTM_NEWLINK`, `NLMSG_DONE` …).
    pub kind: u16,
    /// `NLM_F_…`.
    pub flags: u16,
    /// Number of the request it answers; 0 for a notification.
    pub sequence: u32,
    /// Port of the socket it answers.
    pub port: u32,
    /// What follows the header.
    pub body: &'a [u8],
}

/// The messages of a datagram, in order; see [`messages`].
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
    at: usize,
}

/// Reads the messages of a datagram.
///
/// The last message need not be filled up. After an error there is nothing more.
///
/// # Source
/// `nlmsg_ok` and `nlmsg_next`, include/net/netlink.h.
pub fn messages(datagram: &[u8]) -> Messages<'_> {
    Messages {
        rest: datagram,
        at: 0,
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let message = self.message();
        if message.is_err() {
            self.rest = &[];
        }
        Some(message)
    }
}

impl<'a> Messages<'a> {
    /// Takes one message; the rest is shorter by at least a header.
    #[inline]
    fn message(&mut self) -> Result<Message<'a>, Malformed> {
        let (at, have) = (self.at, self.rest.len());
        let (header, _) = split::<HEADER_BYTES>("message header", at, self.rest)?;
        let [
            l0,
            l1,
            l2,
            l3,
            k0,
            k1,
            f0,
            f1,
            s0,
            s1,
            s2,
            s3,
            p0,
            p1,
            p2,
            p3,
        ] = *header;
        let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
        let malformed = || Malformed {
            layer: "message",
            at,
            need: length.max(HEADER_BYTES),
            have,
        };
        let body = self.rest.get(HEADER_BYTES..length).ok_or_else(malformed)?;
        let step = length.next_multiple_of(4).min(have);
        self.rest = &self.rest[step..];
        self.at += step;
        Ok(Message {
            kind: u16::from_ne_bytes([k0, k1]),
            flags: u16::from_ne_bytes([f0, f1]),
            sequence: u32::from_ne_bytes([s0, s1, s2, s3]),
            port: u32::from_ne_bytes([p0, p1, p2, p3]),
            body,
        })
    }
}
