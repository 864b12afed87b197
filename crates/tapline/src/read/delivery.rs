//! Selects packets, truncates them to the snaplen, counts them, and hands them to a destination.

use std::time::{Duration, Instant};

use store::block::{Block, Options};
use store::model::{self, Interface, Statistics};
use store::read::{Header, Item};

use super::error::{ConsumerError, ReadError};
use super::input::is_stopped;
use super::progress::SharedProgress;
use super::selection::{PacketMatcher, Selection};
use crate::analysis::Analysis;
use crate::{Packet, Stop};

/// The time between two calls of [`ReadConsumer::idle`], about.
pub(super) const TICK: Duration = Duration::from_millis(500);

/// Items between two checks of the stop.
const STOP_CHECK_ITEMS: u32 = 256;

/// Receives the packets of a read job, in the thread that runs it.
///
/// An error from any call ends the job with [`ReadError::Consumer`].
pub trait ReadConsumer {
    /// Takes a packet, which is valid during the call.
    ///
    /// # Errors
    /// The packet was not taken.
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError>;

    /// Takes the description of the next interface. Packets refer to it by its number, from 0.
    ///
    /// # Errors
    /// Why the consumer cannot continue.
    fn interface(&mut self, _interface: &Interface) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// The time to flush: all packets received so far were delivered, and the job begins to wait for more. Also about every half
    /// second while it waits, and while packets keep coming.
    ///
    /// Waiting for a compressed stream is not noticed.
    ///
    /// # Errors
    /// Why the flush failed.
    fn idle(&mut self) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// The job has ended: the time for a last flush.
    ///
    /// # Errors
    /// Why the flush failed.
    fn finish(&mut self) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// Number of packets that were taken and lost later.
    fn lost(&self) -> u64 {
        0
    }
}

/// A closure as a consumer.
pub(super) struct ClosureConsumer<F>(pub F);

impl<F, E> ReadConsumer for ClosureConsumer<F>
where
    F: FnMut(&Packet<'_>) -> Result<(), E>,
    E: Into<ConsumerError>,
{
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        (self.0)(packet).map_err(Into::into)
    }
}

/// Where selected packets go.
pub(super) trait Destination {
    fn add_interface(
        &mut self,
        interface: Interface,
        options: Options<'_>,
    ) -> Result<(), ReadError>;
    fn packet(&mut self, packet: &model::Packet<'_>) -> Result<(), ReadError>;
    /// Takes counters of an interface.
    fn statistics(&mut self, _: &Statistics, _options: Options<'_>) -> Result<(), ReadError> {
        Ok(())
    }
    /// Takes the header of the next section.
    fn section(&mut self, _: &Header) -> Result<(), ReadError> {
        Ok(())
    }
    /// Takes another block.
    fn block(&mut self, _: &Block<'_>) -> Result<(), ReadError> {
        Ok(())
    }
    /// Whether [`Self::blocks`] can be called.
    fn accepts_blocks(&self) -> bool;
    /// Takes packets as native blocks (see [`store::read::PacketBlock`]).
    fn blocks(&mut self, blocks: &[u8], packets: u64) -> Result<(), ReadError>;
    fn flush(&mut self) -> Result<(), ReadError>;
    /// At every [`TICK`], about.
    fn tick(&mut self) -> Result<(), ReadError> {
        Ok(())
    }
}

/// A consumer as a destination.
pub(super) struct ConsumerDestination<'a, C: ?Sized>(pub &'a mut C);

impl<C: ReadConsumer + ?Sized> Destination for ConsumerDestination<'_, C> {
    fn add_interface(&mut self, interface: Interface, _: Options<'_>) -> Result<(), ReadError> {
        self.0.interface(&interface).map_err(ReadError::Consumer)
    }

    #[inline]
    fn packet(&mut self, packet: &model::Packet<'_>) -> Result<(), ReadError> {
        self.0
            .packet(&Packet::from(*packet))
            .map_err(ReadError::Consumer)
    }

    fn accepts_blocks(&self) -> bool {
        false
    }

    fn blocks(&mut self, _blocks: &[u8], _packets: u64) -> Result<(), ReadError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ReadError> {
        self.0.idle().map_err(ReadError::Consumer)
    }

    fn tick(&mut self) -> Result<(), ReadError> {
        self.flush()
    }
}

/// Figures as a destination.
impl Destination for Analysis {
    fn add_interface(&mut self, interface: Interface, _: Options<'_>) -> Result<(), ReadError> {
        Analysis::add_interface(self, &interface);
        Ok(())
    }

    fn packet(&mut self, packet: &model::Packet<'_>) -> Result<(), ReadError> {
        self.add_packet(packet);
        Ok(())
    }

    fn statistics(&mut self, statistics: &Statistics, _: Options<'_>) -> Result<(), ReadError> {
        self.add_statistics(statistics);
        Ok(())
    }

    fn accepts_blocks(&self) -> bool {
        false
    }

    fn blocks(&mut self, _blocks: &[u8], _packets: u64) -> Result<(), ReadError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ReadError> {
        Ok(())
    }
}

/// The number of bytes kept of each packet.
#[derive(Clone, Copy)]
pub(super) struct Snaplen {
    max: Option<u32>,
}

impl Snaplen {
    /// `bytes`; 0 means no limit.
    pub(super) fn new(bytes: u32) -> Self {
        Self {
            max: Some(bytes).filter(|&bytes| bytes > 0),
        }
    }

