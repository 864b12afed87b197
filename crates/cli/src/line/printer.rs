//! Lines on standard output.

use std::io::{self, Write};

use store::model::{Interface, LinkType, Packet};

use super::{LineOptions, write_json, write_line};
use crate::output;

/// Text that gathers before it is written.
const GATHER_BYTES: usize = 64 << 10;

/// Prints a line for each packet; lines gather until there are many or they are flushed.
pub struct Printer {
    text: String,
    interfaces: Vec<(LinkType, String)>,
    options: LineOptions,
    json: bool,
    /// Lines that wait in `text`.
    waiting: u64,
    lost: u64,
}

impl Printer {
    pub fn new(json: bool) -> Self {
        Self {
            text: String::with_capacity(2 * GATHER_BYTES),
            interfaces: Vec::new(),
            options: LineOptions::default(),
            json,
            waiting: 0,
            lost: 0,
        }
    }

    /// Packets name it by the number of interfaces added before.
    pub fn add_interface(&mut self, interface: &Interface) {
        let name = interface.name.clone().unwrap_or_default();
        self.interfaces.push((interface.link_type, name));
    }

    /// Does not allocate once the text has its size. On an error the packet was not taken.
    pub fn print(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        // First, so that a failure is about the lines before this one.
        if self.text.len() >= GATHER_BYTES {
            self.flush()?;
        }
        let (link_type, name) = &self.interfaces[packet.interface as usize];
        if self.json {
            write_json(&mut self.text, packet, *link_type, name);
        } else {
            write_line(&mut self.text, packet, *link_type, name, &self.options);
        }
        self.waiting += 1;
        Ok(())
    }

    /// Writes the lines that wait.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let result = out
            .write_all(self.text.as_bytes())
            .and_then(|()| out.flush());
        self.text.clear();
        let waiting = std::mem::take(&mut self.waiting);
        if result.is_err() {
            self.lost += waiting;
        }
        result.map_err(|error| output::named(&error))
    }

    /// Packets whose line may not have been written.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
