//! Tables drawn of simulated runs with chosen answers and losses.

use std::net::Ipv4Addr;

use tapline::ping::Prober;
use tapline::ping::machine::{EchoReply, IcmpMessage, NextAction, ProbePlan, RunKey};
use tapline::ping::targets::{NoResolver, TargetsBuilder};

use super::order::Order;
use super::plots::Plotted;
use super::recent::{Rates, Recent};
use super::table::Table;
use crate::screen::testing;
use crate::screen::{Charset, Key, Scroll, Theme};

/// Interval and timeout: one millisecond.
const ROUND_NS: u64 = 1_000_000;

/// A run of `rounds` to `targets`; each probe is answered after `rtt_ns(target, round)`, or never.
fn run(targets: &str, rounds: u32, rtt_ns: impl Fn(u32, u32) -> Option<u64>) -> (Prober, Recent) {
    let mut builder = TargetsBuilder::default();
    builder.add(targets, &mut NoResolver).expect("targets");
    let targets = builder.build().expect("not too many");
    let mut recent = Recent::new(targets.len());
    let plan = ProbePlan {
        rounds: Some(rounds),
        interval_ns: ROUND_NS,
        rate_pps: None,
        timeout_ns: ROUND_NS,
        payload_bytes: 16,
        histograms: targets.len() > 1,
        ..ProbePlan::new(7, RunKey([1, 2]))
    };
    let mut prober = Prober::new(&plan, targets).expect("a plan");
    let mut now_ns = 0;
    loop {
        match prober.next(now_ns) {
            NextAction::Send(probe) => {
                let payload = prober.cookie(probe, now_ns);
                prober.sent(probe, now_ns);
                let Some(rtt_ns) = rtt_ns(probe.target, probe.round) else {
                    recent.lost(probe.target);
                    continue;
                };
                let reply = EchoReply {
                    source: prober.targets().address(probe.target).expect("an address"),
                    hops: None,
                    identifier: 7,
                    sequence: probe.sequence(),
                    intact: true,
                    payload: &payload,
                };
                let at_ns = now_ns + rtt_ns;
                prober.received(&IcmpMessage::Reply(reply), Some(at_ns), at_ns);
                recent.answered(probe.target, rtt_ns);
            }
            NextAction::Wait(until_ns) => now_ns = until_ns,
            NextAction::Done => break,
        }
        prober.expire(now_ns, |_| ());
    }
    (prober, recent)
}

fn table(recent: Recent) -> Table {
    Table {
        recent,
        rates: Rates::default(),
        order: Order::Loss,
        scroll: Scroll::default(),
        plotted: Plotted::Nothing,
        theme: Theme::plain(),
        charset: Charset::Unicode,
        has_keys: true,
        send_error: None,
    }
}

fn drawn(table: &mut Table, prober: &Prober, columns: u16, rows: u16) -> String {
    testing::drawn(columns, rows, |frame| {
        table.render(frame, prober, "4.0 s  4 pps");
    })
}

/// The first is quick, the second silent, the third loses every fourth and is slow.
fn three() -> (Prober, Table) {
    let (prober, recent) = run("10.0.0.1-3", 8, |target, round| match target {
        0 => Some(10_000),
        1 => None,
        _ => (round % 4 > 0).then_some(100_000 * u64::from(round)),
    });
    (prober, table(recent))
}

#[test]
fn a_table_has_as_many_rows_as_fit() {
    let (prober, mut table) = three();
    assert_eq!(
        drawn(&mut table, &prober, 90, 24),
        "\
4.0 s  4 pps  3 targets: 2 answered, 1 did not
24 probes sent = 14 received + 10 lost + 0 late + 0 errors
rtt min/p50/avg/p99/max/mdev = 0.010/0.010/0.177/0.698/0.700/0.239 ms

              loss  last ms     mean      p50      p99      max  latest
>10.0.0.2     100%        -        -        -        -        -  ××××××××
 10.0.0.3      25%    0.700    0.400    0.311    0.688    0.700  ×▂▃▄×▆▇█
 10.0.0.1       0%    0.010    0.010    0.010    0.010    0.010  ████████















sorted by loss; s: by delay, q: end, p: plot, arrows: scroll and select"
    );
    assert_eq!(
        drawn(&mut table, &prober, 39, 8),
        "\
4.0 s  4 pps  3 targets: 2 answered, 1~
24 probes sent = 14 received + 10 lost~
rtt min/p50/avg/p99/max/mdev = 0.010/0~

              loss  last ms     mean
>10.0.0.2     100%        -        -
(2 more targets)
sorted by loss; s: by delay, q: end, p~"
    );
}

