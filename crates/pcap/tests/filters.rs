//! Filters: what this library compiles runs in the kernel and in libpcap's interpreter, with the verdicts of libpcap's programs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use lab::Net;
use lab::generator::udp_frame;

use crate::support::{BOTH, Library, begin, built, captures, compile, end, libpcap};

/// Filters of the corpus that match other packets than libpcap's programs; `crates/filter/DIFFERENCES.md` says why. On BSD
/// loopback, `ip6` is each BSD's family here, and this machine's in libpcap.
const DIFFERENT: [(i32, &str); 4] = [
    (0, "link proto \\ip6"),
    (0, "ip6"),
    (1, "vlan or llc or "),
    (105, "not geneve"),
];

/// `DLT_RAW` is the only one here whose number in files is another.
fn dlt(number: u32) -> i32 {
    match number {
        101 => 12,
        number => number.cast_signed(),
    }
}

fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compile("filters", &["-ldl"]))
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

#[test]
fn programs_of_the_corpus_are_accepted_by_the_kernel_and_give_libpcaps_verdicts() {
    let filters: Vec<_> = lab::oracle::expressions()
        .into_iter()
        .map(|(link, text)| (dlt(link.number()), text.replace(['\n', '\r'], " ")))
        .collect();
    assert!(filters.len() > 700, "{} filters", filters.len());
    let [theirs, ours] = BOTH.map(|library| compiled(library, &filters));
    assert_eq!([theirs.len(), ours.len()], [filters.len(); 2]);
    let (mut compared, mut matched) = (0, 0);
    let mut unexpected = Vec::new();
    for ((filter, theirs), ours) in filters.iter().zip(&theirs).zip(&ours) {
        let words: Vec<_> = ours.split(' ').collect();
        match (theirs.starts_with("accepted"), words[0]) {
            // "accepted 0": not by the kernel.
            (_, "accepted") if words[1] != "1" => unexpected.push((filter, theirs, ours)),
            // libpcap knows fewer words, and says when no packet can match.
            (false, _) => {}
            (true, "accepted") => {
                compared += 1;
                matched += u32::from(words[2] != "0");
                let verdicts = |line: &str| line.splitn(3, ' ').nth(2).map(str::to_owned);
                let (dlt, text) = filter;
                let is_known = DIFFERENT
                    .iter()
                    .any(|(number, start)| number == dlt && text.starts_with(start));
                if verdicts(theirs) != verdicts(ours) && !is_known {
                    unexpected.push((filter, theirs, ours));
                }
            }
            _ => unexpected.push((filter, theirs, ours)),
        }
    }
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    assert!(compared > 600 && matched > 200, "{compared}, {matched}");
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
    // "accepted 0": not by the kernel.
    let verdicts = long[0].strip_prefix("accepted 0 ").expect(&long[0]);
    assert_eq!(short[0].strip_prefix("accepted 1 "), Some(verdicts));
    assert!(!verdicts.starts_with("0 "), "some match");
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