    /// Truncates the captured bytes. The original length stays.
    #[inline]
    pub(super) fn packet(self, packet: model::Packet<'_>) -> model::Packet<'_> {
        let max = self.max.map_or(usize::MAX, |bytes| bytes as usize);
        model::Packet {
            bytes: packet.bytes.get(..max).unwrap_or(packet.bytes),
            ..packet
        }
    }

    /// The description of an interface after truncation.
    fn interface(self, interface: &Interface) -> Interface {
        let snaplen = match (self.max, interface.snaplen) {
            (None, snaplen) => snaplen,
            (Some(max), 0) => max,
            (Some(max), snaplen) => max.min(snaplen),
        };
        Interface {
            snaplen,
            ..interface.clone()
        }
    }
}

/// Packet counters of a job: `received = delivered + filtered + lost`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketCounts {
    /// Read from the inputs.
    pub received: u64,
    /// Selected, including those lost later.
    pub selected: u64,
}

/// Receives what is read, in file order.
pub(super) trait ItemReceiver {
    /// Whether nothing more is needed.
    fn is_done(&mut self) -> bool;
    /// The matcher for packets of the interfaces received so far.
    fn matcher(&self) -> &PacketMatcher;
    /// Receives the next item. A packet is still to be matched.
    fn item(&mut self, item: Item<'_>) -> Result<(), ReadError>;
    /// Receives a packet that the matcher accepts.
    fn accepted(&mut self, packet: &model::Packet<'_>) -> Result<(), ReadError>;
    /// Maximum number of packets that [`Self::accepted_blocks`] takes now.
    fn blocks_max(&self) -> u64 {
        0
    }
    /// Receives accepted packets as native blocks.
    fn accepted_blocks(&mut self, _blocks: &[u8], _packets: u64) -> Result<(), ReadError> {
        Ok(())
    }
    /// Counts packets that the matcher rejects.
    fn rejected(&mut self, packets: u64);
    /// Everything before this offset was received. Called now and then.
    fn read_to(&mut self, _offset: u64) -> Result<(), ReadError> {
        Ok(())
    }
}

/// Delivers selected packets to a destination.
pub(super) struct Delivery<'a, D> {
    pub selection: &'a mut Selection,
    pub counts: &'a mut PacketCounts,
    pub destination: &'a mut D,
    pub snaplen: Snaplen,
    /// Maximum number of packets to deliver.
    pub limit: u64,
    /// Number of the last packet that can be selected.
    pub last_number: u64,
    pub stop: &'a mut StopCheck,
    /// The counters for other threads.
    pub shared: &'a SharedProgress,
    /// Time of the last tick.
    pub ticked: Instant,
}

/// Checks the stop now and then, since each check is a system call.
pub(super) struct StopCheck {
    stop: Stop,
    items: u32,
    is_stopped: bool,
}

impl StopCheck {
    pub(super) fn new(stop: Stop) -> Self {
        Self {
            stop,
            items: 0,
            is_stopped: false,
        }
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Whether the job is stopped, as of the last check.
    #[inline]
    pub(super) fn is_stopped(&mut self) -> bool {
        if self.items == 0 {
            self.items = STOP_CHECK_ITEMS;
            self.check();
        }
        self.items -= 1;
        self.is_stopped
    }

    /// Checks now.
    #[cold]
    pub(super) fn check(&mut self) -> bool {
        self.is_stopped = self.is_stopped || is_stopped(&self.stop);
        self.is_stopped
    }
}

impl<D: Destination> Delivery<'_, D> {
    /// Receives the next packet, which is still to be matched.
    #[inline]
    pub(super) fn packet(&mut self, packet: &model::Packet<'_>) -> Result<(), ReadError> {
        if self.selection.accepts(self.counts.received + 1, packet) {
            return self.accepted(packet);
        }
        self.rejected(1);
        Ok(())
    }
}

impl<D: Destination> ItemReceiver for Delivery<'_, D> {
    fn read_to(&mut self, offset: u64) -> Result<(), ReadError> {
        self.shared
            .store(offset, self.counts.received, self.counts.selected);
        if self.ticked.elapsed() < TICK {
            return Ok(());
        }
        self.ticked = Instant::now();
        self.destination.tick()
    }

    #[inline]
    fn is_done(&mut self) -> bool {
        self.counts.selected == self.limit
            || self.counts.received >= self.last_number
            || self.stop.is_stopped()
    }

    fn matcher(&self) -> &PacketMatcher {
        self.selection.matcher()
    }

    #[inline]
    fn item(&mut self, item: Item<'_>) -> Result<(), ReadError> {
        match item {
            Item::Packet(packet) => self.packet(&packet)?,
            Item::Interface {
                interface, options, ..
            } => {
                self.selection.add_interface(interface)?;
                let interface = self.snaplen.interface(interface);
                self.destination.add_interface(interface, options)?;
            }
            Item::Statistics {
                statistics,
                options,
            } => self.destination.statistics(statistics, options)?,
            Item::Section(header) => self.destination.section(header)?,
            Item::Block(block) => self.destination.block(&block)?,
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn accepted(&mut self, packet: &model::Packet<'_>) -> Result<(), ReadError> {
        self.counts.received += 1;
        self.counts.selected += 1;
        self.destination.packet(&self.snaplen.packet(*packet))
    }

    fn blocks_max(&self) -> u64 {
        if self.destination.accepts_blocks() && self.snaplen.max.is_none() {
            self.limit - self.counts.selected
        } else {
            0
        }
    }

    fn accepted_blocks(&mut self, blocks: &[u8], packets: u64) -> Result<(), ReadError> {
        self.counts.received += packets;
        self.counts.selected += packets;
        self.destination.blocks(blocks, packets)
    }

    fn rejected(&mut self, packets: u64) {
        self.counts.received += packets;
    }
}
