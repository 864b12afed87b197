//! Where flows go besides standard output.

use tapline::capture::ConsumerError;
use tapline::file::model::Interface;
use tapline::flows::{Flow, FlowAccount, FlowSink};

use super::ipfix::Collector;
use crate::columns::FlowColumns;

/// With one of these, flows are printed only as JSON or CSV.
#[derive(Default)]
pub struct Outputs {
    pub collector: Option<Collector>,
    pub columns: Option<FlowColumns>,
}

impl Outputs {
    pub fn is_any(&self) -> bool {
        self.collector.is_some() || self.columns.is_some()
    }
}

impl FlowSink for Outputs {
    fn flow(&mut self, flow: &Flow) -> Result<(), ConsumerError> {
        if let Some(collector) = &mut self.collector {
            collector.add(flow)?;
        }
        match &mut self.columns {
            Some(columns) => columns.flow(flow),
            None => Ok(()),
        }
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        match &mut self.columns {
            Some(columns) => columns.interface(interface),
            None => Ok(()),
        }
    }

    fn flush(&mut self, account: &FlowAccount) -> Result<(), ConsumerError> {
        if let Some(collector) = &mut self.collector {
            collector.flush()?;
        }
        match &mut self.columns {
            Some(columns) => columns.flush(account),
            None => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), ConsumerError> {
        let sent = self.collector.as_mut().map_or(Ok(()), Collector::finish);
        let written = match &mut self.columns {
            Some(columns) => columns.finish(),
            None => Ok(()),
        };
        sent?;
        written
    }
}
