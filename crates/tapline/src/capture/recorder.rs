//! The flight recorder: keeps the newest packets in memory, and writes them to a file when a trigger fires.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use filter::{FilterOptions, LinkType};
use store::model::{Interface, Statistics};
use store::write::{CaptureFile, CaptureFileOptions, IndexCounts, RecentPackets, WriteError};
use wire::dissect::dissect;

use super::account::loss_account::Account;
use super::error::CaptureError;
use super::read::consumer::{Consumer, ConsumerError};
use crate::compiled_filter::CompiledFilter;
use crate::packet::Packet;
use crate::packet_filter::Expression;

/// Flows recorded at once. Triggers of further flows are counted and write nothing.
const FLOWS_MAX: usize = 64;

/// Makes the options of the file of a trigger, from its number, the first being 1.
pub type RecorderFiles = Box<dyn FnMut(u64) -> Result<CaptureFileOptions, ConsumerError> + Send>;

/// What a flight recorder keeps, and when it writes.
pub struct RecorderOptions {
    /// Memory for packets, bytes. Allocated once.
    pub memory_bytes: usize,
    /// Packets older than this are not written. `None`: as many as the memory holds.
    pub keep: Option<Duration>,
    /// How long packets are written after a trigger. A trigger within this time extends it and starts no file.
    pub after: Duration,
    /// A packet that matches this filter triggers.
    pub trigger: Option<Expression>,
    /// A packet that matches this filter triggers for its flow: only packets between its addresses and ports are written,
    /// in both directions.
    pub trigger_flow: Option<Expression>,
    /// Triggers when this many packets are lost between two ticks.
    pub trigger_loss: Option<u64>,
    /// Triggers when this many packets per second are delivered between two ticks.
    pub trigger_rate_pps: Option<u64>,
    /// The files. They must be pcapng without rotation.
    pub files: RecorderFiles,
}

impl RecorderOptions {
    /// Keeps as many packets as fit into `memory_bytes`. Only [`Recorder::trigger`] triggers, and no packet that comes
    /// after a trigger is written.
    pub fn new(memory_bytes: usize, files: RecorderFiles) -> Self {
        Self {
            memory_bytes,
            keep: None,
            after: Duration::ZERO,
            trigger: None,
            trigger_flow: None,
            trigger_loss: None,
            trigger_rate_pps: None,
            files,
        }
    }
}

/// Triggers a flight recorder, from any thread or signal handler. Clones trigger the same one.
#[derive(Clone, Debug, Default)]
pub struct RecorderTrigger(Arc<AtomicBool>);

