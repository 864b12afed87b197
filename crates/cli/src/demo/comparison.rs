//! Compares what was sent with what is in the file.

use std::path::Path;

use tapline::file::model::Direction;
use tapline::file::read::Reader;

use super::hosts::InterfaceCounters;
use super::recording::Recorded;
use super::traffic::kind::Kind;
use super::traffic::sent::Sent;
use crate::failure::{Exit, Failure, chain};

/// A number of packets and their bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketTotals {
    pub packets: u64,
    pub bytes: u64,
}

impl PacketTotals {
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Packets in the capture file, by kind and direction.
#[derive(Default)]
pub struct FileContents {
    kinds: [PacketTotals; Kind::COUNT],
    received: PacketTotals,
    transmitted: PacketTotals,
    /// Frames sent through packet sockets that were found byte for byte and in order, by kind.
    found: [usize; Kind::COUNT],
}

impl FileContents {
    /// Reads the file.
    pub fn read(path: &Path, sent: &[Sent]) -> Result<Self, Failure> {
        let failed = |error: &tapline::file::read::ReadError| {
            Failure::new(
                Exit::Failed,
                format!("cannot read {}: {}", path.display(), chain(error)),
            )
        };
        let none: &[Vec<u8>] = &[];
        let mut expected = [(none, none); Kind::COUNT];
        for sent in sent {
            let frames = &sent.frames;
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

/// Everything that is compared.
pub struct Comparison<'a> {
    pub sent: &'a [Sent],
    /// What the right interface counted during the demo.
    pub counted: InterfaceCounters,
    pub stored: &'a FileContents,
    pub recorded: &'a Recorded,
}

/// A row of the comparison.
pub struct Row {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its name in text.
    pub name: &'static str,
    /// What an interface counted.
    pub sent: PacketTotals,
    pub stored: PacketTotals,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same number of packets and bytes.
    Equal,
    /// Also the same frames.
    Identical,
    /// The file and the interface have different numbers.
    Differs,
    /// The interface did not count what was sent.
    Miscounted,
    /// The same number of bytes, but different bytes.
    Altered,
}

impl Verdict {
    pub fn is_good(self) -> bool {
        matches!(self, Self::Equal | Self::Identical)
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Identical => "equal, byte for byte",
            Self::Differs => "differs",
            Self::Miscounted => "counted wrong",
            Self::Altered => "different bytes",
        }
    }
}

impl Comparison<'_> {
    /// Rows by kind of traffic, with the counters of the left interface.
    pub fn kinds(&self) -> Vec<Row> {
        let mut rows: Vec<_> = self.sent.iter().map(|sent| self.kind(sent)).collect();
        let other = self.stored.kinds[Kind::Other as usize];
        if other.packets > 0 {
            rows.push(Row {
                key: Kind::Other.names().0,
                name: Kind::Other.names().1,
                sent: PacketTotals::default(),
                stored: other,
                verdict: Verdict::Differs,
            });
        }
        rows
    }

    fn kind(&self, sent: &Sent) -> Row {
        let index = sent.kind as usize;
        let counted = PacketTotals {
            packets: sent.counted.packets(),
            bytes: sent.counted.bytes(),
        };
        let stored = self.stored.kinds[index];
        let frames = sent.frames.received.len() + sent.frames.transmitted.len();
        let verdict = match sent.packets {
            _ if counted != stored => Verdict::Differs,
            Some(packets) if packets != counted.packets => Verdict::Miscounted,
            _ if self.stored.found[index] != frames => Verdict::Altered,
            _ if frames > 0 => Verdict::Identical,
            _ => Verdict::Equal,
        };
        Row {
            key: sent.kind.names().0,
            name: sent.kind.names().1,
            sent: counted,
            stored,
            verdict,
        }
    }

    /// Rows by direction, with the counters of the right interface.
    pub fn directions(&self) -> [Row; 2] {
        let row = |name, packets, bytes, stored| {
            let sent = PacketTotals { packets, bytes };
            Row {
                key: name,
                name,
                sent,
                stored,
                verdict: if sent == stored {
                    Verdict::Equal
                } else {
                    Verdict::Differs
                },
            }
        };
        let InterfaceCounters {
            rx_packets,
            rx_bytes,
            tx_packets,
            tx_bytes,
        } = self.counted;
        let FileContents {
            received,
            transmitted,
            ..
        } = *self.stored;
        [
            row("received", rx_packets, rx_bytes, received),
            row("transmitted", tx_packets, tx_bytes, transmitted),
        ]
    }

    /// Number of packets in the file.
    pub fn stored_packets(&self) -> u64 {
        self.stored.received.packets + self.stored.transmitted.packets
    }

