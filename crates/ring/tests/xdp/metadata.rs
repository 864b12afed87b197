//! Metadata that a device passes to XDP programs. A veth device has no clock, but a hash, which is compared with the
//! one that packet sockets receive. `lab/tests/hwtstamp.rs` tests a device with a clock that strips VLAN tags.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use abi::packet::{
    PACKET_RX_RING, PACKET_VERSION, SOL_PACKET, TP_STATUS_USER, TPACKET_V3, TpacketReq3,
};
use abi::region::Region;
use abi::socket::{bind_link, packet_socket, set_option};
use lab::bpf::{RxMetadata, XdpAttachMode};
use lab::generator::udp_frame;
use lab::{Host, Net};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline_ring::TimestampSource;

use crate::support::xsk_rings::{RingSetup, XskRings, steer};
use crate::support::{BROADCAST, DEADLINE, frame, read, send};

/// Asks for everything.
fn asking(host: &Host) -> XskRings {
    let everything = RxMetadata {
        timestamp: true,
        hash: true,
        vlan: true,
        ..RxMetadata::default()
    };
    steer(
        host,
        &RingSetup {
            metadata: Some(everything),
            ..RingSetup::new(XdpAttachMode::Native, 256)
        },
    )
}

/// A packet socket that receives the kernel's hash of each packet.
///
/// `tpacket_fill_rxhash`, net/packet/af_packet.c.
struct KernelHashes {
    socket: OwnedFd,
    region: Region,
}

const BLOCK_BYTES: u32 = 1 << 16;
/// `TP_FT_REQ_FILL_RXHASH`.
const FILL_HASH: u32 = 1;
/// Place of `tp_rxhash` in a TPACKET_V3 header.
const HASH_AT: usize = 28;

impl KernelHashes {
    fn open(host: &Host) -> Self {
        host.run(|| {
            let socket = packet_socket().unwrap();
            let fd = socket.as_fd();
            set_option(fd, SOL_PACKET, PACKET_VERSION, &TPACKET_V3).unwrap();
            let request = TpacketReq3 {
                block_size: BLOCK_BYTES,
                block_nr: 1,
                frame_size: 2048,
                frame_nr: BLOCK_BYTES / 2048,
                retire_blk_tov: 1,
                sizeof_priv: 0,
                feature_req_word: FILL_HASH,
            };
            set_option(fd, SOL_PACKET, PACKET_RX_RING, &request).unwrap();
            let region = Region::map(fd, BLOCK_BYTES as usize).unwrap();
            bind_link(fd, host.interface().index.0).unwrap();
            Self { socket, region }
        })
    }

    /// The hash of the one packet in the first block.
    fn first(&self) -> u32 {
        let word = |at: usize| self.region.word(at).load(Ordering::Acquire);
        if word(8) & TP_STATUS_USER == 0 {
            let mut descriptors = [PollFd::new(&self.socket, PollFlags::IN)];
            let deadline = Timespec::try_from(DEADLINE).unwrap();
            assert_eq!(poll(&mut descriptors, Some(&deadline)).unwrap(), 1);
        }
        assert_eq!((word(8) & TP_STATUS_USER, word(12)), (TP_STATUS_USER, 1));
        word(word(16) as usize + HASH_AT)
    }
}

#[test]
fn the_hash_is_the_kernels() {
    for port in [1, 53, 40_000] {
        let [left, right] = Net::new().pair();
        let kernel = KernelHashes::open(&left);
        let mut steered = asking(&right);
        let mut sent = udp_frame(80);
        sent[34..36].copy_from_slice(&u16::to_be_bytes(port));
        send(&left, &[sent]);
        let mut hashes = Vec::new();
        read(steered.ring(), |batch| {
            hashes.extend(batch.packets().map(|packet| packet.hash));
            !hashes.is_empty()
        });
        assert_eq!(hashes, [Some(kernel.first())], "port {port}");
    }
}

#[test]
fn a_device_without_a_clock_leaves_the_time_to_the_program() {
    let [left, right] = Net::new().pair();
    let mut steered = asking(&right);
    let before_ns = abi::clock::realtime_ns();
    send(&left, &[frame(BROADCAST, 60)]);
    let mut seen = 0;
    read(steered.ring(), |batch| {
        for packet in batch.packets() {
            assert_eq!(packet.timestamp_source, TimestampSource::Kernel);
            // The offset of the two clocks is known to some 50 ns.
            let range = before_ns - 1000..=abi::clock::realtime_ns() + 1000;
            assert!(range.contains(&packet.timestamp_ns));
            assert_eq!(packet.vlan_tag, None);
            seen += 1;
        }
        seen == 1
    });
    assert_eq!(steered.counters().unstamped, 0);
}
