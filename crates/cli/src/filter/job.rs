//! Showing a filter.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use filter::classic::Program;
use filter::ebpf::Listing;
use filter::{Filter, LinkType, Options};
use serde_json::{Map, Value, json};

use super::packets;
use super::wording::{refused, warn};
use crate::args::{Emit, FilterArgs, Place};
use crate::failure::{Exit, Failure, chain};
use crate::names::System;
use crate::{filter_file, json};

/// Lines of a tree that are shown beside a program.
const TREE_LINES: usize = 40;

pub fn run(args: &FilterArgs) -> Result<Exit, Failure> {
    let text = match &args.filter_file {
        Some(path) => filter_file::expression(path)?,
        None => args.filter.join(" "),
    };
    let names = System::new();
    let read = |link_type| Filter::new(&text, &options(args, link_type), &names);
    if let Some(path) = &args.packet {
        return packets::run(args, path, &text, &read);
    }
    let filter = read(args.link_type).map_err(|error| refused(&text, &error))?;
    warn(&text, filter.warnings());
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
    result.map_err(|error| Failure::stdout(&error))?;
    Ok(Exit::Done)
}

/// For which packets, at which place.
pub fn options(args: &FilterArgs, link_type: LinkType) -> Options {
    let mut options = Options::new(link_type);
    options.at = args.place().into();
    // As tcpdump -r: a file does not tell the network's mask.
    let of_file = args.packet.as_ref().map(|_| Ipv4Addr::UNSPECIFIED);
    options.netmask = args.netmask.or(of_file);
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

    /// What is shown where no form is asked for: the tree, and the program that runs at the place.
    fn overview(&self) -> Result<String, Failure> {
        let (link, at) = (self.args.link_type, self.args.place());
        let (kind, program) = match at {
            Place::File | Place::Socket => ("classic BPF", self.classic_or_coarse()),
            Place::Xdp | Place::Tc | Place::TcEgress => {
                let program = self.form(Emit::Ebpf)?;
                let count = program.lines().count();
                ("eBPF", format!("{count} instructions\n{program}"))
            }
        };
        let tree = beginning(&self.filter.tree().to_string());
        Ok(format!(
            "{tree}\n{kind} for packets of {link} at {at}: {program}"
        ))
    }

    fn classic_or_coarse(&self) -> String {
        let (what, program) = match self.filter.classic() {
            Ok(program) => (String::new(), program),
            Err(error) => (
                format!("{}; a coarse one lets through more: ", error.reason),
                self.filter.coarse(),
            ),
        };
        let count = program.instructions().len();
        format!("{what}{count} instructions\n{}", program.listing())
    }

    fn json(&self) -> Result<io::Result<()>, Failure> {
        let mut summary = Map::new();
        summary.insert("event".into(), "summary".into());
        summary.insert("filter".into(), self.text.into());
        summary.insert("link_type".into(), self.args.link_type.name().into());
        summary.insert("at".into(), self.args.place().to_string().into());
        let warnings = self.filter.warnings().iter();
        let warnings: Vec<String> = warnings.map(ToString::to_string).collect();
        summary.insert("warnings".into(), json!(warnings));
        for emit in self.forms() {
            let form = self.form(emit)?;
            let lines: Vec<&str> = form.lines().collect();
            summary.insert(name(emit).into(), json!(lines));
        }
        Ok(json::print(&Value::Object(summary)))
    }

    /// The forms that an overview in JSON has; a program that there is not is left out.
    fn forms(&self) -> Vec<Emit> {
        match (self.args.emit, self.args.place()) {
            (Some(emit), _) => vec![emit],
            (None, Place::File | Place::Socket) if self.filter.classic().is_ok() => {
                vec![Emit::Tree, Emit::Classic]
            }
            (None, Place::File | Place::Socket) => vec![Emit::Tree],
            (None, Place::Xdp | Place::Tc | Place::TcEgress) => vec![Emit::Tree, Emit::Ebpf],
        }
    }

    /// The lines of one form.
    fn form(&self, emit: Emit) -> Result<String, Failure> {
        refuse_elsewhere(emit, self.args.place())?;
        match emit {
            Emit::Tree => Ok(self.filter.tree().to_string()),
            Emit::Graph => Ok(self.filter.graph().to_string()),
            Emit::Dot => Ok(self.filter.dot().to_string()),
            Emit::Ebpf => self.ebpf(),
            Emit::Native => self.native(),
            Emit::Classic => Ok(self.classic()?.listing().to_string()),
            Emit::ClassicDecimal => Ok(self.classic()?.to_string()),
        }
    }

    fn ebpf(&self) -> Result<String, Failure> {
        let fragment = self.filter.ebpf().map_err(|error| {
            let line = format!("no eBPF for this filter: {}", error.reason);
            Failure::new(Exit::Unsupported, line)
        })?;
        let program = fragment.program(fragment.values());
        Ok(Listing(&program).to_string())
    }

    fn native(&self) -> Result<String, Failure> {
        self.filter
            .native_listing()
            .map_err(|error| Failure::new(Exit::Unsupported, chain(&error)))
    }

    fn classic(&self) -> Result<Program, Failure> {
        self.filter.classic().map_err(|error| {
            let line = format!("no classic BPF for this filter: {}", error.reason);
            Failure::new(Exit::Unsupported, line)
        })
    }
}

/// The first lines of a tree, of which a long list makes thousands.
fn beginning(tree: &str) -> String {
    let count = tree.lines().count();
    if count <= TREE_LINES {
        return tree.to_owned();
    }
    let mut lines: Vec<&str> = tree.lines().take(TREE_LINES).collect();
    let rest = format!("… {} more lines, with --emit tree", count - TREE_LINES);
    lines.push(&rest);
    lines.join("\n") + "\n"
}

fn name(emit: Emit) -> &'static str {
    match emit {
        Emit::Tree => "tree",
        Emit::Graph => "graph",
        Emit::Dot => "dot",
        Emit::Ebpf => "ebpf",
        Emit::Native => "native",
        Emit::Classic => "classic",
        Emit::ClassicDecimal => "classic_decimal",
    }
}

/// Each program runs at some places only.
fn refuse_elsewhere(emit: Emit, at: Place) -> Result<(), Failure> {
    let line = match (emit, at) {
        (Emit::Classic | Emit::ClassicDecimal, Place::Xdp) => {
            "classic BPF does not run at xdp (use --emit ebpf)".to_owned()
        }
        (Emit::Ebpf, Place::File | Place::Socket) => {
            format!("eBPF is for --at xdp, tc or tc-egress, not for {at}")
        }
        (Emit::Native, Place::Xdp | Place::Tc | Place::TcEgress) => {
            format!("native code runs in a reader, not at {at}")
        }
        _ => return Ok(()),
    };
    Err(Failure::new(Exit::Unsupported, line))
}
