//! Prints packet lines on standard output.

use std::io::{self, Write};

use tapline::Packet;
use tapline::file::model::{self, Interface, LinkType};
use tapline::read::{ConsumerError, ReadConsumer};
use tapline::who::{ProcessCounts, ProcessFinder};

use super::LineOptions;
use super::buffer::Text;
use super::json::write_json;
use super::text::LineWriter;
use crate::output;

/// Buffered text that causes a write.
const BUFFER_BYTES: usize = 64 << 10;

/// Prints a line for each packet. Lines are buffered until there are many, or until a flush.
pub struct Printer {
    text: Text,
    interfaces: Vec<(LinkType, String)>,
    lines: LineWriter,
    json: bool,
    /// Finds the processes of packets.
    finder: Option<Box<ProcessFinder>>,
    /// Number of lines in `text`.
    buffered: u64,
    lost: u64,
}

impl Printer {
    /// Prints JSON, or else text with these options.
    pub fn new(json: bool, options: LineOptions) -> Self {
        Self {
            text: Text::with_capacity(2 * BUFFER_BYTES),
            interfaces: Vec::new(),
            lines: LineWriter::new(options),
            json,
            finder: None,
            buffered: 0,
            lost: 0,
        }
    }

    /// Adds the next interface. Packets refer to it by its number.
    pub fn add_interface(&mut self, interface: &Interface) {
        let name = interface.name.clone().unwrap_or_default();
        self.interfaces.push((interface.link_type, name));
    }

    /// Also prints the processes that sent packets.
    pub fn find_processes(&mut self, finder: ProcessFinder) {
        self.finder = Some(Box::new(finder));
    }

    /// Packets by whether their process was found; `None` if that was not wanted.
    pub fn process_counts(&self) -> Option<ProcessCounts> {
        self.finder.as_ref().map(|finder| finder.counts())
    }

    /// Does not allocate per packet. On an error the packet was not taken.
    pub fn print(&mut self, packet: &model::Packet<'_>) -> io::Result<()> {
        // First, so that a failure is about the lines before this one.
        if self.text.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        let (link_type, name) = &self.interfaces[packet.interface as usize];
        let finder = self.finder.as_mut();
        let found = finder.and_then(|finder| finder.find(&Packet::from(*packet)));
        let packet = &model::Packet {
            process_id: found.map_or(packet.process_id, |found| Some(found.process.id)),
            comment: found.map_or(packet.comment, |found| Some(&found.words)),
            ..*packet
        };
        if self.json {
            write_json(&mut self.text, packet, *link_type, name);
        } else {
            self.lines.write(&mut self.text, packet, *link_type, name);
        }
        self.buffered += 1;
        Ok(())
    }

    /// Writes the buffered lines.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let result = out
            .write_all(self.text.as_bytes())
            .and_then(|()| out.flush());
        self.text.clear();
        let buffered = std::mem::take(&mut self.buffered);
        if result.is_err() {
            self.lost += buffered;
        }
        result.map_err(|error| output::named(&error))
    }

    /// Packets whose lines may not have been written.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl ReadConsumer for Printer {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        Ok(self.print(packet.record())?)
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.add_interface(interface);
        Ok(())
    }

    fn idle(&mut self) -> Result<(), ConsumerError> {
        Ok(self.flush()?)
    }

    fn finish(&mut self) -> Result<(), ConsumerError> {
        Ok(self.flush()?)
    }

    fn lost(&self) -> u64 {
        self.lost
    }
}
