//! The structs and numbers of packet sockets against `linux/if_packet.h`, as a C compiler lays them
//! out.

use crate::c_layout::{assert_as_in_c, assert_numbers, assert_struct};
use abi::packet::{
    self, BlockDesc, PacketMreq, SockaddrLl, Tpacket2Hdr, Tpacket3Hdr, TpacketReq, TpacketReq3,
    TpacketStats,
};
use tapline_abi as abi;

/// `SOL_PACKET` is of the C library's headers; the kernel's own do not have it.
const HEADERS: &str = "#include <sys/socket.h>\n#include <linux/if_packet.h>\n\
                       #include <linux/if_ether.h>\n#include <linux/net_tstamp.h>";

#[test]
fn addresses_lie_as_in_the_kernels_header() {
    assert_struct!(HEADERS, SockaddrLl as "struct sockaddr_ll" {
        family: "sll_family",
        protocol: "sll_protocol",
        ifindex: "sll_ifindex",
        hatype: "sll_hatype",
        pkttype: "sll_pkttype",
        halen: "sll_halen",
        addr: "sll_addr",
    });
    assert_struct!(HEADERS, PacketMreq as "struct packet_mreq" {
        ifindex: "mr_ifindex",
        kind: "mr_type",
        alen: "mr_alen",
        address: "mr_address",
    });
}

#[test]
fn packet_headers_lie_as_in_the_kernels_header() {
    assert_struct!(HEADERS, Tpacket2Hdr as "struct tpacket2_hdr" {
        status: "tp_status",
        len: "tp_len",
        snaplen: "tp_snaplen",
        mac: "tp_mac",
        net: "tp_net",
        sec: "tp_sec",
        nsec: "tp_nsec",
        vlan_tci: "tp_vlan_tci",
        vlan_tpid: "tp_vlan_tpid",
        padding: "tp_padding",
    });
    assert_struct!(HEADERS, Tpacket3Hdr as "struct tpacket3_hdr" {
        next_offset: "tp_next_offset",
        sec: "tp_sec",
        nsec: "tp_nsec",
        snaplen: "tp_snaplen",
        len: "tp_len",
        status: "tp_status",
        mac: "tp_mac",
        net: "tp_net",
        rxhash: "hv1.tp_rxhash",
        vlan_tci: "hv1.tp_vlan_tci",
        vlan_tpid: "hv1.tp_vlan_tpid",
    });
}

#[test]
fn blocks_lie_as_in_the_kernels_header() {
    assert_struct!(HEADERS, BlockDesc as "struct tpacket_block_desc" {
        version: "version",
        offset_to_priv: "offset_to_priv",
        block_status: "hdr.bh1.block_status",
        num_pkts: "hdr.bh1.num_pkts",
        offset_to_first_pkt: "hdr.bh1.offset_to_first_pkt",
        blk_len: "hdr.bh1.blk_len",
        seq_num: "hdr.bh1.seq_num",
        ts_first_sec: "hdr.bh1.ts_first_pkt.ts_sec",
        ts_first_nsec: "hdr.bh1.ts_first_pkt.ts_nsec",
        ts_last_sec: "hdr.bh1.ts_last_pkt.ts_sec",
        ts_last_nsec: "hdr.bh1.ts_last_pkt.ts_nsec",
    });
}

#[test]
fn requests_and_counters_lie_as_in_the_kernels_header() {
    assert_struct!(HEADERS, TpacketReq as "struct tpacket_req" {
        block_size: "tp_block_size",
        block_nr: "tp_block_nr",
        frame_size: "tp_frame_size",
        frame_nr: "tp_frame_nr",
    });
    assert_struct!(HEADERS, TpacketReq3 as "struct tpacket_req3" {
        block_size: "tp_block_size",
        block_nr: "tp_block_nr",
        frame_size: "tp_frame_size",
        frame_nr: "tp_frame_nr",
        retire_blk_tov: "tp_retire_blk_tov",
        sizeof_priv: "tp_sizeof_priv",
        feature_req_word: "tp_feature_req_word",
    });
    assert_struct!(HEADERS, TpacketStats as "struct tpacket_stats_v3" {
        packets: "tp_packets",
        drops: "tp_drops",
        freeze_q_cnt: "tp_freeze_q_cnt",
    });
}

#[test]
fn options_have_the_kernels_numbers() {
    assert_numbers! { HEADERS, packet:
        SOL_PACKET PACKET_ADD_MEMBERSHIP PACKET_RX_RING PACKET_STATISTICS PACKET_VERSION
        PACKET_RESERVE PACKET_TIMESTAMP PACKET_FANOUT PACKET_FANOUT_DATA PACKET_FANOUT_CBPF
        PACKET_FANOUT_FLAG_UNIQUEID PACKET_IGNORE_OUTGOING PACKET_MR_PROMISC
        TPACKET_V2 TPACKET_V3 TPACKET_ALIGNMENT ETH_P_ALL SOF_TIMESTAMPING_RAW_HARDWARE
    }
}

#[test]
fn states_and_kinds_of_packets_have_the_kernels_numbers() {
    assert_numbers! { HEADERS, packet:
        TP_STATUS_KERNEL TP_STATUS_USER TP_STATUS_LOSING TP_STATUS_CSUMNOTREADY
        TP_STATUS_VLAN_VALID TP_STATUS_VLAN_TPID_VALID TP_STATUS_CSUM_VALID
        TP_STATUS_TS_SOFTWARE TP_STATUS_TS_RAW_HARDWARE PACKET_HOST PACKET_BROADCAST PACKET_MULTICAST PACKET_OTHERHOST
        PACKET_OUTGOING
    }
}

/// A ring's reader looks for the address there.
#[test]
fn the_address_follows_the_header_aligned() {
    let with_address = |header: usize| {
        header.next_multiple_of(packet::TPACKET_ALIGNMENT) + size_of::<SockaddrLl>()
    };
    let pairs = [
        ("TPACKET2_HDRLEN", with_address(size_of::<Tpacket2Hdr>())),
        ("TPACKET3_HDRLEN", with_address(size_of::<Tpacket3Hdr>())),
    ];
    assert_as_in_c(HEADERS, &pairs);
}
