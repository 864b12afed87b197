//! Numbers of the kernel's netlink headers.
//!
//! Most come from the bindings of `linux-raw-sys`. Attribute tables use them directly and cast them.

macro_rules! numbers {
    ($($name:ident = $value:expr,)*) => {
        $(pub(crate) const $name: u32 = $value;)*
        #[cfg(test)]
        pub(super) const ABSENT_FROM_BINDINGS: &[(&str, u32)] = &[$((stringify!($name), $value)),*];
    };
}

/// All numbers, as the headers have them.
mod headers {
    pub(crate) use linux_raw_sys::netlink::nlmsgerr_attrs::*;
    pub(crate) use linux_raw_sys::netlink::rt_class_t::*;
    pub(crate) use linux_raw_sys::netlink::rt_scope_t::*;
    pub(crate) use linux_raw_sys::netlink::rtattr_type_t::*;
    pub(crate) use linux_raw_sys::netlink::rtnetlink_groups::*;
    pub(crate) use linux_raw_sys::netlink::*;

    numbers! {
        // Sockets.
        SOL_NETLINK = 270,
        // Address families.
        AF_UNSPEC = 0, AF_INET = 2, AF_BRIDGE = 7, AF_INET6 = 10,
        // Links.
        VETH_INFO_PEER = 1, IFF_UP = 1, IFF_LOOPBACK = 8, IFF_RUNNING = 64, IFF_NOARP = 128,
        IFF_PROMISC = 0x100, IFF_ALLMULTI = 0x200, IFF_MULTICAST = 0x1000, IFF_DYNAMIC = 0x8000,
        IFF_LOWER_UP = 0x1_0000,
        // Tunnels.
        IFLA_GRE_LINK = 1, IFLA_GRE_IFLAGS = 2, IFLA_GRE_OFLAGS = 3, IFLA_GRE_IKEY = 4,
        IFLA_GRE_OKEY = 5, IFLA_GRE_LOCAL = 6, IFLA_GRE_REMOTE = 7, IFLA_GRE_TTL = 8, IFLA_GRE_TOS = 9,
        IFLA_GRE_PMTUDISC = 10, IFLA_GRE_ENCAP_LIMIT = 11, IFLA_GRE_FLOWINFO = 12, IFLA_GRE_FLAGS = 13,
        IFLA_GRE_ENCAP_TYPE = 14, IFLA_GRE_ENCAP_FLAGS = 15, IFLA_GRE_ENCAP_SPORT = 16,
        IFLA_GRE_ENCAP_DPORT = 17, IFLA_GRE_COLLECT_METADATA = 18, IFLA_GRE_IGNORE_DF = 19,
        IFLA_GRE_FWMARK = 20, IFLA_IPTUN_LINK = 1, IFLA_IPTUN_LOCAL = 2, IFLA_IPTUN_REMOTE = 3,
        IFLA_IPTUN_TTL = 4, IFLA_IPTUN_TOS = 5, IFLA_IPTUN_ENCAP_LIMIT = 6, IFLA_IPTUN_FLOWINFO = 7,
        IFLA_IPTUN_FLAGS = 8, IFLA_IPTUN_PROTO = 9, IFLA_IPTUN_PMTUDISC = 10,
        IFLA_IPTUN_6RD_PREFIX = 11, IFLA_IPTUN_6RD_RELAY_PREFIX = 12, IFLA_IPTUN_6RD_PREFIXLEN = 13,
        IFLA_IPTUN_6RD_RELAY_PREFIXLEN = 14, IFLA_IPTUN_ENCAP_TYPE = 15, IFLA_IPTUN_ENCAP_FLAGS = 16,
        IFLA_IPTUN_ENCAP_SPORT = 17, IFLA_IPTUN_ENCAP_DPORT = 18, IFLA_IPTUN_COLLECT_METADATA = 19,
        IFLA_IPTUN_FWMARK = 20,
        // Extended statistics.
        BRIDGE_XSTATS_MCAST = 2, BRIDGE_XSTATS_STP = 4, BOND_XSTATS_3AD = 1,
        BOND_3AD_STAT_LACPDU_RX = 0, BOND_3AD_STAT_LACPDU_TX = 1, BOND_3AD_STAT_LACPDU_UNKNOWN_RX = 2,
        BOND_3AD_STAT_LACPDU_ILLEGAL_RX = 3, BOND_3AD_STAT_MARKER_RX = 4, BOND_3AD_STAT_MARKER_TX = 5,
        BOND_3AD_STAT_MARKER_RESP_RX = 6, BOND_3AD_STAT_MARKER_RESP_TX = 7,
        BOND_3AD_STAT_MARKER_UNKNOWN_RX = 8,
        // Flags of route lookups.
        RTCF_NOTIFY = 0x1_0000, RTCF_REDIRECTED = 0x4_0000, RTCF_DOREDIRECT = 0x100_0000,
        RTCF_BROADCAST = 0x1000_0000, RTCF_MULTICAST = 0x2000_0000, RTCF_LOCAL = 0x8000_0000,
        // Encapsulation by routes.
        LWTUNNEL_ENCAP_MPLS = 1, LWTUNNEL_ENCAP_IP = 2, LWTUNNEL_ENCAP_IP6 = 4, LWTUNNEL_ENCAP_SEG6 = 5,
        MPLS_IPTUNNEL_DST = 1, MPLS_IPTUNNEL_TTL = 2, LWTUNNEL_IP_ID = 1, LWTUNNEL_IP_DST = 2,
        LWTUNNEL_IP_SRC = 3, LWTUNNEL_IP_TTL = 4, LWTUNNEL_IP_TOS = 5, LWTUNNEL_IP_FLAGS = 6,
        LWTUNNEL_IP6_ID = 1, LWTUNNEL_IP6_DST = 2, LWTUNNEL_IP6_SRC = 3, LWTUNNEL_IP6_HOPLIMIT = 4,
        LWTUNNEL_IP6_TC = 5, LWTUNNEL_IP6_FLAGS = 6, SEG6_IPTUNNEL_SRH = 1, SEG6_IPTUN_MODE_INLINE = 0,
        SEG6_IPTUN_MODE_ENCAP = 1, SEG6_IPTUN_MODE_L2ENCAP = 2, SEG6_IPTUN_MODE_ENCAP_RED = 3,
        SEG6_IPTUN_MODE_L2ENCAP_RED = 4,
        // Nexthop objects.
        NHA_ID = 1, NHA_GROUP = 2, NHA_GROUP_TYPE = 3, NHA_BLACKHOLE = 4, NHA_OIF = 5, NHA_GATEWAY = 6,
        NHA_ENCAP_TYPE = 7, NHA_ENCAP = 8, NHA_GROUPS = 9, NHA_MASTER = 10, NHA_FDB = 11,
        NHA_RES_GROUP = 12, NHA_RES_GROUP_BUCKETS = 1, NHA_RES_GROUP_IDLE_TIMER = 2,
        NHA_RES_GROUP_UNBALANCED_TIMER = 3, NHA_RES_GROUP_UNBALANCED_TIME = 4,
        NEXTHOP_GRP_TYPE_MPATH = 0, NEXTHOP_GRP_TYPE_RES = 1,
        // VLANs and multicast groups of bridges.
        IFLA_BRIDGE_FLAGS = 0, IFLA_BRIDGE_VLAN_INFO = 2, BRIDGE_FLAGS_MASTER = 1,
        BRIDGE_FLAGS_SELF = 2, BRIDGE_VLAN_INFO_PVID = 2, BRIDGE_VLAN_INFO_UNTAGGED = 4,
        BRIDGE_VLAN_INFO_RANGE_BEGIN = 8, BRIDGE_VLAN_INFO_RANGE_END = 16,
        BRIDGE_VLAN_INFO_ONLY_OPTS = 64, BRIDGE_VLANDB_DUMP_FLAGS = 1, BRIDGE_VLANDB_DUMPF_STATS = 1,
        BRIDGE_VLANDB_ENTRY = 1, BRIDGE_VLANDB_ENTRY_INFO = 1, BRIDGE_VLANDB_ENTRY_RANGE = 2,
        BRIDGE_VLANDB_ENTRY_STATE = 3, BRIDGE_VLANDB_ENTRY_STATS = 5,
        BRIDGE_VLANDB_ENTRY_MCAST_ROUTER = 6, BRIDGE_VLANDB_STATS_RX_BYTES = 1,
        BRIDGE_VLANDB_STATS_RX_PACKETS = 2, BRIDGE_VLANDB_STATS_TX_BYTES = 3,
        BRIDGE_VLANDB_STATS_TX_PACKETS = 4, MDBA_MDB = 1, MDBA_MDB_ENTRY = 1, MDBA_MDB_ENTRY_INFO = 1,
        MDBA_MDB_EATTR_TIMER = 1, MDBA_MDB_EATTR_SRC_LIST = 2, MDBA_MDB_EATTR_GROUP_MODE = 3,
        MDBA_MDB_EATTR_SOURCE = 4, MDBA_MDB_EATTR_RTPROT = 5, MDBA_MDB_SRCLIST_ENTRY = 1,
        MDBA_MDB_SRCATTR_ADDRESS = 1, MDBA_MDB_SRCATTR_TIMER = 2, MDBA_SET_ENTRY = 1,
        MDBA_SET_ENTRY_ATTRS = 2, MDBE_ATTR_SOURCE = 1, MDB_TEMPORARY = 0, MDB_PERMANENT = 1,
        MDB_FLAGS_OFFLOAD = 1, MDB_FLAGS_FAST_LEAVE = 2, MDB_FLAGS_STAR_EXCL = 4, MDB_FLAGS_BLOCKED = 8,
        // Namespace ids.
        NETNSA_NSID = 1, NETNSA_PID = 2, NETNSA_FD = 3, NETNSA_TARGET_NSID = 4, NETNSA_CURRENT_NSID = 5,
        // Generic netlink: the controller and the ethtool family.
        GENL_ID_CTRL = 16, CTRL_CMD_GETFAMILY = 3, CTRL_ATTR_FAMILY_ID = 1, CTRL_ATTR_FAMILY_NAME = 2,
        ETHTOOL_MSG_FEATURES_GET = 11, ETHTOOL_MSG_FEATURES_SET = 12, ETHTOOL_MSG_RINGS_GET = 15,
        ETHTOOL_MSG_RINGS_SET = 16, ETHTOOL_MSG_CHANNELS_GET = 17, ETHTOOL_MSG_CHANNELS_SET = 18,
        ETHTOOL_MSG_COALESCE_GET = 19, ETHTOOL_MSG_COALESCE_SET = 20, ETHTOOL_MSG_TSINFO_GET = 25,
        ETHTOOL_A_HEADER_DEV_NAME = 2, ETHTOOL_A_FEATURES_HEADER = 1, ETHTOOL_A_FEATURES_HW = 2,
        ETHTOOL_A_FEATURES_WANTED = 3, ETHTOOL_A_FEATURES_ACTIVE = 4, ETHTOOL_A_FEATURES_NOCHANGE = 5,
        ETHTOOL_A_BITSET_NOMASK = 1, ETHTOOL_A_BITSET_BITS = 3, ETHTOOL_A_BITSET_BITS_BIT = 1,
        ETHTOOL_A_BITSET_BIT_NAME = 2, ETHTOOL_A_BITSET_BIT_VALUE = 3, ETHTOOL_A_RINGS_RX_MAX = 2,
        ETHTOOL_A_RINGS_RX_MINI_MAX = 3, ETHTOOL_A_RINGS_RX_JUMBO_MAX = 4, ETHTOOL_A_RINGS_TX_MAX = 5,
        ETHTOOL_A_RINGS_RX = 6, ETHTOOL_A_RINGS_RX_MINI = 7, ETHTOOL_A_RINGS_RX_JUMBO = 8,
        ETHTOOL_A_RINGS_TX = 9, ETHTOOL_A_RINGS_RX_BUF_LEN = 10, ETHTOOL_A_CHANNELS_RX_MAX = 2,
        ETHTOOL_A_CHANNELS_TX_MAX = 3, ETHTOOL_A_CHANNELS_OTHER_MAX = 4,
        ETHTOOL_A_CHANNELS_COMBINED_MAX = 5, ETHTOOL_A_CHANNELS_RX_COUNT = 6,
        ETHTOOL_A_CHANNELS_TX_COUNT = 7, ETHTOOL_A_CHANNELS_OTHER_COUNT = 8,
        ETHTOOL_A_CHANNELS_COMBINED_COUNT = 9, ETHTOOL_A_COALESCE_RX_USECS = 2,
        ETHTOOL_A_COALESCE_RX_MAX_FRAMES = 3, ETHTOOL_A_COALESCE_TX_USECS = 6,
        ETHTOOL_A_COALESCE_TX_MAX_FRAMES = 7, ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX = 11,
        ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX = 12, ETHTOOL_A_TSINFO_TIMESTAMPING = 2,
        ETHTOOL_A_TSINFO_TX_TYPES = 3, ETHTOOL_A_TSINFO_RX_FILTERS = 4, ETHTOOL_A_TSINFO_PHC_INDEX = 5,
    }

