//! An attacker who compromises a command can only do what the command itself does.

use std::fs;
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::calls::{COLUMNS, FATAL, METRICS, NEW_SOCKETS, RPCAP, SERVE, UPLOADS};
use super::trace::fake_ssh;
use super::{LISTS, REMOTE, REMOTE_INTERFACES, UPLOAD, scene};
use crate::support::objects::use_server;
use crate::support::rpcap::scripted;
use crate::support::run::{command, spawn};
use crate::support::{self, Scene};

/// One line of each command that restricts itself.
const COMMANDS: [&str; 22] = [
    "capture -i lo --duration 10ms",
    "capture -i lo --who --duration 10ms",
    "capture -i any --duration 10ms",
    "read DIR/in.pcap",
    "flows DIR/in.pcap",
    "report DIR/in.pcap -o DIR/page.html",
    "flows -i lo --duration 10ms",
    "send -i right0 -r DIR/in.pcap",
    "send -r DIR/in.pcap -w DIR/out.pcapng",
    "index DIR/in.pcap",
    REMOTE_INTERFACES,
    REMOTE,
    "count -i right0 --interval 10ms --duration 10ms",
    "ping -c 1 127.0.0.1",
    "ping --backend xdp -q -c 1 -W 0.01 10.1.0.1",
    "ping --respond -I right0",
    "filter tcp",
    "filter --packet DIR/in.pcap tcp",
    "ctl list",
    "latency -i lo --duration 10ms",
    "monitor link -c 1",
    "explain /dev/null",
];

/// The same with a metrics server, which has a thread of its own.
const SERVERS: [&str; 6] = [
    "flows -i lo --duration 10ms --metrics 0",
    "capture -i lo --duration 10ms --metrics 0",
    "capture -i any --duration 10ms --metrics 0",
    "count -i right0 --interval 10ms --duration 10ms --metrics 0",
    "ping -c 1 --metrics 0 127.0.0.1",
    "send -i right0 --udp --dst 10.1.0.1 -c 1 --metrics 0",
];

/// Runs each command, taken over by an attacker who does `act`: in the command, in the threads of metrics and uploads, and in both
/// ends of rpcap. Returns the end of each, and what the attacker got.
fn taken_over(act: &str, flags: &str) -> Vec<(String, ExitStatus, String)> {
    let scene = scene();
    let folder = scene.folder.path().to_str().expect("text");
    let path = fake_ssh(scene.folder.path());
    let run = |line: &str, place: Option<&str>| {
        let line = format!("{} {flags}", line.replace("DIR", folder));
        let mut command = support::tapline(&scene.right, &line);
        command.env("PATH", &path);
        command.env("TAPLINE_TEST_ATTACKER", act);
        // What an attacker gets in the program as it is.
        command.env_remove("TAPLINE_TEST_STRICT");
        if line.contains("--respond") || line.contains("serve") {
            // It has no end of its own.
            command.env("TAPLINE_TEST_ATTACKER_ENDS", "1");
        }
        use_server(&mut command, "127.0.0.1");
        command.envs(place.map(|place| ("TAPLINE_TEST_ATTACKER_IN", place)));
        let mut running = spawn(command);
        if place == Some(SERVE.name) {
            let to = running.ready()["listen"].as_str().map(str::to_owned);
            let to = to.expect("an address");
            // The client whose session is taken over.
            let client = scene.right.run(|| TcpStream::connect(to));
            client.expect("a connection");
        }
        let ended = running.finish();
        let mut lines = ended.stderr.iter();
        let got = lines.find_map(|line| line.strip_prefix("attacker: "));
        let line = place.map_or_else(|| line.clone(), |place| format!("{place}: {line}"));
        (line, ended.status, got.unwrap_or_default().to_owned())
    };
    let (_peer, port) = scripted(&scene, "ok");
    let client = format!("capture -i rpcap://127.0.0.1:{port}/right0 -c 3");
    let ends = [
        run(&client, Some(RPCAP.name)),
        run("serve rpcap --json --listen 127.0.0.1:0", Some(SERVE.name)),
    ];
    let commands = COMMANDS.iter().map(|line| run(line, None));
    let servers = SERVERS.iter().map(|line| run(line, Some(METRICS.name)));
    let uploads = [COLUMNS.name, UPLOADS.name];
    let uploads = uploads.iter().map(|place| run(UPLOAD, Some(place)));
    commands.chain(servers).chain(uploads).chain(ends).collect()
}

#[test]
fn an_attacker_opens_no_other_files_and_connects_to_nobody() {
    // Landlock refuses it, or the system call does not exist for the command.
    let fails = |act: &str| {
        for (line, status, got) in taken_over(act, "") {
            // Reads files of `/etc`, unless the name servers are elsewhere.
            if line.starts_with("uploads:") && act.contains("/etc/") {
                continue;
            }
            assert!(status.code().is_some(), "{line}: {status}");
            let refusals = [libc::EACCES, libc::ENOSYS].map(|errno| format!("code: {errno},"));
            let is_refused = refusals.iter().any(|refusal| got.contains(refusal));
            assert!(is_refused, "{line}, {act}: {got}");
        }
    };
    fails("read /etc/shadow");
    fails("read /bin/sh");
    fails("write /tmp/tapline-attacker");
    fails("connect 127.0.0.1:9");
    fails("call bpf");
    fails("call ioctl-tiocsti");
    fails("call tgkill-another");
    fails("call fcntl-setown");
}

