//! All tests of this crate in one program, with one module per subject.

mod read_support;
mod write_support;

mod output;
mod read_corpus;
mod read_damage;
mod read_formats;
mod read_memory;
mod read_merge;
mod read_mutations;
mod read_parts;
mod roundtrip;
mod write_allocations;
mod write_blocks;
mod write_compression;
mod write_failure;
mod write_formats;
mod write_index;
mod write_killed;
mod write_merge;
mod write_rotation;
mod write_ways;
