//! Classic filters that count: what was offered, what was accepted, what sampling left out.
//!
//! A classic filter leaves no trace of the packets it refuses, so a capture cannot tell how many
//! it never saw. [`CountingFilter`] runs the same filter as eBPF, with counters around it:
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
mod instruction;
mod opcode;
mod translate;
mod untranslatable;

pub use counting::{CountingFilter, CountingFilterError, Counts};
pub use translate::{Direction, Options, translate};
pub use untranslatable::Untranslatable;
