//! Packets with VLAN tags and truncated packets, compared with the bytes on the wire.

use crate::support;
use crate::support::{
    BACKENDS, Seen, VLAN, collect, open, options, send, tagged, tagged_frames, tags,
};
use lab::Net;
use tapline_ring::{PacketRing, RingOptions, TpacketVersion};

fn with_snaplen(version: TpacketVersion, snaplen: u32) -> RingOptions {
    RingOptions {
        snaplen,
        ..options(version)
    }
}

#[track_caller]
fn assert_cut(seen: &[Seen], frames: &[Vec<u8>], snaplen: usize, version: TpacketVersion) {
    for (packet, frame) in seen.iter().zip(frames) {
        let kept = &frame[..frame.len().min(snaplen)];
        assert!(
            packet.bytes == kept,
            "{version:?}, snaplen {snaplen}: {packet:?}"
        );
        assert_eq!(
            packet.original_len as usize,
            frame.len(),
            "{version:?}, snaplen {snaplen}"
        );
    }
    assert_eq!(seen.len(), frames.len());
}

#[test]
fn a_cut_packet_is_the_beginning_of_what_was_on_the_wire() {
    let snaplens = [1, 11, 12, 13, 16, 17, 60, 96, 1514, 262_144];
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let ring = |host, snaplen| open(host, &with_snaplen(version, snaplen));
        let rings = |host| snaplens.map(|snaplen| ring(host, snaplen));
        let (out, inward): ([PacketRing; 10], [PacketRing; 10]) = (rings(&left), rings(&right));
        let frames = tagged_frames();
        // A ring of the largest snaplen has 16 frames in V2: each is emptied before the next.
        let mut rings: Vec<PacketRing> = out.into_iter().chain(inward).collect();
        for part in frames.chunks(8) {
            send(&left, part);
            for (ring, snaplen) in rings.iter_mut().zip(snaplens.iter().cycle()) {
                let seen = collect(ring, part.len());
                assert_cut(&seen, part, *snaplen as usize, version);
            }
        }
        for ring in &mut rings {
            ring.refresh().unwrap();
            assert_eq!(ring.counters().delivered, frames.len() as u64);
            assert_eq!(
                (ring.counters().dropped, ring.counters().unreadable),
                (0, 0)
            );
        }
    }
}

#[test]
fn a_tag_is_put_back_once_however_often_a_batch_is_walked() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        for snaplen in [4, 14, 96, 1514] {
            let mut ring = open(&right, &with_snaplen(version, snaplen));
            let frames = tagged_frames();
            send(&left, &frames);
            let mut seen = Vec::new();
            support::read(&mut ring, |batch| {
                // A walk that ends early leaves some tags in the metadata.
                let half = (batch.len() - 1) / 2;
                assert!(batch.packets().nth(half).is_some());
                let first: Vec<Seen> = batch.packets().map(Seen::from).collect();
                let second: Vec<Seen> = batch.packets().map(Seen::from).collect();
                assert_eq!(first, second);
                seen.extend(second);
                seen.len() == frames.len()
            });
            assert_cut(&seen, &frames, snaplen as usize, version);
        }
    }
}

#[test]
fn a_stripped_vlan_tag_is_reported() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &with_snaplen(version, 1514));
        let expected: Vec<Option<u16>> = tags()
            .iter()
            .flat_map(|tags| [tags.first().map(|tag| tag[1]); 3])
            .collect();
        send(&left, &tagged_frames());
        let mut told = Vec::new();
        support::read(&mut ring, |batch| {
            let first: Vec<_> = batch.packets().map(|packet| packet.vlan_tag).collect();
            let second: Vec<_> = batch.packets().map(|packet| packet.vlan_tag).collect();
            assert_eq!(first, second);
            told.extend(second);
            told.len() == expected.len()
        });
        assert_eq!(told, expected);
    }
}

/// The largest packet of a snap length must fit its slot, whatever the slot size is rounded to.
#[test]
fn a_packet_as_long_as_the_snaplen_is_kept_whole() {
    for version in BACKENDS {
        let hosts = Net::new().pair();
        support::set_mtu(&hosts, 9000);
        let [left, right] = &hosts;
        for headroom in [0, 86, 120, 128, 129, 134, 135, 176, 177] {
            let snaplen = 4096 - headroom;
            let delivery = tapline_ring::DeliveryMode::Batch {
                min_bytes: 1,
                timeout: std::time::Duration::from_millis(1),
            };
            let options = RingOptions {
                delivery,
                buffer_bytes: 1 << 16,
                ..with_snaplen(version, snaplen)
            };
            let mut ring = open(right, &options);
            let frames = [
                tagged(&[[VLAN, 7]], snaplen as usize),
                tagged(&[], snaplen as usize),
            ];
            send(left, &frames);
            assert_cut(&collect(&mut ring, 2), &frames, snaplen as usize, version);
        }
    }
}