impl RecorderTrigger {
    /// Triggers at the next packet or when the reader is idle, at the latest at its next tick.
    pub fn trigger(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag that [`trigger`](Self::trigger) sets, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    fn is_triggered(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn take(&self) -> bool {
        self.is_triggered() && self.0.swap(false, Ordering::Relaxed)
    }
}

/// Protocol, addresses and ports, the lower address and its port first.
type Flow = (Option<u8>, (IpAddr, u16), (IpAddr, u16));

/// The flow that a packet belongs to; `None` without addresses. Fragments and protocols without ports have port 0.
fn flow_of(link_type: u16, bytes: &[u8]) -> Option<Flow> {
    let summary = dissect(link_type, bytes);
    let (source, destination) = summary.addresses()?;
    let (from, to) = summary.ports().unwrap_or_default();
    let (one, other) = ((source, from), (destination, to));
    Some((summary.protocol, one.min(other), one.max(other)))
}

/// A file that is being written.
struct Recording {
    file: CaptureFile,
    until_ns: u64,
}

/// A filter for each interface.
struct Trigger {
    expression: Expression,
    /// By interface.
    filters: Vec<CompiledFilter>,
}

impl Trigger {
    fn add(&mut self, interface: &Interface) -> Result<(), CaptureError> {
        let name = || interface.name.clone().unwrap_or_default();
        let link_type = LinkType::from_number(interface.link_type.0);
        let Expression { text, names } = &self.expression;
        let compiled = filter::Filter::new(text, &FilterOptions::new(link_type), &**names);
        let compiled = compiled.map_err(|error| CaptureError::Filter {
            link: name(),
            link_type,
            error,
        })?;
        self.filters.push(CompiledFilter::new(compiled));
        Ok(())
    }

    fn accepts(&self, packet: &store::model::Packet<'_>) -> bool {
        let filter = self.filters.get(packet.interface as usize);
        filter.is_some_and(|filter| filter.accepts(packet.bytes, packet.original_len))
    }
}

/// Keeps the newest packets of a capture in memory. A trigger writes them, and those that follow for some time, to a
/// file of its own. No packet is written twice.
///
/// Packets that no trigger writes count as delivered.
pub struct Recorder {
    options: RecorderOptions,
    recent: RecentPackets,
    trigger: Option<Trigger>,
    trigger_flow: Option<Trigger>,
    by_hand: RecorderTrigger,
    /// Of the recorders of the other readers.
    others: Vec<RecorderTrigger>,
    link_types: Vec<u16>,
    recording: Option<Recording>,
    flows: HashMap<Flow, Recording>,
    files: Vec<PathBuf>,
    made: u64,
    refused_flows: u64,
    written: u64,
    bytes: u64,
    indexes: Option<IndexCounts>,
    lost: u64,
    /// Time of the last packet or tick.
    now_ns: u64,
    /// Time and account at the last tick.
    last_tick: Option<(u64, u64, u64)>,
}

impl Recorder {
    /// Records the packets of `interfaces`.
    ///
    /// # Errors
    /// [`CaptureError::Filter`] if a trigger cannot be compiled.
    pub fn new(
        mut options: RecorderOptions,
        interfaces: &[Interface],
    ) -> Result<Self, CaptureError> {
        let trigger = |expression: Option<Expression>| {
            let mut trigger = Trigger {
                expression: expression?,
                filters: Vec::new(),
            };
            let added = interfaces.iter().try_for_each(|one| trigger.add(one));
            Some(added.map(|()| trigger))
        };
        Ok(Self {
            recent: RecentPackets::new(options.memory_bytes),
            trigger: trigger(options.trigger.take()).transpose()?,
            trigger_flow: trigger(options.trigger_flow.take()).transpose()?,
            options,
            by_hand: RecorderTrigger::default(),
            others: Vec::new(),
            link_types: interfaces.iter().map(|one| one.link_type.0).collect(),
            recording: None,
            flows: HashMap::new(),
            files: Vec::new(),
            made: 0,
            refused_flows: 0,
            written: 0,
            bytes: 0,
            indexes: None,
            lost: 0,
            now_ns: abi::clock::realtime_ns(),
            last_tick: None,
        })
    }

    /// Makes what triggers one of `recorders` trigger them all, each into a file of its own: those of the readers of a
    /// [`ParallelCapture`](super::ParallelCapture), which have the packets of some queues each. The loss and the rate that
    /// trigger are those of a reader. A flow triggers only the recorder of its packet.
    pub fn trigger_together(recorders: &mut [Self]) {
        let all: Vec<_> = recorders.iter().map(Self::trigger).collect();
        for (number, recorder) in recorders.iter_mut().enumerate() {
            let others = all.iter().enumerate();
            let others = others.filter(|&(other, _)| other != number);
            recorder.others = others.map(|(_, trigger)| trigger.clone()).collect();
        }
    }

    /// Triggers the recorder by hand.
    pub fn trigger(&self) -> RecorderTrigger {
        self.by_hand.clone()
    }

    /// Paths of the files written, oldest first: the last 1000.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Packets written to files.
    pub fn packets_written(&self) -> u64 {
        self.written
    }

    /// Bytes written to files.
    pub fn bytes_written(&self) -> u64 {
        self.bytes
    }

    /// The indexes written beside the files that are closed. `None` if there are none.
    pub fn indexes(&self) -> Option<IndexCounts> {
        self.indexes.clone()
    }

    /// Triggers for a flow that wrote nothing, because 64 flows were being written.
    pub fn refused_flows(&self) -> u64 {
        self.refused_flows
    }

    fn until_ns(&self) -> u64 {
        let after = u64::try_from(self.options.after.as_nanos()).unwrap_or(u64::MAX);
        self.now_ns.saturating_add(after)
    }

    /// Forgets what is older than is kept.
    fn forget(&mut self) {
        if let Some(keep) = self.options.keep {
            let keep = u64::try_from(keep.as_nanos()).unwrap_or(u64::MAX);
            self.recent.forget_before(self.now_ns.saturating_sub(keep));
        }
    }

    fn create(&mut self) -> Result<CaptureFile, ConsumerError> {
        self.made += 1;
        let options = (self.options.files)(self.made)?;
        let file = CaptureFile::create(options, self.now_ns)?;
        if self.files.len() == 1000 {
            self.files.remove(0);
        }
        self.files
            .extend(file.files().map(|file| file.path.clone()));
        Ok(file)
    }

    /// Begins, and the recorders of the other readers at their next packet.
    #[cold]
    fn begin_all(&mut self) -> Result<(), ConsumerError> {
        self.others.iter().for_each(RecorderTrigger::trigger);
        self.begin()
    }

    /// Writes what is in memory, or continues with the open file.
    #[cold]
    fn begin(&mut self) -> Result<(), ConsumerError> {
        let until_ns = self.until_ns();
        if let Some(recording) = &mut self.recording {
            recording.until_ns = until_ns;
            return Ok(());
        }
        self.forget();
        let mut file = self.create()?;
        let written = self.recent.write_all(&mut file);
        self.recording = Some(Recording { file, until_ns });
        written?;
        Ok(())
    }

    /// Writes what is in memory of a flow, or continues with its file.
    #[cold]
    fn begin_flow(&mut self, flow: Flow) -> Result<(), ConsumerError> {
        let until_ns = self.until_ns();
        if let Some(recording) = self.flows.get_mut(&flow) {
            recording.until_ns = until_ns;
            return Ok(());
        }
        if self.flows.len() == FLOWS_MAX {
            self.refused_flows += 1;
            return Ok(());
        }
        self.forget();
        let mut file = self.create()?;
        let link_types = &self.link_types;
        let is_of_flow = |interface: u32, bytes: &[u8]| {
            let link_type = link_types.get(interface as usize);
            link_type.is_some_and(|&link_type| flow_of(link_type, bytes) == Some(flow))
        };
        let written = self.recent.write_selected(&mut file, is_of_flow);
        self.flows.insert(flow, Recording { file, until_ns });
        written?;
        Ok(())
    }

    /// Ends the files whose time is over.
    fn end_due(&mut self) -> Result<(), WriteError> {
        let now_ns = self.now_ns;
        if self
            .recording
            .as_ref()
            .is_some_and(|one| one.until_ns < now_ns)
            && let Some(recording) = self.recording.take()
        {
            self.end(recording, &[])?;
        }
        while let Some(&flow) = (self.flows.iter())
            .find(|(_, one)| one.until_ns < now_ns)
            .map(|(flow, _)| flow)
        {
            if let Some(recording) = self.flows.remove(&flow) {
                self.end(recording, &[])?;
            }
        }
        Ok(())
    }

    fn end(&mut self, mut recording: Recording, last: &[Statistics]) -> Result<(), WriteError> {
        let closed = recording.file.close(last);
        self.written += recording.file.packets_written();
        self.bytes += recording.file.bytes_written();
        self.lost += recording.file.packets_lost();
        if let Some(indexes) = recording.file.indexes() {
            self.indexes.get_or_insert_default().add(indexes);
        }
        closed
    }

    fn open(&mut self) -> impl Iterator<Item = &mut Recording> {
        self.recording.iter_mut().chain(self.flows.values_mut())
    }

    /// Whether what has happened since the last tick triggers.
    fn is_over_threshold(&mut self, now_ns: u64, account: &Account) -> bool {
        let (lost, delivered) = (account.lost.total(), account.delivered);
        let last = self.last_tick.replace((now_ns, lost, delivered));
        let Some((last_ns, lost_before, delivered_before)) = last else {
            return false;
        };
        let seconds = Duration::from_nanos(now_ns.saturating_sub(last_ns)).as_secs_f64();
        let rate = delivered.saturating_sub(delivered_before) as f64 / seconds.max(1e-9);
        let loses = |most| lost.saturating_sub(lost_before) >= most;
        self.options.trigger_loss.is_some_and(loses)
            || (self.options.trigger_rate_pps).is_some_and(|most| rate >= most as f64)
    }

    /// Whether a packet is only kept: nothing is being written, and no packet triggers.
    #[inline]
    fn only_keeps(&self) -> bool {
        self.trigger.is_none()
            && self.trigger_flow.is_none()
            && self.recording.is_none()
            && self.flows.is_empty()
            && !self.by_hand.is_triggered()
    }

    /// Tests the triggers. Then writes the packet or keeps it.
    #[inline(never)]
    fn write_or_keep(&mut self, packet: &store::model::Packet<'_>) -> Result<(), ConsumerError> {
        if self.recording.is_some() || !self.flows.is_empty() {
            self.end_due()?;
        }
        let triggers = (self.trigger.as_ref()).is_some_and(|trigger| trigger.accepts(packet));
        if triggers {
            self.begin_all()?;
        } else if self.by_hand.take() {
            self.begin()?;
        }
        if self.write_to_flow(packet)? {
            return Ok(());
        }
        match &mut self.recording {
            Some(recording) => recording.file.write(packet)?,
            None => {
                self.recent.push(packet);
            }
        }
        Ok(())
    }

    /// Packets of a flow that is being written, or that begins to be.
    fn write_to_flow(&mut self, packet: &store::model::Packet<'_>) -> Result<bool, ConsumerError> {
        let triggers = (self.trigger_flow.as_ref()).is_some_and(|trigger| trigger.accepts(packet));
        if !triggers && self.flows.is_empty() {
            return Ok(false);
        }
        let link_type = self.link_types.get(packet.interface as usize);
        let Some(flow) = link_type.and_then(|&link_type| flow_of(link_type, packet.bytes)) else {
            return Ok(false);
        };
        if triggers {
            self.begin_flow(flow)?;
        }
        match self.flows.get_mut(&flow) {
            Some(recording) => {
                recording.file.write(packet)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

impl Consumer for Recorder {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to memory"
    )]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let record = packet.record();
        self.now_ns = record.timestamp_ns.unwrap_or(self.now_ns);
        if self.only_keeps() {
            self.recent.push(record);
            return Ok(());
        }
        // Copied only here: a packet whose address is taken cannot stay in registers.
        let record = *record;
        self.write_or_keep(&record)
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        for trigger in [&mut self.trigger, &mut self.trigger_flow] {
            trigger.iter_mut().try_for_each(|one| one.add(interface))?;
        }
        self.link_types.push(interface.link_type.0);
        for recording in self.open() {
            recording.file.add_interface(interface.clone())?;
        }
        Ok(())
    }

    fn idle(&mut self, now_ns: u64) -> Result<(), ConsumerError> {
        if self.by_hand.take() {
            self.now_ns = now_ns;
            self.begin()?;
        }
        for recording in self.open() {
            recording.file.flush()?;
        }
        Ok(())
    }

    fn tick(&mut self, now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        self.now_ns = now_ns;
        self.end_due()?;
        self.forget();
        if self.is_over_threshold(now_ns, account) {
            self.begin_all()?;
        } else if self.by_hand.take() {
            self.begin()?;
        }
        Ok(())
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        if self.by_hand.take() {
            self.begin()?;
        }
        let flows = std::mem::take(&mut self.flows);
        let open: Vec<_> = (self.recording.take().into_iter())
            .chain(flows.into_values())
            .collect();
        // Each is closed, whether the one before could be or not.
        let mut result = Ok(());
        for recording in open {
            result = result.and(self.end(recording, statistics));
        }
        Ok(result?)
    }

    fn lost(&self) -> u64 {
        let open = self.recording.iter().chain(self.flows.values());
        self.lost + open.map(|one| one.file.packets_lost()).sum::<u64>()
    }
}

#[cfg(test)]
mod tests;
