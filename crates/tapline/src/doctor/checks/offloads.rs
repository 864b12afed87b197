//! Offloads that make captured packets differ from those on the wire.

use netlink::{Ethtool, Features, IfName, NetDevices};

use crate::doctor::change::{Change, shell_quote};
use crate::doctor::paths::InterfaceContext;
use crate::doctor::report::{Finding, Report, Severity};

const ID: &str = "offloads";
const VLAN_STRIPPING: &str = "rx-vlan-hw-parse";

/// An offload that merges received packets.
struct Merging {
    id: &'static str,
    /// The kernel's names. Features after the first refine it and do nothing without it.
    features: &'static [&'static str],
    severity: Severity,
    effect: &'static str,
}

const MERGING: [Merging; 3] = [
    Merging {
        id: "lro",
        features: &["rx-lro"],
        severity: Severity::Severe,
        effect: "received packets are merged and their headers discarded: captures show packets that were \
            never on the wire",
    },
    Merging {
        id: "gro-hw",
        features: &["rx-gro-hw"],
        severity: Severity::Warning,
        effect: "the device merges received packets of a flow: captures show fewer and longer packets, with \
            one time stamp for several",
    },
    Merging {
        id: "gro",
        features: &["rx-gro", "rx-gro-list", "rx-udp-gro-forwarding"],
        severity: Severity::Warning,
        effect: "the kernel merges received packets of a flow: captures show fewer and longer packets, with \
            one time stamp for several",
    },
];

/// Offloads that split sent packets after the capture has seen them: the kernel's names and ethtool's.
const SEGMENTATION: [(&str, &str); 4] = [
    ("tx-tcp-segmentation", "tso"),
    ("tx-tcp6-segmentation", "tso"),
    ("tx-udp-segmentation", "tx-udp-segmentation"),
    ("tx-generic-segmentation", "gso"),
];

/// Kinds of interfaces that pass on what other interfaces received. They never merge packets, even if
/// the feature is on.
const STACKED_KINDS: [&str; 9] = [
    "bond", "bridge", "dummy", "ifb", "ipvlan", "macvlan", "team", "vlan", "vrf",
];

pub(super) fn check(context: &InterfaceContext<'_>, report: &mut Report) {
    let name = context.link.ifname();
    let features = Ethtool::open().and_then(|mut ethtool| ethtool.features(name));
    if let Some(features) = report.value_or_unknown(ID, features) {
        judge(name, &features, can_merge(context), report);
    }
}

/// Whether the driver hands packets to the code that merges them.
fn can_merge(context: &InterfaceContext<'_>) -> bool {
    let kind = context.link.kind_name();
    if kind == Some("tun") {
        // Only if its program enabled NAPI (`IFF_NAPI`).
        let instances = NetDevices::open()
            .and_then(|mut devices| devices.napi_instances(context.link.ifindex()));
        return instances.is_ok_and(|listing| !listing.items.is_empty());
    }
    !context.link.is_loopback() && !kind.is_some_and(|kind| STACKED_KINDS.contains(&kind))
}

fn judge(name: IfName, features: &Features, can_merge: bool, report: &mut Report) {
    for merging in &MERGING {
        judge_merging(name, features, can_merge, merging, report);
    }
    judge_segmentation(name, features, report);
    if features.is_active(VLAN_STRIPPING) {
        let observed = format!("{name} strips VLAN tags from received packets ({VLAN_STRIPPING})");
        let effect =
            "in-kernel filters see these packets without their tag; captures show it again";
        let finding = Finding::info("vlan-strip", observed, effect);
        let finding = with_switch_off(finding, name, features, &[(VLAN_STRIPPING, "rxvlan")]);
        report.add(finding);
    }
}

