//! Offloads that change what is seen of packets.

use netlink::{Ethtool, Features, IfName, NetDevices};

use super::super::change::Change;
use super::super::place::Place;
use super::super::report::{Finding, Report, Severity};
use super::super::shell::quoted;

const ID: &str = "offloads";

/// Features that join received packets: id, kernel's names, severity and what they spoil.
const JOINING: [(&str, &[&str], Severity, &str); 3] = [
    (
        "lro",
        &["rx-lro"],
        Severity::Severe,
        "received packets are joined and their headers thrown away: what is captured was never on \
            the wire",
    ),
    (
        "gro-hw",
        &["rx-gro-hw"],
        Severity::Warning,
        "the device joins received packets of a flow: fewer and longer ones are seen, with the time \
            of one of them",
    ),
    (
        "gro",
        &["rx-gro", "rx-gro-list", "rx-udp-gro-forwarding"],
        Severity::Warning,
        "the kernel joins received packets of a flow: fewer and longer ones are seen, with the time \
            of one of them",
    ),
];

/// Features that leave the splitting of sent packets to what comes after the capture: the kernel's names, and
/// ethtool's.
const SPLITTING: [(&str, &str); 4] = [
    ("tx-tcp-segmentation", "tso"),
    ("tx-tcp6-segmentation", "tso"),
    ("tx-udp-segmentation", "tx-udp-segmentation"),
    ("tx-generic-segmentation", "gso"),
];

/// Kinds of interfaces that hand on what others have received: they join nothing themselves, though
/// the feature is on.
const PASSING: [&str; 9] = [
    "bond", "bridge", "dummy", "ifb", "ipvlan", "macvlan", "team", "vlan", "vrf",
];

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let name = place.link.ifname();
    let told = Ethtool::open().and_then(|mut ethtool| ethtool.features(name));
    if let Some(features) = report.known(ID, told) {
        judge(name, &features, joins(place), report);
    }
}

/// Whether its driver hands packets to what joins them.
fn joins(place: &Place<'_>) -> bool {
    let kind = place.link.kind_name();
    if kind == Some("tun") {
        // Only where its program asked for that (`IFF_NAPI`), and then it is polled.
        let told =
            NetDevices::open().and_then(|mut devices| devices.napi_instances(place.link.ifindex()));
        return told.is_ok_and(|listing| !listing.items.is_empty());
    }
    !place.link.is_loopback() && !kind.is_some_and(|it| PASSING.contains(&it))
}

fn judge(name: IfName, features: &Features, joins: bool, report: &mut Report) {
    for (id, names, severity, spoils) in JOINING {
        // The two that refine it do nothing without it.
        if !features.is_active(names[0]) {
            report.can(id, "off");
            continue;
        }
        if !joins {
            report.can(
                id,
                "on, and nothing is joined here: ask the interfaces below it",
            );
            continue;
        }
        let active: Vec<&str> = names
            .iter()
            .copied()
            .filter(|one| features.is_active(one))
            .collect();
        let seen = format!("{name} has {} on", active.join(", "));
        let mut finding = Finding::new(id, severity, seen, spoils);
        for feature in active {
            if features.is_changeable(feature) {
                finding = finding.fix(Change::Feature {
                    link: name,
                    feature: feature.into(),
                    on: false,
                });
            }
        }
        report.found(finding);
    }
    judge_splitting(name, features, report);
    if features.is_active("rx-vlan-hw-parse") {
        let seen = format!("{name} takes VLAN tags off received packets (rx-vlan-hw-parse)");
        let spoils = "filters in the kernel see such packets without their tag; in what is captured \
            it is put back";
        let finding = Finding::new("vlan-strip", Severity::Info, seen, spoils);
        report.found(switched_off(
            finding,
            name,
            features,
            &[("rx-vlan-hw-parse", "rxvlan")],
        ));
    }
}

fn judge_splitting(name: IfName, features: &Features, report: &mut Report) {
    let active = SPLITTING.into_iter();
    let active: Vec<_> = active.filter(|(one, _)| features.is_active(one)).collect();
    if active.is_empty() {
        return;
    }
    let shown: Vec<&str> = active.iter().map(|(one, _)| *one).collect();
    let seen = format!("{name} has {} on", shown.join(", "));
    let spoils = "packets that this host sends are seen before they are split, up to 64 KiB long; \
        over a veth they reach the other end like that";
    let finding = Finding::new("segmentation", Severity::Info, seen, spoils);
    report.found(switched_off(finding, name, features, &active));
}

/// With the command that switches off those of `named`, the kernel's names and ethtool's, that the driver lets
/// switch.
fn switched_off(
    finding: Finding,
    name: IfName,
    features: &Features,
    named: &[(&str, &str)],
) -> Finding {
    let changeable = named.iter().filter(|(one, _)| features.is_changeable(one));
    let mut words: Vec<String> = changeable
        .map(|(_, short)| format!("{short} off"))
        .collect();
    words.dedup();
    if words.is_empty() {
        return finding.advice("the driver does not let it be switched off");
    }
    let link = quoted(&name.to_string());
    finding.remedy(format!("ethtool -K {link} {}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(active: &[&str], changeable: &[&str]) -> Report {
        let mut features = Features::default();
        features.active = active.iter().map(ToString::to_string).collect();
        features.changeable = changeable.iter().map(ToString::to_string).collect();
        let mut report = Report::default();
        judge(IfName::new("eth0").unwrap(), &features, true, &mut report);
        report
    }

    #[test]
    fn joined_packets_without_headers_are_severe_in_given_values() {
        let report = found(&["rx-lro"], &["rx-lro"]);
        assert_eq!(report.findings[0].severity, Severity::Severe);
        assert_eq!(report.findings[0].remedy, ["ethtool -K eth0 lro off"]);
        assert_eq!(report.findings[0].fix.len(), 1);
    }

    #[test]
    fn what_cannot_be_switched_is_not_offered() {
        let report = found(&["rx-gro-hw"], &[]);
        assert_eq!(report.findings[0].id, "gro-hw");
        assert!(report.findings[0].fix.is_empty() && report.findings[0].remedy.is_empty());
        assert!(found(&["tx-checksum-ip-generic"], &[]).findings.is_empty());
        let splitting = [
            "tx-tcp-segmentation",
            "tx-tcp6-segmentation",
            "tx-generic-segmentation",
        ];
        for (active, changeable, command) in [
            (&splitting[..], &splitting[2..], "ethtool -K eth0 gso off"),
            (&splitting, &splitting, "ethtool -K eth0 tso off gso off"),
            (
                &splitting,
                &[],
                "# the driver does not let it be switched off",
            ),
            (
                &["rx-vlan-hw-parse"],
                &["rx-vlan-hw-parse"],
                "ethtool -K eth0 rxvlan off",
            ),
            (
                &["rx-vlan-hw-parse"],
                &[],
                "# the driver does not let it be switched off",
            ),
        ] {
            assert_eq!(found(active, changeable).findings[0].remedy, [command]);
        }
    }
}
