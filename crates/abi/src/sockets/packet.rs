//! The uapi of AF_PACKET: ring headers, requests and option numbers.
//!
//! Structs mirror `linux/if_packet.h` byte for byte; `tests/packet_layout.rs` compares every size,
//! offset and number with those that a C compiler derives from the header.

use crate::uapi::Uapi;

/// Link-layer address of a packet socket (`struct sockaddr_ll`); in a ring it follows each packet's header.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SockaddrLl {
    /// `AF_PACKET`.
    pub family: u16,
    /// EtherType, network byte order.
    pub protocol: u16,
    /// Interface index.
    pub ifindex: i32,
    /// Hardware type (`ARPHRD_*`).
    pub hatype: u16,
    /// How the packet was addressed (`PACKET_HOST` …).
    pub pkttype: u8,
    /// Bytes used in `addr`.
    pub halen: u8,
    /// Source hardware address.
    pub addr: [u8; 8],
}

/// Header of a packet in a TPACKET_V2 ring (`struct tpacket2_hdr`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Tpacket2Hdr {
    /// `TP_STATUS_*`; shared with the kernel, access it atomically.
    pub status: u32,
    /// Length on the wire, bytes.
    pub len: u32,
    /// Bytes kept.
    pub snaplen: u32,
    /// Offset of the link-layer header from this struct.
    pub mac: u16,
    /// Offset of the network header from this struct.
    pub net: u16,
    /// Seconds of the time stamp.
    pub sec: u32,
    /// Nanoseconds of the time stamp.
    pub nsec: u32,
    /// VLAN tag control information, valid with [`TP_STATUS_VLAN_VALID`].
    pub vlan_tci: u16,
    /// VLAN tag protocol, valid with [`TP_STATUS_VLAN_TPID_VALID`].
    pub vlan_tpid: u16,
    /// Unused.
    pub padding: [u8; 4],
}

/// Header of a packet in a TPACKET_V3 block (`struct tpacket3_hdr`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Tpacket3Hdr {
    /// Offset of the next packet's header from this struct; 0 in the block's last.
    pub next_offset: u32,
    /// Seconds of the time stamp.
    pub sec: u32,
    /// Nanoseconds of the time stamp.
    pub nsec: u32,
    /// Bytes kept.
    pub snaplen: u32,
    /// Length on the wire, bytes.
    pub len: u32,
    /// `TP_STATUS_*` of this packet.
    pub status: u32,
    /// Offset of the link-layer header from this struct.
    pub mac: u16,
    /// Offset of the network header from this struct.
    pub net: u16,
    /// Receive hash, if requested.
    pub rxhash: u32,
    /// VLAN tag control information, valid with [`TP_STATUS_VLAN_VALID`].
    pub vlan_tci: u32,
    /// VLAN tag protocol, valid with [`TP_STATUS_VLAN_TPID_VALID`].
    pub vlan_tpid: u16,
    /// Unused.
    pub padding: [u8; 10],
}

/// Header of a TPACKET_V3 block: `struct tpacket_block_desc` with its `tpacket_hdr_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockDesc {
    /// Version of the descriptor.
    pub version: u32,
    /// Offset of the private area.
    pub offset_to_priv: u32,
    /// `TP_STATUS_*`; shared with the kernel, access it atomically.
    pub block_status: u32,
    /// Packets in the block.
    pub num_pkts: u32,
    /// Offset of the first packet's header.
    pub offset_to_first_pkt: u32,
    /// Bytes of the block in use.
    pub blk_len: u32,
    /// Sequence number of the block.
    pub seq_num: u64,
    /// Time stamp of the first packet: seconds.
    pub ts_first_sec: u32,
    /// Time stamp of the first packet: nanoseconds.
    pub ts_first_nsec: u32,
    /// Time stamp of the last packet: seconds.
    pub ts_last_sec: u32,
    /// Time stamp of the last packet: nanoseconds.
    pub ts_last_nsec: u32,
}

/// Request for a TPACKET_V1 or V2 ring (`struct tpacket_req`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TpacketReq {
    /// Bytes of a block: a multiple of the page size.
    pub block_size: u32,
    /// Number of blocks.
    pub block_nr: u32,
    /// Bytes of a frame: a multiple of [`TPACKET_ALIGNMENT`].
    pub frame_size: u32,
    /// Number of frames: frames per block times blocks.
    pub frame_nr: u32,
}

/// Request for a TPACKET_V3 ring (`struct tpacket_req3`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TpacketReq3 {
    /// Bytes of a block: a multiple of the page size.
    pub block_size: u32,
    /// Number of blocks.
    pub block_nr: u32,
    /// Nominal frame size, bytes; V3 packs packets tighter.
    pub frame_size: u32,
    /// Nominal number of frames.
    pub frame_nr: u32,
    /// Block timeout, milliseconds: the kernel hands over a partly filled block after this time.
    pub retire_blk_tov: u32,
    /// Bytes of the private area of each block.
    pub sizeof_priv: u32,
    /// `TP_FT_REQ_*`.
    pub feature_req_word: u32,
}

