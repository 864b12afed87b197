//! An open send job.

use std::sync::Arc;
use std::time::Duration;

use abi::clock::monotonic_ns;
use netlink::Netlink;
use probe::Histogram;

use super::egress::{self, DeviceCounter, Egress, LiveSent, SentCounts};
use super::error::SendError;
use super::one_cpu::OneCpu;
use super::options::{SendOptions, SendPath};
use super::parallel;
use super::queue::SendQueue;
use super::run::Run;
use super::source::{Fill, FilledQueues, SourceError};
use super::summary::SendSummary;
use super::timing::{Rate, is_stopped};
use crate::precise_wakeup::PreciseWakeup;
use crate::stop::Stop;
use crate::uplink::{NewWatch, UplinkWatch};

/// An open send job.
#[must_use = "finish returns what became of the packets"]
pub struct Sender {
    options: SendOptions,
    netlink: Netlink,
    /// One for each thread. The first one also sends what does not come from a source.
    runs: Vec<Run>,
    device: DeviceCounter,
    second_device: Option<DeviceCounter>,
    stop: Stop,
    live: LiveSent,
    /// The packet that is injected.
    single: SendQueue,
}

controls!(Sender);

impl SendOptions {
    /// Opens the job.
    ///
    /// # Errors
    /// [`SendError`]: there is no such interface, it is down, it is an uplink, or a privilege is missing.
    /// # Privileges
    /// `CAP_NET_RAW`; `CAP_SYS_ADMIN` to enter a network namespace. [`SendPath::LiveFrames`] needs `CAP_BPF`,
    /// `CAP_NET_ADMIN`, `CAP_PERFMON` and `CAP_SYS_ADMIN`.
    pub fn open(self) -> Result<Sender, SendError> {
        match self.namespace.clone() {
            Some(namespace) => namespace.run(|| Sender::open(self))?,
            None => Sender::open(self),
        }
    }
}

impl Sender {
    /// Opens the job in the network namespace of the calling thread.
    pub(super) fn open(mut options: SendOptions) -> Result<Self, SendError> {
        let mut netlink = Netlink::open()?;
        let mut watch = if options.allow_uplink {
            None
        } else {
            Some(UplinkWatch::begin(&mut netlink)?)
        };
        let live = LiveSent::default();
        let mut second = None;
        let mut second_device = None;
        if let Some(name) = &options.second_link {
            // A call returns when the device has its packets, so that those of the other interface come behind them.
            if options.path == SendPath::Auto {
                options.path = SendPath::Bypass;
            }
            let link = egress::find(&mut netlink, name, &options, watch.as_mut())?;
            second = Some(Egress::open(&options, name, &link, 0, live.clone())?);
            second_device = Some(DeviceCounter::start(&link));
        }
        let link = egress::find(&mut netlink, &options.link, &options, watch.as_mut())?;
        let threads = match second {
            None => options.threads.get(),
            Some(_) => 1,
        };
        let egresses = Egress::open_all(&options, &link, threads, &live)?;
        let rate = match options.rate {
            Rate::Max => Rate::Max,
            // Several threads follow one schedule.
            _ if threads > 1 => Rate::Absolute,
            rate => rate,
        };
        let keeps_plan = options.rate == Rate::Absolute;
        let uplinks = watch.map(NewWatch::watch).transpose()?.map(Arc::new);
        let run = |egress| Run::new(egress, second.take(), rate, keeps_plan, uplinks.clone());
        Ok(Self {
            runs: egresses.into_iter().map(run).collect(),
            device: DeviceCounter::start(&link),
            second_device,
            netlink,
            stop: Stop::new().map_err(|source| SendError::Wait { source })?,
            live,
            single: SendQueue::default(),
            options,
        })
    }

    /// Sends one packet now, whatever the rate.
    ///
    /// # Errors
    /// [`SendError`]; the account is still true.
    pub fn inject(&mut self, frame: &[u8]) -> Result<(), SendError> {
        self.runs[0].refuse_uplink(monotonic_ns())?;
        let mut queue = std::mem::take(&mut self.single);
        queue.clear();
        queue.push(0, frame);
        let result = self.runs[0].send(&queue, 0, 1, &self.stop);
        self.single = queue;
        result
    }

