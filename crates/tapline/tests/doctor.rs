//! Each fault that is planted is found, and none where none is planted.

use std::fs;
use std::process::Command;

use bpf::{Insn, Program, ProgramKind, Reg, TcLink, TcPlace, XdpLink, XdpPlace};
use lab::{Host, Net};
use netlink::{Gro, Link};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use tapline::doctor::{Finding, Report, Roots, Severity, examine};
use tapline::netlink;
use tempfile::TempDir;

/// The machine and the host's first interface.
#[track_caller]
fn look(host: &Host) -> Report {
    look_with(host, &Roots::default())
}

#[track_caller]
fn look_with(host: &Host, roots: &Roots) -> Report {
    let name = host.interface().name.to_string();
    let report = host.run(|| examine(Some(&name), roots));
    report.expect("the interface is there")
}

/// What is at least a warning.
fn faults(report: &Report) -> Vec<(&'static str, Severity)> {
    let faults = report.findings.iter();
    let faults = faults.filter(|finding| finding.severity > Severity::Info);
    faults
        .map(|finding| (finding.id, finding.severity))
        .collect()
}

#[track_caller]
fn finding<'a>(report: &'a Report, id: &str) -> &'a Finding {
    let found = report.findings.iter().find(|finding| finding.id == id);
    found.unwrap_or_else(|| panic!("{id} in {report:?}"))
}

/// Writes a setting in the host's namespace.
fn set(host: &Host, name: &str, value: &str) {
    let path = format!("/proc/sys/net/{name}");
    host.run(|| fs::write(&path, value))
        .unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// A folder in place of `/proc` or `/sys`, with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    folder
}

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
    assert!(can("xdp").contains("metadata: time, hash, VLAN tag"));
    assert_eq!(can("gro-hw"), "off");
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
    assert_eq!(finding.fix.len(), 1);
}

