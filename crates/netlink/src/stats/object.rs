use super::{MulticastStatistics, StpStatistics};
use crate::codec::{Malformed, Request, attributes, split};
use crate::error::Subject;
use crate::interface::IfIndex;
use crate::link::LinkStatistics;
use crate::object::{Messages, Object, Unfit, Verb};
use crate::table::{Entry, Nested, Table, attributes as table};
use crate::uapi::{
    AF_UNSPEC, IFLA_STATS_LINK_64, IFLA_STATS_LINK_XSTATS, IFLA_STATS_LINK_XSTATS_SLAVE,
    RTM_GETSTATS, RTM_NEWSTATS,
};

/// Length of `struct if_stats_msg`.
const HEADER_BYTES: usize = 12;

table! {
    /// Counters of a link. A question is for those that it gives (`Default::default()` will do), and for
    /// `stats64` where it gives none.
    ///
    /// Equals `ip stats show [dev DEV] group …`. Nothing is told of links without such counters.
    ///
    /// # Source
    /// `rtnl_fill_statsinfo`, net/core/rtnetlink.c.
    pub struct Stats {
        @header {
            /// The link.
            "dev" dev: IfIndex;
        }
        /// What every link counts.
        stats64: LinkStatistics = IFLA_STATS_LINK_64;
        /// What its kind counts.
        xstats: KindStatistics as Nested = IFLA_STATS_LINK_XSTATS;
        /// What the link that it belongs to counts of it.
        xstats_slave: KindStatistics as Nested = IFLA_STATS_LINK_XSTATS_SLAVE;
    }
}

table! {
    /// What a kind of link counts.
    pub struct KindStatistics {
        /// Of a bridge or a port of one.
        bridge: BridgeStatistics as Nested = LINK_XSTATS_TYPE_BRIDGE;
        /// Of a bond or a part of one.
        bond: BondStatistics as Nested = LINK_XSTATS_TYPE_BOND;
    }
}

table! {
    /// What a bridge counts, of itself or of a port.
    pub struct BridgeStatistics {
        /// IGMP and MLD.
        mcast: MulticastStatistics = BRIDGE_XSTATS_MCAST;
        /// The spanning tree.
        stp: StpStatistics = BRIDGE_XSTATS_STP;
    }
}

table! {
    /// What a bond counts, of itself or of a part.
    pub struct BondStatistics {
        /// LACP (IEEE 802.3ad).
        #[serde(rename = "802.3ad")]
        lacp: LacpStatistics as Nested = BOND_XSTATS_3AD;
    }
}

table! {
    /// Packets of LACP.
    pub struct LacpStatistics {
        /// LACPDUs received.
        lacpdu_rx: u64 = BOND_3AD_STAT_LACPDU_RX;
        /// LACPDUs sent.
        lacpdu_tx: u64 = BOND_3AD_STAT_LACPDU_TX;
        /// LACPDUs of an unknown kind received.
        lacpdu_unknown_rx: u64 = BOND_3AD_STAT_LACPDU_UNKNOWN_RX;
        /// LACPDUs that could not be read.
        lacpdu_illegal_rx: u64 = BOND_3AD_STAT_LACPDU_ILLEGAL_RX;
        /// Markers received.
        marker_rx: u64 = BOND_3AD_STAT_MARKER_RX;
        /// Markers sent.
        marker_tx: u64 = BOND_3AD_STAT_MARKER_TX;
        /// Answers to markers received.
        marker_resp_rx: u64 = BOND_3AD_STAT_MARKER_RESP_RX;
        /// Answers to markers sent.
        marker_resp_tx: u64 = BOND_3AD_STAT_MARKER_RESP_TX;
        /// Markers of an unknown kind received.
        marker_unknown_rx: u64 = BOND_3AD_STAT_MARKER_UNKNOWN_RX;
    }
}

impl Object for Stats {
    type Key = IfIndex;

    const MESSAGES: Messages = Messages {
        new: RTM_NEWSTATS,
        // Counters are never removed.
        del: 0,
        get: RTM_GETSTATS,
    };
    const HEADER_BYTES: usize = HEADER_BYTES;
    const GROUPS: &'static [u32] = &[];
    const HAS_GET: bool = true;

    fn entries() -> &'static [Entry] {
        <Self as Table>::entries()
    }

    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        let dev = match (verb, self.dev) {
            (Verb::Get, Some(dev)) => dev,
            (Verb::Get, None) => return Err(Unfit::new("no interface is given for the counters")),
            (Verb::List, _) => IfIndex(0),
            _ => return Err(Unfit::new("counters are told, not made")),
        };
        let mut header = [0; HEADER_BYTES];
        header[0] = AF_UNSPEC;
        header[4..8].copy_from_slice(&dev.0.to_ne_bytes());
        header[8..].copy_from_slice(&self.chosen().to_ne_bytes());
        request.begin(RTM_GETSTATS, verb.flags(), &header);
        Ok(())
    }

    fn parse_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = split::<HEADER_BYTES>("statistics header", 0, body)?;
        let [_, _, _, _, i0, i1, i2, i3, ..] = *header;
        self.clear();
        self.dev = Some(IfIndex(u32::from_ne_bytes([i0, i1, i2, i3])));
        for attribute in attributes(rest, HEADER_BYTES) {
            self.take(attribute?)?;
        }
        Ok(true)
    }

    fn key(&self) -> Option<IfIndex> {
        self.dev
    }

    /// By the link: the other fields say what is asked for, not what it is to be.
    fn matches(&self, wanted: &Self) -> bool {
        wanted.dev.is_none() || self.dev == wanted.dev
    }

    fn subject(&self) -> Subject {
        match self.dev {
            Some(dev) => Subject::StatisticsOf(dev),
            None => Subject::Statistics,
        }
    }
}

impl Stats {
    /// The counters of this link.
    pub fn of(dev: IfIndex) -> Self {
        Self::new().dev(dev)
    }

    /// A bit for each group of counters that is asked for (`IFLA_STATS_FILTER_BIT`).
    fn chosen(&self) -> u32 {
        let groups = [
            (IFLA_STATS_LINK_64, self.stats64.is_some()),
            (IFLA_STATS_LINK_XSTATS, self.xstats.is_some()),
            (IFLA_STATS_LINK_XSTATS_SLAVE, self.xstats_slave.is_some()),
        ];
        let asked = groups.into_iter().filter(|(_, asked)| *asked);
        let chosen = asked.fold(0, |chosen, (group, _)| chosen | 1 << (group - 1));
        if chosen == 0 {
            1 << (IFLA_STATS_LINK_64 - 1)
        } else {
            chosen
        }
    }
}
