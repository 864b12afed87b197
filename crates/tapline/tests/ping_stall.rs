//! A run that is held up: what came in time meanwhile is not lost.

#[path = "support/answering.rs"]
mod answering;
#[path = "support/ping.rs"]
mod ping;

use std::time::Duration;

use answering::{Answerer, FAMILIES, hosts};
use ping::{BACKENDS, open_ping_sockets, options, targets};
use rustix::event::{Timespec, poll};
use tapline::ping::{Event, Pinger, State};
use tapline::probe::Prober;

/// Copies of an answer before the next one, several times as many as are taken at once.
const COPIES: usize = 1000;

const TIMEOUT: Duration = Duration::from_millis(500);
/// How long nobody looks after the run: losses are told then.
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
        let pinger = hosts[0].run(|| Pinger::open(targets(&family.target()), &options));
        let mut pinger = pinger.expect("it opens");
        let answerer = Answerer::new(&hosts, family);
        let mut lost = 0;
        let mut observe = |event: &Event<'_>, _: &Prober| {
            lost += u64::from(matches!(event, Event::Lost { .. }));
        };
        assert_eq!(
            pinger.on_readable(&mut observe).expect("it goes on"),
            State::Running
        );
        let [first, second] = [(); 2].map(|()| answerer.reply(2, &answerer.next_request(), |_| ()));
        answerer.send_copies(2, &first, COPIES + 1);
        answerer.send(2, &second);
        assert_eq!(poll(&mut [], Some(&STALL)), Ok(0));
        loop {
            ping::wait_readable(&pinger);
            if pinger.on_readable(&mut observe).expect("it goes on") == State::Done {
                break;
            }
        }
        let outcome = pinger.finish();
        let counts = outcome.prober.counts(0);
        assert_eq!(outcome.overruns, Some(0));
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
