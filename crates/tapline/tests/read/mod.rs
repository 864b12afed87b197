//! Capture files: reading and indexing.

mod files;
mod index;
