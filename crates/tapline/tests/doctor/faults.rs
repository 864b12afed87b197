//! The doctor finds each injected fault, and reports none otherwise.

use std::fs;

use crate::support::doctor::{faults, finding, look};
use crate::support::ping::drop_capabilities;
use lab::{Host, Net};
use netlink::{Gro, Link};
use tapline::doctor::{Severity, SystemPaths, examine};

#[test]
fn a_healthy_host_has_no_fault() {
    let [_left, right] = Net::new().pair();
    let report = look(&right);
    assert_eq!(faults(&report), [], "{report:?}");
    assert_eq!(report.unknown, []);
    let can = |id: &str| {
        let found = report.abilities.iter().find(|ability| ability.id == id);
        found
            .unwrap_or_else(|| panic!("{id} in {report:?}"))
            .value
            .as_str()
    };
    assert!(can("ring").starts_with("packet-v2, packet-v3"));
    assert_eq!(can("ebpf"), "socket filter, tc, XDP programs load");
    assert!(can("filter-memory").contains("4096"));
    assert!(can("xdp").contains("metadata: time stamp, hash, VLAN tag"));
    assert_eq!(can("gro-hw"), "off");
    assert!(can("stall").contains(" blocks of "));
}

#[test]
fn packets_that_are_joined_are_found() {
    let [_left, right] = Net::new().pair();
    right.set_gro(Gro::On);
    let report = look(&right);
    assert_eq!(faults(&report), [("gro", Severity::Warning)]);
    let finding = finding(&report, "gro");
    assert_eq!(
        finding.remedy,
        [format!("ethtool -K {} gro off", right.interface().name)]
    );
    assert_eq!(finding.changes.len(), 1);
}

/// The loopback, a bridge, and a tap whose program did not request it have the feature enabled but coalesce nothing.
#[test]
fn interfaces_that_join_nothing_are_not_accused() {
    let host = Host::new("host");
    for add in [
        "link add bridge0 up type bridge",
        "tuntap add tap0 mode tap",
    ] {
        host.ip(add);
    }
    for name in ["lo", "bridge0", "tap0"] {
        let report = host
            .run(|| examine(Some(name), &SystemPaths::default()))
            .expect("it is there");
        assert!(
            report.findings.iter().all(|finding| finding.id != "gro"),
            "{report:?}"
        );
        let gro = report.abilities.iter().find(|ability| ability.id == "gro");
        assert!(gro.expect("it is looked at").value.starts_with("on, "));
    }
}

#[test]
fn without_a_loopback_rings_are_unknown() {
    let host = Host::new("host");
    host.ip("link set lo down");
    let report = host
        .run(|| examine(None, &SystemPaths::default()))
        .expect("no interface is named");
    let unknown: Vec<_> = report.unknown.iter().map(|unknown| unknown.id).collect();
    assert_eq!(unknown, ["ring", "block-timer"]);
    assert!(
        report.unknown[0].why.contains("ip link set lo up"),
        "{report:?}"
    );
}

#[test]
fn an_interface_that_is_down_is_severe() {
    let [_left, right] = Net::new().pair();
    let change = Link::at(right.interface().index).up(false);
    right.netlink().set(&change).expect("it goes down");
    let report = look(&right);
    assert_eq!(report.findings[0].id, "link", "the worst comes first");
    assert_eq!(faults(&report), [("link", Severity::Severe)]);
}

#[test]
fn an_interface_without_the_other_end_is_severe() {
    let [left, right] = Net::new().pair();
    let change = Link::at(left.interface().index).up(false);
    left.netlink().set(&change).expect("it goes down");
    assert_eq!(faults(&look(&right)), [("link", Severity::Severe)]);
}

#[test]
fn too_little_room_for_filters_is_found() {
    let [_left, right] = Net::new().pair();
    right.set_sysctl("core/optmem_max", "20480");
    let report = look(&right);
    assert_eq!(faults(&report), [("filter-memory", Severity::Warning)]);
    assert!(finding(&report, "filter-memory").observed.contains("20480"));
    assert_eq!(finding(&report, "filter-memory").changes.len(), 1);
}

