//! What an interface's adapter does: time stamps that it makes, and packets that are larger than its MTU.

use std::ffi::c_int;

use tapline::hwtstamp::StampDevice;
use tapline::net::{Ethtool, IfName, Link, Netlink};

/// `PCAP_TSTAMP_HOST`: the kernel's time stamps.
pub const HOST: c_int = 0;
/// `PCAP_TSTAMP_ADAPTER`: the adapter's, as times of day.
pub const ADAPTER: c_int = 3;
/// `PCAP_TSTAMP_ADAPTER_UNSYNCED`: the adapter's, as its clock makes them.
pub const ADAPTER_UNSYNCED: c_int = 4;

const ARPHRD_ETHER: u16 = 1;
const ARPHRD_LOOPBACK: u16 = 772;

/// An Ethernet header with a VLAN tag.
const ETHERNET_BYTES: u32 = 18;

/// Bytes of the largest packet that offloads make.
const MOST_JOINED: u32 = 65_535;

/// Offloads by which packets get larger than the MTU.
///
/// # Source
/// `iface_get_offload`, pcap-linux.c of libpcap 1.10; the kernel's names of these offloads.
const OFFLOADS: [&str; 7] = [
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-generic-segmentation",
    "rx-lro",
    "rx-gro",
];

/// The types of time stamps of an interface that stamps every packet; others have the host's alone.
///
/// libpcap offers [`ADAPTER`] if the driver converts its time stamps, which none does on present kernels. Here they are
/// converted, if the clock behind them is known.
///
/// # Source
/// `iface_get_ts_types`, pcap-linux.c of libpcap 1.10.
pub fn stamp_types(device: &str) -> Vec<c_int> {
    let known = StampDevice::open(device).and_then(|mut device| Ok(device.capabilities()?));
    let Ok(Some(known)) = known else {
        return vec![HOST];
    };
    if !known.receive_filters.iter().any(|packets| packets == "all") {
        return vec![HOST];
    }
    let has = |name: &str| known.capabilities.iter().any(|one| one == name);
    let has_raw = has("hardware-raw-clock");
    let types = [
        (HOST, has("software-system-clock")),
        (ADAPTER, has_raw && known.clock.is_some()),
        (ADAPTER_UNSYNCED, has_raw),
    ];
    let types: Vec<_> = (types.into_iter())
        .filter_map(|(number, is_offered)| is_offered.then_some(number))
        .collect();
    if types.is_empty() { vec![HOST] } else { types }
}

/// The largest packet of an interface, as far as it is known. Offloads join packets up to 64 KiB.
///
/// # Source
/// `create_ring`, pcap-linux.c of libpcap 1.10.
pub fn largest_packet(device: &str) -> u32 {
    let link = Netlink::open().and_then(|mut netlink| netlink.link_named(device));
    // Headers of other links have no fixed length.
    let is_ethernet = |link: &Link| matches!(link.hardware, Some(ARPHRD_ETHER | ARPHRD_LOOPBACK));
    let mtu = link.ok().filter(is_ethernet).and_then(|link| link.mtu);
    let mtu = match mtu {
        Some(mtu) if !joins_packets(device) => mtu,
        mtu => mtu.unwrap_or(0).max(MOST_JOINED),
    };
    mtu.saturating_add(ETHERNET_BYTES)
}

/// Whether packets may be larger than the MTU. Not known is yes.
fn joins_packets(device: &str) -> bool {
    let Ok(name) = IfName::new(device) else {
        return true;
    };
    let features = Ethtool::open().and_then(|mut ethtool| ethtool.features(name));
    features.map_or(true, |features| {
        OFFLOADS.iter().any(|name| features.is_active(name))
    })
}
