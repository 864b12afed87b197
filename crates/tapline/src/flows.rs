//! Flows: what two hosts exchange between two ports, in both directions.
//!
//! ```
//! use tapline::flows::{Flow, FlowMeter, TableOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/corpus/captures/icmpv6.pcap");
//! let mut meter = FlowMeter::new(&TableOptions::default(), |flow: &Flow| {
//!     println!("{} {} packets", flow.initiator.address, flow.packets());
//!     Ok(())
//! })?;
//! tapline::read(path).open()?.run_consumer(&mut meter)?;
//! println!("{} packets in flows", meter.account().in_flows);
//! # Ok(()) }
//! ```
//!
//! A [`FlowMeter`] consumes the packets of a [`read`](mod@crate::read) or of a [`capture`](mod@crate::capture) and delivers each
//! flow when it ends, or at the active timeout. The [`FlowTable`] behind it takes packets from anywhere.

use rustix::rand::{GetRandomFlags, getrandom};
use store::model::{Interface, Statistics};

pub use flow::{
    EndReason, Flow, FlowAccount, FlowEnd, FlowPacket, FlowTable, IpfixEncoder, ProtocolClass,
    TableOptions, TcpFlow, TcpState, Traffic,
};

use crate::Packet;
use crate::capture::{Account, Consumer, ConsumerError};
use crate::read::ReadConsumer;

/// Receives flows that have ended. A closure is one.
///
/// An error from any method ends the job. The remaining flows, a flush and the end still follow: what the sink wrote elsewhere can
/// be completed.
pub trait FlowSink {
    /// Takes a flow.
    ///
    /// # Errors
    /// The flow was not taken.
    fn flow(&mut self, flow: &Flow) -> Result<(), ConsumerError>;

    /// Takes the next interface; flows have its number, from 0.
    ///
    /// # Errors
    /// Why the sink cannot continue.
    fn interface(&mut self, _interface: &Interface) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// At the interval of a capture, and when no packet is waiting: the time to flush.
    ///
    /// # Errors
    /// Why the flush failed.
    fn flush(&mut self, _account: &FlowAccount) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// After the last flow.
    ///
    /// # Errors
    /// Flows that were taken are lost.
    fn finish(&mut self) -> Result<(), ConsumerError> {
        Ok(())
    }
}

impl<F: FnMut(&Flow) -> Result<(), ConsumerError>> FlowSink for F {
    fn flow(&mut self, flow: &Flow) -> Result<(), ConsumerError> {
        self(flow)
    }
}

/// Assigns the packets of a job to flows.
#[derive(Debug)]
pub struct FlowMeter<S> {
    table: FlowTable,
    link_types: Vec<u16>,
    sink: S,
}

impl<S: FlowSink> FlowMeter<S> {
    /// A meter without flows. The seed of `options` is replaced by random numbers.
    ///
    /// # Errors
    /// That of getrandom(2).
    pub fn new(options: &TableOptions, sink: S) -> std::io::Result<Self> {
        let mut bytes = [0; 48];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        let mut seed = [0; 6];
        for (word, bytes) in seed.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        }
        let options = TableOptions { seed, ..*options };
        Ok(Self {
            table: FlowTable::new(&options),
            link_types: Vec::new(),
            sink,
        })
    }

    /// Adds an interface with which a capture starts; a read job adds its own.
    ///
    /// # Errors
    /// That of the sink.
    pub fn add_interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.link_types.push(interface.link_type.0);
        self.sink.interface(interface)
    }

    /// What became of all packets and flows so far; the last few packets are added at the next tick, or at the end.
    pub fn account(&self) -> &FlowAccount {
        self.table.account()
    }

    /// Where flows go.
    pub fn sink(&mut self) -> &mut S {
        &mut self.sink
    }

    #[inline]
    fn add(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let link_type = self.link_types.get(packet.interface()).copied();
        let mut added = FlowPacket::new(
            link_type.unwrap_or(u16::MAX),
            packet.data(),
            packet.time().as_nanos(),
        );
        added.len = packet.len() as u64;
        added.interface = packet.interface() as u32;
        let mut taken = FirstError::new(&mut self.sink);
        let take = &mut |flow: &Flow| taken.take(flow);
        self.table.push(&added, take);
        taken.result
    }

    /// Ends every flow and the sink, also after errors, of which it returns the first.
    fn end_all(&mut self) -> Result<(), ConsumerError> {
        let mut taken = FirstError::new(&mut self.sink);
        self.table.finish(&mut |flow| taken.take(flow));
        let ended = taken.result;
        let flushed = self.sink.flush(self.table.account());
        let finished = self.sink.finish();
        ended.and(flushed).and(finished)
    }
}

/// Passes every flow to the sink, also after an error, and keeps the first error.
struct FirstError<'a, S> {
    sink: &'a mut S,
    result: Result<(), ConsumerError>,
}

impl<'a, S: FlowSink> FirstError<'a, S> {
    fn new(sink: &'a mut S) -> Self {
        Self {
            sink,
            result: Ok(()),
        }
    }

    fn take(&mut self, flow: &Flow) {
        let taken = self.sink.flow(flow);
        if self.result.is_ok() {
            self.result = taken;
        }
    }
}

impl<S: FlowSink> ReadConsumer for FlowMeter<S> {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.add(packet)
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.add_interface(interface)
    }

    fn idle(&mut self) -> Result<(), ConsumerError> {
        let mut taken = FirstError::new(&mut self.sink);
        self.table.add_waiting(&mut |flow| taken.take(flow));
        taken.result?;
        self.sink.flush(self.table.account())
    }

    fn finish(&mut self) -> Result<(), ConsumerError> {
        self.end_all()
    }
}

impl<S: FlowSink> Consumer for FlowMeter<S> {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.add(packet)
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.add_interface(interface)
    }

    fn tick(&mut self, now_ns: u64, _account: &Account) -> Result<(), ConsumerError> {
        let mut taken = FirstError::new(&mut self.sink);
        self.table.expire_all(now_ns, &mut |flow| taken.take(flow));
        taken.result?;
        self.sink.flush(self.table.account())
    }

    fn finish(&mut self, _statistics: &[Statistics]) -> Result<(), ConsumerError> {
        self.end_all()
    }
}
