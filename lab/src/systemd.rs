//! A systemd on a test host: process 1 of namespaces of its own, without any unit of the machine.
//!
//! It sees the machine's files. What it and its services write to `/etc`, `/run`, `/tmp`, `/usr/local/bin` and `/var/lib`
//! is in memory, and is gone after the test.

use std::path::Path;
use std::process::{self, Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

use crate::{Host, tool, wait};

/// Mounts the cgroup hierarchies that systemd uses, as the caller's cgroup namespace shows them.
const MOUNT_CGROUPS: &str = r"
    set -e
    mount --make-rprivate /
    umount --recursive /sys/fs/cgroup
    if grep -q :name=systemd: /proc/self/cgroup; then
        mount -t tmpfs tmpfs /sys/fs/cgroup
        mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
        mount -t cgroup -o none,name=systemd systemd /sys/fs/cgroup/systemd
        mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
        hierarchies='/sys/fs/cgroup/systemd /sys/fs/cgroup/unified'
    else
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        hierarchies=/sys/fs/cgroup
    fi
";

/// Joins a new cgroup, `$0`, and starts the script `$1` with the arguments `$2` and `$3` in new namespaces.
const ENTER: &str = r#"
    for hierarchy in $hierarchies; do
        mkdir $hierarchy/$0
        echo $$ >$hierarchy/$0/cgroup.procs
    done
    exec unshare --fork --pid --mount --cgroup --uts --ipc --mount-proc --kill-child=KILL sh -c "$1" "$2" "$3"
"#;

/// Becomes systemd, with the folder `$0` at `/run/work` and the program `$1` in `/usr/local/bin`. The targets are those
/// on which services and sockets depend by default.
const START: &str = r#"
    name=$(basename "$1")
    exec 3<"$1"
    mount -t tmpfs tmpfs /run
    mkdir -p /run/work /run/systemd/system /run/etc /run/etc.work
    mount --bind "$0" /run/work
    for folder in /tmp /usr/local/bin /usr/lib/systemd/system /usr/lib/systemd/system-generators /var/lib; do
        mount -t tmpfs tmpfs $folder
    done
    install -m 755 /dev/fd/3 "/usr/local/bin/$name"
    mount -t overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/etc.work overlay /etc
    mount -t tmpfs tmpfs /etc/systemd/system
    for target in sysinit basic shutdown network sockets multi-user; do
        echo '[Unit]' >/usr/lib/systemd/system/$target.target
    done
    export container=lab
    exec /lib/systemd/systemd --unit=multi-user.target --log-target=console --show-status=no 3<&-
"#;

/// A running systemd. Dropping it ends it and its services.
#[derive(Debug)]
pub struct Systemd {
    /// unshare(1), the parent of systemd. systemd ends with it.
    unshare: Child,
    /// Process ID of systemd.
    pid: String,
    cgroup: String,
}

impl Systemd {
    /// Starts systemd on `host`. Its services find `program` in `/usr/local/bin`; commands run in `folder`.
    pub fn start(host: &Host, folder: &Path, program: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let cgroup = format!("tapline-lab-{}-{number}", process::id());
        let mut command = host.command("unshare");
        command.args(["--mount", "sh", "-c", &[MOUNT_CGROUPS, ENTER].concat()]);
        command.args([&cgroup, &[MOUNT_CGROUPS, START].concat()]);
        command.arg(folder).arg(program);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut unshare = command.spawn().expect("a shell");
        let children = format!("/proc/{0}/task/{0}/children", unshare.id());
        let pid = wait::until_ok(|| {
            if let Some(status) = unshare.try_wait().expect("its status") {
                let errors = unshare.stderr.take().expect("a pipe");
                let errors = io::read_to_string(errors).expect("text");
                panic!("systemd does not start: {status}: {errors}");
            }
            // Before it is systemd, the process is the shell that mounts.
            let pid = fs::read_to_string(&children).unwrap_or_default();
            let pid = pid.trim().to_owned();
            match fs::read_to_string(format!("/proc/{pid}/comm")) {
                Ok(name) if name.trim() == "systemd" => Ok(pid),
                other => Err((pid, other)),
            }
        });
        let systemd = Self {
            unshare,
            pid,
            cgroup,
        };
        wait::until_ok(|| {
            let output = systemd.run("systemctl is-system-running");
            let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            (state == "running").then_some(()).ok_or(output)
        });
        systemd
    }

    /// Runs a script beside the services. It stops at the first command that fails.
    pub fn run(&self, script: &str) -> Output {
        let mut command = tool::command("nsenter");
        command.args(["--target", &self.pid]);
        command.args(["--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup"]);
        command.args(["sh", "-c", "cd /run/work && exec sh -e -c \"$0\"", script]);
        command.env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.stdin(Stdio::null()).output().expect("nsenter runs")
    }
}

impl Drop for Systemd {
    fn drop(&mut self) {
        // A PID namespace ends with its process 1, and unshare(1) waits for that.
        let _ = Command::new("kill").args(["-KILL", &self.pid]).status();
        let _ = self.unshare.wait();
        let remove = "for hierarchy in $hierarchies; do find $hierarchy/$0 -depth -type d -exec rmdir {} +; done";
        let script = [MOUNT_CGROUPS, remove].concat();
        let mut command = Command::new("unshare");
        let status = command.args(["--mount", "sh", "-c", &script, &self.cgroup]);
        let is_removed = status.status().is_ok_and(|status| status.success());
        assert!(
            is_removed || std::thread::panicking(),
            "the cgroup {} stays",
            self.cgroup
        );
    }
}
