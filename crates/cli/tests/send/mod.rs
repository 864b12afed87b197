//! `tapline send`.

mod changes;
mod errors;
mod generate;
mod replay;
mod split;
mod stamps;
