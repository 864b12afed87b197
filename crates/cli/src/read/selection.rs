//! Which packets pass.

use std::fmt::Write;

use filter::classic::{Ancillary, Program};
use store::model::{Direction, Interface, LinkType, Packet, Reception};

use crate::args::ReadArgs;
use crate::failure::{Exit, Failure};
use crate::program;

/// The conditions that a packet has to meet, all of them.
pub struct Selection {
    /// From the first time on, before the second, nanoseconds since 1970 UTC.
    times: Option<(u64, u64)>,
    program: Option<Program>,
    /// The link type that the program is run on.
    link_type: Option<LinkType>,
    names: Vec<String>,
    /// Whether an interface has been seen, for each of `names`.
    seen: Vec<bool>,
    /// Whether the interface's packets may pass, for each interface.
    interfaces: Vec<bool>,
}

impl Selection {
    pub fn new(args: &ReadArgs) -> Result<Self, Failure> {
        let times = (args.from.is_some() || args.to.is_some()).then(|| {
            let from = args.from.map_or(0, |from| from.0);
            (from, args.to.map_or(u64::MAX, |to| to.0))
        });
        if times.is_some_and(|(from, to)| from >= to) {
            return Err(Failure::new(Exit::Usage, "--from is not before --to"));
        }
        Ok(Self {
            times,
            program: args.bpf.as_deref().map(program::read).transpose()?,
            link_type: None,
            names: args.interface.clone(),
            seen: vec![false; args.interface.len()],
            interfaces: Vec::new(),
        })
    }

    /// Forgets the interfaces, for another file.
    pub fn begin_file(&mut self) {
        self.interfaces.clear();
        self.link_type = None;
    }

    /// Packets name it by the number of interfaces added before.
    ///
    /// Fails where the filter program would be run on packets of two link types: it was made for one.
    pub fn add_interface(&mut self, interface: &Interface) -> Result<(), Failure> {
        let name = interface.name.as_deref().unwrap_or_default();
        let mut passes = self.names.is_empty();
        for (wanted, seen) in self.names.iter().zip(&mut self.seen) {
            if wanted == name {
                (*seen, passes) = (true, true);
            }
        }
        self.interfaces.push(passes);
        if self.program.is_none() || !passes {
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

    #[inline]
    pub fn passes(&self, packet: &Packet<'_>) -> bool {
        if let Some((from, to)) = self.times
            && !packet.timestamp_ns.is_some_and(|ns| from <= ns && ns < to)
        {
            return false;
        }
        if !self.interfaces[packet.interface as usize] {
            return false;
        }
        match &self.program {
            None => true,
            Some(program) => {
                let known = ancillary(packet);
                program.run_with(packet.bytes, packet.original_len, &known) != 0
            }
        }
    }

    /// Fails where a file has no interface of a name asked for.
    pub fn check_names(&self) -> Result<(), Failure> {
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

/// What the file knows of a packet beside its bytes, so that a program gives the verdict that it
/// gave while capturing.
fn ancillary(packet: &Packet<'_>) -> Ancillary {
    let packet_type = match (packet.direction, packet.reception) {
        (Some(Direction::Out), _) => Some(PACKET_OUTGOING),
        (_, Some(Reception::Broadcast)) => Some(PACKET_BROADCAST),
        (_, Some(Reception::Multicast)) => Some(PACKET_MULTICAST),
        (_, Some(Reception::Promiscuous)) => Some(PACKET_OTHERHOST),
        // Where it is not known to whom: that it came in decides "inbound" and "outbound".
        (_, Some(Reception::Unicast)) | (Some(Direction::In), None) => Some(PACKET_HOST),
        (None, None) => None,
    };
    Ancillary {
        packet_type,
        queue: packet.queue,
        ..Ancillary::default()
    }
}

// include/uapi/linux/if_packet.h
const PACKET_HOST: u8 = 0;
const PACKET_BROADCAST: u8 = 1;
const PACKET_MULTICAST: u8 = 2;
const PACKET_OTHERHOST: u8 = 3;
const PACKET_OUTGOING: u8 = 4;
