//! What a filter says of the packets of a capture file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::rc::Rc;

use filter::classic::Ancillary;
use filter::{Explanation, Filter, FilterError, LinkType, TermOutcome};
use serde_json::{Value, json};
use store::model::{Direction, Packet, Reception};
use store::read::{Item, Reader};

use super::wording::{refused, warn};
use crate::args::{FilterArgs, Place};
use crate::failure::{Exit, Failure, chain};
use crate::json;

/// Reads the filter for packets of a link type.
type Read<'a> = dyn Fn(LinkType) -> Result<Filter, FilterError> + 'a;

pub fn run(args: &FilterArgs, path: &Path, text: &str, read: &Read<'_>) -> Result<Exit, Failure> {
    let name = path.display().to_string();
    let mut reader =
        open(path).map_err(|error| Failure::job_on(format!("cannot open {name}"), &*error))?;
    let mut filters = Filters::new(text, read);
    let mut told = Told::new(args);
    let broken = loop {
        if told.is_enough() {
            break None;
        }
        match reader.next_item() {
            Ok(Some(Item::Packet(packet))) => told.packet(&packet, &filters)?,
            Ok(Some(Item::Interface { interface, .. })) => filters.add(interface.link_type.0)?,
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    told.finish(&name)?;
    match broken {
        Some(error) => Err(Failure::new(
            Exit::Failed,
            format!("{name}: {}", chain(&error)),
        )),
        None => Ok(Exit::Done),
    }
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

/// The filter for each interface of the file, read once for each link type.
struct Filters<'a> {
    text: &'a str,
    read: &'a Read<'a>,
    by_link_type: HashMap<u16, Rc<Filter>>,
    /// By the number of the interface: its link type, and the filter where there can be one.
    interfaces: Vec<(u16, Option<Rc<Filter>>)>,
}

impl<'a> Filters<'a> {
    fn new(text: &'a str, read: &'a Read<'a>) -> Self {
        Self {
            text,
            read,
            by_link_type: HashMap::new(),
            interfaces: Vec::new(),
        }
    }

    fn add(&mut self, link_type: u16) -> Result<(), Failure> {
        let known = LinkType::from_number(link_type.into());
        if let (Some(link), false) = (known, self.by_link_type.contains_key(&link_type)) {
            let filter = (self.read)(link).map_err(|error| refused(self.text, &error))?;
            if self.by_link_type.is_empty() {
                warn(self.text, filter.warnings());
            }
            self.by_link_type.insert(link_type, Rc::new(filter));
        }
        let filter = self.by_link_type.get(&link_type).cloned();
        self.interfaces.push((link_type, filter));
        Ok(())
    }

    fn of(&self, packet: &Packet<'_>) -> Result<&Filter, Failure> {
        match self.interfaces.get(packet.interface as usize) {
            Some((_, Some(filter))) => Ok(filter),
            Some((link_type, None)) => Err(Failure::new(
                Exit::Unsupported,
                format!("filters are not supported on link type {link_type}"),
            )),
            None => Err(Failure::new(
                Exit::Failed,
                "a packet of an unknown interface",
            )),
        }
    }
}

/// What has been told of the packets.
struct Told<'a> {
    args: &'a FilterArgs,
    out: BufWriter<io::StdoutLock<'static>>,
    packets: u64,
    accepted: u64,
}

impl<'a> Told<'a> {
    fn new(args: &'a FilterArgs) -> Self {
        Self {
            args,
            out: BufWriter::new(io::stdout().lock()),
            packets: 0,
            accepted: 0,
        }
    }

    fn is_enough(&self) -> bool {
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
        let ancillary = ancillary(self.args.place(), packet);
        let explanation = filter.explain(packet.bytes, packet.original_len, &ancillary);
        self.accepted += u64::from(explanation.verdict > 0);
        self.tell(&explanation).map_err(|error| unwritable(&error))
    }

    fn tell(&mut self, explanation: &Explanation<'_>) -> io::Result<()> {
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
                "{name} has {} packets, none of number {number}",
                self.packets
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
            writeln!(self.out, "{}", json::line(&event)).map_err(|error| unwritable(&error))?;
        }
        self.out.flush().map_err(|error| unwritable(&error))
    }
}

/// Which term decided on the packet, in a line.
fn line(number: u64, explanation: &Explanation<'_>) -> String {
    let verdict = if explanation.verdict > 0 {
        "accepted"
    } else {
        "refused"
    };
    let why = match (&explanation.no_header, explanation.decided_by) {
        (Some(outcome), _) => format!(", the header before the frame has {outcome}"),
        (None, Some(at)) => {
            let term = &explanation.terms[at];
            let (column, outcome) = (term.span.start + 1, term.outcome);
            let words = words(explanation, term);
            format!(", column {column}, {words}: {outcome}")
        }
        (None, None) => String::new(),
    };
    format!("{number}: {verdict}{why}")
}

fn event(number: u64, explanation: &Explanation<'_>, is_whole: bool) -> Value {
    let told = |term: &TermOutcome| {
        json!({
            "column": term.span.start + 1,
            "term": words(explanation, term),
            "outcome": term.outcome.to_string(),
        })
    };
    let decided_by = explanation
        .decided_by
        .map(|at| told(&explanation.terms[at]));
    let mut event = json!({
        "event": "packet",
        "number": number,
        "verdict": explanation.verdict,
        "decided_by": decided_by,
    });
    if is_whole {
        let terms: Vec<Value> = explanation.terms.iter().map(told).collect();
        event["terms"] = terms.into();
    }
    event
}

/// The words of a term, on one line.
fn words(explanation: &Explanation<'_>, term: &TermOutcome) -> String {
    let words = explanation.text.get(term.span.clone()).unwrap_or_default();
    words.replace(char::is_control, " ")
}

fn unwritable(error: &io::Error) -> Failure {
    Failure::stdout(error)
}

/// What the file knows of a packet beside its bytes. Whatever the place, its VLAN tags are in them.
fn ancillary(at: Place, packet: &Packet<'_>) -> Ancillary {
    let packet_type = match (packet.direction, packet.reception) {
        _ if at == Place::File => None,
        (Some(Direction::Out), _) => Some(4),
        (_, Some(Reception::Broadcast)) => Some(1),
        (_, Some(Reception::Multicast)) => Some(2),
        (_, Some(Reception::Promiscuous)) => Some(3),
        (_, Some(Reception::Unicast)) | (Some(Direction::In), None) => Some(0),
        (None, None) => None,
    };
    Ancillary {
        packet_type,
        queue: packet.queue,
        ..Ancillary::default()
    }
}
