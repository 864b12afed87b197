//! Errors of Parquet and Arrow output, if the program is built without the feature `columns`.

use std::convert::Infallible;

use tapline::Packet;
use tapline::capture::ConsumerError;
use tapline::flows::{Flow, FlowSink};
use tapline::read::ReadConsumer;

use super::{ColumnOutput, Written};
use crate::failure::{Exit, Failure};

pub struct PacketColumns(Infallible);

pub struct FlowColumns(Infallible);

impl ColumnOutput {
    pub fn packets(&self) -> Result<PacketColumns, Failure> {
        Err(self.refused())
    }

    pub fn flows(&self) -> Result<FlowColumns, Failure> {
        Err(self.refused())
    }

    fn refused(&self) -> Failure {
        let path = self.path.display();
        let line = format!(
            "cannot write {path}: this tapline was built without Parquet and Arrow (use the one of the Debian package, or build with --features columns)"
        );
        Failure::new(Exit::Unsupported, line)
    }
}

impl From<&FlowColumns> for Written {
    fn from(columns: &FlowColumns) -> Self {
        match columns.0 {}
    }
}

impl From<&PacketColumns> for Written {
    fn from(columns: &PacketColumns) -> Self {
        match columns.0 {}
    }
}

impl ReadConsumer for PacketColumns {
    fn packet(&mut self, _packet: &Packet<'_>) -> Result<(), ConsumerError> {
        match self.0 {}
    }
}

impl FlowSink for FlowColumns {
    fn flow(&mut self, _flow: &Flow) -> Result<(), ConsumerError> {
        match self.0 {}
    }
}
