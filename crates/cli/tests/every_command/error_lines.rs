//! An error line states what failed, on what, why, and what to do.

use crate::support::files::pcap;
use crate::support::{Scene, assert_refused};

/// Flags of tcpdump and dumpcap, and what to use instead.
const OTHER_FLAGS: [(&str, &str); 16] = [
    ("-a duration:5", "use --duration TIME or -c N"),
    ("-B 64", "use --buffer SIZE"),
    ("-C 5", "use --rotate-size SIZE"),
    ("-G 5", "use --rotate-interval TIME"),
    ("-W 5", "use --keep N"),
    ("-z gzip", "use --compress zstd"),
    (
        "-j host",
        "use --timestamp auto, hardware, driver or software",
    ),
    ("-I", "the link type of the interface is used"),
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
    scene.write("one.pcap", pcap(&[0]));
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
                "tapline: cannot create no/file: No such file or directory (create the directory no first)",
            ),
            // The file is looked for before the device.
            (
                "send -i nothing0 -r no.pcap",
                1,
                "tapline: cannot open no.pcap: No such file or directory",
            ),
            // No summary of what was not written.
            (
                "read one.pcap -w no/file",
                1,
                "tapline: cannot create no/file: No such file or directory (create the directory no first)",
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
            "cannot get link nowhere0: No such device",
        ),
        (
            "latency -i nowhere0",
            "cannot get link nowhere0: No such device",
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

/// Advice for flags of fping that have another name here.
#[test]
fn flags_of_fping_are_answered_with_ours() {
    let scene = Scene::new();
    for (flags, advice) in [
        ("-p 20", "use -i TIME for the interval"),
        ("-g", "a prefix or a range is a target"),
        ("-S 10.0.0.1", "use -I ADDRESS"),
        ("-r 3", "a lost probe is not sent again"),
        ("-b 100", "use -s BYTES"),
        ("-H 9", "use -t TTL"),
        ("-x 2", "use --fail-loss N"),
    ] {
        let command = format!("ping {flags} 127.0.0.1");
        assert_refused(|line| scene.run(line), &[(&command, 2, advice)]);
    }
}

/// Command lines with a value that is wrong, the exit status, and part of the message.
const BAD_VALUES: &[(&str, i32, &str)] = &[
    (
        "addr del",
        2,
        "tapline: cannot remove addresses: no address is given",
    ),
    (
        "read ''",
        2,
        "the name of a file is empty (use - for standard input)",
    ),
    (
        "capture -i right0 -s abc",
        2,
        "'--snaplen <BYTES>': use a whole number",
    ),
    (
        "capture -i right0 -c x",
        2,
        "'--count <N>': use a whole number",
    ),
    ("capture -i right0 -c 0", 2, "must not be 0"),
    (
        "capture -i right0 -s -1",
        2,
        "numbers are not negative here",
    ),
    (
        "capture -i right0 -s 5000000000",
        2,
        "is not in 0..=4294967295",
    ),
    (
        "read text -s 1x",
        2,
        "'--snaplen <BYTES>': use a whole number",
    ),
    (
        "count -i right0 --by src --top x",
        2,
        "'--top <N>': use a whole number",
    ),
    (
        "latency -i right0 -s x",
        2,
        "'--snaplen <BYTES>': use a whole number",
    ),
    (
        "send -i right0 --udp -c x",
        2,
        "'--count <N>': use a whole number",
    ),
    (
        "capture -i right0 --duration 10",
        2,
        "a time needs a unit: ns, us, ms, s, m or h",
    ),
    (
        "capture -i right0 --buffer 10x",
        2,
        "unknown unit 'x', use k, M or G",
    ),
    (
        "capture -i ./nofifo",
        1,
        "cannot open the named pipe ./nofifo: No such file or directory ('mkfifo",
    ),
    ("capture -i .", 1, "'ip link' lists the interfaces"),
    (
        "capture -i ./",
        2,
        "./ is neither a named pipe nor an interface",
    ),
    (
        "capture -i=",
        2,
        "a value is required for '--interface <IF>'",
    ),
    ("count -i=", 2, "a value is required for '--interface <IF>'"),
    (
        "latency -i=",
        2,
        "a value is required for '--interface <IF>'",
    ),
    (
        "doctor -i=",
        2,
        "a value is required for '--interface <IF>'",
    ),
    (
        "send --udp -i=",
        2,
        "a value is required for '--interface <IF>'",
    ),
    (
        "ping 127.0.0.1 -I=",
        2,
        "a value is required for '--interface <IF|ADDR>'",
    ),
    (
        "capture --netns=",
        2,
        "a value is required for '--netns <NAME|all>'",
    ),
    (
        "capture -i right0 --netns noSuchName",
        1,
        "/run/netns/noSuchName: No such file or directory (",
    ),
    (
        "capture -i right0 --netns a/b",
        1,
        "a name has no / and is not empty",
    ),
    (
        "link -n noSuchName",
        1,
        "/run/netns/noSuchName: No such file or directory (",
    ),
    (
        "netns del noSuchName",
        1,
        "/run/netns/noSuchName: No such file or directory (",
    ),
    (
        "netns exec noSuchName true",
        1,
        "/run/netns/noSuchName: No such file or directory (",
    ),
    (
        "link set right0 netns noSuchName",
        1,
        "there is no network namespace noSuchName (",
    ),
    (
        "ping 10.0.0.0/4",
        2,
        "268435454 with 0.0.0.1-15.255.255.254, at most 16777216 are allowed (use a longer prefix)",
    ),
    (
        "ping fd00::/64",
        2,
        "18446744073709551616 with fd00::-fd00::ffff:ffff:ffff:ffff, at most 16777216 are allowed (a /104 has as many;",
    ),
    (
        "ping 300.1.1.1",
        2,
        "'300.1.1.1' is not a name, address, prefix or range (a target is like example.org",
    ),
    ("link add x type bridg", 4, "(did you mean 'bridge'?)"),
    ("link add x type vxlam id 5", 2, "is not a known word"),
    (
        "link add x type nothing",
        4,
        "types are, for example, bareudp, bond, bridge",
    ),
    (
        "link set right0 mtu abc",
        2,
        "\"abc\" is not a value of mtu",
    ),
    ("captrue -i lo", 2, "did you mean 'capture'?"),
    ("lnik", 2, "did you mean 'link'?"),
    ("l", 2, "'l' (short for latency or link)"),
    ("x", 2, "see 'tapline --help'"),
    (
        "read any port 53",
        2,
        "no file before the filter: use tapline read FILE 'any port 53'",
    ),
    (
        "link shwo",
        2,
        "\"shwo\" is not a known verb; did you mean 'show'? (use add, set",
    ),
    (
        "link set right0 upp",
        2,
        "link: \"upp\" is not a known word; did you mean 'up'? (see 'tapline link --help')",
    ),
    ("link set right0 up mut 1400", 2, "did you mean 'mtu'?"),
    (
        "link add x type vxlan id 5 dstprot 4789",
        2,
        "did you mean 'dstport'?",
    ),
    (
        "route add defualt via 10.0.0.2",
        2,
        "did you mean 'default'?",
    ),
    ("route add default vai 10.0.0.2", 2, "did you mean 'via'?"),
    ("route show tabel 7", 2, "did you mean 'table'?"),
    (
        "route get 10.0.0.2 form 10.0.0.1",
        2,
        "did you mean 'from'?",
    ),
    ("addr add 10.0.0.1/24 dve right0", 2, "did you mean 'dev'?"),
    (
        "addr show scpoe host",
        1,
        "there is no link scpoe; did you mean 'scope'? (",
    ),
    (
        "rule add from 10.0.0.0/8 lokup 7",
        2,
        "did you mean 'lookup'?",
    ),
    (
        "neigh add 10.0.0.1 ladddr 02:00:00:00:00:01 dev right0",
        2,
        "did you mean 'lladdr'?",
    ),
    // A word that is like none, and a wrong value of a word.
    (
        "link set right0 sideways",
        2,
        "\"sideways\" is not a known word (see",
    ),
    (
        "link set right0 mtu up",
        2,
        "\"up\" is not a value of mtu (see",
    ),
    (
        "addr add 300.0.0.1/8 dev right0",
        2,
        "\"300.0.0.1/8\" is not an address",
    ),
    (
        "addr add 10.0.0.1/8",
        2,
        "no interface is given for the address ('dev NAME' names it)",
    ),
    ("neigh add 10.0.0.1", 2, "('dev NAME' names it)"),
    ("fdb add 02:00:00:00:00:01", 2, "('dev NAME' names it)"),
    (
        "route add 300.0.0.0/8 dev right0",
        2,
        "\"300.0.0.0/8\" is not a network, such as 192.0.2.0/24",
    ),
    (
        "route add 10.0.0.0/8 via 300.1.1.1",
        2,
        "\"300.1.1.1\" is not a value of via",
    ),
    (
        "ctl trigger web",
        2,
        "tapline: unexpected argument 'web' found (-n NAME selects a capture)",
    ),
    (
        "monitor nothing",
        2,
        "\"nothing\" is not an object that monitor can follow (use address, route",
    ),
];

#[test]
fn values_that_cannot_be_are_answered_with_what_can() {
    let scene = Scene::new();
    scene.write("text", "not a capture");
    assert_refused(|line| scene.run(line), BAD_VALUES);
}
