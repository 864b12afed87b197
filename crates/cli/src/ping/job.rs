//! The run, from its list of targets to its exit status.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::CapabilitySet;
use tapline::Stopper;
use tapline::ping::{Ended, Event, Observer, Outcome, Pinger};
use tapline::probe::{Prober, Verdict};

use super::list::List;
use super::status::Status;
use super::teller::{End, Start, Teller, choose};
use super::{dry_run, failure, memory, setup, sidelines};
use crate::args::{Origin, PingArgs};
use crate::failure::{Exit, Failure};
use crate::metrics::{Board, Server, ping_families};
use crate::{paint, privilege, signals};

/// Time between two postings of counters.
const POSTED: Duration = Duration::from_secs(1);

/// How long answers are left unread that nobody sees come.
const PATIENCE: Duration = Duration::from_millis(250);

pub fn run(args: &PingArgs) -> Result<Exit, Failure> {
    refuse_live(args)?;
    let list = List::read(args)?;
    refuse_none(&list)?;
    refuse_other_family(args, &list)?;
    for line in &list.left_out {
        sidelines::warn(line);
    }
    let count = list.targets.len();
    let options = setup::options(args, count);
    if args.dry_run {
        let forecast = tapline::ping::forecast(&list.targets, &options);
        let forecast = forecast.map_err(|error| failure::open(args, error))?;
        dry_run::show(args, &list, &forecast).map_err(|error| on_stdout(&error))?;
        return Ok(Exit::Done);
    }
    let forecast = setup::forecast(&options, count)?;
    memory::refuse_too_large(&forecast)?;
    let stop = signals::stop()?;
    let quit = signals::quit()?;
    let server = args.metrics.map(Server::bind).transpose()?;
    let pinger =
        Pinger::open(list.targets, &options).map_err(|error| failure::open(args, error))?;
    privilege::drop_all_but(CapabilitySet::empty())?;
    let url = server.as_ref().map(Server::url);
    let mut board = None;
    if let Some(server) = server {
        let posted = Board::new(ping_families(pinger.prober(), Some(0)));
        let read = posted.clone();
        server.serve(move || read.read().to_vec())?;
        board = Some(posted);
    }

    let mut teller = choose(args, count, stop.stopper());
    let start = Start {
        prober: pinger.prober(),
        forecast: &forecast,
        backend: pinger.backend(),
        metrics: url.as_deref(),
    };
    teller.begin(&start).map_err(|error| on_stdout(&error))?;
    let enough = setup::enough(args, count);
    let mut watch = Watch {
        teller: &mut *teller,
        status: Status::default(),
        quit,
        stopper: stop.stopper(),
        failed: None,
        board,
        posted: Instant::now(),
        patience: patience(args, enough),
        enough,
    };
    let mut outcome = pinger.run(&mut watch, &stop);
    if enough.is_some_and(|enough| outcome.prober.total().received >= enough.into()) {
        outcome.ended = Ended::Count;
    }
    let failed = watch.failed;
    let end = End {
        outcome: &outcome,
        left_out: list.left_out.len(),
        only: None,
    };
    let told = failed.map_or_else(|| teller.end(&end), Err);
    if let Ended::Wait(error) = &outcome.ended {
        return Err(Failure::job_on("cannot wait for answers", error));
    }
    told.map_err(|error| on_stdout(&error))?;
    finish(args, &end)
}

/// Passes on what happens, and sees to what is asked in between.
struct Watch<'a> {
    teller: &'a mut dyn Teller,
    status: Status,
    /// SIGQUIT came.
    quit: Arc<AtomicBool>,
    stopper: Stopper,
    /// Why nothing more can be told.
    failed: Option<io::Error>,
    board: Option<Arc<Board>>,
    /// When counters were posted.
    posted: Instant,
    patience: Duration,
    /// Answers that end the run, where a number of them is waited for.
    enough: Option<u32>,
}

impl Observer for Watch<'_> {
    fn patience(&self) -> Duration {
        self.patience
    }

    fn event(&mut self, event: &Event<'_>, prober: &Prober) {
        if self.failed.is_some() {
            return;
        }
        if self.has_enough(prober) {
            self.stopper.stop();
        }
        match event {
            Event::Answer {
                verdict:
                    Verdict::Received {
                        rtt_ns: Some(rtt_ns),
                        ..
                    },
                ..
            } => self.status.time(*rtt_ns),
            Event::Tick { overruns } => self.tick(prober, *overruns),
            Event::ClockStep { by_ns } => {
                let seconds = *by_ns as f64 / 1e9;
                sidelines::warn(&format!(
                    "the clock was set by {seconds:+.3} s: what came at that moment is not timed"
                ));
            }
            _ => {}
        }
        if let Err(error) = self.teller.event(event, prober) {
            self.failed = Some(error);
            self.stopper.stop();
        }
    }
}

