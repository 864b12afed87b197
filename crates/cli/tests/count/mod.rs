//! `tapline count`.

mod figures;
mod links;
mod text;
mod usage;
