//! eBPF: whether programs load, and whether they are compiled.

use bpf::{Insn, LoadError, Program, ProgramKind, Reg};

use super::super::place::Roots;
use super::super::report::{Finding, Report, Severity};

const ID: &str = "ebpf";
const JIT: &str = "jit";
const JIT_SETTING: &str = "net.core.bpf_jit_enable";

pub(super) fn check(roots: &Roots, report: &mut Report) {
    let code = [Insn::mov(Reg::R0, 0), Insn::Exit];
    let load = |kind| Program::load(kind, "tapline_doctor", &code);
    let mut kinds = Vec::new();
    let mut last = None;
    let mut forbidden = None;
    for kind in [ProgramKind::SocketFilter, ProgramKind::Tc, ProgramKind::Xdp] {
        match load(kind) {
            Ok(program) => {
                kinds.push(kind.to_string());
                last = Some(program);
            }
            Err(error) if is_forbidden(&error) => forbidden = forbidden.or(Some(error)),
            Err(error) => report.found(refused(kind, &error)),
        }
    }
    if let Some(error) = forbidden {
        report.failed(ID, &error);
    }
    if !kinds.is_empty() {
        report.can(ID, format!("{} programs load", kinds.join(", ")));
    }
    // The kernel tells the size of native code to those only who may load any kind of program.
    let all = (kinds.len() == 3).then_some(last).flatten();
    let native = all.map(|program| program.native_bytes());
    let setting = roots.sysctl(JIT_SETTING);
    let setting = match setting {
        Ok(setting) => setting,
        Err(error) => return report.failed(JIT, &error),
    };
    match (native, setting.as_deref()) {
        (_, Some("0")) => report.found(interpreted(format!("{JIT_SETTING} is 0"))),
        (Some(Ok(0)), _) => {
            report.found(interpreted("a program was loaded and not compiled".into()));
        }
        (Some(Ok(_)), _) => report.can(JIT, "programs are compiled to native code"),
        (Some(Err(error)), _) => report.failed(JIT, &error),
        (None, Some(_)) => report.can(JIT, "switched on"),
        (None, None) => report.unknown(JIT, "needs CAP_BPF, or the machine's own namespace"),
    }
}

fn is_forbidden(error: &LoadError) -> bool {
    let denied = std::io::ErrorKind::PermissionDenied;
    matches!(error, LoadError::Refused { source, .. } if source.kind() == denied)
}

fn refused(kind: ProgramKind, error: &LoadError) -> Finding {
    let seen = format!("the kernel does not load {kind} programs: {error}");
    let spoils = match kind {
        ProgramKind::SocketFilter => {
            "what a filter refuses is not counted: it is null in summaries"
        }
        ProgramKind::Tc => "packets on their way out cannot be counted in the kernel",
        _ => {
            "nothing can be dropped or counted before the network stack, and AF_XDP is not to be had"
        }
    };
    Finding::new(ID, Severity::Warning, seen, spoils)
}

fn interpreted(seen: String) -> Finding {
    let spoils = "filters and counters are interpreted for every packet, at several times the cost";
    let finding = Finding::new(JIT, Severity::Warning, seen, spoils);
    finding.remedy(format!("sysctl -w {JIT_SETTING}=1"))
}
