//! Values that the two write differently.

use std::net::IpAddr;

/// How values of theirs are written as ours.
type Spoken = fn(&[String]) -> Vec<String>;

const SPOKEN: &[(&str, Spoken)] = &[
    ("fdb.dst", ip),
    ("fdb.mac", mac),
    ("fdb.updated", seconds),
    ("fdb.used", seconds),
    ("link.address", mac),
    ("link.broadcast", mac),
    ("link.linkinfo.bond.adactorsystem", mac),
    ("link.linkinfo.bond.adinfo.partnermac", mac),
    ("link.linkinfo.bondport.permhwaddr", mac),
    ("link.linkinfo.bridge.gctimer", fraction),
    ("link.linkinfo.bridge.groupaddr", mac),
    ("link.linkinfo.bridge.hellotimer", fraction),
    ("link.linkinfo.bridge.tcntimer", fraction),
    ("link.linkinfo.bridge.topologychangetimer", fraction),
    ("link.linkinfo.bridgeport.forwarddelaytimer", fraction),
    ("link.linkinfo.bridgeport.holdtimer", fraction),
    ("link.linkinfo.bridgeport.messageagetimer", fraction),
    ("link.linkinfo.macvlan.macaddr", mac),
    ("link.linkinfo.macvlan.macaddrdata", macs),
    ("link.linkinfo.macvtap.macaddr", mac),
    ("link.linkinfo.macvtap.macaddrdata", macs),
    ("link.permanentaddress", mac),
    ("neigh.confirmed", seconds),
    ("neigh.lladdr", mac),
    ("neigh.updated", seconds),
    ("neigh.used", seconds),
    ("route.encap.dst", labels),
    ("route.encap.segs", segments),
    ("route.nexthops.weight", one_more),
];

pub fn spoken(key: &str) -> Option<Spoken> {
    let found = SPOKEN.iter().find(|(known, _)| *known == key);
    found.map(|(_, spoken)| *spoken)
}

fn mac(bytes: &[String]) -> Vec<String> {
    // The ends of tunnels are IPv4 addresses.
    if bytes.len() == 4 {
        return ip(bytes);
    }
    let bytes = bytes.iter().map(|byte| byte.parse().expect("a byte"));
    let bytes = bytes.collect::<Vec<u8>>().into_iter();
    let bytes: Vec<String> = bytes.map(|byte| format!("{byte:02x}")).collect();
    vec![bytes.join(":")]
}

fn macs(bytes: &[String]) -> Vec<String> {
    bytes.chunks(6).flat_map(mac).collect()
}

/// An address whose family they do not know.
fn ip(bytes: &[String]) -> Vec<String> {
    let bytes: Vec<u8> = bytes
        .iter()
        .map(|byte| byte.parse().expect("a byte"))
        .collect();
    let v4 = <[u8; 4]>::try_from(bytes.as_slice()).map(IpAddr::from);
    let ip = v4.or_else(|_| <[u8; 16]>::try_from(bytes.as_slice()).map(IpAddr::from));
    vec![ip.expect("an address").to_string()]
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

/// The kernel counts hundredths.
fn seconds(values: &[String]) -> Vec<String> {
    values
        .iter()
        .map(|value| (number(value) / 100).to_string())
        .collect()
}

fn fraction(values: &[String]) -> Vec<String> {
    values
        .iter()
        .map(|value| format!("{:?}", number(value) as f64 / 100.0))
        .collect()
}

fn one_more(values: &[String]) -> Vec<String> {
    values
        .iter()
        .map(|value| (number(value) + 1).to_string())
        .collect()
}

fn labels(values: &[String]) -> Vec<String> {
    vec![values.join("/")]
}

/// Inline, the place of the packet's own destination is empty.
fn segments(values: &[String]) -> Vec<String> {
    values
        .iter()
        .filter(|value| *value != "::")
        .cloned()
        .collect()
}
