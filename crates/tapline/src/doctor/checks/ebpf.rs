//! eBPF: whether programs load, and whether the kernel compiles them to native code.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use bpf::{Insn, LoadError, Program, ProgramKind, Reg};

use crate::doctor::paths::SystemPaths;
use crate::doctor::report::{Finding, Report};

const EBPF: &str = "ebpf";
const JIT: &str = "jit";
const JIT_ENABLE: &str = "net.core.bpf_jit_enable";

pub(super) fn check(paths: &SystemPaths, report: &mut Report) {
    let code = [Insn::mov(Reg::R0, 0), Insn::Exit];
    let mut loaded = Vec::new();
    let mut program = None;
    let mut denied = None;
    for kind in [ProgramKind::SocketFilter, ProgramKind::Tc, ProgramKind::Xdp] {
        match Program::load(kind, "tapline_doctor", &code) {
            Ok(last) => {
                loaded.push(kind.to_string());
                program = Some(last);
            }
            Err(error) if is_permission_denied(&error) => denied = denied.or(Some(error)),
            Err(error) => report.add(cannot_load(kind, &error)),
        }
    }
    if let Some(error) = denied {
        report.add_error(EBPF, &error);
    }
    if !loaded.is_empty() {
        report.add_ability(EBPF, format!("{} programs load", loaded.join(", ")));
    }
    check_jit(program.as_ref(), paths, report);
}

/// Whether the kernel compiled `program`, if one could be loaded.
fn check_jit(program: Option<&Program>, paths: &SystemPaths, report: &mut Report) {
    let setting = match paths.sysctl(JIT_ENABLE) {
        Ok(setting) => setting,
        Err(error) => return report.add_error(JIT, &error),
    };
    let compiled = program.map(is_compiled).transpose();
    let Some(compiled) = report.value_or_unknown(JIT, compiled) else {
        return;
    };
    match (compiled.flatten(), setting.as_deref()) {
        (_, Some("0")) => report.add(interpreted(format!("{JIT_ENABLE} is 0"), Some(paths))),
        (Some(false), setting) => {
            let observed = "the kernel loaded a program without compiling it";
            // The initial namespace shows the setting unless the kernel has no compiler.
            let has_setting = setting.is_some() || !is_initial_namespace(paths);
            report.add(interpreted(observed.into(), has_setting.then_some(paths)));
        }
        (Some(true), _) => report.add_ability(JIT, "programs are compiled to native code"),
        (None, Some(_)) => report.add_ability(JIT, "enabled"),
        (None, None) => report.add_unknown(JIT, "no program could be loaded"),
    }
}

/// Whether the kernel runs native code for `program`; `None` if the kernel does not report it.
///
/// # Source
/// `bpf_prog_show_fdinfo`, kernel/bpf/syscall.c.
fn is_compiled(program: &Program) -> io::Result<Option<bool>> {
    let path = format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd());
    let text = fs::read_to_string(path)?;
    let jited = text
        .lines()
        .find_map(|line| line.strip_prefix("prog_jited:"));
    Ok(jited.map(|value| value.trim() != "0"))
}

fn is_permission_denied(error: &LoadError) -> bool {
    let denied = io::ErrorKind::PermissionDenied;
    matches!(error, LoadError::Refused { source, .. } if source.kind() == denied)
}

fn cannot_load(kind: ProgramKind, error: &LoadError) -> Finding {
    let observed = format!("the kernel does not load {kind} programs: {error}");
    let (effect, option) = match kind {
        ProgramKind::SocketFilter => (
            "packets that a filter rejects are not counted: `filtered` is null",
            "CONFIG_BPF_SYSCALL=y",
        ),
        ProgramKind::Tc => (
            "sent packets cannot be counted in the kernel",
            "CONFIG_BPF_SYSCALL=y and CONFIG_NET_CLS_ACT=y",
        ),
        _ => (
            "drop mode, counting before the network stack, and AF_XDP are not available",
            "CONFIG_BPF_SYSCALL=y, Linux 4.8 or later",
        ),
    };
    Finding::warning(EBPF, observed, effect).advice(&format!(
        "boot a kernel with {option}; without it, capture in mirror mode"
    ))
}

/// Whether the calling thread is in the initial network namespace.
fn is_initial_namespace(paths: &SystemPaths) -> bool {
    let namespace = |process: &str| fs::read_link(paths.proc.join(process).join("ns/net")).ok();
    namespace("thread-self").is_some_and(|own| namespace("1") == Some(own))
}

/// A finding with the command that enables the compiler, if the kernel has one.
fn interpreted(observed: String, paths: Option<&SystemPaths>) -> Finding {
    let effect =
        "the kernel interprets filters and counters for every packet, at several times the cost";
    let finding = Finding::warning(JIT, observed, effect);
    match paths {
        Some(paths) => finding.command(paths.set_host_sysctls(&[(JIT_ENABLE, 1)])),
        None => finding,
    }
}
