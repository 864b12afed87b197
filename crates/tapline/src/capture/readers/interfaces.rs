//! Opens an interface for all readers of a running capture.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use netlink::{Link, Netlink};
use ring::{FanoutMode, RingShare, ShareOptions, XdpRing};
use store::model::Interface as Description;

use super::super::account::counters::LiveCounters;
use super::super::control::new_interface::{InterfaceOpener, NewInterface};
use super::super::error::CaptureError;
use super::super::plan::options::{CaptureOptions, ShareOfPackets};
use super::super::read::ring::RingReader;
use super::options::{check_up, is_packet, queue_offset};

/// Interfaces that have joined a capture and that its file does not know yet.
#[derive(Clone, Debug, Default)]
pub struct JoinedInterfaces(Arc<Mutex<Vec<Description>>>);

impl JoinedInterfaces {
    fn list(&self) -> MutexGuard<'_, Vec<Description>> {
        // No panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes them, in the order of their numbers.
    pub fn take(&self) -> Vec<Description> {
        std::mem::take(&mut self.list())
    }
}

/// Opens interfaces for several readers.
pub struct SharedOpener {
    /// The receive queue of each reader, if that is known.
    pub queues: Vec<Option<u32>>,
    /// Only these queues are read.
    pub is_list: bool,
    /// How packet rings of readers without a queue share the packets.
    pub distribution: FanoutMode,
    /// The counters of all readers.
    pub live: LiveCounters,
    pub joined: JoinedInterfaces,
}

impl InterfaceOpener for SharedOpener {
    fn open(
        &self,
        link: &str,
        number: u32,
        options: &CaptureOptions,
    ) -> Result<Vec<NewInterface>, CaptureError> {
        if is_packet(options) {
            self.open_packet_rings(link, number, options)
        } else {
            let mut options = options.clone();
            options.required.rings = self.queues.len();
            self.deal(NewInterface::open(link, number, &options)?)
        }
    }

    fn added(&self, parts: &[NewInterface]) {
        let counters: Vec<_> = parts.iter().map(NewInterface::counters).collect();
        self.live.extend(&LiveCounters::shared(&counters));
        let description = parts.first().map(|part| part.description.clone());
        self.joined.list().extend(description);
    }

    fn exchanged(&self, parts: &[NewInterface]) {
        let counters = parts.iter().map(|part| part.interface.counters.clone());
        if let Some(first) = parts.first() {
            self.live
                .succeed(first.interface.number, counters.collect());
        }
    }
}

impl SharedOpener {
    fn open_packet_rings(
        &self,
        link: &str,
        number: u32,
        options: &CaptureOptions,
    ) -> Result<Vec<NewInterface>, CaptureError> {
        let (rings, mode, numbers) = self.rings(link)?;
        let share = ShareOptions {
            rings,
            mode,
            direction: options.direction,
        };
        let readers = NonZeroUsize::new(numbers.len()).unwrap_or(NonZeroUsize::MIN);
        check_up([link])?;
        let share = RingShare::open(link, share)?;
        let open = |ring| {
            let mut options = options.clone();
            options.buffer_bytes /= readers;
            options.shares = vec![ShareOfPackets {
                share: share.clone(),
                ring,
                readers,
            }];
            NewInterface::open(link, number, &options)
        };
        numbers.into_iter().map(open).collect()
    }

    /// Number of packet rings that share the packets of `link`, how, and the ring of each reader.
    fn rings(&self, link: &str) -> Result<(usize, FanoutMode, Vec<usize>), CaptureError> {
        let queues: Option<Vec<u32>> = self.queues.iter().copied().collect();
        let Some(queues) = queues else {
            let readers = self.queues.len();
            return Ok((readers, self.distribution, (0..readers).collect()));
        };
        let count = XdpRing::queue_count(link)?.max(1);
        let is_complete = self.is_list || count as usize == queues.len();
        let is_covered = is_complete && queues.iter().all(|&queue| queue < count);
        let found = Netlink::open()?.link_named(link).ok();
        let offset = queue_offset(found.as_ref().and_then(Link::kind_name));
        let refused = |reason| CaptureError::Readers { reason };
        let offset = offset.ok_or_else(|| {
            refused("packets of a bond or similar carry the queue numbers of its ports: add the ports instead")
        })?;
        if !is_covered {
            return Err(refused(
                "the interface has other receive queues than those of the readers",
            ));
        }
        let count = count as usize;
        let ring_of = |queue: u32| (queue as usize + offset) % count;
        let rings = queues.into_iter().map(ring_of).collect();
        Ok((count, FanoutMode::Queue, rings))
    }

    /// Gives each reader a part of the rings: AF_XDP sockets by their queue, others in turn.
    fn deal(&self, mut new: NewInterface) -> Result<Vec<NewInterface>, CaptureError> {
        let readers = self.queues.len();
        let reader_of = |number: usize, ring: &RingReader| {
            let queue = match ring {
                RingReader::Xdp(ring) => Some(ring.queue()),
                _ => None,
            };
            let of_queue = queue.and_then(|_| self.queues.iter().position(|one| *one == queue));
            of_queue.unwrap_or(number % readers)
        };
        let mut dealt: Vec<Vec<_>> = (0..readers).map(|_| Vec::new()).collect();
        let mut rings = vec![Vec::new(); readers];
        for (number, queue) in std::mem::take(&mut new.queues).into_iter().enumerate() {
            let reader = reader_of(number, &queue.reader);
            dealt[reader].push(queue);
            rings[reader].push(number);
        }
        if dealt.iter().any(Vec::is_empty) {
            return Err(CaptureError::Readers {
                reason: "the interface has fewer rings than the capture has readers",
            });
        }
        let ranges: Vec<_> = dealt.iter().map(|queues| 0..queues.len()).collect();
        let others = new.interface.share(&ranges, rings);
        let parts = std::iter::once(new.interface).chain(others).zip(dealt);
        let parts = parts.map(|(interface, mut queues)| {
            for queue in &mut queues {
                queue.counters = interface.counters.clone();
            }
            NewInterface {
                interface,
                queues,
                description: new.description.clone(),
            }
        });
        Ok(parts.collect())
    }
}
