//! Numbers of the kernel's netlink headers, one table; the test compiles the headers and compares.

macro_rules! constants {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        $(pub(crate) const $name: $type = $value;)*
        #[cfg(test)]
        const ALL: &[(&str, u64)] = &[$((stringify!($name), $value as u64)),*];
    };
}

constants! {
    SOL_NETLINK: i32 = 270;
    NETLINK_CAP_ACK: i32 = 10;
    NETLINK_EXT_ACK: i32 = 11;
    NETLINK_GET_STRICT_CHK: i32 = 12;
    RTMGRP_LINK: u32 = 1;
    RTMGRP_IPV4_ROUTE: u32 = 0x40;
    RTMGRP_IPV6_ROUTE: u32 = 0x400;

    NLMSG_NOOP: u16 = 1;
    NLMSG_ERROR: u16 = 2;
    NLMSG_DONE: u16 = 3;
    NLM_F_REQUEST: u16 = 0x01;
    NLM_F_ACK: u16 = 0x04;
    NLM_F_ECHO: u16 = 0x08;
    NLM_F_DUMP_INTR: u16 = 0x10;
    NLM_F_DUMP: u16 = 0x300;
    NLM_F_CAPPED: u16 = 0x100;
    NLM_F_ACK_TLVS: u16 = 0x200;
    NLM_F_REPLACE: u16 = 0x100;
    NLM_F_EXCL: u16 = 0x200;
    NLM_F_CREATE: u16 = 0x400;
    NLA_F_NESTED: u16 = 0x8000;
    NLA_F_NET_BYTEORDER: u16 = 0x4000;
    NLMSGERR_ATTR_MSG: u16 = 1;
    NLMSGERR_ATTR_OFFS: u16 = 2;
    NLMSGERR_ATTR_MISS_TYPE: u16 = 5;

    RTM_NEWLINK: u16 = 16;
    RTM_DELLINK: u16 = 17;
    RTM_GETLINK: u16 = 18;
    RTM_NEWADDR: u16 = 20;
    RTM_DELADDR: u16 = 21;
    RTM_GETADDR: u16 = 22;
    RTM_NEWROUTE: u16 = 24;
    RTM_DELROUTE: u16 = 25;
    RTM_NEWNEIGH: u16 = 28;

    IFLA_ADDRESS: u16 = 1;
    IFLA_IFNAME: u16 = 3;
    IFLA_MTU: u16 = 4;
    IFLA_LINK: u16 = 5;
    IFLA_MASTER: u16 = 10;
    IFLA_OPERSTATE: u16 = 16;
    IFLA_LINKINFO: u16 = 18;
    IFLA_IFALIAS: u16 = 20;
    IFLA_STATS64: u16 = 23;
    IFLA_NET_NS_FD: u16 = 28;
    IFLA_PROMISCUITY: u16 = 30;
    IFLA_NUM_TX_QUEUES: u16 = 31;
    IFLA_NUM_RX_QUEUES: u16 = 32;
    IFLA_PROP_LIST: u16 = 52;
    IFLA_ALT_IFNAME: u16 = 53;
    IFLA_INFO_KIND: u16 = 1;
    IFLA_INFO_DATA: u16 = 2;
    VETH_INFO_PEER: u16 = 1;

    IFF_UP: u32 = 0x1;
    IFF_LOOPBACK: u32 = 0x8;
    IFF_RUNNING: u32 = 0x40;
    IFF_NOARP: u32 = 0x80;
    IFF_PROMISC: u32 = 0x100;
    IFF_LOWER_UP: u32 = 0x10000;

    IFA_ADDRESS: u16 = 1;
    IFA_LOCAL: u16 = 2;
    IFA_FLAGS: u16 = 8;
    IFA_F_NODAD: u32 = 0x02;
    IFA_F_TENTATIVE: u32 = 0x40;

    RTA_DST: u16 = 1;
    RTA_OIF: u16 = 4;
    RTA_GATEWAY: u16 = 5;
    RTA_TABLE: u16 = 15;
    RTN_LOCAL: u8 = 2;

    RTM_NEWNEIGHTBL: u16 = 64;
    RTM_GETNEIGHTBL: u16 = 66;
    NDTA_NAME: u16 = 1;
    NDTA_THRESH1: u16 = 2;
    NDTA_THRESH2: u16 = 3;
    NDTA_THRESH3: u16 = 4;
    NDTA_CONFIG: u16 = 5;

    NDA_DST: u16 = 1;
    NDA_LLADDR: u16 = 2;
    NUD_PERMANENT: u16 = 0x80;

    AF_UNSPEC: u8 = 0;
    AF_INET: u8 = 2;
    AF_INET6: u8 = 10;

    GENL_ID_CTRL: u16 = 16;
    CTRL_CMD_GETFAMILY: u8 = 3;
    CTRL_ATTR_FAMILY_ID: u16 = 1;
    CTRL_ATTR_FAMILY_NAME: u16 = 2;

    ETHTOOL_MSG_FEATURES_GET: u8 = 11;
    ETHTOOL_MSG_FEATURES_SET: u8 = 12;
    ETHTOOL_MSG_RINGS_GET: u8 = 15;
    ETHTOOL_MSG_CHANNELS_GET: u8 = 17;
    ETHTOOL_MSG_COALESCE_GET: u8 = 19;
    ETHTOOL_MSG_TSINFO_GET: u8 = 25;
    ETHTOOL_A_HEADER_DEV_NAME: u16 = 2;
    ETHTOOL_A_FEATURES_HEADER: u16 = 1;
    ETHTOOL_A_FEATURES_HW: u16 = 2;
    ETHTOOL_A_FEATURES_WANTED: u16 = 3;
    ETHTOOL_A_FEATURES_ACTIVE: u16 = 4;
    ETHTOOL_A_FEATURES_NOCHANGE: u16 = 5;
    ETHTOOL_A_BITSET_NOMASK: u16 = 1;
    ETHTOOL_A_BITSET_BITS: u16 = 3;
    ETHTOOL_A_BITSET_BITS_BIT: u16 = 1;
    ETHTOOL_A_BITSET_BIT_NAME: u16 = 2;
    ETHTOOL_A_BITSET_BIT_VALUE: u16 = 3;
    ETHTOOL_A_RINGS_RX_MAX: u16 = 2;
    ETHTOOL_A_RINGS_TX_MAX: u16 = 5;
    ETHTOOL_A_RINGS_RX: u16 = 6;
    ETHTOOL_A_RINGS_TX: u16 = 9;
    ETHTOOL_A_CHANNELS_RX_MAX: u16 = 2;
    ETHTOOL_A_CHANNELS_COMBINED_MAX: u16 = 5;
    ETHTOOL_A_CHANNELS_RX_COUNT: u16 = 6;
    ETHTOOL_A_CHANNELS_COMBINED_COUNT: u16 = 9;
    ETHTOOL_A_COALESCE_RX_USECS: u16 = 2;
    ETHTOOL_A_COALESCE_RX_MAX_FRAMES: u16 = 3;
    ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX: u16 = 11;
    ETHTOOL_A_TSINFO_TIMESTAMPING: u16 = 2;
    ETHTOOL_A_TSINFO_TX_TYPES: u16 = 3;
    ETHTOOL_A_TSINFO_RX_FILTERS: u16 = 4;
    ETHTOOL_A_TSINFO_PHC_INDEX: u16 = 5;
}

