//! `tapline extcap`, run by Debian's tshark and dumpcap, and by a test that acts as Wireshark's toolbar.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use lab::tool::command;
use lab::{Host, wait};
use rustix::fs::{FileType, Mode, mknodat};
use rustix::process::Signal;

use crate::support::files::{count, count_by_capinfos, lengths};
use crate::support::frames::{frames, udp};
use crate::support::run::{Running, run, spawn, spawn_into};
use crate::support::{PROGRAM, Scene, assert_refused, words};

/// The frame of [`udp`] has this destination port.
const UDP: &str = "udp port 9";

/// Waits until as many packet sockets receive on the host. The kernel says so.
fn captures(host: &Host, wanted: usize) {
    wait::until("packet sockets receive", || {
        let listed = host.run(|| fs::read_to_string("/proc/thread-self/net/packet"));
        let listed = listed.expect("the list");
        // sk RefCnt Type Proto Iface R Rmem User Inode
        let receive = listed.lines().skip(1);
        let receive = receive.filter(|line| line.split_whitespace().nth(5) == Some("1"));
        receive.count() == wanted
    });
}

/// Puts the script that `make install` installs where tshark looks for plug-ins of its user.
fn plugin(scene: &Scene) {
    let folder = scene.file(".config/wireshark/extcap");
    fs::create_dir_all(&folder).expect("a folder");
    let script = format!("#!/bin/sh\nexec {PROGRAM} extcap \"$@\"\n");
    let script = scene.write(".config/wireshark/extcap/tapline", script);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("executable");
}

/// tshark on the right host, with the plug-in.
fn tshark(scene: &Scene, line: &str) -> Command {
    let mut command = scene.right.command("tshark");
    command.args(words(line)).current_dir(scene.folder.path());
    command
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", scene.folder.path());
    command
}

fn fifo(scene: &Scene, name: &str) -> String {
    let path = scene.file(name);
    mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::from(0o600), 0).expect("a named pipe");
    path
}

/// `tapline extcap --capture` on `host`, whose packets dumpcap writes to `file.pcapng`.
fn into_dumpcap(scene: &Scene, host: &Host, line: &str) -> (Running, Running) {
    let packets = fifo(scene, "packets");
    let mut dumpcap = host.command("dumpcap");
    dumpcap.args(["-q", "-i", &packets, "-w", &scene.file("file.pcapng")]);
    let dumpcap = spawn_into(dumpcap);
    let mut extcap = host.command(PROGRAM);
    extcap.args(words(&format!("extcap --capture --fifo {packets} {line}")));
    (spawn(extcap), dumpcap)
}

#[test]
fn tshark_lists_the_interfaces_and_their_link_types() {
    let scene = Scene::new();
    plugin(&scene);
    let listed = spawn(tshark(&scene, "-D")).finish();
    for name in ["any", "lo", "right0"] {
        let wanted = format!(". tapline-{name} (tapline: {name})");
        assert!(
            listed.stdout.iter().any(|line| line.ends_with(&wanted)),
            "{listed:?}"
        );
    }
    listed.assert_mentions("tapline-ssh (tapline: another host, by SSH)");
    let types = |name: &str| spawn(tshark(&scene, &format!("-L -i tapline-{name}"))).finish();
    types("right0").assert_mentions("EN10MB");
    types("any").assert_mentions("LINUX_SLL2");
}

#[test]
fn tshark_captures_with_its_filter_and_the_options_of_the_dialog() {
    let scene = Scene::new();
    plugin(&scene);
    // The names of preferences are those of tshark -G currentprefs.
    let flags = "-o extcap.tapline_right0.snaplen:60 -o extcap.tapline_right0.direction:in";
    let line = format!(
        "-q -i tapline-right0 -f '{UDP}' {flags} -c 20 -w {}",
        scene.file("file.pcapng")
    );
    let running = spawn(tshark(&scene, &line));
    captures(&scene.right, 1);
    scene.send_back(&vec![udp(b"of the right host"); 5]);
    scene.send(&frames(10, 100));
    scene.send(&vec![udp(&[7; 80]); 20]);
    let ended = running.finish();
    assert!(ended.status.success(), "{ended:?}");
    let file = scene.file("file.pcapng");
    assert_eq!(count(&file), 20);
    assert_eq!(lengths(&file), [[60, 122]; 20]);
    captures(&scene.right, 0);
}

