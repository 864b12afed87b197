//! In-kernel filters that accept only replies to this run.

use abi::bpf::SockFilter;

// Instructions of classic BPF (linux/bpf_common.h).
const LD_ABS: u16 = 0x20;
const LDB_ABS: u16 = 0x30;
const LDH_ABS: u16 = 0x28;
const LDB_IND: u16 = 0x50;
const LDH_IND: u16 = 0x48;
const LDX_MSH: u16 = 0xb1;
const AND_K: u16 = 0x54;
const LSH_K: u16 = 0x64;
const ADD_X: u16 = 0x0c;
const TAX: u16 = 0x07;
const JEQ_K: u16 = 0x15;
const RET_K: u16 = 0x06;

const JSET_K: u16 = 0x45;
const JGT_K: u16 = 0x25;

/// Offset of the network header (`SKF_NET_OFF`).
const NETWORK: u32 = (-0x10_0000_i32).cast_unsigned();
/// Offset that loads the EtherType (`SKF_AD_OFF + SKF_AD_PROTOCOL`).
const PROTOCOL: u32 = (-0x1000_i32).cast_unsigned();

/// Offset that loads the interface index (`SKF_AD_OFF + SKF_AD_IFINDEX`).
const INTERFACE: u32 = PROTOCOL + 8;

/// Offsets of the IPv4 total length and of the IPv6 payload length.
const LENGTH_V4: u32 = NETWORK + 2;
const LENGTH_V6: u32 = NETWORK + 4;
/// Offset of the IPv6 next header.
const NEXT_HEADER: u32 = NETWORK + 6;
const IPV6_HEADER_BYTES: u32 = 40;

/// Accepts the whole packet.
const ALL: u32 = u32::MAX;

const fn op(code: u16, k: u32) -> SockFilter {
    SockFilter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Continues if the value is `k`; else skips `jf` instructions.
const fn is(k: u32, jf: u8) -> SockFilter {
    SockFilter {
        code: JEQ_K,
        jt: 0,
        jf,
        k,
    }
}

/// Skips `jt` instructions if the value is above `k`.
const fn above(k: u32, jt: u8) -> SockFilter {
    SockFilter {
        code: JGT_K,
        jt,
        jf: 0,
        k,
    }
}

/// ICMP types that are blocked: all but echo reply, unreachable, source quench, redirect, time exceeded and
/// parameter problem. A set bit blocks.
///
/// # Source
/// `ICMP_FILTER` in raw(7); `icmp_filter`, net/ipv4/raw.c.
pub(super) const BLOCKED_V4: u32 = !(1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 11 | 1 << 12);

/// Blocks all ICMP types.
pub(super) const BLOCKED_ALL_V4: u32 = u32::MAX;

/// As [`BLOCKED_V4`], for ICMPv6: all but errors 1 to 4 and echo reply 129.
///
/// # Source
/// RFC 3542, 3.2; `icmpv6_filter`, net/ipv6/raw.c.
pub(super) const BLOCKED_V6: [u32; 8] = {
    let mut blocked = [u32::MAX; 8];
    blocked[0] = !(1 << 1 | 1 << 2 | 1 << 3 | 1 << 4);
    blocked[4] = !(1 << 1);
    blocked
};

/// Rejects everything.
pub(super) fn nothing() -> [SockFilter; 1] {
    [op(RET_K, 0)]
}

/// Which replies a ring receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ping) struct RingScope {
    /// Index of its interface.
    pub interface: u32,
    /// Maximum length of a packet, from its IP header on. Longer packets may be fragmented. Raw sockets receive these,
    /// because the kernel reassembles them.
    pub most_bytes: u32,
}

/// Accepts what `program` accepts, except for packets that [`ring`] accepts. For IPv4.
pub(super) fn beside_icmpv4(scope: RingScope, program: &[SockFilter]) -> Vec<SockFilter> {
    let mut whole = vec![
        op(LD_ABS, INTERFACE),
        is(scope.interface, 3),
        op(LDH_ABS, LENGTH_V4),
        above(scope.most_bytes, 1),
        op(RET_K, 0),
    ];
    whole.extend_from_slice(program);
    whole
}

/// As [`beside_icmpv4`], for IPv6. The ring does not accept extension headers either.
pub(super) fn beside_icmpv6(scope: RingScope, program: &[SockFilter]) -> Vec<SockFilter> {
    let mut whole = vec![
        op(LD_ABS, INTERFACE),
        is(scope.interface, 5),
        op(LDB_ABS, NEXT_HEADER),
        is(58, 3),
        op(LDH_ABS, LENGTH_V6),
        above(scope.most_bytes - IPV6_HEADER_BYTES, 1),
        op(RET_K, 0),
    ];
    whole.extend_from_slice(program);
    whole
}

