//! `tapline link` adds, changes and shows links as ip(8) does. Compared with `ip -json`, key by key.

use std::collections::BTreeSet;

use crate::support::PROGRAM;
use crate::support::stack::{
    assert_refused, batch, done, json_of, objects, refused, theirs, trimmed,
};
use lab::Host;
use serde_json::Value;

fn host_with_links() -> Host {
    let host = Host::new("host");
    done(
        &host,
        "link add br0 type bridge ageing_time 12300 mcast_snooping off up",
    );
    done(
        &host,
        "link add va mtu 1400 type veth peer name vb address 02:00:00:00:00:09",
    );
    done(&host, "link set va master br0 up");
    done(&host, "link set dev vb up alias far-end");
    done(&host, "link add f0 numtxqueues 3 type ifb");
    host
}

#[test]
fn links_are_shown_with_the_keys_and_values_of_ip() {
    let host = host_with_links();
    let look = || json_of(&host, "ip", "-d -s link show");
    let theirs = look();
    let ours = objects(&done(&host, "link show --json -d -s"));
    let later = look();
    assert_eq!((ours.len(), later.len()), (theirs.len(), theirs.len()));
    for ((ours, theirs), later) in ours.iter().zip(&theirs).zip(&later) {
        let (ours, theirs) = (
            ours.as_object().expect("keys"),
            theirs.as_object().expect("keys"),
        );
        // Links come up by and by: what is another for ip(8) the next moment is not compared.
        let stays = |key: &String| *key != "linkinfo" && theirs.get(key) == later.get(key);
        for (key, value) in ours.iter().filter(|(key, _)| stays(key)) {
            assert_eq!(
                Some(value),
                theirs.get(key),
                "{key} of {}",
                theirs["ifname"]
            );
        }
        let keys =
            |shown: &serde_json::Map<String, Value>| shown.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(keys(ours), keys(theirs), "{}", theirs["ifname"]);
        let kind = |shown: &serde_json::Map<String, Value>| {
            shown.get("linkinfo").map(|info| info["info_kind"].clone())
        };
        assert_eq!(kind(ours), kind(theirs));
    }
    let bridge = &ours
        .iter()
        .find(|link| link["ifname"] == "br0")
        .expect("br0")["linkinfo"];
    assert_eq!(bridge["info_data"]["ageing_time"], 12_300);
}

#[test]
fn text_is_that_of_ip() {
    let host = host_with_links();
    let shown = theirs(&host, "ip", "link show");
    let ours = done(&host, "link");
    let later = theirs(&host, "ip", "link show");
    let [shown, ours, later] = [&shown, &ours, &later].map(|text| trimmed(text));
    assert_eq!((ours.len(), later.len()), (shown.len(), shown.len()));
    // Links come up by and by: what is another for ip(8) the next moment is not compared.
    for ((shown, ours), later) in shown.iter().zip(&ours).zip(&later) {
        assert!(ours == shown || shown != later, "{ours} instead of {shown}");
    }
    assert_eq!(
        trimmed(&done(&host, "link show vb")),
        trimmed(&theirs(&host, "ip", "link show vb"))
    );
}

#[test]
fn a_name_steers_no_terminal() {
    let host = Host::new("host");
    let mut command = host.command("ip");
    let status = command
        .args(["link", "add", "a\u{1b}[2Jb", "type", "ifb"])
        .status();
    assert!(status.expect("ip runs").success());
    let text = done(&host, "link show type ifb");
    assert!(
        text.contains("a?[2Jb") && !text.contains('\u{1b}'),
        "{text:?}"
    );
}

