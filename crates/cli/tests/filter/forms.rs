//! `tapline filter`: its programs against tcpdump's and against the library, and what it refuses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lab::Host;
use serde_json::{Value, json};
use tapline::filter::ebpf::EbpfListing;
use tapline::filter::{CompiledFilter, FilterOptions, FilterTarget, LinkType, NoNames};

use crate::support::files::{capture, count_by_tcpdump};
use crate::support::run::{Ended, spawn};
use crate::support::{Scene, assert_has, assert_refused, output, tapline, tool};

/// `tapline filter LINE`, on a host without a network, so that no name server can answer.
fn filter(host: &Host, line: &str) -> Ended {
    spawn(tapline(host, &format!("filter {line}"))).finish()
}

/// What it prints, without an error.
#[track_caller]
fn printed(host: &Host, line: &str) -> String {
    let ended = filter(host, line);
    ended.exit(0);
    ended.stdout.join("\n") + "\n"
}

/// The one event that it prints with `--json`.
#[track_caller]
fn event(ended: &Ended) -> Value {
    ended.exit(0);
    let [event] = &ended.events()[..] else {
        panic!("{ended:?}");
    };
    event.clone()
}

/// The filters of the corpus that libpcap accepts: flags, options, expressions.
fn corpus() -> BTreeMap<String, (FilterOptions, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/filters/accept.json");
    let text = fs::read_to_string(path).expect("the corpus");
    let entries: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let mut all = BTreeMap::new();
    for entry in entries {
        let link = entry["link_type"].as_str().expect("a link type");
        let mut options = FilterOptions::new(LinkType::from_name(link).expect("a known one"));
        let mut flags = format!("--link-type {link}");
        if let Some(snaplen) = entry["snaplen"].as_u64() {
            options.snaplen = u32::try_from(snaplen).expect("a snaplen");
            flags = format!("{flags} -s {snaplen}");
        }
        if let Some(netmask) = entry["netmask"].as_str() {
            options.netmask = Some(netmask.parse().expect("a mask"));
            flags = format!("{flags} --netmask {netmask}");
        }
        if entry["linux_extensions"] == true {
            options.target = FilterTarget::Socket;
            flags += " --at socket";
        }
        let expressions: Vec<String> =
            serde_json::from_value(entry["expressions"].clone()).expect("text");
        all.entry(flags)
            .or_insert((options, Vec::new()))
            .1
            .extend(expressions);
    }
    all
}

/// Of each set of flags, which is all that the program's shell adds, the longest filter without names and the
/// shortest with a name, which this machine may know or not; the library compiles all others here.
#[test]
fn every_filter_of_the_corpus_is_the_librarys() {
    let host = Host::new("alone");
    let (mut same, mut named) = (0, 0);
    for (flags, (options, mut expressions)) in corpus() {
        expressions.sort_by_key(String::len);
        let compile = |expression: &String| {
            let compiled = CompiledFilter::new(expression, &options, &NoNames);
            compiled
                .and_then(|filter| filter.classic())
                .map(|program| program.to_string())
        };
        let (numbers, names): (Vec<_>, Vec<_>) = expressions
            .iter()
            .map(|text| (text, compile(text)))
            .partition(|(_, program)| program.is_ok());
        same += numbers.len();
        named += names.len();
        let line = |expression: &str| format!("{flags} --emit classic-decimal -- '{expression}'");
        if let Some((expression, Ok(program))) = numbers.last() {
            assert_eq!(
                printed(&host, &line(expression)),
                *program,
                "{flags} {expression}"
            );
        }
        if let Some((expression, _)) = names.first() {
            let ended = filter(&host, &line(expression));
            assert!(
                matches!(ended.status.code(), Some(0 | 2)),
                "{expression}: {ended:?}"
            );
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
            let theirs = tool("tcpdump", &format!("-y EN10MB {flag} '{expression}'"));
            let ours = printed(&scene.right, &format!("--emit {emit} '{expression}'"));
            assert_eq!(ours, theirs, "{expression}");
        }
    }
    // What is beside the bytes of a packet has a name.
    let both = |expression: &str| {
        let theirs = output(
            &scene.right,
            "tcpdump",
            &format!("-i right0 -d '{expression}'"),
        );
        [
            printed(
                &scene.right,
                &format!("--emit classic --at socket '{expression}'"),
            ),
            theirs,
        ]
    };
    for expression in ["outbound", "ifindex 7"] {
        let [ours, theirs] = both(expression);
        assert_eq!(ours, theirs, "{expression}");
    }
    for load in ["[vlanp]", "[vlan_tci]"] {
        assert!(
            both("vlan 10").iter().all(|listing| listing.contains(load)),
            "{load}"
        );
    }
}

