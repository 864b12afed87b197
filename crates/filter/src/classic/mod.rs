//! Classic BPF, the instruction set of `SO_ATTACH_FILTER` and of capture filters.
//!
//! A program uses two 32-bit registers (`A`, `X`), 16 words of scratch memory and the packet bytes.
//! It jumps only forward, and returns the number of bytes to keep; 0 rejects the packet.
//!
//! ```
//! use tapline_filter::classic::ClassicProgram;
//!
//! // What `tcpdump -ddd -y EN10MB arp` prints.
//! let program: ClassicProgram = "4\n40 0 0 12\n21 0 1 2054\n6 0 0 262144\n6 0 0 0\n".parse()?;
//! let mut frame = [0; 60];
//! frame[12..14].copy_from_slice(&[0x08, 0x06]);
//! assert_eq!(program.run(&frame, 60), 262_144);
//! frame[13] = 0;
//! assert_eq!(program.run(&frame, 60), 0);
//! # Ok::<(), tapline_filter::classic::ParseError>(())
//! ```

mod ancillary;
mod check;
mod instruction;
mod interpreter;
mod listing;
pub mod opcode;
mod program;

pub use ancillary::Ancillary;
pub use check::{InvalidProgram, KernelRule};
pub use instruction::{Instruction, MAX_INSTRUCTIONS, MAX_USER_INSTRUCTIONS};
pub use interpreter::run_unchecked;
pub use listing::{ClassicListing, ListedInstruction};
pub use program::{ClassicProgram, ParseError, ParseErrorReason};
