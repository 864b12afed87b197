//! Generates long lists of alternatives.

use super::Writer;
use crate::oracle::pool;

/// The type of a list's entries.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Host4,
    Host6,
    Net,
    Port,
    Mac,
    Protocol,
    Load,
}

impl Writer<'_> {
    /// Writes enough alternatives to form a set: hosts, networks, ports or numbers.
    pub(super) fn list(&mut self) -> String {
        let mut kinds = vec![
            Entry::Host4,
            Entry::Host4,
            Entry::Host6,
            Entry::Net,
            Entry::Port,
            Entry::Port,
            Entry::Protocol,
            Entry::Load,
        ];
        if self.has_macs() && !self.headers.has_labels {
            kinds.push(Entry::Mac);
        }
        let kind = *self.random.pick(&kinds);
        let other = *self.random.pick(&kinds);
        let count = self.random.between(14, 40);
        let mixes = self.random.one_in(3);
        let turns = self.random.one_in(3);
        let direction = self.direction();
        let field = self.random.word(&[
            "ip[8]",
            "ip[2:2]",
            "udp[4:2]",
            "tcp[13]",
            "len",
            "ip[12:4] & 0xffffff0f",
        ]);
        let mut entries = Vec::new();
        for _ in 0..count {
            let kind = if mixes && self.random.one_in(4) {
                other
            } else {
                kind
            };
            let direction = if turns { self.direction() } else { direction };
            entries.push(self.entry(kind, direction, field));
        }
        let join = self.random.word(&[" or ", " or ", " or ", " || "]);
        let list = entries.join(join);
        // A conjunction of negated entries also forms a set.
        if self.random.one_in(8) {
            let refused: Vec<String> = entries.iter().map(|entry| format!("not {entry}")).collect();
            return refused.join(" and ");
        }
        list
    }

    fn entry(&mut self, kind: Entry, direction: &str, field: &str) -> String {
        match kind {
            Entry::Host4 => format!("{direction}host {}", pool::address4(self.random)),
            Entry::Host6 => format!("{direction}host {}", pool::address6(self.random)),
            Entry::Net => {
                let net = self.network();
                format!("{direction}net {net}")
            }
            Entry::Port => {
                let port = self.port_or_range();
                let transport = self.random.word(&["", "", "", "tcp ", "udp "]);
                format!("{transport}{direction}{port}")
            }
            Entry::Mac => format!("ether {direction}host {}", self.mac()),
            Entry::Protocol => format!("ip proto {}", self.random.below(256)),
            Entry::Load => format!("{field} = {}", self.random.below(120)),
        }
    }
}