#[test]
fn links_are_chosen_renamed_and_removed() {
    let host = host_with_links();
    let names = |line: &str| {
        let links = objects(&done(&host, line));
        links
            .iter()
            .map(|link| link["ifname"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("link show --json type veth"), ["vb", "va"]);
    assert_eq!(names("link show --json master br0"), ["va"]);
    assert_eq!(names("link show --json up"), ["lo", "br0", "vb", "va"]);
    done(&host, "link set f0 name g0");
    assert_eq!(names("link show --json type ifb"), ["g0"]);
    done(&host, "link del dev g0");
    assert!(names("link show --json type ifb").is_empty());
}

#[test]
fn a_refusal_is_one_line_and_says_what_is_wrong() {
    let host = host_with_links();
    assert_refused(
        &host,
        &[
            (
                "link add br0 type bridge",
                "tapline: cannot add link br0: File exists",
                1,
            ),
            (
                "link add xx type nonsense",
                "tapline: cannot add link xx (Unknown device type): Operation not supported",
                4,
            ),
            (
                "link set vb mtu 9",
                "cannot set link vb (mtu less than device minimum): Invalid argument",
                1,
            ),
            ("link frob", "\"frob\" is not a known verb", 2),
            ("link add one two type ifb", "\"two\"", 2),
            (
                "link add a-name-that-is-too-long type ifb",
                "\"a-name-that-is-too-long\"",
                2,
            ),
            (
                "link show -n nowhere",
                "network namespace /run/netns/nowhere",
                1,
            ),
        ],
    );
    let mut nobody = host.command("setpriv");
    nobody.args([
        "--bounding-set=-all",
        "--inh-caps=-all",
        "--reuid=65534",
        "--clear-groups",
    ]);
    let output = nobody
        .args([PROGRAM, "link", "add", "zz", "type", "ifb"])
        .output()
        .expect("runs");
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("(needs CAP_NET_ADMIN)"), "{text}");
}

#[test]
fn a_batch_stops_continues_or_reverts_after_an_error() {
    let host = Host::new("host");
    let commands =
        "# comment\nlink add f1 type ifb\nlink add f1 type ifb\n\nlink add f2 type ifb\n";
    let shown = || {
        theirs(&host, "ip", "-br link show type ifb")
            .lines()
            .count()
    };
    let (lines, status) = batch(&host, "", commands);
    assert_eq!((lines[0]["line"].as_u64(), status), (Some(3), 1));
    assert_eq!(
        (lines[1]["done"].as_u64(), lines[1]["not_run"].as_u64()),
        (Some(1), Some(1))
    );
    assert_eq!(shown(), 1);
    done(&host, "link del f1");
    let (lines, _) = batch(&host, "--undo", commands);
    assert_eq!(lines[1]["undone"], 2);
    assert_eq!(shown(), 0);
    let (lines, _) = batch(&host, "--force", commands);
    assert_eq!(
        (lines[1]["done"].as_u64(), lines[1]["failed"].as_u64()),
        (Some(2), Some(1))
    );
    assert_eq!(shown(), 2);
    // A line may speak of what one before it makes, whatever happens on a failure.
    for mode in ["--force", "--undo"] {
        let (lines, status) = batch(
            &host,
            mode,
            "link add f3 type ifb\nlink set f3 up\nlink del f3\n",
        );
        assert_eq!((lines[0]["done"].as_u64(), status), (Some(3), 0), "{mode}");
    }
    // A line that says nothing is a failure like any other.
    let unreadable = "link add f4 type ifb\nlink blow f4\nlink add f5 type ifb\n";
    let (lines, status) = batch(&host, "--undo", unreadable);
    assert_eq!((lines[0]["line"].as_u64(), status), (Some(2), 2));
    assert_eq!(
        (lines[1]["undone"].as_u64(), lines[1]["not_run"].as_u64()),
        (Some(1), Some(1))
    );
    assert_eq!(shown(), 2);
    let (lines, _) = batch(&host, "--force", unreadable);
    assert_eq!(
        (lines[1]["done"].as_u64(), lines[1]["failed"].as_u64()),
        (Some(2), Some(1))
    );
    assert_eq!(shown(), 4);
    let (lines, status) = batch(&host, "", "link set f1 up\nlink blow f1\n");
    assert_eq!((lines[1]["done"].as_u64(), status), (Some(1), 2));
}

#[test]
fn a_monitor_tells_what_happens() {
    let host = Host::new("host");
    let text = done(&host, "monitor link -c 1 --json");
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&first["event"], &first["object"]),
        (&"added".into(), &"link".into())
    );
    assert_eq!(first["link"]["ifname"], "lo");
}

#[test]
fn a_message_is_reported_byte_by_byte() {
    let host = Host::new("host");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hex");
    // RTM_GETLINK for br0, as ip(8) sends it.
    let digits = "28000000 12000100 07000000 00000000\n00000000 00000000 00000000 00000000\n\
        0800\\x03\\x00 62723000";
    std::fs::write(&file, digits).expect("written");
    let text = done(&host, &format!("explain {}", file.display()));
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    assert!(lines[0].starts_with("0  RTM_GETLINK: length 40"), "{text}");
    assert_eq!(lines[2], "32    ifname: \"br0\"");
    std::fs::write(&file, "2800000012").expect("written");
    let (text, status) = refused(&host, &format!("explain {}", file.display()));
    assert!(
        text.contains("message header at byte 0 needs 16 bytes and has 5"),
        "{text}"
    );
    assert_eq!(status, 1);
    std::fs::write(&file, "no digits").expect("written");
    assert_eq!(refused(&host, &format!("explain {}", file.display())).1, 2);
    for text in ["", "\n \t\n"] {
        std::fs::write(&file, text).expect("written");
        let (text, status) = refused(&host, &format!("explain {}", file.display()));
        assert!(text.contains("holds no message: it has no"), "{text}");
        assert_eq!(status, 2);
    }
}
