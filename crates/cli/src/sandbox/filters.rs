//! The system calls that seccomp leaves to a command.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use tapline::seccomp::install_filter;

use super::Sandbox;
use super::calls::{FATAL, NEW_SOCKETS, START_THREAD};
#[cfg(debug_assertions)]
use super::variation;

/// System calls, with the conditions of which one has to hold; a call without any is always meant.
type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// The result of a call that is not allowed. Libraries fall back to an older call, as in an older kernel.
const NOT_ALLOWED: SeccompAction = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());

/// Types a character into a terminal, and pastes a selection (include/uapi/asm-generic/ioctls.h).
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

/// Choose the process that gets a signal when a socket is ready (include/uapi/asm-generic/sockios.h).
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;

/// Requests of ioctl(2) that put text into the input of a terminal, where a shell would run it, or signal other processes.
const TYPING_OR_SIGNALLING: [u64; 4] = [TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP];

/// The same for fcntl(2), which signals: `F_SETOWN`, `F_SETSIG` and `F_SETOWN_EX` (include/uapi/asm-generic/fcntl.h).
const SIGNALLING: [u64; 3] = [8, 10, 15];

/// Restricts the calling thread. Returns whether the kernel has seccomp, a container around this program allows it, and there
/// are filters for this machine.
///
/// A call of [`FATAL`] kills the process: no command makes it, except on behalf of an attacker.
pub fn restrict(sandbox: &Sandbox) -> io::Result<bool> {
    let Ok(machine) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Ok(false);
    };
    install(&programs(sandbox, machine).map_err(io::Error::other)?)
}

/// Restricts the calling thread, and another program that it starts to parse packets: it opens no sockets, types nothing into a
/// terminal and makes no call of [`FATAL`], except that it starts programs. Landlock does not restrict connections to sockets of
/// this host. Does nothing where [`restrict`] returns false.
pub fn restrict_parser() -> io::Result<()> {
    if let Ok(machine) = TargetArch::try_from(std::env::consts::ARCH) {
        install(&[parser(machine).map_err(io::Error::other)?])?;
    }
    Ok(())
}

fn parser(machine: TargetArch) -> Result<BpfProgram, seccompiler::Error> {
    let starts = [libc::SYS_execve, libc::SYS_execveat];
    let others = FATAL.iter().filter(|call| !starts.contains(call));
    // io_uring opens sockets without socket(2).
    let more = [
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_io_uring_setup,
        libc::SYS_bpf,
        libc::SYS_setns,
        libc::SYS_unshare,
    ];
    let mut refused: Rules = others
        .chain(&more)
        .map(|&call| (call, Vec::new()))
        .collect();
    let is = |request: u64| {
        SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)
            .and_then(|condition| SeccompRule::new(vec![condition]))
    };
    refused.insert(libc::SYS_ioctl, vec![is(TIOCSTI)?, is(TIOCLINUX)?]);
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, refuse, machine)?;
    Ok(filter.try_into()?)
}

/// Installs filters in the calling thread. Returns false if there is no seccomp.
fn install(programs: &[BpfProgram]) -> io::Result<bool> {
    for program in programs {
        let instructions = program.iter().map(|one| libc::sock_filter {
            code: one.code,
            jt: one.jt,
            jf: one.jf,
            k: one.k,
        });
        match install_filter(&instructions.collect::<Vec<_>>()) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EPERM)) => {
                return Ok(false);
            }
            result => result?,
        }
    }
    Ok(true)
}

fn programs(sandbox: &Sandbox, machine: TargetArch) -> Result<[BpfProgram; 2], seccompiler::Error> {
    let fatal = FATAL.iter().map(|&call| (call, Vec::new())).collect();
    let fatal = SeccompFilter::new(
        fatal,
        SeccompAction::Allow,
        SeccompAction::KillProcess,
        machine,
    )?;
    #[cfg(debug_assertions)]
    let fatal = if variation::is_strict() {
        strict(sandbox, machine)?
    } else {
        fatal
    };
    let allowed = SeccompFilter::new(
        allowed(sandbox)?,
        NOT_ALLOWED,
        SeccompAction::Allow,
        machine,
    )?;
    Ok([fatal.try_into()?, allowed.try_into()?])
}

