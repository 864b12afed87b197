//! Packets and flows as columns: Parquet files, Arrow IPC streams, partitioned directories.
//!
//! ```text
//! packet, flow ─▶ Rows ─▶ RecordBatch ─▶ Parquet (zstd) or Arrow IPC ─▶ file, descriptor, date=/hour=/host=/
//! ```
//!
//! [`PacketRows`] decodes the headers of packets into columns, [`FlowRows`] has a column for each figure of a flow. A [`Table`] writes
//! rows to its [`Destination`].
//!
//! **Types.** Engines agree on few: numbers are signed, 32 bits if the field has at most 16 and 64 bits otherwise; times are
//! `timestamp(ns, UTC)`; addresses, IP and MAC, are text as `inet_ntop(3)` and Wireshark print them. What a packet does not have is null.
//!
//! **Memory.** A table holds [`BATCH_ROWS`] rows as they came and at most [`ROW_GROUP_ROWS`] rows or [`ROW_GROUP_BYTES`] encoded, for each
//! open file; with partitions, [`OPEN_FILES`] files are open at most, and rows of [`MOST_HOURS`] hours wait to be encoded.
//! A Parquet file also keeps the metadata of its row groups and pages until it is complete: less than 512 KiB for each million rows.
//!
//! **Files** appear under their names when they are complete: they are written under a hidden name, synchronised with the disk
//! and renamed.

#![forbid(unsafe_code)]

mod addresses;
mod batch;
mod encoder;
mod flows;
mod output;
mod packets;
mod partition;
mod table;

pub use batch::{BATCH_ROWS, Rows};
pub use encoder::{ColumnFormat, ROW_GROUP_BYTES, ROW_GROUP_ROWS};
pub use flows::{FlowRow, FlowRows};
pub use packets::{PacketRow, PacketRows};
pub use partition::{MOST_HOURS, OPEN_FILES};
pub use table::{CompleteFile, Destination, OnComplete, Partitions, Table, TableError, Written};
