//! Classic BPF, the filter language of `SO_ATTACH_FILTER` and of capture files.
//!
//! A program works on two 32-bit registers (`A`, `X`), 16 scratch words and the packet's bytes, jumps
//! only forward, and returns how many bytes of the packet to keep; 0 refuses the packet.
//!
//! ```
//! use tapline_filter::classic::Program;
//!
//! // What `tcpdump -ddd -y EN10MB arp` prints.
//! let program: Program = "4\n40 0 0 12\n21 0 1 2054\n6 0 0 262144\n6 0 0 0\n".parse()?;
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
mod listing;
pub mod opcode;
mod program;
mod run;
mod text;

pub use ancillary::Ancillary;
pub use check::{Rule, RuleError};
pub use instruction::Instruction;
pub use listing::Listing;
pub use program::{MAX_INSTRUCTIONS, Program};
pub use text::{ParseError, Reason};
