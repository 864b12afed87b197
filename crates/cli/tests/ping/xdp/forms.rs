//! Output formats of `tapline ping --backend xdp`, and other traffic on the same interface.

use serde_json::json;

use super::runs::responder;
use crate::ping::metrics::{labels, scrape};
use crate::support::ping::{echoes_answered, iputils, ping, start};
use crate::support::scrape::address;
use crate::support::terminal::Terminal;
use crate::support::{PROGRAM, Scene, assert_has, number, words};

/// Compared with what the kernel of the other end has received.
#[test]
fn metrics_have_the_counters_of_the_programs() {
    let scene = Scene::new();
    let line = "--backend xdp --json --metrics 0 -i 20ms -W 0.1 10.1.0.2 fd00:1::2 192.0.2.1";
    let mut running = start(&scene, &format!("-I left0 {line}"));
    let to = address(&running.ready());
    let peer = labels("", "10.1.0.2", "");
    let sent = format!("tapline_ping_sent_probes_total{peer}");
    let mut samples = scrape(&scene, to);
    lab::wait::until("the counters are posted", || {
        samples = scrape(&scene, to);
        samples[&sent] > 10.0
    });
    let asked = echoes_answered(&scene.right) as f64;
    let state = |state: &str| {
        let labels = labels("", "10.1.0.2", &format!(",state=\"{state}\""));
        samples[&format!("tapline_ping_answered_probes_total{labels}")]
    };
    let received = state("received");
    assert!(samples[&sent] <= asked && received > 0.0 && received <= asked);
    let all = labels("le=\"+Inf\",", "10.1.0.2", "");
    let silent = labels("", "192.0.2.1", "");
    for (name, expected) in [
        (format!("rtt_seconds_count{peer}"), received),
        (format!("rtt_seconds_bucket{all}"), received),
        (format!("sent_probes_total{silent}"), 0.0),
        ("stray_answers_total{state=\"forged\"}".to_owned(), 0.0),
    ] {
        let found = samples[&format!("tapline_ping_{name}")];
        assert!((found - expected).abs() < 0.5, "{name}: {samples:#?}");
    }
    assert!(samples[&format!("tapline_ping_unsent_probes_total{silent}")] > 0.0);
    running.stop();
}

/// The sums of all rows are the answers that the other end has sent.
#[test]
fn histograms_have_every_answer() {
    let scene = Scene::new();
    let responder = responder(&scene);
    let line = "--backend xdp --histogram -i 0 --rate max -W 30 -c 2000 10.1.0.2 fd00:1::2";
    let ended = ping(&scene, line);
    ended.exit(0);
    let rows = ended
        .stdout
        .iter()
        .skip_while(|line| *line != "round trips up to:");
    let counts = rows.skip(1).map(|row| {
        let (_, count) = row.split_once('%').expect("a share and a count");
        count.replace(' ', "").parse::<u64>().expect("a number")
    });
    assert_eq!(counts.sum::<u64>(), 4000, "{ended:?}");
    let events = ping(&scene, &format!("{line} --json")).events();
    let summary = events.last().expect("a summary");
    let buckets = summary["histogram"].as_array().expect("buckets");
    let counts = buckets.iter().map(|bucket| number(bucket, "count"));
    assert_eq!(counts.sum::<u64>(), 4000, "{summary}");
    let answered = responder.stop().events().pop().expect("a summary");
    assert_eq!(number(&answered, "answered"), 8000);
}

/// Losses are counted while it runs: of 10.1.0.9 nobody answers.
#[test]
fn the_live_table_has_answers_and_losses() {
    let scene = Scene::new();
    let mac = scene.right.interface().mac;
    let silent = format!("neighbour replace 10.1.0.9 lladdr {mac} dev left0");
    scene.left.ip(&silent);
    let mut command = scene.left.command("setsid");
    let line = "--live --backend xdp -I left0 -i 20ms -W 0.1 10.1.0.2 10.1.0.9 192.0.2.1";
    command.args(["--ctty", PROGRAM, "ping"]).args(words(line));
    let (mut terminal, running) = Terminal::start_session(command, 100, 24);
    terminal.wait_for("latest: Network is unreachable");
    terminal.wait_until("answers of the one, and losses of the other", |terminal| {
        let shown = terminal.shown();
        let is_of = |row: &str, name: &str| row.get(1..).is_some_and(|rest| rest.starts_with(name));
        let row = |name: &str| shown.lines().find(|row| is_of(row, name)).unwrap_or("");
        let has_bar = row("10.1.0.2 ").contains(|letter: char| ('▁'..='█').contains(&letter));
        has_bar && row("10.1.0.2 ").contains(" 0%") && row("10.1.0.9 ").contains("100%")
    });
    terminal.press("q");
    terminal.wait_for("xdp back end");
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
}