fn judge_merging(
    name: IfName,
    features: &Features,
    can_merge: bool,
    merging: &Merging,
    report: &mut Report,
) {
    if !features.is_active(merging.features[0]) {
        return report.add_ability(merging.id, "off");
    }
    if !can_merge {
        let value = "on, but this interface merges nothing: check the interfaces below it";
        return report.add_ability(merging.id, value);
    }
    let active = merging.features.iter().copied();
    let active: Vec<&str> = active.filter(|one| features.is_active(one)).collect();
    let observed = format!("{name} has {} on", active.join(", "));
    let finding = Finding::new(merging.id, merging.severity, observed, merging.effect);
    let changeable = active.iter().filter(|one| features.is_changeable(one));
    report.add(changeable.fold(finding, |finding, feature| {
        finding.change(Change::Feature {
            link: name,
            feature: (*feature).into(),
            on: false,
        })
    }));
}

fn judge_segmentation(name: IfName, features: &Features, report: &mut Report) {
    let active = SEGMENTATION.into_iter();
    let active: Vec<_> = active.filter(|(one, _)| features.is_active(one)).collect();
    if active.is_empty() {
        return;
    }
    let names: Vec<&str> = active.iter().map(|(one, _)| *one).collect();
    let observed = format!("{name} has {} on", names.join(", "));
    let effect = "captures see sent packets before they are split, up to 64 KiB long; a veth delivers them to \
        its peer unsplit";
    let finding = Finding::info("segmentation", observed, effect);
    report.add(with_switch_off(finding, name, features, &active));
}

/// Adds the command that switches `named` off (the kernel's names and ethtool's), as far as the driver
/// allows it.
fn with_switch_off(
    finding: Finding,
    name: IfName,
    features: &Features,
    named: &[(&str, &str)],
) -> Finding {
    let changeable = named.iter().filter(|(one, _)| features.is_changeable(one));
    let mut words: Vec<String> = changeable
        .map(|(_, ethtool)| format!("{ethtool} off"))
        .collect();
    words.dedup();
    if words.is_empty() {
        return finding.advice("the driver cannot switch it off");
    }
    let link = shell_quote(&name.to_string());
    finding.command(format!("ethtool -K {link} {}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(active: &[&str], changeable: &[&str]) -> Report {
        let mut features = Features::default();
        features.active = active.iter().map(ToString::to_string).collect();
        features.changeable = changeable.iter().map(ToString::to_string).collect();
        let mut report = Report::default();
        judge(IfName::new("eth0").unwrap(), &features, true, &mut report);
        report
    }

    #[test]
    fn lro_is_severe() {
        let report = judged(&["rx-lro"], &["rx-lro"]);
        assert_eq!(report.findings[0].severity, Severity::Severe);
        assert_eq!(report.findings[0].remedy, ["ethtool -K eth0 lro off"]);
        assert_eq!(report.findings[0].changes.len(), 1);
    }

    #[test]
    fn only_changeable_features_get_a_command() {
        let report = judged(&["rx-gro-hw"], &[]);
        assert_eq!(report.findings[0].id, "gro-hw");
        assert!(report.findings[0].changes.is_empty() && report.findings[0].remedy.is_empty());
        assert!(judged(&["tx-checksum-ip-generic"], &[]).findings.is_empty());
        let segmentation = [
            "tx-tcp-segmentation",
            "tx-tcp6-segmentation",
            "tx-generic-segmentation",
        ];
        let vlan = ["rx-vlan-hw-parse"];
        let advice = "# the driver cannot switch it off";
        for (active, changeable, remedy) in [
            (
                &segmentation[..],
                &segmentation[2..],
                "ethtool -K eth0 gso off",
            ),
            (
                &segmentation,
                &segmentation,
                "ethtool -K eth0 tso off gso off",
            ),
            (&segmentation, &[], advice),
            (&vlan, &vlan, "ethtool -K eth0 rxvlan off"),
            (&vlan, &[], advice),
        ] {
            assert_eq!(judged(active, changeable).findings[0].remedy, [remedy]);
        }
    }
}
