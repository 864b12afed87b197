//! Loaded programs, and the verifier's log of rejected programs.

use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::bpf::{
    BPF_CGROUP_INET_EGRESS, BPF_CGROUP_INET4_POST_BIND, BPF_CGROUP_INET6_POST_BIND,
    BPF_F_XDP_DEV_BOUND_ONLY, BPF_F_XDP_HAS_FRAGS, Instruction, PROG_TYPE_CGROUP_SKB,
    PROG_TYPE_CGROUP_SOCK, PROG_TYPE_RAW_TRACEPOINT, PROG_TYPE_SCHED_CLS, PROG_TYPE_SOCKET_FILTER,
    PROG_TYPE_XDP, ProgramSource, TestRun, TestRunResult,
};
use abi::kernel::is_older_than;

use rustix::thread::{CapabilitySet, capabilities};

use crate::Insn;
use crate::assemble::{AssembleError, assemble};
use crate::map::MapError;

const LICENSE: &CStr = c"MIT OR Apache-2.0";
/// Of programs that call functions of the kernel: the kernel requires a licence that it knows to be compatible with the GPL
/// (`license_is_gpl_compatible`, include/linux/license.h). The MIT licence is, and grants the right to license the program
/// under the GPL.
const KERNEL_CALL_LICENSE: &CStr = c"Dual MIT/GPL";
/// Number of attempts to load a program while signals interrupt it.
const LOAD_ATTEMPTS: u32 = 10;
/// Initial size of the log buffer, bytes. If it is too small, the kernel returns ENOSPC.
const LOG_BYTES: usize = 64 << 10;
/// Maximum log buffer. Linux 6.4 and later keep the end of a longer log; older kernels keep the beginning.
const LOG_BYTES_MAX: usize = 16 << 20;

/// Type of a program. It decides the program's context and return values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramKind {
    /// Decides how many bytes of a packet a socket receives. Context: `struct __sk_buff`.
    #[doc(alias = "BPF_PROG_TYPE_SOCKET_FILTER")]
    SocketFilter,
    /// Decides where a frame goes before the network stack sees it. Context: `struct xdp_md`.
    #[doc(alias = "BPF_PROG_TYPE_XDP")]
    Xdp,
    /// As [`ProgramKind::Xdp`], also for multi-buffer frames, e.g. with a large MTU. Direct packet access reaches the first
    /// buffer only (Linux 5.18).
    #[doc(alias = "BPF_F_XDP_HAS_FRAGS")]
    XdpFrags,
    /// Runs at tc ingress or egress of an interface. Context: `struct __sk_buff`.
    #[doc(alias = "BPF_PROG_TYPE_SCHED_CLS")]
    Tc,
    /// Runs at a kernel tracepoint. Context: the tracepoint's arguments.
    #[doc(alias = "BPF_PROG_TYPE_RAW_TRACEPOINT")]
    Tracepoint,
    /// Sees the IP packets that sockets of a control group send. Context: `struct __sk_buff`.
    #[doc(alias = "BPF_PROG_TYPE_CGROUP_SKB")]
    CgroupEgress,
    /// Runs when a socket of a control group has got its local port, IPv4. Context: `struct bpf_sock`.
    #[doc(alias = "BPF_CGROUP_INET4_POST_BIND")]
    CgroupBound4,
    /// The same for IPv6.
    #[doc(alias = "BPF_CGROUP_INET6_POST_BIND")]
    CgroupBound6,
}

impl ProgramKind {
    /// Where a program of a control group is attached.
    pub(crate) fn cgroup_place(self) -> Option<u32> {
        match self {
            Self::CgroupEgress => Some(BPF_CGROUP_INET_EGRESS),
            Self::CgroupBound4 => Some(BPF_CGROUP_INET4_POST_BIND),
            Self::CgroupBound6 => Some(BPF_CGROUP_INET6_POST_BIND),
            _ => None,
        }
    }

    /// The kind of an XDP program that accepts multi-buffer frames or not.
    pub(crate) fn xdp(multi_buffer: bool) -> Self {
        if multi_buffer {
            Self::XdpFrags
        } else {
            Self::Xdp
        }
    }
}

