//! Many forged replies beside genuine ones, and more kinds of errors than are counted separately.

use std::cell::Cell;
use std::fs;

use lab::Host;
use tapline::ping::Prober;
use wire::checksum::internet;

use super::runs::{run_against, xdp};
use crate::send::paths::pass_all;
use crate::support::answering::{FAMILIES, hosts};

/// Bytes of an ICMP header.
const HEADER: usize = 8;
/// Probes to each of two targets.
const PROBES: u32 = 100;

/// The number of the target in the cookie of a request.
fn target(request: &[u8]) -> usize {
    let number = request[HEADER + 8..].first_chunk().expect("a cookie");
    u32::from_be_bytes(*number) as usize
}

/// Before the true reply to each probe, the other target replies to it too, and replies have a wrong tag, the number of another
/// probe, the number of the other target, other contents, a wrong checksum, or too few bytes. A duplicate
/// follows. Compared with what was sent.
#[test]
fn only_true_replies_are_received_among_many_that_are_not() {
    let hosts = hosts();
    let _pass = pass_all(&hosts[1]);
    let mac = hosts[1].interface().mac;
    for family in FAMILIES {
        let targets = [2, 3];
        for number in targets {
            let host = family.host(number);
            hosts[0].ip(&format!("neighbour replace {host} lladdr {mac} dev left0"));
        }
        let words = targets
            .map(|number| family.host(number).to_string())
            .join(" ");
        let all = 2 * u64::from(PROBES);
        // The run ends with the last true reply, after which nothing counts.
        let never = |_: &Prober| false;
        let summary = run_against(&hosts, family, &words, &xdp(PROBES), never, |answerer| {
            for number in 1..=all {
                let request = answerer.next_request();
                let own = targets[target(&request)];
                let other = targets[1 - target(&request)];
                let reply = |change: fn(&mut Vec<u8>)| answerer.reply(own, &request, change);
                let send = |message: Vec<u8>| answerer.send(own, &message);
                answerer.send(other, &answerer.reply(other, &request, |_| ()));
                send(reply(|bytes| bytes[HEADER + 15] ^= 1));
                send(reply(|bytes| bytes[HEADER - 1] ^= 1));
                send(reply(|bytes| bytes[HEADER + 11] ^= 1));
                send(reply(|bytes| bytes[HEADER + 12] ^= 1));
                send(reply(|bytes| bytes[HEADER + 40] ^= 1));
                let mut damaged = reply(|_| ());
                damaged[2] ^= 1;
                send(damaged);
                send(reply(|bytes| bytes.truncate(HEADER + 3)));
                send(reply(|_| ()));
                if number < all {
                    send(reply(|_| ()));
                }
            }
        });
        let (statistics, each) = (&summary.statistics, u64::from(PROBES));
        for target in [0, 1] {
            let counts = statistics.counts(target);
            let found = (counts.sent, counts.received, counts.pending());
            assert_eq!(found, (each, each, 0), "{family:?}: {counts:?}");
            let found = (counts.corrupt, counts.late);
            assert_eq!(found, (2 * each, 0), "{family:?}: {counts:?}");
        }
        assert_eq!(statistics.total().duplicate, all - 1, "{family:?}");
        let others = statistics.other_counts();
        assert_eq!(others.forged, 4 * all, "{family:?}");
        let found = (others.wrong_source, others.cut_short, others.foreign);
        assert_eq!(found, (all, all, 0), "{family:?}");
    }
}

/// Counted by the kernel: `InHdrErrors`, or `InTruncatedPkts`.
fn kernel_counter(host: &Host, name: &str) -> u64 {
    let read = |file| host.run(|| fs::read_to_string(format!("/proc/thread-self/net/{file}")));
    let text = ["snmp", "netstat", "snmp6"].map(|file| read(file).expect("the kernel counts"));
    let tables = text[..2].iter().flat_map(|text| text.lines());
    let rows: Vec<Vec<&str>> = tables.map(|line| line.split(' ').collect()).collect();
    let mut pairs = rows
        .chunks(2)
        .flat_map(|rows| rows[0].iter().zip(&rows[1]))
        .map(|(name, value)| (*name, *value))
        .chain(text[2].lines().filter_map(|line| {
            let (name, value) = line.split_once(char::is_whitespace)?;
            Some((name, value.trim()))
        }));
    let (_, value) = pairs.find(|(found, _)| *found == name).expect(name);
    value.parse().expect("a number")
}

