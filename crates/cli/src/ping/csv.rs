//! Comma-separated values: a head, and a line for each target.

use std::io::{self, BufWriter, Write};

use tapline::ping::Event;
use tapline::probe::Prober;

use super::figures::{self, Figures};
use super::sidelines;
use super::teller::{End, Start, Teller};
use crate::args::PingArgs;

const HEAD: &str = "target,address,sent,received,lost,late,duplicate,corrupt,errors,local_drops,\
pending,rtt_min_ns,rtt_p50_ns,rtt_mean_ns,rtt_p99_ns,rtt_max_ns,rtt_stddev_ns,jitter_ns,longest_outage";

pub struct Csv {
    quiet: bool,
}

impl Csv {
    pub fn new(args: &PingArgs) -> Self {
        Self { quiet: args.quiet }
    }
}

impl Teller for Csv {
    fn begin(&mut self, start: &Start<'_>) -> io::Result<()> {
        sidelines::metrics(start);
        Ok(())
    }

    fn event(&mut self, _: &Event<'_>, _: &Prober) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, end: &End<'_>) -> io::Result<()> {
        let prober = &end.outcome.prober;
        let mut out = BufWriter::new(io::stdout());
        writeln!(out, "{HEAD}")?;
        for target in 0..prober.targets().len() {
            let name = quoted(&figures::name(prober.targets(), target));
            let address = figures::address(prober.targets(), target);
            write!(out, "{name},{address}")?;
            let Figures { counts, rtt } = Figures::of_target(prober, target);
            for count in [
                counts.sent,
                counts.received,
                counts.lost,
                counts.late,
                counts.duplicate,
                counts.corrupt,
                counts.errors,
                counts.local_drops,
                counts.pending(),
            ] {
                write!(out, ",{count}")?;
            }
            let times = rtt.map_or([None; 7], |rtt| rtt.in_order());
            for time in times {
                // What is not known is empty.
                let time = time.map_or_else(String::new, |ns| ns.to_string());
                write!(out, ",{time}")?;
            }
            writeln!(out, ",{}", prober.longest_outage(target))?;
        }
        out.flush()?;
        if !self.quiet {
            // A closed standard error ends nothing.
            let _ = sidelines::sources(&mut io::stderr(), end.outcome);
        }
        Ok(())
    }
}

/// A field as RFC 4180 wants it.
fn quoted(field: &str) -> String {
    if field.contains([',', '"']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