impl fmt::Display for ProgramKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SocketFilter => "socket filter",
            Self::Xdp | Self::XdpFrags => "XDP",
            Self::Tc => "tc",
            Self::Tracepoint => "tracepoint",
            Self::CgroupEgress | Self::CgroupBound4 | Self::CgroupBound6 => "control group",
        })
    }
}

/// A loaded program. The kernel frees it once this value and all links and sockets that use it are closed.
#[derive(Debug)]
pub struct Program {
    kind: ProgramKind,
    fd: OwnedFd,
}

impl Program {
    /// Assembles and loads a program called `name` (the kernel shows at most 15 bytes of it).
    ///
    /// Costs one system call, and a second one for the log if the kernel refuses the program.
    ///
    /// # Errors
    /// [`LoadError`]: a label cannot be resolved, or the kernel refused the program.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set; for XDP and tc also `CAP_NET_ADMIN`; for some code also
    /// `CAP_PERFMON`.
    pub fn load(kind: ProgramKind, name: &str, code: &[Insn<'_>]) -> Result<Self, LoadError> {
        let slots = assemble(code).map_err(LoadError::Assemble)?;
        Self::load_source(kind, &program_source(kind, name, &slots))
    }

    /// As [`load`](Self::load), for an XDP program that runs only on the interface with index `ifindex`, and may call the
    /// functions of the kernel that read the device's metadata.
    ///
    /// # Errors
    /// As [`load`](Self::load); EOPNOTSUPP if the driver cannot.
    /// # Privileges
    /// As [`load`](Self::load).
    /// # Kernel
    /// Linux 6.3.
    #[doc(alias = "BPF_F_XDP_DEV_BOUND_ONLY")]
    pub(crate) fn load_bound(
        kind: ProgramKind,
        name: &str,
        code: &[Insn<'_>],
        ifindex: u32,
    ) -> Result<Self, LoadError> {
        let slots = assemble(code).map_err(LoadError::Assemble)?;
        let mut source = program_source(kind, name, &slots);
        source.flags |= BPF_F_XDP_DEV_BOUND_ONLY;
        source.license = KERNEL_CALL_LICENSE;
        source.ifindex = ifindex;
        Self::load_source(kind, &source)
    }

    fn load_source(kind: ProgramKind, source: &ProgramSource<'_>) -> Result<Self, LoadError> {
        match load(source, &mut []) {
            Ok(fd) => Ok(Self { kind, fd }),
            Err(error) => Err(LoadError::Refused {
                kind,
                log: read_log(source),
                source: error,
            }),
        }
    }

    /// Type of the program.
    pub fn kind(&self) -> ProgramKind {
        self.kind
    }

    /// Id of the program, as `ip link` shows it.
    ///
    /// # Errors
    /// Errors of `BPF_OBJ_GET_INFO_BY_FD`.
    pub fn id(&self) -> io::Result<u32> {
        abi::bpf::program_id(self.as_fd())
    }

    /// Runs the program on a test packet; see [`abi::bpf::test_run`].
    ///
    /// # Errors
    /// As [`abi::bpf::test_run`].
    pub fn test_run(&self, run: &TestRun<'_>, out: &mut [u8]) -> io::Result<TestRunResult> {
        abi::bpf::test_run(self.as_fd(), run, out)
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn program_source<'a>(
    kind: ProgramKind,
    name: &'a str,
    instructions: &'a [Instruction],
) -> ProgramSource<'a> {
    let (program_type, flags) = match kind {
        ProgramKind::SocketFilter => (PROG_TYPE_SOCKET_FILTER, 0),
        ProgramKind::Xdp => (PROG_TYPE_XDP, 0),
        ProgramKind::XdpFrags => (PROG_TYPE_XDP, BPF_F_XDP_HAS_FRAGS),
        ProgramKind::Tc => (PROG_TYPE_SCHED_CLS, 0),
        ProgramKind::Tracepoint => (PROG_TYPE_RAW_TRACEPOINT, 0),
        ProgramKind::CgroupEgress => (PROG_TYPE_CGROUP_SKB, 0),
        ProgramKind::CgroupBound4 | ProgramKind::CgroupBound6 => (PROG_TYPE_CGROUP_SOCK, 0),
    };
    ProgramSource {
        attach_type: kind.cgroup_place().unwrap_or_default(),
        program_type,
        flags,
        instructions,
        license: LICENSE,
        name,
        ifindex: 0,
    }
}

/// Loads the program. Retries if a pending signal makes the verifier return EAGAIN.
fn load(source: &ProgramSource<'_>, log: &mut [u8]) -> io::Result<OwnedFd> {
    let mut answer = abi::bpf::load_program(source, log);
    for _ in 1..LOAD_ATTEMPTS {
        match &answer {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                answer = abi::bpf::load_program(source, log);
            }
            _ => break,
        }
    }
    answer
}

/// Loads the refused program again to get the verifier's log.
fn read_log(source: &ProgramSource<'_>) -> VerifierLog {
    let mut bytes = vec![0; LOG_BYTES];
    while let Err(error) = load(source, &mut bytes)
        && error.kind() == io::ErrorKind::StorageFull
        && bytes.len() < LOG_BYTES_MAX
    {
        bytes = vec![0; bytes.len() * 16];
    }
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    VerifierLog(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// The kernel verifier's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierLog(String);

impl VerifierLog {
    /// The whole log. Empty if the kernel refused the program before verification.
    pub fn whole(&self) -> &str {
        &self.0
    }

    /// The last `lines` lines: the verifier's state at the last instructions.
    pub fn tail(&self, lines: usize) -> &str {
        let log = self.0.trim_end();
        let mut ends = log.rmatch_indices('\n').map(|(at, _)| at + 1);
        let start = lines
            .checked_sub(1)
            .map_or(log.len(), |skipped| ends.nth(skipped).unwrap_or(0));
        &log[start..]
    }

    /// The line that gives the reason: the last one that is not statistics.
    pub fn reason_line(&self) -> Option<&str> {
        const STATISTICS_PREFIXES: [&str; 3] = ["processed ", "verification time ", "stack depth "];
        self.0.lines().map(str::trim).rfind(|line| {
            !line.is_empty() && !STATISTICS_PREFIXES.iter().any(|b| line.starts_with(b))
        })
    }
}

/// Why a program could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A label cannot be resolved.
    #[error("cannot assemble program")]
    Assemble(#[from] AssembleError),
    /// The array that joins several programs could not be created.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The kernel refused the program.
    #[error("cannot load {kind} program{}", refusal_reason(.log, .source))]
    Refused {
        /// Type of the program.
        kind: ProgramKind,
        /// The verifier's log.
        log: VerifierLog,
        /// The kernel's error.
        source: io::Error,
    },
}

impl LoadError {
    /// Whether the program was refused because this thread lacks a privilege. True for EPERM, and for EACCES if the thread
    /// has no `CAP_PERFMON`: the verifier then forbids operations that it allows otherwise.
    pub fn is_privilege(&self) -> bool {
        let Self::Refused { source, .. } = self else {
            return false;
        };
        match source.raw_os_error() {
            Some(libc::EPERM) => true,
            Some(libc::EACCES) => {
                let trusted = CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN;
                !capabilities(None).is_ok_and(|sets| sets.effective.intersects(trusted))
            }
            _ => false,
        }
    }

    /// Whether the kernel refused the program for another reason than a privilege, and is older than `version`, the first
    /// that knows all that the program needs.
    pub fn is_kernel_older_than(&self, version: (u32, u32)) -> bool {
        let is_refused = matches!(self, Self::Refused { .. });
        is_refused && !self.is_privilege() && is_older_than(version)
    }
}

fn refusal_reason(log: &VerifierLog, source: &io::Error) -> String {
    match log.reason_line() {
        Some(line) => format!(": {line}"),
        None if source.kind() == io::ErrorKind::PermissionDenied => {
            " (needs CAP_BPF, for XDP and tc CAP_NET_ADMIN too)".to_owned()
        }
        None => String::new(),
    }
}
