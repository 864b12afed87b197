//! `tapline filter --packet`: the verdict of a filter on the packets of a capture file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::rc::Rc;

use serde_json::{Value, json};
use tapline::file::model::{Direction, Packet, Reception};
use tapline::file::read::{Item, Reader};
use tapline::filter::classic::Ancillary;
use tapline::filter::{
    CompiledFilter, ExplainedTerm, Explanation, FilterError, FilterErrorReason, LinkType,
};

use super::wording::{invalid, warn};
use crate::args::{FilterArgs, FilterTargetArg};
use crate::failure::{Exit, Failure, chain};
use crate::output::json;
use crate::process::privilege;
use crate::sandbox::{self, Sandbox};
use crate::values::units::counted;

/// Compiles the filter for a link type.
type Compile<'a> = dyn Fn(LinkType) -> Result<CompiledFilter, FilterError> + 'a;

pub fn run(
    args: &FilterArgs,
    path: &Path,
    text: &str,
    compile: &Compile<'_>,
) -> Result<Exit, Failure> {
    let name = path.display().to_string();
    look_up_names(compile);
    privilege::drop_all_but(privilege::READ_ANY_FILE)?;
    let sandbox = Sandbox::new(&sandbox::FILTER).read(path);
    sandbox.enter(args.sandbox, false)?;
    let mut reader =
        open(path).map_err(|error| Failure::job_on(format!("cannot open {name}"), &*error))?;
    let mut filters = Filters::new(text, compile);
    let mut report = Report::new(args);
    let broken = loop {
        if report.is_complete() {
            break None;
        }
        match reader.next_item() {
            Ok(Some(Item::Packet(packet))) => report.packet(&packet, &filters)?,
            Ok(Some(Item::Interface { interface, .. })) => filters.add(interface.link_type.0)?,
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    report.finish(&name)?;
    match broken {
        Some(error) => Err(Failure::new(
            Exit::Failed,
            format!("{name}: {}", chain(&error)),
        )),
        None => Ok(Exit::Done),
    }
}

/// Looks up the names of the filter, which are kept. It is compiled again for the link types of the file, when the sandbox allows
/// no lookups.
fn look_up_names(compile: &Compile<'_>) {
    let links = [LinkType::Ethernet, LinkType::Raw, LinkType::Wlan];
    // Errors in the filter are reported when it is compiled for the file.
    let _ = links.into_iter().any(|link| compile(link).is_ok());
}

fn open(path: &Path) -> Result<Reader, Box<dyn std::error::Error>> {
    if path.as_os_str() == "-" {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        return Ok(Reader::from_stream(input)?);
    }
    let file = File::open(path)?;
    if file.metadata()?.is_file() {
        Ok(Reader::open(path)?)
    } else {
        Ok(Reader::from_stream(file)?)
    }
}

/// The filters for the interfaces of the file, compiled once for each link type.
struct Filters<'a> {
    text: &'a str,
    compile: &'a Compile<'a>,
    by_link_type: HashMap<u16, Compiled>,
    /// By interface.
    interfaces: Vec<Compiled>,
}

/// A filter, or why packets of the link type cannot be filtered by it. That is an error once there is a packet.
type Compiled = Result<Rc<CompiledFilter>, Rc<FilterError>>;

impl<'a> Filters<'a> {
    fn new(text: &'a str, compile: &'a Compile<'a>) -> Self {
        Self {
            text,
            compile,
            by_link_type: HashMap::new(),
            interfaces: Vec::new(),
        }
    }

    fn add(&mut self, link_type: u16) -> Result<(), Failure> {
        let known = self.by_link_type.get(&link_type).cloned();
        let filter = match known {
            Some(filter) => filter,
            None => self.compiled(link_type)?,
        };
        self.interfaces.push(filter);
        Ok(())
    }

    fn compiled(&mut self, link_type: u16) -> Result<Compiled, Failure> {
        let filter = match (self.compile)(LinkType::from_number(link_type)) {
            Ok(filter) => {
                if self.by_link_type.is_empty() {
                    warn(self.text, filter.warnings());
                }
                Ok(Rc::new(filter))
            }
            Err(error) if matches!(error.reason, FilterErrorReason::NotSupported { .. }) => {
                Err(Rc::new(error))
            }
            Err(error) => return Err(invalid(self.text, &error)),
        };
        self.by_link_type.insert(link_type, filter.clone());
        Ok(filter)
    }

    fn of(&self, packet: &Packet<'_>) -> Result<&CompiledFilter, Failure> {
        match self.interfaces.get(packet.interface as usize) {
            Some(Ok(filter)) => Ok(filter),
            Some(Err(error)) => Err(Failure {
                exit: Exit::Unsupported,
                ..invalid(self.text, error)
            }),
            None => Err(Failure::new(
                Exit::Failed,
                "a packet of an unknown interface",
            )),
        }
    }
}

/// Prints the verdicts and counts them.
struct Report<'a> {
    args: &'a FilterArgs,
    out: BufWriter<io::StdoutLock<'static>>,
    packets: u64,
    accepted: u64,
}

