//! The system calls that seccomp leaves to a command.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use super::calls::{FATAL, List, NEW_SOCKETS, START_THREAD};

/// The result of a call that is not allowed. Libraries fall back to an older call, as in an older kernel.
const NOT_ALLOWED: SeccompAction = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());

/// Restricts the calling thread. Returns whether the kernel has seccomp, a container around this program allows it, and there
/// are filters for this machine.
///
/// A call of [`FATAL`] kills the process: no command makes it, except on behalf of an attacker.
pub fn restrict(list: &List, opens_sockets: bool) -> io::Result<bool> {
    let Ok(machine) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Ok(false);
    };
    let more = if opens_sockets { NEW_SOCKETS } else { &[] };
    let programs = programs(list, more, machine).map_err(io::Error::other)?;
    for program in &programs {
        match apply_filter(program) {
            Ok(()) => {}
            Err(Error::Prctl(error) | Error::Seccomp(error))
                if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EPERM)) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(io::Error::other(error)),
        }
    }
    Ok(true)
}

fn programs(
    list: &List,
    more: &[c_long],
    machine: TargetArch,
) -> Result<[BpfProgram; 2], seccompiler::Error> {
    let mut allowed = BTreeMap::new();
    for &call in list.calls.iter().copied().flatten().chain(more) {
        allowed.insert(call, Vec::new());
    }
    if !list.bpf_commands.is_empty() {
        let rules = list.bpf_commands.iter().map(|&command| first_is(command));
        allowed.insert(libc::SYS_bpf, rules.collect::<Result<_, _>>()?);
    }
    allowed.insert(START_THREAD, vec![without_namespaces()?]);
    // A screen that is suspended stops its own process.
    allowed.insert(libc::SYS_kill, vec![first_is(std::process::id())?]);
    let allowed = SeccompFilter::new(allowed, NOT_ALLOWED, SeccompAction::Allow, machine)?;
    let fatal = FATAL.iter().map(|&call| (call, Vec::new())).collect();
    let (other, killed) = (SeccompAction::Allow, SeccompAction::KillProcess);
    let fatal = SeccompFilter::new(fatal, other, killed, machine)?;
    Ok([fatal.try_into()?, allowed.try_into()?])
}

/// The flags, which are the first argument, make no namespace: a new user namespace would give all capabilities inside.
fn without_namespaces() -> Result<SeccompRule, seccompiler::BackendError> {
    let flags = libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET;
    let none = SeccompCmpOp::MaskedEq(flags.cast_unsigned().into());
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, none, 0)?;
    SeccompRule::new(vec![condition])
}

/// The first argument is `value`.
fn first_is(value: u32) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition =
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value.into())?;
    SeccompRule::new(vec![condition])
}
