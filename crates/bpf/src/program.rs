//! Loaded programs, and what the verifier said of those it refused.

use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::bpf::{
    BPF_F_XDP_HAS_FRAGS, Instruction, PROG_TYPE_RAW_TRACEPOINT, PROG_TYPE_SCHED_CLS,
    PROG_TYPE_SOCKET_FILTER, PROG_TYPE_XDP, ProgramSource, TestRun, TestRunResult,
};

use crate::Insn;
use crate::assemble::{AssembleError, assemble};

const LICENSE: &CStr = c"MIT OR Apache-2.0";
/// How often a load is tried that signals interrupt.
const LOAD_ATTEMPTS: u32 = 10;
/// The first attempt at a log, bytes; the kernel says when it does not suffice.
const LOG_BYTES: usize = 64 << 10;
/// The largest log asked for; of a longer one the end is kept (Linux 6.4; before, the beginning).
const LOG_BYTES_MAX: usize = 16 << 20;

/// What a program is for; decides its context and its verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramKind {
    /// Decides how many bytes of a packet a socket gets; the context is `struct __sk_buff`.
    #[doc(alias = "BPF_PROG_TYPE_SOCKET_FILTER")]
    SocketFilter,
    /// Decides where a frame goes before the stack sees it; the context is `struct xdp_md`.
    #[doc(alias = "BPF_PROG_TYPE_XDP")]
    Xdp,
    /// As [`ProgramKind::Xdp`], also for frames of several buffers, as a large MTU makes them: what
    /// the program reads directly is the first buffer (Linux 5.18).
    #[doc(alias = "BPF_F_XDP_HAS_FRAGS")]
    XdpFrags,
    /// Decides at the traffic control of an interface, after the stack's entry or before its exit; the
    /// context is `struct __sk_buff`.
    #[doc(alias = "BPF_PROG_TYPE_SCHED_CLS")]
    Tc,
    /// Runs at a tracepoint of the kernel; the context is the tracepoint's arguments.
    #[doc(alias = "BPF_PROG_TYPE_RAW_TRACEPOINT")]
    Tracepoint,
}

impl fmt::Display for ProgramKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SocketFilter => "socket filter",
            Self::Xdp | Self::XdpFrags => "XDP",
            Self::Tc => "tc",
            Self::Tracepoint => "tracepoint",
        })
    }
}

/// A program in the kernel; it stays there while this, a link or a socket holds it.
#[derive(Debug)]
pub struct Program {
    kind: ProgramKind,
    fd: OwnedFd,
}

impl Program {
    /// Assembles and loads a program called `name` (at most 15 bytes of it are shown).
    ///
    /// Cost: one system call, and if the kernel refuses a second one to learn why.
    ///
    /// # Errors
    /// [`LoadError`]: a label that cannot be resolved, or the kernel's refusal with its log.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set; for XDP and tc `CAP_NET_ADMIN` too;
    /// some code asks for `CAP_PERFMON`.
    pub fn load(kind: ProgramKind, name: &str, code: &[Insn<'_>]) -> Result<Self, LoadError> {
        let slots = assemble(code).map_err(LoadError::Assemble)?;
        let source = program_source(kind, name, &slots);
        match load(&source, &mut []) {
            Ok(fd) => Ok(Self { kind, fd }),
            Err(error) => Err(LoadError::Refused {
                kind,
                log: read_log(&source),
                source: error,
            }),
        }
    }

    /// What the program is for.
    pub fn kind(&self) -> ProgramKind {
        self.kind
    }

    /// The kernel's number of the program, as `ip link` shows it.
    ///
    /// # Errors
    /// What the kernel answers to `BPF_OBJ_GET_INFO_BY_FD`.
    pub fn id(&self) -> io::Result<u32> {
        abi::bpf::program_id(self.as_fd())
    }

    /// Runs the program on a given packet; see [`abi::bpf::test_run`].
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
    };
    ProgramSource {
        program_type,
        flags,
        instructions,
        license: LICENSE,
        name,
    }
}

/// Loads; a pending signal makes the verifier give up with EAGAIN, and then it is asked again.
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

/// Has the verifier refuse the program once more, this time with its log.
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

/// What the kernel's verifier wrote about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierLog(String);

impl VerifierLog {
    /// The whole log; empty when the kernel refused before the verifier began.
    pub fn whole(&self) -> &str {
        &self.0
    }

    /// Its last `lines` lines: what the verifier made of the last instructions it looked at.
    pub fn tail(&self, lines: usize) -> &str {
        let log = self.0.trim_end();
        let mut ends = log.rmatch_indices('\n').map(|(at, _)| at + 1);
        let start = lines
            .checked_sub(1)
            .map_or(log.len(), |skipped| ends.nth(skipped).unwrap_or(0));
        &log[start..]
    }

    /// The line that tells why: the last one that is not bookkeeping.
    pub fn telling_line(&self) -> Option<&str> {
        const BOOKKEEPING: [&str; 3] = ["processed ", "verification time ", "stack depth "];
        self.0
            .lines()
            .map(str::trim)
            .rfind(|line| !line.is_empty() && !BOOKKEEPING.iter().any(|b| line.starts_with(b)))
    }
}

/// Why a program was not loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// A label cannot be resolved.
    Assemble(AssembleError),
    /// The kernel refused the program.
    Refused {
        /// What the program was for.
        kind: ProgramKind,
        /// What the verifier wrote.
        log: VerifierLog,
        /// What the kernel answered.
        source: io::Error,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assemble(_) => f.write_str("cannot assemble program"),
            Self::Refused { kind, log, source } => {
                write!(f, "cannot load {kind} program")?;
                match log.telling_line() {
                    Some(line) => write!(f, ": {line}"),
                    None if source.kind() == io::ErrorKind::PermissionDenied => {
                        f.write_str(" (needs CAP_BPF, for XDP and tc CAP_NET_ADMIN too)")
                    }
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Assemble(error) => Some(error),
            Self::Refused { source, .. } => Some(source),
        }
    }
}