/// ping(8) on the same interface, with its own identifier.
#[test]
fn other_programs_get_their_replies() {
    let scene = Scene::new();
    for target in ["10.1.0.2", "fd00:1::2"] {
        let mut running = start(&scene, &format!("--backend xdp --json -q -i 1ms {target}"));
        running.ready();
        let theirs = iputils(&scene, &format!("-c 200 -i 0.002 -q {target}"));
        theirs.assert_mentions("200 packets transmitted, 200 received, 0% packet loss");
        let ended = running.stop();
        let summary = ended.events().pop().expect("a summary");
        assert_has(
            &summary,
            &json!({"forged": 0, "corrupt": 0, "duplicate": 0}),
        );
        assert!(number(&summary, "received") > 0, "{summary}");
    }
}

/// As ping(8) with the same line: it ends with the last of the replies, or when the time is over.
#[test]
fn a_number_of_replies_within_a_time_ends_as_that_of_ping() {
    let scene = Scene::new();
    let mac = scene.right.interface().mac;
    let silent = format!("neighbour replace 10.1.0.9 lladdr {mac} dev left0");
    scene.left.ip(&silent);
    for (line, counts) in [
        (
            "-q -c 3 -w 60 -i 0.05 10.1.0.2",
            "3 packets transmitted, 3 received, 0% packet loss",
        ),
        (
            "-q -c 3 -w 1 -i 0.3 10.1.0.9",
            "4 packets transmitted, 0 received, 100% packet loss",
        ),
    ] {
        let theirs = iputils(&scene, line);
        let ours = ping(&scene, &format!("--backend xdp {line}"));
        for ended in [&theirs, &ours] {
            ended.assert_mentions(counts);
        }
        assert_eq!(ours.status.code(), theirs.status.code(), "{ours:?}");
    }
}

/// More than any CPU sends, and more than the limit of the prefix allows.
#[test]
fn a_rate_that_is_not_reached_is_reported() {
    let scene = Scene::new();
    let _responder = responder(&scene);
    let line = "--backend xdp -I left0 -i 0 -q";
    let fast = format!("{line} --rate 4000Mpps -c 200000 10.1.0.2");
    let ended = ping(&scene, &fast);
    ended.assert_mentions("pps of 4.0 Gpps were reached: ");
    let events = ping(&scene, &format!("{fast} --json")).events();
    let summary = events.last().expect("a summary");
    let [asked, reached] = ["asked_pps", "reached_pps"].map(|key| summary[key].as_f64());
    assert_eq!(asked, Some(4e9), "{summary}");
    assert!(reached.is_some_and(|reached| reached < 3.6e9), "{summary}");
    scene.left.ip("route add 10.64.0.0/16 via 10.1.0.2");
    scene.right.ip("route add local 10.64.0.0/16 dev lo");
    let line = format!("{line} --rate 1kpps --prefix-rate 20pps -c 1 10.64.0.1-10.64.0.20");
    ping(&scene, &line)
        .assert_mentions("pps of 1.0 kpps were reached: --prefix-rate allows no more");
}

#[test]
fn what_is_in_the_way_is_said_with_what_to_do() {
    let scene = Scene::new();
    let refused = ping(&scene, "--backend xdp -q -I left0 10.9.0.2");
    assert_eq!(
        refused.refusal(2),
        "interface left0 reaches none of the targets ('ip route get ADDRESS' shows the way: give its interface with -I, \
         or add a route)"
    );
    let refused = ping(&scene, "--backend xdp -q 10.9.0.2");
    assert_eq!(
        refused.refusal(2),
        "no interface reaches a target (add a route, or give -I IF; 'ip route get ADDRESS' shows the way)"
    );
    let ended = ping(&scene, "--backend xdp -I left0 -c 1 10.1.0.2 10.9.0.2");
    ended.assert_mentions(
        "not sent to 10.9.0.2: Network is unreachable: no way to it by this interface",
    );
    let mut running = start(&scene, "--backend xdp --json -q 10.1.0.2");
    running.ready();
    let second = ping(&scene, "--backend xdp -q 10.1.0.2");
    let refusal = second.refusal(1);
    assert!(
        refusal.starts_with("cannot ping by XDP on left0: ")
            && refusal.ends_with(
                "(one run by XDP at a time uses an interface: give it all targets, wait for its end, or use --backend raw)"
            ),
        "{refusal}"
    );
    running.stop();
}

/// Each run appends to the output of the ones before.
#[test]
fn a_sweep_that_ended_before_its_first_probe_has_one_header() {
    let scene = Scene::new();
    scene.left.ip("route add 10.64.0.0/24 via 10.1.0.2");
    scene.right.ip("route add local 10.64.0.0/24 dev lo");
    let _responder = responder(&scene);
    let state = scene.file("state");
    let line = format!("--backend xdp -c 1 -W 0.2 --csv -q --state {state} 10.64.0.0/24");
    let none = ping(&scene, &format!("-w 0 {line}"));
    let all = ping(&scene, &line);
    let lines = none.stdout.iter().chain(&all.stdout);
    let headers = lines.clone().filter(|line| line.starts_with("target,"));
    assert_eq!(
        (headers.count(), lines.count()),
        (1, 255),
        "{none:?} {all:?}"
    );
}