/// The time to live, the type of service and the identification have no other checksum. An error with such a header goes to the
/// kernel, which drops it.
#[test]
fn a_reply_with_a_damaged_ip_header_is_not_received() {
    let hosts = hosts();
    let _pass = pass_all(&hosts[1]);
    let [family, _] = FAMILIES;
    let before = kernel_counter(&hosts[0], "InHdrErrors");
    for count in [1, 2] {
        let never = |_: &Prober| false;
        let words = family.target();
        let summary = run_against(&hosts, family, &words, &xdp(count), never, |answerer| {
            for _ in 0..count {
                let request = answerer.next_request();
                let reply = answerer.reply(2, &request, |_| ());
                for at in [1, 4, 8] {
                    answerer.send_changed(2, &reply, |header| header[at] ^= 4);
                }
                let error = answerer.unreachable(&request, HEADER + 16);
                answerer.send_changed(2, &error, |header| header[8] ^= 4);
                answerer.send(2, &reply);
            }
        });
        let (counts, sent) = (summary.statistics.counts(0), u64::from(count));
        let found = (counts.received, counts.corrupt, counts.errors);
        assert_eq!(found, (sent, 3 * sent, 0), "{summary}");
    }
    let errors = kernel_counter(&hosts[0], "InHdrErrors") - before;
    assert_eq!(errors, 3);
}

/// The IP header counts more bytes than the frame has.
#[test]
fn a_reply_without_its_end_is_cut_short() {
    let hosts = hosts();
    let _pass = pass_all(&hosts[1]);
    for (family, counter) in [
        (FAMILIES[0], "InTruncatedPkts"),
        (FAMILIES[1], "Ip6InTruncatedPkts"),
    ] {
        let before = kernel_counter(&hosts[0], counter);
        let never = |_: &Prober| false;
        let words = family.target();
        let summary = run_against(&hosts, family, &words, &xdp(1), never, |answerer| {
            let request = answerer.next_request();
            let reply = answerer.reply(2, &request, |_| ());
            answerer.send_changed(2, &reply, |header| {
                if family.is_ipv6 {
                    header[5] += 1;
                } else {
                    header[3] += 1;
                    header[10..12].fill(0);
                    let sum = internet(header).to_be_bytes();
                    header[10..12].copy_from_slice(&sum);
                }
            });
            answerer.send(2, &reply);
        });
        let counts = summary.statistics.counts(0);
        assert_eq!((counts.received, counts.corrupt), (1, 0), "{summary}");
        assert_eq!(summary.statistics.other_counts().cut_short, 1);
        assert_eq!(kernel_counter(&hosts[0], counter) - before, 1);
    }
}

/// While the run lasts, and at its end. The kinds are those of two routers.
#[test]
fn errors_beyond_the_kinds_that_are_counted_separately_are_counted_together() {
    let hosts = hosts();
    let _pass = pass_all(&hosts[1]);
    let [family, _] = FAMILIES;
    let kinds = [3, 11, 12].into_iter();
    let kinds: Vec<[u8; 2]> = kinds
        .flat_map(|kind| (0..=u8::MAX).map(move |code| [kind, code]))
        .collect();
    let sent = 2 * kinds.len() as u64;
    let has_seen = Cell::new(false);
    let is_complete = |statistics: &Prober| {
        let errors = statistics.errors();
        let separate: u64 = errors.iter().map(|(_, count)| count).sum();
        has_seen.set((separate, errors.others()) == (1024, sent - 1024));
        has_seen.get()
    };
    let words = family.target();
    let summary = run_against(&hosts, family, &words, &xdp(2), is_complete, |answerer| {
        let request = answerer.next_request();
        for kind in &kinds {
            let error = answerer.error(*kind, [0; 4], &request, HEADER + 16);
            for router in [2, 3] {
                answerer.send(router, &error);
            }
        }
    });
    assert!(has_seen.get(), "{summary}");
    let (counts, errors) = (summary.statistics.counts(0), summary.statistics.errors());
    assert_eq!((counts.errors, counts.duplicate), (1, sent - 1));
    assert_eq!(
        (errors.iter().count(), errors.others()),
        (1024, sent - 1024)
    );
}
