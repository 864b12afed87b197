//! The Python package: its wheel is built, and programs do on test hosts what they say, by the counters of the kernel, by
//! tcpdump and by ip.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use lab::generator::{send_frames, udp_frame};
use lab::{Host, Net, wait};

use crate::support::{
    Running, built, files_to_copy, hex, library, packets_of, repository, room, run, succeed,
};

/// The first Python that has what building the wheel and the examples take.
fn python() -> &'static str {
    // setuptools before 70.1 makes wheels with the package wheel.
    let imports = "import cffi, numpy, setuptools\n\
                   try: import setuptools.command.bdist_wheel\n\
                   except ImportError: import wheel.bdist_wheel";
    let has_tools = |name: &&str| {
        let mut command = Command::new(name);
        let tried = command.args(["-c", imports]);
        tried
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has_tools);
    found.expect("packaging/need.sh test installs python3-cffi")
}

/// The folder of the package: the content of the wheel.
fn package() -> &'static Path {
    static PACKAGE: OnceLock<PathBuf> = OnceLock::new();
    PACKAGE.get_or_init(|| {
        let [wheels, package] = ["wheel", "package"].map(|name| built().join("python").join(name));
        for folder in [&wheels, &package] {
            let _ = fs::remove_dir_all(folder);
        }
        let script = repository().join("packaging/python-wheel.sh");
        let mut command = Command::new(script);
        command.arg(library().join("libtapline.so")).arg(&wheels);
        succeed(command.env("PYTHON", python()));
        let built = fs::read_dir(&wheels).expect("the folder");
        let built: Vec<_> = built.map(|entry| entry.expect("a file").path()).collect();
        let [wheel] = built.as_slice() else {
            panic!("one wheel: {built:?}");
        };
        let name = wheel.file_name().expect("a name").to_string_lossy();
        let begins = concat!("tapline-", env!("CARGO_PKG_VERSION"), "-py3-none-linux_");
        assert!(name.starts_with(begins), "{name}");
        let mut command = Command::new(python());
        succeed(
            command
                .args(["-m", "zipfile", "-e"])
                .arg(wheel)
                .arg(&package),
        );
        package
    })
}

/// Python with the package, on a host.
fn command(host: &Host, script: &Path) -> Command {
    let mut command = host.command(python());
    command.args(["-X", "dev", "-W", "error", "-B"]).arg(script);
    command.env("PYTHONPATH", package()).stdout(Stdio::piped());
    command
}

/// Starts a job of the test script.
fn start(host: &Host, words: &[&str]) -> Running {
    let mut command = command(host, &room().join("tests/programs/python/check.py"));
    command.args(words);
    run(command)
}

