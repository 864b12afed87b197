//! DNS names.

use std::fmt::{self, Write};

/// Most labels of a name: each takes at least two of its 255 bytes.
const MAX_LABELS: usize = 127;
/// Most bytes of a name, RFC 1035, 3.1.
const MAX_BYTES: usize = 255;

/// A name in a DNS message, possibly compressed.
///
/// `Display` prints it with a final dot, as in zone files: `.` for the root, `\.` for a dot and `\DDD` for an
/// unprintable byte inside a label. A name that runs out of the message, that is longer than 255 bytes or
/// whose pointers do not lead towards the start of the message ends in `<invalid>`.
///
/// # Source
/// RFC 1035, 4.1.4 and 5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DnsName<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> DnsName<'a> {
    /// The name at byte `at` of `message`, and the offset after it. `None` if the message ends inside it, or if a
    /// label has a reserved type.
    pub(super) fn split(message: &'a [u8], at: usize) -> Option<(Self, usize)> {
        let mut end = at;
        for _ in 0..=MAX_LABELS {
            let len = *message.get(end)?;
            match len {
                0 => return Some((Self { message, at }, end + 1)),
                1..=63 => end += 1 + usize::from(len),
                // A pointer ends the name.
                192.. => {
                    message.get(end + 1)?;
                    return Some((Self { message, at }, end + 2));
                }
                _ => return None,
            }
        }
        None
    }

    /// The labels, without the root. `None` is the last item if the name is invalid.
    pub fn labels(&self) -> impl Iterator<Item = Option<&'a [u8]>> {
        Labels {
            message: self.message,
            at: self.at,
            limit: self.at,
            bytes: 0,
            is_done: false,
        }
    }
}

struct Labels<'a> {
    message: &'a [u8],
    at: usize,
    /// Pointers must lead before this offset, which every pointer lowers: so there is no loop.
    limit: usize,
    bytes: usize,
    is_done: bool,
}

impl<'a> Labels<'a> {
    /// The next label; `None` if the name is invalid, an empty label at its end.
    fn follow(&mut self) -> Option<&'a [u8]> {
        loop {
            let len = *self.message.get(self.at)?;
            if len >= 192 {
                let low = *self.message.get(self.at + 1)?;
                let target = usize::from(len & 0x3f) << 8 | usize::from(low);
                if target >= self.limit {
                    return None;
                }
                (self.at, self.limit) = (target, target);
                continue;
            }
            if len > 63 {
                return None;
            }
            let start = self.at + 1;
            let label = self.message.get(start..start + usize::from(len))?;
            self.at = start + label.len();
            self.bytes += 1 + label.len();
            return (self.bytes <= MAX_BYTES).then_some(label);
        }
    }
}

impl<'a> Iterator for Labels<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let label = self.follow();
        self.is_done = label.is_none_or(<[u8]>::is_empty);
        match label {
            Some([]) => None,
            label => Some(label),
        }
    }
}

impl fmt::Display for DnsName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_root = true;
        for label in self.labels() {
            let Some(label) = label else {
                return f.write_str("<invalid>");
            };
            is_root = false;
            for &byte in label {
                match byte {
                    b'.' | b'\\' => write!(f, "\\{}", char::from(byte))?,
                    b'!'..=b'~' => f.write_char(byte.into())?,
                    _ => write!(f, "\\{byte:03}")?,
                }
            }
            f.write_char('.')?;
        }
        f.write_str(if is_root { "." } else { "" })
    }
}
