//! tcpdump's flags for printed packets, on a pipe, on a terminal and with tshark.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::files::capture;
use crate::support::frames::udp;
use crate::support::run::{command, printed, run, spawn};
use crate::support::terminal::Terminal;
use crate::support::{Scene, assert_refused, ip, tool, words};

#[test]
fn the_letters_of_tcpdump_are_accepted() {
    let file = capture("icmpv6.pcap");
    let plain = printed(&format!("read -q {file}"));
    // These change nothing: names are never printed, lines never wait, there is no promiscuous mode.
    assert_eq!(printed(&format!("read -q -nnlpS {file}")), plain);
    let dated = printed(&format!("read -q -nn -tttt -e -# -vv {file}"));
    assert_eq!(dated.len(), plain.len());
    assert!(
        dated[0].starts_with("    1  2012-04-13 12:26:12.631155000 "),
        "{}",
        dated[0]
    );
    assert!(
        dated[0].contains(" IPv6 (0x86dd): ") && dated[0].contains(" (hlim "),
        "{}",
        dated[0]
    );
    let scene = Scene::new();
    let mut running = scene.capture_text("-nnlpSU -vvv -e -XX -tt -Q inout -c 1");
    scene.send(&[udp(b"hello")]);
    assert!(running.line().contains(" ethertype") || running.line().starts_with('\t'));
    running.finish().exit(0);
}

#[test]
fn what_other_commands_do_is_named() {
    assert_refused(
        run,
        &[
            (
                "capture -r file.pcap",
                2,
                "tapline: 'tapline capture' reads interfaces, not files: use 'tapline read file.pcap'",
            ),
            (
                "read -D file.pcap",
                2,
                "'tapline capture -D' lists interfaces",
            ),
            (
                "capture -i eth0 -G 60",
                2,
                "'-G' found (use --rotate-interval TIME)",
            ),
            ("capture -i eth0 -b files:5", 2, "(use --rotate-size,"),
            (
                "read -r file.pcap",
                2,
                "'-r' found (files are arguments: 'tapline read FILE')",
            ),
            ("capture -i eth0 -Y", 2, "(see 'tapline capture --help')"),
            ("read --decode wireshark file.pcap", 2, "wireshark"),
            (
                "read --decode tshark --json file.pcap",
                2,
                "cannot be used with",
            ),
        ],
    );
}

#[test]
fn interfaces_are_listed_with_the_reason() {
    let scene = Scene::new();
    ip(&scene.right, "link add dull0 type veth peer name dull1");
    let listed = |ended: crate::support::run::Ended| {
        ended.exit(0);
        ended.stdout
    };
    let lines = listed(scene.run("capture -D"));
    let line = |name: &str| {
        let found = lines
            .iter()
            .find(|line| line.contains(&format!(" {name} ")));
        found.unwrap_or_else(|| panic!("{name} in {lines:?}"))
    };
    assert!(line("right0").ends_with(" right0 [up]"), "{lines:?}");
    assert!(
        line("dull0").contains("[down]: cannot capture: interface dull0 is down"),
        "{lines:?}"
    );
    let names = crate::support::ip_json(&scene.right, "link show");
    assert_eq!(lines.len(), names.as_array().map_or(0, Vec::len));

    let lines = listed(spawn(scene.privileged_by("", "capture -D --json")).finish());
    for line in lines {
        let object: Value = serde_json::from_str(&line).expect("JSON");
        let refusal = object["refusal"].as_str().unwrap_or_default();
        let is_down = object["state"] == "down";
        assert!(is_down || refusal.contains("needs CAP_NET_RAW"), "{line}");
    }
}

#[test]
fn colours_are_for_terminals_that_have_them() {
    let file = capture("icmpv6.pcap");
    let on_terminal = |name: &str, value: &str| {
        let mut command = command(&format!("read -q {file}"));
        // With CI set, a library that tapline uses takes any terminal for one that has colours.
        command.env_remove("NO_COLOR").env("TERM", "xterm");
        command.env("CI", "true").env(name, value);
        let (mut terminal, running) = Terminal::start(command, 200, 50);
        running.finish().exit(0);
        terminal.read_to_end();
        terminal.seen
    };
    assert!(on_terminal("TERM", "xterm").contains("\x1b[1mICMPv6\x1b[0m"));
    assert!(!on_terminal("NO_COLOR", "1").contains('\x1b'));
    assert!(!on_terminal("TERM", "dumb").contains('\x1b'));
    assert!(
        !printed(&format!("read -q {file}"))
            .concat()
            .contains('\x1b')
    );
}

