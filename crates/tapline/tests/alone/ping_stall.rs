//! A stalled run: replies that arrived in time are not lost.

use crate::support::ping as support;
use std::time::Duration;

use crate::support::answering::{Answerer, FAMILIES, hosts};
use crate::support::ping::{BACKENDS, open, open_ping_sockets, options};
use rustix::event::{Timespec, poll};
use tapline::ping::PingEvent;

/// Copies of a reply before the next one, several times as many as one read returns.
const COPIES: usize = 1000;

const TIMEOUT: Duration = Duration::from_millis(500);
/// How long nobody reads after the run; losses are then due.
const STALL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 600_000_000,
};

#[test]
fn an_answer_behind_many_others_is_read_before_its_probe_is_lost() {
    let hosts = hosts();
    open_ping_sockets(&hosts[0]);
    for (family, backend) in FAMILIES
        .into_iter()
        .flat_map(|family| BACKENDS.map(|backend| (family, backend)))
    {
        let mut options = options(backend, 2);
        options.interval = Duration::ZERO;
        options.timeout = TIMEOUT;
        let mut ping = open(&hosts[0], &options, &family.target());
        let answerer = Answerer::new(&hosts, family);
        let mut lost = 0;
        let started = ping.next_batch(Duration::ZERO).expect("it goes on");
        assert!(started.is_some());
        drop(started);
        let [first, second] = [(); 2].map(|()| answerer.reply(2, &answerer.next_request(), |_| ()));
        answerer.send_copies(2, &first, COPIES + 1);
        answerer.send(2, &second);
        assert_eq!(poll(&mut [], Some(&STALL)), Ok(0));
        loop {
            support::wait_readable(&ping);
            let Some(mut batch) = ping.next_batch(Duration::ZERO).expect("it goes on") else {
                break;
            };
            lost += batch
                .by_ref()
                .filter(|event| matches!(event, PingEvent::Lost { .. }))
                .count();
        }
        let summary = ping.finish().expect("a summary");
        let counts = summary.statistics.counts(0);
        assert_eq!(summary.overruns, Some(0));
        let got = (
            counts.sent,
            counts.received,
            counts.duplicate,
            counts.lost,
            lost,
        );
        assert_eq!(got, (2, 2, COPIES as u64, 0, 0), "{family:?} {backend:?}");
    }
}
