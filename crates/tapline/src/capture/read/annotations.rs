//! What a capture file says about a packet beyond what the ring knows: the process that sent it, and an identifier.

use std::collections::HashSet;

use store::model::Interface;
use store::write::{CaptureFile, WriteError};
use wire::packet_id;

use crate::packet::Packet;
use crate::who::{ProcessCounts, ProcessFinder};

/// Processes whose descriptions are remembered as written: no more than the next file of a rotation begins with. Otherwise, a
/// process that was described long ago would have packets in a file that does not describe it.
const DESCRIBED_MAX: usize = CaptureFile::REPEATED_PROCESSES;

/// Finds out about packets before they are written.
#[derive(Default)]
pub(super) struct Annotations {
    finder: Option<ProcessFinder>,
    /// Link types of the interfaces, if packets get identifiers.
    identified: Option<Vec<u16>>,
    /// Processes that the file describes, by number and start.
    described: HashSet<(u32, Option<u64>)>,
    /// A comment in the making.
    comment: String,
}

impl Annotations {
    pub fn find_processes(&mut self, finder: ProcessFinder) {
        self.finder = Some(finder);
    }

    pub fn identify(&mut self, interfaces: &[Interface]) {
        self.identified = Some(interfaces.iter().map(|one| one.link_type.0).collect());
    }

    /// An interface joins the capture.
    pub fn interface(&mut self, interface: &Interface) {
        if let Some(link_types) = &mut self.identified {
            link_types.push(interface.link_type.0);
        }
        if let Some(finder) = &mut self.finder {
            finder.add_interface(interface);
        }
    }

    /// Link types of the interfaces if packets get identifiers and nothing else.
    pub fn identified(&self) -> Option<&[u16]> {
        match self.finder {
            None => self.identified.as_deref(),
            Some(_) => None,
        }
    }

    pub fn process_counts(&self) -> Option<ProcessCounts> {
        self.finder.as_ref().map(ProcessFinder::counts)
    }

    /// Writes `packet` to `file` with what is found out about it.
    #[inline(never)]
    pub fn write(&mut self, file: &mut CaptureFile, packet: &Packet<'_>) -> Result<(), WriteError> {
        let mut record = *packet.record();
        if let Some(link_types) = &self.identified
            && let Some(link_type) = link_types.get(packet.interface())
        {
            record.packet_id = packet_id(*link_type, record.bytes);
        }
        let found = self.finder.as_mut().and_then(|finder| finder.find(packet));
        let Some(found) = found else {
            return file.write(&record);
        };
        let process = &found.process;
        if self.described.len() == DESCRIBED_MAX {
            self.described.clear();
        }
        if self.described.insert((process.id, process.start_ns)) {
            file.add_process(process)?;
        }
        record.process_id = Some(process.id);
        // Older readers know neither the option nor the description.
        record.comment = Some(match record.comment {
            None => &found.words,
            Some(comment) => {
                self.comment.clear();
                self.comment.extend([comment, "; ", &found.words]);
                &self.comment
            }
        });
        file.write(&record)
    }
}