#[test]
fn tshark_decodes() {
    let file = capture("icmpv6.pcap");
    let theirs = tool("tshark", &format!("-n -t a -r {file}"));
    let ours = printed(&format!("read -q --decode tshark {file}"));
    // Nanoseconds go through the pipe.
    let in_micros = ours.iter().map(|line| line.replacen("000 ", " ", 1));
    assert_eq!(
        in_micros.collect::<Vec<_>>(),
        theirs.lines().collect::<Vec<_>>()
    );
    let layers = printed(&format!("read -q --decode tshark -v -c 1 {file}"));
    assert!(layers[0].starts_with("Frame 1:"), "{layers:?}");

    let scene = Scene::new();
    let mut running = scene.capture_text("--decode tshark -c 2");
    scene.send(&[udp(b"1")]);
    // It is printed before the capture ends.
    assert!(running.line().contains("UDP"));
    scene.send(&[udp(b"2")]);
    let ended = running.finish();
    ended.exit(0);
    assert_eq!(ended.stdout.len(), 2);
}

#[test]
fn the_failures_of_tshark_are_reported() {
    let file = capture("icmpv6.pcap");
    let folder = tempfile::tempdir().expect("a folder");
    let with_path = |path: &std::path::Path| {
        let mut command = command(&format!("read -q --decode tshark {file}"));
        command.env("PATH", path);
        spawn(command).finish()
    };
    assert!(
        with_path(folder.path())
            .refusal(4)
            .contains("tshark: it is not installed")
    );
    let fake = folder.path().join("tshark");
    fs::write(&fake, "#!/bin/sh\nexit 7\n").expect("a program");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("its mode");
    assert!(
        with_path(folder.path())
            .refusal(1)
            .contains("tshark failed (exit status: 7)")
    );

    // A reader that has read enough is no failure.
    let mut head = Command::new("head");
    let mut tapline = command(&format!("read -q --decode tshark {file}"));
    tapline.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tapline = tapline.spawn().expect("tapline runs");
    head.args(words("-n 1"))
        .stdin(tapline.stdout.take().expect("a pipe"));
    let first = head.output().expect("head runs");
    assert!(String::from_utf8_lossy(&first.stdout).contains("ICMPv6"));
    let ended = tapline.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.success() && !said.contains("tapline:"),
        "{said}"
    );
}

/// tshark parses the packets of strangers, and root would get all capabilities back by starting it.
#[test]
fn tshark_has_no_privileges_and_writes_no_files() {
    let file = capture("icmpv6.pcap");
    let folder = tempfile::tempdir().expect("a folder");
    let [fake, written] = ["tshark", "written"].map(|name| folder.path().join(name));
    let script = format!(
        "#!/bin/bash\n/bin/grep -E '^(CapPrm|CapEff|NoNewPrivs)' /proc/self/status\n\
         (: > /dev/udp/127.0.0.1/9) 2> /dev/null && echo a socket\n\
         /bin/cat > /dev/null\necho x > {}\n/bin/true\n",
        written.display()
    );
    fs::write(&fake, script).expect("a program");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("its mode");
    for (flag, is_free) in [("", false), ("--no-sandbox", true)] {
        let mut command = command(&format!("read -q --decode tshark {flag} {file}"));
        command.env("PATH", folder.path());
        let ended = spawn(command).finish();
        ended.exit(0);
        let none = "0000000000000000";
        let mut expected = vec![
            format!("CapPrm:\t{none}"),
            format!("CapEff:\t{none}"),
            "NoNewPrivs:\t1".to_owned(),
        ];
        expected.extend(is_free.then(|| "a socket".to_owned()));
        assert_eq!(ended.stdout, expected, "{flag}");
        assert_eq!(written.exists(), is_free, "{flag}");
    }
}
