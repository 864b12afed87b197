//! Error messages for invalid filters, and the cost of hostile text.

use std::fmt::Write as _;
use tapline_filter::classic::Ancillary;
use tapline_filter::{
    Filter, FilterError, FilterErrorReason, FilterOptions, LinkType, MAX_TEXT_BYTES, NoNames,
    compile,
};

fn error(text: &str) -> FilterError {
    compile(text, &FilterOptions::new(LinkType::Ethernet), &NoNames).expect_err(text)
}

#[test]
fn errors_have_the_position() {
    for (text, carets) in [
        ("udp prot 53", "    ^^^^"),
        ("port 80 and", "           ^"),
        ("tcp and port 70000", "             ^^^^^"),
        ("ip[0:3] = 1", "     ^"),
        ("ip host 256.1.1.1 or arp", "        ^^^^^^^^^"),
        ("arp or tcp dst port htttp", "                    ^^^^^"),
        ("net 10.0.0.1/8 and arp", "    ^^^^^^^^^^"),
        ("vlan (5000) and ip", "      ^^^^"),
        ("host (nobody or 10.0.0.1)", "      ^^^^^^"),
        ("tcp host 10.0.0.1", "^^^^^^^^^^^^^^^^^"),
        ("arp or ip[0] / 0 = 1", "       ^^^^^^^^^^^^^"),
        ("ip or 0x100000000 = 1", "      ^^^^^^^^^^^"),
        ("ether host 1:2:3:", "           ^^^^^^"),
        ("ip ; arp", "   ^"),
        ("ip and inbound", "       ^^^^^^^"),
        ("(ip or arp", "          ^"),
        ("ip = \u{e9}", "     ^"),
    ] {
        let error = error(text);
        assert_eq!(error.caret(text), format!("{text}\n{carets}"), "{error}");
    }
}

#[test]
fn carets_stay_on_their_line() {
    let text = "tcp and\n\tprot 53 and\nudp";
    assert_eq!(error(text).caret(text), " prot 53 and\n ^^^^");
}

#[test]
fn similar_words_are_suggested() {
    for (text, word) in [
        ("udp prot 53", Some("port")),
        ("hsot 10.0.0.1", Some("host")),
        ("tcp[tcpflags] = tcp-sym", Some("tcp-syn")),
        ("brodcast", Some("broadcast")),
        ("ip host vlam", Some("vlan")),
        ("hots 10.0.0.1", Some("host")),
        ("prot 53", Some("port")),
        ("tpc port 80", Some("tcp")),
        ("vlna 10 and ip", Some("vlan")),
        ("tcp dst prot 80", Some("port")),
        ("ip and desthost 10.0.0.1", None),
        ("tcp and ip 10.0.0.1", Some("host")),
        ("ether 1:2:3:4:5:6", Some("host")),
        ("ip 80", None),
        ("tcp[tcpflag] = 2", Some("tcpflags")),
        ("xyzzy", None),
        ("10.0.0.1", Some("host")),
        ("tcp and (fd00::1)", Some("host")),
        ("1:2:3:4:5:6", Some("ether host")),
        ("port htp", Some("http")),
        ("port stq", None),
        ("tcp.port == 80", Some("tcp port")),
        ("arp or ip.addr == 10.0.0.1", Some("host")),
        ("dns", Some("port 53")),
        ("tcp and tls", Some("tcp port 443")),
        ("ICMPv6", Some("icmp6")),
    ] {
        assert_eq!(error(text).suggestion, word, "{text}");
    }
}

#[test]
fn an_error_is_one_line_with_its_column() {
    assert_eq!(
        error("udp prot 53").to_string(),
        "column 5: expected \"and\", \"or\" or the end, found \"prot\" (did you mean \"port\"?)"
    );
    assert_eq!(
        error("port 70000").to_string(),
        "column 6: port number 70000 greater than maximum 65535"
    );
}

#[test]
fn hostile_text_is_rejected() {
    // Each has the maximum length: superlinear algorithms would not terminate in time.
    let long = |part: &str| part.repeat(MAX_TEXT_BYTES / part.len());
    for text in [
        long("("),
        long("not "),
        long("- "),
        long("ip["),
        long("1+"),
        format!("{}1 = 1", long("1+").trim_end_matches('+')),
        long("((ip[0]) or "),
        long("a and b or "),
        long("9"),
        long(":"),
        long("1:"),
        long("1."),
        long("\\"),
        long("\u{e9}"),
        long(" "),
        format!("{}x", long("ip or ")),
        "x".repeat(MAX_TEXT_BYTES + 1),
    ] {
        let result = compile(&text, &FilterOptions::new(LinkType::Ethernet), &NoNames);
        if text.trim().is_empty() {
            assert!(result.is_ok(), "nothing but blanks is the empty filter");
        } else {
            let error = result.unwrap_err();
            assert!(error.caret(&text).len() <= 3 * MAX_TEXT_BYTES);
        }
    }
}

#[test]
fn nesting_is_bounded_in_the_tree_too() {
    // Each parenthesis adds one level, and each change between `and` and `or` another.
    let (alternating, depth) = (" or arp and ip".repeat(90), 100);
    let text = format!(
        "{}ip{}",
        "(".repeat(depth),
        format!("{alternating})").repeat(depth)
    );
    assert_eq!(error(&text).reason, FilterErrorReason::TooDeep);
    let text = format!("ip{alternating}");
    assert!(compile(&text, &FilterOptions::new(LinkType::Ethernet), &NoNames).is_ok());
    // The same for arithmetic: 150 levels of 100 left-associative operators.
    let sum = "+len".repeat(100);
    let text = format!(
        "{}len{} = 1",
        "(".repeat(150),
        format!("{sum})").repeat(150)
    );
    assert_eq!(error(&text).reason, FilterErrorReason::TooDeep);
}