    /// Sends the packets of `queue` at the rate of the job, from this thread. Several queues continue one schedule.
    /// Returns whether all were sent: not if the job was stopped, or at its packet limit.
    ///
    /// # Errors
    /// [`SendError`]; the account is still true.
    pub fn transmit(&mut self, queue: &SendQueue) -> Result<bool, SendError> {
        let _settings = (PreciseWakeup::begin_prompt(), OneCpu::begin());
        self.runs[0].transmit(queue, &self.stop, self.options.packets)
    }

    /// Sends the packets of `source`, which fills queues on a thread of its own, from as many threads as the options say.
    /// Returns whether all were sent.
    ///
    /// # Errors
    /// [`SendError::Source`] if the source failed; packets before that are sent. Otherwise as
    /// [`transmit`](Self::transmit).
    pub fn run<S>(&mut self, source: S) -> Result<bool, SendError>
    where
        S: FnMut(&mut SendQueue) -> Result<Fill, SourceError> + Send + 'static,
    {
        let size = self.runs[0].egress.queue_size();
        let queues = FilledQueues::start(source, size);
        let queues = queues.map_err(|source| SendError::Wait { source })?;
        let is_complete = if self.runs.len() > 1 {
            parallel::run(&mut self.runs, &queues, &self.options, &self.stop)?
        } else {
            self.run_here(&queues)?
        };
        let is_stopped = || is_stopped(&self.stop, 0);
        if !is_complete && is_stopped().map_err(|source| SendError::Wait { source })? {
            self.runs[0].is_stopped = true;
        }
        Ok(is_complete)
    }

    /// Sends the packets of `queues` from this thread.
    fn run_here(&mut self, queues: &FilledQueues) -> Result<bool, SendError> {
        let _settings = (PreciseWakeup::begin_prompt(), OneCpu::begin());
        while let Some((fill, queue)) = queues.next(&self.stop)? {
            if fill == Fill::Repeat {
                self.runs[0].repeat();
            }
            if !self.runs[0].transmit(&queue, &self.stop, self.options.packets)? {
                return Ok(false);
            }
            if fill == Fill::End {
                return Ok(true);
            }
            queues.recycle(queue);
        }
        Ok(false)
    }

    /// Ends the job and returns its summary. Waits up to half a second for the device's counters.
    ///
    /// # Errors
    /// None at present.
    pub fn finish(mut self) -> Result<SendSummary, SendError> {
        let path = self.runs[0].egress.way().path();
        let mut counts = SentCounts::default();
        let mut second_counts = None;
        let postponed_ns = self.runs.iter().filter_map(|run| run.postponed_ns).max();
        let (mut lateness, mut stamped_lateness) = (Histogram::default(), Histogram::default());
        let (mut missed, mut second_missed) = (0, 0);
        for run in &mut self.runs {
            run.egress.way().drain();
            missed += run.egress.way().missed();
            counts.add(&run.egress.counts);
            lateness.merge(&run.lateness);
            if let Some(stamped) = run.egress.way().stamped_lateness() {
                stamped_lateness.merge(stamped);
            }
            if let Some(second) = &mut run.second {
                second.way().drain();
                second_missed = second.way().missed();
                second_counts = Some(second.counts.clone());
            }
        }
        let expected = counts.accepted.saturating_sub(missed);
        let mut delivered = self.device.delivered(&mut self.netlink, expected);
        if let (Some(second), Some(device)) = (&second_counts, &self.second_device) {
            let more = device.delivered(
                &mut self.netlink,
                second.accepted.saturating_sub(second_missed),
            );
            delivered = delivered.zip(more).map(|(first, second)| first + second);
            counts.add(second);
        }
        let first_ns = self.runs.iter().filter_map(|run| run.first_ns).min();
        let duration_ns = first_ns.map_or(0, |first| counts.last_ns.saturating_sub(first));
        Ok(SendSummary {
            submitted: counts.submitted(),
            accepted: counts.accepted,
            second_accepted: second_counts.map(|second| second.accepted),
            bytes: counts.bytes,
            delivered,
            missed: missed + second_missed,
            failed: counts.failed,
            skipped: counts.skipped,
            truncated: counts.truncated,
            retries: counts.retries,
            path,
            duration: Duration::from_nanos(duration_ns),
            postponed: Duration::from_nanos(postponed_ns.unwrap_or(0)),
            lateness,
            stamped_lateness,
            is_stopped: self.runs.iter().any(|run| run.is_stopped),
        })
    }
}
