use std::net::Ipv4Addr;

use store::model::{Direction, Interface, LinkType, Packet};
use store::write::{CaptureFile, Options, Output};
use tapline::capture::{Account, Lost};
use wire::MacAddress;
use wire::build::Frame;

use super::*;
use crate::demo::traffic::{Did, Frames};

fn frame(vlan: u16) -> Vec<u8> {
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let ip = Ipv4Addr::LOCALHOST;
    let plain = Frame::ethernet(mac, mac).vlan(vlan);
    plain.ipv4(ip, ip).udp(1, 2).payload(b"one")
}

/// What is sent in each test: three tagged frames to the right host.
fn sent() -> Sent {
    let frames: Vec<_> = (1..4).map(frame).collect();
    let bytes = frames.iter().map(Vec::len).sum::<usize>() as u64;
    Sent {
        kind: Kind::Vlan,
        counted: Counters {
            tx_packets: 3,
            tx_bytes: bytes,
            ..Counters::default()
        },
        did: Did {
            what: String::new(),
            packets: Some(3),
            frames: Frames {
                received: frames,
                ..Frames::default()
            },
        },
    }
}

/// The file that a capture makes of `frames`, read back.
fn stored(frames: &[(Direction, Vec<u8>)], sent: &Sent) -> Stored {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    let interface = Interface::new(LinkType::ETHERNET, 0);
    let options = Options::new(Output::Path(path.clone()), vec![interface]);
    let mut file = CaptureFile::create(options, 0).expect("a file");
    for (direction, bytes) in frames {
        let packet = Packet {
            direction: Some(*direction),
            ..Packet::new(0, bytes)
        };
        file.write(&packet).expect("a packet is written");
    }
    file.close(&[]).expect("the file is closed");
    Stored::read(&path, std::slice::from_ref(sent)).expect("the file is read")
}

/// The verdicts on the kinds and the directions, and whether all agrees.
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
    let counted = Counters {
        rx_packets: sent.counted.tx_packets,
        rx_bytes: sent.counted.tx_bytes,
        ..Counters::default()
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
fn all_that_was_sent_agrees() {
    let verdicts = vec![Verdict::Identical, Verdict::Equal, Verdict::Equal];
    assert_eq!(judge(&received(1..4), sent(), 0), (verdicts, true));
}

#[test]
fn a_loss_that_the_capture_tells_is_no_agreement() {
    assert!(!judge(&received(1..4), sent(), 1).1);
}

#[test]
fn what_is_missing_differs() {
    let verdicts = vec![Verdict::Differs, Verdict::Differs, Verdict::Equal];
    assert_eq!(judge(&received(1..3), sent(), 0), (verdicts, false));
}

#[test]
fn another_frame_of_the_same_length_is_noticed() {
    let verdicts = vec![Verdict::Altered, Verdict::Equal, Verdict::Equal];
    for vlans in [[1, 2, 7], [1, 3, 2]] {
        assert_eq!(
            judge(&received(vlans), sent(), 0),
            (verdicts.clone(), false)
        );
    }
}

#[test]
fn the_wrong_direction_is_noticed() {
    let mut frames = received(1..4);
    frames[1].0 = Direction::Out;
    let verdicts = vec![Verdict::Altered, Verdict::Differs, Verdict::Differs];
    assert_eq!(judge(&frames, sent(), 0), (verdicts, false));
}

#[test]
fn what_nobody_sent_is_shown() {
    let mut frames = received(1..4);
    frames.push((Direction::In, vec![0; 60]));
    let (verdicts, agrees) = judge(&frames, sent(), 0);
    assert_eq!(verdicts[..2], [Verdict::Identical, Verdict::Differs]);
    assert!(!agrees);
}

#[test]
fn an_interface_that_counts_otherwise_than_was_sent_is_noticed() {
    let mut more = sent();
    more.did.packets = Some(4);
    let (verdicts, agrees) = judge(&received(1..4), more, 0);
    assert_eq!((verdicts[0], agrees), (Verdict::Miscounted, false));
}
