//! A batch prints the output of its commands in place, as `ip -batch` does.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::support::PROGRAM;
use crate::support::stack::{done, json_of, objects, pair_host, tapline};
use lab::Host;

/// What becomes of `lines`, given to a program on its standard input.
fn run(host: &Host, program: &str, arguments: &str, lines: &str) -> Output {
    let mut command = host.command(program);
    command.args(arguments.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(lines.as_bytes()).expect("written");
    drop(input);
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn text(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    // Where ip(8) has blanks is not compared.
    let text = text.replace('\\', " \\ ");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

const LINES: &str = "# links first\n\
    link add f5 address 02:00:00:00:00:05 type ifb\n\
    link show f5   # one\n\
    link set f5 name f6\n\
    link show \\\n  f6\n\
    l s f6 up\n\
    addr add 10.77.0.1/24 dev f6\n\
    route add 192.0.2.0/24 via 10.77.0.9\n\
    route show\n\
    route get 192.0.2.1\n\
    rule add from 10.1.0.0/16 lookup 9 pref 77\n\
    rule list\n\
    neigh add 10.77.0.5 lladdr 02:00:00:00:00:09 dev f6\n\
    neigh\n\
    neigh get 10.77.0.5 dev f6\n\
    nexthop add id 5 via 10.77.0.9 dev f6\n\
    nexthop show id 5\n\
    link property add dev f6 altname a-longer-name-than-that\n\
    link show f6\n";

#[test]
fn what_lines_ask_for_is_shown_as_ip_does() {
    for flags in ["", "-d", "-4", "-o"] {
        let [ours, other] = [Host::new("ours"), Host::new("other")];
        let shown = text(&run(&other, "ip", &format!("{flags} -batch -"), LINES));
        assert!(shown.contains("10.77.0.5"), "{shown}");
        let ours = run(&ours, PROGRAM, &format!("batch {flags} -"), LINES);
        assert_eq!(text(&ours), shown, "{flags}");
    }
}

#[test]
fn a_line_has_flags_of_its_own() {
    let host = Host::new("host");
    done(&host, "link set lo up");
    for (line, single) in [
        ("-br link show lo", "-br link show lo"),
        ("-6 -br addr", "-6 -br addr"),
        ("link show lo -d", "-d link show lo"),
        (
            "-family inet6 route show table local",
            "-6 route show table local",
        ),
    ] {
        let shown = run(&host, PROGRAM, "batch -", &format!("{line}\n"));
        assert_eq!(
            String::from_utf8(shown.stdout).expect("text"),
            done(&host, single),
            "{line}"
        );
    }
    let output = run(&host, PROGRAM, "batch -", "-n other link\n");
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(
        errors.contains("line 1: -n is for the whole batch"),
        "{errors}"
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_is_shown_as_json_ends_with_the_line_that_asked() {
    let host = Host::new("host");
    let lines = "link add f5 type ifb\n\nlink show\ntuntap\nlink show nosuch\nlink show lo\n";
    let output = run(&host, PROGRAM, "batch --json --force -", lines);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).expect("text");
    let values: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let ends: Vec<_> = values
        .iter()
        .filter(|value| value["event"] == "shown")
        .collect();
    let ends: Vec<_> = ends
        .iter()
        .map(|end| (&end["line"], &end["objects"]))
        .collect();
    assert_eq!(
        ends,
        [
            (&3.into(), &2.into()),
            (&4.into(), &0.into()),
            (&6.into(), &1.into())
        ]
    );
    let failed = values.iter().find(|value| value["event"] == "failed");
    assert_eq!(failed.expect("a failure")["line"], 5);
    let summary = values.last().expect("a summary");
    assert_eq!(
        (&summary["lines"], &summary["done"], &summary["failed"]),
        (&5.into(), &4.into(), &1.into())
    );
    let links = values.iter().filter(|value| !value["ifname"].is_null());
    let links: Vec<_> = links.cloned().collect();
    assert_eq!(links[1], objects(&done(&host, "--json link"))[1]);
}

#[test]
fn what_a_line_asks_for_fails_as_a_change_does() {
    let host = Host::new("host");
    let lines = "link add f5 type ifb\nlink show nosuch\nlink add f6 type ifb\n";
    for (arguments, links) in [("", 2), ("--undo", 1), ("--force", 3)] {
        let output = run(&host, PROGRAM, &format!("batch {arguments} -"), lines);
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        let errors = String::from_utf8(output.stderr).expect("text");
        let words = "tapline: line 2: link: there is no link nosuch";
        assert!(errors.starts_with(words), "{arguments}: {errors}");
        assert_eq!(json_of(&host, "ip", "link").len(), links, "{arguments}");
        for link in ["f5", "f6"] {
            run(&host, "ip", &format!("link del {link}"), "");
        }
    }
    // It would stay.
    let lines = "link add f5 type ifb\nlink property add dev f5 altname f55\n";
    let output = run(&host, PROGRAM, "batch --undo -", lines);
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(
        errors.contains("line 2: this line cannot be undone"),
        "{errors}"
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(json_of(&host, "ip", "link").len(), 1);
}

/// A name means what the lines before have made of it, though they may wait to go to the kernel together.
#[test]
fn a_name_that_is_given_to_another_link_means_that() {
    for flags in ["", "-force"] {
        let states = [PROGRAM, "ip"].map(|program| {
            let host = Host::new("host");
            done(&host, "link add pp type ifb");
            let lines = "link set pp name tt\n\
                link add pp type ifb\n\
                addr add 10.8.0.1/24 dev pp\n\
                link set pp up\n\
                link del tt\n\
                link add link pp name mm type macvlan\n\
                addr add 10.8.1.1/24 dev mm\n\
                link del pp\n\
                link add pp type ifb\n\
                addr add 10.8.2.1/24 dev pp\n";
            let arguments = match (program, flags) {
                ("ip", flags) => format!("{flags} -batch -"),
                (_, "") => "batch -".to_owned(),
                _ => "batch --force -".to_owned(),
            };
            text(&run(&host, program, &arguments, lines));
            let shown = json_of(&host, "ip", "addr show");
            let of = |link: &serde_json::Value| {
                (
                    link["ifname"].clone(),
                    link["addr_info"][0]["local"].clone(),
                )
            };
            shown.iter().map(of).collect::<Vec<_>>()
        });
        assert_eq!(states[0], states[1], "{flags}");
        assert_eq!(states[0].len(), 2, "{states:?}");
    }
}

/// What is no text is one line that fails.
#[test]
fn a_line_that_is_no_text_is_reported_with_its_number() {
    let bytes: &[u8] = b"link add g1 type ifb\nlink set g1 mtu 1300\n\xff\nlink add g2 type ifb\n";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("commands");
    std::fs::write(&file, bytes).expect("written");
    for (flag, left) in [
        ("--undo", vec![]),
        ("--force", vec!["g1", "g2"]),
        ("", vec!["g1"]),
    ] {
        let host = Host::new("host");
        let output = tapline(&host, &format!("batch {flag} {}", file.display()));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            errors.starts_with("tapline: line 3: the line is not text"),
            "{errors}"
        );
        let shown = json_of(&host, "ip", "link show type ifb");
        let shown: Vec<_> = shown.iter().map(|link| &link["ifname"]).collect();
        assert_eq!(shown, left, "{flag}");
    }
}

/// What is removed by less than all that it is known by is put back as it was.
#[test]
fn what_is_removed_by_a_part_of_it_is_put_back() {
    let host = pair_host(&[
        "rule add from 10.0.0.0/8 lookup 9 pref 100",
        "route add 10.70.0.0/16 via 10.0.0.3 metric 5",
        "route add 10.70.0.0/16 via 10.0.0.4 metric 9",
    ]);
    let state = || ["rule", "route"].map(|line| json_of(&host, "ip", line));
    let before = state();
    for line in [
        "rule del pref 100",
        "rule del from 10.0.0.0/8 lookup 9",
        "rule del lookup 9",
        "rule del pref 32766",
        "route del 10.70.0.0/16",
        "route del 10.70.0.0/16 via 10.0.0.4",
    ] {
        let output = run(
            &host,
            PROGRAM,
            "batch --undo -",
            &format!("{line}\nlink del nosuch\n"),
        );
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("1 undone"), "{line}: {errors}");
        assert_eq!(state(), before, "{line}");
    }
}

/// Objects of several kinds, made in one batch.
#[test]
fn a_batch_makes_objects_of_all_kinds() {
    let host = pair_host(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("commands");
    let mut commands = "neigh add 10.0.0.8 lladdr 02:00:00:00:00:08 dev va\n".to_owned();
    commands +=
        "rule add from 10.1.0.0/16 lookup 77 priority 900\nnexthop add id 5 via 10.0.0.8 dev va\n";
    for number in 0..1000 {
        let (third, fourth) = (100 + number / 250, number % 250);
        commands.extend([
            "route add 10.",
            &third.to_string(),
            ".",
            &fourth.to_string(),
        ]);
        commands += ".0/24 nhid 5\n";
    }
    std::fs::write(&file, commands).expect("written");
    let text = done(&host, &format!("batch --force --json {}", file.display()));
    let summary: serde_json::Value = serde_json::from_str(text.trim()).expect("one line");
    assert_eq!(
        (&summary["done"], &summary["failed"]),
        (&1003.into(), &0.into())
    );
    let routes = json_of(&host, "ip", "route show");
    let by_nexthop = routes.iter().filter(|route| route["nhid"] == 5);
    assert_eq!(by_nexthop.count(), 1000);
}
