//! Writing Parquet and Arrow, if the program is built with the feature `columns`.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

pub use tapline::columns::FlowColumns;
use tapline::columns::{self, Destination, PacketColumns, Partitions};

use super::{ColumnOutput, Written, cannot_create};
use crate::args::ColumnFormat;
use crate::failure::{Failure, STDOUT};
use crate::object_storage::Uploads;
use crate::output::is_stdout;

impl From<ColumnFormat> for columns::ColumnFormat {
    fn from(format: ColumnFormat) -> Self {
        match format {
            ColumnFormat::Parquet => Self::Parquet,
            ColumnFormat::Arrow => Self::Arrow,
        }
    }
}

impl From<&columns::Written> for Written {
    fn from(written: &columns::Written) -> Self {
        Self {
            rows: written.rows,
            bytes: written.bytes,
            files: written.files,
        }
    }
}

impl From<&FlowColumns> for Written {
    fn from(columns: &FlowColumns) -> Self {
        columns.written().into()
    }
}

impl From<&PacketColumns> for Written {
    fn from(columns: &PacketColumns) -> Self {
        columns.written().into()
    }
}

impl ColumnOutput {
    pub fn packets(&self) -> Result<PacketColumns, Failure> {
        let opened = PacketColumns::new(self.format.into(), self.destination()?);
        let columns = opened.map_err(|error| cannot_create(&error.path, &error.source))?;
        Ok(match self.uploads() {
            Some(uploads) => columns
                .max_file_bytes(uploads.max_file_bytes())
                .on_complete(uploads.receiver()),
            None => columns,
        })
    }

    pub fn flows(&self) -> Result<FlowColumns, Failure> {
        let opened = FlowColumns::new(self.format.into(), self.destination()?);
        let columns = opened.map_err(|error| cannot_create(&error.path, &error.source))?;
        Ok(match self.uploads() {
            Some(uploads) => columns
                .max_file_bytes(uploads.max_file_bytes())
                .on_complete(uploads.receiver()),
            None => columns,
        })
    }

    fn destination(&self) -> Result<Destination, Failure> {
        let path = self
            .uploads()
            .map_or_else(|| self.path.clone(), Uploads::path);
        if let Some((host, interval)) = &self.partition {
            let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
            return Ok(Destination::Partitions(Partitions {
                directory: path,
                host: host.clone(),
                interval_ns: interval_ns.try_into().unwrap_or(std::num::NonZeroU64::MAX),
            }));
        }
        if is_stdout(&path) {
            let descriptor = io::stdout().as_fd().try_clone_to_owned()?;
            return Ok(Destination::Descriptor {
                file: File::from(descriptor),
                name: STDOUT.into(),
            });
        }
        Ok(Destination::File(path))
    }
}
