//! Wrong usage, and features that this build lacks: rejected with one line before anything is captured.

use crate::support::run::spawn;
use crate::support::{RINGBUF, Scene, assert_refused};

#[test]
fn wrong_usage_is_one_line_and_status_2() {
    let scene = Scene::new();
    let many = format!("{RINGBUF} --mode drop");
    assert_refused(
        |line| scene.run(&format!("capture -i right0 {line}")),
        &[
            ("--no-such-flag", 2, "unexpected argument '--no-such-flag'"),
            ("--directoin in", 2, "did you mean '--direction'?"),
            ("--direction up", 2, "use in, out or both"),
            (
                "--backend pcap",
                2,
                "use packet-v2, packet-v3, xdp, xdp-ringbuf or auto",
            ),
            ("--backend xdp", 2, "use --mode drop"),
            ("--mode steal", 2, "use mirror or drop"),
            ("--others drop", 2, "--others needs --mode drop"),
            (
                "--xdp native",
                2,
                "--xdp needs --mode drop or --backend xdp-ringbuf",
            ),
            ("--mode drop --others eat", 2, "use pass or drop"),
            ("--mode drop --xdp fast", 2, "use native, generic or auto"),
            (
                "--mode drop --backend packet-v3",
                2,
                "use --backend xdp or auto",
            ),
            (
                &many,
                2,
                "backend xdp-ringbuf is not for drop mode (use --backend xdp or auto)",
            ),
            (
                "--timestamp sundial",
                2,
                "use auto, hardware, software or driver",
            ),
            ("-c 0", 2, "must not be 0"),
            ("-c many", 2, "-c"),
            ("-c", 2, "a value is required"),
            ("-s -1", 2, "-1"),
            ("-s x", 2, "snaplen"),
            ("--duration 5", 2, "a time needs a unit"),
            ("--buffer 5G", 2, "4 GiB"),
            (
                "--buffer 0",
                2,
                "--buffer 0 is not a ring size: omit it for the default",
            ),
            ("--buffer 1x", 2, "unknown unit 'x'"),
            ("--stats-interval 0s", 2, "must not be 0"),
            ("--fail-loss 101%", 2, "--fail-loss"),
            ("--compress gzip -w file", 2, "use zstd or zstd:LEVEL"),
            ("--compress zstd:99 -w file", 2, "1 to 22"),
            (
                "-w file.pcap.gz",
                2,
                "cannot write file.pcap.gz: gzip is not supported for output (use a name that ends in .zst)",
            ),
            ("--rotate-packets 5", 2, "--write"),
            ("--rotate-size 0 -w file", 2, "must not be 0"),
            ("--json -w -", 2, "standard output"),
            ("-i right0", 2, "named twice"),
            ("-w - --rotate-packets 5", 2, "rotation needs a file name"),
            ("-w file --keep 5", 2, "--keep needs --rotate-size"),
            ("--bpf file tcp", 2, "cannot be used with"),
            ("--busy-poll", 2, "tapline: --busy-poll needs --mode drop"),
            ("--mode drop --busy-poll=0", 2, "--busy-poll"),
            // Addresses for the counters.
            (
                "--metrics 192.0.2.77:9000",
                1,
                "Cannot assign requested address",
            ),
            ("--metrics nonsense", 2, "'nonsense'"),
            ("--metrics [::1]", 2, "use PORT"),
            ("--metrics 65536", 2, "use PORT"),
        ],
    );
    assert_refused(
        |line| scene.run(line),
        &[
            ("capture", 2, "--interface <IF>"),
            ("juggle", 2, "'juggle'"),
        ],
    );
    assert!(scene.listed().is_empty(), "no file was made");
}