/// Accepts echo replies with `identifier`, and errors that quote an echo request with it. A raw IPv4 socket sees
/// packets from the IP header on.
pub(super) fn icmpv4(identifier: u16) -> [SockFilter; 19] {
    [
        op(LDX_MSH, 0),
        op(LDB_IND, 0),
        is(0, 3),
        op(LDH_IND, 4),
        is(identifier.into(), 13),
        op(RET_K, ALL),
        // The quoted packet starts 8 bytes after the start of the ICMP header. It must be ICMP; its header has the
        // length that it states.
        op(LDB_IND, 8 + 9),
        is(1, 10),
        op(LDB_IND, 8),
        op(AND_K, 0xf),
        op(LSH_K, 2),
        op(ADD_X, 0),
        op(TAX, 0),
        op(LDB_IND, 8),
        is(8, 3),
        op(LDH_IND, 8 + 4),
        is(identifier.into(), 1),
        op(RET_K, ALL),
        op(RET_K, 0),
    ]
}

/// As [`icmpv4`]. A raw IPv6 socket sees packets from the ICMPv6 header on. Quoted extension headers are not
/// followed, as no probe has any.
pub(super) fn icmpv6(identifier: u16) -> [SockFilter; 13] {
    const QUOTED: u32 = 8;
    const QUOTED_ICMP: u32 = QUOTED + 40;
    [
        op(LDB_ABS, 0),
        is(129, 3),
        op(LDH_ABS, 4),
        is(identifier.into(), 8),
        op(RET_K, ALL),
        op(LDB_ABS, QUOTED + 6),
        is(58, 5),
        op(LDB_ABS, QUOTED_ICMP),
        is(128, 3),
        op(LDH_ABS, QUOTED_ICMP + 4),
        is(identifier.into(), 1),
        op(RET_K, ALL),
        op(RET_K, 0),
    ]
}

/// For a packet ring: accepts what [`icmpv4`] and [`icmpv6`] accept, if the packet has at most `most_bytes`, is not a
/// fragment and has no IPv6 extension headers.
pub(super) fn ring(identifier: u16, most_bytes: u32) -> [SockFilter; 44] {
    const REJECT: u8 = 43;
    /// Continues if the value is `k`; else rejects. `at` is the index of the instruction.
    const fn only(k: u32, at: u8) -> SockFilter {
        is(k, REJECT - at - 1)
    }
    const QUOTED: u32 = NETWORK + 48;
    let identifier = identifier.into();
    [
        op(LDH_ABS, PROTOCOL),
        is(0x0800, 24),
        op(LDB_ABS, NETWORK + 9),
        only(1, 3),
        op(LDH_ABS, NETWORK + 6),
        SockFilter {
            code: JSET_K,
            jt: REJECT - 5 - 1,
            jf: 0,
            k: 0x3fff,
        },
        op(LDH_ABS, LENGTH_V4),
        above(most_bytes, REJECT - 7 - 1),
        op(LDX_MSH, NETWORK),
        op(LDB_IND, NETWORK),
        is(0, 3),
        op(LDH_IND, NETWORK + 4),
        only(identifier, 12),
        op(RET_K, ALL),
        op(LDB_IND, NETWORK + 8 + 9),
        only(1, 15),
        op(LDB_IND, NETWORK + 8),
        op(AND_K, 0xf),
        op(LSH_K, 2),
        op(ADD_X, 0),
        op(TAX, 0),
        op(LDB_IND, NETWORK + 8),
        only(8, 22),
        op(LDH_IND, NETWORK + 8 + 4),
        only(identifier, 24),
        op(RET_K, ALL),
        // IPv6. The accumulator still holds the EtherType.
        only(0x86dd, 26),
        op(LDB_ABS, NEXT_HEADER),
        only(58, 28),
        op(LDH_ABS, LENGTH_V6),
        above(most_bytes - IPV6_HEADER_BYTES, REJECT - 30 - 1),
        op(LDB_ABS, NETWORK + 40),
        is(129, 3),
        op(LDH_ABS, NETWORK + 44),
        only(identifier, 34),
        op(RET_K, ALL),
        op(LDB_ABS, QUOTED + 6),
        only(58, 37),
        op(LDB_ABS, QUOTED + 40),
        only(128, 39),
        op(LDH_ABS, QUOTED + 44),
        only(identifier, 41),
        op(RET_K, ALL),
        op(RET_K, 0),
    ]
}
