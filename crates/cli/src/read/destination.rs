//! Where packets that pass go.

use store::model::{Interface, Packet, Statistics};

use super::copy::FileCopy;
use super::input::Input;
use crate::args::ReadArgs;
use crate::failure::Failure;
use crate::line::Printer;
use crate::output::Written;

pub enum Destination<'a> {
    /// A line for each.
    Screen(Printer),
    /// A capture file.
    File(Box<FileCopy<'a>>),
}

impl<'a> Destination<'a> {
    pub fn new(args: &'a ReadArgs, inputs: &[Input]) -> Self {
        match &args.output.write {
            Some(path) => {
                let copy = FileCopy::new(&args.output, path.clone(), inputs);
                Self::File(Box::new(copy))
            }
            None => Self::Screen(Printer::new(args.json)),
        }
    }

    /// Packets name it by the number of interfaces added before.
    pub fn add_interface(&mut self, interface: Interface) -> Result<(), Failure> {
        match self {
            Self::Screen(printer) => {
                printer.add_interface(&interface);
                Ok(())
            }
            Self::File(copy) => copy.add_interface(interface),
        }
    }

    #[inline]
    pub fn packet(&mut self, packet: &Packet<'_>) -> Result<(), Failure> {
        match self {
            Self::Screen(printer) => Ok(printer.print(packet)?),
            Self::File(copy) => copy.packet(packet),
        }
    }

    /// Whether packets may come as blocks.
    pub fn takes_blocks(&self) -> bool {
        match self {
            Self::Screen(_) => false,
            Self::File(copy) => copy.takes_blocks(),
        }
    }

    /// Packets as their blocks.
    pub fn blocks(&mut self, blocks: &[u8], packets: u64) -> Result<(), Failure> {
        match self {
            Self::Screen(_) => Ok(()),
            Self::File(copy) => copy.blocks(blocks, packets),
        }
    }

    pub fn statistics(&mut self, statistics: &Statistics) {
        match self {
            Self::Screen(_) => {}
            Self::File(copy) => copy.statistics(statistics),
        }
    }

    /// Lets go of what has gathered.
    pub fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Self::Screen(printer) => Ok(printer.flush()?),
            Self::File(copy) => copy.flush(),
        }
    }

    /// As [`Self::flush`], for good. A file without packets is made only if nothing `failed`.
    pub fn finish(&mut self, failed: bool) -> Result<(), Failure> {
        match self {
            Self::Screen(printer) => Ok(printer.flush()?),
            Self::File(copy) => copy.finish(failed),
        }
    }

    pub fn written(&self) -> Written {
        match self {
            Self::Screen(_) => Written::default(),
            Self::File(copy) => copy.written(),
        }
    }

    /// How many of the packets `taken` got no further.
    pub fn lost(&self, taken: u64) -> u64 {
        match self {
            Self::Screen(printer) => printer.lost(),
            Self::File(copy) => copy.lost(taken),
        }
    }
}
