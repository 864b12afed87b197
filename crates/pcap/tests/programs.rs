//! Debian's programs, live on test hosts, with libpcap and with this library.

use std::fs;
use std::process::Command;

use lab::Net;
use lab::generator::udp_frame;

use crate::support::{BOTH, begin, built, end};

fn frames(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| udp_frame(60 + number)).collect()
}

/// Packets that are not asked for.
fn others(count: usize) -> Vec<Vec<u8>> {
    let mut frame = vec![0; 60];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    vec![frame; count]
}

#[test]
fn tcpdump_prints_each_packet_that_was_sent() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        // -Z: the filter is set after the privileges are dropped.
        let arguments = [
            "-i", &name, "-Z", "nobody", "-nn", "-t", "-e", "-XX", "-l", "-c", "100", "udp",
        ];
        let tcpdump = begin(&right, library, "tcpdump", &arguments, "listening on");
        left.send(others(10).into_iter().chain(frames(100)));
        end(tcpdump)
    });
    assert_eq!(
        libpcap
            .lines()
            .filter(|line| line.contains(" UDP, "))
            .count(),
        100,
        "{libpcap}"
    );
    assert_eq!(libpcap, tapline);
}

#[test]
fn tcpdump_writes_the_packets_of_all_interfaces() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        let path = built().join(format!("any-{library:?}-{}.pcap", std::process::id()));
        let path = path.to_str().expect("a path of text");
        let arguments = ["-i", "any", "-w", path, "-c", "50", "udp"];
        let tcpdump = begin(&right, library, "tcpdump", &arguments, "listening on");
        left.send(others(10).into_iter().chain(frames(100)));
        end(tcpdump);
        let mut read = lab::tool::command("tcpdump");
        let output = read
            .args(["-nn", "-t", "-e", "-XX", "-r", path])
            .output()
            .expect("tcpdump reads");
        let text = String::from_utf8(output.stdout).expect("text");
        // The index of the interface in the header is another one on each host.
        let index = right.interface().index.to_string();
        let text = text.replace(&format!("ifindex {index} "), "");
        let lines = text.lines().filter(|line| !line.contains("0x0000:"));
        lines.collect::<Vec<_>>().join("\n")
    });
    assert_eq!(
        libpcap
            .lines()
            .filter(|line| line.contains(" UDP, "))
            .count(),
        50,
        "{libpcap}"
    );
    assert_eq!(libpcap, tapline);
}

/// The kernel cuts the packets to the snapshot length when the filter runs there.
#[test]
fn tcpdump_prints_the_length_of_packets_that_are_cut() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        let arguments = [
            "-i", "any", "-s", "80", "-nn", "-t", "-l", "-c", "20", "udp",
        ];
        let tcpdump = begin(&right, library, "tcpdump", &arguments, "listening on");
        left.send((0..20).map(|number| udp_frame(1000 + number)));
        end(tcpdump)
    });
    assert!(libpcap.contains("length 958"), "{libpcap}");
    assert_eq!(libpcap, tapline);
}

#[test]
fn dumpcap_writes_what_was_sent() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let folder = built().join(format!("dumpcap-{library:?}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("out.pcapng");
        let path = path.to_str().expect("a path of text");
        let arguments = ["-q", "-i", &name, "-f", "udp", "-c", "80", "-w", path];
        let dumpcap = begin(&right, library, "dumpcap", &arguments, "File:");
        left.send(others(10).into_iter().chain(frames(80)));
        end(dumpcap);
        let mut read = lab::tool::command("tcpdump");
        let output = read
            .args(["-nn", "-t", "-XX", "-r", path])
            .output()
            .expect("tcpdump reads");
        String::from_utf8(output.stdout).expect("text")
    });
    assert_eq!(
        libpcap
            .lines()
            .filter(|line| line.contains(" UDP, "))
            .count(),
        80,
        "{libpcap}"
    );
    assert_eq!(libpcap, tapline);
}

/// The compiler of filters has texts of its own, which are not among these.
#[test]
fn tcpdump_complains_with_the_same_words() {
    let [_left, right] = Net::new().pair();
    right.ip("link add down0 type veth peer name down1");
    let name = right.interface().name.to_string();
    let cases = [
        "-i nonexistent0",
        "-i down0",
        "-i IF -y RAW",
        "-i IF -y NOSUCH",
        "-i IF -L",
        "-i any -L",
        "-i lo -L",
        "-i IF -J",
        "-i IF -j adapter -L",
        "-i IF -I",
        "-i IF -w /nonexistent/file",
        "-i any -I",
        "-r /nonexistent",
        "-r /",
        "-r /dev/null",
        "-i IF -c 1 -r /nonexistent -w /dev/null",
    ];
    for case in cases {
        for launcher in [
            &[][..],
            &["--reuid=65534", "--regid=65534", "--clear-groups"],
        ] {
            // The state of the interface is checked before the socket is opened.
            if case == "-i down0" && !launcher.is_empty() {
                continue;
            }
            let [libpcap, tapline] = BOTH.map(|library| {
                let mut command = right.command("setpriv");
                command.args(launcher).arg(lab::tool::path("tcpdump"));
                command.args(case.replace("IF", &name).split(' '));
                let output = library.load(&mut command).output();
                let output = output.expect("tcpdump runs");
                let text = [output.stdout, output.stderr].concat();
                let text = String::from_utf8(text).expect("text");
                (output.status.code(), text)
            });
            assert!(libpcap.1.contains('\n'), "{case}: {libpcap:?}");
            assert_eq!(libpcap, tapline, "{case}");
        }
    }
}

#[test]
fn tcpdump_lists_the_interfaces_of_the_host() {
    let [_left, right] = Net::new().pair();
    right.ip("link add first1 type veth peer name first0");
    right.ip("link set first1 up");
    right.ip("link add bridge0 type bridge");
    right.ip("link set bridge0 up");
    right.ip("tuntap add tap0 mode tap");
    right.ip("link set tap0 up");
    // An interface that cannot say whether it has a link, where the kernel has this kind.
    let added = right
        .command("ip")
        .args(["link", "add", "ifb7", "type", "ifb"])
        .status();
    if added.expect("ip runs").success() {
        right.ip("link set ifb7 up");
    }
    let lists = BOTH.map(|library| {
        let mut command: Command = right.command("tcpdump");
        let output = library
            .load(command.arg("-D"))
            .output()
            .expect("tcpdump runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let lines = text.lines().filter_map(|line| line.split_once('.'));
        let mut lines: Vec<_> = lines.map(|(_, line)| line.to_owned()).collect();
        // Not interfaces of the kernel.
        let pseudo = ["bluetooth", "nflog", "nfqueue", "dbus", "usbmon"];
        lines.retain(|line| !pseudo.iter().any(|name| line.starts_with(name)));
        lines
    });
    let name = right.interface().name.to_string();
    assert!(
        lists[0].iter().any(|line| line.starts_with(&name)),
        "{lists:?}"
    );
    assert_eq!(lists[0], lists[1]);
}