#[test]
fn the_numbers_are_what_bpf_files_take() {
    let scene = Scene::new();
    let file = capture("ISAKMP_sa_setup.pcap");
    for expression in [
        "udp port isakmp",
        "udp",
        "not ip",
        "greater 300",
        "udp[8] & 1 = 0",
    ] {
        scene.write(
            "program",
            printed(
                &scene.right,
                &format!("--emit classic-decimal '{expression}'"),
            ),
        );
        let read = scene.run(&format!("read {file} --bpf program --quiet"));
        read.exit(0);
        assert_eq!(
            read.stdout.len() as u64,
            count_by_tcpdump(&file, expression),
            "{expression}"
        );
    }
}

#[test]
fn names_and_numbers_mean_the_same() {
    let host = Host::new("alone");
    let program = |line: &str| printed(&host, &format!("--emit classic-decimal {line}"));
    for (one, other) in [
        ("tcp port http", "tcp port 80"),
        ("--link-type 1 ip", "-y ethernet ip"),
        ("--link-type 1 ip", "-y en10mb ip"),
        ("'port domain'", "port 53"),
        ("'ip proto ospf'", "ip proto 89"),
    ] {
        assert_eq!(program(one), program(other), "{one}");
    }
    let localhost = program("host localhost");
    let addresses = ["127.0.0.1", "::1", "127.0.0.1 or ::1", "::1 or 127.0.0.1"];
    let is_it = |address: &&str| program(&format!("host {address}")) == localhost;
    assert!(addresses.iter().any(is_it));
}

#[test]
fn without_a_form_it_tells_what_becomes_of_the_filter() {
    let host = Host::new("alone");
    let overview = printed(&host, "tcp port 80");
    let program = printed(&host, "--emit classic tcp port 80");
    let lines: Vec<&str> = program.lines().collect();
    assert!(
        overview.contains(&format!(
            "\nclassic BPF, link type EN10MB, for capture files: {} instructions\n",
            lines.len()
        )),
        "{overview}"
    );
    assert!(overview.ends_with(&program), "{overview}");
    assert!(
        overview.starts_with(&printed(&host, "--emit tree tcp port 80")),
        "{overview}"
    );
    let summary = event(&filter(&host, "--json tcp port 80"));
    let expected = json!({
        "event": "summary", "filter": "tcp port 80", "link_type": "EN10MB", "at": "file", "classic": lines,
    });
    assert_has(&summary, &expected);
}

#[test]
fn a_long_list_is_reported_as_a_split_filter() {
    let host = Host::new("alone");
    let hosts = (0..2000).map(|n: u32| format!("10.{}.{}.1", n / 250, n % 250));
    let list = format!("host {}", hosts.collect::<Vec<_>>().join(" or "));
    let overview = printed(&host, &list);
    // The coarse program, and what there is more of the tree.
    for part in ["more than the kernel allows", "(000)", "more lines"] {
        assert!(overview.contains(part), "{part}: {overview}");
    }
    assert!(overview.lines().count() < 100);
    let classic = format!("--emit classic '{list}'");
    assert_refused(
        |line| filter(&host, line),
        &[(&classic, 4, "more than the kernel allows")],
    );
}