/// The loopback and a bridge have the feature on and join nothing.
#[test]
fn interfaces_that_join_nothing_are_not_accused() {
    let host = Host::new("host");
    let add = ["link", "add", "bridge0", "up", "type", "bridge"];
    assert!(
        host.command("ip")
            .args(add)
            .status()
            .expect("ip runs")
            .success()
    );
    for name in ["lo", "bridge0"] {
        let report = host
            .run(|| examine(Some(name), &Roots::default()))
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
    let down = ["link", "set", "lo", "down"];
    assert!(
        host.command("ip")
            .args(down)
            .status()
            .expect("ip runs")
            .success()
    );
    let report = host
        .run(|| examine(None, &Roots::default()))
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
    set(&right, "core/optmem_max", "20480");
    let report = look(&right);
    assert_eq!(faults(&report), [("filter-memory", Severity::Warning)]);
    assert!(finding(&report, "filter-memory").seen.contains("20480"));
    assert_eq!(finding(&report, "filter-memory").fix.len(), 1);
}

#[test]
fn tight_limits_of_icmp_are_found() {
    let [_left, right] = Net::new().pair();
    set(&right, "ipv4/icmp_echo_ignore_all", "1");
    set(&right, "ipv4/icmp_ratelimit", "5000");
    let report = look(&right);
    let expected = [
        ("icmp-echo", Severity::Warning),
        ("icmp-rate", Severity::Warning),
    ];
    assert_eq!(faults(&report), expected);
    let remedy = &finding(&report, "icmp-echo").remedy;
    assert_eq!(*remedy, ["sysctl -w net.ipv4.icmp_echo_ignore_all=0"]);
    assert_eq!(finding(&report, "icmp-rate").fix.len(), 1);
}

/// Programs of somebody else: those of this test.
#[test]
fn programs_on_the_interface_are_found_and_named() {
    let [_left, right] = Net::new().pair();
    let index = right.interface().index.0;
    let load = |kind, name, verdict| {
        let code = [Insn::mov(Reg::R0, verdict), Insn::Exit];
        Program::load(kind, name, &code).expect("a program")
    };
    let xdp = load(ProgramKind::Xdp, "pass_xdp", 2);
    let tc = load(ProgramKind::Tc, "pass_tc", -1);
    let links = right.run(|| {
        let xdp = XdpLink::attach(&xdp, index, XdpPlace::Native).expect("it is attached");
        let tc = TcLink::attach(&tc, index, TcPlace::Egress).expect("it is attached");
        (xdp, tc)
    });
    let report = look(&right);
    assert_eq!(faults(&report), [("xdp-program", Severity::Warning)]);
    let seen = &finding(&report, "xdp-program").seen;
    let (number, process) = (xdp.id().expect("a number"), std::process::id());
    assert!(
        seen.contains(&format!("program {number} (pass_xdp)")),
        "{seen}"
    );
    assert!(seen.contains(&format!("process {process}")), "{seen}");
    let seen = &finding(&report, "tc-program").seen;
    let number = tc.id().expect("a number");
    assert!(
        seen.ends_with(&format!("at egress: {number} (pass_tc)")),
        "{seen}"
    );
    drop(links);
    assert_eq!(faults(&look(&right)), []);
}

/// The kernel shows how an interface is polled in a sysfs of its namespace.
#[test]
fn interrupts_that_are_put_off_are_found() {
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
    assert!(finding(&report, "polling").seen.contains("1000 us"));
}

/// Values of the whole machine, which a test may not change: a folder has them in place of `/proc`.
#[test]
fn faults_of_the_machine_are_found() {
    let [_left, right] = Net::new().pair();
    let proc = folder(&[
        ("sys/net/core/bpf_jit_enable", "0\n"),
        ("sys/net/core/rmem_max", "212992\n"),
        ("sys/net/core/wmem_max", "4096\n"),
        ("sys/net/ipv4/neigh/default/gc_thresh3", "64\n"),
        ("sys/net/ipv4/icmp_msgs_per_sec", "10\n"),
    ]);
    let clock = "devices/system/clocksource/clocksource0";
    let sys = folder(&[
        (&format!("{clock}/current_clocksource"), "hpet\n"),
        (
            &format!("{clock}/available_clocksource"),
            "hpet tsc acpi_pm\n",
        ),
    ]);
    let roots = Roots {
        proc: proc.path().into(),
        sys: sys.path().into(),
        ..Roots::default()
    };
    let report = look_with(&right, &roots);
    let found: Vec<_> = faults(&report).into_iter().map(|(id, _)| id).collect();
    assert_eq!(
        found,
        ["jit", "clock-source", "neighbour-table", "icmp-rate"]
    );
    assert_eq!(
        finding(&report, "jit").remedy,
        ["sysctl -w net.core.bpf_jit_enable=1"]
    );
    let clock_remedy = format!("echo tsc > /sys/{clock}/current_clocksource");
    assert_eq!(finding(&report, "clock-source").remedy, [clock_remedy]);
    // Root goes beyond these limits, others do not.
    for id in ["receive-buffer", "send-buffer"] {
        assert_eq!(finding(&report, id).severity, Severity::Info);
    }
    // What the folder lacks is not taken for well.
    let unknown: Vec<_> = report.unknown.iter().map(|unknown| unknown.id).collect();
    assert_eq!(
        unknown,
        ["icmp-echo", "icmp-echo", "icmp-rate", "icmp-rate"]
    );
}

#[test]
fn who_may_not_look_is_told_so() {
    let [_left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let report = right.run(|| {
        let none = CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, none).expect("capabilities can be given up");
        examine(Some(&name), &Roots::default())
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
    // Of an interface everybody may ask; what is judged is judged right.
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
fn nothing_is_changed() {
    let [_left, right] = Net::new().pair();
    right.set_gro(Gro::On);
    let seen = || {
        let name = right.interface().name.to_string();
        let run = |command: &mut Command| command.output().expect("it runs").stdout;
        let features = run(right.command("ethtool").args(["-k", &name]));
        let links = run(right.command("ip").args(["-details", "link"]));
        let settings =
            run(right
                .command("/usr/bin/env")
                .args(["grep", "-rs", "", "/proc/sys/net"]));
        assert!(!features.is_empty() && !links.is_empty() && settings.len() > 1000);
        (features, links, settings)
    };
    let before = seen();
    assert!(!look(&right).findings.is_empty());
    assert!(seen() == before, "something is not as it was");
}

#[test]
fn an_unknown_interface_is_an_error() {
    let host = Host::new("host");
    let error = host
        .run(|| examine(Some("nowhere"), &Roots::default()))
        .expect_err("none");
    assert_eq!(error.to_string(), "cannot get link nowhere");
    assert!(host.run(|| examine(None, &Roots::default())).is_ok());
}

#[test]
fn changes_are_made_and_lead_back() {
    let of_the_machine = || fs::read_to_string("/proc/sys/net/core/optmem_max").expect("a value");
    let before = of_the_machine();
    let [_left, right] = Net::new().pair();
    right.set_gro(Gro::On);
    set(&right, "core/optmem_max", "20480");
    let roots = Roots::default();
    let report = look(&right);
    let changes: Vec<_> = report
        .findings
        .iter()
        .flat_map(|finding| &finding.fix)
        .collect();
    assert_eq!(changes.len(), 2);
    let former = right.run(|| {
        let former: Vec<_> = changes
            .iter()
            .map(|change| change.present(&roots).unwrap())
            .collect();
        for change in &changes {
            change.make(&roots).expect("it is made");
        }
        former
    });
    assert_eq!(faults(&look(&right)), []);
    right.run(|| {
        for change in &former {
            change.make(&roots).expect("it is made");
        }
    });
    assert_eq!(faults(&look(&right)).len(), 2);
    assert_eq!(of_the_machine(), before, "the machine's own value stays");
}
