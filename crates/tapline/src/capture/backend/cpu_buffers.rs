//! Memory per CPU that an XDP program fills: the reader's end of `slots` and of `ringbuf`.

use ring::{
    Batch, BpfRing, BpfRingError, BpfRingOptions, DeviceClockState, InterfaceInfo, RingCounters,
};

use super::super::error::CaptureError;
use super::super::plan::backend::Backend;
use super::super::plan::options::CaptureOptions;
use super::super::read::forecast::parts;
use super::super::read::ring::{RingReader, RxRing};

/// The buffers of an interface: at least one.
pub struct CpuBuffers(Vec<BpfRing>);

impl CpuBuffers {
    /// Calls `open` for each of `memories`.
    pub fn open<M>(
        link: &str,
        options: &CaptureOptions,
        memories: impl Iterator<Item = M>,
        open: impl Fn(&str, M, &BpfRingOptions) -> Result<BpfRing, BpfRingError>,
    ) -> Result<Self, CaptureError> {
        let buffer_options = BpfRingOptions {
            promiscuous: options.promiscuous,
            snaplen: options.snaplen,
            device_metadata: options.rx_metadata.is_some(),
            device_clock: options.device_clock,
        };
        let buffers: Result<Vec<_>, _> = memories
            .map(|memory| open(link, memory, &buffer_options))
            .collect();
        Ok(Self(buffers?))
    }

    /// Rejects buffers of another interface than `link` that has its name now.
    pub fn check(self, link: &InterfaceInfo) -> Result<Self, CaptureError> {
        if self.link().index == link.index {
            return Ok(self);
        }
        let link = link.name.clone();
        Err(CaptureError::LinkReplaced { link })
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Their interface.
    pub fn link(&self) -> &InterfaceInfo {
        self.0[0].interface()
    }

    pub fn into_rings(self) -> Vec<RingReader> {
        let ring = |buffer| RingReader::Buffer(Box::new(buffer));
        self.0.into_iter().map(ring).collect()
    }
}

impl RxRing for BpfRing {
    fn next_batch(&mut self) -> Option<Batch<'_>> {
        self.next_batch()
    }

    fn holds(&self, bytes: usize) -> bool {
        self.holds(bytes)
    }

    fn is_filling(&self) -> bool {
        self.is_filling()
    }

    fn waiting_parts(&self) -> u64 {
        parts(self.waiting_bytes(), self.buffer_bytes())
    }

    fn counters(&self) -> &RingCounters {
        self.counters()
    }

    fn refresh(&mut self) {
        self.refresh();
    }

    fn link(&self) -> &InterfaceInfo {
        self.interface()
    }

    fn backend(&self) -> Backend {
        Backend::XdpRingbuf
    }

    fn buffer_bytes(&self) -> usize {
        self.buffer_bytes()
    }

    fn oldest_age_ns(&self, now_ns: u64) -> Option<u64> {
        Some(now_ns.saturating_sub(self.oldest_ns()?))
    }

    fn device_clock(&self) -> Option<DeviceClockState> {
        self.device_clock()
    }

    fn rearm(&self) {
        self.rearm();
    }
}
