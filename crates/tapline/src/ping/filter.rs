//! The kernel's filters: answers to this run and nothing else.

use abi::bpf::SockFilter;

// Operations of classic BPF (linux/bpf_common.h).
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

/// Where the network header begins, wherever the packet does (`SKF_NET_OFF`).
const NETWORK: u32 = (-0x10_0000_i32).cast_unsigned();
/// Where the kernel answers with the EtherType (`SKF_AD_OFF + SKF_AD_PROTOCOL`).
const PROTOCOL: u32 = (-0x1000_i32).cast_unsigned();

/// Where the kernel answers with the index of the interface (`SKF_AD_OFF + SKF_AD_IFINDEX`).
const INTERFACE: u32 = PROTOCOL + 8;

/// The total length in the header of IPv4, and the length behind the header of IPv6.
const LENGTH_V4: u32 = NETWORK + 2;
const LENGTH_V6: u32 = NETWORK + 4;
/// The header that follows that of IPv6.
const NEXT_HEADER: u32 = NETWORK + 6;
const IPV6_HEADER_BYTES: u32 = 40;

/// Takes all of a packet.
const ALL: u32 = u32::MAX;

const fn op(code: u16, k: u32) -> SockFilter {
    SockFilter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Goes on if the value is `k`, and else to the instruction `jf` further on.
const fn is(k: u32, jf: u8) -> SockFilter {
    SockFilter {
        code: JEQ_K,
        jt: 0,
        jf,
        k,
    }
}

/// Goes on `jt` instructions further on if the value is above `k`.
const fn above(k: u32, jt: u8) -> SockFilter {
    SockFilter {
        code: JGT_K,
        jt,
        jf: 0,
        k,
    }
}

/// Types of ICMP that a run has to do with: echo reply, unreachable, source quench, redirect, time
/// exceeded, parameter problem. A set bit blocks.
///
/// # Source
/// `ICMP_FILTER` in raw(7); `icmp_filter`, net/ipv4/raw.c.
pub(super) const BLOCKED_V4: u32 = !(1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 11 | 1 << 12);

/// Blocks everything.
pub(super) const BLOCKED_ALL_V4: u32 = u32::MAX;

/// As [`BLOCKED_V4`], of ICMPv6: errors 1 to 4 and echo reply 129.
///
/// # Source
/// RFC 3542, 3.2; `icmpv6_filter`, net/ipv6/raw.c.
pub(super) const BLOCKED_V6: [u32; 8] = {
    let mut blocked = [u32::MAX; 8];
    blocked[0] = !(1 << 1 | 1 << 2 | 1 << 3 | 1 << 4);
    blocked[4] = !(1 << 1);
    blocked
};

/// Takes nothing.
pub(super) fn nothing() -> [SockFilter; 1] {
    [op(RET_K, 0)]
}

/// What a ring sees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OfRing {
    /// The interface it is on.
    pub link: u32,
    /// The longest packet it takes, from its IP header on. Longer ones may come in fragments, of which a ring
    /// does not see the whole; whole or not, they are left to raw sockets, which get them put together.
    pub most_bytes: u32,
}

/// Takes what `program` takes but for what [`ring`] takes: of IPv4.
pub(super) fn beside_icmpv4(of: OfRing, program: &[SockFilter]) -> Vec<SockFilter> {
    let mut whole = vec![
        op(LD_ABS, INTERFACE),
        is(of.link, 3),
        op(LDH_ABS, LENGTH_V4),
        above(of.most_bytes, 1),
        op(RET_K, 0),
    ];
    whole.extend_from_slice(program);
    whole
}

/// As [`beside_icmpv4`], of IPv6: answers behind extension headers are no ring's either.
pub(super) fn beside_icmpv6(of: OfRing, program: &[SockFilter]) -> Vec<SockFilter> {
    let mut whole = vec![
        op(LD_ABS, INTERFACE),
        is(of.link, 5),
        op(LDB_ABS, NEXT_HEADER),
        is(58, 3),
        op(LDH_ABS, LENGTH_V6),
        above(of.most_bytes - IPV6_HEADER_BYTES, 1),
        op(RET_K, 0),
    ];
    whole.extend_from_slice(program);
    whole
}

/// Takes echo replies with `identifier`, and errors that quote an echo request with it. A raw socket of
/// IPv4 sees a packet from its IP header on.
pub(super) fn icmpv4(identifier: u16) -> [SockFilter; 19] {
    [
        op(LDX_MSH, 0),
        op(LDB_IND, 0),
        is(0, 3),
        op(LDH_IND, 4),
        is(identifier.into(), 13),
        op(RET_K, ALL),
        // What is quoted begins 8 bytes behind the ICMP header: it is to be ICMP, and its header as long
        // as it says.
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

/// As [`icmpv4`]. A raw socket of IPv6 sees a packet from its ICMPv6 header on; quoted extension headers,
/// which no probe has, are not walked over.
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

/// Takes from a packet ring what [`icmpv4`] and [`icmpv6`] take of packets of at most `most_bytes` that are
/// no fragments and, in IPv6, have no extension headers.
pub(super) fn ring(identifier: u16, most_bytes: u32) -> [SockFilter; 44] {
    const REJECT: u8 = 43;
    /// Goes on if the value is `k`, and else to the end; `at` is the place of the instruction.
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
        // IPv6; the accumulator still has the EtherType.
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
