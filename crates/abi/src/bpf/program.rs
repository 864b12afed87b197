//! Programs: loading, identity and test runs.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::attr::{
    BPF_OBJ_GET_INFO_BY_FD, BPF_PROG_LOAD, BPF_PROG_TEST_RUN, ObjectInfo, ProgramLoad,
    ProgramTestRun, bpf, object_name,
};
use super::instruction::Instruction;

/// Socket filter: decides how many bytes of a packet a socket receives.
#[doc(alias = "BPF_PROG_TYPE_SOCKET_FILTER")]
pub const PROG_TYPE_SOCKET_FILTER: u32 = 1;
/// tc program: runs at ingress or egress of an interface.
#[doc(alias = "BPF_PROG_TYPE_SCHED_CLS")]
pub const PROG_TYPE_SCHED_CLS: u32 = 3;
/// XDP program: runs for each received frame before the network stack.
#[doc(alias = "BPF_PROG_TYPE_XDP")]
pub const PROG_TYPE_XDP: u32 = 6;

/// Program that sees the IP packets of the sockets of a control group.
#[doc(alias = "BPF_PROG_TYPE_CGROUP_SKB")]
pub const PROG_TYPE_CGROUP_SKB: u32 = 8;
/// Program that sees what happens to the sockets of a control group.
#[doc(alias = "BPF_PROG_TYPE_CGROUP_SOCK")]
pub const PROG_TYPE_CGROUP_SOCK: u32 = 9;
/// Program that runs at a kernel tracepoint.
#[doc(alias = "BPF_PROG_TYPE_RAW_TRACEPOINT")]
pub const PROG_TYPE_RAW_TRACEPOINT: u32 = 17;

/// Flag of an XDP program that accepts multi-buffer frames (Linux 5.18).
pub const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
/// Flag of an XDP program that runs on one device only and may read its metadata (Linux 6.3).
pub const BPF_F_XDP_DEV_BOUND_ONLY: u32 = 1 << 6;
/// Test run of an XDP program that executes the verdict on real frames (Linux 5.18).
pub const BPF_F_TEST_XDP_LIVE_FRAMES: u32 = 1 << 1;

/// A program before it is loaded.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSource<'a> {
    /// `BPF_PROG_TYPE_*`.
    pub program_type: u32,
    /// `BPF_F_*` of programs.
    pub flags: u32,
    /// The instructions, encoded as 64-bit slots.
    pub instructions: &'a [Instruction],
    /// Licence; some kernel helpers require a GPL-compatible one.
    pub license: &'a CStr,
    /// Name shown by the kernel; at most 15 bytes are kept.
    pub name: &'a str,
    /// `enum bpf_attach_type`, for program types that have several; otherwise 0.
    pub attach_type: u32,
    /// Index of the interface that the program is bound to; 0 for none.
    pub ifindex: u32,
}

