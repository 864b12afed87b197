//! Filters: the programs of this library run in the kernel and in libpcap's interpreter, with the same verdicts as
//! libpcap's programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use lab::Net;
use lab::generator::udp_frame;

use crate::support::{BOTH, Library, begin, built, captures, compile, end, libpcap, succeed};

/// Filters that match other packets than libpcap's programs: link-layer header types, a part of the text, and why.
/// `crates/filter/DIFFERENCES.md` has the details. All but the first are mistakes of libpcap 1.10 that 1.11 does not make.
const DIFFERENT: [(&[i32], &str, &str); 7] = [
    (&[105], "not geneve", "one word of memory has two uses"),
    (
        &[123, 140],
        " != ",
        "a negated comparison of a field is always false",
    ),
    (&[8], "outbound", "any byte but 0 is outbound"),
    (
        &[281, 284],
        "bound",
        "the direction in the switch's tag is not known",
    ),
    (
        &[7, 129],
        "link proto \\",
        "the numbers of RFC 1051, which has another header",
    ),
    (&[7, 129], "$", "the sign is taken for a digit"),
    (&[104], "lsp", "the type is a byte further"),
];

/// The beginning of the filter that gives truncated packets another verdict: its program reads bytes in another order than libpcap's,
/// so one of them rejects a packet that has not all of the bytes before the other has a verdict.
const ON_TRUNCATED: &str = "vlan or llc or (dst host 10.1.2.1 or ";

/// The number that programs use.
pub fn dlt(number: u16) -> i32 {
    match number {
        100 => 11,
        101 => 12,
        102 => 15,
        103 => 16,
        106 => 19,
        number => number.into(),
    }
}

fn program() -> PathBuf {
    compile("filters", &["-ldl"])
}

