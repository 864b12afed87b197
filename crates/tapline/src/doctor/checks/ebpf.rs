//! eBPF: whether programs load, and whether they are compiled.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

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
    check_compiler(last.as_ref(), roots, report);
}

/// Whether `program`, if there is one, was compiled.
fn check_compiler(program: Option<&Program>, roots: &Roots, report: &mut Report) {
    let setting = match roots.sysctl(JIT_SETTING) {
        Ok(setting) => setting,
        Err(error) => return report.failed(JIT, &error),
    };
    let Some(compiled) = report.known(JIT, program.map(is_compiled).transpose()) else {
        return;
    };
    match (compiled.flatten(), setting.as_deref()) {
        (_, Some("0")) => {
            report.found(interpreted(format!("{JIT_SETTING} is 0"), Some(roots)));
        }
        (Some(false), setting) => {
            let seen = "a program was loaded and not compiled";
            // The machine's own namespace shows it, unless the kernel has no compiler.
            let is_there = setting.is_some() || !is_of_the_machine(roots);
            report.found(interpreted(seen.into(), is_there.then_some(roots)));
        }
        (Some(true), _) => report.can(JIT, "programs are compiled to native code"),
        (None, Some(_)) => report.can(JIT, "switched on"),
        (None, None) => report.unknown(JIT, "no program could be loaded to see"),
    }
}

/// Whether the kernel runs native code for a program; `None` when it does not tell.
///
/// # Source
/// `bpf_prog_show_fdinfo`, kernel/bpf/syscall.c.
fn is_compiled(program: &Program) -> io::Result<Option<bool>> {
    let path = format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd());
    let text = fs::read_to_string(path)?;
    let told = text
        .lines()
        .find_map(|line| line.strip_prefix("prog_jited:"));
    Ok(told.map(|value| value.trim() != "0"))
}

fn is_forbidden(error: &LoadError) -> bool {
    let denied = io::ErrorKind::PermissionDenied;
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
    let option = match kind {
        ProgramKind::SocketFilter => "CONFIG_BPF_SYSCALL=y",
        ProgramKind::Tc => "CONFIG_BPF_SYSCALL=y and CONFIG_NET_CLS_ACT=y",
        _ => "CONFIG_BPF_SYSCALL=y, of Linux 4.8 or later",
    };
    let finding = Finding::new(ID, Severity::Warning, seen, spoils);
    finding.advice(&format!(
        "boot a kernel with {option}; without, capture with --mode mirror"
    ))
}

/// Whether this is the network namespace that the machine began with.
fn is_of_the_machine(roots: &Roots) -> bool {
    let namespace = |process: &str| fs::read_link(roots.proc.join(process).join("ns/net")).ok();
    namespace("thread-self").is_some_and(|own| namespace("1") == Some(own))
}

/// With where the compiler is switched on, if there is one.
fn interpreted(seen: String, roots: Option<&Roots>) -> Finding {
    let spoils = "filters and counters are interpreted for every packet, at several times the cost";
    let finding = Finding::new(JIT, Severity::Warning, seen, spoils);
    match roots {
        Some(roots) => finding.remedy(roots.set_for_all(&[(JIT_SETTING, 1)])),
        None => finding,
    }
}