#[test]
fn a_key_turns_to_another_order() {
    let (prober, mut table) = three();
    let mut first = |keys: &[Key]| {
        for &key in keys {
            table.press(key);
        }
        let shown = drawn(&mut table, &prober, 80, 24);
        let lines = shown.lines().skip(5).take(3);
        let names = lines.map(|line| line[8..9].to_owned());
        names.collect::<Vec<_>>().concat()
    };
    let next = [Key::Char('s')];
    assert_eq!(
        [first(&[]), first(&next), first(&next)],
        ["231", "312", "123"]
    );
    assert_eq!(first(&next), "231");
}

/// Against sorting all of them.
#[test]
fn the_first_of_many_are_those_of_all() {
    let slowness = |target: u32| u64::from(target.wrapping_mul(2_654_435_761) % 1000 + 1) * 100;
    let (prober, recent) = run("10.0.0.0/18", 2, |target, round| {
        (!target.is_multiple_of(1000) || round > 0).then(|| slowness(target))
    });
    let count = prober.targets().len() as usize;
    assert_eq!(count, 16_382);
    let all = Order::Delay.at(&prober, 0..count);
    assert!(all.is_sorted_by_key(|&target| (u64::MAX - slowness(target), target)));
    for order in [Order::Loss, Order::Delay, Order::List] {
        let all = order.at(&prober, 0..usize::MAX);
        assert_eq!(all.len(), count);
        for part in [0..30, 1..2, 20..20, 7000..7030, count - 5..count] {
            assert_eq!(order.at(&prober, part.clone()), all[part]);
        }
    }
    let lossy = Order::Loss.at(&prober, 0..17);
    assert!(lossy.iter().all(|target| target.is_multiple_of(1000)));
    let mut table = table(recent);
    let shown = drawn(&mut table, &prober, 80, 24);
    assert_eq!(shown.lines().count(), 24);
    assert!(shown.contains("\n(16 365 more targets)\n"), "{shown}");
    table.press(Key::End);
    let shown = drawn(&mut table, &prober, 80, 24);
    assert!(
        shown
            .lines()
            .nth(21)
            .expect("the last row")
            .starts_with('>'),
        "{shown}"
    );
}

/// A line outside of the window would panic.
#[test]
fn it_is_drawn_in_any_window() {
    let (prober, mut table) = three();
    table.send_error = Some("Network is unreachable".into());
    let (one, _) = run("10.0.0.1", 3, |_, _| Some(3_600_000_000_000));
    for prober in [&prober, &one] {
        for (columns, rows) in (1..120).flat_map(|columns| (1..40).map(move |rows| (columns, rows)))
        {
            table.plotted = Plotted::Auto;
            drawn(&mut table, prober, columns, rows);
        }
    }
}

#[test]
fn the_plots_are_of_the_selected_target_and_of_all() {
    let (prober, mut table) = three();
    table.plotted = Plotted::Auto;
    for seconds in 1..=3 {
        table.rates.add([seconds * 100, seconds * 50], 1.0);
    }
    table.press(Key::Down);
    let shown = drawn(&mut table, &prober, 80, 24);
    assert!(
        shown.contains("\nround trips to 10.0.0.3, ms\n0.700│"),
        "{shown}"
    );
    assert!(
        shown.contains("×") && shown.contains("71 probes ago"),
        "{shown}"
    );
    table.press(Key::Char('p'));
    let shown = drawn(&mut table, &prober, 80, 24);
    assert!(
        shown.contains("\nprobes per second  sent  received\n100│"),
        "{shown}"
    );
    let wide = drawn(&mut table, &prober, 200, 40);
    assert!(
        wide.contains("round trips to") && wide.contains("probes per second"),
        "{wide}"
    );
    table.press(Key::Char('p'));
    assert!(!drawn(&mut table, &prober, 80, 24).contains("probes per second"));
    // A low window has room for targets only.
    table.plotted = Plotted::Auto;
    assert!(!drawn(&mut table, &prober, 80, 15).contains("round trips"));
}

#[test]
fn a_single_target_has_percentiles_too() {
    let (prober, recent) = run("10.0.0.1", 100, |_, round| {
        Some(u64::from(round + 1) * 1000)
    });
    let mut table = table(recent);
    let shown = drawn(&mut table, &prober, 80, 24);
    assert!(
        shown.contains("  1 target: 1 answered, 0 did not\n"),
        "{shown}"
    );
    let row = shown.lines().find(|line| line.starts_with(" 10.0.0.1 "));
    let numbers = row
        .expect("its line")
        .split_whitespace()
        .collect::<Vec<_>>();
    assert_eq!(numbers[1..3], ["0%", "0.100"]);
    assert_eq!(numbers[6], "0.100", "{shown}");
    assert_eq!(Ipv4Addr::new(10, 0, 0, 1).to_string(), numbers[0]);
}