/// UDP frames of different lengths, and as many of an unknown protocol.
fn frames(count: usize) -> [Vec<Vec<u8>>; 2] {
    let mut other = vec![0; 60];
    other[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    let udp = (0..count).map(|number| udp_frame(60 + 3 * number));
    [udp.collect(), vec![other; count]]
}

#[test]
fn captured_packets_are_those_that_were_sent_and_files_hold_them() {
    let [left, right] = Net::new().pair();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.pcapng");
    let path = file.to_str().expect("text");
    let name = right.interface().name.to_string();
    let mut running = start(&right, &["capture", &name, "100", path]);
    running.ready();
    let [udp, other] = frames(100);
    left.send(udp.iter().zip(&other).flat_map(|(udp, other)| [other, udp]));
    let printed = running.finish();
    let expected = udp
        .iter()
        .map(|frame| format!("{} {}", frame.len(), hex(frame)));
    assert_eq!(printed[..100], expected.collect::<Vec<_>>());
    assert_eq!(
        printed[100..],
        ["200 received, 100 delivered, 100 filtered", "100 written"]
    );

    for filter in ["udp", "greater 200", "port 9 and src 198.18.0.1", "arp"] {
        let counted = start(&right, &["read", path, filter]).finish();
        let printed = right.output_of(&format!("tcpdump --count -nr {path} {filter}"));
        let expected = printed.split_whitespace().next().map(str::to_owned);
        assert_eq!(counted.first(), expected.as_ref(), "{filter}");
    }
    start(&right, &["views", path]).finish();

    let [cut, part] = ["cut", "part"].map(|name| folder.path().join(name).display().to_string());
    succeed(lab::tool::command("editcap").args(["-s", "40", path, cut.as_str()]));
    let written = start(&right, &["part", &cut, &part]).finish();
    assert_eq!(written, ["34 written"]);
    let expected = packets_of(&cut, true);
    let expected: Vec<_> = expected.lines().step_by(3).collect();
    let written = packets_of(&part, true);
    assert_eq!(written.lines().collect::<Vec<_>>(), expected);

    for (from, has_interfaces) in files_to_copy() {
        let copy = folder.path().join("copy.pcapng").display().to_string();
        start(&right, &["copy", &from, &copy]).finish();
        let [expected, copied] = [&from, &copy].map(|path| packets_of(path, has_interfaces));
        assert_eq!(copied, expected, "{from}");
    }
}

#[test]
fn counted_packets_are_those_that_were_sent() {
    let [left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let mut running = start(&right, &["count", &name, "220"]);
    running.ready();
    let (udp, [_, other]) = (udp_frame(60), frames(100));
    left.send(other.iter().flat_map(|other| [other, &udp]));
    // To a second port, for which there is no room.
    let mut second = udp;
    second[36..38].copy_from_slice(&53_u16.to_be_bytes());
    left.send(vec![second; 20]);
    assert_eq!(running.finish(), ["120 7200 220 13200", "9 100 1 20"]);
}

#[test]
fn pings_are_answered_and_sent_packets_arrive() {
    let [left, right] = Net::new().pair();
    let address = right.interface().v4.to_string();
    assert_eq!(start(&left, &["ping", &address]).finish(), ["3 3 0"]);
    let before = right.counters().rx_packets;
    let name = left.interface().name.to_string();
    assert_eq!(
        start(&left, &["send", &name, "500"]).finish(),
        ["500 500 0"]
    );
    assert_eq!(right.counters().rx_packets - before, 500);
}

#[test]
fn the_network_is_configured() {
    let host = Host::new("alone");
    let shown = start(&host, &["netlink"]).finish().concat();
    for part in [
        r#""ifname":"br7""#,
        r#""mtu":1400"#,
        r#""info_kind":"bridge""#,
        "UP",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn wrong_use_is_an_exception() {
    let host = Host::new("alone");
    start(&host, &["misuse"]).finish();
}

/// The programs of the guide's page.
fn programs() -> Vec<String> {
    let page = fs::read_to_string(repository().join("docs/guide/python.md")).expect("the page");
    let blocks = page.split("```python\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().expect("its end").to_owned());
    blocks.collect()
}

#[test]
fn the_programs_of_the_guide_run() {
    let programs = programs();
    assert!(programs.len() >= 5, "they are found: {}", programs.len());
    let site = Host::new("here");
    site.ip("link add eth0 type veth peer name peer0");
    site.ip("address add 10.0.0.1/24 dev eth0");
    site.ip("link set eth0 up");
    site.ip("link set peer0 up");
    let peer = site.netlink().link_named("peer0").expect("peer0").ifindex();
    let folder = tempfile::tempdir().expect("a folder");
    let frames = [udp_frame(80)];
    for (number, text) in programs.iter().enumerate() {
        let script = folder.path().join(format!("program{number}.py"));
        fs::write(&script, text).expect("a file");
        let output = fs::File::create(folder.path().join("output")).expect("a file");
        let mut command = command(&site, &script);
        command.current_dir(folder.path()).stdout(output);
        let mut child = command.spawn().expect("it runs");
        wait::until(&format!("program {number} ends"), || {
            let sent = site.run(|| send_frames(peer, &frames));
            sent.expect("packets are sent");
            child.try_wait().expect("its status").is_some()
        });
        assert!(child.wait().expect("its status").success(), "{text}");
    }
}
