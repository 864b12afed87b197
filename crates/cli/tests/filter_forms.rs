//! `tapline filter`: its programs against tcpdump's and against the library, and what it refuses.

use crate::support;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::support::{PROGRAM, Scene, name, tool};
use lab::Host;
use serde_json::Value;
use tapline::filter::ebpf::EbpfListing;
use tapline::filter::{CompiledFilter, FilterOptions, FilterTarget, LinkType, NoNames};

/// `tapline filter` with `arguments`, on a host without a network: nobody is asked for names.
fn filter(host: &Host, arguments: &[&str]) -> Output {
    let mut command = host.command(PROGRAM);
    command.arg("filter").args(arguments);
    command.output().expect("the program runs")
}

#[track_caller]
fn text(output: &Output) -> &str {
    assert!(output.status.success(), "{output:?}");
    std::str::from_utf8(&output.stdout).expect("text")
}

/// What standard error says at an exit with status `code`.
#[track_caller]
fn complaint(output: &Output, code: i32) -> &str {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let said = std::str::from_utf8(&output.stderr).expect("text");
    said.strip_prefix("tapline: ").expect("a complaint")
}

/// The filters of the corpus that libpcap accepts: flags, expression, options.
fn corpus() -> Vec<(Vec<String>, String, FilterOptions)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/filters/accept.json");
    let entries: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(path).expect("the corpus")).expect("JSON");
    let mut all = Vec::new();
    for entry in entries {
        let link = entry["link_type"].as_str().expect("a link type");
        let mut options = FilterOptions::new(LinkType::from_name(link).expect("a known one"));
        let mut flags = vec!["--link-type".to_owned(), link.to_owned()];
        if let Some(snaplen) = entry["snaplen"].as_u64() {
            options.snaplen = u32::try_from(snaplen).expect("a snaplen");
            flags.extend(["-s".into(), snaplen.to_string()]);
        }
        if let Some(netmask) = entry["netmask"].as_str() {
            options.netmask = Some(netmask.parse().expect("a mask"));
            flags.extend(["--netmask".into(), netmask.into()]);
        }
        if entry["linux_extensions"] == true {
            options.target = FilterTarget::Socket;
            flags.extend(["--at".into(), "socket".into()]);
        }
        for expression in entry["expressions"].as_array().expect("expressions") {
            let expression = expression.as_str().expect("text").to_owned();
            all.push((flags.clone(), expression, options));
        }
    }
    all
}

#[test]
fn every_filter_of_the_corpus_is_the_librarys() {
    let host = Host::new("alone");
    let (mut same, mut named) = (0, 0);
    for (flags, expression, options) in corpus() {
        let mut arguments: Vec<&str> = flags.iter().map(String::as_str).collect();
        arguments.extend(["--emit", "classic-decimal", "--", &expression]);
        let output = filter(&host, &arguments);
        let expected =
            CompiledFilter::new(&expression, &options, &NoNames).and_then(|f| f.classic());
        if let Ok(program) = expected {
            assert_eq!(text(&output), program.to_string(), "{expression}");
            same += 1;
        } else {
            // A name, which this machine may know or not.
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 2)), "{expression}: {output:?}");
            named += 1;
        }
    }
    assert!(same > 600 && named < 300, "{same} {named}");
}

/// Filters for which our program is instruction by instruction that of tcpdump.
const ALIKE: [&str; 6] = ["", "arp", "ip6", "icmp", "ether[0] & 1 != 0", "greater 100"];

#[test]
fn the_listing_and_the_numbers_have_the_form_of_tcpdumps() {
    let scene = Scene::new();
    for expression in ALIKE {
        for (emit, flag) in [("classic", "-d"), ("classic-decimal", "-ddd")] {
            let theirs = tool("tcpdump", ["-y", "EN10MB", flag, expression]);
            let ours = filter(&scene.right, &["--emit", emit, expression]);
            assert_eq!(text(&ours), theirs, "{expression}");
        }
    }
    // What is beside the bytes of a packet has a name.
    let live = |expression| {
        let mut command = scene.right.command("tcpdump");
        command.args(["-i", &name(&scene.right), "-d", expression]);
        command.output().expect("tcpdump runs")
    };
    for expression in ["outbound", "ifindex 7"] {
        let theirs = live(expression);
        let ours = filter(
            &scene.right,
            &["--emit", "classic", "--at", "socket", expression],
        );
        assert_eq!(text(&ours), text(&theirs), "{expression}");
    }
    let arguments = ["--emit", "classic", "--at", "socket", "vlan 10"];
    let [ours, theirs] = [filter(&scene.right, &arguments), live("vlan 10")];
    for load in ["[vlanp]", "[vlan_tci]"] {
        assert!(text(&ours).contains(load) && text(&theirs).contains(load));
    }
}