#[test]
fn a_wrong_filter_is_tsharks_error_and_ends_it() {
    let scene = Scene::new();
    plugin(&scene);
    let line = format!(
        "-q -i tapline-right0 -f 'udp port' -c 1 -w {}",
        scene.file("file.pcapng")
    );
    let ended = spawn(tshark(&scene, &line)).finish();
    assert!(!ended.status.success(), "{ended:?}");
    ended.assert_mentions("is invalid");
}

#[test]
fn dumpcap_gets_every_packet_of_any_with_sampling_until_the_signal() {
    let scene = Scene::new();
    let line =
        "--extcap-interface tapline-any --sample 1/10 --extcap-capture-filter 'ether proto 0x88b5'";
    let (extcap, dumpcap) = into_dumpcap(&scene, &scene.right, line);
    // One for each interface: lo and right0.
    captures(&scene.right, 2);
    scene.send(&frames(200, 100));
    extcap.signal(Signal::TERM);
    let ended = extcap.finish();
    assert_eq!((ended.exit(0), &ended.stderr[..]), ("", &[][..]));
    assert!(dumpcap.finish().status.success());
    let file = scene.file("file.pcapng");
    // Each CPU counts for itself.
    let kept = count_by_capinfos(&file);
    assert!((10..=30).contains(&kept), "{kept}");
}

/// The toolbar's side: messages as the Developer's Guide has them.
struct Toolbar {
    changes: File,
    answers: File,
}

impl Toolbar {
    /// Opens the pipes as Wireshark does.
    fn open(changes: &str, answers: &str) -> Self {
        let answers = File::open(answers).expect("the pipe");
        let changes = OpenOptions::new()
            .write(true)
            .open(changes)
            .expect("the pipe");
        Self { changes, answers }
    }

    fn set(&mut self, control: u8, value: &str) {
        let length = u32::try_from(value.len() + 2)
            .expect("a length")
            .to_be_bytes();
        let mut bytes = vec![b'T', length[1], length[2], length[3], control, 1];
        bytes.extend_from_slice(value.as_bytes());
        self.changes.write_all(&bytes).expect("the capture reads");
    }

    /// Control, command and value of the next message.
    fn next(&mut self) -> (u8, u8, String) {
        let mut head = [0; 6];
        self.answers.read_exact(&mut head).expect("a message");
        assert_eq!(head[0], b'T');
        let length = u32::from_be_bytes([0, head[1], head[2], head[3]]) as usize;
        let mut value = vec![0; length - 2];
        self.answers.read_exact(&mut value).expect("its value");
        (head[4], head[5], String::from_utf8(value).expect("text"))
    }

    /// Reads until a message with this command, whose value must contain the text.
    fn expect(&mut self, command: u8, text: &str) {
        let value = loop {
            let (_, this, value) = self.next();
            if this == command {
                break value;
            }
        };
        assert!(value.contains(text), "{value:?} without {text:?}");
    }
}

const SET: u8 = 1;
const LOGGED: u8 = 2;
const STATUS: u8 = 6;
const ERROR: u8 = 9;

#[test]
fn the_toolbar_changes_filter_and_mode_of_the_running_capture() {
    let scene = Scene::new();
    let (changes, answers) = (fifo(&scene, "changes"), fifo(&scene, "answers"));
    let line = format!(
        "--extcap-interface tapline-right0 --extcap-capture-filter 'ether proto 0x88b5' \
         --extcap-control-in {changes} --extcap-control-out {answers}"
    );
    let (extcap, dumpcap) = into_dumpcap(&scene, &scene.right, &line);
    let mut toolbar = Toolbar::open(&changes, &answers);
    assert_eq!(toolbar.next(), (0, SET, "ether proto 0x88b5".to_owned()));
    assert_eq!(toolbar.next(), (1, SET, "mirror".to_owned()));
    captures(&scene.right, 1);
    scene.send(&frames(10, 100));
    // What was sent before belongs to the former filter.
    toolbar.set(0, UDP);
    toolbar.expect(STATUS, "filter udp port 9");
    scene.send(&frames(7, 100));
    scene.send(&vec![udp(b"accepted"); 5]);
    toolbar.set(0, "udp port");
    toolbar.expect(ERROR, "is invalid");
    toolbar.expect(LOGGED, "is invalid");
    toolbar.set(0, "-i lo");
    toolbar.expect(ERROR, "is invalid");
    toolbar.set(1, "neither");
    toolbar.expect(ERROR, "the mode is mirror or drop");
    toolbar.set(1, "drop");
    toolbar.expect(STATUS, "set mode drop");
    scene.send(&vec![udp(b"taken from the stack"); 3]);
    toolbar.set(0, "");
    toolbar.expect(STATUS, "filter");
    toolbar.expect(LOGGED, "filter");
    scene.send(&frames(4, 100));
    // What is no message ends the toolbar's part, not the capture.
    toolbar
        .changes
        .write_all(b"GET / HTTP/1.1\r\n")
        .expect("it reads");
    toolbar.expect(LOGGED, "something other than a message");
    extcap.signal(Signal::TERM);
    extcap.finish().exit(0);
    assert!(dumpcap.finish().status.success());
    let file = scene.file("file.pcapng");
    assert_eq!(count(&file), 10 + 5 + 3 + 4);
}

