//! That the programs select the same packets.

use std::path::Path;

use store::read::Reader as Capture;

use crate::reader::Reader;

/// Runs all of them; gives the number of packets that each selects.
pub fn assert(peer: &Reader, others: &[Reader], filter: &str) -> u64 {
    peer.run(filter);
    let mut packets = 0;
    for other in others {
        other.run(filter);
        packets = compare(&peer.output, &other.output);
        other.remove();
    }
    peer.remove();
    packets
}

/// Bytes, lengths and times of all packets; the trace has whole microseconds, as tcpdump writes them.
fn compare(peer: &Path, own: &Path) -> u64 {
    let open = |path: &Path| Capture::open(path).expect("a capture");
    let (mut peer, mut own) = (open(peer), open(own));
    for packets in 0.. {
        let expected = peer.next_packet().expect("undamaged");
        let found = own.next_packet().expect("undamaged");
        assert_eq!(expected, found, "packet {packets}");
        if expected.is_none() {
            return packets;
        }
    }
    0
}