#[cfg(test)]
mod tests {
    use super::ALL;
    use std::process::Command;

    const HEADERS: &str = "sys/socket.h net/if_arp.h linux/if.h linux/netlink.h linux/rtnetlink.h \
        linux/if_link.h linux/if_addr.h linux/neighbour.h linux/veth.h linux/genetlink.h \
        linux/ethtool_netlink.h";

    /// The oracle is the C compiler reading the system's kernel headers.
    #[test]
    fn every_number_is_that_of_the_headers() {
        let includes = HEADERS
            .split_whitespace()
            .map(|header| format!("#include <{header}>"));
        let prints = ALL
            .iter()
            .map(|(name, _)| format!("printf(\"{name} %llu\\n\", (unsigned long long)({name}));"));
        let lines: Vec<_> = ["#include <stdio.h>".into()]
            .into_iter()
            .chain(includes)
            .chain(["int main(void) {".into()])
            .chain(prints)
            .chain(["}".into()])
            .collect();
        let source = lines.join("\n");
        let folder = tempfile::tempdir().expect("a folder for the program");
        let (program, text) = (
            folder.path().join("numbers"),
            folder.path().join("numbers.c"),
        );
        std::fs::write(&text, source).expect("the program's source");
        let status = Command::new("cc")
            .arg("-o")
            .arg(&program)
            .arg(&text)
            .status();
        assert!(
            status
                .expect("a C compiler (Debian: gcc, libc6-dev)")
                .success()
        );
        let output = Command::new(&program)
            .output()
            .expect("the program runs")
            .stdout;
        let output = String::from_utf8(output).expect("text");
        let ours = ALL.iter().map(|(name, value)| format!("{name} {value}"));
        assert_eq!(ours.collect::<Vec<_>>(), output.lines().collect::<Vec<_>>());
    }
}