    /// Whether everything sent is in the file, and the account of the capture agrees.
    pub fn agrees(&self) -> bool {
        let account = &self.recorded.account;
        let mut rows = self.kinds().into_iter().chain(self.directions());
        rows.all(|row| row.verdict.is_good())
            && account.lost.total() == 0
            && account.delivered == self.stored_packets()
            && self.recorded.packets_written == self.stored_packets()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tapline::capture::{Account, Lost};
    use tapline::file::model::{Direction, Interface, LinkType, Packet};
    use tapline::file::write::{CaptureFile, CaptureFileOptions, Output};
    use tapline::packet::MacAddress;
    use tapline::packet::build::Frame;

    use super::*;
    use crate::demo::traffic::sent::SentFrames;

    fn frame(vlan: u16) -> Vec<u8> {
        let mac = MacAddress([2, 0, 0, 0, 0, 1]);
        let ip = Ipv4Addr::LOCALHOST;
        let plain = Frame::ethernet(mac, mac).vlan(vlan);
        plain.ipv4(ip, ip).udp(1, 2).payload(b"one")
    }

    /// Three tagged frames to the right host.
    fn sent() -> Sent {
        let frames: Vec<_> = (1..4).map(frame).collect();
        let bytes = frames.iter().map(Vec::len).sum::<usize>() as u64;
        Sent {
            kind: Kind::Vlan,
            description: String::new(),
            packets: Some(3),
            frames: SentFrames {
                received: frames,
                ..SentFrames::default()
            },
            counted: InterfaceCounters {
                tx_packets: 3,
                tx_bytes: bytes,
                ..InterfaceCounters::default()
            },
        }
    }

    /// Writes `frames` to a file and reads it.
    fn stored(frames: &[(Direction, Vec<u8>)], sent: &Sent) -> FileContents {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let interface = Interface::new(LinkType::ETHERNET, 0);
        let options = CaptureFileOptions::new(Output::Path(path.clone()), vec![interface]);
        let mut file = CaptureFile::create(options, 0).expect("a file");
        for (direction, bytes) in frames {
            let packet = Packet {
                direction: Some(*direction),
                ..Packet::new(0, bytes)
            };
            file.write(&packet).expect("a packet is written");
        }
        file.close(&[]).expect("the file is closed");
        FileContents::read(&path, std::slice::from_ref(sent)).expect("the file is read")
    }

    /// The verdicts by kind and direction, and whether everything agrees.
    fn judge(frames: &[(Direction, Vec<u8>)], sent: Sent, lost: u64) -> (Vec<Verdict>, bool) {
        let stored = stored(frames, &sent);
        let lost = Lost {
            ring: lost,
            ..Lost::default()
        };
        let recorded = Recorded {
            account: Account {
                delivered: frames.len() as u64,
                filtered: Some(0),
                sampled_out: Some(0),
                lost,
            },
            backend: "",
            packets_written: frames.len() as u64,
            bytes_written: 0,
        };
        let counted = InterfaceCounters {
            rx_packets: sent.counted.tx_packets,
            rx_bytes: sent.counted.tx_bytes,
            ..InterfaceCounters::default()
        };
        let comparison = Comparison {
            sent: &[sent],
            counted,
            stored: &stored,
            recorded: &recorded,
        };
        let rows = comparison
            .kinds()
            .into_iter()
            .chain(comparison.directions());
        let verdicts = rows.map(|row| row.verdict).collect();
        (verdicts, comparison.agrees())
    }

    fn received(vlans: impl IntoIterator<Item = u16>) -> Vec<(Direction, Vec<u8>)> {
        let incoming = |vlan| (Direction::In, frame(vlan));
        vlans.into_iter().map(incoming).collect()
    }

    #[test]
    fn a_complete_file_agrees() {
        let verdicts = vec![Verdict::Identical, Verdict::Equal, Verdict::Equal];
        assert_eq!(judge(&received(1..4), sent(), 0), (verdicts, true));
    }

    #[test]
    fn a_reported_loss_disagrees() {
        assert!(!judge(&received(1..4), sent(), 1).1);
    }

    #[test]
    fn a_missing_frame_differs() {
        let verdicts = vec![Verdict::Differs, Verdict::Differs, Verdict::Equal];
        assert_eq!(judge(&received(1..3), sent(), 0), (verdicts, false));
    }

    #[test]
    fn another_frame_of_the_same_length_is_found() {
        let verdicts = vec![Verdict::Altered, Verdict::Equal, Verdict::Equal];
        for vlans in [[1, 2, 7], [1, 3, 2]] {
            assert_eq!(
                judge(&received(vlans), sent(), 0),
                (verdicts.clone(), false)
            );
        }
    }

    #[test]
    fn a_wrong_direction_is_found() {
        let mut frames = received(1..4);
        frames[1].0 = Direction::Out;
        let verdicts = vec![Verdict::Altered, Verdict::Differs, Verdict::Differs];
        assert_eq!(judge(&frames, sent(), 0), (verdicts, false));
    }

    #[test]
    fn foreign_packets_are_shown() {
        let mut frames = received(1..4);
        frames.push((Direction::In, vec![0; 60]));
        let (verdicts, agrees) = judge(&frames, sent(), 0);
        assert_eq!(verdicts[..2], [Verdict::Identical, Verdict::Differs]);
        assert!(!agrees);
    }

    #[test]
    fn wrong_interface_counters_are_found() {
        let mut more = sent();
        more.packets = Some(4);
        let (verdicts, agrees) = judge(&received(1..4), more, 0);
        assert_eq!((verdicts[0], agrees), (Verdict::Miscounted, false));
    }
}
