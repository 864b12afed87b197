//! Classic filters with counters of offered, accepted and sampled-out packets.
//!
//! The kernel does not count the packets that a classic filter rejects, so a capture cannot report them.
//! [`CountingFilter`] runs the same filter as eBPF with counters:
//!
//! ```text
//! packet ─▶ direction wrong? ─yes─▶ 0 (not counted)
//!               │ no
//!           offered += 1 ─▶ classic filter ─▶ 0
//!                               │ n > 0
//!                           sampling ─▶ sampled_out += 1 ─▶ 0
//!                               │ kept
//!                           accepted += 1 ─▶ min(n, snaplen)
//! ```

mod counting;
mod error;
mod instruction;
mod opcode;
mod translate;

pub use counting::{CountingFilter, CountingFilterError, FilterCounters};
pub use error::TranslateError;
pub use translate::{Direction, TranslateOptions, translate};
