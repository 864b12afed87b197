//! Packets with VLAN tags and packets that are cut, against the bytes that were on the wire.

mod support;

use lab::Net;
use support::{BACKENDS, BROADCAST, Seen, collect, frame, open, options, send};
use tapline_ring::{Backend, Options, PacketRing};

/// A frame of `bytes` bytes with `tags` put in.
fn tagged(tags: &[[u16; 2]], bytes: usize) -> Vec<u8> {
    let plain = frame(BROADCAST, bytes - 4 * tags.len());
    let tags = tags
        .as_flattened()
        .iter()
        .flat_map(|word| word.to_be_bytes());
    let (addresses, rest) = plain.split_at(12);
    addresses
        .iter()
        .copied()
        .chain(tags)
        .chain(rest.iter().copied())
        .collect()
}

const VLAN: u16 = 0x8100;
const SERVICE: u16 = 0x88a8;

/// Untagged, 802.1Q with all bits of its fields in use, 802.1ad, the lowest and the highest VLAN, a
/// priority tag that says nothing, two tags of one kind, of both kinds, and three.
fn tags() -> Vec<Vec<[u16; 2]>> {
    vec![
        vec![],
        vec![[VLAN, 0xffff]],
        vec![[SERVICE, 7]],
        vec![[VLAN, 1]],
        vec![[VLAN, 0x0fff]],
        vec![[VLAN, 0xe000]],
        vec![[VLAN, 0x0000]],
        vec![[SERVICE, 0x0000]],
        vec![[VLAN, 7], [VLAN, 8]],
        vec![[SERVICE, 7], [VLAN, 8]],
        vec![[VLAN, 0], [SERVICE, 0]],
        vec![[SERVICE, 7], [SERVICE, 8], [VLAN, 9]],
    ]
}

/// Frames with each combination of tags, short and long.
fn frames() -> Vec<Vec<u8>> {
    let lengths = [64, 100, 1514];
    let of = |tags: Vec<[u16; 2]>| lengths.map(|bytes| tagged(&tags, bytes));
    tags().into_iter().flat_map(of).collect()
}

fn with_snaplen(backend: Backend, snaplen: u32) -> Options {
    Options {
        snaplen,
        ..options(backend)
    }
}

#[track_caller]
fn assert_cut(seen: &[Seen], frames: &[Vec<u8>], snaplen: usize, backend: Backend) {
    for (packet, frame) in seen.iter().zip(frames) {
        let kept = &frame[..frame.len().min(snaplen)];
        assert!(
            packet.bytes == kept,
            "{backend:?}, snaplen {snaplen}: {packet:?}"
        );
        assert_eq!(
            packet.original_len as usize,
            frame.len(),
            "{backend:?}, snaplen {snaplen}"
        );
    }
    assert_eq!(seen.len(), frames.len());
}

#[test]
fn a_cut_packet_is_the_beginning_of_what_was_on_the_wire() {
    let snaplens = [1, 11, 12, 13, 16, 17, 60, 96, 1514, 262_144];
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        let ring = |host, snaplen| open(host, &with_snaplen(backend, snaplen));
        let rings = |host| snaplens.map(|snaplen| ring(host, snaplen));
        let (out, inward): ([PacketRing; 10], [PacketRing; 10]) = (rings(&left), rings(&right));
        let frames = frames();
        // A ring of the largest snaplen has 16 frames in V2: each is emptied before the next.
        let mut rings: Vec<PacketRing> = out.into_iter().chain(inward).collect();
        for part in frames.chunks(8) {
            send(&left, part);
            for (ring, snaplen) in rings.iter_mut().zip(snaplens.iter().cycle()) {
                let seen = collect(ring, part.len());
                assert_cut(&seen, part, *snaplen as usize, backend);
            }
        }
        for ring in &mut rings {
            ring.refresh().unwrap();
            assert_eq!(ring.account().delivered, frames.len() as u64);
            assert_eq!((ring.account().dropped, ring.account().unreadable), (0, 0));
        }
    }
}

#[test]
fn a_tag_is_put_back_once_however_often_a_batch_is_walked() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        for snaplen in [4, 14, 96, 1514] {
            let mut ring = open(&right, &with_snaplen(backend, snaplen));
            let frames = frames();
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
            assert_cut(&seen, &frames, snaplen as usize, backend);
        }
    }
}

#[test]
fn a_tag_that_was_kept_beside_the_bytes_is_told() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &with_snaplen(backend, 1514));
        let expected: Vec<Option<u16>> = tags()
            .iter()
            .flat_map(|tags| [tags.first().map(|tag| tag[1]); 3])
            .collect();
        send(&left, &frames());
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

/// The largest packet of a snaplen must fit its slot, whatever the size of a slot is rounded to.
#[test]
fn a_packet_as_long_as_the_snaplen_is_kept_whole() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        for host in [&left, &right] {
            let name = host.interface().name.to_string();
            let mut command = host.command("ip");
            assert!(
                command
                    .args(["link", "set", &name, "mtu", "9000"])
                    .status()
                    .unwrap()
                    .success()
            );
        }
        for headroom in [0, 86, 120, 128, 129, 134, 135, 176, 177] {
            let snaplen = 4096 - headroom;
            let delivery = tapline_ring::Delivery::Batch {
                min_bytes: 1,
                timeout: std::time::Duration::from_millis(1),
            };
            let options = Options {
                delivery,
                buffer_bytes: 1 << 16,
                ..with_snaplen(backend, snaplen)
            };
            let mut ring = open(&right, &options);
            let frames = [
                tagged(&[[VLAN, 7]], snaplen as usize),
                tagged(&[], snaplen as usize),
            ];
            send(&left, &frames);
            assert_cut(&collect(&mut ring, 2), &frames, snaplen as usize, backend);
        }
    }
}
