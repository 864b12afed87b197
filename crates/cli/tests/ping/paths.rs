//! `--paths`: equal-cost paths are distinguished, compared with counters of the router between them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lab::{Host, Net};
use serde_json::Value;

use crate::support::nft::{counters, load};
use crate::support::number;
use crate::support::run::{Ended, spawn};
use crate::support::tapline;

/// Enough that some take either link.
const PATHS: u8 = 32;
const PROBES: u64 = 100;

/// A host, a router with two links to another one, and that one, with 10.9.0.1 and fd09::1. The router sends these
/// addresses over both links.
struct Ecmp {
    left: Host,
    router: Host,
    _right: Host,
}

impl Ecmp {
    fn new() -> Self {
        let net = Net::new();
        let [mut left, mut router, mut right] = ["left", "router", "right"].map(Host::new);
        net.join(&mut left, &mut router);
        net.join(&mut router, &mut right);
        net.join(&mut router, &mut right);
        for sysctl in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            router.set_sysctl(sysctl, "1");
        }
        for (host, line) in [
            (&right, "address add 10.9.0.1/32 dev lo"),
            (&right, "address add fd09::1/128 dev lo nodad"),
            (&right, "route add 10.1.0.0/24 via 10.2.0.1"),
            (&right, "-6 route add fd00:1::/64 via fd00:2::1"),
            (&left, "route add 10.9.0.0/24 via 10.1.0.2"),
            (&left, "-6 route add fd09::/64 via fd00:1::2"),
            // The kernel hashes no field of ICMPv4, so the rule set by `count` chooses between two tables.
            (&router, "route add 10.9.0.0/24 via 10.2.0.2"),
            (&router, "route add 10.9.0.0/24 via 10.3.0.2 table 7"),
            (&router, "rule add fwmark 1 lookup 7"),
            (
                &router,
                "-6 route add fd09::/64 nexthop via fd00:2::2 nexthop via fd00:3::2",
            ),
        ] {
            host.ip(line);
        }
        Self {
            left,
            router,
            _right: right,
        }
    }

    /// Counts the probes of each path by link: `one_3`, `other_3`, and drops exactly every tenth of each path on the
    /// other link: `dropped_3`. `matches` has the nftables expression for the header field of each path.
    fn count(&self, matches: &BTreeMap<u64, String>) {
        let [mut counters, mut one, mut other] = [(); 3].map(|()| String::new());
        for (path, expression) in matches {
            for name in ["one", "other", "dropped"] {
                let _ = writeln!(counters, "counter {name}_{path} {{}}");
            }
            let _ = writeln!(one, "{expression} counter name one_{path}");
            let _ = writeln!(other, "{expression} counter name other_{path}");
            let drop = format!("numgen inc mod 10 0 counter name dropped_{path} drop");
            let _ = writeln!(other, "{expression} {drop}");
        }
        let [first, second] = [1, 2].map(|at: usize| self.router.interfaces()[at].name.to_string());
        load(
            &self.router,
            &format!(
                "table inet paths {{
                {counters}
                chain one {{ {one} }}
                chain other {{ {other} }}
                chain forward {{
                    type filter hook forward priority 0
                    icmp type echo-request oifname {first} jump one
                    icmp type echo-request oifname {second} jump other
                    icmpv6 type echo-request oifname {first} jump one
                    icmpv6 type echo-request oifname {second} jump other
                }}
                chain hash {{
                    type filter hook prerouting priority -150
                    icmp type echo-request meta mark set jhash @th,16,16 mod 2
                }}
            }}"
            ),
        );
    }

    fn ping(&self, format: &str, target: &str, count: u64) -> Ended {
        let line = format!("ping {format} --paths {PATHS} -c {count} -i 10ms -W 3s {target}");
        spawn(tapline(&self.left, &line)).finish()
    }
}

/// The rows of the paths.
fn rows(ended: &Ended) -> Vec<Value> {
    let rows = ended.events_of("target");
    let numbers: Vec<u64> = rows.iter().map(|row| number(row, "path")).collect();
    assert_eq!(numbers, (0..PATHS.into()).collect::<Vec<_>>());
    rows
}

