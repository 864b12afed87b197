//! Shows how a filter is parsed and compiled.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use rustix::thread::CapabilitySet;
use serde_json::{Map, Value, json};
use tapline::filter::classic::ClassicProgram;
use tapline::filter::ebpf::EbpfListing;
use tapline::filter::{CompiledFilter, DEFAULT_SNAPLEN, FilterOptions, LinkType};

use super::wording::{invalid, warn};
use super::{filter_file, packets};
use crate::args::{Emit, FilterArgs, FilterTargetArg};
use crate::failure::{Exit, Failure, chain};
use crate::output::json;
use crate::process::privilege;
use crate::sandbox::{self, Sandbox};
use crate::values::units::counted;
use tapline::filter::SystemNames;

/// What a filter runs on at `target`, for the summary.
fn runs_in(target: FilterTargetArg) -> &'static str {
    match target {
        FilterTargetArg::File => "capture files",
        FilterTargetArg::Socket => "packet sockets",
        FilterTargetArg::Xdp => "XDP",
        FilterTargetArg::Tc => "tc ingress",
        FilterTargetArg::TcEgress => "tc egress",
    }
}

/// Maximum number of lines of the tree in the overview.
const TREE_LINES: usize = 40;

pub fn run(args: &FilterArgs) -> Result<Exit, Failure> {
    let text = match &args.filter_file {
        Some(path) => filter_file::expression(path)?,
        None => args.filter.join(" "),
    };
    let names = SystemNames::new();
    let compile = |link_type| CompiledFilter::new(&text, &options(args, link_type), &names);
    if let Some(path) = &args.packet {
        return packets::run(args, path, &text, &compile);
    }
    let filter = compile(args.link_type).map_err(|error| invalid(&text, &error))?;
    privilege::drop_all_but(CapabilitySet::empty())?;
    // All names are known: it only prints from now on.
    Sandbox::new(&sandbox::FILTER).enter(args.sandbox, false)?;
    warn(&text, filter.warnings());
    let report = Report {
        args,
        text: &text,
        filter: &filter,
    };
    let result = if args.json {
        report.json()?
    } else {
        report.text()?
    };
    result.map_err(|error| Failure::stdout(&error))?;
    Ok(Exit::Done)
}

/// The compiler options for these arguments.
pub fn options(args: &FilterArgs, link_type: LinkType) -> FilterOptions {
    let mut options = FilterOptions::new(link_type);
    options.target = args.target().into();
    // A file does not have the netmask; tcpdump -r uses 0.0.0.0, too.
    let file_netmask = args.packet.as_ref().map(|_| Ipv4Addr::UNSPECIFIED);
    options.netmask = args.netmask.or(file_netmask);
    options.snaplen = match args.snaplen {
        // As in tcpdump, 0 is the default.
        0 => DEFAULT_SNAPLEN,
        bytes => bytes,
    };
    options
}

struct Report<'a> {
    args: &'a FilterArgs,
    text: &'a str,
    filter: &'a CompiledFilter,
}

