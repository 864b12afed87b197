//! What the numbers of a bond are called.

use crate::table::names;

names! {
    /// How a bond divides packets among its ports.
    pub enum BondMode: u8 {
        /// By turns.
        BalanceRr = 0, "balance-rr";
        /// All to one, another when that fails.
        ActiveBackup = 1, "active-backup";
        /// By the packet's addresses.
        BalanceXor = 2, "balance-xor";
        /// Each to all.
        Broadcast = 3, "broadcast";
        /// As IEEE 802.3ad has it, by LACP.
        Ieee8023Ad = 4, "802.3ad";
        /// By load, of packets that leave.
        BalanceTlb = 5, "balance-tlb";
        /// By load, of packets that arrive too.
        BalanceAlb = 6, "balance-alb";
    }
}

names! {
    /// At which ports a bond looks at answers to its ARP requests.
    pub enum ArpValidate: u32 {
        /// At none.
        None = 0, "none";
        /// At the one in use.
        Active = 1, "active";
        /// At the others.
        Backup = 2, "backup";
        /// At all.
        All = 3, "all";
        /// At none, and other packets do not count.
        Filter = 4, "filter";
        /// At the one in use, and other packets do not count.
        FilterActive = 5, "filter_active";
        /// At the others, and other packets do not count.
        FilterBackup = 6, "filter_backup";
    }
}

names! {
    /// How many targets have to answer a bond.
    pub enum ArpAllTargets: u32 {
        /// One.
        Any = 0, "any";
        /// All.
        All = 1, "all";
    }
}

names! {
    /// When a bond's preferred port is used again.
    pub enum PrimaryReselect: u8 {
        /// As soon as it works.
        Always = 0, "always";
        /// When it is faster than the one in use.
        Better = 1, "better";
        /// When the one in use fails.
        Failure = 2, "failure";
    }
}

names! {
    /// Whose hardware address a bond's ports have.
    pub enum FailOverMac: u8 {
        /// The bond's.
        None = 0, "none";
        /// Their own; the bond has that of the one in use.
        Active = 1, "active";
        /// The one in use has the bond's.
        Follow = 2, "follow";
    }
}

names! {
    /// By what a bond chooses a packet's port.
    pub enum XmitHashPolicy: u8 {
        /// Hardware addresses.
        Layer2 = 0, "layer2";
        /// IP addresses and ports.
        Layer34 = 1, "layer3+4";
        /// Hardware and IP addresses.
        Layer23 = 2, "layer2+3";
        /// As the former, inside tunnels.
        Encap23 = 3, "encap2+3";
        /// IP addresses and ports, inside tunnels.
        Encap34 = 4, "encap3+4";
        /// VLAN and hardware address of the source.
        VlanSrcMac = 5, "vlan+srcmac";
    }
}

names! {
    /// How often a bond asks the other side to speak.
    pub enum LacpRate: u8 {
        /// Every 30 seconds.
        Slow = 0, "slow";
        /// Every second.
        Fast = 1, "fast";
    }
}

names! {
    /// How a bond chooses its group of ports.
    pub enum AdSelect: u8 {
        /// Another only when the one in use has no port left.
        Stable = 0, "stable";
        /// By bandwidth, when something changes.
        Bandwidth = 1, "bandwidth";
        /// By number of ports, when something changes.
        Count = 2, "count";
    }
}

names! {
    /// Whether a bond uses a port.
    pub enum BondPortState: u8 {
        /// It does.
        Active = 0, "ACTIVE";
        /// It does not.
        Backup = 1, "BACKUP";
    }
}

names! {
    /// What a bond thinks of a port's carrier.
    pub enum MiiStatus: u8 {
        /// It is there.
        Up = 0, "UP";
        /// It has just gone.
        GoingDown = 1, "GOING_DOWN";
        /// It is gone.
        Down = 2, "DOWN";
        /// It has just come.
        GoingBack = 3, "GOING_BACK";
    }
}
