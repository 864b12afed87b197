//! A running remote capture: takes packets from the server until its end, and closes the account.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use abi::clock::realtime_ns;
use filter::FilterWarning;
use rustix::event::{PollFd, PollFlags};
use store::model::{self, Interface, Statistics};

use super::connection::{Connection, ask};
use super::data::{DataChannel, ReadOutcome};
use super::error::RemoteError;
use super::message::{RemoteStatistics, Reply, Request};
use super::options::RemoteOptions;
use super::packet::PacketMessage;
use super::{MESSAGE_TIME, REPLY_BYTES_MAX};
use crate::Stop;
use crate::capture::{Account, Consumer, ConsumerError, Lost};
use crate::packet::Packet;
use crate::wait::wait;

/// A capture on another host that delivers its packets here.
pub struct RemoteCapture {
    options: RemoteOptions,
    control: Connection,
    data: DataChannel,
    interface: [Interface; 1],
    warnings: Vec<FilterWarning>,
    start: Instant,
    start_ns: u64,
    /// The first error of a consumer while the capture is being ended.
    late_refusal: Option<ConsumerError>,
}

/// What became of the packets: `received = delivered + after_limit + Σ lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteAccount {
    /// Packets that the consumer took and, if it writes them, that are written.
    pub delivered: u64,
    /// Packets that came behind the limit.
    pub after_limit: u64,
    /// Packets that were sent and did not come, or were damaged.
    pub lost_network: u64,
    /// Packets that the consumer took and did not write, or refused.
    pub lost_writer: u64,
    /// The server's counters; `None` if it did not send them.
    pub server: Option<RemoteStatistics>,
}

impl RemoteAccount {
    /// Packets that have come here.
    pub fn arrived(&self) -> u64 {
        self.delivered + self.after_limit + self.lost_writer
    }

    /// Packets that passed the filter, as far as the server says what it dropped.
    pub fn received(&self) -> u64 {
        self.arrived() + self.lost()
    }

    /// All known losses, other than those of the writer.
    fn lost(&self) -> u64 {
        let of_server = self.server.unwrap_or_default();
        let [interface, ring] = [of_server.dropped_by_interface, of_server.dropped_by_kernel];
        self.lost_network + u64::from(interface) + u64::from(ring)
    }

    /// The sum of all known losses.
    pub fn lost_total(&self) -> u64 {
        self.lost() + self.lost_writer
    }
}

/// Why a remote capture ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum RemoteEnd {
    /// It was stopped.
    Stopped,
    /// The packet limit was reached.
    PacketLimit,
    /// Its time is over.
    TimeLimit,
    /// The connection or the server failed.
    Failed(RemoteError),
    /// The consumer failed.
    Consumer(ConsumerError),
}

/// A remote capture that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct RemoteSummary {
    /// What became of the packets.
    pub account: RemoteAccount,
    /// Why it ended.
    pub ended: RemoteEnd,
    /// How long it took.
    pub duration: Duration,
}

/// What is counted while packets come.
#[derive(Default)]
struct Counted {
    delivered: u64,
    after_limit: u64,
    refused: u64,
    /// Datagrams that are no packets.
    damaged: u64,
    /// The number of the last packet.
    last_number: u32,
}

impl Counted {
    fn arrived(&self) -> u64 {
        self.delivered + self.after_limit + self.refused
    }

    /// Packets that were sent and have not come. Numbers have 32 bits, and so has the difference.
    fn missing(&self, sent: u32) -> u64 {
        let missing = sent.wrapping_sub(self.arrived() as u32);
        if missing < 1 << 31 {
            missing.into()
        } else {
            // More have come than were sent: the network doubled some, or the server counted before that.
            0
        }
    }
}

impl RemoteCapture {
    pub(super) fn new(
        options: RemoteOptions,
        control: Connection,
        data: DataChannel,
        interface: Interface,
        warnings: Vec<FilterWarning>,
    ) -> Self {
        Self {
            options,
            control,
            data,
            interface: [interface],
            warnings,
            start: Instant::now(),
            start_ns: realtime_ns(),
            late_refusal: None,
        }
    }

