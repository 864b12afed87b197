use crate::table::names;
use crate::uapi::{
    RT_TABLE_DEFAULT, RT_TABLE_LOCAL, RT_TABLE_MAIN, RT_TABLE_UNSPEC, RTN_ANYCAST, RTN_BLACKHOLE,
    RTN_BROADCAST, RTN_LOCAL, RTN_MULTICAST, RTN_NAT, RTN_PROHIBIT, RTN_THROW, RTN_UNICAST,
    RTN_UNREACHABLE, RTN_UNSPEC, RTN_XRESOLVE, RTPROT_BABEL, RTPROT_BGP, RTPROT_BIRD, RTPROT_BOOT,
    RTPROT_DHCP, RTPROT_DNROUTED, RTPROT_EIGRP, RTPROT_GATED, RTPROT_ISIS, RTPROT_KEEPALIVED,
    RTPROT_KERNEL, RTPROT_MRT, RTPROT_NTK, RTPROT_OPENR, RTPROT_OSPF, RTPROT_RA, RTPROT_REDIRECT,
    RTPROT_RIP, RTPROT_STATIC, RTPROT_UNSPEC, RTPROT_XORP, RTPROT_ZEBRA,
};

names! {
    /// What becomes of a packet that a route is for (`RTN_*`).
    pub enum RouteType: u8 {
        /// Not said.
        None = RTN_UNSPEC, "none";
        /// It is sent on.
        Unicast = RTN_UNICAST, "unicast";
        /// It is for this host.
        Local = RTN_LOCAL, "local";
        /// It is for this host and others; sent as a broadcast.
        Broadcast = RTN_BROADCAST, "broadcast";
        /// It is for this host; never a source.
        Anycast = RTN_ANYCAST, "anycast";
        /// It is for a group.
        Multicast = RTN_MULTICAST, "multicast";
        /// It is dropped in silence.
        Blackhole = RTN_BLACKHOLE, "blackhole";
        /// It is answered by ICMP: host unreachable.
        Unreachable = RTN_UNREACHABLE, "unreachable";
        /// It is answered by ICMP: prohibited.
        Prohibit = RTN_PROHIBIT, "prohibit";
        /// The next rule is tried.
        Throw = RTN_THROW, "throw";
        /// Its address is translated; no kernel does so today.
        Nat = RTN_NAT, "nat";
        /// A program decides; no kernel asks one today.
        Xresolve = RTN_XRESOLVE, "xresolve";
    }
}

names! {
    /// Who has made a route, nexthop or rule (`RTPROT_*`), as `/etc/iproute2/rt_protos` has it.
    pub enum RouteProtocol: u8 {
        /// Not said.
        Unspec = RTPROT_UNSPEC, "unspec";
        /// An ICMP redirect.
        Redirect = RTPROT_REDIRECT, "redirect";
        /// The kernel.
        Kernel = RTPROT_KERNEL, "kernel";
        /// Somebody when the machine was started; `ip(8)` where nothing else is said.
        Boot = RTPROT_BOOT, "boot";
        /// An administrator.
        Static = RTPROT_STATIC, "static";
        /// GateD.
        Gated = RTPROT_GATED, "gated";
        /// A router advertisement.
        Ra = RTPROT_RA, "ra";
        /// Merit MRT.
        Mrt = RTPROT_MRT, "mrt";
        /// Zebra (FRR).
        Zebra = RTPROT_ZEBRA, "zebra";
        /// BIRD.
        Bird = RTPROT_BIRD, "bird";
        /// The DECnet daemon.
        Dnrouted = RTPROT_DNROUTED, "dnrouted";
        /// XORP.
        Xorp = RTPROT_XORP, "xorp";
        /// Netsukuku.
        Ntk = RTPROT_NTK, "ntk";
        /// A DHCP client.
        Dhcp = RTPROT_DHCP, "dhcp";
        /// Keepalived.
        Keepalived = RTPROT_KEEPALIVED, "keepalived";
        /// Babel.
        Babel = RTPROT_BABEL, "babel";
        /// Open/R.
        Openr = RTPROT_OPENR, "openr";
        /// BGP.
        Bgp = RTPROT_BGP, "bgp";
        /// IS-IS.
        Isis = RTPROT_ISIS, "isis";
        /// OSPF.
        Ospf = RTPROT_OSPF, "ospf";
        /// RIP.
        Rip = RTPROT_RIP, "rip";
        /// EIGRP.
        Eigrp = RTPROT_EIGRP, "eigrp";
    }
}

names! {
    /// A table of routes.
    pub enum RouteTable: u32 {
        /// All of them; in a rule, none.
        Unspec = RT_TABLE_UNSPEC, "unspec";
        /// The one looked at last.
        Default = RT_TABLE_DEFAULT, "default";
        /// The usual one.
        Main = RT_TABLE_MAIN, "main";
        /// Addresses of this host and broadcasts, which the kernel keeps.
        Local = RT_TABLE_LOCAL, "local";
    }
}

names! {
    /// Which of several routers is preferred (RFC 4191); IPv6 only.
    pub enum RoutePreference: u8 {
        /// As usual.
        Medium = 0, "medium";
        /// Before the others.
        High = 1, "high";
        /// Not to be used.
        Invalid = 2, "invalid";
        /// After the others.
        Low = 3, "low";
    }
}
