//! A host that sends invalid replies, over both families: each is counted by its kind.

use std::time::Duration;

use crate::support::answering::{Answerer, FAMILIES, Family, hosts};
use crate::support::ping::{BACKENDS, complete, open, options};
use lab::Host;
use tapline::ping::{AnswerMessage, Backend, PingEvent, PingOptions, PingSummary, Prober};

/// Bytes of an ICMP header.
const HEADER: usize = 8;

fn cases() -> impl Iterator<Item = (Family, Backend)> {
    let of = |family| BACKENDS.map(|backend| (family, backend));
    FAMILIES.into_iter().flat_map(of)
}

/// Runs with `options` against a host whose replies come from `answer`.
fn run_against(
    hosts: &[Host; 2],
    family: Family,
    options: &PingOptions,
    answer: impl FnOnce(&Answerer<'_>) + Send,
) -> PingSummary {
    let answerer = Answerer::new(hosts, family);
    let ping = open(&hosts[0], options, &family.target());
    std::thread::scope(|scope| {
        scope.spawn(|| answer(&answerer));
        complete(ping, |_, _| ())
    })
}

fn one_probe(backend: Backend) -> PingOptions {
    let mut options = options(backend, 1);
    options.timeout = Duration::from_secs(1);
    options
}

#[test]
fn what_is_not_the_answer_is_reported_and_the_probe_waited_for() {
    let hosts = hosts();
    for (family, backend) in cases() {
        let summary = run_against(&hosts, family, &one_probe(backend), |answerer| {
            let request = answerer.next_request();
            let reply = |change: fn(&mut Vec<u8>)| answerer.reply(2, &request, change);
            // Damaged, cut short, shorter still, another time, another probe: the last two with a tag that is not right.
            answerer.send(2, &reply(|bytes| bytes[HEADER + 32] ^= 1));
            answerer.send(2, &reply(|bytes| bytes.truncate(HEADER + 22)));
            answerer.send(2, &reply(|bytes| bytes.truncate(HEADER + 3)));
            answerer.send(2, &reply(|bytes| bytes[HEADER + 1] ^= 1));
            answerer.send(2, &reply(|bytes| bytes[HEADER - 1] ^= 1));
            answerer.send(3, &answerer.reply(3, &request, |_| ()));
            // What ping(8) of another process would get that has the same identifier.
            answerer.send(
                2,
                &reply(|bytes| {
                    bytes.truncate(HEADER);
                    bytes.extend(0..56);
                }),
            );
        });
        let (counts, others) = (
            summary.statistics.counts(0),
            summary.statistics.other_counts(),
        );
        assert_eq!(
            (counts.sent, counts.received, counts.lost),
            (1, 0, 1),
            "{family:?} {backend:?}"
        );
        assert_eq!(
            (counts.corrupt, others.forged, others.wrong_source),
            (2, 2, 1),
            "{family:?} {backend:?}"
        );
        assert_eq!((others.foreign, others.cut_short), (1, 1));
    }
}

#[test]
fn a_wrong_checksum_is_corrupt_where_the_kernel_lets_it_through() {
    let hosts = hosts();
    for (family, backend) in cases() {
        let summary = run_against(&hosts, family, &one_probe(backend), |answerer| {
            let mut damaged = answerer.reply(2, &answerer.next_request(), |_| ());
            damaged[HEADER + 4] ^= 1;
            answerer.send(2, &damaged);
        });
        let counts = summary.statistics.counts(0);
        // Ping sockets get nothing that is damaged, raw sockets of IPv6 neither.
        let reaches = match backend {
            Backend::Raw => !family.is_ipv6,
            Backend::Ring => true,
            _ => false,
        };
        assert_eq!(
            (counts.corrupt, counts.lost),
            (reaches.into(), 1),
            "{family:?} {backend:?}"
        );
        // No buffer has overflowed, and replies that reach no socket are reported.
        let is_dropped = family.is_ipv6 && backend == Backend::Raw;
        assert_eq!(
            (summary.overruns, summary.checksum_drops),
            (Some(0), Some(is_dropped.into())),
            "{family:?} {backend:?}"
        );
    }
}

#[test]
fn an_answer_that_comes_twice_is_one_and_a_duplicate() {
    let hosts = hosts();
    for (family, backend) in cases() {
        // The run ends with its last answer: a second probe, to itself, keeps it going.
        let mut options = options(backend, 2);
        options.interval = Duration::from_millis(50);
        let summary = run_against(&hosts, family, &options, |answerer| {
            for _ in 0..2 {
                let reply = answerer.reply(2, &answerer.next_request(), |_| ());
                (0..3).for_each(|_| answerer.send(2, &reply));
            }
        });
        let counts = summary.statistics.counts(0);
        assert_eq!((counts.sent, counts.received, counts.lost), (2, 2, 0));
        assert!((2..=4).contains(&counts.duplicate), "{counts:?}");
        assert!(summary.statistics.rtt(0).is_some());
        let timed = summary.tx_timestamps.kernel + summary.tx_timestamps.user;
        assert_eq!(timed, 2, "{family:?} {backend:?}");
    }
}

#[test]
fn an_answer_behind_an_extension_header_is_heard_once() {
    let hosts = hosts();
    for backend in BACKENDS {
        let mut options = options(backend, 2);
        options.interval = Duration::from_millis(50);
        let summary = run_against(&hosts, FAMILIES[1], &options, |answerer| {
            for _ in 0..2 {
                let reply = answerer.reply(2, &answerer.next_request(), |_| ());
                answerer.send_behind_options(&reply);
            }
        });
        let counts = summary.statistics.counts(0);
        assert_eq!((counts.received, counts.duplicate), (2, 0), "{backend:?}");
    }
}

#[test]
fn an_answer_after_the_timeout_is_late() {
    let hosts = hosts();
    for (family, backend) in cases() {
        let mut options = options(backend, 2);
        options.interval = Duration::from_millis(200);
        options.timeout = Duration::from_millis(20);
        let ping = open(&hosts[0], &options, &family.target());
        let answerer = Answerer::new(&hosts, family);
        let (tell, told) = std::sync::mpsc::channel();
        let summary = std::thread::scope(|scope| {
            scope.spawn(move || {
                let request = answerer.next_request();
                told.recv().expect("the first is lost");
                answerer.send(2, &answerer.reply(2, &request, |_| ()));
            });
            complete(ping, |event, _| {
                if let PingEvent::Lost { .. } = event {
                    let _ = tell.send(());
                }
            })
        });
        let counts = summary.statistics.counts(0);
        assert_eq!(
            (counts.sent, counts.received),
            (2, 0),
            "{family:?} {backend:?} {counts:?}"
        );
        assert_eq!((counts.late, counts.lost), (1, 1));
    }
}

#[test]
fn an_error_is_reported_of_its_probe_however_little_it_quotes() {
    let hosts = hosts();
    for (family, backend) in cases() {
        // The ICMP header alone, part of the cookie, the cookie, all of the probe.
        for (quoted, is_proven) in [(8, false), (20, false), (24, true), (64, true)] {
            let summary = run_against(&hosts, family, &one_probe(backend), |answerer| {
                let request = answerer.next_request();
                answerer.send(2, &answerer.unreachable(&request, quoted));
            });
            let (counts, others) = (
                summary.statistics.counts(0),
                summary.statistics.other_counts(),
            );
            assert_eq!(
                (counts.sent, counts.errors, counts.lost),
                (1, 1, 0),
                "{family:?} {backend:?} {quoted}"
            );
            assert_eq!(
                others.unproven,
                u64::from(!is_proven),
                "{backend:?} {quoted}"
            );
            let errors: Vec<_> = summary.statistics.errors().iter().collect();
            let [(error, 1)] = errors[..] else {
                panic!("{family:?} {backend:?} {quoted}: {errors:?}");
            };
            assert_eq!([error.kind, error.code], family.unreachable);
            assert_eq!(error.router, family.host(2));
        }
    }
}

/// "Parameter problem" with its pointer. The kernel passes it to ping sockets as a number.
#[test]
fn what_an_error_says_beside_is_reported_by_every_back_end() {
    let hosts = hosts();
    for (family, backend) in cases() {
        let (kind, parameter) = if family.is_ipv6 {
            ([4, 0], [0, 0, 0, 40])
        } else {
            ([12, 0], [20, 0, 0, 0])
        };
        let answerer = Answerer::new(&hosts, family);
        let ping = open(&hosts[0], &one_probe(backend), &family.target());
        let mut told = Vec::new();
        let observe = |event: &PingEvent, _: &Prober| {
            if let PingEvent::Answer {
                message:
                    AnswerMessage::Error {
                        error, parameter, ..
                    },
                ..
            } = event
            {
                told.push(([error.kind, error.code], *parameter));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let request = answerer.next_request();
                answerer.send(2, &answerer.error(kind, parameter, &request, 64));
            });
            let _ = complete(ping, observe);
        });
        assert_eq!(told, [(kind, parameter)], "{family:?} {backend:?}");
    }
}
