//! The setting of one interface.

use abi::timestamp::HardwareStamps;
use netlink::StampedPackets;

/// Names of the `HWTSTAMP_TX_*` numbers, as ethtool(8) and netlink write them.
const TRANSMIT: [&str; 4] = ["off", "on", "onestep-sync", "onestep-p2p"];

/// Names of the `HWTSTAMP_FILTER_*` numbers.
const RECEIVE: [&str; 16] = [
    "none",
    "all",
    "some",
    "ptpv1-l4-event",
    "ptpv1-l4-sync",
    "ptpv1-l4-delay-req",
    "ptpv2-l4-event",
    "ptpv2-l4-sync",
    "ptpv2-l4-delay-req",
    "ptpv2-l2-event",
    "ptpv2-l2-sync",
    "ptpv2-l2-delay-req",
    "ptpv2-event",
    "ptpv2-sync",
    "ptpv2-delay-req",
    "ntp-all",
];

/// `HWTSTAMP_FILTER_NONE`.
const RECEIVE_NONE: i32 = 0;
/// `HWTSTAMP_FILTER_ALL`.
const RECEIVE_ALL: i32 = 1;

/// Which packets an interface stamps in hardware.
///
/// # Source
/// Documentation/networking/timestamping.rst, section 3.
#[doc(alias = "hwtstamp_config")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardwareStamping {
    /// Sent packets, by number (`HWTSTAMP_TX_*`).
    pub transmit: i32,
    /// Received packets, by number (`HWTSTAMP_FILTER_*`).
    pub receive: i32,
    /// `HWTSTAMP_FLAG_*`. Kept as they are.
    pub(super) flags: i32,
}

impl HardwareStamping {
    /// The setting with these numbers, without flags.
    pub const fn new(transmit: i32, receive: i32) -> Self {
        Self {
            transmit,
            receive,
            flags: 0,
        }
    }

    /// Sent packets that are stamped: `off`, `on`, `onestep-sync` or `onestep-p2p`.
    pub fn transmit_name(&self) -> &'static str {
        name(&TRANSMIT, self.transmit)
    }

    /// Received packets that are stamped: `none`, `all`, `ptpv2-event` …
    pub fn receive_name(&self) -> &'static str {
        name(&RECEIVE, self.receive)
    }

    /// Whether every received packet is stamped.
    pub fn stamps_all_received(&self) -> bool {
        self.receive == RECEIVE_ALL
    }

    /// The same with every received packet stamped.
    #[must_use]
    pub fn stamping_all_received(self) -> Self {
        Self {
            receive: RECEIVE_ALL,
            ..self
        }
    }

    /// The same with no received packet stamped.
    #[must_use]
    pub fn stamping_none_received(self) -> Self {
        Self {
            receive: RECEIVE_NONE,
            ..self
        }
    }

    /// The names for netlink; `None` for a number without a name.
    pub(super) fn to_netlink(self) -> StampedPackets {
        let known = |names: &[&str], number: i32| {
            let number = usize::try_from(number).ok()?;
            names.get(number).map(|&name| name.to_owned())
        };
        let mut packets = StampedPackets::default();
        packets.transmit = known(&TRANSMIT, self.transmit);
        packets.receive = known(&RECEIVE, self.receive);
        packets
    }

    /// `None` if a name is unknown. A mode that the kernel leaves out is off.
    pub(super) fn from_netlink(packets: &StampedPackets) -> Option<Self> {
        let number = |names: &[&str], name: Option<&String>| {
            let Some(name) = name else { return Some(0) };
            let at = names.iter().position(|known| known == name)?;
            i32::try_from(at).ok()
        };
        Some(Self {
            transmit: number(&TRANSMIT, packets.transmit.as_ref())?,
            receive: number(&RECEIVE, packets.receive.as_ref())?,
            flags: 0,
        })
    }
}

fn name(names: &[&'static str], number: i32) -> &'static str {
    let number = usize::try_from(number).ok();
    let known = number.and_then(|number| names.get(number));
    known.copied().unwrap_or("unknown")
}

impl From<HardwareStamps> for HardwareStamping {
    fn from(stamps: HardwareStamps) -> Self {
        Self {
            transmit: stamps.transmit,
            receive: stamps.receive,
            flags: stamps.flags,
        }
    }
}

impl From<HardwareStamping> for HardwareStamps {
    fn from(stamping: HardwareStamping) -> Self {
        Self {
            flags: stamping.flags,
            transmit: stamping.transmit,
            receive: stamping.receive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widening_keeps_what_is_stamped_of_sent_packets() {
        let ptp = HardwareStamping::new(1, 12);
        assert_eq!(
            (ptp.transmit_name(), ptp.receive_name()),
            ("on", "ptpv2-event")
        );
        let widened = ptp.stamping_all_received();
        assert_eq!(widened, HardwareStamping::new(1, 1));
        assert_eq!(widened.stamping_none_received().transmit_name(), "on");
        assert_eq!(HardwareStamping::new(7, -1).receive_name(), "unknown");
    }

    #[test]
    fn names_and_numbers_are_converted_both_ways() {
        for transmit in 0..4 {
            for receive in 0..16 {
                let setting = HardwareStamping::new(transmit, receive);
                let packets = setting.to_netlink();
                assert_eq!(HardwareStamping::from_netlink(&packets), Some(setting));
            }
        }
        let mut unknown = StampedPackets::default();
        unknown.receive = Some("sundial".to_owned());
        assert_eq!(HardwareStamping::from_netlink(&unknown), None);
    }
}
