use super::Range;
use crate::interface::IfName;
use crate::prefix::{Family, Prefix};
use crate::route::{RouteProtocol, RouteTable};
use crate::table::{Be, attributes, names};
use crate::uapi::{
    FR_ACT_BLACKHOLE, FR_ACT_GOTO, FR_ACT_NOP, FR_ACT_PROHIBIT, FR_ACT_TO_TBL, FR_ACT_UNREACHABLE,
};

names! {
    /// What a rule does with packets that it is for.
    pub enum RuleAction: u8 {
        /// They are looked up in a table.
        ToTable = FR_ACT_TO_TBL, "to_tbl";
        /// Another rule is next.
        Goto = FR_ACT_GOTO, "goto";
        /// Nothing.
        Nop = FR_ACT_NOP, "nop";
        /// They are dropped in silence.
        Blackhole = FR_ACT_BLACKHOLE, "blackhole";
        /// They are answered by ICMP: network unreachable.
        Unreachable = FR_ACT_UNREACHABLE, "unreachable";
        /// They are answered by ICMP: prohibited.
        Prohibit = FR_ACT_PROHIBIT, "prohibit";
    }
}

attributes! {
    /// A rule: which packets it is for, and in which table they are looked up.
    ///
    /// What is not given is open. Equals `ip rule add [from NETWORK] [iif NAME] … lookup TABLE`.
    ///
    /// # Source
    /// `fib_nl2rule` and `fib_nl_fill_rule`, net/core/fib\_rules.c.
    pub struct Rule {
        @header {
            /// Its family; that of the networks, and else IPv4, if not said.
            family: Family;
            /// Where packets come from.
            "from" src: Prefix;
            /// Where they go to.
            "to" dst: Prefix;
            /// Their type of service.
            "tos" tos: u8;
            /// What it does; to look up in a table if not said.
            action: RuleAction;
            /// Whether it is for packets that are not as said.
            not: bool;
            /// Whether the rule that is next by `goto` is missing. Told only.
            unresolved: bool;
            /// Whether the link they come by is missing. Told only.
            iif_detached: bool;
            /// Whether the link they leave by is missing. Told only.
            oif_detached: bool;
        }
        /// Rules are tried from the least on.
        "priority" priority: u32 = FRA_PRIORITY;
        /// The link that packets come by; `lo` for those of this host.
        "iif" iif: IfName = FRA_IIFNAME;
        /// The link that packets of a bound socket leave by.
        "oif" oif: IfName = FRA_OIFNAME;
        /// Their mark, as far as the mask counts.
        fwmark: u32 = FRA_FWMARK;
        /// Which bits of the mark count.
        fwmask: u32 = FRA_FWMASK;
        /// The table.
        "table" table: RouteTable = FRA_TABLE;
        /// The priority of the rule that is next.
        "goto" goto: u32 = FRA_GOTO;
        /// Whether the table is that of the VRF they are in.
        l3mdev: bool = FRA_L3MDEV;
        /// Users they are of.
        "uidrange" uidrange: Range<u32> = FRA_UID_RANGE;
        /// Their protocol above IP: 6 TCP, 17 UDP.
        "ipproto" ipproto: u8 = FRA_IP_PROTO;
        /// Their source ports.
        "sport" sport: Range<u16> = FRA_SPORT_RANGE;
        /// Their destination ports.
        "dport" dport: Range<u16> = FRA_DPORT_RANGE;
        /// The tunnel they came by.
        "tun_id" tun_id: u64 as Be = FRA_TUN_ID;
        /// A route found that has a prefix of at most so many bits does not count.
        "suppress_prefixlength" suppress_prefixlen: i32 = FRA_SUPPRESS_PREFIXLEN;
        /// A route found by a link of this group does not count.
        "suppress_ifgroup" suppress_ifgroup: i32 = FRA_SUPPRESS_IFGROUP;
        /// Realms: the source's in the upper half, the destination's in the lower.
        flow: u32 = FRA_FLOW;
        /// Who has made it.
        "protocol" protocol: RouteProtocol = FRA_PROTOCOL;
    }
}
