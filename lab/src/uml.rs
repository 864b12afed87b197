//! Runs tests for features that the running kernel lacks under User-Mode Linux: a kernel that runs as a process, with
//! read-only access to the machine's files and no access to its network.
//!
//! A test program lists the tests to run there in one static [`Tests`]. Each of them begins with `if UML.has_run() {
//! return; }`. The first one boots the kernel and runs the whole list there in one process. Each test then reports its
//! result from that run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::guest::{self, Guest, GuestFile, Run, run_to_end, variables};
use crate::refusal::refuse;
use crate::rerun;
use crate::skip::Feature;
use crate::tool;

/// A User-Mode Linux kernel. Debian packages it for x86-64.
pub const USER_MODE_LINUX: Feature = Feature {
    name: "user-mode-linux",
    probe: || {
        if cfg!(target_arch = "x86_64") {
            Ok(())
        } else {
            Err("user-mode-linux is for x86-64".to_owned())
        }
    },
};

/// Where Debian's package installs the modules, by version.
const MODULES: &str = "/usr/lib/uml/modules";

/// The modules to load, in dependency order.
const LOADED: [&str; 25] = [
    "ipv6",
    "8021q",
    "bonding",
    "bridge",
    "dummy",
    "fou",
    "fou6",
    "geneve",
    "ifb",
    "ip_gre",
    "ip6_gre",
    "ip6_tunnel",
    "ipip",
    "ipvlan",
    "macvlan",
    "macvtap",
    "sit",
    "tun",
    "veth",
    "vrf",
    "vxlan",
    "sch_etf",
    "sch_fq",
    "sch_ingress",
    "cls_bpf",
];

/// User-mode-linux.
#[derive(Debug)]
pub struct UserModeLinux;

/// The tests of a program that run under User-Mode Linux.
pub type Tests = guest::Tests<UserModeLinux>;

impl Guest for UserModeLinux {
    const INSIDE: &str = "TAPLINE_LAB_INSIDE_UML";
    const FEATURE: Feature = USER_MODE_LINUX;
    const PLACE: &str = "under user-mode-linux";

    fn boot(tests: &[&str], _: &[GuestFile]) -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path();
        let boot = place.join("boot");
        fs::write(&boot, script(place, tests)).expect("the script");
        fs::set_permissions(&boot, Permissions::from_mode(0o700))
            .expect("the script is made executable");
        let command = command(&boot);
        // The seccomp filter stays with the thread that installs it.
        let (status, console) = run_to_end(command, without_xstate);
        let said = fs::read_to_string(place.join("said")).unwrap_or_default();
        let end = format!("the kernel exited with {status}; its console output:\n{console}");
        Run::of(said, &end)
    }
}

/// The script that runs as process 1. It sees the machine's files read-only, except for `place`.
fn script(place: &Path, tests: &[&str]) -> String {
    let place = place.display();
    let program = rerun::program();
    let inside = UserModeLinux::INSIDE;
    let variables = variables();
    let (program, modules, tests) = (program.display(), LOADED.join(" "), tests.join(" "));
    // A page fault makes this kernel lose the parts of vector registers beyond SSE (see `without_xstate`), so the C
    // library must not use them.
    let tunables =
        "-AVX_Fast_Unaligned_Load,-AVX,-AVX2,-AVX512F,-AVX512BW,-AVX512VL,-XSAVE,-XSAVEC";
    format!(
        "#!/bin/sh
        export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        export GLIBC_TUNABLES=glibc.cpu.hwcaps={tunables}
        export RUST_BACKTRACE=0 TMPDIR='{place}'
        mount -t proc proc /proc
        mount -t sysfs sysfs /sys
        mount -t tmpfs tmpfs /run
        mount -t hostfs -o '{place}' none '{place}'
        cd '{place}'
        mkdir -p root/lib/modules
        ln -s {MODULES}/$(uname -r) root/lib/modules/
        {{
            # Without tunnels that nobody asked for in each namespace.
            echo 2 >/proc/sys/net/core/fb_tunnels_only_for_init_net
            for module in {modules}; do modprobe -d '{place}/root' $module; done
            ip link set lo up
            {inside}=1 {variables}'{program}' --test-threads=1 {tests}
        }} >said 2>&1
        sync
        echo o >/proc/sysrq-trigger
        read never\n"
    )
}

fn command(boot: &Path) -> Command {
    let mut command = tool::command("linux.uml");
    command.args(["mem=256M", "root=/dev/root", "rootfstype=hostfs", "ro"]);
    command.args([
        "rootflags=/",
        "con=null",
        "con0=fd:0,fd:1",
        "quiet",
        "panic=1",
    ]);
    command.arg(format!("init={}", boot.display()));
    // Where it stores its PID file; otherwise in the user's home.
    let folder = boot.parent().expect("the folder of the script");
    command.arg(format!("uml_dir={}/", folder.display()));
    command.args(["hostname=tapline-lab"]);
    command
}

/// Makes `PTRACE_GETREGSET` of `NT_X86_XSTATE` fail for this thread and its children.
///
/// User-Mode Linux 6.1 reserves 2696 bytes for the CPU's extended state (`HOST_FP_SIZE`, arch/x86/um/user-offsets.c).
/// On a CPU with a larger state, for example with AMX, the host kernel refuses to set only a part of it
/// (`xstateregs_set`, arch/x86/kernel/fpu/regset.c), and process 1 would not start. If the state cannot be read,
/// User-Mode Linux falls back to the SSE state (`arch_init_registers`, arch/x86/um/os-Linux/registers.c).
fn without_xstate() {
    /// System call number of ptrace(2) on x86-64.
    const SYS_PTRACE: i64 = 101;
    const PTRACE_GETREGSET: u64 = 0x4204;
    const NT_X86_XSTATE: u64 = 0x202;
    const EINVAL: u32 = 22;
    refuse(
        SYS_PTRACE,
        &[(0, PTRACE_GETREGSET), (2, NT_X86_XSTATE)],
        EINVAL,
    );
}