#[test]
fn tight_limits_of_icmp_are_found() {
    let [_left, right] = Net::new().pair();
    right.set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    right.set_sysctl("ipv4/icmp_ratelimit", "5000");
    let report = look(&right);
    let expected = [
        ("icmp-echo", Severity::Warning),
        ("icmp-rate", Severity::Warning),
    ];
    assert_eq!(faults(&report), expected);
    let remedy = &finding(&report, "icmp-echo").remedy;
    assert_eq!(*remedy, ["sysctl -w net.ipv4.icmp_echo_ignore_all=0"]);
    // It may be intended, so it is never changed.
    assert_eq!(finding(&report, "icmp-echo").changes, []);
    assert_eq!(finding(&report, "icmp-rate").changes.len(), 1);
}

/// The kernel shows an interface's polling mode in the sysfs of its namespace.
#[test]
fn deferred_interrupts_are_found() {
    let [_left, right] = Net::new().pair();
    right.set_gro(Gro::On);
    let folder = format!("class/net/{}", right.interface().name);
    let script = format!(
        "mount -t sysfs none /sys && cd /sys/{folder} && echo 2 > napi_defer_hard_irqs && \
         echo 1000000 > gro_flush_timeout"
    );
    let mut command = right.command("unshare");
    let status = command.args(["--mount", "sh", "-c", &script]).status();
    assert!(status.expect("unshare runs").success());
    let report = look(&right);
    let expected = [("gro", Severity::Warning), ("polling", Severity::Warning)];
    assert_eq!(faults(&report), expected);
    assert!(finding(&report, "polling").observed.contains("1000 us"));
}

#[test]
fn a_missing_privilege_is_reported() {
    let [_left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let report = right.run(|| {
        drop_capabilities();
        examine(Some(&name), &SystemPaths::default())
    });
    let report = report.expect("the interface is there");
    let refused = report
        .unknown
        .iter()
        .filter(|unknown| unknown.needs_privilege);
    let refused: Vec<_> = refused.map(|unknown| unknown.id).collect();
    for id in ["ring", "block-timer", "ebpf", "af-xdp"] {
        assert!(refused.contains(&id), "{id} in {report:?}");
    }
    // Every user may query an interface, and its findings are right.
    assert!(report.abilities.iter().any(|ability| ability.id == "xdp"));
    assert_eq!(report.count(Severity::Severe), 0, "{report:?}");
    assert!(
        report
            .findings
            .iter()
            .any(|finding| finding.id == "ping-socket"),
        "{report:?}"
    );
}

#[test]
fn an_examination_changes_nothing() {
    let [_left, right] = Net::new().pair();
    right.set_gro(Gro::On);
    let seen = || {
        let features = right.output_of("ethtool -k right0");
        let links = right.ip("-details link");
        let mut grep = right.command("/usr/bin/env");
        let settings = grep
            .args(["grep", "-rs", "", "/proc/sys/net"])
            .output()
            .expect("it runs")
            .stdout;
        assert!(!features.is_empty() && !links.is_empty() && settings.len() > 1000);
        (features, links, settings)
    };
    let before = seen();
    assert!(!look(&right).findings.is_empty());
    assert!(seen() == before, "a setting has changed");
}

#[test]
fn an_unknown_interface_is_an_error() {
    let host = Host::new("host");
    let error = host
        .run(|| examine(Some("nowhere"), &SystemPaths::default()))
        .expect_err("none");
    assert_eq!(error.to_string(), "cannot get link nowhere");
    assert!(host.run(|| examine(None, &SystemPaths::default())).is_ok());
}

#[test]
fn changes_are_made_and_undone() {
    let of_the_machine = || fs::read_to_string("/proc/sys/net/core/optmem_max").expect("a value");
    let before = of_the_machine();
    let [_left, right] = Net::new().pair();
    right.set_gro(Gro::On);
    right.set_sysctl("core/optmem_max", "20480");
    let paths = SystemPaths::default();
    let report = look(&right);
    let changes: Vec<_> = report
        .findings
        .iter()
        .flat_map(|finding| &finding.changes)
        .collect();
    assert_eq!(changes.len(), 2);
    let former = right.run(|| {
        let former: Vec<_> = changes
            .iter()
            .map(|change| change.present(&paths).unwrap())
            .collect();
        for change in &changes {
            change.make(&paths).expect("it is made");
        }
        former
    });
    assert_eq!(faults(&look(&right)), []);
    right.run(|| {
        for change in &former {
            change.make(&paths).expect("it is made");
        }
    });
    assert_eq!(faults(&look(&right)).len(), 2);
    assert_eq!(of_the_machine(), before, "the machine's own value stays");
}