/// Runs over a router that loses every tenth probe on one of two links.
fn loss_is_reported_by_path(target: &str, expression: impl Fn(&Value) -> String) {
    let ecmp = Ecmp::new();
    let fields = rows(&ecmp.ping("--json", target, 1));
    let matches = fields
        .iter()
        .map(|row| (number(row, "path"), expression(row)));
    ecmp.count(&matches.collect());
    let ended = ecmp.ping("--json", target, PROBES);
    ended.exit(0);
    let counted = counters(&ecmp.router);
    let (mut lossy, mut lost) = (0, 0);
    for row in rows(&ended) {
        let path = number(&row, "path");
        let [one, other, dropped] =
            ["one", "other", "dropped"].map(|name| counted[&format!("{name}_{path}")]);
        // Every probe had the path's field in its header, and all took one link.
        assert_eq!((one + other, one.min(other)), (PROBES, 0), "{row}");
        let [sent, received, row_lost] = ["sent", "received", "lost"].map(|key| number(&row, key));
        assert_eq!(
            (sent, received, row_lost),
            (PROBES, PROBES - dropped, dropped)
        );
        assert!(number(&row, "rtt_min_ns") > 0);
        lossy += u64::from(other > 0);
        lost += dropped;
    }
    assert!((1..PATHS.into()).contains(&lossy), "{counted:?}");
    assert_eq!(lost, lossy * PROBES / 10);
    let summary = ended.summary();
    let told = ["targets", "paths", "sent", "lost"].map(|key| summary.number(key));
    assert_eq!(told, [1, PATHS.into(), u64::from(PATHS) * PROBES, lost]);
}

#[test]
fn loss_on_one_of_two_ipv6_routes_shows_by_flow_label() {
    loss_is_reported_by_path("fd09::1", |row| {
        assert!(row["icmp_checksum"].is_null());
        format!("@nh,12,20 {}", number(row, "flow_label"))
    });
}

#[test]
fn loss_on_one_of_two_ipv4_routes_shows_by_checksum() {
    loss_is_reported_by_path("10.9.0.1", |row| {
        assert!(row["flow_label"].is_null());
        format!("@th,16,16 {}", number(row, "icmp_checksum"))
    });
}

#[test]
fn the_icmpv6_checksum_of_a_path_is_constant_too() {
    let ecmp = Ecmp::new();
    load(
        &ecmp.router,
        "table inet sums {
            set seen { typeof icmpv6 checksum; size 1024; flags dynamic; }
            chain forward {
                type filter hook forward priority 0
                icmpv6 type echo-request add @seen { icmpv6 checksum }
            }
        }",
    );
    ecmp.ping("-q", "fd09::1", 20).exit(0);
    let seen = crate::support::output(&ecmp.router, "nft", "--json list set inet sums seen");
    let seen: Value = serde_json::from_str(&seen).expect("JSON");
    let seen = seen["nftables"][1]["set"]["elem"]
        .as_array()
        .expect("elements");
    assert_eq!(seen.len(), usize::from(PATHS));
}

#[test]
fn text_and_csv_have_a_line_for_each_path() {
    let ecmp = Ecmp::new();
    let ended = ecmp.ping("", "10.9.0.1", 1);
    ended.exit(0);
    for path in [0, 9, 31] {
        let start = format!("10.9.0.1 path {path}");
        let is_it =
            |line: &&String| line.starts_with(&start) && line.contains("xmt/rcv/%loss = 1/1/0%");
        assert!(ended.stdout.iter().any(|line| is_it(&line)), "{ended:?}");
    }
    ended.assert_says("32 paths to 1 target: 32 answered, 0 did not");
    let ended = ecmp.ping("--csv -q", "10.9.0.1", 1);
    assert!(ended.stdout[0].ends_with(",longest_outage,path"));
    let last = |row: &String| row.rsplit(',').next().expect("a column").to_owned();
    let paths: Vec<_> = ended.stdout[1..].iter().map(last).collect();
    assert_eq!(
        paths,
        (0..PATHS).map(|path| path.to_string()).collect::<Vec<_>>()
    );
}