    // Newer than the headers of Linux 6.1. The tests of groups and of drivers try them on the running kernel.
    // Linux 6.2 (include/uapi/linux/if_bridge.h).
    pub(crate) const MDBE_ATTR_SRC_LIST: u32 = 2;
    pub(crate) const MDBE_ATTR_GROUP_MODE: u32 = 3;
    pub(crate) const MDBE_ATTR_RTPROT: u32 = 4;
    // Linux 6.14 (include/uapi/linux/ethtool_netlink_generated.h).
    pub(crate) const ETHTOOL_MSG_TSCONFIG_GET: u32 = 46;
    pub(crate) const ETHTOOL_MSG_TSCONFIG_SET: u32 = 47;
    pub(crate) const ETHTOOL_A_TSCONFIG_TX_TYPES: u32 = 3;
    pub(crate) const ETHTOOL_A_TSCONFIG_RX_FILTERS: u32 = 4;
    // The attribute of a family within `IFLA_AF_SPEC` is called by the family.
    pub(crate) const AF_INET6_SPEC: u32 = AF_INET6;
}

pub(crate) use headers::*;

macro_rules! typed {
    ($($type:ty: { $($name:ident,)* })*) => {
        $($(
            #[allow(clippy::cast_possible_wrap, reason = "options of sockets are small")]
            pub(crate) const $name: $type = headers::$name as $type;
        )*)*
    };
}

