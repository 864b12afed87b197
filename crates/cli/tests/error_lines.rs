//! The line of an error says what failed, on what, why, and what to do.

use crate::support::{Scene, assert_refused};

/// Flags of tcpdump and dumpcap, and what to use instead.
const OTHER_FLAGS: [(&str, &str); 16] = [
    ("-a duration:5", "use --duration TIME or -c N"),
    ("-B 64", "use --buffer SIZE"),
    ("-C 5", "use --rotate-size SIZE"),
    ("-G 5", "use --rotate-interval TIME"),
    ("-W 5", "use --keep N"),
    ("-z gzip", "use --compress zstd"),
    ("-j host", "use --timestamp kernel or hardware"),
    ("-y EN10MB", "the link type of the interface is used"),
    ("-m mib", "use --decode tshark"),
    ("-K", "checksums are verified with -v only"),
    ("-N", "names are never looked up"),
    ("-P", "use --format pcap"),
    ("--micro", "use --format pcap"),
    ("--nano", "use --format pcap-ns"),
    ("--print", "use '-w - | tee FILE | tapline read -'"),
    ("--version", "use 'tapline --version'"),
];

#[test]
fn flags_of_other_programs_are_answered_with_ours() {
    let scene = Scene::new();
    for (flags, advice) in OTHER_FLAGS {
        let flag = flags.split(' ').next().expect("a flag");
        let line = format!("tapline: unexpected argument '{flag}' found ({advice})");
        let command = format!("capture -i right0 {flags}");
        assert_refused(|line| scene.run(line), &[(&command, 2, &line)]);
    }
}

#[test]
fn each_command_says_what_to_do_about_bad_input() {
    let scene = Scene::new();
    scene.write("text", "not a capture");
    assert_refused(
        |line| scene.run(line),
        &[
            (
                "capture -i right0 -r f.pcap",
                2,
                "tapline: 'tapline capture' reads interfaces, not files: use 'tapline read f.pcap'",
            ),
            (
                "capture -i ./text",
                2,
                "tapline: ./text is a file, not an interface: use 'tapline read ./text'",
            ),
            (
                "capture -i right0 -w no/file",
                1,
                "tapline: cannot create no/file: No such file or directory",
            ),
            (
                "read -r f.pcap",
                2,
                "tapline: unexpected argument '-r' found (files are arguments: 'tapline read FILE')",
            ),
            (
                "read nothing.pcap",
                1,
                "tapline: cannot open nothing.pcap: No such file or directory",
            ),
            (
                "count -i right0 -r f.pcap",
                2,
                "tapline: unexpected argument '-r' found (for files use 'tapline read FILE')",
            ),
            (
                "latency -i right0 -r f.pcap",
                2,
                "tapline: unexpected argument '-r' found (for files use 'tapline read FILE')",
            ),
            (
                "batch nothing",
                1,
                "tapline: cannot read nothing: No such file or directory",
            ),
        ],
    );
    // Each command names the interface that does not exist, and how to list those that do.
    for (command, line) in [
        (
            "capture -i nowhere0",
            "cannot find nowhere0: No such device",
        ),
        (
            "latency -i nowhere0",
            "cannot find nowhere0: No such device",
        ),
        (
            "count -i nowhere0",
            "cannot get link nowhere0: No such device",
        ),
        (
            "doctor -i nowhere0",
            "cannot get link nowhere0: No such device",
        ),
        ("link show dev nowhere0", "link: there is no link nowhere0"),
    ] {
        let line = format!("tapline: {line} ('ip link' lists the interfaces)");
        assert_refused(|line| scene.run(line), &[(command, 1, &line)]);
    }
}
