//! Packets to the screen, a line each.

use std::io::{self, Write};

use store::model::{Interface, LinkType, Packet};
use tapline::capture::{Consumer, ConsumerError};

use crate::line::{LineOptions, write_json, write_line};

/// Text that gathers before it is written, while packets are waiting.
const GATHER_BYTES: usize = 64 << 10;

/// Prints packets; lines gather while packets are waiting and are written when none is.
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
    pub fn new(json: bool, interfaces: &[Interface]) -> Self {
        let named = |interface: &Interface| {
            (
                interface.link_type,
                interface.name.clone().unwrap_or_default(),
            )
        };
        Self {
            text: String::with_capacity(2 * GATHER_BYTES),
            interfaces: interfaces.iter().map(named).collect(),
            options: LineOptions::default(),
            json,
            waiting: 0,
            lost: 0,
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let result = out
            .write_all(self.text.as_bytes())
            .and_then(|()| out.flush());
        self.text.clear();
        let waiting = std::mem::take(&mut self.waiting);
        if result.is_err() {
            self.lost += waiting;
        }
        result.map_err(|source| {
            io::Error::new(
                source.kind(),
                format!("cannot write to standard output: {source}"),
            )
        })
    }
}

impl Consumer for Printer {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let (link_type, name) = &self.interfaces[packet.interface as usize];
        if self.json {
            write_json(&mut self.text, packet, *link_type, name);
        } else {
            write_line(&mut self.text, packet, *link_type, name, &self.options);
        }
        self.waiting += 1;
        if self.text.len() >= GATHER_BYTES {
            self.write()?;
        }
        Ok(())
    }

    fn idle(&mut self, _now_ns: u64) -> Result<(), ConsumerError> {
        Ok(self.write()?)
    }

    fn finish(&mut self, _statistics: &[store::model::Statistics]) -> Result<(), ConsumerError> {
        Ok(self.write()?)
    }

    fn lost(&self) -> u64 {
        self.lost
    }
}
