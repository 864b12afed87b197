//! Options of the jobs, in C and in C++: each has the documented effect, compared with sent packets, the kernel and
//! tcpdump.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab::generator::{send_frames, udp_frame};
use lab::{Host, Net};

use crate::support::{
    Checked, LANGUAGES, Running, files_to_copy, packets_of, run, sanitized, succeed,
};

/// The program in each language.
fn programs() -> impl Iterator<Item = Checked> {
    // Valgrind 3.19 does not know the calls that run programs of eBPF.
    LANGUAGES
        .into_iter()
        .map(|extension| sanitized(&format!("tests/programs/settings.{extension}")))
}

fn begin(mut command: Command, words: &str) -> Running {
    command.args(words.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    run(command)
}

/// Runs a job that ends by itself.
#[track_caller]
fn finish(program: &Checked, host: &Host, words: &str) -> Vec<String> {
    begin(program.command(host), words).finish()
}

/// Starts a capture, and waits until packets gather in its rings.
#[track_caller]
fn capture(program: &Checked, host: &Host, words: &str) -> Running {
    let mut running = begin(program.command(host), &format!("capture {words}"));
    running.ready();
    running
}

fn frames(bytes: usize, count: usize) -> Vec<Vec<u8>> {
    vec![udp_frame(bytes); count]
}

/// The lines about packets of the first interface that are captured completely.
fn packets(bytes: usize, count: usize) -> Vec<String> {
    vec![format!("0: {bytes} of {bytes}"); count]
}

/// What `ip -json` reports about the interface of a host.
fn link(host: &Host) -> serde_json::Value {
    let name = host.interface().name;
    let shown = host.output_of(&format!("ip -json -details link show dev {name}"));
    let shown: serde_json::Value = serde_json::from_str(&shown).expect(&shown);
    shown[0].clone()
}

#[test]
fn a_direction_a_snaplen_and_a_second_interface_select_packets() {
    for program in programs() {
        let [left, right] = Net::new().pair();
        for (direction, expected) in [
            (0, [packets(80, 5), packets(70, 10)].concat()),
            (1, packets(70, 10)),
            (2, packets(80, 5)),
        ] {
            let count = expected.len();
            let words = format!("interface=right0 direction={direction} max_packets={count}");
            let running = capture(&program, &right, &words);
            right.send(frames(80, 5));
            left.send(frames(70, 10));
            assert_eq!(running.finish()[..count], expected, "{words}");
        }
        let running = capture(
            &program,
            &right,
            "interface=right0 snaplen=60 max_packets=2",
        );
        left.send(frames(90, 2));
        assert_eq!(running.finish()[..2], ["0: 60 of 90"; 2]);

        right.ip("link add x0 type veth peer name x1");
        right.ip("link set x0 up");
        right.ip("link set x1 up");
        let words = "interface=right0 second=x0 filter=udp direction=1 max_packets=12";
        let running = capture(&program, &right, words);
        left.send(frames(70, 7));
        let peer = right.netlink().link_named("x1").expect("x1").ifindex();
        let sent = right.run(|| send_frames(peer, frames(80, 5)));
        sent.expect("frames are sent");
        let printed = running.finish();
        assert_eq!(
            printed.iter().filter(|line| *line == "1: 80 of 80").count(),
            5
        );
        assert_eq!(printed[12..14], ["0: 7 delivered", "1: 5 delivered"]);
    }
}

#[test]
fn a_new_filter_is_for_packets_in_the_ring_too() {
    const UNSUPPORTED: i32 = -5;
    for program in programs() {
        let [left, right] = Net::new().pair();
        for backend in [1, 2] {
            let words = format!(
                "interface=right0 direction=1 backend={backend} filter=udp refilter=len<=75 max_packets=14"
            );
            let mut running = capture(&program, &right, &words);
            left.send([frames(70, 10), frames(90, 5)].concat());
            running.end_input();
            running.ready();
            left.send([frames(90, 3), frames(70, 4)].concat());
            let printed = running.finish();
            assert_eq!(printed[..14], packets(70, 14), "{words}");
            assert_eq!(printed[14..], ["0: 14 delivered", "22 received, none lost"]);
        }
        // Its filter is in an XDP program.
        let words = "interface=right0 direction=1 backend=4 snaplen=96 refilter=udp";
        let mut running = capture(&program, &right, words);
        running.end_input();
        assert_eq!(running.finish(), [format!("status {UNSUPPORTED}")]);
    }
}

#[test]
fn a_capture_is_promiscuous_unless_it_is_not_to_be() {
    for program in programs() {
        let [_left, right] = Net::new().pair();
        for (words, promiscuity) in [("", 1), ("no_promiscuous=1", 0)] {
            let mut running = capture(&program, &right, &format!("interface=right0 {words}"));
            assert_eq!(link(&right)["promiscuity"], promiscuity, "{words}");
            running.end_input();
            running.finish();
        }
    }
}

#[test]
fn packets_are_delivered_by_bytes_by_time_and_at_once() {
    for program in programs() {
        let [left, right] = Net::new().pair();
        for delivery in [
            // A ring with blocks rounds the bytes up to a block.
            "delivery=0 delivery_bytes=400 delivery_ns=3600000000000 backend=1",
            "delivery=0 delivery_bytes=1000000000000 delivery_ns=1000000",
            "delivery=1",
            "delivery=2 delivery_ns=1000000",
            "backend=1",
            "backend=2",
        ] {
            let words = format!("interface=right0 wait=1 {delivery} max_packets=10");
            let running = capture(&program, &right, &words);
            left.send(frames(70, 10));
            assert_eq!(running.finish()[..10], packets(70, 10), "{delivery}");
        }
    }
}

#[test]
fn a_small_buffer_loses_packets_of_a_late_reader() {
    for program in programs() {
        let [left, right] = Net::new().pair();
        for (buffer, loss) in [("", "none lost"), ("buffer_bytes=131072", "some lost")] {
            let words = format!("interface=right0 filter=udp snaplen=100 late=20000 {buffer}");
            let mut running = capture(&program, &right, &words);
            left.send(frames(60, 20_000));
            running.end_input();
            let printed = running.finish();
            assert_eq!(printed[1..], [format!("20000 received, {loss}")], "{words}");
        }
    }
}

#[test]
fn xdp_takes_packets_away_or_copies_them() {
    const NATIVE: u32 = 1;
    const GENERIC: u32 = 2;
    for program in programs() {
        let [left, right] = Net::new().pair();
        // The program's mode, and how many of 6 packets that do not match and 10 that do the stack still sees.
        for (words, mode, passed) in [
            ("mode=1 backend=3 xdp_mode=1", NATIVE, 6),
            ("mode=1 xdp_mode=2", GENERIC, 6),
            ("mode=1 snaplen=100 drop_others=1", NATIVE, 0),
            ("backend=4 direction=1 snaplen=96 xdp_mode=2", GENERIC, 16),
        ] {
            let words = format!("interface=right0 {words} filter=len<=75 max_packets=10");
            let running = capture(&program, &right, &words);
            assert_eq!(link(&right)["xdp"]["mode"], mode, "{words}");
            let mut stack = capture(&program, &right, "interface=right0 filter=udp direction=1");
            left.send([frames(90, 6), frames(70, 10)].concat());
            assert_eq!(running.finish()[..10], packets(70, 10), "{words}");
            stack.end_input();
            let seen = stack.finish();
            assert_eq!(
                seen[seen.len() - 2],
                format!("0: {passed} delivered"),
                "{words}"
            );
        }
    }
}

/// A command that runs the program in a mount namespace in which `blue` is a network namespace with `b0`, the peer of `a0`. Only
/// there are 198.51.100.7 and fe80::7.
fn with_namespace(program: &Checked, host: &Host) -> Command {
    const SCRIPT: &str = "mount -t tmpfs none /run && ip netns add blue && \
        ip link add a0 type veth peer name b0 netns blue && ip -n blue link set b0 up && ip link set a0 up && \
        ip -n blue link set lo up && ip -n blue address add 198.51.100.7/32 dev lo && \
        ip -n blue address add fe80::7/64 dev b0 nodad && exec \"$@\"";
    let mut command = host.command("/usr/bin/unshare");
    command
        .args(["--mount", "sh", "-c", SCRIPT, "sh"])
        .arg(&program.path);
    command
}

#[test]
fn jobs_work_in_a_named_namespace() {
    for program in programs() {
        let host = Host::new("alone");
        let words = "capture netns=blue interface=b0 filter=udp max_packets=3";
        let mut running = begin(with_namespace(&program, &host), words);
        running.ready();
        let peer = host.netlink().link_named("a0").expect("a0").ifindex();
        let sent = host.run(|| send_frames(peer, frames(70, 3)));
        sent.expect("frames are sent");
        assert_eq!(running.finish()[..3], packets(70, 3));

        let host = Host::new("alone");
        let words = "send netns=blue interface=b0 count=9 bytes=60";
        let printed = begin(with_namespace(&program, &host), words).finish();
        assert_eq!(printed, ["9 accepted, 0 truncated, 0 skipped"]);

        let host = Host::new("alone");
        let words = "count netns=/run/netns/blue interface=b0 max_packets=8";
        let mut running = begin(with_namespace(&program, &host), words);
        running.ready();
        let peer = host.netlink().link_named("a0").expect("a0").ifindex();
        let sent = host.run(|| send_frames(peer, frames(70, 8)));
        sent.expect("frames are sent");
        assert_eq!(running.finish(), ["8 packets, 560 bytes"]);

        for (netns, target, printed) in [
            ("blue", "198.51.100.7", "3 sent, 3 received, no quantiles"),
            (
                "/run/netns/blue",
                "fe80::7%b0",
                "3 sent, 3 received, no quantiles",
            ),
            ("red", "198.51.100.7", "status -6"),
            ("..", "198.51.100.7", "status -1"),
        ] {
            let host = Host::new("alone");
            let words = format!("ping netns={netns} target={target} count=3 interval_ns=1000000");
            let pinged = begin(with_namespace(&program, &host), &words).finish();
            assert_eq!(pinged, [printed], "{words}");
        }
    }
}

#[test]
fn packets_leave_by_the_chosen_path() {
    for program in programs() {
        let [left, right] = Net::new().pair();
        left.output_of("tc qdisc add dev left0 root pfifo");
        // Live frames and those of AF_XDP reach a veth whose peer has NAPI.
        right.output_of("ethtool -K right0 gro on");
        for (path, queued) in [(1, 0), (2, 0), (3, 0), (4, 50)] {
            let queue = || {
                let shown = left.output_of("tc -s -json qdisc show dev left0");
                let shown: serde_json::Value = serde_json::from_str(&shown).expect(&shown);
                shown[0]["packets"].as_u64().expect("a number")
            };
            let before = (right.counters().rx_packets, queue());
            let words = format!("send interface=left0 path={path} count=50 bytes=60");
            let printed = finish(&program, &left, &words);
            assert_eq!(printed, ["50 accepted, 0 truncated, 0 skipped"], "{words}");
            assert_eq!(right.counters().rx_packets - before.0, 50, "{words}");
            assert_eq!(queue() - before.1, queued, "{words}");
        }
    }
}

#[test]
fn long_frames_limits_and_uplinks_are_as_chosen() {
    for program in programs() {
        let [left, right] = Net::new().pair();
        let before = right.counters().rx_bytes;
        for (words, expected) in [
            (
                "long_frames=1 count=1 bytes=2000",
                "1 accepted, 1 truncated, 0 skipped",
            ),
            (
                "long_frames=2 count=1 bytes=2000",
                "0 accepted, 0 truncated, 1 skipped",
            ),
            (
                "max_packets=4 count=10 bytes=60",
                "4 accepted, 0 truncated, 0 skipped",
            ),
            (
                "inject=1 count=2 bytes=60",
                "3 accepted, 0 truncated, 0 skipped",
            ),
        ] {
            let printed = finish(&program, &left, &format!("send interface=left0 {words}"));
            assert_eq!(printed, [expected], "{words}");
        }
        assert_eq!(right.counters().rx_bytes - before, 1514 + 7 * 60);
        left.ip("route add default dev left0");
        let words = "send interface=left0 count=5 bytes=60";
        let refused = finish(&program, &left, words);
        assert_eq!(refused, ["set allow_uplink to send on it nevertheless"]);
        let sent = finish(&program, &left, &format!("{words} allow_uplink=1"));
        assert_eq!(sent, ["5 accepted, 0 truncated, 0 skipped"]);
    }
}

#[test]
fn rates_have_the_chosen_unit() {
    for program in programs() {
        let [left, _right] = Net::new().pair();
        for words in [
            // Ten gaps of 50 ms.
            "rate_unit=1 rate=20 count=11 bytes=60 least_ns=300000000",
            "rate_unit=2 rate=9600 count=11 bytes=60 least_ns=300000000",
            // 84 bytes on the wire: of 70 ms.
            "rate_unit=3 rate=9600 count=11 bytes=60 least_ns=600000000",
            "rate_unit=4 count=3 gap_ns=100000000 bytes=60 least_ns=100000000",
            "rate_unit=5 count=1 start_ns=300000000 bytes=60",
        ] {
            let printed = finish(&program, &left, &format!("send interface=left0 {words}"));
            assert!(
                printed[0].ends_with("accepted, 0 truncated, 0 skipped"),
                "{words}"
            );
        }
    }
}

#[test]
fn probes_are_as_chosen() {
    for program in programs() {
        let [left, right] = Net::new().pair();
        let target = right.interface().v4;
        let pinged = |words: &str| {
            let words = format!("ping target={target} interval_ns=1000000 {words}");
            finish(&program, &left, &words).concat()
        };
        // 100 bytes behind the headers of Ethernet, IPv4 and ICMP.
        let filter = "filter=icmp[0]==8&&ip[8]==77&&len==142";
        let running = capture(
            &program,
            &right,
            &format!("interface=right0 direction=1 max_packets=3 {filter}"),
        );
        assert_eq!(
            pinged("count=3 payload_bytes=100 ttl=77 interface=left0"),
            "3 sent, 3 received, no quantiles"
        );
        assert_eq!(running.finish()[..3], packets(142, 3));
        left.ip("address add 198.51.100.9/32 dev left0");
        right.ip(&format!(
            "route add 198.51.100.9 via {}",
            left.interface().v4
        ));
        let filter = "filter=icmp[0]==8&&ip[1]==40&&ip[12:4]==0xc6336409";
        let words = "interface=right0 direction=1 max_packets=3";
        let running = capture(&program, &right, &format!("{words} {filter}"));
        assert_eq!(
            pinged("count=3 tos=40 source=198.51.100.9"),
            "3 sent, 3 received, no quantiles"
        );
        // 56 bytes behind these headers.
        assert_eq!(running.finish()[..3], packets(98, 3));
        assert_eq!(
            pinged("count=3 histograms=1"),
            "3 sent, 3 received, quantiles"
        );
        // More than the MTU.
        assert_eq!(
            pinged("count=2 payload_bytes=2000"),
            "2 sent, 2 received, no quantiles"
        );
        let whole = pinged("count=2 payload_bytes=2000 dont_fragment=1");
        assert!(whole.contains(" 0 received"), "{whole}");
        // Five gaps of 100 ms.
        let slow = pinged("count=6 rate_pps=10 least_ns=400000000");
        assert_eq!(slow, "6 sent, 6 received, no quantiles");
        pinged("max_ns=200000000 least_ns=200000000");
    }
}

#[test]
fn an_unknown_host_a_resolver_without_an_answer_and_a_wrong_text_have_different_statuses() {
    const NOT_FOUND: i32 = -6;
    const SYNTAX: i32 = -8;
    const SYSTEM: i32 = -10;
    for program in programs() {
        let host = Host::new("alone");
        let folder = tempfile::tempdir().expect("a folder");
        for (sources, target, status) in [
            // The file /etc/hosts has no such name, and no name server can be reached from here.
            ("files", "nowhere.invalid", NOT_FOUND),
            ("dns", "nowhere.invalid", SYSTEM),
            ("files", "10.0.0.1/99", SYNTAX),
            ("files", "fe80::1%nowhere0", NOT_FOUND),
        ] {
            let file = folder.path().join("nsswitch.conf");
            fs::write(&file, format!("hosts: {sources}\n")).expect("a file");
            let script = "mount --bind \"$1\" /etc/nsswitch.conf && shift && exec \"$@\"";
            let mut command = host.command("/usr/bin/unshare");
            command.args(["--mount", "sh", "-c", script, "sh"]);
            command.arg(&file).arg(&program.path);
            let printed = begin(command, &format!("ping target={target}")).finish();
            assert_eq!(printed, [format!("status {status}")], "{sources} {target}");
        }
    }
}

#[test]
fn a_name_has_the_address_of_the_chosen_family() {
    const HOSTS: &str = "::1 both.test\n127.0.0.7 both.test\n127.0.0.8 four.test\n";
    const SCRIPT: &str = "mount --bind \"$1\" /etc/nsswitch.conf && mount --bind \"$2\" /etc/hosts && \
        ip link set lo up && shift 2 && exec \"$@\"";
    for program in programs() {
        let host = Host::new("alone");
        let folder = tempfile::tempdir().expect("a folder");
        let [sources, hosts] = ["nsswitch.conf", "hosts"].map(|name| folder.path().join(name));
        fs::write(&sources, "hosts: files\n").expect("a file");
        fs::write(&hosts, HOSTS).expect("a file");
        let expected: [(&str, &[&str]); 6] = [
            (
                "target=both.test family=2",
                &["both.test 127.0.0.7", "1 sent, 1 received"],
            ),
            (
                "target=both.test family=10",
                &["both.test ::1", "1 sent, 1 received"],
            ),
            // Another address, and the same one.
            (
                "target=four.test also=127.0.0.9",
                &["four.test 127.0.0.8", "- 127.0.0.9", "2 sent, 2 received"],
            ),
            (
                "target=four.test also=127.0.0.8",
                &["four.test 127.0.0.8", "1 sent, 1 received"],
            ),
            // Not found, and an address of another family.
            ("target=four.test family=10", &["status -6"]),
            ("target=127.0.0.1 family=10", &["status -1"]),
        ];
        for (words, printed) in expected {
            let mut command = host.command("/usr/bin/unshare");
            command.args(["--mount", "sh", "-c", SCRIPT, "sh"]);
            command.args([&sources, &hosts, &program.path]);
            let words = format!("ping count=1 names=1 {words}");
            let pinged = begin(command, &words).finish();
            let pinged = pinged
                .iter()
                .map(|line| line.trim_end_matches(", no quantiles"));
            assert_eq!(pinged.collect::<Vec<_>>(), printed, "{words}");
        }
    }
}

#[test]
fn copies_of_files_have_all_interfaces_and_packets() {
    let host = Host::new("alone");
    for (from, has_interfaces) in files_to_copy() {
        let packets = packets_of(&from, has_interfaces);
        for program in programs() {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("copy.pcapng").display().to_string();
            let words = format!("copy from={from} path={path}");
            let printed = finish(&program, &host, &words);
            assert_eq!(printed, [format!("{} written", packets.lines().count())]);
            assert_eq!(packets_of(&path, has_interfaces), packets, "{from}");
        }
    }
}

#[test]
fn packets_of_a_pipe_are_lent_when_they_arrive_and_a_stop_ends_the_wait() {
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_ne_bytes);
    let record = |frame: &[u8]| {
        let bytes = frame.len() as u32;
        let fields = [0, 0, bytes, bytes].map(u32::to_ne_bytes);
        [fields.as_flattened(), frame].concat()
    };
    let (udp, other) = (record(&udp_frame(60)), record(&[0; 60]));
    let host = Host::new("alone");
    for program in programs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("fifo");
        succeed(Command::new("mkfifo").arg(&path));
        let words = format!("live from={} filter=udp", path.display());
        let mut running = begin(program.command(&host), &words);
        let mut pipe = fs::File::create(&path).expect("it reads");
        let mut write = |bytes: &[u8]| pipe.write_all(bytes).expect("it reads");
        // The last does not match, and what follows it has not arrived.
        write(&[header.as_flattened().to_vec(), udp.repeat(2), other.clone()].concat());
        assert_eq!(running.line(), "2 packets");
        write(&udp);
        assert_eq!(running.line(), "1 packets");
        running.end_input();
        assert_eq!(running.finish(), ["0 packets"]);
    }
}

