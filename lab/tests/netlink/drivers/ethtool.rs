//! Driver and speed, compared with ethtool(8).

use crate::witness::{refused_with, value_printed};
use netlink::{IfName, Netlink};
use rustix::io::Errno;
use tapline_lab::{Host, Net};

#[test]
fn the_driver_is_what_ethtool_tells() {
    let [left, _right] = Net::new().pair();
    let name = left.interface().name;
    let value = |key| value_printed(&left, &format!("ethtool -i {name}"), key);
    let driver = left
        .netlink()
        .driver(name)
        .expect("told")
        .expect("veth has a driver");
    assert_eq!(driver.name, value("driver"));
    assert_eq!(driver.version, value("version"));
    assert_eq!(driver.firmware_version, value("firmware-version"));
    assert_eq!(driver.bus_info, value("bus-info"));
    assert_eq!(driver.name, "veth");
}

#[test]
fn the_speed_is_what_ethtool_tells() {
    let [left, _right] = Net::new().pair();
    let name = left.interface().name;
    let speed = left
        .netlink()
        .speed_bps(name)
        .expect("told")
        .expect("veth has a speed");
    assert_eq!(
        value_printed(&left, &format!("ethtool {name}"), "Speed"),
        format!("{}Mb/s", speed / 1_000_000)
    );
}

#[test]
fn a_loopback_has_no_speed() {
    let host = Host::new("host");
    let name = IfName::new("lo").expect("a name");
    assert_eq!(host.netlink().speed_bps(name).expect("told"), None);
}

#[test]
fn an_unknown_link_is_an_error() {
    let host = Host::new("host");
    let netlink: Netlink = host.netlink();
    let name = IfName::new("nowhere").expect("a name");
    let error = refused_with(netlink.driver(name), Errno::NODEV);
    assert_eq!(error.to_string(), "cannot get driver of link nowhere");
}