#[test]
fn every_form_is_the_librarys() {
    let host = Host::new("alone");
    let expression = "vlan 10 and tcp port 80";
    for (place, at) in [
        ("file", FilterTarget::File),
        ("socket", FilterTarget::Socket),
        ("xdp", FilterTarget::Xdp),
        ("tc", FilterTarget::TcIngress),
        ("tc-egress", FilterTarget::TcEgress),
    ] {
        let form = |emit: &str| printed(&host, &format!("--at {place} --emit {emit} {expression}"));
        let mut options = FilterOptions::new(LinkType::Ethernet);
        options.target = at;
        let whole = CompiledFilter::new(expression, &options, &NoNames).expect("a filter");
        let tree = whole.tree().to_string();
        assert_eq!(form("tree"), tree);
        assert_eq!(form("graph"), whole.graph().to_string());
        assert_eq!(form("dot"), whole.dot().to_string());
        if matches!(at, FilterTarget::File | FilterTarget::Socket) {
            let native = whole.native_listing().expect("native code");
            // Addresses are those of each process.
            assert_eq!(form("native").lines().count(), native.lines().count());
        } else {
            let fragment = whole.ebpf().expect("eBPF");
            let program = fragment.program(fragment.snaplen_verdicts());
            assert_eq!(form("ebpf"), EbpfListing(&program).to_string());
        }
        assert!(printed(&host, &format!("--at {place} {expression}")).starts_with(&tree));
    }
}

#[test]
fn what_a_reader_may_not_expect_is_warned_of() {
    let host = Host::new("alone");
    let ended = filter(&host, "--json ip6 or vlan 10 or ip");
    let summary = event(&ended);
    let warning = summary["warnings"][0].as_str().expect("a warning");
    assert!(warning.starts_with("column 8: "), "{warning}");
    let below = ["  ip6 or vlan 10 or ip", "         ^^^^^^^"];
    assert_eq!(ended.stderr[0], format!("warning: {warning}"));
    assert_eq!(ended.stderr[1..], below);
    let ended = filter(&host, "--json vlan 10 and ip");
    assert_eq!(
        (&event(&ended)["warnings"], ended.stderr.len()),
        (&json!([]), 0)
    );
}

#[test]
fn an_invalid_filter_is_rejected_with_the_position_of_the_error() {
    let host = Host::new("alone");
    for (line, said) in [
        (
            "udp prot 53",
            "filter is invalid: column 5: expected \"and\", \"or\" or the end, found \"prot\" (did you mean \
             \"port\"?)\n  udp prot 53\n      ^^^^",
        ),
        (
            "port no-such-service",
            "unknown port 'no-such-service'\n  port no-such-service\n",
        ),
        (
            "host no.such.host.invalid",
            "unknown host 'no.such.host.invalid'",
        ),
        ("inbound", "filter is invalid: column 1: not a live capture"),
        ("ip broadcast", "netmask not known"),
        ("udp and\u{1b}[2J", "udp and [2J\n"),
        ("-y RAW ether host 1:2:3:4:5:6", "not supported on DLT_RAW"),
    ] {
        let ended = filter(&host, line);
        assert_eq!(
            (ended.status.code(), ended.stdout.len()),
            (Some(2), 0),
            "{ended:?}"
        );
        let complaint = ended.stderr.join("\n");
        assert!(
            complaint.starts_with("tapline: ") && complaint.contains(said),
            "{line}: {complaint}"
        );
        assert!(!complaint.contains('\u{1b}'));
    }
}

#[test]
fn wrong_usage_and_what_does_not_go_is_one_line() {
    let host = Host::new("alone");
    assert_refused(
        |line| filter(&host, line),
        &[
            ("", 2, "missing argument: FILTER"),
            ("-y TOKENRING ip", 2, "such as EN10MB or RAW"),
            ("-y 70000 ip", 2, "such as EN10MB or RAW"),
            (
                "--at moon ip",
                2,
                "possible values: file, socket, xdp, tc, tc-egress",
            ),
            ("--emit prose ip", 2, "classic-decimal"),
            ("--netmask 24 ip", 2, "--netmask"),
            ("--number 1 ip", 2, "--packet"),
            (
                "--at xdp --emit classic ip",
                4,
                "classic BPF does not run at xdp",
            ),
        ],
    );
}