/// What the program says about each filter.
fn compiled(library: Library, filters: &[(i32, String)]) -> Vec<String> {
    let mut command = Command::new(program());
    command.arg(libpcap());
    command.args(captures("captures"));
    command.args(captures("filters/captures"));
    library.load(&mut command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut lines = String::new();
    for (dlt, text) in filters {
        writeln!(lines, "{dlt} 262144 1 {text}").expect("memory");
    }
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("its output");
    writer.join().expect("a thread").expect("it reads");
    assert!(output.status.success(), "{library:?}: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

/// What the program says about one filter.
enum Compiled<'a> {
    /// The library refused the filter.
    Refused,
    /// libpcap's interpreter does not accept the program.
    Invalid,
    Accepted(Accepted<'a>),
}

/// A program that libpcap's interpreter has run.
struct Accepted<'a> {
    in_kernel: bool,
    matches: u32,
    /// Hashes of the verdicts on packets, and on packets with zeros behind them.
    verdicts: [&'a str; 2],
}

impl<'a> Compiled<'a> {
    #[track_caller]
    fn of(line: &'a str) -> Self {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["accepted", "by", "no", "interpreter"] => Self::Invalid,
            ["accepted", kernel, matches, whole, padded] => Self::Accepted(Accepted {
                in_kernel: kernel == "1",
                matches: matches.parse().expect("a number"),
                verdicts: [whole, padded],
            }),
            ["refused", ..] => Self::Refused,
            _ => panic!("{line}"),
        }
    }

    #[track_caller]
    fn accepted(line: &'a str) -> Accepted<'a> {
        match Self::of(line) {
            Self::Accepted(accepted) => accepted,
            _ => panic!("{line}"),
        }
    }
}

#[test]
fn programs_of_the_corpus_are_accepted_by_the_kernel_and_give_libpcaps_verdicts() {
    let filters: Vec<_> = lab::oracle::expressions()
        .into_iter()
        .map(|(link, text)| (dlt(link.number()), text.replace(['\n', '\r'], " ")))
        .collect();
    assert!(filters.len() > 1400, "{} filters", filters.len());
    let [theirs, ours] = BOTH.map(|library| compiled(library, &filters));
    assert_eq!([theirs.len(), ours.len()], [filters.len(); 2]);
    let (mut compared, mut matched) = (0, 0);
    let mut on_truncated = Vec::new();
    let mut unexpected = Vec::new();
    let mut seen = [false; DIFFERENT.len()];
    for ((filter, theirs), ours) in filters.iter().zip(&theirs).zip(&ours) {
        let found = (filter, theirs, ours);
        let (theirs, ours) = match (Compiled::of(theirs), Compiled::of(ours)) {
            (Compiled::Accepted(theirs), Compiled::Accepted(ours)) => (theirs, ours),
            // libpcap knows fewer words, and says when no packet can match.
            (Compiled::Refused, Compiled::Accepted(ours)) if ours.in_kernel => continue,
            (Compiled::Refused, Compiled::Refused) => continue,
            _ => {
                unexpected.push(found);
                continue;
            }
        };
        let (dlt, text) = filter;
        let is_of =
            |(dlts, part, _): &(&[i32], &str, &str)| dlts.contains(dlt) && text.contains(part);
        let row = DIFFERENT.iter().position(is_of);
        compared += 1;
        matched += u32::from(ours.matches > 0);
        match row {
            _ if !ours.in_kernel => unexpected.push(found),
            Some(row) => seen[row] |= theirs.verdicts != ours.verdicts,
            None if theirs.verdicts[1] != ours.verdicts[1] => unexpected.push(found),
            None if theirs.verdicts[0] != ours.verdicts[0] => on_truncated.push(found),
            None => {}
        }
    }
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    let is_known = |((dlt, text), ..): &(&(i32, String), _, _)| {
        *dlt == 1 && text.starts_with(ON_TRUNCATED) && text.ends_with(") or not port 1052")
    };
    assert!(
        matches!(&on_truncated[..], [found] if is_known(found)),
        "{on_truncated:#?}"
    );
    assert!(compared > 1200 && matched > 300, "{compared}, {matched}");
    let unseen = DIFFERENT.iter().zip(seen).filter(|(_, seen)| !seen);
    let unseen: Vec<_> = unseen.map(|(row, _)| row).collect();
    assert!(unseen.is_empty(), "no packet shows it: {unseen:#?}");
}

/// Filters for packets of any link type: words that depend on it, and words that do not.
const WORDS: [&str; 44] = [
    "len > 60",
    "less 80",
    "greater 300",
    "link[3] = 7",
    "link[2:2] & 0xf0 != 0",
    "ether[0] = 255",
    "byte 1 > 9",
    "ip",
    "ip6",
    "arp",
    "host 10.0.0.1",
    "net 192.168.0.0/16",
    "ip6 host fe80::1",
    "tcp port 80",
    "udp",
    "icmp",
    "ip proto 47",
    "ip6 proto 58",
    "tcp[13] & 2 != 0",
    "ip[8] < 65",
    "link proto 0x0806",
    "link proto 0xfe",
    "iso",
    "clnp",
    "isis",
    "stp",
    "ipx",
    "netbeui",
    "decnet host 10.15",
    "atalk",
    "ether host 01:02:03:04:05:06",
    "link host $12",
    "broadcast",
    "multicast",
    "ether dst ff:ff:ff:ff:ff:ff",
    "vlan 5",
    "mpls",
    "pppoes and ip",
    "llc",
    "inbound",
    "outbound",
    "vpi 5 and oam",
    "fisu or sio 3",
    "ifname em0 or action drop",
];

/// MS/TP: its frames have no network header.
const MS_TP: i32 = 165;

/// The types of Juniper whose headers have no fixed length.
const JUNIPER_VARIABLE: [i32; 9] = [132, 136, 183, 194, 200, 232, 233, 234, 238];

/// The types of Juniper behind whose headers nothing says where ISO's network header is.
const JUNIPER_FIXED: [i32; 9] = [130, 131, 133, 134, 164, 168, 179, 180, 181];

/// The words of [`WORDS`] that libpcap 1.10 compiles for a type whose network header has no place: they read at offsets that were
/// never set. This library refuses them.
fn without_place(dlt: i32) -> BTreeSet<&'static str> {
    let protocols = [
        "ip",
        "ip6",
        "arp",
        "atalk",
        "ipx",
        "iso",
        "netbeui",
        "stp",
        "link proto 0x0806",
        "link proto 0xfe",
    ];
    let network = [
        "host 10.0.0.1",
        "net 192.168.0.0/16",
        "ip6 host fe80::1",
        "tcp port 80",
        "udp",
        "icmp",
        "ip proto 47",
        "ip6 proto 58",
        "tcp[13] & 2 != 0",
        "ip[8] < 65",
        "decnet host 10.15",
        "pppoes and ip",
    ];
    let iso = ["clnp", "isis"];
    let mut words = BTreeSet::new();
    if dlt == MS_TP {
        words.extend(protocols);
    }
    if dlt == MS_TP || JUNIPER_VARIABLE.contains(&dlt) {
        words.extend(network);
    }
    if !words.is_empty() || JUNIPER_FIXED.contains(&dlt) {
        words.extend(iso);
    }
    words
}

/// Whether the text tests what libpcap 1.10 gets wrong on the link type; see [`DIFFERENT`].
fn is_mistaken(dlt: i32, text: &str) -> bool {
    match dlt {
        7 | 129 => ["ip", "ip[8] < 65", "arp", "link proto 0x0806"].contains(&text),
        8 | 281 | 284 => text.ends_with("bound"),
        _ => false,
    }
}

#[test]
fn each_link_type_has_the_words_that_libpcap_has_on_it() {
    let filters: Vec<_> = (0..=289)
        .flat_map(|dlt| WORDS.map(|text| (dlt, text.to_owned())))
        .collect();
    let [theirs, ours] = BOTH.map(|library| compiled(library, &filters));
    let mut unexpected = Vec::new();
    let mut refused: BTreeMap<i32, BTreeSet<&str>> = BTreeMap::new();
    let mut compared = 0;
    for ((filter, theirs), ours) in filters.iter().zip(&theirs).zip(&ours) {
        let found = (filter, theirs, ours);
        let (dlt, text) = filter;
        match (Compiled::of(theirs), Compiled::of(ours)) {
            (Compiled::Refused, Compiled::Refused) => {}
            (Compiled::Refused, Compiled::Accepted(ours)) if ours.in_kernel => {}
            (Compiled::Accepted(_), Compiled::Refused) => {
                refused.entry(*dlt).or_default().insert(text);
            }
            (Compiled::Accepted(theirs), Compiled::Accepted(ours)) if ours.in_kernel => {
                compared += 1;
                let is_same = theirs.verdicts[1] == ours.verdicts[1];
                if !is_same && !is_mistaken(*dlt, text) {
                    unexpected.push(found);
                }
            }
            _ => unexpected.push(found),
        }
    }
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    assert!(compared > 2900, "{compared}");
    for dlt in 0..=289 {
        let refused = refused.remove(&dlt).unwrap_or_default();
        assert_eq!(refused, without_place(dlt), "{dlt}");
    }
}

/// The addresses of 192.168.0.0/18 with an odd number, one by one, and that of the lab's frames: more instructions than the
/// kernel allows. libpcap takes minutes to compile it.
fn long_list() -> String {
    let hosts = (1..1_u32 << 14).step_by(2).map(|number| {
        let [_, _, high, low] = number.to_be_bytes();
        format!("src host 192.168.{high}.{low}")
    });
    let own = "src host 198.18.0.1".to_owned();
    hosts.chain([own]).collect::<Vec<_>>().join(" or ")
}

/// The same, as arithmetic.
const SHORT: &str = "(ip and src net 192.168.0.0/18 and ip[15] & 1 = 1) or \
                     ((arp or rarp) and src net 192.168.0.0/18 and arp[17] & 1 = 1) or src host 198.18.0.1";

#[test]
fn a_filter_that_is_too_long_for_the_kernel_gives_the_same_verdicts() {
    let long = compiled(Library::Tapline, &[(1, long_list())]);
    let short = compiled(Library::Libpcap, &[(1, SHORT.to_owned())]);
    let (long, short) = (Compiled::accepted(&long[0]), Compiled::accepted(&short[0]));
    assert_eq!([long.in_kernel, short.in_kernel], [false, true]);
    assert_eq!(long.verdicts, short.verdicts);
    assert!(long.matches > 0);
}

#[test]
fn a_filter_that_is_too_long_for_the_kernel_selects_packets_live() {
    let file = built().join(format!("hosts-{}", std::process::id()));
    std::fs::write(&file, long_list()).expect("a file");
    let file = file.to_str().expect("a path of text");
    for is_any in [false, true] {
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let interface = if is_any { "any" } else { &*name };
        let arguments = [
            "-i", interface, "-nn", "-t", "-l", "-F", file, "-c", "40", "-Z", "root",
        ];
        let tcpdump = begin(
            &right,
            Library::Tapline,
            "tcpdump",
            &arguments,
            "listening on",
        );
        let mut other = udp_frame(100);
        // Another source address.
        other[26..30].copy_from_slice(&[172, 31, 0, 1]);
        left.send((0..40).flat_map(|number| [other.clone(), udp_frame(60 + number)]));
        let text = end(tcpdump);
        let from = text.matches("IP 198.18.0.1.9 > 198.18.0.2.9: UDP").count();
        assert_eq!((from, text.lines().count()), (40, 40), "{text}");
    }
}

/// The most instructions that a packet takes in the program that `tcpdump -d` prints.
fn longest_path(library: Library, filter: &str) -> usize {
    let mut tcpdump = lab::tool::command("tcpdump");
    let output = succeed(library.load(tcpdump.args(["-y", "EN10MB", "-d", filter])));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut longest = Vec::new();
    // Jumps lead forwards, so the last instruction is the first whose path is known.
    for line in text.lines().rev() {
        let words: Vec<_> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<usize>().expect("a place");
        let place: usize = (words[0].trim_matches(['(', ')']).parse()).expect("a place");
        let last = place + longest.len();
        let behind = |next: usize| longest[last - next];
        let jump = words.iter().position(|&word| word == "jt");
        let rest = match (words[1], jump) {
            ("ret", _) => 0,
            ("ja", _) => behind(number(2)),
            (_, Some(jt)) => behind(number(jt + 1)).max(behind(number(jt + 3))),
            _ => behind(place + 1),
        };
        longest.push(rest + 1);
    }
    longest.last().copied().expect("a program")
}

#[test]
fn a_list_of_hosts_is_searched_in_halves() {
    let hosts = (0..200).map(|number| format!("host 10.{}.{}.1", number * 37 % 256, number));
    let list = hosts.collect::<Vec<_>>().join(" or ");
    let [libpcap, tapline] = BOTH.map(|library| longest_path(library, &list));
    // Source and destination are compared with each.
    assert!(libpcap >= 2 * 200, "{libpcap}");
    assert!(tapline < 100, "{tapline}");
}

#[test]
fn any_and_inner_are_words_of_this_library_alone() {
    for filter in ["any udp", "inner host 10.0.0.1"] {
        let compiles = BOTH.map(|library| {
            let mut tcpdump = lab::tool::command("tcpdump");
            let output = library
                .load(tcpdump.args(["-y", "EN10MB", "-d", filter]))
                .output();
            output.expect("tcpdump runs").status.success()
        });
        assert_eq!(compiles, [false, true], "{filter}");
    }
}
