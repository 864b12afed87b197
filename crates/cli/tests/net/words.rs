//! Commands are abbreviated, rejected and collected in batches as with iproute2.

use crate::support::stack::{done, json_of, objects, refused, tapline, theirs, trimmed};
use lab::{Host, wait};
use serde_json::Value;

fn host() -> Host {
    let host = Host::new("host");
    done(&host, "link add va type veth peer name vb");
    done(&host, "link set va up");
    done(&host, "link set vb up");
    done(&host, "addr add 10.0.0.1/24 dev va");
    done(&host, "neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va");
    host
}

/// The links that rtmon(8) records at its start are printed as by ip(8).
#[test]
fn recorded_messages_are_printed() {
    let host = host();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("links");
    let mut rtmon = host.command("rtmon");
    let mut running = rtmon
        .arg("file")
        .arg(&path)
        .arg("link")
        .spawn()
        .expect("it runs");
    // Each message is written as a whole.
    let has_all = || {
        let recorded = std::fs::read(&path).unwrap_or_default();
        ["lo", "va", "vb"].iter().all(|name| {
            let name = [name.as_bytes(), b"\0"].concat();
            recorded.windows(3).any(|bytes| bytes == name)
        })
    };
    wait::until("the links are recorded", has_all);
    running.kill().expect("it runs");
    running.wait().expect("it ends");
    let line = format!("-d monitor file {}", path.display());
    let shown = theirs(&host, "ip", &line);
    let is_first = |line: &&str| line.starts_with(|letter: char| letter.is_ascii_digit());
    let names = shown.lines().filter(is_first);
    let names: Vec<_> = names
        .filter_map(|line| line.split([':', '@']).nth(1))
        .map(|name| name.trim().to_owned())
        .collect();
    let ours = done(&host, &format!("monitor --json file {}", path.display()));
    let events = ours
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let ours: Vec<_> = events
        .filter_map(|event: Value| event["link"]["ifname"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(ours, names);
    assert!(done(&host, &line).contains("numtxqueues"), "details");
    // The file is read no further than the count of lines requires.
    let complete = std::fs::read(&path).expect("recorded");
    std::fs::write(&path, [&complete[..], &[1]].concat()).expect("written");
    let first = done(
        &host,
        &format!("monitor --json -c 1 file {}", path.display()),
    );
    assert_eq!(first.lines().count(), 2, "{first}");
    let vrf = format!("monitor vrf file {}", path.display());
    assert_eq!(tapline(&host, &vrf).status.code(), Some(2));
}

/// What shows all in ip(8) shows all here.
#[test]
fn commands_are_shortened_as_in_ip() {
    let host = host();
    for (noun, ours) in [("a", "a"), ("r", "route"), ("ru", "ru"), ("n", "nei")] {
        for verb in ["s", "sh", "show", "l", "ls", "lst", "li", "list"] {
            let shown = theirs(&host, "ip", &format!("-4 {noun} {verb}"));
            let line = format!("-4 {ours} {verb}");
            assert_eq!(trimmed(&done(&host, &line)), trimmed(&shown), "{line}");
        }
    }
    let shown = trimmed(&theirs(&host, "ip", "link"));
    // In ip(8) the first of these is set, which lacks a word then.
    for line in ["link s", "link sh", "li l", "lin ls", "link lst"] {
        assert_eq!(trimmed(&done(&host, line)), shown, "{line}");
    }
    done(&host, "link s vb mtu 1400");
    done(&host, "a a 10.1.0.1/24 dev vb");
    done(&host, "ro a 192.0.2.0/24 via 10.0.0.3");
    done(&host, "ro r 192.0.2.0/24 via 10.0.0.4");
    done(&host, "ru a from 10.1.0.0/16 lookup 7 pref 7");
    done(&host, "nei c 10.0.0.9 lladdr 02:00:00:00:00:0a dev va");
    done(&host, "nex a id 5 dev va");
    assert_eq!(json_of(&host, "ip", "link show vb")[0]["mtu"], 1400);
    assert_eq!(
        json_of(&host, "ip", "route show 192.0.2.0/24")[0]["gateway"],
        "10.0.0.4"
    );
    assert_eq!(json_of(&host, "ip", "rule show pref 7")[0]["table"], "7");
    assert_eq!(
        json_of(&host, "ip", "neigh")[0]["lladdr"],
        "02:00:00:00:00:0a"
    );
    for line in [
        "a d 10.1.0.1/24 dev vb",
        "ro d 192.0.2.0/24",
        "ru d pref 7",
        "nex d id 5",
    ] {
        done(&host, line);
        refused(&host, line);
    }
    // They begin more than one command.
    for word in ["l", "r", "n"] {
        assert_eq!(refused(&host, word).1, 2, "{word}");
    }
}

#[test]
fn flags_stand_before_a_command_too() {
    let host = host();
    for line in [
        "--json link",
        "-j link",
        "-json link",
        "link -j",
        "-j -4 link",
    ] {
        assert_eq!(objects(&done(&host, line)).len(), 3, "{line}");
    }
    assert_eq!(done(&host, "-6 route"), done(&host, "-family inet6 route"));
    let (text, status) = refused(&host, "-n nowhere link");
    assert!(
        text.contains("network namespace /run/netns/nowhere: No such file"),
        "{text}"
    );
    assert_eq!(status, 1);
    // They are flags of commands that configure alone.
    assert_eq!(refused(&host, "-n x capture").1, 2);
}

#[test]
fn a_link_that_is_not_there_is_no_wrong_usage() {
    let host = host();
    for line in [
        "route add 10.9.0.0/24 dev nosuch",
        "route add 10.9.0.0/24 nexthop via 10.0.0.3 dev nosuch",
        "route show dev nosuch",
        "route get 10.0.0.9 oif nosuch",
        "link set va master nosuch",
        "link set nosuch up",
        "link show nosuch",
        "link add x link nosuch type macvlan",
        "addr add 10.9.0.1/24 dev nosuch",
        "addr show nosuch",
        "addr flush dev nosuch",
        "neigh add 10.0.0.5 lladdr 02:00:00:00:00:05 dev nosuch",
        "nexthop add id 5 dev nosuch",
        "fdb add 02:00:00:00:00:05 dev nosuch",
    ] {
        let (text, status) = refused(&host, line);
        assert!(text.contains("there is no link nosuch"), "{line}: {text}");
        assert_eq!((text.lines().count(), status), (1, 1), "{line}: {text}");
    }
    for line in [
        "route add 10.9.0.0/24 dev",
        "addr show va frob",
        "link set va vrf vb",
    ] {
        assert_eq!(refused(&host, line).1, 2, "{line}");
    }
}

#[test]
fn refusals_name_the_link_and_the_rule() {
    let host = host();
    done(&host, "rule add from 10.2.0.0/16 lookup 7 priority 7");
    for (line, words) in [
        (
            "addr add 10.0.0.1/24 dev va",
            "cannot add address 10.0.0.1 of link va",
        ),
        (
            "neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va",
            "cannot add neighbour 10.0.0.9 on link va: File exists",
        ),
        (
            "fdb del 02:00:00:00:00:05 dev va self",
            "cannot remove forwarding entry 02:00:00:00:00:05 on link va",
        ),
        ("link set va mtu 9", "cannot set link va"),
        ("link property del va altname x", "cannot set link va"),
        (
            "rule del from 10.1.0.0/16 lookup 9",
            "cannot remove rule from 10.1.0.0/16 lookup 9: No such file or directory",
        ),
        (
            "rule add from 10.2.0.0/16 lookup 7 priority 7",
            "cannot add rule 7: File exists",
        ),
    ] {
        let (text, _) = refused(&host, line);
        assert!(text.contains(words), "{line}: {text}");
    }
    let lines = "neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va\n";
    let (text, status) = batch(&host, "", lines);
    let words = "tapline: line 1: cannot add neighbour 10.0.0.9 on link va: File exists";
    assert_eq!((text.lines().next(), status), (Some(words), 1));
}

/// What `tapline batch` says on standard error of these commands, and its exit status.
fn batch(host: &Host, arguments: &str, commands: &str) -> (String, i32) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("commands");
    std::fs::write(&file, commands).expect("written");
    let output = tapline(host, &format!("batch {arguments} {}", file.display()));
    let text = String::from_utf8(output.stderr).expect("text");
    (text, output.status.code().expect("it ends by itself"))
}

/// The same lines by `ip -batch` and here leave the same.
#[test]
fn the_lines_of_a_batch_are_those_of_ip() {
    let lines = "# a comment\n\
        link add f5 type ifb\n\
        link set f5 \\\n  alias \"two words\" # and why\n\
        l s f5 up\n\
        a a 10.77.0.1/24 dev f5\n\
        addr add 10.77.0.2/24 dev f5\n\
        \n\
        a f dev f5 to 10.77.0.2\n\
        r a blackhole 203.0.113.0/24\n\
        ro add 'blackhole' 198.51.100.0/24 metric 7\n\
        ru a from 10.1.0.0/16 lookup 9 pref 77\n\
        n a 10.77.0.5 lladdr 02:00:00:00:00:09 dev f5\n";
    let state = |host: &Host| {
        let questions = [
            "link show f5",
            "addr show f5",
            "route",
            "rule",
            "neigh show dev f5",
        ];
        let shown = questions.map(|line| {
            let mut shown = Value::from(json_of(host, "ip", &format!("-4 {line}")));
            // Chance chooses it.
            if let Some(link) = shown[0].as_object_mut() {
                link.remove("address");
            }
            shown
        });
        assert_ne!(shown[0][0]["ifalias"], Value::Null);
        shown
    };
    let (ours, other) = (host(), host());
    assert_eq!(batch(&ours, "", lines), (String::new(), 0));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("commands");
    std::fs::write(&file, lines).expect("written");
    theirs(&other, "ip", &format!("-batch {}", file.display()));
    assert_eq!(state(&ours), state(&other));
    assert_eq!(
        json_of(&ours, "ip", "link show f5")[0]["ifalias"],
        "two words"
    );
}

#[test]
fn a_line_says_its_family() {
    let host = host();
    let lines = "-6 route add blackhole default metric 9\nroute add blackhole default\n";
    assert_eq!(batch(&host, "", lines).1, 0);
    assert_eq!(
        json_of(&host, "ip", "-6 route show default")[0]["metric"],
        9
    );
    assert_eq!(json_of(&host, "ip", "-4 route show default").len(), 1);
    assert_eq!(batch(&host, "-6", "route del blackhole default\n").1, 0);
    assert!(json_of(&host, "ip", "-6 route show default").is_empty());
    let (text, status) = batch(&host, "", "link add f6 type ifb\nlink set \"f6 up\n");
    assert!(text.contains("line 2: a quote does not end"), "{text}");
    assert_eq!(status, 2);
}