// The numbers that code uses by name, as wide as the messages have them.
typed! {
    u8: {
        AF_UNSPEC, AF_INET, AF_BRIDGE, AF_INET6, NTF_USE, NTF_SELF, NTF_MASTER, NTF_PROXY,
        NTF_EXT_LEARNED, NTF_OFFLOADED, NTF_STICKY, CTRL_CMD_GETFAMILY, ETHTOOL_MSG_FEATURES_GET,
        ETHTOOL_MSG_FEATURES_SET, ETHTOOL_MSG_RINGS_GET, ETHTOOL_MSG_RINGS_SET,
        ETHTOOL_MSG_CHANNELS_GET, ETHTOOL_MSG_CHANNELS_SET, ETHTOOL_MSG_COALESCE_GET,
        ETHTOOL_MSG_COALESCE_SET, ETHTOOL_MSG_TSINFO_GET, ETHTOOL_MSG_TSCONFIG_GET,
        ETHTOOL_MSG_TSCONFIG_SET,
    }
    u16: {
        NLMSG_NOOP, NLMSG_ERROR, NLMSG_DONE, NLMSG_OVERRUN, NLMSG_MIN_TYPE, NLM_F_REQUEST,
        NLM_F_MULTI, NLM_F_ACK, NLM_F_ECHO, NLM_F_DUMP_INTR, NLM_F_DUMP_FILTERED, NLM_F_DUMP,
        NLM_F_CAPPED, NLM_F_ACK_TLVS, NLM_F_REPLACE, NLM_F_EXCL, NLM_F_BULK, NLM_F_CREATE,
        NLM_F_APPEND, NLA_F_NESTED, NLA_F_NET_BYTEORDER, NLMSGERR_ATTR_MSG, NLMSGERR_ATTR_OFFS,
        NLMSGERR_ATTR_MISS_TYPE, NLMSGERR_ATTR_MISS_NEST, RTM_NEWLINK, RTM_DELLINK, RTM_SETLINK,
        RTM_NEWLINKPROP, RTM_DELLINKPROP, IFLA_IFNAME, IFLA_MTU, IFLA_LINKINFO, IFLA_AF_SPEC,
        IFLA_ALT_IFNAME, IFLA_INFO_KIND, IFLA_INFO_DATA, IFLA_INFO_SLAVE_KIND, IFLA_INFO_SLAVE_DATA,
        IFLA_MACVLAN_MACADDR, IFLA_VLAN_QOS_MAPPING, RTM_NEWSTATS, RTM_GETSTATS, IFLA_STATS_LINK_64,
        IFLA_STATS_LINK_XSTATS, IFLA_STATS_LINK_XSTATS_SLAVE, RTM_NEWADDR, RTM_DELADDR,
        IFA_CACHEINFO, IFA_FLAGS, RTM_NEWROUTE, RTM_GETROUTE, RTA_DST, RTA_SRC, RTA_OIF,
        RTA_GATEWAY, RTA_PRIORITY, RTA_CACHEINFO, RTA_TABLE, RTA_ENCAP_TYPE, RTAX_MTU, RTAX_WINDOW,
        RTAX_RTT, RTAX_RTTVAR, RTAX_SSTHRESH, RTAX_CWND, RTAX_ADVMSS, RTAX_REORDERING,
        RTAX_HOPLIMIT, RTAX_INITCWND, RTAX_RTO_MIN, RTAX_INITRWND, RTAX_QUICKACK,
        RTAX_FASTOPEN_NO_COOKIE, LWTUNNEL_ENCAP_MPLS, LWTUNNEL_ENCAP_IP, LWTUNNEL_ENCAP_IP6,
        LWTUNNEL_ENCAP_SEG6, SEG6_IPTUNNEL_SRH, RTM_NEWNEXTHOP, RTM_DELNEXTHOP, RTM_GETNEXTHOP,
        NHA_ID, NHA_GROUP_TYPE, NHA_OIF, NHA_ENCAP_TYPE, NHA_GROUPS, NHA_MASTER, RTM_NEWRULE,
        RTM_GETRULE, FRA_DST, FRA_SRC, FRA_SUPPRESS_IFGROUP, FRA_SUPPRESS_PREFIXLEN, RTM_NEWNEIGH,
        RTM_DELNEIGH, RTM_GETNEIGH, RTM_NEWNEIGHTBL, RTM_GETNEIGHTBL, NDTA_NAME, NDTA_THRESH1,
        NDTA_THRESH2, NDTA_THRESH3, NDTA_CONFIG, NDA_DST, NDA_CACHEINFO, NDA_IFINDEX, NDA_MASTER,
        NDA_FLAGS_EXT, NDA_NDM_STATE_MASK, NDA_NDM_FLAGS_MASK, NUD_REACHABLE, NUD_STALE, NUD_NOARP,
        NUD_PERMANENT, RTM_NEWMDB, RTM_NEWVLAN, RTM_GETVLAN, IFLA_BRIDGE_FLAGS,
        IFLA_BRIDGE_VLAN_INFO, BRIDGE_FLAGS_MASTER, BRIDGE_FLAGS_SELF, BRIDGE_VLAN_INFO_RANGE_BEGIN,
        BRIDGE_VLAN_INFO_RANGE_END, BRIDGE_VLAN_INFO_ONLY_OPTS, BRIDGE_VLANDB_DUMP_FLAGS,
        BRIDGE_VLANDB_ENTRY, BRIDGE_VLANDB_ENTRY_INFO, BRIDGE_VLANDB_ENTRY_RANGE, MDBA_MDB,
        MDBA_MDB_ENTRY, MDBA_MDB_ENTRY_INFO, MDBA_MDB_SRCLIST_ENTRY, MDBA_MDB_SRCATTR_ADDRESS,
        MDBA_MDB_SRCATTR_TIMER, MDBA_SET_ENTRY, MDBA_SET_ENTRY_ATTRS, MDBE_ATTR_SOURCE,
        MDBE_ATTR_SRC_LIST, MDBE_ATTR_GROUP_MODE, MDBE_ATTR_RTPROT, RTM_NEWNSID, GENL_ID_CTRL,
        CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME, ETHTOOL_A_HEADER_DEV_NAME,
        ETHTOOL_A_FEATURES_HEADER, ETHTOOL_A_FEATURES_HW, ETHTOOL_A_FEATURES_WANTED,
        ETHTOOL_A_FEATURES_ACTIVE, ETHTOOL_A_FEATURES_NOCHANGE, ETHTOOL_A_BITSET_NOMASK,
        ETHTOOL_A_BITSET_BITS, ETHTOOL_A_BITSET_BITS_BIT, ETHTOOL_A_BITSET_BIT_NAME,
        ETHTOOL_A_BITSET_BIT_VALUE, ETHTOOL_A_TSINFO_TIMESTAMPING, ETHTOOL_A_TSINFO_TX_TYPES,
        ETHTOOL_A_TSINFO_RX_FILTERS, ETHTOOL_A_TSINFO_PHC_INDEX, ETHTOOL_A_TSCONFIG_TX_TYPES,
        ETHTOOL_A_TSCONFIG_RX_FILTERS,
    }
    u32: {
        RTNLGRP_LINK, RTEXT_FILTER_VF, RTEXT_FILTER_BRVLAN, RTEXT_FILTER_BRVLAN_COMPRESSED,
        RTEXT_FILTER_SKIP_STATS, RTEXT_FILTER_MRP, RTEXT_FILTER_CFM_CONFIG, RTEXT_FILTER_CFM_STATUS,
        RTEXT_FILTER_MST, IFF_UP, IFF_LOOPBACK, IFF_RUNNING, IFF_NOARP, IFF_PROMISC, IFF_LOWER_UP,
        RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, IFA_F_NODAD, IFA_F_OPTIMISTIC, IFA_F_HOMEADDRESS,
        IFA_F_MANAGETEMPADDR, IFA_F_NOPREFIXROUTE, IFA_F_MCAUTOJOIN, RTNLGRP_IPV4_ROUTE,
        RTNLGRP_IPV6_ROUTE, RTM_F_CLONED, RTM_F_LOOKUP_TABLE, RTM_F_FIB_MATCH, RTNLGRP_NEXTHOP,
        RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, FIB_RULE_INVERT, RTNLGRP_NEIGH, NTF_EXT_MANAGED,
        RTNLGRP_MDB, RTNLGRP_BRVLAN, BRIDGE_VLANDB_DUMPF_STATS, RTNLGRP_NSID,
    }
    i32: {
        SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, NETLINK_CAP_ACK, NETLINK_EXT_ACK,
        NETLINK_GET_STRICT_CHK,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::headers::ABSENT_FROM_BINDINGS;

    const HEADERS: &str = "sys/socket.h linux/if.h linux/netlink.h linux/rtnetlink.h linux/if_link.h \
        linux/if_tunnel.h linux/veth.h linux/genetlink.h linux/ethtool_netlink.h linux/nexthop.h \
        linux/lwtunnel.h linux/seg6_iptunnel.h linux/mpls_iptunnel.h linux/if_bridge.h linux/if_bonding.h \
        linux/net_namespace.h linux/in_route.h";

    /// The oracle is the C compiler reading the system's kernel headers.
    #[test]
    fn every_number_is_that_of_the_headers() {
        let mut source = "#include <stdio.h>\n".to_owned();
        for header in HEADERS.split_whitespace() {
            source.extend(["#include <", header, ">\n"]);
        }
        source += "int main(void) {\n";
        for (name, _) in ABSENT_FROM_BINDINGS {
            source.extend(["printf(\"", name, " %u\\n\", (unsigned)(", name, "));\n"]);
        }
        source += "}\n";
        let folder = tempfile::tempdir().expect("a folder for the program");
        let program = folder.path().join("numbers");
        let text = folder.path().join("numbers.c");
        std::fs::write(&text, source).expect("the program's source");
        let status = Command::new("cc")
            .arg("-o")
            .args([&program, &text])
            .status();
        let status = status.expect("a C compiler (Debian: gcc, libc6-dev)");
        assert!(status.success());
        let output = Command::new(&program).output().expect("the program runs");
        let output = String::from_utf8(output.stdout).expect("text");
        let ours = ABSENT_FROM_BINDINGS
            .iter()
            .map(|(name, value)| format!("{name} {value}"));
        assert_eq!(ours.collect::<Vec<_>>(), output.lines().collect::<Vec<_>>());
    }
}
