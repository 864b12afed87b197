//! Extended statistics of links.

use crate::header::StatsHeader;
use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request, attributes};
use crate::error::{InvalidRequest, RequestTarget};
use crate::object::Object;
use crate::objects::link::LinkStatistics;
use crate::schema::{
    AttributeCodec, AttributeSet, AttributeType, FieldReader, FieldValue, FieldWriter,
    InvalidField, Native, Nested, Shape, attribute_set,
};
use crate::uapi::{
    AF_UNSPEC, IFLA_STATS_LINK_64, IFLA_STATS_LINK_XSTATS, IFLA_STATS_LINK_XSTATS_SLAVE,
    RTM_GETSTATS, RTM_NEWSTATS,
};
use crate::values::interface::IfIndex;
use crate::verb::{MessageTypes, Verb};

attribute_set! {
    /// Extended statistics of a link. A query requests the groups that it gives, e.g. as `Default::default()`.
    /// Default: `stats64`.
    ///
    /// Equals `ip stats show [dev DEV] group …`. Links without such statistics are omitted.
    ///
    /// # Source
    /// `rtnl_fill_statsinfo`, net/core/rtnetlink.c.
    pub struct Stats {
        @header {
            /// The link.
            "dev" dev: IfIndex;
        }
        /// Statistics of every link.
        stats64: LinkStatistics = IFLA_STATS_LINK_64;
        xstats: KindStatistics as Nested = IFLA_STATS_LINK_XSTATS;
        /// Statistics of its master about it.
        xstats_slave: KindStatistics as Nested = IFLA_STATS_LINK_XSTATS_SLAVE;
    }
}

attribute_set! {
    /// Statistics of a kind of link.
    pub struct KindStatistics {
        /// Of a bridge or bridge port.
        bridge: BridgeStatistics as Nested = LINK_XSTATS_TYPE_BRIDGE;
        /// Of a bond or bond port.
        bond: BondStatistics as Nested = LINK_XSTATS_TYPE_BOND;
    }
}

attribute_set! {
    /// Statistics of a bridge or bridge port.
    pub struct BridgeStatistics {
        /// IGMP and MLD.
        mcast: MulticastStatistics = BRIDGE_XSTATS_MCAST;
        /// Spanning tree.
        stp: StpStatistics = BRIDGE_XSTATS_STP;
    }
}

attribute_set! {
    /// Statistics of a bond or bond port.
    pub struct BondStatistics {
        /// LACP (IEEE 802.3ad).
        #[serde(rename = "802.3ad")]
        lacp: LacpStatistics as Nested = BOND_XSTATS_3AD;
    }
}

attribute_set! {
    /// LACP packet counters.
    pub struct LacpStatistics {
        lacpdu_rx: u64 = BOND_3AD_STAT_LACPDU_RX;
        lacpdu_tx: u64 = BOND_3AD_STAT_LACPDU_TX;
        /// LACPDUs of an unknown kind received.
        lacpdu_unknown_rx: u64 = BOND_3AD_STAT_LACPDU_UNKNOWN_RX;
        /// Invalid LACPDUs received.
        lacpdu_illegal_rx: u64 = BOND_3AD_STAT_LACPDU_ILLEGAL_RX;
        marker_rx: u64 = BOND_3AD_STAT_MARKER_RX;
        marker_tx: u64 = BOND_3AD_STAT_MARKER_TX;
        /// Marker responses received.
        marker_resp_rx: u64 = BOND_3AD_STAT_MARKER_RESP_RX;
        /// Marker responses sent.
        marker_resp_tx: u64 = BOND_3AD_STAT_MARKER_RESP_TX;
        /// Markers of an unknown kind received.
        marker_unknown_rx: u64 = BOND_3AD_STAT_MARKER_UNKNOWN_RX;
    }
}