/// Counters of a ring since they were last read (`struct tpacket_stats_v3`; V2 fills the first two).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TpacketStats {
    /// Packets that passed the filter, including dropped ones.
    pub packets: u32,
    /// Packets dropped because the ring was full.
    pub drops: u32,
    /// Times the ring was full (V3).
    pub freeze_q_cnt: u32,
}

/// Membership of a packet socket, e.g. promiscuous mode (`struct packet_mreq`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketMreq {
    /// Interface index.
    pub ifindex: i32,
    /// `PACKET_MR_*`.
    pub kind: u16,
    /// Bytes used in `address`.
    pub alen: u16,
    /// Hardware address.
    pub address: [u8; 8],
}

// SAFETY: `repr(C)`, integers and arrays of them only, no padding: any bytes are a valid value.
unsafe impl Uapi for SockaddrLl {}
// SAFETY: as above.
unsafe impl Uapi for TpacketReq {}
// SAFETY: as above.
unsafe impl Uapi for TpacketReq3 {}
// SAFETY: as above.
unsafe impl Uapi for TpacketStats {}
// SAFETY: as above.
unsafe impl Uapi for PacketMreq {}

/// Socket level of the options below.
pub const SOL_PACKET: i32 = 263;
/// Joins a multicast group or enables promiscuous mode until the socket is closed.
pub const PACKET_ADD_MEMBERSHIP: i32 = 1;
/// Sets up the receive ring.
pub const PACKET_RX_RING: i32 = 5;
/// Reads and clears the counters.
pub const PACKET_STATISTICS: i32 = 6;
/// Selects the ring version.
pub const PACKET_VERSION: i32 = 10;
/// Reserves headroom before each packet.
pub const PACKET_RESERVE: i32 = 12;
/// Selects the source of time stamps (`SOF_TIMESTAMPING_*`).
pub const PACKET_TIMESTAMP: i32 = 17;
/// Joins a fanout group.
pub const PACKET_FANOUT: i32 = 18;
/// Sets the program of a fanout group.
pub const PACKET_FANOUT_DATA: i32 = 22;
/// Fanout mode: by a classic program. Without one, all packets go to the first member.
pub const PACKET_FANOUT_CBPF: u32 = 6;
/// The kernel chooses the id of a new fanout group.
pub const PACKET_FANOUT_FLAG_UNIQUEID: u32 = 0x2000;
/// The fanout group ignores sent packets. Older kernels accept the flag without effect.
pub const PACKET_FANOUT_FLAG_IGNORE_OUTGOING: u32 = 0x4000;
/// Ignores sent packets (Linux 4.20).
pub const PACKET_IGNORE_OUTGOING: i32 = 23;
/// Membership: promiscuous mode.
pub const PACKET_MR_PROMISC: u16 = 1;
/// Version number of TPACKET_V2.
pub const TPACKET_V2: i32 = 1;
/// Version number of TPACKET_V3.
pub const TPACKET_V3: i32 = 2;
/// Alignment of frames and headers, bytes.
pub const TPACKET_ALIGNMENT: usize = 16;
/// All EtherTypes (`ETH_P_ALL`), host byte order.
pub const ETH_P_ALL: u16 = 3;

/// Frame or block belongs to the kernel.
pub const TP_STATUS_KERNEL: u32 = 0;
/// Frame or block belongs to the reader.
pub const TP_STATUS_USER: u32 = 1 << 0;
/// Packets were dropped since the counters were last read.
pub const TP_STATUS_LOSING: u32 = 1 << 2;
/// The sender's hardware has yet to compute the transport checksum.
pub const TP_STATUS_CSUMNOTREADY: u32 = 1 << 3;
/// `vlan_tci` holds a tag that is not in the packet's bytes.
pub const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
/// `vlan_tpid` holds the tag's protocol.
pub const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
/// The transport checksum was verified and is correct.
pub const TP_STATUS_CSUM_VALID: u32 = 1 << 7;
/// The packet had its time stamp before it reached the socket: the kernel's software time stamp.
pub const TP_STATUS_TS_SOFTWARE: u32 = 1 << 29;
/// The time stamp is a hardware time stamp.
pub const TP_STATUS_TS_RAW_HARDWARE: u32 = 1 << 31;

/// Addressed to this host.
pub const PACKET_HOST: u8 = 0;
/// Broadcast.
pub const PACKET_BROADCAST: u8 = 1;
/// Multicast.
pub const PACKET_MULTICAST: u8 = 2;
/// Addressed to another host.
pub const PACKET_OTHERHOST: u8 = 3;
/// Sent by this host.
pub const PACKET_OUTGOING: u8 = 4;

/// Hardware time stamps, raw (`SOF_TIMESTAMPING_RAW_HARDWARE`).
pub const SOF_TIMESTAMPING_RAW_HARDWARE: u32 = 1 << 6;
