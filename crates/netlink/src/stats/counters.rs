//! Counters that stand in an attribute one behind another.

use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request};
use crate::table::{Code, Native, Shape};

/// Makes a struct of 64-bit counters and its reader; `count` is how many the kernel has at least.
macro_rules! counters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident [$count:literal] { $( $(#[$fmeta:meta])* $field:ident = $at:literal ; )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub struct $name { $( $(#[$fmeta])* pub $field: u64, )* }

        impl Code<$name> for Native {
            const SHAPE: Shape = Shape::Bytes;

            /// Counters are told and never said.
            fn put(_: &$name, _: u16, _: &mut Request) {}

            fn take(attribute: Attribute<'_>) -> Result<$name, Malformed> {
                let bytes: [u8; $count * 8] = attribute.array()?;
                let (words, _) = bytes.as_chunks();
                Ok($name { $( $field: u64::from_ne_bytes(words[$at]), )* })
            }

            fn matches(value: &$name, wanted: &$name) -> bool {
                value == wanted
            }

            fn merge(value: &mut $name, change: $name) {
                *value = change;
            }
        }
    };
}

counters! {
    /// What the spanning tree did at a port (`struct bridge_stp_xstats`).
    pub struct StpStatistics [6] {
        /// How often it was blocked.
        transition_blk = 0;
        /// How often it began to forward.
        transition_fwd = 1;
        /// Bridge protocol data units received.
        rx_bpdu = 2;
        /// Bridge protocol data units sent.
        tx_bpdu = 3;
        /// Changes of the topology that were told to it.
        rx_tcn = 4;
        /// Changes of the topology that it told.
        tx_tcn = 5;
    }
}

counters! {
    /// IGMP and MLD at a bridge or a port, counted where `mcast_stats_enabled` is on
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
        /// IGMP packets that could not be read.
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
        /// MLD packets that could not be read.
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
