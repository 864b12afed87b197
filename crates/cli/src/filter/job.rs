//! Showing a filter.

use std::io::{self, Write};

use filter::classic::Program;
use filter::{Filter, LinkType, Options};
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
        let text = match self.args.emit {
            Some(emit) => self.form(emit)?,
            None => self.overview()?,
        };
        let mut out = io::stdout().lock();
        Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// What is shown where no form is asked for.
    fn overview(&self) -> Result<String, Failure> {
        let (link, at) = (self.args.link_type, self.args.at);
        let (what, program) = match self.filter.classic() {
            Ok(program) => (String::new(), program),
            Err(error) => (
                format!("{}; a coarse one lets through more: ", error.reason),
                self.filter.coarse(),
            ),
        };
        Ok(format!(
            "classic BPF for packets of {link} at {at}: {what}{} instructions\n{}",
            program.instructions().len(),
            program.listing()
        ))
    }

    fn json(&self) -> Result<io::Result<()>, Failure> {
        let mut summary = Map::new();
        summary.insert("event".into(), "summary".into());
        summary.insert("filter".into(), self.text.into());
        summary.insert("link_type".into(), self.args.link_type.name().into());
        summary.insert("at".into(), self.args.at.to_string().into());
        let emit = self.args.emit.unwrap_or(Emit::Classic);
        let form = self.form(emit)?;
        let lines: Vec<&str> = form.lines().collect();
        summary.insert(name(emit).into(), json!(lines));
        Ok(json::print(&Value::Object(summary)))
    }

    /// The lines of one form.
    fn form(&self, emit: Emit) -> Result<String, Failure> {
        refuse_elsewhere(emit, self.args.at)?;
        match emit {
            Emit::Classic => Ok(self.classic()?.listing().to_string()),
            Emit::ClassicDecimal => Ok(self.classic()?.to_string()),
        }
    }

    fn classic(&self) -> Result<Program, Failure> {
        self.filter.classic().map_err(|error| {
            let line = format!("no classic BPF for this filter: {}", error.reason);
            Failure::new(Exit::Unsupported, line)
        })
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
