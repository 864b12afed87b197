//! What is said at the end.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::output::Written;
use crate::units::grouped;

/// The packets, counted: `received = delivered + filtered + lost`.
#[derive(Debug, Default)]
pub struct Tally {
    /// Read from the files.
    pub received: u64,
    /// Passed the selection; those lost later included.
    pub passed: u64,
    /// Passed, but could not be written.
    pub lost: u64,
    pub written: Written,
}

impl Tally {
    fn delivered(&self) -> u64 {
        self.passed - self.lost
    }

    fn filtered(&self) -> u64 {
        self.received - self.passed
    }

    pub fn json(&self, inputs: &[String], errors: &[Option<String>]) -> Value {
        let inputs: Vec<_> = inputs
            .iter()
            .zip(errors)
            .map(|(name, error)| json!({ "file": name, "error": error }))
            .collect();
        json!({
            "event": "summary",
            "received": self.received,
            "delivered": self.delivered(),
            "filtered": self.filtered(),
            "written": self.written.packets,
            "bytes_written": self.written.bytes,
            "lost": { "writer": self.lost },
            "inputs": inputs,
            "files": self.written.names(),
        })
    }

    pub fn tell(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} packets read = {} delivered + {} filtered + {} lost",
            grouped(self.received),
            grouped(self.delivered()),
            grouped(self.filtered()),
            grouped(self.lost)
        )?;
        self.written.tell(out)
    }
}