    /// The interface as a capture file describes it.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interface
    }

    /// Whether the server is this host: nobody else sees the connection.
    pub fn is_on_loopback(&self) -> bool {
        self.control
            .local()
            .is_ok_and(|local| local.ip().is_loopback())
    }

    /// Warnings about the filter.
    pub fn filter_warnings(&self) -> &[FilterWarning] {
        &self.warnings
    }

    /// Passes each packet to `consumer` until a limit, `stop`, the server or the consumer ends the capture. Then asks the server to end
    /// it, and takes what it has sent until then. Sleeps while there is nothing to do. Sends and receives on sockets
    /// that are open.
    pub fn run_consumer<C: Consumer>(mut self, consumer: &mut C, stop: &Stop) -> RemoteSummary {
        let mut counted = Counted::default();
        let mut ended = match self.receive(consumer, stop, &mut counted) {
            Ok(ended) => ended,
            Err(error) => RemoteEnd::Failed(error),
        };
        let is_consumer = matches!(ended, RemoteEnd::Consumer(_));
        let is_failed = matches!(ended, RemoteEnd::Failed(_));
        let mut server = None;
        if !is_failed {
            let takes_packets = matches!(ended, RemoteEnd::Stopped | RemoteEnd::TimeLimit);
            match self.end(consumer, &mut counted, takes_packets && !is_consumer) {
                Ok(statistics) => server = Some(statistics),
                Err(error) if !is_consumer => ended = RemoteEnd::Failed(error),
                Err(_) => {}
            }
        }
        if let Some(error) = self.late_refusal.take() {
            ended = RemoteEnd::Consumer(error);
        }
        // There is no reply.
        let _ = self.control.send(&Request::Close.bytes(), MESSAGE_TIME);
        let sent = server.map_or(counted.last_number, |server| server.sent);
        let account = RemoteAccount {
            delivered: counted.delivered,
            after_limit: counted.after_limit,
            lost_network: counted.missing(sent).max(counted.damaged),
            lost_writer: counted.refused,
            server,
        };
        self.close(consumer, account, ended)
    }

    /// Closes the consumer, and takes what it could not write from what it took.
    fn close<C: Consumer>(
        &self,
        consumer: &mut C,
        mut account: RemoteAccount,
        mut ended: RemoteEnd,
    ) -> RemoteSummary {
        let closed = consumer.finish(&[self.statistics(&account)]);
        let lost = consumer.lost().min(account.delivered);
        account.delivered -= lost;
        account.lost_writer += lost;
        if let (Err(error), false) = (closed, matches!(ended, RemoteEnd::Consumer(_))) {
            ended = RemoteEnd::Consumer(error);
        }
        RemoteSummary {
            account,
            ended,
            duration: self.start.elapsed(),
        }
    }

    /// The final counters, as a capture file has them.
    fn statistics(&self, account: &RemoteAccount) -> Statistics {
        let server = account.server;
        let of_server = |field: fn(RemoteStatistics) -> u32| server.map(|one| field(one).into());
        Statistics {
            interface: 0,
            timestamp_ns: Some(realtime_ns()),
            start_ns: Some(self.start_ns),
            end_ns: Some(realtime_ns()),
            received: None,
            interface_dropped: of_server(|one| one.dropped_by_interface),
            filter_accepted: of_server(|one| one.received),
            os_dropped: of_server(|one| one.dropped_by_kernel),
            delivered: Some(account.delivered),
            comment: None,
        }
    }

    fn receive<C: Consumer>(
        &mut self,
        consumer: &mut C,
        stop: &Stop,
        counted: &mut Counted,
    ) -> Result<RemoteEnd, RemoteError> {
        let over = self.options.limits.duration.map(|time| self.start + time);
        let limit = self.options.limits.packets.unwrap_or(u64::MAX);
        let mut next_tick = Instant::now() + self.options.tick;
        loop {
            let filled = self.data.fill().map_err(RemoteError::Data)?;
            if let Err(error) = self.deliver(consumer, counted, limit)? {
                return Ok(RemoteEnd::Consumer(error));
            }
            if counted.delivered >= limit {
                return Ok(RemoteEnd::PacketLimit);
            }
            let now = Instant::now();
            if now >= next_tick {
                next_tick = now + self.options.tick;
                if let Err(error) = consumer.tick(realtime_ns(), &account(counted)) {
                    return Ok(RemoteEnd::Consumer(error));
                }
            }
            if over.is_some_and(|over| now >= over) {
                return Ok(RemoteEnd::TimeLimit);
            }
            match filled {
                ReadOutcome::End => return Err(self.why_over()),
                ReadOutcome::Data if !is_readable(stop)? => continue,
                ReadOutcome::Data => return Ok(RemoteEnd::Stopped),
                ReadOutcome::Nothing => {}
            }
            if let Err(error) = consumer.idle(realtime_ns()) {
                return Ok(RemoteEnd::Consumer(error));
            }
            let until = over.map_or(next_tick, |over| next_tick.min(over));
            let [is_stopped, has_message] = self.wait(stop, until)?;
            if is_stopped {
                return Ok(RemoteEnd::Stopped);
            }
            if has_message && let Err(error) = self.refuse_message() {
                // What has come before is delivered.
                while self.data.fill().map_err(RemoteError::Data)? == ReadOutcome::Data {
                    if let Err(error) = self.deliver(consumer, counted, limit)? {
                        return Ok(RemoteEnd::Consumer(error));
                    }
                }
                return Err(error);
            }
        }
    }

    /// Waits for packets, for the stop and for a message of the server. Returns whether there are the latter two.
    fn wait(&self, stop: &Stop, until: Instant) -> Result<[bool; 2], RemoteError> {
        let mut polled = [
            PollFd::new(stop, PollFlags::IN),
            PollFd::new(&self.control, PollFlags::IN),
            PollFd::new(&self.data, PollFlags::IN),
        ];
        let left = until.saturating_duration_since(Instant::now());
        wait(&mut polled, left).map_err(RemoteError::Connection)?;
        Ok([0, 1].map(|place| !polled[place].revents().is_empty()))
    }

    /// Delivers what has come. The inner error is that of the consumer.
    fn deliver<C: Consumer>(
        &mut self,
        consumer: &mut C,
        counted: &mut Counted,
        limit: u64,
    ) -> Result<Result<(), ConsumerError>, RemoteError> {
        let snaplen = self.options.snaplen as usize;
        let is_stream = self.data.is_stream();
        loop {
            let message = match self.data.take(snaplen) {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(Ok(())),
                Err(error) if is_stream => return Err(error.into()),
                Err(_) => {
                    counted.damaged += 1;
                    continue;
                }
            };
            counted.last_number = message.number;
            if counted.delivered >= limit {
                counted.after_limit += 1;
                continue;
            }
            if let Err(error) = consumer.packet(&packet(&message)) {
                counted.refused += 1;
                return Ok(Err(error));
            }
            counted.delivered += 1;
        }
    }

    /// Ends the capture at the server, while packets still come: they are delivered, or counted only.
    fn end<C: Consumer>(
        &mut self,
        consumer: &mut C,
        counted: &mut Counted,
        takes_packets: bool,
    ) -> Result<RemoteStatistics, RemoteError> {
        let limit = if takes_packets {
            self.options.limits.packets.unwrap_or(u64::MAX)
        } else {
            0
        };
        // Some servers no longer have counters when the capture has ended.
        let before = self.ask_while(&Request::Statistics, consumer, counted, limit)?;
        self.ask_while(&Request::End, consumer, counted, limit)?;
        self.drain(consumer, counted, limit)?;
        let after = ask(&mut self.control, &Request::Statistics);
        match (before, after) {
            (Reply::Statistics(before), Ok(Reply::Statistics(after))) => {
                // Counters go backwards where there are none.
                let is_later = after.sent.wrapping_sub(before.sent) < 1 << 31;
                Ok(if is_later && after.sent > 0 {
                    after
                } else {
                    before
                })
            }
            (Reply::Statistics(before), _) => Ok(before),
            _ => Err(RemoteError::Unexpected),
        }
    }

    /// Asks the server, and takes packets until its reply: it may send it only when packets have been taken.
    fn ask_while<C: Consumer>(
        &mut self,
        request: &Request,
        consumer: &mut C,
        counted: &mut Counted,
        limit: u64,
    ) -> Result<Reply, RemoteError> {
        let send = self.control.send(&request.bytes(), MESSAGE_TIME);
        send.map_err(RemoteError::Connection)?;
        let until = Instant::now() + MESSAGE_TIME;
        let mut is_over = false;
        loop {
            if let Some(reply) = self.reply()? {
                return Ok(reply);
            }
            if !is_over {
                is_over = self.data.fill().map_err(RemoteError::Data)? == ReadOutcome::End;
                self.deliver_rest(consumer, counted, limit)?;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(RemoteError::Connection(io::ErrorKind::TimedOut.into()));
            }
            let control = PollFd::new(&self.control, PollFlags::IN);
            let data = PollFd::new(&self.data, PollFlags::IN);
            let polled = &mut [control, data][..if is_over { 1 } else { 2 }];
            wait(polled, left).map_err(RemoteError::Connection)?;
        }
    }

    /// A reply that has come.
    fn reply(&mut self) -> Result<Option<Reply>, RemoteError> {
        let fill = self.control.fill(REPLY_BYTES_MAX);
        fill.map_err(RemoteError::Connection)?;
        let Some((header, payload)) = self.control.take(REPLY_BYTES_MAX)? else {
            return if self.control.is_over() {
                Err(RemoteError::Closed)
            } else {
                Ok(None)
            };
        };
        match Reply::parse(header, &payload)? {
            Reply::Error(code, text) => Err(RemoteError::refused(code, &text)),
            reply => Ok(Some(reply)),
        }
    }

    /// Takes what the server sent before the capture ended there. A stream ends; datagrams are all here.
    fn drain<C: Consumer>(
        &mut self,
        consumer: &mut C,
        counted: &mut Counted,
        limit: u64,
    ) -> Result<(), RemoteError> {
        let until = Instant::now() + MESSAGE_TIME;
        loop {
            let filled = self.data.fill().map_err(RemoteError::Data)?;
            self.deliver_rest(consumer, counted, limit)?;
            let left = until.saturating_duration_since(Instant::now());
            match filled {
                ReadOutcome::End => return Ok(()),
                ReadOutcome::Nothing if !self.data.is_stream() => return Ok(()),
                _ if left.is_zero() => {
                    return Err(RemoteError::Data(io::ErrorKind::TimedOut.into()));
                }
                ReadOutcome::Data => {}
                ReadOutcome::Nothing => {
                    let data = &mut [PollFd::new(&self.data, PollFlags::IN)];
                    wait(data, left).map_err(RemoteError::Data)?;
                }
            }
        }
    }

    fn deliver_rest<C: Consumer>(
        &mut self,
        consumer: &mut C,
        counted: &mut Counted,
        limit: u64,
    ) -> Result<(), RemoteError> {
        let is_refused = self.late_refusal.is_some();
        let limit = if is_refused { 0 } else { limit };
        if let Err(error) = self.deliver(consumer, counted, limit)? {
            self.late_refusal = Some(error);
            // The others only count.
            return self.deliver(consumer, counted, 0).map(drop);
        }
        Ok(())
    }

    /// Why the server closed the channel of packets: it says so in a message.
    fn why_over(&mut self) -> RemoteError {
        if self.data.has_part() {
            return super::error::MessageError::Packet.into();
        }
        match self.control.receive(REPLY_BYTES_MAX, MESSAGE_TIME) {
            Ok((header, payload)) => match Reply::parse(header, &payload) {
                Ok(Reply::Error(code, text)) => RemoteError::refused(code, &text),
                Ok(_) => RemoteError::Unexpected,
                Err(error) => error.into(),
            },
            Err(error) => error,
        }
    }

    /// A message that comes during the capture is an error.
    fn refuse_message(&mut self) -> Result<(), RemoteError> {
        match self.reply()? {
            None => Ok(()),
            Some(_) => Err(RemoteError::Unexpected),
        }
    }
}

fn is_readable(stop: &Stop) -> Result<bool, RemoteError> {
    let stop = &mut [PollFd::new(stop, PollFlags::IN)];
    wait(stop, Duration::ZERO).map_err(RemoteError::Connection)
}

/// The account so far, for the consumer's ticks: what the server dropped is not known yet.
fn account(counted: &Counted) -> Account {
    Account {
        delivered: counted.delivered,
        filtered: None,
        sampled_out: None,
        lost: Lost {
            nic: None,
            driver: None,
            writer: counted.refused,
            ..Lost::default()
        },
    }
}

/// The packet of a message. Servers state microseconds.
fn packet<'a>(message: &PacketMessage<'a>) -> Packet<'a> {
    let mut packet = model::Packet::new(message.timestamp_ns(), message.bytes);
    packet.original_len = message.original_len;
    Packet::from(packet)
}

impl RemoteEnd {
    /// The error that ended the capture, if one did.
    pub fn error(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Consumer(error) => Some(&**error),
            _ => None,
        }
    }
}
