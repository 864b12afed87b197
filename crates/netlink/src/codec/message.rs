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
    datagram: &'a [u8],
    /// Where the next one begins; there is none at the end or beyond.
    next: usize,
}

/// Reads the messages of a datagram.
///
/// The last message need not be filled up. After an error there is nothing more.
///
/// # Source
/// `nlmsg_ok` and `nlmsg_next`, include/net/netlink.h.
pub fn messages(datagram: &[u8]) -> Messages<'_> {
    Messages { datagram, next: 0 }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.datagram.get(self.next..)?;
        if rest.is_empty() {
            return None;
        }
        let message = message(rest, self.next);
        self.next = match message {
            Ok((_, step)) => self.next + step,
            Err(_) => self.datagram.len(),
        };
        Some(message.map(|(message, _)| message))
    }
}

/// The message at the beginning of `rest`, which is `at` bytes into its datagram, and how far it is to the next.
#[inline]
fn message(rest: &[u8], at: usize) -> Result<(Message<'_>, usize), Malformed> {
    let (header, _) = split::<HEADER_BYTES>("message header", at, rest)?;
    let (words, _) = header.as_chunks::<4>();
    let (halves, _) = header.as_chunks::<2>();
    let length = u32::from_ne_bytes(words[0]) as usize;
    let malformed = || Malformed {
        layer: "message",
        at,
        need: length.max(HEADER_BYTES),
        have: rest.len(),
    };
    let body = rest.get(HEADER_BYTES..length).ok_or_else(malformed)?;
    let message = Message {
        kind: u16::from_ne_bytes(halves[2]),
        flags: u16::from_ne_bytes(halves[3]),
        sequence: u32::from_ne_bytes(words[2]),
        port: u32::from_ne_bytes(words[3]),
        body,
    };
    Ok((message, (length + 3) & !3))
}