/// Services that run as root take commands over such sockets. Only `ctl` needs one, to reach a capture.
#[test]
fn an_attacker_opens_no_socket_of_this_host() {
    for (line, status, got) in taken_over("call socket-unix", "") {
        let refusal = if line.starts_with("ctl") {
            libc::EINVAL
        } else {
            libc::ENOSYS
        };
        let is_refused = got.contains(&format!("code: {refusal},"));
        assert!(
            status.code().is_some() && is_refused,
            "{line}: {status} {got}"
        );
    }
    // A datagram socket of a pair could send to all of them.
    let refusal = format!("code: {},", libc::ENOSYS);
    for (line, status, got) in taken_over("call socketpair-datagram", "") {
        assert!(
            status.code().is_some() && got.contains(&refusal),
            "{line}: {status} {got}"
        );
    }
}

/// Calls that end the process, by name.
const FATAL_CALLS: [&str; 23] = [
    "execve",
    "execveat",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "mount",
    "umount2",
    "move_mount",
    "open_tree",
    "fsopen",
    "pivot_root",
    "chroot",
    "open_by_handle_at",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "reboot",
    "swapon",
    "keyctl",
    "add_key",
    "request_key",
    "userfaultfd",
];

#[test]
fn each_fatal_call_ends_the_process() {
    let mut numbers = Vec::new();
    for call in FATAL_CALLS {
        let mut command = command("explain /dev/null");
        command.env("TAPLINE_TEST_ATTACKER", format!("call {call}"));
        let ended = spawn(command).finish();
        assert_eq!(
            ended.status.signal(),
            Some(libc::SIGSYS),
            "{call}: {ended:?}"
        );
        let mut known = tapline::attacker::CALLS.iter();
        numbers.extend(
            known
                .find(|(name, _)| *name == call)
                .map(|(_, number)| *number),
        );
    }
    assert_eq!(numbers, FATAL);
}

#[test]
fn no_list_allows_a_fatal_call_and_bpf_only_by_command() {
    for list in LISTS {
        let mut calls = list.calls.iter().copied().flatten();
        let wrong = calls.find(|call| FATAL.contains(call) || **call == libc::SYS_bpf);
        assert_eq!(wrong, None, "{}", list.name);
    }
    assert!(!NEW_SOCKETS.iter().any(|call| FATAL.contains(call)));
}

#[test]
fn an_attacker_who_starts_or_traces_a_program_or_mounts_ends_the_process() {
    for act in ["exec /bin/true", "call mount", "call ptrace"] {
        for (line, status, _) in taken_over(act, "") {
            assert_eq!(
                status.signal(),
                Some(libc::SIGSYS),
                "{line}, {act}: {status}"
            );
        }
    }
}

/// What restoring the setting of an interface takes: the boot that its record names, and `CAP_NET_ADMIN`.
fn restores(flags: &str) -> (bool, bool) {
    const NET_ADMIN: u64 = 1 << 12;
    let scene = Scene::new();
    let mut command = support::tapline(&scene.right, &format!("capture -i right0 --json {flags}"));
    command.env(
        "TAPLINE_TEST_ATTACKER",
        "read /proc/sys/kernel/random/boot_id",
    );
    let mut running = spawn(command);
    running.ready();
    // Bound: the error of a program that has ended.
    let got = loop {
        if let Some(got) = running.error_line().strip_prefix("attacker: ") {
            break got.to_owned();
        }
    };
    let status = format!("/proc/{}/status", running.pid().as_raw_nonzero());
    let status = fs::read_to_string(status).expect("it runs");
    let held = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .expect("capabilities");
    let held = u64::from_str_radix(held.trim(), 16).expect("a number");
    running.stop().exit(0);
    (got == "Ok(())", held & NET_ADMIN != 0)
}

#[test]
fn a_capture_to_which_stamping_interfaces_may_be_added_can_restore_their_settings() {
    assert_eq!(restores("--timestamp auto"), (true, true));
    assert_eq!(restores("--timestamp auto --no-control"), (false, false));
    assert_eq!(restores(""), (false, false));
}

#[test]
fn without_the_sandbox_an_attacker_reads_files_and_makes_calls() {
    for (line, status, got) in taken_over("read /etc/shadow", "--no-sandbox") {
        let has_read = status.code().is_some() && got == "Ok(())";
        assert!(has_read, "{line}: {status} {got}");
    }
    for act in ["call bpf", "call mount", "call ptrace"] {
        for (line, status, got) in taken_over(act, "--no-sandbox") {
            let is_made =
                got.contains("code: ") && !got.contains(&format!("code: {},", libc::ENOSYS));
            assert!(
                status.code().is_some() && is_made,
                "{line}, {act}: {status} {got}"
            );
        }
    }
}
