//! Graph to eBPF instructions.
//!
//! A node becomes a comparison and a jump. Values are computed where they are used, and stay in a register
//! until the register is needed for another value. The writer tracks along all paths which values the
//! registers hold and how many packet bytes are proven to exist.

mod analysis;
mod packet_loads;
mod set_lookup;
mod values;
pub(super) mod writer;