impl<'a> Report<'a> {
    fn new(args: &'a FilterArgs) -> Self {
        Self {
            args,
            out: BufWriter::new(io::stdout().lock()),
            packets: 0,
            accepted: 0,
        }
    }

    fn is_complete(&self) -> bool {
        let last = self.args.number.or(self.args.count);
        last.is_some_and(|last| self.packets >= last.get())
    }

    fn packet(&mut self, packet: &Packet<'_>, filters: &Filters<'_>) -> Result<(), Failure> {
        self.packets += 1;
        if self
            .args
            .number
            .is_some_and(|only| self.packets != only.get())
        {
            return Ok(());
        }
        let filter = filters.of(packet)?;
        let ancillary = ancillary(self.args.target(), packet);
        let explanation = filter.explain(packet.bytes, packet.original_len, &ancillary);
        self.accepted += u64::from(explanation.verdict > 0);
        self.print(&explanation)
            .map_err(|error| Failure::stdout(&error))
    }

    fn print(&mut self, explanation: &Explanation<'_>) -> io::Result<()> {
        let number = self.packets;
        let is_whole = self.args.number.is_some();
        match (self.args.json, is_whole) {
            (true, _) => {
                let event = event(number, explanation, is_whole);
                writeln!(self.out, "{}", json::line(&event))
            }
            (false, true) => write!(self.out, "{explanation}"),
            (false, false) => writeln!(self.out, "{}", line(number, explanation)),
        }
    }

    fn finish(mut self, name: &str) -> Result<(), Failure> {
        if let Some(number) = self
            .args
            .number
            .filter(|number| self.packets < number.get())
        {
            let line = format!(
                "{name} has only {}, no packet {number}",
                counted(self.packets, "packet")
            );
            return Err(Failure::new(Exit::Failed, line));
        }
        if self.args.json {
            let of = if self.args.number.is_some() {
                1
            } else {
                self.packets
            };
            let event = json!({ "event": "summary", "packets": of, "accepted": self.accepted });
            writeln!(self.out, "{}", json::line(&event))
                .map_err(|error| Failure::stdout(&error))?;
        }
        self.out.flush().map_err(|error| Failure::stdout(&error))
    }
}

/// One line: the verdict, and the term that decided.
fn line(number: u64, explanation: &Explanation<'_>) -> String {
    let verdict = if explanation.verdict > 0 {
        "accepted"
    } else {
        "rejected"
    };
    let why = match (&explanation.no_header, explanation.decided_by) {
        (Some(outcome), _) => format!(", the header before the frame has {outcome}"),
        (None, Some(at)) => {
            let term = &explanation.terms[at];
            let (column, result) = (term.span.start + 1, term.result);
            let words = words(explanation, term);
            format!(", column {column}, {words}: {result}")
        }
        (None, None) => String::new(),
    };
    format!("{number}: {verdict}{why}")
}

fn event(number: u64, explanation: &Explanation<'_>, is_whole: bool) -> Value {
    let term_json = |term: &ExplainedTerm| {
        json!({
            "column": term.span.start + 1,
            "term": words(explanation, term),
            "outcome": term.result.to_string(),
        })
    };
    let decided_by = explanation
        .decided_by
        .map(|at| term_json(&explanation.terms[at]));
    let mut event = json!({
        "event": "packet",
        "number": number,
        "verdict": explanation.verdict,
        "decided_by": decided_by,
    });
    if is_whole {
        let terms: Vec<Value> = explanation.terms.iter().map(term_json).collect();
        event["terms"] = terms.into();
    }
    event
}

/// The text of a term, on one line.
fn words(explanation: &Explanation<'_>, term: &ExplainedTerm) -> String {
    let words = explanation.text.get(term.span.clone()).unwrap_or_default();
    words.replace(char::is_control, " ")
}

/// The metadata of a packet in the file. VLAN tags are always in its bytes.
fn ancillary(at: FilterTargetArg, packet: &Packet<'_>) -> Ancillary {
    let packet_type = match (packet.direction, packet.reception) {
        _ if at == FilterTargetArg::File => None,
        (Some(Direction::Out), _) => Some(libc::PACKET_OUTGOING),
        (_, Some(Reception::Broadcast)) => Some(libc::PACKET_BROADCAST),
        (_, Some(Reception::Multicast)) => Some(libc::PACKET_MULTICAST),
        (_, Some(Reception::Promiscuous)) => Some(libc::PACKET_OTHERHOST),
        (_, Some(Reception::Unicast)) | (Some(Direction::In), None) => Some(libc::PACKET_HOST),
        (None, None) => None,
    };
    Ancillary {
        packet_type,
        queue: packet.queue,
        ..Ancillary::default()
    }
}
