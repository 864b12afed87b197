//! More of Debian's programs with libpcap and with this library: they print the same.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use lab::generator::udp_frame;
use lab::{Host, Net};

use crate::support::{BOTH, Library, begin, begin_command, captures, end, folder_of_links};

/// The interpreter of Debian's Python packages.
const PYTHON: &str = "/usr/bin/python3";

/// What scapy does with libpcap: it asks the linker for it by name, and lists interfaces with it.
const SNIFF: &str = r#"
import ctypes, sys
from scapy.all import AsyncSniffer, conf, raw
conf.use_pcap = True
version = ctypes.CDLL("libpcap.so.0.8").pcap_lib_version
version.restype = ctypes.c_char_p
def ready():
    print("ready with", version().decode(), file=sys.stderr, flush=True)
sniffer = AsyncSniffer(iface=sys.argv[1], filter="udp", count=30, started_callback=ready,
                       prn=lambda packet: print(packet.wirelen, raw(packet).hex()))
sniffer.start()
sniffer.join()
"#;

/// UDP frames of many lengths, each behind a frame that is not IP.
fn frames(count: usize) -> Vec<Vec<u8>> {
    let mut other = vec![0; 60];
    other[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    let pair = |number| [other.clone(), udp_frame(60 + number)];
    (0..count).flat_map(pair).collect()
}

/// Starts a program on `host`, and reads its standard output up to the line with `ready`.
fn begin_printing(
    host: &Host,
    library: Library,
    program: &str,
    arguments: &[&str],
    ready: &str,
) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut command = host.command(program);
    library.load(command.args(arguments));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let is_ready = |line: std::io::Result<String>| line.expect("text").contains(ready);
    assert!(lines.any(is_ready), "{program} ended early");
    (child, lines)
}

/// What a program that ends by itself prints.
fn output(library: Library, command: &mut Command) -> String {
    let output = library.load(command).output().expect("the program runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn tshark_dissects_the_same_packets() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let fields = "-n -l -c 60 -f udp -T fields -e frame.number -e frame.len -e frame.cap_len -e frame.protocols -e eth.src \
                      -e ip.src -e udp.dstport -e data";
        let mut arguments = vec!["-i", &*name];
        arguments.extend(fields.split_whitespace());
        let tshark = begin(&right, library, "tshark", &arguments, "Capture started");
        left.send(frames(60));
        end(tshark)
    });
    assert_eq!(libpcap.lines().count(), 60, "{libpcap}");
    assert_eq!(libpcap, tapline);
}

#[test]
fn ngrep_prints_the_packets_that_match() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let arguments = ["-l", "-d", &name, "-n", "40", "-x", "", "udp"];
        let (mut ngrep, lines) = begin_printing(&right, library, "ngrep", &arguments, "filter:");
        left.send(frames(40));
        let lines: Vec<_> = lines.map(|line| line.expect("text")).collect();
        assert!(ngrep.wait().expect("it ends").success());
        lines
    });
    let packets = libpcap.iter().filter(|line| line.starts_with("U "));
    assert_eq!(packets.count(), 40, "{libpcap:#?}");
    assert_eq!(libpcap, tapline);
}

/// With the first two files, ngrep prints memory that it has never set: for an IPv6 packet of another version, an address. The others
/// have times from 2038 on, and libpcap takes them for times from 1901 on.
const DIFFERENT: [&str; 5] = [
    "gre-heapoverflow-1.pcap",
    "ipv6-bad-version.pcap",
    "time_2038_overflow.pcap",
    "time_2039.pcap",
    "time_2106_max.pcap",
];

#[test]
fn ngrep_finds_the_same_in_files() {
    let mut found = 0;
    for file in captures("captures") {
        if DIFFERENT.iter().any(|name| file.ends_with(name)) {
            continue;
        }
        let [libpcap, tapline] = BOTH.map(|library| {
            let mut ngrep = lab::tool::command("ngrep");
            ngrep.env("TZ", "UTC").args(["-q", "-t", "-x", "-I"]);
            // It fails on link types that it does not know.
            let output = library.load(ngrep.arg(&file)).output();
            let output = output.expect("ngrep runs");
            (output.status.code(), output.stdout)
        });
        found += libpcap.1.len();
        assert!(libpcap == tapline, "{}", file.display());
    }
    assert!(found > 1 << 20, "{found} bytes");
}

/// Link-layer header types in files of the corpus for which only libpcap compiles p0f's filter. It reads at offsets that libpcap
/// never sets: nothing says where the network header is.
const ONLY_LIBPCAP: [&str; 1] = ["JUNIPER_ES"];