impl Object for Stats {
    type Key = IfIndex;

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWSTATS);
    const HEADER_BYTES: usize = StatsHeader::BYTES;
    const GROUPS: &'static [u32] = &[];
    const HAS_GET: bool = true;

    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        let dev = match (verb, self.dev) {
            (Verb::Get, Some(dev)) => dev,
            (Verb::Get, None) => {
                return Err(InvalidRequest::new(
                    "no interface is given for the statistics",
                ));
            }
            (Verb::List, _) => IfIndex(0),
            _ => return Err(InvalidRequest::new("statistics are read-only")),
        };
        let header = StatsHeader {
            family: AF_UNSPEC,
            index: dev.0,
            groups: self.chosen(),
        };
        request.begin(RTM_GETSTATS, verb.flags(), &header.emit());
        Ok(())
    }

    fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = StatsHeader::split(body)?;
        self.clear();
        self.dev = Some(IfIndex(header.index));
        for attribute in attributes(rest, StatsHeader::BYTES) {
            self.decode_attribute(attribute?)?;
        }
        Ok(true)
    }

    fn key(&self) -> Option<IfIndex> {
        self.dev
    }

    /// By link: the other fields select groups of statistics.
    fn matches(&self, wanted: &Self) -> bool {
        wanted.dev.is_none() || self.dev == wanted.dev
    }

    fn target(&self) -> RequestTarget {
        match self.dev {
            Some(dev) => RequestTarget::StatisticsOf(dev),
            None => RequestTarget::Statistics,
        }
    }
}

impl Stats {
    /// The statistics of a link.
    pub fn of(dev: IfIndex) -> Self {
        Self::new().dev(dev)
    }

    /// The mask of the requested groups (`IFLA_STATS_FILTER_BIT`).
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

/// Generates a struct of 64-bit counters and its codec; `count` is the minimum number of counters.
macro_rules! counters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident [$count:literal] { $( $(#[$fmeta:meta])* $field:ident = $at:literal ; )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub struct $name { $( $(#[$fmeta])* pub $field: u64, )* }

        impl FieldValue for $name {
            fn shape() -> Shape {
                Shape::Absent
            }

            fn put(&self, _: &mut FieldWriter<'_>) {}

            fn take(_: &[u8], _: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
                Err(InvalidField::new("counters are read-only"))
            }
        }

        impl AttributeCodec<$name> for Native {
            const TYPE: AttributeType = AttributeType::Bytes;

            /// Counters are read-only.
            fn encode(_: &$name, _: u16, _: &mut Request) {}

            fn decode(attribute: Attribute<'_>) -> Result<$name, Malformed> {
                let bytes: [u8; $count * 8] = attribute.array()?;
                let (words, _) = bytes.as_chunks();
                Ok($name { $( $field: u64::from_ne_bytes(words[$at]), )* })
            }
        }
    };
}

counters! {
    /// Spanning tree counters of a port (`struct bridge_stp_xstats`).
    pub struct StpStatistics [6] {
        /// Transitions to blocking.
        transition_blk = 0;
        /// Transitions to forwarding.
        transition_fwd = 1;
        /// Bridge protocol data units received.
        rx_bpdu = 2;
        /// Bridge protocol data units sent.
        tx_bpdu = 3;
        /// Topology change notifications received.
        rx_tcn = 4;
        /// Topology change notifications sent.
        tx_tcn = 5;
    }
}

counters! {
    /// IGMP and MLD counters of a bridge or port; requires `mcast_stats_enabled`
    /// (`struct br_mcast_stats`).
    pub struct MulticastStatistics [30] {
        /// IGMPv1 queries received.
        igmp_v1_queries_rx = 0;
        /// IGMPv2 queries received.
        igmp_v2_queries_rx = 2;
        /// IGMPv3 queries received.
        igmp_v3_queries_rx = 4;
        /// IGMP leaves received.
        igmp_leaves_rx = 6;
        /// IGMPv1 reports received.
        igmp_v1_reports_rx = 8;
        /// IGMPv2 reports received.
        igmp_v2_reports_rx = 10;
        /// IGMPv3 reports received.
        igmp_v3_reports_rx = 12;
        /// Invalid IGMP packets.
        igmp_parse_errors = 14;
        /// MLDv1 queries received.
        mld_v1_queries_rx = 15;
        /// MLDv2 queries received.
        mld_v2_queries_rx = 17;
        /// MLD leaves received.
        mld_leaves_rx = 19;
        /// MLDv1 reports received.
        mld_v1_reports_rx = 21;
        /// MLDv2 reports received.
        mld_v2_reports_rx = 23;
        /// Invalid MLD packets.
        mld_parse_errors = 25;
        /// Bytes of multicast received.
        mcast_bytes_rx = 26;
        /// Bytes of multicast sent.
        mcast_bytes_tx = 27;
        /// Packets of multicast received.
        mcast_packets_rx = 28;
        /// Packets of multicast sent.
        mcast_packets_tx = 29;
    }
}
