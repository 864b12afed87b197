//! Packets and flows as columns, in Parquet files and Arrow streams, for engines such as DuckDB, Spark and ClickHouse.
//!
//! ```
//! use tapline::columns::{ColumnFormat, PacketColumns, Destination};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/corpus/captures/icmpv6.pcap");
//! # let directory = tempfile::tempdir()?;
//! # let parquet = directory.path().join("packets.parquet");
//! let mut table = PacketColumns::new(ColumnFormat::Parquet, Destination::File(parquet))?;
//! let mut packets = tapline::read(path).open()?;
//! packets.run_consumer(&mut table)?;
//! println!("{} rows", table.written().rows);
//! # assert_eq!(table.written().rows, packets.summary().delivered);
//! # Ok(()) }
//! ```

use std::time::{SystemTime, UNIX_EPOCH};

pub use columns::{
    BATCH_ROWS, ColumnFormat, CompleteFile, Destination, MOST_HOURS, OPEN_FILES, OnComplete,
    Partitions, ROW_GROUP_BYTES, ROW_GROUP_ROWS, TableError, Written,
};
use columns::{FlowRow, FlowRows, PacketRow, PacketRows, Rows, Table};
use store::model::Interface;

use crate::Packet;
use crate::capture::ConsumerError;
use crate::flows::{Flow, FlowAccount, FlowSink};
use crate::read::ReadConsumer;

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// A table until it is complete, then what was written.
struct Output<R: Rows> {
    table: Option<Table<R>>,
    written: Written,
}

impl<R: Rows> Output<R> {
    fn new(format: ColumnFormat, destination: Destination) -> Result<Self, TableError> {
        Ok(Self {
            table: Some(Table::new(format, destination, now_ns())?),
            written: Written::default(),
        })
    }

    fn change(&mut self, change: impl FnOnce(Table<R>) -> Table<R>) {
        self.table = self.table.take().map(change);
    }

    #[inline]
    fn add(&mut self, time_ns: Option<u64>, row: &R::Row<'_>) -> Result<(), ConsumerError> {
        match &mut self.table {
            Some(table) => Ok(table.add(time_ns, row)?),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), ConsumerError> {
        match &mut self.table {
            Some(table) => Ok(table.flush(now_ns())?),
            None => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), ConsumerError> {
        let Some(mut table) = self.table.take() else {
            return Ok(());
        };
        let finished = table.finish();
        self.written = table.written().clone();
        Ok(finished?)
    }
}

/// Writes the headers of packets: a row for each. Ends with the job.
pub struct PacketColumns {
    output: Output<PacketRows>,
    interfaces: Vec<(String, u16)>,
}

impl PacketColumns {
    /// Opens a destination.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be created.
    pub fn new(format: ColumnFormat, destination: Destination) -> Result<Self, TableError> {
        Ok(Self {
            output: Output::new(format, destination)?,
            interfaces: Vec::new(),
        })
    }

    /// Limits the size of files: those of partitions are completed at about `bytes`, and a single file fails that would have
    /// more.
    #[must_use]
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.output.change(|table| table.max_file_bytes(bytes));
        self
    }

    /// Hands each complete file to `receiver`.
    #[must_use]
    pub fn on_complete(mut self, receiver: OnComplete) -> Self {
        self.output.change(|table| table.on_complete(receiver));
        self
    }

    /// What was written, after the end.
    pub fn written(&self) -> &Written {
        &self.output.written
    }
}

impl ReadConsumer for PacketColumns {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let interface = self.interfaces.get(packet.interface());
        let (interface, link_type) =
            interface.map_or(("", u16::MAX), |(name, kind)| (name.as_str(), *kind));
        let time_ns = packet.time().as_nanos();
        self.output.add(
            time_ns,
            &PacketRow {
                time_ns,
                interface,
                direction: packet.direction(),
                bytes: packet.data(),
                original_bytes: packet.len() as u64,
                link_type,
                packet_id: packet.record().packet_id,
            },
        )
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        let name = interface.name.clone().unwrap_or_default();
        self.interfaces.push((name, interface.link_type.0));
        Ok(())
    }

    fn idle(&mut self) -> Result<(), ConsumerError> {
        self.output.flush()
    }

    fn finish(&mut self) -> Result<(), ConsumerError> {
        self.output.finish()
    }
}

/// Writes flows: a row for each.
pub struct FlowColumns {
    output: Output<FlowRows>,
    interfaces: Vec<String>,
}

impl FlowColumns {
    /// Opens a destination. The hour of a flow is that of its last packet.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be created.
    pub fn new(format: ColumnFormat, destination: Destination) -> Result<Self, TableError> {
        Ok(Self {
            output: Output::new(format, destination)?,
            interfaces: Vec::new(),
        })
    }

    /// Limits the size of files: those of partitions are completed at about `bytes`, and a single file fails that would have
    /// more.
    #[must_use]
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.output.change(|table| table.max_file_bytes(bytes));
        self
    }

    /// Hands each complete file to `receiver`.
    #[must_use]
    pub fn on_complete(mut self, receiver: OnComplete) -> Self {
        self.output.change(|table| table.on_complete(receiver));
        self
    }

    /// What was written, after the end.
    pub fn written(&self) -> &Written {
        &self.output.written
    }
}

impl FlowSink for FlowColumns {
    fn flow(&mut self, flow: &Flow) -> Result<(), ConsumerError> {
        let interface = self.interfaces.get(flow.interface as usize);
        let interface = interface.map_or("", String::as_str);
        let row = FlowRow { flow, interface };
        self.output.add(Some(flow.last_ns), &row)
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.interfaces
            .push(interface.name.clone().unwrap_or_default());
        Ok(())
    }

    fn flush(&mut self, _account: &FlowAccount) -> Result<(), ConsumerError> {
        self.output.flush()
    }

    fn finish(&mut self) -> Result<(), ConsumerError> {
        self.output.finish()
    }
}
