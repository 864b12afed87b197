//! Which packets are delivered: filter, program, interfaces, times and numbers.

use std::ops::Range;
use std::sync::Arc;

use filter::classic::{Ancillary, ClassicProgram};
use filter::{Filter, FilterErrorReason, FilterOptions, FilterWarning};
use store::model::{Interface, LinkType, Packet};

use super::error::ReadError;
use super::indexed::IndexQuery;
use super::numbers::PacketNumbers;
use crate::Expression;
use crate::compiled_filter::{CompiledFilter, packet_type};

/// Receives the warnings of a compiled filter.
pub(super) type WarningHandler = Box<dyn FnMut(&[FilterWarning]) + Send>;

/// The conditions as the user gave them.
#[derive(Default)]
pub(super) struct Conditions {
    pub expression: Option<Expression>,
    pub program: Option<ClassicProgram>,
    /// Names of interfaces; empty for all.
    pub interfaces: Vec<String>,
    pub from_ns: Option<u64>,
    pub to_ns: Option<u64>,
    pub numbers: Option<PacketNumbers>,
    pub on_warnings: Option<WarningHandler>,
}

/// The conditions, compiled for the interfaces read so far.
pub(super) struct Selection {
    matcher: PacketMatcher,
    /// The numbers that packets may have. `None`: any.
    pub numbers: Option<PacketNumbers>,
    compiler: Option<ExpressionCompiler>,
    /// The link type that the program runs on.
    program_link_type: Option<LinkType>,
    names: Vec<String>,
    /// Whether an interface was found for each of `names`.
    found: Vec<bool>,
}

impl Selection {
    pub(super) fn new(conditions: Conditions) -> Result<Self, ReadError> {
        let is_timed = conditions.from_ns.is_some() || conditions.to_ns.is_some();
        let times = conditions.from_ns.unwrap_or(0)..conditions.to_ns.unwrap_or(u64::MAX);
        if is_timed && times.is_empty() {
            return Err(ReadError::EmptyTimeRange);
        }
        let expression = conditions
            .expression
            .filter(|expression| !expression.text.trim().is_empty());
        Ok(Self {
            matcher: PacketMatcher {
                times: is_timed.then_some(times),
                program: conditions.program.map(Arc::new),
                interfaces: Vec::new(),
            },
            numbers: conditions.numbers,
            compiler: expression.map(|expression| ExpressionCompiler {
                expression,
                on_warnings: conditions.on_warnings,
                compiled: Vec::new(),
            }),
            program_link_type: None,
            found: vec![false; conditions.interfaces.len()],
            names: conditions.interfaces,
        })
    }

    /// What an index is searched for: what every selected packet has.
    pub(super) fn index_query(&self) -> IndexQuery {
        let text = self
            .compiler
            .as_ref()
            .map(|compiler| &compiler.expression.text);
        // An error in the text is reported when it is compiled.
        let required = text.and_then(|text| filter::required_keys(text).ok());
        IndexQuery {
            required: required.unwrap_or(filter::RequiredKeys::Nothing),
            times: self.matcher.times.clone(),
        }
    }

    /// Forgets the interfaces, to read another file.
    pub(super) fn begin_file(&mut self) {
        self.matcher.interfaces.clear();
        self.program_link_type = None;
    }

    /// Compiles the filter for the next interface. Packets refer to it by its number.
    pub(super) fn add_interface(&mut self, interface: &Interface) -> Result<(), ReadError> {
        let name = interface.name.as_deref().unwrap_or_default();
        let mut is_selected = self.names.is_empty();
        for (wanted, found) in self.names.iter().zip(&mut self.found) {
            if wanted == name {
                (*found, is_selected) = (true, true);
            }
        }
        let number = self.matcher.interfaces.len();
        let rule = match &mut self.compiler {
            _ if !is_selected => InterfaceRule::Reject,
            None => InterfaceRule::Accept,
            Some(compiler) => compiler
                .compile(interface, number)?
                .map_or(InterfaceRule::Reject, InterfaceRule::Filter),
        };
        self.matcher.interfaces.push(rule);
        if self.matcher.program.is_none() || !is_selected {
            return Ok(());
        }
        match self.program_link_type.replace(interface.link_type) {
            Some(first) if first != interface.link_type => Err(ReadError::ProgramLinkTypes {
                first,
                second: interface.link_type,
            }),
            _ => Ok(()),
        }
    }

    /// The matcher for packets of the interfaces added so far. Threads use clones of it.
    #[inline]
    pub(super) fn matcher(&self) -> &PacketMatcher {
        &self.matcher
    }

