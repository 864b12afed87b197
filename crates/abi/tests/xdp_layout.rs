//! The structs and numbers of AF_XDP sockets against `linux/if_xdp.h`, as a C compiler lays them out.

use std::mem::offset_of;

use crate::c_layout::assert_as_in_c;
use abi::xdp::{self, MmapOffsets, RingOffset, SockaddrXdp, Statistics, UmemReg, XdpDesc};
use tapline_abi as abi;

/// `SOL_XDP` is of the C library's headers; the last three came with Linux 6.6 and are part of the
/// kernel's contract by number where the header is older.
const HEADERS: &str = "#include <sys/socket.h>\n#include <linux/bpf.h>\n#include <linux/if_xdp.h>\n\
                       #ifndef XDP_USE_SG\n#define XDP_USE_SG (1 << 4)\n#endif\n\
                       #ifndef XDP_PKT_CONTD\n#define XDP_PKT_CONTD (1 << 0)\n#endif\n\
                       #ifndef SOL_XDP\n#define SOL_XDP 283\n#endif\n\
                       #define at(s, f) offsetof(struct s, f)\n";

#[test]
fn structs_lie_as_in_the_kernels_header() {
    let pairs = [
        ("sizeof(struct sockaddr_xdp)", size_of::<SockaddrXdp>()),
        (
            "at(sockaddr_xdp, sxdp_flags)",
            offset_of!(SockaddrXdp, flags),
        ),
        (
            "at(sockaddr_xdp, sxdp_ifindex)",
            offset_of!(SockaddrXdp, ifindex),
        ),
        (
            "at(sockaddr_xdp, sxdp_queue_id)",
            offset_of!(SockaddrXdp, queue_id),
        ),
        (
            "at(sockaddr_xdp, sxdp_shared_umem_fd)",
            offset_of!(SockaddrXdp, shared_umem_fd),
        ),
        ("sizeof(struct xdp_ring_offset)", size_of::<RingOffset>()),
        (
            "at(xdp_ring_offset, producer)",
            offset_of!(RingOffset, producer),
        ),
        (
            "at(xdp_ring_offset, consumer)",
            offset_of!(RingOffset, consumer),
        ),
        ("at(xdp_ring_offset, desc)", offset_of!(RingOffset, desc)),
        ("at(xdp_ring_offset, flags)", offset_of!(RingOffset, flags)),
        ("sizeof(struct xdp_mmap_offsets)", size_of::<MmapOffsets>()),
        ("at(xdp_mmap_offsets, rx)", offset_of!(MmapOffsets, rx)),
        ("at(xdp_mmap_offsets, tx)", offset_of!(MmapOffsets, tx)),
        ("at(xdp_mmap_offsets, fr)", offset_of!(MmapOffsets, fr)),
        ("at(xdp_mmap_offsets, cr)", offset_of!(MmapOffsets, cr)),
        ("sizeof(struct xdp_umem_reg)", size_of::<UmemReg>()),
        ("at(xdp_umem_reg, addr)", offset_of!(UmemReg, addr)),
        ("at(xdp_umem_reg, len)", offset_of!(UmemReg, len)),
        (
            "at(xdp_umem_reg, chunk_size)",
            offset_of!(UmemReg, chunk_size),
        ),
        ("at(xdp_umem_reg, headroom)", offset_of!(UmemReg, headroom)),
        ("at(xdp_umem_reg, flags)", offset_of!(UmemReg, flags)),
        ("sizeof(struct xdp_statistics)", size_of::<Statistics>()),
        (
            "at(xdp_statistics, rx_dropped)",
            offset_of!(Statistics, rx_dropped),
        ),
        (
            "at(xdp_statistics, rx_invalid_descs)",
            offset_of!(Statistics, rx_invalid_descs),
        ),
        (
            "at(xdp_statistics, tx_invalid_descs)",
            offset_of!(Statistics, tx_invalid_descs),
        ),
        (
            "at(xdp_statistics, rx_ring_full)",
            offset_of!(Statistics, rx_ring_full),
        ),
        (
            "at(xdp_statistics, rx_fill_ring_empty_descs)",
            offset_of!(Statistics, rx_fill_ring_empty_descs),
        ),
        (
            "at(xdp_statistics, tx_ring_empty_descs)",
            offset_of!(Statistics, tx_ring_empty_descs),
        ),
        ("sizeof(struct xdp_desc)", size_of::<XdpDesc>()),
        ("at(xdp_desc, addr)", offset_of!(XdpDesc, addr)),
        ("at(xdp_desc, len)", offset_of!(XdpDesc, len)),
        ("at(xdp_desc, options)", offset_of!(XdpDesc, options)),
    ];
    assert_as_in_c(HEADERS, &pairs);
}

/// Each named constant of ours beside C's of the same name.
macro_rules! assert_numbers {
    ($($name:ident)*) => {
        assert_as_in_c(HEADERS, &[$((stringify!($name), xdp::$name as usize),)*]);
    };
}

#[test]
fn options_have_the_kernels_numbers() {
    assert_numbers! {
        SOL_XDP XDP_MMAP_OFFSETS XDP_RX_RING XDP_UMEM_REG XDP_UMEM_FILL_RING
        XDP_UMEM_COMPLETION_RING XDP_STATISTICS XDP_PGOFF_RX_RING
        XDP_UMEM_PGOFF_FILL_RING XDP_COPY XDP_ZEROCOPY XDP_USE_NEED_WAKEUP XDP_USE_SG
        XDP_RING_NEED_WAKEUP XDP_PKT_CONTD XDP_PACKET_HEADROOM
    }
}