/// Kills the process at a call that is not allowed. The filter that follows is still installed.
#[cfg(debug_assertions)]
fn strict(
    sandbox: &Sandbox,
    machine: TargetArch,
) -> Result<SeccompFilter, seccompiler::BackendError> {
    let mut survived = allowed(sandbox)?;
    // The C library falls back to clone(2), and does without a cache of names.
    survived.insert(libc::SYS_clone3, Vec::new());
    survived.entry(libc::SYS_socket).and_modify(Vec::clear);
    survived.insert(libc::SYS_seccomp, Vec::new());
    let installs = first_is(libc::PR_SET_NO_NEW_PRIVS.unsigned_abs())?;
    survived.entry(libc::SYS_prctl).or_insert(vec![installs]);
    let (allow, kill) = (SeccompAction::Allow, SeccompAction::KillProcess);
    SeccompFilter::new(survived, kill, allow, machine)
}

/// The calls that are allowed, under conditions for some.
fn allowed(sandbox: &Sandbox) -> Result<Rules, seccompiler::BackendError> {
    let list = sandbox.calls;
    let more = if sandbox.opens_sockets {
        NEW_SOCKETS
    } else {
        &[]
    };
    let mut allowed = Rules::new();
    for &call in list.calls.iter().copied().flatten().chain(more) {
        allowed.insert(call, Vec::new());
    }
    let commands = list.bpf_commands.iter().copied();
    #[cfg(debug_assertions)]
    let commands = commands.filter(|&command| !variation::lacks_bpf(list.name, command));
    let commands = commands.map(first_is).collect::<Result<Vec<_>, _>>()?;
    // Without a condition, each command would be allowed.
    if !commands.is_empty() {
        allowed.insert(libc::SYS_bpf, commands);
    }
    allowed.insert(START_THREAD, vec![without_namespaces()?]);
    // A panic, and a screen that is suspended, signal their own process.
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        allowed.insert(call, vec![first_is(std::process::id())?]);
    }
    if let Some(rules) = allowed.get_mut(&libc::SYS_fcntl) {
        rules.push(second_is_none_of(&SIGNALLING)?);
    }
    if let Some(rules) = allowed.get_mut(&libc::SYS_ioctl) {
        rules.push(second_is_none_of(&TYPING_OR_SIGNALLING)?);
    }
    if let Some(rules) = allowed.get_mut(&libc::SYS_socketpair) {
        rules.push(is_stream()?);
    }
    if let Some(rules) = allowed.get_mut(&libc::SYS_socket) {
        // Landlock does not restrict connections to sockets of this host, over which services that run as root take commands.
        let domains: &[i32] = if more.is_empty() {
            &[libc::AF_UNIX]
        } else {
            &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
        };
        for domain in domains {
            rules.push(first_is(domain.unsigned_abs())?);
        }
    }
    if sandbox.inspects_processes
        && let Some(rules) = allowed.get_mut(&libc::SYS_openat)
    {
        rules.push(to_read()?);
    }
    #[cfg(debug_assertions)]
    allowed.retain(|&call, _| !variation::lacks(list.name, !more.is_empty(), call));
    Ok(allowed)
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

/// The flags, which are the third argument, open a file that exists for reading.
fn to_read() -> Result<SeccompRule, seccompiler::BackendError> {
    let writes = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
    let none = SeccompCmpOp::MaskedEq(writes.cast_unsigned().into());
    let condition = SeccompCondition::new(2, SeccompCmpArgLen::Dword, none, 0)?;
    SeccompRule::new(vec![condition])
}

/// The second argument is none of `values`.
fn second_is_none_of(values: &[u64]) -> Result<SeccompRule, seccompiler::BackendError> {
    let other =
        |&value: &u64| SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value);
    SeccompRule::new(values.iter().map(other).collect::<Result<_, _>>()?)
}

/// The type, which is the second argument, is a stream. A datagram socket of a pair could send to every socket of this host.
fn is_stream() -> Result<SeccompRule, seccompiler::BackendError> {
    /// `SOCK_TYPE_MASK` in include/linux/net.h.
    const TYPE: u64 = 0xf;
    let (of_type, stream) = (SeccompCmpOp::MaskedEq(TYPE), libc::SOCK_STREAM);
    let stream = u64::from(stream.unsigned_abs());
    let condition = SeccompCondition::new(1, SeccompCmpArgLen::Dword, of_type, stream)?;
    SeccompRule::new(vec![condition])
}

/// The first argument is `value`.
fn first_is(value: u32) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition =
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value.into())?;
    SeccompRule::new(vec![condition])
}
