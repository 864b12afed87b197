//! `tapline flows`.

mod ipfix;
mod kafka;
mod summary;