#[test]
fn deliveries_and_samples_that_cannot_be_made_are_refused() {
    let scene = Scene::new();
    assert_refused(
        |line| scene.run(&format!("capture -i right0 {line}")),
        &[
            (
                "--delivery slow",
                2,
                "possible values: immediate, batch, adaptive",
            ),
            (
                "--delivery batch --latency-target 1ms",
                2,
                "--latency-target needs --delivery adaptive",
            ),
            (
                "--delivery immediate --timeout 1s",
                2,
                "--timeout needs --delivery batch",
            ),
            ("--delivery immediate --backend packet-v3", 2, "packet-v2"),
            (
                "--mode drop --busy-poll --delivery batch",
                2,
                "--busy-poll needs --delivery adaptive or immediate",
            ),
            ("--timeout 0s", 2, "must not be 0"),
            (
                "--timeout 100us --backend packet-v3",
                2,
                "packet-v2 supports any",
            ),
            ("-s 0 --stall 1h", 2, "a stall of 3600s takes"),
            ("--mode drop --stall 1s", 2, "--stall needs a packet ring"),
            (
                "--backend xdp-ringbuf --stall 1s",
                2,
                "--stall needs a packet ring",
            ),
            ("--sample 0", 2, "--sample"),
            ("--sample 1/0", 2, "--sample"),
            ("--sample p=2", 2, "--sample"),
            ("--sample p=1e-300", 2, "--sample"),
            ("--sample p=0.9999999999", 2, "--sample"),
            ("--sample first/0s", 2, "--sample"),
        ],
    );
}

/// An error about what a back end or mode does not support names an alternative.
#[test]
fn what_a_back_end_cannot_do_is_refused_with_a_way_out() {
    let scene = Scene::new();
    scene.write("program", "1\n6 0 0 96\n");
    assert_refused(
        |line| scene.run(&format!("capture -i right0 {line}")),
        &[
            (
                "--backend xdp-ringbuf",
                2,
                "tapline: backend xdp-ringbuf captures received packets only (use --direction in)",
            ),
            (
                "--backend xdp-ringbuf --direction in",
                2,
                "tapline: backend xdp-ringbuf copies 16384 bytes of a packet at most, not 262144 (use -s)",
            ),
            (
                &format!("{RINGBUF} --timestamp hardware"),
                4,
                "use --timestamp auto or software",
            ),
            ("--mode drop --direction out", 2, "use --direction in"),
            ("--mode drop --direction out", 2, "--mode mirror"),
            (
                "--mode drop --timestamp hardware",
                4,
                "use --timestamp auto or software",
            ),
            ("--mode drop --bpf program", 2, "give its expression"),
        ],
    );
}

#[test]
fn filter_files_are_checked_before_anything_is_captured() {
    let scene = Scene::new();
    let run = |_: &str| scene.run("capture -i right0 --bpf filter -w file");
    let missing = "tapline: cannot read filter file filter: No such file or directory";
    assert_refused(run, &[("no file", 1, missing)]);
    for (program, place) in [
        ("", "line"),
        ("this is not a program\n", "line 1"),
        ("2\n6 0 0 1\n", "2"),
        // A jump beyond the end, and one that never returns: the kernel takes neither.
        ("2\n21 9 0 1\n6 0 0 1\n", "instruction 0"),
        ("1\n0 0 0 1\n", "instruction"),
        ("1\n255 0 0 1\n", "instruction 0"),
    ] {
        scene.write("filter", program);
        let start = "tapline: filter file filter is invalid: ";
        let ended = run(program);
        assert!(ended.stderr[0].starts_with(start), "{ended:?}");
        let complaint = ended.refusal(2);
        assert!(
            complaint[start.len() - 9..].contains(place),
            "{program:?}: {complaint}"
        );
    }
    assert_eq!(scene.listed(), ["filter"]);
}

/// Which is said before anything is opened, so also to who may not open anything.
#[test]
fn what_is_no_filter_is_shown_with_its_place() {
    let scene = Scene::new();
    for (expression, said, below) in [
        (
            "udp prot 53",
            "column 5: expected \"and\", \"or\" or the end, found \"prot\" (did you mean \"port\"?)",
            ["  udp prot 53", "      ^^^^"],
        ),
        (
            "type mgt or tcp",
            "not supported on DLT_EN10MB",
            ["  type mgt or tcp", "  ^"],
        ),
        (
            "tcp port http and",
            "found the end",
            ["  tcp port http and", "                   ^"],
        ),
    ] {
        let line = format!("capture -i right0 -w file {expression}");
        for command in [scene.privileged_by("", &line), scene.command(&line)] {
            let ended = spawn(command).finish();
            let complaint = ended.exit(2);
            assert!(
                complaint.starts_with("filter for right0 is invalid: "),
                "{complaint}"
            );
            assert!(complaint.contains(said), "{complaint}");
            let [_, line, carets] = &ended.stderr[..] else {
                panic!("{ended:?}");
            };
            assert!(
                line == below[0] && carets.starts_with(below[1]),
                "{ended:?}"
            );
            assert!(ended.stdout.is_empty());
        }
    }
    assert!(scene.listed().is_empty());
}
