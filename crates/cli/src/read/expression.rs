//! The filter as a text, and what it makes of the packets of an interface.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use filter::{Filter, FilterError, Names, Options, Reason, Transport};
use store::model::{Interface, LinkType};

use super::matcher::Matcher;
use crate::failure::{Exit, Failure};
use crate::filter::{shown, warn};
use crate::names::System;

/// A filter in the language of pcap-filter(7), compiled for each link type that there are packets of.
pub struct Expression {
    text: String,
    /// The word with which it begins, if that may be a misspelt file, and whether a file follows it.
    file_meant: Option<(String, bool)>,
    names: System,
    has_warned: bool,
    /// No matcher for link types no packet of which can match.
    compiled: Vec<(LinkType, Option<Arc<Matcher>>)>,
}

impl Expression {
    pub fn new(text: String, file_meant: Option<(String, bool)>) -> Self {
        Self {
            text,
            file_meant,
            names: System::new(),
            has_warned: false,
            compiled: Vec::new(),
        }
    }

    /// Whether it asks for anything.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// What packets of `interface` are matched with; `None` if none can match.
    pub fn compile(&mut self, interface: &Interface) -> Result<Option<Arc<Matcher>>, Failure> {
        let link_type = interface.link_type;
        if let Some((_, known)) = self.compiled.iter().find(|(known, _)| *known == link_type) {
            return Ok(known.clone());
        }
        let Some(link) = filter::LinkType::from_number(link_type.0.into()) else {
            let line = format!(
                "filters are not supported on link type {}, that of {} (choose interfaces with -i)",
                link_type.0,
                Named(interface)
            );
            return Err(Failure::new(Exit::Unsupported, line));
        };
        let mut options = Options::new(link);
        // As tcpdump -r: a file does not tell the network's mask.
        options.netmask = Some(Ipv4Addr::UNSPECIFIED);
        let matcher = match Filter::new(&self.text, &options, &self.names()) {
            Ok(filter) => {
                // Once: link types differ little in what words change.
                if !std::mem::replace(&mut self.has_warned, true) {
                    warn(&self.text, filter.warnings());
                }
                Some(Arc::new(Matcher::new(filter)))
            }
            Err(error) if error.reason == Reason::RejectsAll => None,
            Err(error) => return Err(self.failure(&error, link, interface)),
        };
        self.compiled.push((link_type, matcher.clone()));
        Ok(matcher)
    }

    fn names(&self) -> Guarded<'_> {
        let word = self.file_meant.as_ref().map(|(word, _)| word.as_str());
        Guarded {
            names: &self.names,
            word,
        }
    }

    /// Fails if it matches no packet whatever, of none of the interfaces: nobody asks for that.
    pub fn check(&self) -> Result<(), Failure> {
        if self.compiled.is_empty() || self.compiled.iter().any(|(_, one)| one.is_some()) {
            return Ok(());
        }
        Err(Failure::new(Exit::Usage, "the filter rejects all packets"))
    }

    fn failure(
        &self,
        error: &FilterError,
        link: filter::LinkType,
        interface: &Interface,
    ) -> Failure {
        if let Some((word, has_files)) = &self.file_meant
            && error.suggestion.is_none()
            && is_of_words(&error.reason)
            && (error.span.start < word.len() || *has_files)
        {
            let line =
                format!("cannot open {word}: no such file, and it begins no filter: {error}");
            return Failure::new(Exit::Failed, line);
        }
        let line = format!(
            "filter is wrong for {} (link type {link}): {error}",
            Named(interface)
        );
        Failure {
            below: shown(&self.text, error),
            ..Failure::new(Exit::Usage, line)
        }
    }
}

/// Whether the words are no filter, whatever the packets are.
fn is_of_words(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Unknown { .. }
            | Reason::Unexpected { .. }
            | Reason::Character
            | Reason::InvalidIpv4(_)
            | Reason::InvalidIpv6(_)
            | Reason::InvalidMac(_)
    )
}

/// The names of this machine, but for the word that may be a misspelt file: no server is asked for
/// that. Who means a host writes `host NAME`.
struct Guarded<'a> {
    names: &'a System,
    word: Option<&'a str>,
}

impl Names for Guarded<'_> {
    fn host(&self, name: &str) -> Vec<IpAddr> {
        if self.word == Some(name) {
            return Vec::new();
        }
        self.names.host(name)
    }

    fn network(&self, name: &str) -> Option<Ipv4Addr> {
        self.names.network(name)
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        self.names.ethernet(name)
    }

    fn port(&self, name: &str, transport: Transport) -> Option<u16> {
        self.names.port(name, transport)
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        self.names.protocol(name)
    }
}

/// How people call an interface.
struct Named<'a>(&'a Interface);

impl fmt::Display for Named<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.name {
            Some(name) => write!(out, "interface {name}"),
            None => out.write_str("an interface without a name"),
        }
    }
}