    /// Whether it accepts a packet that is number `number` of those read, from 1.
    #[inline]
    pub(super) fn accepts(&self, number: u64, packet: &Packet<'_>) -> bool {
        let numbers = self.numbers.as_ref();
        numbers.is_none_or(|numbers| numbers.contains(number)) && self.matcher.accepts(packet)
    }

    /// The last number that a packet may have.
    pub(super) fn last_number(&self) -> u64 {
        let numbers = self.numbers.as_ref();
        numbers.map_or(u64::MAX, PacketNumbers::last)
    }

    /// Whether it can reject a packet because of anything but its number.
    pub(super) fn is_any(&self) -> bool {
        self.matcher.times.is_some()
            || self.matcher.program.is_some()
            || self.compiler.is_some()
            || !self.names.is_empty()
    }

    /// Fails if no input has an interface of a given name, or if the filter rejects everything.
    pub(super) fn check(&self) -> Result<(), ReadError> {
        let missing: Vec<String> = self
            .names
            .iter()
            .zip(&self.found)
            .filter(|(_, found)| !**found)
            .map(|(name, _)| name.clone())
            .collect();
        if !missing.is_empty() {
            return Err(ReadError::UnknownInterfaces(missing));
        }
        match &self.compiler {
            Some(compiler) if compiler.rejects_all() => Err(ReadError::FilterRejectsAll),
            _ => Ok(()),
        }
    }
}

/// Decides which packets are delivered. Shared by threads.
#[derive(Clone)]
pub(super) struct PacketMatcher {
    /// Nanoseconds since 1970 UTC.
    times: Option<Range<u64>>,
    program: Option<Arc<ClassicProgram>>,
    interfaces: Vec<InterfaceRule>,
}

/// The condition for packets of one interface, beside times and program.
#[derive(Clone)]
enum InterfaceRule {
    Accept,
    Reject,
    Filter(Arc<CompiledFilter>),
}

impl PacketMatcher {
    #[inline]
    pub(super) fn accepts(&self, packet: &Packet<'_>) -> bool {
        if let Some(times) = &self.times
            && !packet.timestamp_ns.is_some_and(|ns| times.contains(&ns))
        {
            return false;
        }
        let accepts = match &self.interfaces[packet.interface as usize] {
            InterfaceRule::Accept => true,
            InterfaceRule::Reject => false,
            InterfaceRule::Filter(filter) => filter.accepts(packet.bytes, packet.original_len),
        };
        accepts
            && self.program.as_ref().is_none_or(|program| {
                program.run_with(packet.bytes, packet.original_len, &ancillary(packet)) != 0
            })
    }
}

/// The metadata of a packet in the file, with which a program returns the same as while capturing.
fn ancillary(packet: &Packet<'_>) -> Ancillary {
    Ancillary {
        packet_type: packet_type(packet.direction, packet.reception),
        queue: packet.queue,
        ..Ancillary::default()
    }
}

/// Compiles an expression for each link type.
struct ExpressionCompiler {
    expression: Expression,
    /// Called once: warnings hardly depend on the link type.
    on_warnings: Option<WarningHandler>,
    /// `None` for link types of which the filter rejects every packet. All unknown types share an entry: a file can have many.
    compiled: Vec<(filter::LinkType, Option<Arc<CompiledFilter>>)>,
}

impl ExpressionCompiler {
    fn compile(
        &mut self,
        interface: &Interface,
        number: usize,
    ) -> Result<Option<Arc<CompiledFilter>>, ReadError> {
        let link = filter::LinkType::from_number(interface.link_type.0);
        // On types without a name only lengths and bytes are known, whatever their number.
        let key = match link {
            filter::LinkType::Other(_) => filter::LinkType::Other(0),
            known => known,
        };
        if let Some((_, known)) = self.compiled.iter().find(|(known, _)| *known == key) {
            return Ok(known.clone());
        }
        let mut options = FilterOptions::new(link);
        // As tcpdump -r: the netmask is not in the file.
        options.netmask = Some(std::net::Ipv4Addr::UNSPECIFIED);
        let Expression { text, names } = &self.expression;
        let filter = match Filter::new(text, &options, &**names) {
            Ok(filter) => {
                if let Some(mut on_warnings) = self.on_warnings.take() {
                    on_warnings(filter.warnings());
                }
                Some(Arc::new(CompiledFilter::new(filter)))
            }
            Err(error) if error.reason == FilterErrorReason::RejectsAll => None,
            Err(error) => {
                return Err(ReadError::Filter {
                    interface: interface.name.clone().unwrap_or(number.to_string()),
                    link,
                    source: Box::new(error),
                });
            }
        };
        self.compiled.push((key, filter.clone()));
        Ok(filter)
    }

    fn rejects_all(&self) -> bool {
        !self.compiled.is_empty() && self.compiled.iter().all(|(_, filter)| filter.is_none())
    }
}
