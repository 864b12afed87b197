//! Showing a filter.

use std::io::{self, Write};

use filter::{Filter, FilterError, LinkType, Options};
use serde_json::{Map, Value, json};

use super::packets;
use super::wording::refused;
use crate::args::{Emit, FilterArgs, Place};
use crate::failure::{Exit, Failure};
use crate::json;
use crate::names::System;

pub fn run(args: &FilterArgs) -> Result<Exit, Failure> {
    let text = args.filter.join(" ");
    let names = System::new();
    let read = |link_type| Filter::new(&text, &options(args, link_type), &names);
    if let Some(path) = &args.packet {
        return packets::run(args, path, &text, &read);
    }
    let filter = read(args.link_type).map_err(|error| refused(&text, &error))?;
    let shown = Shown {
        args,
        text: &text,
        filter: &filter,
    };
    let result = if args.json {
        shown.json()?
    } else {
        shown.text()?
    };
    result.map_err(|error| Failure::job_on("cannot write to standard output", &error))?;
    Ok(Exit::Done)
}

/// For which packets, at which place.
pub fn options(args: &FilterArgs, link_type: LinkType) -> Options {
    let mut options = Options::new(link_type);
    options.at = args.at.into();
    options.netmask = args.netmask;
    options.snaplen = match args.snaplen {
        // As in tcpdump, 0 stands for the default.
        0 => ring::DEFAULT_SNAPLEN,
        bytes => bytes,
    };
    options
}

struct Shown<'a> {
    args: &'a FilterArgs,
    text: &'a str,
    filter: &'a Filter,
}

impl Shown<'_> {
    fn text(&self) -> Result<io::Result<()>, Failure> {
        let mut out = io::stdout().lock();
        if let Some(emit) = self.args.emit {
            let form = self.form(emit)?;
            return Ok(out.write_all(form.as_bytes()).and_then(|()| out.flush()));
        }
        let program = self.form(Emit::Classic)?;
        let count = program.lines().count();
        let (link, at) = (self.args.link_type, self.args.at);
        Ok(writeln!(
            out,
            "for packets of {link} at {at}, {count} instructions of classic BPF:\n{program}",
        ))
    }

    fn json(&self) -> Result<io::Result<()>, Failure> {
        let mut summary = Map::new();
        summary.insert("event".into(), "summary".into());
        summary.insert("filter".into(), self.text.into());
        summary.insert("link_type".into(), self.args.link_type.name().into());
        summary.insert("at".into(), self.args.at.to_string().into());
        let forms = match self.args.emit {
            Some(emit) => vec![emit],
            None => vec![Emit::Classic],
        };
        for emit in forms {
            let form = self.form(emit)?;
            let lines: Vec<&str> = form.lines().collect();
            summary.insert(name(emit).into(), json!(lines));
        }
        Ok(json::print(&Value::Object(summary)))
    }

    /// The lines of one form.
    fn form(&self, emit: Emit) -> Result<String, Failure> {
        refuse_elsewhere(emit, self.args.at)?;
        let refused = |error: FilterError| refused(self.text, &error);
        match emit {
            Emit::Classic => {
                let program = self.filter.classic().map_err(refused)?;
                Ok(program.listing().to_string())
            }
            Emit::ClassicDecimal => {
                let program = self.filter.classic().map_err(refused)?;
                Ok(program.to_string())
            }
        }
    }
}

fn name(emit: Emit) -> &'static str {
    match emit {
        Emit::Classic => "classic",
        Emit::ClassicDecimal => "classic_decimal",
    }
}

/// Each program runs at some places only.
fn refuse_elsewhere(emit: Emit, at: Place) -> Result<(), Failure> {
    let line = match (emit, at) {
        (Emit::Classic | Emit::ClassicDecimal, Place::Xdp) => {
            "classic BPF does not run at xdp (use --emit ebpf)"
        }
        _ => return Ok(()),
    };
    Err(Failure::new(Exit::Unsupported, line))
}