/// The files below a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

#[test]
fn files_have_the_chosen_format_and_end_where_they_are_to() {
    const PCAP: u32 = 0xa1b2_c3d4;
    const PCAP_NS: u32 = 0xa1b2_3c4d;
    const ZSTD: u32 = 0xfd2f_b528;
    const PCAPNG: u32 = 0x0a0d_0d0a;
    let host = Host::new("alone");
    for program in programs() {
        let written = |words: &str| {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("trace");
            let words = format!("files path={} count=35 {words}", path.display());
            assert_eq!(finish(&program, &host, &words), ["35 written"]);
            folder
        };
        for (words, magic) in [
            ("", PCAPNG),
            ("format=1", PCAP),
            ("format=2", PCAP_NS),
            ("zstd=1", ZSTD),
        ] {
            let folder = written(words);
            let file = &files(folder.path())[0];
            let bytes = fs::read(file).expect("a file");
            assert_eq!(bytes[..4], magic.to_le_bytes(), "{words}");
            let is_named = file.extension().is_some_and(|end| end == "zst");
            assert_eq!(is_named, magic == ZSTD, "{words}");
        }
        let counts = |folder: &Path| {
            let files = files(folder);
            let counts = files.iter().map(|file| {
                let printed = host.output_of(&format!("tcpdump --count -nr {}", file.display()));
                let digits = printed.split(' ').next().unwrap_or_default();
                digits.parse::<usize>().expect(&printed)
            });
            counts.collect::<Vec<_>>()
        };
        let folder = written("rotate_ns=10000000000");
        assert_eq!(counts(folder.path()), [10, 10, 10, 5]);
        let folder = written("rotate_packets=20 keep_files=1");
        assert_eq!(counts(folder.path()), [15]);
        let folder = written("rotate_bytes=2000");
        let counts = counts(folder.path());
        assert!(
            counts.len() > 2 && counts.iter().sum::<usize>() == 35,
            "{counts:?}"
        );
        for file in files(folder.path()) {
            assert!(file.metadata().expect("its size").len() <= 2000, "{file:?}");
        }
    }
}
