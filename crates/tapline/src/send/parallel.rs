//! Several sending threads: the packets of a source, divided by flow.
//!
//! ```text
//!                          ┌─▶ queue ─▶ thread 0, on a CPU of its own
//! source ─▶ schedule, flow ┤
//!                          └─▶ queue ─▶ thread 1
//! ```

use std::mem;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use abi::clock::monotonic_ns;
use abi::signal::with_signals_blocked;
use wire::dissect;
use wire::protocol::link_type;

use super::error::SendError;
use super::one_cpu::OneCpu;
use super::options::SendOptions;
use super::queue::SendQueue;
use super::run::Run;
use super::source::{Fill, FilledQueues};
use super::timing::{Schedule, is_stopped};
use crate::precise_wakeup::PreciseWakeup;
use crate::stop::Stop;

/// Queues of each thread.
const QUEUES: usize = 4;

/// The schedule begins so much later, when the threads have their first packets.
const LEAD: Duration = Duration::from_millis(5);

/// A sending thread, as the dividing one sees it.
struct Worker<'scope> {
    filling: SendQueue,
    filled: SyncSender<SendQueue>,
    empty: Receiver<SendQueue>,
    thread: ScopedJoinHandle<'scope, Result<bool, SendError>>,
}

/// Sends the packets of `source`, on a thread for each of `runs`. Returns whether all were sent. One that fails ends the others.
///
/// # Errors
/// That of the source, or the first one of a thread. The account is true.
pub fn run(
    runs: &mut [Run],
    source: &FilledQueues,
    options: &SendOptions,
    user: &Stop,
) -> Result<bool, SendError> {
    let wait = |source| SendError::Wait { source };
    let failure = Stop::new().map_err(wait)?;
    let stop = &user.or(&failure).map_err(wait)?;
    let result = thread::scope(|scope| {
        let mut workers = Vec::new();
        for (index, run) in runs.iter_mut().enumerate() {
            let size = run.egress.queue_size();
            let (filled, to_send) = sync_channel(QUEUES);
            let (sent, empty) = channel();
            for _ in 0..QUEUES {
                // The receiver is here.
                let _ = sent.send(SendQueue::for_source(size));
            }
            let send = move || {
                let result = send_all(index, run, &to_send, &sent, stop);
                if result.is_err() {
                    stop.stopper().stop();
                }
                result
            };
            let thread = thread::Builder::new().name("tapline-send".into());
            let thread = with_signals_blocked(|| thread.spawn_scoped(scope, send));
            workers.push(Worker {
                filling: SendQueue::for_source(size),
                filled,
                empty,
                thread: thread.map_err(wait)?,
            });
        }
        let divided = divide(&mut workers, source, options, stop);
        let mut is_complete = matches!(divided, Ok(true));
        let mut failed = divided.err();
        for worker in workers {
            // The thread ends when it has sent what it was given.
            drop(worker.filled);
            match worker.thread.join() {
                Ok(Ok(is_sent)) => is_complete &= is_sent,
                Ok(Err(error)) => failed = failed.or(Some(error)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        failed.map_or(Ok(is_complete), Err)
    });
    if !is_stopped(user, 0).map_err(wait)? {
        // Those that a failure has ended were not stopped by anybody.
        for run in runs {
            run.is_stopped = false;
        }
    }
    result
}

/// What a thread does.
fn send_all(
    index: usize,
    run: &mut Run,
    queues: &Receiver<SendQueue>,
    sent: &Sender<SendQueue>,
    stop: &Stop,
) -> Result<bool, SendError> {
    let _settings = (PreciseWakeup::begin_prompt(), OneCpu::on_allowed(index));
    while let Ok(mut queue) = queues.recv() {
        if !run.transmit(&queue, stop, None)? {
            return Ok(false);
        }
        queue.clear();
        // The dividing thread may have ended.
        let _ = sent.send(queue);
    }
    Ok(true)
}

/// Divides all packets of `source`. Returns whether all were given to threads: not if one has ended, or at the packet
/// limit.
fn divide(
    workers: &mut [Worker<'_>],
    source: &FilledQueues,
    options: &SendOptions,
    stop: &Stop,
) -> Result<bool, SendError> {
    let start_ns = monotonic_ns() + LEAD.as_nanos() as u64;
    let mut schedule = Schedule::new(options.rate, start_ns);
    let mut left = options.packets.unwrap_or(u64::MAX);
    while let Some((fill, queue)) = source.next(stop)? {
        if fill == Fill::Repeat {
            schedule.repeat();
        }
        let mut is_open = true;
        for packet in queue
            .packets()
            .take(usize::try_from(left).unwrap_or(usize::MAX))
        {
            let index = flow(packet.bytes) % workers.len() as u64;
            let worker = &mut workers[index as usize];
            let time_ns = schedule.next(packet.bytes.len(), packet.time_ns);
            worker.filling.push(time_ns, packet.bytes);
            if worker.filling.is_full() {
                worker.filling.stamp_like(&queue);
                is_open &= worker.hand_over();
            }
        }
        // Nothing waits for packets that come later.
        for worker in &mut *workers {
            worker.filling.stamp_like(&queue);
            is_open &= worker.hand_over();
        }
        left = left.saturating_sub(queue.len() as u64);
        if !is_open || left == 0 {
            return Ok(false);
        }
        if fill == Fill::End {
            return Ok(true);
        }
        source.recycle(queue);
    }
    Ok(false)
}

impl Worker<'_> {
    /// Gives the filled queue to the thread. Returns whether the thread takes any.
    fn hand_over(&mut self) -> bool {
        if self.filling.is_empty() {
            return true;
        }
        let Ok(empty) = self.empty.recv() else {
            return false;
        };
        self.filled
            .send(mem::replace(&mut self.filling, empty))
            .is_ok()
    }
}

/// A number that packets of one flow share.
fn flow(frame: &[u8]) -> u64 {
    let summary = dissect(link_type::ETHERNET, frame);
    let bits = |address| match address {
        std::net::IpAddr::V4(address) => u128::from(address.to_bits()),
        std::net::IpAddr::V6(address) => address.to_bits(),
    };
    let addresses = summary.addresses().map_or(0, |(source, destination)| {
        bits(source).wrapping_mul(3) ^ bits(destination)
    });
    // Later fragments have no ports.
    let ports = summary.ports().filter(|_| summary.fragment.is_none());
    let ports = ports.map_or(0, |(source, destination)| {
        u64::from(source) << 16 | u64::from(destination)
    });
    let key = addresses as u64 ^ (addresses >> 64) as u64 ^ ports << 24;
    // 2⁶⁴ divided by the golden ratio spreads near keys.
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}
