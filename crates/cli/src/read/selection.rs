//! Which packets pass.

use std::fmt::Write;

use std::sync::Arc;

use store::model::{Interface, LinkType, Packet};

use super::expression::Expression;
use super::judge::{Judge, Verdict};
use crate::args::ReadArgs;
use crate::failure::{Exit, Failure};
use crate::filter_file;

/// What was asked for, and what it means for the interfaces seen so far.
pub struct Selection {
    judge: Judge,
    filter: Option<Expression>,
    /// The link type that the program is run on.
    link_type: Option<LinkType>,
    names: Vec<String>,
    /// Whether an interface has been seen, for each of `names`.
    seen: Vec<bool>,
}

impl Selection {
    pub fn new(args: &ReadArgs, filter: Option<Expression>) -> Result<Self, Failure> {
        let times = (args.from.is_some() || args.to.is_some()).then(|| {
            let from = args.from.map_or(0, |from| from.0);
            (from, args.to.map_or(u64::MAX, |to| to.0))
        });
        if times.is_some_and(|(from, to)| from >= to) {
            return Err(Failure::new(Exit::Usage, "--from is not before --to"));
        }
        Ok(Self {
            judge: Judge {
                times,
                program: args
                    .bpf
                    .as_deref()
                    .map(filter_file::program)
                    .transpose()?
                    .map(Arc::new),
                interfaces: Vec::new(),
            },
            filter: filter.filter(|filter| !filter.is_blank()),
            link_type: None,
            names: args.interface.clone(),
            seen: vec![false; args.interface.len()],
        })
    }

    /// Forgets the interfaces, for another file.
    pub fn begin_file(&mut self) {
        self.judge.interfaces.clear();
        self.link_type = None;
    }

    /// Packets name it by the number of interfaces added before.
    ///
    /// Fails where the filter cannot be read for the interface's link type, and where the filter
    /// program would be run on packets of two link types: it was made for one.
    pub fn add_interface(&mut self, interface: &Interface) -> Result<(), Failure> {
        let name = interface.name.as_deref().unwrap_or_default();
        let mut passes = self.names.is_empty();
        for (wanted, seen) in self.names.iter().zip(&mut self.seen) {
            if wanted == name {
                (*seen, passes) = (true, true);
            }
        }
        let verdict = self.verdict(interface, passes)?;
        self.judge.interfaces.push(verdict);
        if self.judge.program.is_none() || !passes {
            return Ok(());
        }
        match self.link_type.replace(interface.link_type) {
            Some(other) if other != interface.link_type => Err(Failure::new(
                Exit::Failed,
                format!(
                    "a filter program is made for one link type, and there are packets of types {} \
                     and {} (choose interfaces with -i)",
                    other.0, interface.link_type.0
                ),
            )),
            _ => Ok(()),
        }
    }

    fn verdict(&mut self, interface: &Interface, passes: bool) -> Result<Verdict, Failure> {
        let Some(filter) = self.filter.as_mut().filter(|_| passes) else {
            return Ok(if passes {
                Verdict::Pass
            } else {
                Verdict::Refuse
            });
        };
        let matcher = filter.compile(interface)?;
        Ok(matcher.map_or(Verdict::Refuse, Verdict::Match))
    }

    #[inline]
    pub fn passes(&self, packet: &Packet<'_>) -> bool {
        self.judge.passes(packet)
    }

    /// What [`Self::passes`] says, of packets of the interfaces added so far.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }

    /// Whether it may refuse a packet.
    pub fn is_any(&self) -> bool {
        self.judge.times.is_some()
            || self.judge.program.is_some()
            || self.filter.is_some()
            || !self.names.is_empty()
    }

    /// Fails where a file has no interface of a name asked for, or the filter rejects everything.
    pub fn check(&self) -> Result<(), Failure> {
        self.check_names()?;
        self.filter.as_ref().map_or(Ok(()), Expression::check)
    }

    fn check_names(&self) -> Result<(), Failure> {
        let mut line = String::new();
        for (name, seen) in self.names.iter().zip(&self.seen) {
            if !seen {
                let comma = if line.is_empty() { "" } else { ", " };
                // A String takes whatever is written to it.
                let _ = write!(line, "{comma}{name}");
            }
        }
        if line.is_empty() {
            return Ok(());
        }
        let line = format!("no interface is called {line} (--summary tells which there are)");
        Err(Failure::new(Exit::Failed, line))
    }
}