#[test]
fn valid_long_filters_compile_in_time() {
    let terms = |form: &dyn Fn(u32) -> String, joint: &str| {
        let mut text = form(0);
        for at in 1.. {
            let next = form(at);
            if text.len() + joint.len() + next.len() > MAX_TEXT_BYTES / 8 {
                break;
            }
            text = text + joint + &next;
        }
        text
    };
    let host = |at: u32| format!("10.{}.{}.{}", at >> 14, at >> 7 & 127, at & 127);
    for text in [
        terms(
            &|at| format!("(host {} and port {})", host(at), at & 0xffff),
            " or ",
        ),
        terms(
            &|at| format!("(host {} or port {})", host(at), at & 0xffff),
            " and ",
        ),
        terms(&|at| format!("ip[{at}] = {}", at & 255), " and "),
        terms(&|at| format!("vlan {}", at & 4095), " or "),
        terms(
            &|at| format!("(vlan {} and host {})", at & 4095, host(at)),
            " or ",
        ),
        terms(&|at| format!("len{} = {at}", "+len".repeat(900)), " or "),
        terms(&|at| format!("ip6 host fe80::{at:x}"), " or "),
        format!(
            "ip and {}",
            terms(&|at| format!("not port {}", at & 0xffff), " and ")
        ),
    ] {
        let filter = Filter::new(&text, &FilterOptions::new(LinkType::Ethernet), &NoNames).unwrap();
        assert_eq!(
            filter.run(&[0; 60], 60, &Ancillary::default()),
            0,
            "{}",
            &text[..60]
        );
        assert!(filter.warnings().len() <= 16);
    }
}

#[test]
fn parentheses_that_start_with_an_address_contain_only_addresses() {
    let options = FilterOptions::new(LinkType::Ethernet);
    for text in [
        "host (10.0.0.1 or tcp)",
        "port (80 or ip[0] = 1)",
        "host (10.0.0.1 and (vlan))",
        "net not tcp",
        "host 10.0.0.1 or (10.0.0.2 and tcp)",
    ] {
        let error = error(text);
        assert!(
            matches!(error.reason, FilterErrorReason::Unexpected { .. }),
            "{text}: {error}"
        );
    }
    for text in [
        "host (10.0.0.1 or not 10.0.0.2) or tcp",
        "port (80 or (81 and 82)) or ip[0] = 1",
        "net not 10.0.0.0/8 and tcp",
        "port (80) and (len > 3 or tcp)",
        "port 80 and ((5) < len or tcp)",
    ] {
        let result = compile(text, &options, &NoNames);
        assert!(result.is_ok(), "{text}: {result:?}");
    }
}

#[test]
fn long_lists_compile_or_report_their_length() {
    let list = |count: u32| {
        let mut text = String::from("ip host 10.0.0.0");
        for host in 1..count {
            let [_, high, low, last] = (host * 7).to_be_bytes();
            write!(text, " or 10.{high}.{low}.{last}").unwrap();
        }
        text
    };
    let options = FilterOptions::new(LinkType::Ethernet);
    let program = compile(&list(1000), &options, &NoNames).unwrap();
    assert!(program.instructions().len() < 2400);
    let error = compile(&list(10_000), &options, &NoNames).unwrap_err();
    assert!(matches!(
        error.reason,
        FilterErrorReason::TooManyInstructions { count: 20_000.. }
    ));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "[ -~\n]{0,80}") {
        let options = FilterOptions::new(LinkType::Ethernet);
        if let Err(error) = compile(&text, &options, &NoNames) {
            let _ = (error.to_string(), error.caret(&text));
        }
    }

    #[test]
    fn no_sequence_of_words_panics(
        words in proptest::collection::vec(0usize..WORDS.len(), 0..12),
        link in 0usize..LINKS.len(),
    ) {
        let text: Vec<&str> = words.iter().map(|&word| WORDS[word]).collect();
        let text = text.join(" ");
        if let Err(error) = compile(&text, &FilterOptions::new(LINKS[link]), &NoNames) {
            let _ = (error.to_string(), error.caret(&text));
        }
    }
}

const LINKS: &[LinkType] = &[
    LinkType::Ethernet,
    LinkType::Raw,
    LinkType::Radiotap,
    LinkType::Null,
    LinkType::LinuxSll2,
    LinkType::Mtp2,
    LinkType::BacnetMsTp,
];

const WORDS: &[&str] = &[
    "ip",
    "ip6",
    "tcp",
    "udp",
    "ether",
    "arp",
    "host",
    "net",
    "port",
    "src",
    "dst",
    "and",
    "or",
    "not",
    "(",
    ")",
    "[",
    "]",
    ":",
    "1",
    "0x800",
    "10.0.0.1",
    "10.0.0.0/8",
    "::1",
    "vlan",
    "mpls",
    "pppoes",
    "geneve",
    "vxlan",
    "len",
    "-",
    "+",
    "*",
    "/",
    "%",
    "&",
    "|",
    "<<",
    ">>",
    "=",
    "<",
    "proto",
    "protochain",
    "multicast",
    "broadcast",
    "1:2:3:4:5:6",
    "$7",
    "wlan",
    "type",
    "mgt",
    "llc",
    "isis",
    "decnet",
    "1.1",
    "opc",
    "mask",
    "255.0",
    "less",
    "byte",
    "inbound",
    "icmp6",
];
