//! Where flows go besides standard output.

use tapline::capture::ConsumerError;
use tapline::file::model::Interface;
use tapline::flows::{Flow, FlowAccount, FlowSink};

use super::ipfix::{Collector, Sent};
use crate::columns::FlowColumns;

/// One of several outputs. It takes nothing after its first error, and the others can be completed.
pub struct Output<S> {
    sink: S,
    has_failed: bool,
}

impl<S> Output<S> {
    pub fn new(sink: S) -> Self {
        Self {
            sink,
            has_failed: false,
        }
    }

    pub fn sink(&self) -> &S {
        &self.sink
    }

    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Does nothing, successfully, after an error.
    pub fn call(
        &mut self,
        what: impl FnOnce(&mut S) -> Result<(), ConsumerError>,
    ) -> Result<(), ConsumerError> {
        if self.has_failed {
            return Ok(());
        }
        let result = what(&mut self.sink);
        self.has_failed = result.is_err();
        result
    }

    /// Completes what was written, also after an error. Its own errors are returned only if there was none before.
    fn complete(
        &mut self,
        complete: impl FnOnce(&mut S) -> Result<(), ConsumerError>,
    ) -> Result<(), ConsumerError> {
        let completed = complete(&mut self.sink);
        if self.has_failed {
            return Ok(());
        }
        self.has_failed = completed.is_err();
        completed
    }
}

/// With one of these, flows are printed only as JSON or CSV.
#[derive(Default)]
pub struct Outputs {
    pub collector: Option<Output<Collector>>,
    pub columns: Option<Output<FlowColumns>>,
}

impl Outputs {
    pub fn is_any(&self) -> bool {
        self.collector.is_some() || self.columns.is_some()
    }

    /// What the collector was sent, if there is one.
    pub fn sent(&self) -> Option<Sent> {
        let collector = self.collector.as_ref();
        collector.map(|output| output.sink.sent)
    }

    /// Calls both. The first error is returned.
    fn call(
        &mut self,
        collect: impl FnOnce(&mut Collector) -> Result<(), ConsumerError>,
        write: impl FnOnce(&mut FlowColumns) -> Result<(), ConsumerError>,
    ) -> Result<(), ConsumerError> {
        let sent = self.collector.as_mut();
        let sent = sent.map_or(Ok(()), |output| output.call(collect));
        let written = self.columns.as_mut();
        let written = written.map_or(Ok(()), |output| output.call(write));
        sent.and(written)
    }
}

impl FlowSink for Outputs {
    fn flow(&mut self, flow: &Flow) -> Result<(), ConsumerError> {
        if let Some(output) = self.collector.as_mut()
            && output.has_failed
        {
            output.sink.sent.failed_flows += 1;
        }
        self.call(
            |collector| Ok(collector.add(flow)?),
            |columns| columns.flow(flow),
        )
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.call(|_collector| Ok(()), |columns| columns.interface(interface))
    }

    fn flush(&mut self, account: &FlowAccount) -> Result<(), ConsumerError> {
        self.call(
            |collector| Ok(collector.flush()?),
            |columns| columns.flush(account),
        )
    }

    fn finish(&mut self) -> Result<(), ConsumerError> {
        let sent = self.collector.as_mut();
        let sent = sent.map_or(Ok(()), |output| output.call(|to| Ok(to.finish()?)));
        let columns = self.columns.as_mut();
        // Of files in several partitions, only one may have failed.
        let written = columns.map_or(Ok(()), |output| output.complete(FlowColumns::finish));
        sent.and(written)
    }
}
