//! What was sent beside what is in the file.

#[cfg(test)]
mod tests;

use std::path::Path;

use store::model::Direction;
use store::read::Reader;

use super::hosts::Counters;
use super::kind::Kind;
use super::recording::Recorded;
use super::traffic::Sent;
use crate::failure::Exit;
use crate::failure::{Failure, chain};

/// No frames to be found.
const NONE: &[Vec<u8>] = &[];

/// Packets and their bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub packets: u64,
    pub bytes: u64,
}

impl Tally {
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// What is in the file.
#[derive(Default)]
pub struct Stored {
    kinds: [Tally; Kind::COUNT],
    received: Tally,
    transmitted: Tally,
    /// Of each kind, how many of the frames sent as they are were found in their order.
    found: [usize; Kind::COUNT],
}

impl Stored {
    /// Reads the file back.
    pub fn read(path: &Path, sent: &[Sent]) -> Result<Self, Failure> {
        let failed = |error: &store::read::ReadError| {
            Failure::new(
                Exit::Failed,
                format!("cannot read {} back: {}", path.display(), chain(error)),
            )
        };
        let mut expected = [(NONE, NONE); Kind::COUNT];
        for sent in sent {
            let frames = &sent.did.frames;
            expected[sent.kind as usize] = (&frames.received, &frames.transmitted);
        }
        let mut stored = Self::default();
        let mut reader = Reader::open(path).map_err(|error| failed(&error))?;
        while let Some(packet) = reader.next_packet().map_err(|error| failed(&error))? {
            let kind = Kind::of(packet.bytes) as usize;
            stored.kinds[kind].add(packet.original_len);
            let (received, transmitted) = &mut expected[kind];
            let (tally, frames) = if packet.direction == Some(Direction::Out) {
                (&mut stored.transmitted, transmitted)
            } else {
                (&mut stored.received, received)
            };
            tally.add(packet.original_len);
            if let Some((next, rest)) = frames.split_first()
                && next == packet.bytes
            {
                stored.found[kind] += 1;
                *frames = rest;
            }
        }
        Ok(stored)
    }
}

/// Everything there is to compare.
pub struct Comparison<'a> {
    pub sent: &'a [Sent],
    /// What the right interface counted from before the first packet until after the last.
    pub counted: Counters,
    pub stored: &'a Stored,
    pub recorded: &'a Recorded,
}

/// A line of the comparison.
pub struct Row {
    /// Its name in JSON.
    pub key: &'static str,
    pub name: String,
    /// As an interface counted it.
    pub sent: Tally,
    pub stored: Tally,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Packets and bytes are as many.
    Equal,
    /// The frames are the same, too.
    Identical,
    /// The file has other packets than the interface counted.
    Differs,
    /// The interface counted other packets than were given to it.
    Miscounted,
    /// As many bytes, but others.
    Altered,
}

impl Verdict {
    pub fn is_good(self) -> bool {
        matches!(self, Self::Equal | Self::Identical)
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Identical => "equal, byte for byte",
            Self::Differs => "differs",
            Self::Miscounted => "counted wrong",
            Self::Altered => "other bytes",
        }
    }
}

impl Comparison<'_> {
    /// By kind of traffic, as the left interface counted what it sent and received.
    pub fn kinds(&self) -> Vec<Row> {
        let mut rows: Vec<_> = self.sent.iter().map(|sent| self.kind(sent)).collect();
        let other = self.stored.kinds[Kind::Other as usize];
        if other.packets > 0 {
            rows.push(Row {
                key: Kind::Other.key(),
                name: Kind::Other.name().into(),
                sent: Tally::default(),
                stored: other,
                verdict: Verdict::Differs,
            });
        }
        rows
    }

    fn kind(&self, sent: &Sent) -> Row {
        let index = sent.kind as usize;
        let counted = Tally {
            packets: sent.counted.packets(),
            bytes: sent.counted.bytes(),
        };
        let stored = self.stored.kinds[index];
        let frames = sent.did.frames.count();
        let verdict = match sent.did.packets {
            _ if counted != stored => Verdict::Differs,
            Some(packets) if packets != counted.packets => Verdict::Miscounted,
            _ if self.stored.found[index] != frames => Verdict::Altered,
            _ if frames > 0 => Verdict::Identical,
            _ => Verdict::Equal,
        };
        Row {
            key: sent.kind.key(),
            name: sent.kind.name().into(),
            sent: counted,
            stored,
            verdict,
        }
    }

    /// By direction, as the right interface counted it.
    pub fn directions(&self) -> [Row; 2] {
        let row = |key, name: &str, packets, bytes, stored| {
            let sent = Tally { packets, bytes };
            Row {
                key,
                name: name.into(),
                sent,
                stored,
                verdict: if sent == stored {
                    Verdict::Equal
                } else {
                    Verdict::Differs
                },
            }
        };
        let Counters {
            rx_packets,
            rx_bytes,
            tx_packets,
            tx_bytes,
        } = self.counted;
        let Stored {
            received,
            transmitted,
            ..
        } = *self.stored;
        [
            row("received", "received", rx_packets, rx_bytes, received),
            row(
                "transmitted",
                "transmitted",
                tx_packets,
                tx_bytes,
                transmitted,
            ),
        ]
    }

    /// Packets in the file.
    pub fn stored_packets(&self) -> u64 {
        self.stored.received.packets + self.stored.transmitted.packets
    }

    /// Whether everything sent is in the file, and the capture says so too.
    pub fn agrees(&self) -> bool {
        let account = &self.recorded.account;
        let mut rows = self.kinds().into_iter().chain(self.directions());
        rows.all(|row| row.verdict.is_good())
            && account.lost.total() == 0
            && account.delivered == self.stored_packets()
            && self.recorded.packets_written == self.stored_packets()
    }
}
