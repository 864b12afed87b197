//! The doctor finds and names foreign programs and filters on an interface, attached by tc(8).

use crate::support::doctor::{faults, finding, look};
use bpf::{
    Insn, Program, ProgramKind, Reg, TcAttachMethod, TcHook, TcLink, XdpAttachMode, XdpLink,
};
use lab::{Host, Net};
use tapline::doctor::{Report, Severity};

fn load(kind: ProgramKind, name: &str, verdict: i32) -> Program {
    let code = [Insn::mov(Reg::R0, verdict), Insn::Exit];
    Program::load(kind, name, &code).expect("a program")
}

/// Foreign programs: attached by this test.
#[test]
fn programs_on_the_interface_are_found_and_named() {
    let [_left, right] = Net::new().pair();
    let index = right.interface().index.0;
    let xdp = load(ProgramKind::Xdp, "pass_xdp", 2);
    let tc = load(ProgramKind::Tc, "pass_tc", -1);
    let links = right.run(|| {
        let xdp = XdpLink::attach(&xdp, index, XdpAttachMode::Native).expect("it is attached");
        let tc = TcLink::attach(&tc, index, TcHook::Egress).expect("it is attached");
        (xdp, tc)
    });
    let report = look(&right);
    assert_eq!(faults(&report), [("xdp-program", Severity::Warning)]);
    let seen = &finding(&report, "xdp-program").observed;
    let (number, process) = (xdp.id().expect("a number"), std::process::id());
    assert!(
        seen.contains(&format!("program {number} (pass_xdp)")),
        "{seen}"
    );
    assert!(seen.contains(&format!("process {process}")), "{seen}");
    let seen = &finding(&report, "tc-program").observed;
    let number = tc.id().expect("a number");
    assert!(
        seen.ends_with(&format!("at egress: {number} (pass_tc)")),
        "{seen}"
    );
    drop(links);
    assert_eq!(faults(&look(&right)), []);
}

/// Runs tc(8) on the interface of `host`; a `|` is a space within a word.
#[track_caller]
fn tc(host: &Host, before: &str, after: &str) {
    let line = format!("{before} {} {after}", host.interface().name);
    let words = line.split(' ').map(|word| word.replace('|', " "));
    let status = host.command("tc").args(words).status();
    assert!(status.expect("tc runs").success());
}

/// Reported filters, one finding per hook.
fn told(report: &Report) -> Vec<&str> {
    let findings = report.findings.iter();
    let findings = findings.filter(|finding| finding.id == "tc-filter");
    findings.map(|finding| &*finding.observed).collect()
}

#[test]
fn filters_of_clsact_are_found_and_named() {
    let [_left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    tc(&right, "qdisc add dev", "clsact");
    assert_eq!(told(&look(&right)), [""; 0]);
    tc(
        &right,
        "filter add dev",
        "ingress pref 7 bpf da bytecode 1,6|0|0|0",
    );
    let program = load(ProgramKind::Tc, "pass_tc", -1);
    let index = right.interface().index.0;
    let attach = || TcLink::attach_by(TcAttachMethod::Clsact, &program, index, TcHook::Egress);
    let link = right.run(attach).expect("it is attached");
    let report = look(&right);
    assert_eq!(faults(&report), []);
    let [ingress, egress] = told(&report)[..] else {
        panic!("{report:?}");
    };
    assert_eq!(
        ingress,
        format!("{name} has tc filters at ingress: bpf pref 7")
    );
    let number = program.id().expect("a number");
    let prefix = format!("{name} has tc filters at egress: bpf pref 49152 tapline-tc/");
    assert!(egress.starts_with(&prefix), "{egress}");
    assert!(
        egress.ends_with(&format!(", program {number} (pass_tc)")),
        "{egress}"
    );
    let finding = finding(&report, "tc-filter");
    assert_eq!(finding.severity, Severity::Info);
    assert_eq!(
        finding.remedy,
        [format!("tc filter show dev {name} ingress")]
    );
    drop(link);
    tc(&right, "qdisc del dev", "clsact");
    assert_eq!(told(&look(&right)), [""; 0]);
}

/// The `ingress` qdisc has filters for ingress only.
#[test]
fn filters_of_the_older_discipline_are_those_of_one_place() {
    let [_left, right] = Net::new().pair();
    tc(&right, "qdisc add dev", "ingress");
    tc(
        &right,
        "filter add dev",
        "ingress pref 1 bpf da bytecode 1,6|0|0|0",
    );
    tc(
        &right,
        "filter add dev",
        "ingress pref 2 bpf da bytecode 1,6|0|0|1",
    );
    let report = look(&right);
    let expected = "right0 has tc filters at ingress: bpf pref 1; bpf pref 2";
    assert_eq!(told(&report), [expected]);
}
