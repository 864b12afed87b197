//! Encodes record batches as Parquet or Arrow IPC.

use std::io::{self, BufWriter, IntoInnerError, Write};

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::batch::{Rows, Shape};
use crate::output::Output;

/// Rows of a row group, at most: enough that an engine reads long runs of each column, and few enough that several CPUs share a file.
pub const ROW_GROUP_ROWS: usize = 512 << 10;

/// Encoded bytes of a row group, at most. They wait in memory.
pub const ROW_GROUP_BYTES: usize = 64 << 20;

/// How rows are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnFormat {
    /// Parquet with zstd. Nothing can be read before the end.
    Parquet,
    /// The streaming format of Arrow IPC, uncompressed: batches can be read as they come.
    Arrow,
}

impl ColumnFormat {
    /// The suffix of its files, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrows",
        }
    }
}

/// An encoder with its output.
pub enum Encoder<W: Write + Send> {
    Parquet(Box<ArrowWriter<W>>),
    Arrow(Box<StreamWriter<BufWriter<W>>>),
}

impl<W: Write + Send> Encoder<W> {
    pub fn new<R: Rows>(format: ColumnFormat, output: W) -> io::Result<Self> {
        let schema = R::schema();
        Ok(match format {
            ColumnFormat::Parquet => {
                let writer = ArrowWriter::try_new(output, schema, Some(properties::<R>()));
                Self::Parquet(Box::new(writer.map_err(of_parquet)?))
            }
            ColumnFormat::Arrow => {
                let writer = StreamWriter::try_new_buffered(output, &schema);
                Self::Arrow(Box::new(writer.map_err(of_arrow)?))
            }
        })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        match self {
            Self::Parquet(writer) => writer.write(batch).map_err(of_parquet),
            Self::Arrow(writer) => writer.write(batch).map_err(of_arrow),
        }
    }

    /// Hands over what can be read without the end.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Parquet(_) => Ok(()),
            Self::Arrow(writer) => writer.get_mut().flush(),
        }
    }

    /// Writes the end. Returns the output.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Parquet(writer) => writer.into_inner().map_err(of_parquet),
            Self::Arrow(writer) => {
                let buffered = writer.into_inner().map_err(of_arrow)?;
                buffered.into_inner().map_err(IntoInnerError::into_error)
            }
        }
    }
}

impl Encoder<Output> {
    /// Encoded bytes, with those that wait in memory.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Parquet(writer) => (writer.bytes_written() + writer.in_progress_size()) as u64,
            Self::Arrow(writer) => writer.get_ref().get_ref().bytes(),
        }
    }
}

fn properties<R: Rows>() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("tapline version ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES));
    for field in R::schema().fields() {
        let column = ColumnPath::from(field.name().as_str());
        let encoding = match R::shape(field.name()) {
            Shape::Repeated => continue,
            Shape::Label => {
                // Comparing texts takes more time than all the rest of the column.
                let none = EnabledStatistics::None;
                properties = properties.set_column_statistics_enabled(column, none);
                continue;
            }
            Shape::Growing => Encoding::DELTA_BINARY_PACKED,
            Shape::Distinct => Encoding::PLAIN,
        };
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, encoding);
    }
    properties.build()
}

/// The error of the output, if that is the cause.
fn of_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

fn of_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use wire::metadata::Direction;

    use super::*;
    use crate::batch::BATCH_ROWS;
    use crate::packets::{PacketRow, PacketRows};

    /// A segment of TCP over IPv6 with long addresses. All that can differ does.
    fn segment(number: u32) -> [u8; 74] {
        let mut frame = [0x22; 74];
        frame[12..22].copy_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 6, 64]);
        for at in [34, 50] {
            let bits = number | 0x1000_1000;
            frame[at..at + 4].copy_from_slice(&bits.to_be_bytes());
        }
        for at in [54, 58, 62] {
            frame[at..at + 4].copy_from_slice(&number.to_be_bytes());
        }
        frame[66] = 0x50;
        frame
    }

    /// Memory of the metadata of a file with so many packets.
    fn metadata_bytes(packets: u32) -> usize {
        let encoder = Encoder::new::<PacketRows>(ColumnFormat::Parquet, Vec::<u8>::new());
        let Ok(Encoder::Parquet(mut writer)) = encoder else {
            panic!("no encoder");
        };
        let mut rows = PacketRows::default();
        for number in 0..packets {
            rows.add(&PacketRow {
                time_ns: Some(1_700_000_000_000_000_000 + u64::from(number)),
                interface: "eth0",
                direction: Some(Direction::In),
                bytes: &segment(number),
                original_bytes: 74,
                link_type: 1,
                packet_id: Some(number.into()),
            });
            if rows.len() >= BATCH_ROWS || number + 1 == packets {
                writer.write(&rows.take()).expect("rows");
            }
        }
        writer.finish().expect("the end").memory_size()
    }

    /// As the crate's documentation says. Compared with what the crate parquet says of its own memory.
    #[test]
    fn a_million_rows_leave_half_a_mebibyte_of_metadata() {
        /// Rows of a page; a few more are in it.
        const PAGE_ROWS: usize = 20_000;
        let [two_pages, six_pages] = [40_000, 120_000].map(metadata_bytes);
        let page = (six_pages - two_pages).div_ceil(4);
        // With two pages too many, and the schema in each.
        let row_group = two_pages + page * ROW_GROUP_ROWS.div_ceil(PAGE_ROWS);
        let million = row_group * 1_000_000 / ROW_GROUP_ROWS;
        assert!(million < 512 << 10, "{million}: {two_pages}, {six_pages}");
    }
}