#[test]
fn the_numbers_are_what_bpf_files_take() {
    let scene = Scene::new();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/captures");
    let capture = support::text(&corpus.join("ISAKMP_sa_setup.pcap"));
    for expression in [
        "udp port isakmp",
        "udp",
        "not ip",
        "greater 300",
        "udp[8] & 1 = 0",
    ] {
        let program = scene.file("program");
        let output = filter(&scene.right, &["--emit", "classic-decimal", expression]);
        fs::write(&program, text(&output)).expect("a file");
        let mut read = scene.right.command(PROGRAM);
        read.args(["read", &capture, "--bpf", &program, "--quiet"]);
        let printed = read.output().expect("the program runs");
        let theirs = tool("tcpdump", ["-nr", &capture, "--count", expression]);
        let count = text(&printed).lines().count().to_string();
        assert_eq!(theirs.split(' ').next(), Some(&*count), "{expression}");
    }
}

#[test]
fn names_and_numbers_mean_the_same() {
    let host = Host::new("alone");
    let program = |words: &[&str]| {
        let output = filter(&host, &[&["--emit", "classic-decimal"], words].concat());
        text(&output).to_owned()
    };
    assert_eq!(
        program(&["tcp", "port", "http"]),
        program(&["tcp", "port", "80"])
    );
    let numbers = program(&["--link-type", "1", "ip"]);
    assert_eq!(numbers, program(&["-y", "ethernet", "ip"]));
    assert_eq!(numbers, program(&["-y", "en10mb", "ip"]));
    assert_eq!(program(&["port domain"]), program(&["port", "53"]));
    assert_eq!(program(&["ip proto ospf"]), program(&["ip", "proto", "89"]));
    let localhost = program(&["host localhost"]);
    let addresses = [
        "host 127.0.0.1",
        "host ::1",
        "host 127.0.0.1 or ::1",
        "host ::1 or 127.0.0.1",
    ];
    assert!(
        addresses
            .iter()
            .any(|numbers| program(&[numbers]) == localhost)
    );
}

#[test]
fn without_a_form_it_tells_what_becomes_of_the_filter() {
    let host = Host::new("alone");
    let output = filter(&host, &["tcp", "port", "80"]);
    let program = filter(&host, &["--emit", "classic", "tcp port 80"]);
    let count = text(&program).lines().count();
    assert!(
        text(&output).contains(&format!("{count} instructions")),
        "{output:?}"
    );
    assert!(text(&output).ends_with(text(&program)), "{output:?}");
    let tree = filter(&host, &["--emit", "tree", "tcp port 80"]);
    assert!(text(&output).starts_with(text(&tree)), "{output:?}");
    let output = filter(&host, &["--json", "tcp", "port", "80"]);
    let summary: Value = serde_json::from_str(text(&output)).expect("one line of JSON");
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["filter"], "tcp port 80");
    assert_eq!(
        (&summary["link_type"], &summary["at"]),
        (&"EN10MB".into(), &"file".into())
    );
    let lines: Vec<&str> = text(&program).lines().collect();
    assert_eq!(summary["classic"], serde_json::json!(lines));
}

#[test]
fn a_list_that_is_too_long_is_said_to_be_split() {
    let host = Host::new("alone");
    let hosts: Vec<String> = (0..2000)
        .map(|n: u32| format!("10.{}.{}.1", n / 250, n % 250))
        .collect();
    let list = format!("host {}", hosts.join(" or "));
    let output = filter(&host, &[&list]);
    assert!(
        text(&output).contains("more than the kernel allows"),
        "{output:?}"
    );
    assert!(
        text(&output).contains("(000)"),
        "the coarse program: {output:?}"
    );
    assert!(text(&output).contains("more lines"), "of the tree");
    assert!(text(&output).lines().count() < 100);
    let output = filter(&host, &["--emit", "classic", &list]);
    assert!(complaint(&output, 4).contains("more than the kernel allows"));
}