#[test]
fn a_capture_ends_with_its_reader_and_with_a_killed_plugin() {
    let scene = Scene::new();
    let packets = fifo(&scene, "packets");
    let mut extcap = scene.right.command(PROGRAM);
    extcap.args(words(&format!(
        "extcap --capture --fifo {packets} --extcap-interface tapline-right0"
    )));
    let extcap = spawn(extcap);
    let mut reader = File::open(&packets).expect("the pipe");
    reader.read_exact(&mut [0; 4]).expect("the header");
    captures(&scene.right, 1);
    drop(reader);
    scene.send(&frames(1, 100));
    extcap.finish().exit(0);
    captures(&scene.right, 0);
    let (extcap, dumpcap) = {
        fs::remove_file(&packets).expect("the pipe");
        into_dumpcap(&scene, &scene.right, "--extcap-interface tapline-right0")
    };
    captures(&scene.right, 1);
    scene.send(&frames(4, 100));
    // What the plug-in has not written yet would be lost with it.
    let file = scene.file("file.pcapng");
    wait::until("dumpcap has written them", || {
        let counted = command("tcpdump").args(["--count", "-nr", &file]).output();
        let counted = counted.expect("tcpdump runs").stdout;
        counted.starts_with(b"4 packets")
    });
    extcap.signal(Signal::KILL);
    drop(extcap);
    captures(&scene.right, 0);
    assert!(dumpcap.finish().status.success());
    assert_eq!(count(&file), 4);
    // Newer versions of Wireshark do this after a kill.
    let cleaned = run("extcap --extcap-interface tapline-right0 --extcap-cleanup-postkill");
    cleaned.exit(0);
    assert!(cleaned.stdout.is_empty(), "{cleaned:?}");
}

#[test]
fn wrong_command_lines_are_refused() {
    let missing = "extcap --extcap-interface tapline-missing0";
    let remote = "extcap --extcap-interface tapline-ssh --capture --fifo /dev/null";
    assert_refused(
        run,
        &[
            ("extcap", 2, "Wireshark runs this command"),
            (
                "extcap --extcap-interface tapline-lo",
                2,
                "nothing to do with the interface",
            ),
            (
                "extcap --capture --extcap-interface tapline-lo",
                2,
                "--fifo",
            ),
            (
                &format!("{missing} --extcap-dlts"),
                1,
                "there is no interface tapline-missing0",
            ),
            (
                &format!("{missing} --capture --fifo /dev/null"),
                1,
                "missing0",
            ),
            (remote, 2, "no host to capture on"),
            (
                &format!("{remote} --ssh-host=-v"),
                2,
                "does not begin with a dash",
            ),
            (
                &format!("{remote} --ssh-host h --ssh-port 0"),
                2,
                "a port is a number",
            ),
            (
                "extcap --extcap-interface tapline-lo --capture --fifo /",
                1,
                "cannot write to /",
            ),
            (
                "extcap --extcap-interface tapline-lo --capture --fifo /dev/null --snaplen x",
                2,
                "--snaplen",
            ),
            (
                "extcap --extcap-interface tapline-lo --capture --fifo /dev/null --sample 7",
                2,
                "--sample",
            ),
        ],
    );
    // Wireshark shows what a filter's check prints.
    let checked = |filter: &str| {
        let line =
            format!("extcap --extcap-interface tapline-lo --extcap-capture-filter '{filter}'");
        let ended = run(&line);
        ended.exit(0);
        ended.stdout
    };
    assert!(checked("tcp port 80").is_empty());
    assert_eq!(checked("port").len(), 1);
}

