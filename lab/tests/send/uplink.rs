//! Interfaces that lead to a host's default route are rejected, however they are stacked. Runs under user-mode-linux,
//! which has all kinds of interfaces.

use tapline::send::SendError;
use tapline_lab::{Host, Net};

use crate::UML;

/// Runs ip(8) with each line; `DEV` is the interface of the host.
fn ip(host: &Host, lines: &[&str]) {
    let name = host.interface().name.to_string();
    for line in lines {
        host.ip(&line.replace("DEV", &name));
    }
}

/// Whether a job on `name` is refused for its default route.
#[track_caller]
fn is_refused(host: &Host, name: &str) -> bool {
    let name = name.replace("DEV", &host.interface().name.to_string());
    match host.run(|| tapline::send(&*name).open()) {
        Ok(sender) => {
            assert_eq!(sender.finish().unwrap().submitted, 0);
            false
        }
        Err(SendError::Uplink { link }) => link == name,
        Err(error) => panic!("{name}: {error}"),
    }
}

#[test]
fn stacked_interfaces_lead_to_the_uplink() {
    if UML.has_run() {
        return;
    }
    for (lines, refused) in [
        // The route at a VLAN, a macvlan, a bridge or a bond.
        (
            &[
                "link add link DEV name up7 type vlan id 7",
                "link add link DEV name up8 type vlan id 8",
                "link set up7 up",
                "link set up8 up",
                "route add default dev up7",
            ][..],
            &["DEV", "up7", "up8"][..],
        ),
        (
            &[
                "link add link DEV name mac0 type macvlan mode bridge",
                "link set mac0 up",
                "route add default dev mac0",
            ],
            &["DEV", "mac0"],
        ),
        (
            &[
                "link add up0 type bridge",
                "link set up0 up",
                "link add link DEV name up7 type vlan id 7",
                "link set up7 up",
                "link set up7 master up0",
                "route add default dev up0",
            ],
            &["DEV", "up7", "up0"],
        ),
        (
            &[
                "link add up0 type bond",
                "link set DEV down",
                "link set DEV master up0",
                "link set up0 up",
                "link add link up0 name up7 type vlan id 7",
                "link set up7 up",
                "route add default dev up0",
            ],
            &["DEV", "up0", "up7"],
        ),
        // The route below the VLAN.
        (
            &[
                "link add link DEV name up7 type vlan id 7",
                "link set up7 up",
                "route add default dev DEV",
            ],
            &["DEV", "up7"],
        ),
    ] {
        let [left, right] = Net::new().pair();
        ip(&left, lines);
        ip(&left, &["link add free type dummy", "link set free up"]);
        for name in refused {
            assert!(is_refused(&left, name), "{name} with {lines:?}");
        }
        assert!(!is_refused(&left, "free"), "{lines:?}");
        // The other end of a veth is another host.
        assert!(!is_refused(&right, "DEV"), "{lines:?}");
    }
}