#[test]
fn every_form_is_the_librarys() {
    let host = Host::new("alone");
    let text_of = |place: &str, emit: &str| {
        let output = filter(
            &host,
            &["--at", place, "--emit", emit, "vlan 10 and tcp port 80"],
        );
        text(&output).to_owned()
    };
    let places = [
        ("file", FilterTarget::File),
        ("socket", FilterTarget::Socket),
        ("xdp", FilterTarget::Xdp),
        ("tc", FilterTarget::TcIngress),
        ("tc-egress", FilterTarget::TcEgress),
    ];
    for (place, at) in places {
        let mut options = FilterOptions::new(LinkType::Ethernet);
        options.target = at;
        let whole =
            CompiledFilter::new("vlan 10 and tcp port 80", &options, &NoNames).expect("a filter");
        assert_eq!(text_of(place, "tree"), whole.tree().to_string());
        assert_eq!(text_of(place, "graph"), whole.graph().to_string());
        assert_eq!(text_of(place, "dot"), whole.dot().to_string());
        if matches!(at, FilterTarget::File | FilterTarget::Socket) {
            let native = whole.native_listing().expect("native code");
            // Addresses are those of each process.
            let lines = text_of(place, "native").lines().count();
            assert_eq!(lines, native.lines().count());
        } else {
            let fragment = whole.ebpf().expect("eBPF");
            let program = fragment.program(fragment.snaplen_verdicts());
            assert_eq!(text_of(place, "ebpf"), EbpfListing(&program).to_string());
        }
        let overview = filter(&host, &["--at", place, "vlan 10 and tcp port 80"]);
        assert!(text(&overview).starts_with(&whole.tree().to_string()));
    }
}

#[test]
fn what_a_reader_may_not_expect_is_warned_of() {
    let host = Host::new("alone");
    let output = filter(&host, &["--json", "ip6 or vlan 10 or ip"]);
    let summary: Value = serde_json::from_str(text(&output)).expect("JSON");
    let said = std::str::from_utf8(&output.stderr).expect("text");
    let warning = summary["warnings"][0].as_str().expect("a warning");
    assert_eq!(
        said,
        format!("warning: {warning}\n  ip6 or vlan 10 or ip\n         ^^^^^^^\n")
    );
    assert!(warning.starts_with("column 8: "), "{warning}");
    let output = filter(&host, &["--json", "vlan 10 and ip"]);
    let summary: Value = serde_json::from_str(text(&output)).expect("JSON");
    assert_eq!(
        (
            summary["warnings"].as_array().map(Vec::len),
            output.stderr.len()
        ),
        (Some(0), 0)
    );
}

#[test]
fn what_is_no_filter_is_refused_with_its_place() {
    let host = Host::new("alone");
    for (arguments, said) in [
        (
            &["udp", "prot", "53"][..],
            "filter is invalid: column 5: expected \"and\", \"or\" or the end, found \"prot\" (did you mean \
             \"port\"?)\n  udp prot 53\n      ^^^^\n",
        ),
        (
            &["port", "no-such-service"],
            "unknown port 'no-such-service'\n  port no-such-service\n",
        ),
        (
            &["host", "no.such.host.invalid"],
            "unknown host 'no.such.host.invalid'",
        ),
        (
            &["inbound"],
            "filter is invalid: column 1: not a live capture",
        ),
        (&["ip broadcast"], "netmask not known"),
        (&["udp and\u{1b}[2J"], "udp and [2J\n"),
        (
            &["-y", "RAW", "ether host 1:2:3:4:5:6"],
            "not supported on DLT_RAW",
        ),
    ] {
        let output = filter(&host, arguments);
        let complaint = complaint(&output, 2);
        assert!(complaint.contains(said), "{arguments:?}: {complaint}");
        assert!(!complaint.contains('\u{1b}'));
    }
}

#[test]
fn wrong_usage_and_what_does_not_go_is_one_line() {
    let host = Host::new("alone");
    for (arguments, code, said) in [
        (&[][..], 2, "<FILTER>"),
        (&["-y", "TOKENRING", "ip"], 2, "known are NULL, EN10MB, "),
        (&["-y", "70000", "ip"], 2, "known are NULL"),
        (
            &["--at", "moon", "ip"],
            2,
            "possible values: file, socket, xdp, tc, tc-egress",
        ),
        (&["--emit", "prose", "ip"], 2, "classic-decimal"),
        (&["--netmask", "24", "ip"], 2, "--netmask"),
        (&["--number", "1", "ip"], 2, "--packet"),
        (
            &["--at", "xdp", "--emit", "classic", "ip"],
            4,
            "classic BPF does not run at xdp",
        ),
    ] {
        let output = filter(&host, arguments);
        let complaint = complaint(&output, code);
        assert!(complaint.contains(said), "{arguments:?}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
    }
}