impl Watch<'_> {
    /// All answers that are waited for have come, or an error that counts.
    fn has_enough(&self, prober: &Prober) -> bool {
        let total = prober.total();
        self.enough
            .is_some_and(|enough| total.received >= enough.into() || total.errors > 0)
    }

    fn tick(&mut self, prober: &Prober, overruns: Option<u64>) {
        if self.quit.swap(false, Ordering::Relaxed) {
            self.status.tell(prober);
        }
        if let Some(board) = &self.board
            && self.posted.elapsed() >= POSTED
        {
            self.posted = Instant::now();
            board.post(ping_families(prober, overruns));
        }
    }
}

/// Where answers have no line of their own, and none ends the run, they can be read together.
fn patience(args: &PingArgs, enough: Option<u32>) -> Duration {
    let is_seen = !args.quiet || args.verbose || args.live || enough.is_some();
    if is_seen { Duration::ZERO } else { PATIENCE }
}

/// There is something to draw on, if that is asked for.
fn refuse_live(args: &PingArgs) -> Result<(), Failure> {
    let line = match args.live {
        true if !io::stdout().is_terminal() => {
            "--live draws on a terminal, and standard output is none"
        }
        true if paint::is_terminal_dumb() => {
            "--live draws anywhere on the terminal, and by TERM this one takes nothing but lines"
        }
        _ => return Ok(()),
    };
    Err(Failure::new(Exit::Usage, line))
}

/// There is somebody to ask.
fn refuse_none(list: &List) -> Result<(), Failure> {
    if !list.targets.is_empty() {
        return Ok(());
    }
    let failure = match list.left_out.as_slice() {
        [] if list.targets.excluded() > 0 => {
            Failure::new(Exit::Usage, "every target is excluded by --exclude")
        }
        [] => Failure::new(Exit::Usage, "the list has no targets"),
        [only] => Failure::new(Exit::Usage, only.as_str()),
        [first, others @ ..] => Failure {
            below: others.join("\n"),
            ..Failure::new(Exit::Usage, first.as_str())
        },
    };
    Err(failure)
}

/// Some target can be asked from the address that was given.
fn refuse_other_family(args: &PingArgs, list: &List) -> Result<(), Failure> {
    let Some(Origin::Address(address)) = args.interface else {
        return Ok(());
    };
    if list.targets.has_family(address.is_ipv6()) {
        return Ok(());
    }
    let family = if address.is_ipv6() { "IPv6" } else { "IPv4" };
    let line = format!("-I {address} is an address of {family}, and no target is");
    Err(Failure::new(Exit::Usage, line))
}

fn on_stdout(error: &io::Error) -> Failure {
    Failure::stdout(error)
}

/// Success is that every target answered, or that no more was lost than is tolerated. As ping and fping
/// have it, targets that are unknown, or a single one to which nothing could be sent, are an error of
/// another kind than silence.
fn finish(args: &PingArgs, end: &End<'_>) -> Result<Exit, Failure> {
    let Outcome { prober, .. } = end.outcome;
    let total = prober.total();
    if let Some(limit) = args.fail_loss {
        let settled = total.sent - total.pending() + total.local_drops;
        let missing = settled - total.received;
        if limit.is_exceeded(missing, settled) {
            let line = format!(
                "{missing} of {settled} probes were not answered, more than --fail-loss allows"
            );
            return Err(Failure::new(Exit::Failed, line));
        }
    }
    // As of ping: who asks for a number of answers within a time is to have them.
    let wanted = match (args.count, args.duration) {
        (Some(count), Some(_)) => count.get().into(),
        _ => 1,
    };
    let all_answered =
        || (0..prober.targets().len()).all(|target| prober.counts(target).received >= wanted);
    let is_refused = prober.targets().len() == 1 && total.sent == 0 && total.local_drops > 0;
    Ok(
        if end.left_out > 0 || (is_refused && args.fail_loss.is_none()) {
            Exit::Usage
        } else if args.fail_loss.is_some() || all_answered() {
            Exit::Done
        } else {
            Exit::Failed
        },
    )
}
