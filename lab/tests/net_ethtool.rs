//! Driver and speed are what ethtool(8) tells.

use netlink::{IfName, Netlink};
use tapline_lab::{Host, Net};

fn ethtool(host: &Host, arguments: &[&str]) -> String {
    let output = host
        .command("ethtool")
        .args(arguments)
        .output()
        .expect("ethtool runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// The value behind `key:` in ethtool's output.
#[track_caller]
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let mut lines = text.lines().filter_map(|line| line.trim().split_once(':'));
    lines
        .find(|(found, _)| *found == key)
        .map(|(_, value)| value.trim())
        .expect("the key")
}

#[test]
fn the_driver_is_what_ethtool_tells() {
    let [left, _right] = Net::new().pair();
    let name = left.interface().name;
    let text = ethtool(&left, &["-i", &name.to_string()]);
    let driver = left
        .netlink()
        .driver(name)
        .expect("told")
        .expect("veth has a driver");
    assert_eq!(driver.name, value(&text, "driver"));
    assert_eq!(driver.version, value(&text, "version"));
    assert_eq!(driver.firmware_version, value(&text, "firmware-version"));
    assert_eq!(driver.bus_info, value(&text, "bus-info"));
    assert_eq!(driver.name, "veth");
}

#[test]
fn the_speed_is_what_ethtool_tells() {
    let [left, _right] = Net::new().pair();
    let name = left.interface().name;
    let text = ethtool(&left, &[&name.to_string()]);
    let speed = left
        .netlink()
        .speed_bps(name)
        .expect("told")
        .expect("veth has a speed");
    assert_eq!(value(&text, "Speed"), format!("{}Mb/s", speed / 1_000_000));
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
    let error = netlink.driver(name).expect_err("there is none");
    assert_eq!(error.errno(), Some(rustix::io::Errno::NODEV.raw_os_error()));
    assert_eq!(error.to_string(), "cannot get driver of link nowhere");
}
