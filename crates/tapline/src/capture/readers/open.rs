//! Opening the captures of several readers: each has a share of the rings.

use std::num::NonZeroUsize;
use std::time::Duration;

use ring::{FanoutMode, RingShare, ShareOptions, XdpRing};

use super::super::engine::Engine;
use super::super::error::CaptureError;
use super::super::plan::options::{CaptureOptions, ShareOfPackets};
use super::options::{PacketReaders, ReaderOptions, check_up};
use crate::steering::DeviceSettingsGuard;

/// Longest time for which the kernel gathers packets for one of several readers whose packets are merged. The merger waits as long for
/// a reader without packets, with those of the others in memory. With pauses of 1.2 s, the ring has 32 blocks.
const MERGED_BLOCK_TIME: Duration = Duration::from_millis(50);

/// What [`open_engines`] opens.
pub struct Opened {
    /// The captures of the readers.
    pub engines: Vec<Engine>,
    /// How the kernel distributes packets among their packet rings.
    pub distribution: Option<FanoutMode>,
    /// The receive queue of each reader, or none.
    pub queues: Vec<u32>,
    /// The queues that are not read.
    pub unread_queues: Vec<u32>,
}

impl Opened {
    /// Without shared packet rings.
    fn new(engines: Vec<Engine>) -> Self {
        Self {
            engines,
            distribution: None,
            queues: Vec::new(),
            unread_queues: Vec::new(),
        }
    }
}

/// Opens the captures of all readers, in the network namespace of the calling thread.
pub fn open_engines(
    mut options: CaptureOptions,
    readers: &ReaderOptions,
) -> Result<Opened, CaptureError> {
    readers.restrict(&mut options)?;
    // The number of queues is one of the settings. The interfaces share these settings when they are opened.
    let made = options
        .links
        .iter()
        .map(|link| DeviceSettingsGuard::of_options(link, &options.steering));
    let _made: Vec<_> = made
        .collect::<Result<_, _>>()
        .map_err(|error| CaptureError::Steering(Box::new(error)))?;
    let Some(packet) = readers.of_packet_rings(&options)? else {
        let unread_queues = unread_queues(&options)?;
        let mut first = Engine::open(options)?;
        let count = readers.count(first.queues.len());
        let mut engines = first.split(count)?;
        engines.insert(0, first);
        return Ok(Opened {
            unread_queues,
            ..Opened::new(engines)
        });
    };
    if packet.count < 2 {
        return Ok(Opened::new(vec![Engine::open(options)?]));
    }
    let mut rings: Vec<usize> = (0..packet.count).collect();
    rings.retain(|&ring| packet.is_read(ring, readers.only()));
    // The reader of the lowest queue comes first.
    let lowest = (0..rings.len()).min_by_key(|&n| packet.queues.get(rings[n]).copied());
    rings.rotate_left(lowest.unwrap_or(0));
    let is_read = |queue: &u32| readers.only().is_none_or(|only| only.contains(queue));
    let mut unread_queues = packet.queues.clone();
    unread_queues.retain(|queue| !is_read(queue));
    unread_queues.sort_unstable();
    let of_ring = |&ring: &usize| packet.queues.get(ring).copied();
    Ok(Opened {
        engines: open_shared(options, &packet, &rings, readers.is_merged)?,
        distribution: Some(packet.distribution),
        queues: rings.iter().filter_map(of_ring).collect(),
        unread_queues,
    })
}

/// The captures of several readers of packet rings: each has one ring of each interface, with these numbers.
fn open_shared(
    mut options: CaptureOptions,
    packet: &PacketReaders,
    rings: &[usize],
    is_merged: bool,
) -> Result<Vec<Engine>, CaptureError> {
    let readers = NonZeroUsize::new(rings.len()).unwrap_or(NonZeroUsize::MIN);
    options.buffer_bytes /= readers;
    if is_merged && rings.len() > 1 {
        options.gather_in_kernel = options.gather_in_kernel.min(Some(MERGED_BLOCK_TIME));
    }
    let share = ShareOptions {
        rings: packet.count,
        mode: packet.distribution,
        direction: options.direction,
    };
    let links = options.links.iter();
    check_up(links.clone().map(String::as_str))?;
    let shares: Result<Vec<_>, _> = links.map(|link| RingShare::open(link, share)).collect();
    let shares = shares?;
    let mut engines = Vec::with_capacity(rings.len());
    for &ring in rings {
        let part = |share: &RingShare| ShareOfPackets {
            share: share.clone(),
            ring,
            readers,
        };
        options.shares = shares.iter().map(part).collect();
        engines.push(Engine::open(options.clone())?);
    }
    for engine in &mut engines[1..] {
        engine.leave_link_poller();
    }
    Ok(engines)
}

/// The queues of the interfaces that `options` leave out.
fn unread_queues(options: &CaptureOptions) -> Result<Vec<u32>, CaptureError> {
    let Some(only) = &options.queues else {
        return Ok(Vec::new());
    };
    let mut most = 0;
    for link in &options.links {
        most = XdpRing::queue_count(link)?.max(most);
    }
    Ok((0..most).filter(|queue| !only.contains(queue)).collect())
}