/// An SSH server on the right host, with a key for the user of the test; and a program `ssh` that knows both.
fn ssh_server(scene: &Scene) -> Running {
    let key = scene.file("key");
    let host_key = scene.file("host-key");
    for file in [&key, &host_key] {
        let mut command = Command::new("ssh-keygen");
        let made = command
            .args(["-q", "-t", "ed25519", "-N", "", "-f", file])
            .status();
        assert!(made.expect("ssh-keygen runs").success());
    }
    let config = scene.write(
        "sshd.conf",
        format!(
            "ListenAddress 10.1.0.2\nHostKey {host_key}\nAuthorizedKeysFile {key}.pub\nStrictModes no\n\
             PermitRootLogin prohibit-password\nUsePAM no\nPidFile none\n"
        ),
    );
    let mut server = scene.right.command("/bin/sh");
    let script =
        "mkdir -p /run/sshd && exec \"$(command -v sshd || echo /usr/sbin/sshd)\" -D -e -f \"$0\"";
    server.args(["-c", script, &config]);
    let mut running = spawn_into(server);
    while !running.error_line().contains("Server listening on") {}
    let client = scene.write(
        "ssh.conf",
        format!(
            "StrictHostKeyChecking no\nUserKnownHostsFile {}\nLogLevel ERROR\n",
            scene.file("known")
        ),
    );
    fs::create_dir(scene.file("bin")).expect("a folder");
    let ssh = scene.write(
        "bin/ssh",
        format!("#!/bin/sh\nexec /usr/bin/ssh -F {client} \"$@\"\n"),
    );
    fs::set_permissions(ssh, fs::Permissions::from_mode(0o755)).expect("executable");
    running
}

#[test]
fn another_host_captures_by_ssh_and_follows_the_toolbar() {
    let scene = Scene::new();
    let server = ssh_server(&scene);
    let path = format!(
        "{}:{}",
        scene.file("bin"),
        std::env::var("PATH").unwrap_or_default()
    );
    let flags = format!(
        "--extcap-interface tapline-ssh --ssh-host root@10.1.0.2 --ssh-identity {} --remote-command {PROGRAM}",
        scene.file("key")
    );
    let mut listed = scene.left.command(PROGRAM);
    listed.args(words(&format!(
        "extcap --extcap-config --extcap-reload-option remote-interface {flags}"
    )));
    let listed = spawn({
        listed.env("PATH", &path);
        listed
    })
    .finish();
    listed.exit(0);
    listed.assert_says("value {arg=8}{value=right0}{display=right0}");

    let (changes, answers) = (fifo(&scene, "changes"), fifo(&scene, "answers"));
    let packets = fifo(&scene, "packets");
    let mut dumpcap = scene.left.command("dumpcap");
    dumpcap.args(["-q", "-i", &packets, "-w", &scene.file("file.pcapng")]);
    let dumpcap = spawn_into(dumpcap);
    let mut extcap = scene.left.command(PROGRAM);
    extcap.args(words(&format!(
        "extcap --capture --fifo {packets} {flags} --remote-interface right0 --snaplen 90 \
         --extcap-capture-filter 'ether proto 0x88b5' --extcap-control-in {changes} --extcap-control-out {answers}"
    )));
    let extcap = spawn({
        extcap.env("PATH", &path);
        extcap
    });
    let mut toolbar = Toolbar::open(&changes, &answers);
    captures(&scene.right, 1);
    scene.send(&frames(10, 100));
    toolbar.set(0, UDP);
    toolbar.expect(STATUS, "filter udp port 9");
    scene.send(&frames(7, 100));
    scene.send(&vec![udp(b"it's $HOME"); 5]);
    extcap.signal(Signal::TERM);
    extcap.finish().exit(0);
    assert!(dumpcap.finish().status.success());
    let file = scene.file("file.pcapng");
    assert_eq!(count(&file), 15);
    captures(&scene.right, 0);

    // A host that refuses says so.
    let refused = format!("extcap --capture --fifo /dev/null {flags} --ssh-port 9");
    let mut refused_by = scene.left.command(PROGRAM);
    refused_by.args(words(&refused));
    let ended = spawn({
        refused_by.env("PATH", &path);
        refused_by
    })
    .finish();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    ended.assert_mentions("Connection refused");
    drop(server);
}
