//! Error messages and exit statuses of `tapline count`.

use crate::support::count::run;
use crate::support::frames::frames;
use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene, assert_refused};

#[test]
fn wrong_usage_is_one_line_with_its_status() {
    let scene = Scene::new();
    let many: Vec<_> = (0..257).map(|number| format!("c{number}=")).collect();
    let many = many.join(" ");
    assert_refused(
        |line| run(&scene, line),
        &[
            ("--no-such-flag", 2, "unexpected argument"),
            ("-r file", 2, "for files use 'tapline read FILE'"),
            ("--direction up", 2, "use in, out or both"),
            ("--interval 5", 2, "a time needs a unit"),
            ("--interval 0s", 2, "must not be 0"),
            ("--interval 1us", 2, "interval"),
            ("--duration x", 2, "duration"),
            ("--by color", 2, "use src, dst, sport"),
            ("--top 5", 2, "--by"),
            ("--groups 5", 2, "--by"),
            ("--by src --groups 0", 2, "--groups"),
            (
                "--by src --groups 4294967295",
                2,
                "4294967295 groups are more than ",
            ),
            ("--layer l3", 2, "use l2, l2+fcs or l1"),
            ("--ingress nic", 2, "use auto, xdp"),
            ("--json --csv", 2, "cannot be used with"),
            ("--metrics x", 2, "use PORT"),
            ("=tcp", 2, "the name before = is missing"),
            ("''", 2, "use NAME=FILTER"),
            ("web=tcp web=udp", 2, "class web is named twice"),
            ("tcp tcp", 2, "class tcp is named twice"),
            ("-i right0", 2, "named twice"),
            (&many, 2, "tapline: more than 256 classes"),
        ],
    );
    let missing = [
        ("count", 2, "--interface <IF>"),
        (
            "count -i nowhere0 'web=tcp port 80'",
            1,
            "nowhere0: No such device",
        ),
        ("count -i nowhere0 'web=tcp port 80'", 1, "'ip link'"),
    ];
    assert_refused(|line| scene.run(line), &missing);
}

/// A filter of more than a million instructions, which the kernel rejects at once.
#[test]
fn a_filter_that_is_too_long_for_the_kernel_is_refused_with_a_way_out() {
    let scene = Scene::new();
    let terms: Vec<_> = (0..60).map(|port| format!("any port {port}")).collect();
    let ended = run(
        &scene,
        &format!("--duration 1ms 'c={}'", terms.join(" and ")),
    );
    let said = "program: Argument list too long (the filters are too long for the kernel: use shorter or \
                fewer ones)";
    assert!(ended.exit(4).ends_with(said), "{ended:?}");
}

#[test]
fn a_wrong_filter_is_shown_with_its_place() {
    let scene = Scene::new();
    for (line, complaints, below) in [
        (
            "all= 'dns=udp prot 53'",
            [
                "filter of class dns is invalid for right0: ",
                "did you mean \"port\"?",
            ],
            Some(["  udp prot 53", "      ^^^^"]),
        ),
        // A name with a blank.
        (
            "'my web=tcp port 80'",
            ["", " (the NAME of 'NAME=FILTER' has no blanks)"],
            None,
        ),
        // The words of a filter that is not quoted.
        (
            "web=tcp port 80",
            ["filter of class port is invalid", "a class is one argument"],
            None,
        ),
        // A class without packets anywhere.
        (
            "--direction out a=inbound",
            [
                "filter of class a is invalid for right0: ",
                "rejects all packets",
            ],
            None,
        ),
        (
            "--direction in a=outbound",
            [
                "filter of class a is invalid for right0: ",
                "rejects all packets",
            ],
            None,
        ),
        (
            "'a=tcp and udp'",
            [
                "filter of class a is invalid for right0: column 1: expression ",
                "rejects all",
            ],
            None,
        ),
    ] {
        let ended = run(&scene, line);
        let complaint = ended.exit(2);
        assert!(complaint.starts_with(complaints[0]), "{line}: {complaint}");
        assert!(complaint.contains(complaints[1]), "{line}: {complaint}");
        if let Some(below) = below {
            assert_eq!(ended.stderr[1..], below);
        }
    }
    // A comparison, which is no name.
    let ended = run(&scene, "'tcp[13] & 2 = 2 ad udp'");
    assert!(!ended.exit(2).contains("has no blanks"), "{ended:?}");
}

#[test]
fn what_a_filter_may_not_be_expected_to_mean_is_said() {
    let scene = Scene::new();
    let mut running = spawn(scene.command("count -i right0 plain=tcp 'odd=vlan or ip'"));
    let warning = running.error_line();
    assert!(
        warning.starts_with("warning: column 1: \"vlan\""),
        "{warning}"
    );
    assert_eq!(running.error_line(), "  vlan or ip");
    assert_eq!(running.error_line(), "  ^^^^");
    assert!(running.error_line().starts_with("counting on "));
    running.stop().exit(0);
}

#[test]
fn without_privilege_it_says_which_are_missing() {
    let scene = Scene::new();
    let [not_permitted, denied] = ["Operation not permitted", "Permission denied"];
    for (kept, answer, missing) in [
        ("", not_permitted, "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"),
        (
            ",+net_raw",
            not_permitted,
            "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON",
        ),
        (",+net_admin", not_permitted, "CAP_BPF and CAP_PERFMON"),
        (",+bpf", not_permitted, "CAP_NET_ADMIN and CAP_PERFMON"),
        (",+bpf,+perfmon", not_permitted, "CAP_NET_ADMIN"),
        // The verifier, which has more to say, of no use to who lacks a privilege.
        (",+bpf,+net_admin", denied, "CAP_PERFMON"),
    ] {
        let said = format!(
            "tapline: cannot count on right0: {answer} (needs {missing}; run with sudo or setcap)"
        );
        let rows = ["auto", "tc"].map(|ingress| {
            format!("count -i right0 --ingress {ingress} --by src 'web=tcp port 80'")
        });
        let run = |line: &str| spawn(scene.privileged_by(kept, line)).finish();
        assert_refused(run, &[(&rows[0], 3, &said), (&rows[1], 3, &said)]);
    }
    // In a user namespace a process may have them all, and the kernel asks for those outside.
    let mut command = scene.right.command("unshare");
    command.args([
        "--user",
        "--map-root-user",
        PROGRAM,
        "count",
        "-i",
        "right0",
    ]);
    assert_eq!(
        spawn(command).finish().refusal(3),
        "cannot count on right0: Operation not permitted (needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON in the \
         initial user namespace; run with sudo or setcap)"
    );
    // Those that it names are enough.
    let line = "count -i right0 'test=ether proto 0x88b5' --json --interval 5ms";
    let mut running = spawn(scene.privileged_by(",+bpf,+net_admin,+perfmon", line));
    running.ready();
    scene.send(&frames(20, 100));
    running.stop_counted("test", 20);
}