#[test]
fn p0f_recognises_the_same_systems_in_files() {
    let mut recognised = 0;
    let mut refused = BTreeSet::new();
    for file in captures("captures") {
        let [libpcap, tapline] = BOTH.map(|library| {
            let mut p0f = lab::tool::command("p0f");
            let output = library.load(p0f.arg("-r").arg(&file)).output();
            let output = output.expect("p0f runs");
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text).into_owned();
            (output.status.code(), text)
        });
        recognised += libpcap.1.matches("raw_sig").count();
        let is_refused = |(_, text): &(_, String)| text.contains("pcap_compile");
        match (is_refused(&libpcap), is_refused(&tapline)) {
            (false, true) => {
                let (_, link_type) = tapline.1.split_once("DLT_").expect("a name");
                let link_type = link_type.split_whitespace().next();
                refused.insert(link_type.unwrap_or_default().to_owned());
            }
            // The texts differ.
            (true, true) => assert_eq!(libpcap.0, tapline.0, "{}", file.display()),
            _ => assert_eq!(libpcap, tapline, "{}", file.display()),
        }
    }
    assert!(recognised > 20, "{recognised} fingerprints");
    assert!(refused.iter().eq(ONLY_LIBPCAP), "{refused:?}");
}

#[test]
fn p0f_recognises_a_host_that_connects() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let (mut p0f, lines) =
            begin_printing(&right, library, "p0f", &["-i", &name], "main event loop");
        let address = right.interface().v4;
        // Nobody listens there.
        let refused = left.run(|| TcpStream::connect((address, 9)).map(drop));
        assert!(refused.is_err());
        let mut found = Vec::new();
        for line in lines.map(|line| line.expect("text")) {
            let is_last = line.contains("raw_mtu");
            // Other lines have the port of the connection.
            found.extend(Some(line).filter(|line| line.contains('=') && !line.contains("client")));
            if is_last {
                break;
            }
        }
        // Its output ends here.
        p0f.kill().expect("it runs");
        p0f.wait().expect("it ends");
        found
    });
    let is_linux = |line: &String| line.contains("os ") && line.contains("Linux");
    assert!(libpcap.iter().any(is_linux), "{libpcap:#?}");
    assert_eq!(libpcap, tapline);
}

#[test]
fn arp_scan_finds_the_neighbour() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        // It answers, unlike hosts of the lab otherwise.
        left.ip(&format!("link set {} arp on", left.interface().name));
        let mut command = right.command("arp-scan");
        command.args(["-I", &name, "--retry=8", "--timeout=1000"]);
        let text = output(library, command.arg(left.interface().v4.to_string()));
        // A request that is repeated on a busy machine has an answer more.
        let (_, counts) = text.split_once("\n\n").expect("counts at the end");
        let [received, dropped] = ["packets received", "packets dropped"].map(|what| {
            let (before, _) = counts.split_once(what).expect("a count");
            let number = before.split_whitespace().last().expect("a number");
            number.parse::<u32>().expect("a number")
        });
        assert!(received >= 1 && dropped == 0, "{counts}");
        let lines = text.lines().take_while(|line| !line.is_empty());
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    let found = libpcap.iter().filter(|line| line.contains("02:00:00"));
    assert!(found.count() >= 2, "{libpcap:#?}");
    assert_eq!(libpcap, tapline);
}

#[test]
fn nmap_finds_the_same_ports() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        for host in [&left, &right] {
            host.ip(&format!("link set {} arp on", host.interface().name));
        }
        let address = left.interface().v4;
        let listener = left.run(|| std::net::TcpListener::bind((address, 7)));
        let _listener = listener.expect("a listener");
        let mut command = right.command("nmap");
        command.args(["-n", "-sS", "-p", "5-9", "-oG", "-"]);
        let text = output(library, command.arg(address.to_string()));
        assert!(
            text.contains("6/closed") && text.contains("7/open"),
            "{text}"
        );
        // Comments have the time.
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(libpcap, tapline);
}

#[test]
fn scapy_sniffs_with_the_library_that_it_loads_by_name() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let mut command = right.command(PYTHON);
        command.args(["-c", SNIFF, &name]);
        let version = match library {
            Library::Libpcap => "ready with libpcap",
            Library::Tapline => {
                command.env("LD_LIBRARY_PATH", folder_of_links());
                "ready with tapline"
            }
        };
        let scapy = begin_command(command, library, version);
        left.send(frames(30));
        end(scapy)
    });
    assert_eq!(libpcap.lines().count(), 30, "{libpcap}");
    assert_eq!(libpcap, tapline);
}