/// Loads a program. The verifier writes its NUL-terminated log into `log`. An empty `log` disables
/// logging, which is faster.
///
/// # Errors
/// EPERM without the privilege; EINVAL, EACCES or E2BIG if the verifier rejects the program; EAGAIN if a
/// signal interrupted verification; ENOSPC if `log` is too small.
/// # Privileges
/// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set, `CAP_NET_ADMIN` too for XDP.
pub fn load_program(source: &ProgramSource<'_>, log: &mut [u8]) -> io::Result<OwnedFd> {
    let too_long = |_| io::Error::from_raw_os_error(libc::E2BIG);
    let mut attr = ProgramLoad {
        prog_type: source.program_type,
        prog_flags: source.flags,
        insn_cnt: u32::try_from(source.instructions.len()).map_err(too_long)?,
        insns: source.instructions.as_ptr() as u64,
        license: source.license.as_ptr() as u64,
        prog_name: object_name(source.name),
        expected_attach_type: source.attach_type,
        prog_ifindex: source.ifindex,
        ..ProgramLoad::default()
    };
    if !log.is_empty() {
        attr.log_level = 1;
        attr.log_size = u32::try_from(log.len()).map_err(too_long)?;
        attr.log_buf = log.as_mut_ptr() as u64;
    }
    // SAFETY: the kernel reads `insn_cnt` slots and the licence up to its zero, and writes at most
    // `log_size` bytes of log: three borrows that outlive the call.
    let fd = unsafe { bpf(BPF_PROG_LOAD, &mut attr) }?;
    // SAFETY: the descriptor was just opened, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Id of a program, as `ip link` and bpftool print it.
///
/// # Errors
/// EINVAL when the descriptor is not a program.
pub fn program_id(program: BorrowedFd<'_>) -> io::Result<u32> {
    // The first two fields of `struct bpf_prog_info`: type and id.
    let mut info = [0u32; 2];
    let mut attr = ObjectInfo {
        bpf_fd: program.as_raw_fd().cast_unsigned(),
        info_len: size_of_val(&info) as u32,
        info: info.as_mut_ptr() as u64,
    };
    // SAFETY: the kernel reads and writes at most `info_len` bytes at `info`, which is that long
    // and outlives the call; any value of a u32 is valid.
    unsafe { bpf(BPF_OBJ_GET_INFO_BY_FD, &mut attr) }?;
    Ok(info[1])
}

/// Options of a test run.
#[derive(Clone, Copy, Debug, Default)]
pub struct TestRun<'a> {
    /// The packet, at least 14 bytes.
    pub data: &'a [u8],
    /// The context, in the layout of the program's type; empty for the default.
    pub context: &'a [u8],
    /// Number of runs; 0 counts as 1.
    pub repeat: u32,
    /// `BPF_F_TEST_*`.
    pub flags: u32,
    /// Live frames: batch size, at most 256. 0 selects the kernel's default, 64.
    pub batch_frames: u32,
}

/// Result of a test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestRunResult {
    /// Return value of the last run.
    pub return_value: u32,
    /// Mean duration of a run.
    pub run_ns: u32,
    /// Bytes of the packet after the last run.
    pub data_bytes: u32,
}

/// Runs a program on a packet. Copies the packet after the run to `out` (unless empty).
///
/// # Errors
/// EINTR if a signal arrived: some of the runs are done, and the kernel does not report how many.
/// ENOSPC when `out` is too small; EINVAL for a packet shorter than 14 bytes or longer than a page
/// allows; ENOTSUPP when the type of program cannot be test-run.
/// # Privileges
/// As for loading; live frames require `CAP_SYS_ADMIN` or `CAP_NET_ADMIN` and `CAP_BPF`.
/// # Kernel
/// Linux 4.12; live frames Linux 5.18.
/// # Source
/// `bpf_prog_test_run_xdp`, net/bpf/test_run.c.
pub fn test_run(
    program: BorrowedFd<'_>,
    run: &TestRun<'_>,
    out: &mut [u8],
) -> io::Result<TestRunResult> {
    let too_long = |_| io::Error::from_raw_os_error(libc::E2BIG);
    let mut attr = ProgramTestRun {
        prog_fd: program.as_raw_fd().cast_unsigned(),
        data_size_in: u32::try_from(run.data.len()).map_err(too_long)?,
        data_in: run.data.as_ptr() as u64,
        repeat: run.repeat,
        flags: run.flags,
        batch_size: run.batch_frames,
        ..ProgramTestRun::default()
    };
    if !run.context.is_empty() {
        attr.ctx_size_in = u32::try_from(run.context.len()).map_err(too_long)?;
        attr.ctx_in = run.context.as_ptr() as u64;
    }
    // A size of 0 with an address would mean "copy all of it", so both are set or none is.
    if !out.is_empty() {
        attr.data_size_out = u32::try_from(out.len()).map_err(too_long)?;
        attr.data_out = out.as_mut_ptr() as u64;
    }
    // SAFETY: the kernel reads the packet and the context and writes at most `data_size_out` bytes
    // to `out`; the three borrows outlive the call. `ctx_out` is null: nothing is written there.
    unsafe { bpf(BPF_PROG_TEST_RUN, &mut attr) }?;
    Ok(TestRunResult {
        return_value: attr.retval,
        run_ns: attr.duration,
        data_bytes: attr.data_size_out,
    })
}