impl Report<'_> {
    fn text(&self) -> Result<io::Result<()>, Failure> {
        let text = match self.args.emit {
            Some(emit) => self.form(emit)?,
            None => self.overview()?,
        };
        let mut out = io::stdout().lock();
        Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// The default output: the tree, and the program for the target.
    fn overview(&self) -> Result<String, Failure> {
        let (link, at) = (self.args.link_type, self.args.target());
        let (kind, program) = match at {
            FilterTargetArg::File | FilterTargetArg::Socket => {
                ("classic BPF", self.classic_or_coarse())
            }
            FilterTargetArg::Xdp | FilterTargetArg::Tc | FilterTargetArg::TcEgress => {
                let program = self.form(Emit::Ebpf)?;
                let count = program.lines().count();
                let count = counted(count as u64, "instruction");
                ("eBPF", format!("{count}\n{program}"))
            }
        };
        let tree = beginning(&self.filter.tree().to_string());
        let own = own_words(&self.filter.own_words());
        Ok(format!(
            "{tree}{own}\n{kind}, link type {link}, for {}: {program}",
            runs_in(at)
        ))
    }

    fn classic_or_coarse(&self) -> String {
        let (prefix, program) = match self.filter.classic() {
            Ok(program) => (String::new(), program),
            Err(error) => (
                format!("{}; a coarse program that accepts more: ", error.reason),
                self.filter.coarse(),
            ),
        };
        let count = counted(program.instructions().len() as u64, "instruction");
        format!("{prefix}{count}\n{}", program.listing())
    }

    fn json(&self) -> Result<io::Result<()>, Failure> {
        let mut summary = Map::new();
        summary.insert("event".into(), "summary".into());
        summary.insert("filter".into(), self.text.into());
        summary.insert("link_type".into(), self.args.link_type.to_string().into());
        summary.insert("at".into(), self.args.target().to_string().into());
        let warnings = self.filter.warnings().iter();
        let warnings: Vec<String> = warnings.map(ToString::to_string).collect();
        summary.insert("warnings".into(), json!(warnings));
        summary.insert("own_words".into(), json!(self.filter.own_words()));
        for emit in self.forms() {
            let form = self.form(emit)?;
            let lines: Vec<&str> = form.lines().collect();
            summary.insert(name(emit).into(), json!(lines));
        }
        Ok(json::print(&Value::Object(summary)))
    }

    /// The forms in the JSON overview; without programs that cannot be compiled.
    fn forms(&self) -> Vec<Emit> {
        match (self.args.emit, self.args.target()) {
            (Some(emit), _) => vec![emit],
            (None, FilterTargetArg::File | FilterTargetArg::Socket)
                if self.filter.classic().is_ok() =>
            {
                vec![Emit::Tree, Emit::Classic]
            }
            (None, FilterTargetArg::File | FilterTargetArg::Socket) => vec![Emit::Tree],
            (None, FilterTargetArg::Xdp | FilterTargetArg::Tc | FilterTargetArg::TcEgress) => {
                vec![Emit::Tree, Emit::Ebpf]
            }
        }
    }

    /// The lines of one form.
    fn form(&self, emit: Emit) -> Result<String, Failure> {
        check_target(emit, self.args.target())?;
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
            let line = format!("cannot compile this filter to eBPF: {}", error.reason);
            Failure::new(Exit::Unsupported, line)
        })?;
        let program = fragment.program(fragment.snaplen_verdicts());
        Ok(EbpfListing(&program).to_string())
    }

    fn native(&self) -> Result<String, Failure> {
        self.filter
            .native_listing()
            .map_err(|error| Failure::new(Exit::Unsupported, chain(&error)))
    }

    fn classic(&self) -> Result<ClassicProgram, Failure> {
        self.filter.classic().map_err(|error| {
            let line = format!(
                "cannot compile this filter to classic BPF: {}",
                error.reason
            );
            Failure::new(Exit::Unsupported, line)
        })
    }
}

/// A line about the words that only tapline has; empty without such words.
fn own_words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.len() {
        0 => String::new(),
        1 => format!(
            "\n{} is a word of tapline: tcpdump, tshark, dumpcap and other programs with libpcap reject it\n",
            quoted[0]
        ),
        _ => format!(
            "\n{} are words of tapline: tcpdump, tshark, dumpcap and other programs with libpcap reject them\n",
            quoted.join(" and ")
        ),
    }
}

/// The first lines of a tree; a long list has thousands.
fn beginning(tree: &str) -> String {
    let count = tree.lines().count();
    if count <= TREE_LINES {
        return tree.to_owned();
    }
    let mut lines: Vec<&str> = tree.lines().take(TREE_LINES).collect();
    let rest = format!("… {} more lines; see --emit tree", count - TREE_LINES);
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

/// Checks that this form exists for the target.
fn check_target(emit: Emit, at: FilterTargetArg) -> Result<(), Failure> {
    let line = match (emit, at) {
        (Emit::Classic | Emit::ClassicDecimal, FilterTargetArg::Xdp) => {
            "classic BPF does not run at xdp. Use --emit ebpf".to_owned()
        }
        (Emit::Ebpf, FilterTargetArg::File | FilterTargetArg::Socket) => {
            format!("eBPF does not run at {at}. Use --at xdp, tc or tc-egress")
        }
        (Emit::Native, FilterTargetArg::Xdp | FilterTargetArg::Tc | FilterTargetArg::TcEgress) => {
            format!("native code does not run at {at}. Use --at file or socket")
        }
        _ => return Ok(()),
    };
    Err(Failure::new(Exit::Unsupported, line))
}
