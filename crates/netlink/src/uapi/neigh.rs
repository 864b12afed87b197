//! Neighbours, forwarding entries and their tables.

constants! {
    RTNLGRP_NEIGH: u32 = 3;
    RTM_NEWNEIGH: u16 = 28;
    RTM_DELNEIGH: u16 = 29;
    RTM_GETNEIGH: u16 = 30;
    RTM_NEWNEIGHTBL: u16 = 64;
    RTM_GETNEIGHTBL: u16 = 66;
    NDTA_NAME: u16 = 1;
    NDTA_THRESH1: u16 = 2;
    NDTA_THRESH2: u16 = 3;
    NDTA_THRESH3: u16 = 4;
    NDTA_CONFIG: u16 = 5;
    NDA_DST: u16 = 1;
    NDA_LLADDR: u16 = 2;
    NDA_CACHEINFO: u16 = 3;
    NDA_PROBES: u16 = 4;
    NDA_VLAN: u16 = 5;
    NDA_PORT: u16 = 6;
    NDA_VNI: u16 = 7;
    NDA_IFINDEX: u16 = 8;
    NDA_MASTER: u16 = 9;
    NDA_SRC_VNI: u16 = 11;
    NDA_PROTOCOL: u16 = 12;
    NDA_NH_ID: u16 = 13;
    NDA_FLAGS_EXT: u16 = 15;
    NDA_NDM_STATE_MASK: u16 = 16;
    NDA_NDM_FLAGS_MASK: u16 = 17;
    NTF_USE: u8 = 0x01;
    NTF_SELF: u8 = 0x02;
    NTF_MASTER: u8 = 0x04;
    NTF_PROXY: u8 = 0x08;
    NTF_EXT_LEARNED: u8 = 0x10;
    NTF_OFFLOADED: u8 = 0x20;
    NTF_STICKY: u8 = 0x40;
    NTF_ROUTER: u8 = 0x80;
    NTF_EXT_MANAGED: u32 = 0x01;
    NUD_NONE: u16 = 0x00;
    NUD_INCOMPLETE: u16 = 0x01;
    NUD_REACHABLE: u16 = 0x02;
    NUD_STALE: u16 = 0x04;
    NUD_DELAY: u16 = 0x08;
    NUD_PROBE: u16 = 0x10;
    NUD_FAILED: u16 = 0x20;
    NUD_NOARP: u16 = 0x40;
    NUD_PERMANENT: u16 = 0x80;
}
