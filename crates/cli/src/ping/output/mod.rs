//! The forms of output.

pub mod account;
pub mod csv;
pub mod distribution;
pub mod figures;
pub mod fping_style;
pub mod icmp_text;
pub mod json;
pub mod lines;
pub mod milliseconds;
pub mod ping_style;
pub mod reporter;
pub mod target_changes;
pub mod warnings;
