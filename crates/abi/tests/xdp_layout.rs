//! The structs and numbers of AF_XDP sockets against `linux/if_xdp.h`, as a C compiler lays them out.

use crate::c_layout::{assert_as_in_c, assert_numbers, assert_struct};
use abi::xdp::{
    self, MmapOffsets, RingOffset, SockaddrXdp, Statistics, TxMetadata, UmemReg, XdpDesc,
};
use tapline_abi as abi;

/// `SOL_XDP` is of the C library's headers. What came with Linux 6.6 and later is part of the kernel's contract by number
/// where the header is older. A test of the ring crate has the kernel read a request.
const HEADERS: &str = "#include <sys/socket.h>\n#include <linux/bpf.h>\n#include <linux/if_xdp.h>\n\
                       #ifndef XDP_USE_SG\n#define XDP_USE_SG (1 << 4)\n#endif\n\
                       #ifndef XDP_PKT_CONTD\n#define XDP_PKT_CONTD (1 << 0)\n#endif\n\
                       #ifndef SOL_XDP\n#define SOL_XDP 283\n#endif\n\
                       #ifndef XDP_TX_METADATA\n#define XDP_TX_METADATA (1 << 1)\n\
                       struct xsk_tx_metadata { __u64 flags; union { struct { __u16 csum_start; \
                       __u16 csum_offset; __u64 launch_time; } request; struct { __u64 tx_timestamp; } completion; }; };\n\
                       #endif\n\
                       #ifndef XDP_UMEM_TX_METADATA_LEN\n#define XDP_UMEM_TX_METADATA_LEN (1 << 2)\n#endif\n\
                       #ifndef XDP_TXMD_FLAGS_LAUNCH_TIME\n#define XDP_TXMD_FLAGS_LAUNCH_TIME (1 << 2)\n#endif\n";

#[test]
fn structs_lie_as_in_the_kernels_header() {
    assert_struct!(HEADERS, SockaddrXdp as "struct sockaddr_xdp" {
        flags: "sxdp_flags",
        ifindex: "sxdp_ifindex",
        queue_id: "sxdp_queue_id",
        shared_umem_fd: "sxdp_shared_umem_fd",
    });
    assert_struct!(HEADERS, RingOffset as "struct xdp_ring_offset" {
        producer: "producer",
        consumer: "consumer",
        desc: "desc",
        flags: "flags",
    });
    assert_struct!(HEADERS, MmapOffsets as "struct xdp_mmap_offsets" {
        rx: "rx",
        tx: "tx",
        fr: "fr",
        cr: "cr",
    });
    assert_struct!(HEADERS, UmemReg as "struct xdp_umem_reg" {
        addr: "addr",
        len: "len",
        chunk_size: "chunk_size",
        headroom: "headroom",
        flags: "flags",
    });
    assert_struct!(HEADERS, Statistics as "struct xdp_statistics" {
        rx_dropped: "rx_dropped",
        rx_invalid_descs: "rx_invalid_descs",
        tx_invalid_descs: "tx_invalid_descs",
        rx_ring_full: "rx_ring_full",
        rx_fill_ring_empty_descs: "rx_fill_ring_empty_descs",
        tx_ring_empty_descs: "tx_ring_empty_descs",
    });
    assert_struct!(HEADERS, TxMetadata as "struct xsk_tx_metadata" {
        flags: "flags",
        checksum_start: "request.csum_start",
        checksum_offset: "request.csum_offset",
        launch_time: "request.launch_time",
    });
    assert_struct!(HEADERS, XdpDesc as "struct xdp_desc" {
        addr: "addr",
        len: "len",
        options: "options",
    });
}

#[test]
fn options_have_the_kernels_numbers() {
    assert_numbers! { HEADERS, xdp:
        SOL_XDP XDP_MMAP_OFFSETS XDP_RX_RING XDP_TX_RING XDP_UMEM_REG XDP_UMEM_FILL_RING
        XDP_UMEM_COMPLETION_RING XDP_STATISTICS XDP_PGOFF_RX_RING XDP_PGOFF_TX_RING XDP_UMEM_PGOFF_COMPLETION_RING
        XDP_UMEM_PGOFF_FILL_RING XDP_COPY XDP_ZEROCOPY XDP_USE_NEED_WAKEUP XDP_USE_SG
        XDP_RING_NEED_WAKEUP XDP_PKT_CONTD XDP_PACKET_HEADROOM XDP_TX_METADATA XDP_UMEM_TX_METADATA_LEN
        XDP_TXMD_FLAGS_LAUNCH_TIME
    }
}

/// In the order of memory, as the kernel reads it.
#[test]
fn a_request_has_its_fields_at_their_places() {
    let bytes = TxMetadata::launch_at(0x0102_0304_0506_0708).bytes();
    let (flags, time) = (4u64.to_ne_bytes(), 0x0102_0304_0506_0708_u64.to_ne_bytes());
    assert_eq!(bytes, [flags, [0; 8], time].concat()[..]);
}
