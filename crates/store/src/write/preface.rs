//! The blocks at the start of each file: section, interfaces, and what later packets need.

use super::pcapng;
use crate::block::{Block, Options, kind};
use crate::model::{Interface, Process, Section, Statistics};

/// Processes that later files describe, too: the newest ones.
pub(super) const PROCESSES_MAX: usize = 1024;

/// Maximum bytes of names and secrets that later files repeat. Further ones are in one file only.
const REPEATED_BYTES_MAX: usize = 16 << 20;

/// Which files of a rotation repeat a block of the preface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockLifetime {
    Interface,
    Process,
    /// Names or secrets, which concern all packets of the section.
    Context,
    /// In the first file only.
    Once,
}

/// The beginning of a pcapng section: its header, interfaces and other blocks in their order.
///
/// Each file of a rotation begins with the header, the interfaces, the names and the secrets.
#[derive(Clone, Debug)]
pub struct Preface {
    section: Vec<u8>,
    interfaces: Vec<Interface>,
    blocks: Vec<(BlockLifetime, Vec<u8>)>,
    /// Of all blocks.
    block_bytes: usize,
    processes: usize,
    repeated_bytes: usize,
}

impl Preface {
    /// A section without interfaces. If there are `options`, they are written instead of the fields of `section`,
    /// except the application.
    pub fn new(section: &Section, options: Options<'_>) -> Self {
        Self {
            section: pcapng::section(section, options),
            interfaces: Vec::new(),
            blocks: Vec::new(),
            block_bytes: 0,
            processes: 0,
            repeated_bytes: 0,
        }
    }

    /// Adds an interface. If there are `options`, they are written instead of its fields, except the unit of time.
    pub fn add_interface(&mut self, interface: Interface, options: Options<'_>) {
        let block = pcapng::interface(&interface, options);
        self.push(BlockLifetime::Interface, block);
        self.interfaces.push(interface);
    }

    /// Adds another block.
    pub fn add_block(&mut self, block: &Block<'_>) {
        if let Some(once) = self.repeat(block.kind, block.encode()) {
            self.push(BlockLifetime::Once, once);
        }
    }

    /// Adds names or secrets that every file repeats. Returns whether they were added: not beyond 16 MiB, and no other block.
    pub fn add_repeated(&mut self, block: &Block<'_>) -> bool {
        self.repeat(block.kind, block.encode()).is_none()
    }

    /// Adds statistics of an interface, with their `options`.
    pub fn add_statistics(&mut self, statistics: &Statistics, options: Options<'_>) {
        let block = pcapng::statistics(statistics, options);
        self.push(BlockLifetime::Once, block);
    }

    /// Bytes of the section header and all blocks.
    pub fn bytes(&self) -> usize {
        self.section.len() + self.block_bytes
    }

    fn push(&mut self, lifetime: BlockLifetime, block: Vec<u8>) {
        self.block_bytes += block.len();
        self.blocks.push((lifetime, block));
    }

    pub(super) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Adds a block that later files repeat: names and secrets, up to a limit. Returns others.
    pub(super) fn repeat(&mut self, block_kind: u32, block: Vec<u8>) -> Option<Vec<u8>> {
        let bytes = self.repeated_bytes + block.len();
        if !matches!(block_kind, kind::NAMES | kind::SECRETS) || bytes > REPEATED_BYTES_MAX {
            return Some(block);
        }
        self.repeated_bytes = bytes;
        self.push(BlockLifetime::Context, block);
        None
    }

    /// Adds a process, and forgets the oldest one if there are too many. Returns the block that describes it.
    pub(super) fn add_process(&mut self, process: &Process) -> &[u8] {
        if self.processes == PROCESSES_MAX {
            let is_process =
                |(lifetime, _): &(BlockLifetime, Vec<u8>)| *lifetime == BlockLifetime::Process;
            if let Some(oldest) = self.blocks.iter().position(is_process) {
                let (_, block) = self.blocks.remove(oldest);
                self.block_bytes -= block.len();
            }
        } else {
            self.processes += 1;
        }
        self.push(BlockLifetime::Process, pcapng::process(process));
        self.blocks.last().map_or(&[], |(_, block)| block)
    }

    /// The beginning of a file.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.section.clone();
        for (_, block) in &self.blocks {
            bytes.extend_from_slice(block);
        }
        bytes
    }

    /// Forgets what only the first file contains.
    pub(super) fn forget_once(&mut self) {
        self.blocks
            .retain(|(lifetime, _)| *lifetime != BlockLifetime::Once);
        self.block_bytes = self.blocks.iter().map(|(_, block)| block.len()).sum();
    }
}
