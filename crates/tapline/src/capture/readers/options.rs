//! How many readers, on which CPUs, and how the kernel distributes packets among them.

use std::num::NonZeroUsize;

use abi::machine::Machine;
use netlink::{Link, Netlink};
use ring::{DirectionFilter, FanoutMode, XdpRing};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::super::error::CaptureError;
use super::super::plan::backend::Backend;
use super::super::plan::mode::Mode;
use super::super::plan::options::CaptureOptions;

/// Most readers: a fanout group has 256 members (`PACKET_FANOUT_MAX`), one more than rings while a ring is opened.
const MAX_READERS: usize = 255;

/// Number of readers, and what they read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Queues {
    /// One for each receive queue of the interfaces, in drop mode with shared memory for each CPU.
    All,
    /// A number of readers, which share the queues.
    Count(NonZeroUsize),
    /// One for each of these receive queues. Packets of other queues are neither received nor filtered. A packet that
    /// this host sends has no receive queue and is not captured. Drop mode uses AF_XDP sockets; packets of other queues
    /// reach the stack.
    Only(Vec<u32>),
}

/// Options of a [`ParallelCapture`](super::ParallelCapture).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReaderOptions {
    /// Number of readers. Default: one for each receive queue.
    pub queues: Queues,
    /// The CPU of each reader; begins again at the first if there are more readers. Default: the CPUs on which the
    /// process may run.
    pub cpus: Vec<usize>,
    /// How the kernel distributes packets among packet rings. Default: by receive queue if there is a reader for each
    /// and no interface is above others, such as a bond; otherwise by flow hash. Other back ends have a ring for each
    /// queue or CPU.
    pub distribution: Option<FanoutMode>,
    /// Whether the packets of all readers are merged, as [`run_file`](super::ParallelCapture::run_file) and
    /// [`run_consumer`](super::ParallelCapture::run_consumer) do. The kernel then wakes the reader of a packet ring sooner and more
    /// often, so that the others' packets need not wait long for its packets. Default: yes.
    pub is_merged: bool,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self {
            queues: Queues::All,
            cpus: Vec::new(),
            distribution: None,
            is_merged: true,
        }
    }
}

/// A reader of a [`ParallelCapture`](super::ParallelCapture).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReader {
    /// The receive queue that it alone reads, if that is known.
    pub queue: Option<u32>,
    /// The CPU on which it runs.
    pub cpu: usize,
}

/// The readers of a capture that shares packet rings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketReaders {
    pub count: usize,
    pub distribution: FanoutMode,
    /// The receive queue of each ring of a share; empty if a ring has several, or it is not known which.
    pub queues: Vec<u32>,
}

impl PacketReaders {
    /// Whether ring `number` of a share is read.
    pub fn is_read(&self, number: usize, only: Option<&[u32]>) -> bool {
        only.is_none_or(|only| (self.queues.get(number)).is_some_and(|queue| only.contains(queue)))
    }
}

impl ReaderOptions {
    /// The readers that suit the interfaces of `options` and the CPUs that are free: one for each receive queue, but no
    /// more than those CPUs. `None` if a single reader is enough. A CPU counts as busy for each process that ran or
    /// waited for a CPU, on average of the last minute.
    ///
    /// # Errors
    /// As [`Capture::open`](super::super::Capture::open), about the interfaces and the network namespace.
    pub fn automatic(options: &CaptureOptions) -> Result<Option<Self>, CaptureError> {
        let count = || -> Result<u32, CaptureError> {
            let mut most = 1;
            for link in &options.links {
                most = XdpRing::queue_count(link)?.max(most);
            }
            Ok(most)
        };
        let queues = match &options.namespace {
            Some(namespace) => namespace.run(count)??,
            None => count()?,
        };
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        // Where sysinfo(2) is refused, as if no CPU were busy.
        let busy = Machine::read().map_or(0, |machine| machine.load);
        let readers = cpus
            .saturating_sub(busy)
            .min(queues as usize)
            .min(MAX_READERS);
        let count = NonZeroUsize::new(readers).filter(|count| count.get() > 1);
        // Always a number: with shared memory, `All` would start a reader for each CPU.
        Ok(count.map(|count| Self {
            queues: Queues::Count(count),
            ..Self::default()
        }))
    }

    /// The queues that are read, if not all are.
    pub(super) fn only(&self) -> Option<&[u32]> {
        match &self.queues {
            Queues::Only(queues) => Some(queues),
            _ => None,
        }
    }

    /// Checks the queues of a list against `options`, and adapts these. Call it in the network namespace of the
    /// interfaces.
    pub(super) fn restrict(&self, options: &mut CaptureOptions) -> Result<(), CaptureError> {
        let Some(only) = self.only() else {
            return Ok(());
        };
        let refused = |reason| Err(CaptureError::Readers { reason });
        if options.backend == Some(Backend::XdpRingbuf) {
            return refused("backend xdp-ringbuf has memory for each CPU, not for each queue");
        }
        if options.direction == DirectionFilter::Out {
            return refused("a packet that is sent has no receive queue");
        }
        if self
            .distribution
            .is_some_and(|mode| mode != FanoutMode::Queue)
        {
            return refused("only packets that are shared by queue can be selected by queue");
        }
        for link in &options.links {
            let count = XdpRing::queue_count(link)?.max(1);
            if let Some(&queue) = only.iter().find(|&&queue| queue >= count) {
                let link = link.clone();
                return Err(CaptureError::NoQueue { link, queue, count });
            }
        }
        options.direction = DirectionFilter::In;
        options.queues = Some(only.to_vec());
        Ok(())
    }

    /// The readers of packet rings; `None` if the back end has a ring for each queue or CPU itself. Call it in the
    /// network namespace of the interfaces.
    pub(super) fn of_packet_rings(
        &self,
        options: &CaptureOptions,
    ) -> Result<Option<PacketReaders>, CaptureError> {
        if !is_packet(options) {
            return Ok(None);
        }
        if self.distribution == Some(FanoutMode::RoundRobin) {
            return Err(CaptureError::Readers {
                reason: "readers do not take packets in turn: select random distribution",
            });
        }
        let netlink = &mut Netlink::open()?;
        let mut queues = Vec::with_capacity(options.links.len());
        let mut offsets = Vec::with_capacity(options.links.len());
        for name in &options.links {
            queues.push(XdpRing::queue_count(name)?.max(1) as usize);
            let link = netlink.link_named(name).ok();
            offsets.push(queue_offset(link.as_ref().and_then(Link::kind_name)));
        }
        let most = queues.iter().copied().max().unwrap_or(1);
        let count = match self.only() {
            // The kernel shares among all.
            Some(_) => most.min(MAX_READERS),
            None => self.count(most),
        };
        if count > 1 && options.outlast_link_down {
            // The kernel numbers the members of a group anew when the interface comes up (`ring::RingShare`).
            return Err(CaptureError::Readers {
                reason: "several readers of packet rings do not outlast an interface that goes down: use one reader",
            });
        }
        let has_queues =
            count > 1 && !offsets.contains(&None) && queues.iter().all(|&queues| queues == count);
        let distribution = self.distribution.unwrap_or(if has_queues {
            FanoutMode::Queue
        } else {
            FanoutMode::Hash
        });
        let is_known = has_queues && distribution == FanoutMode::Queue;
        let first = offsets.first().copied().flatten();
        let offset = first.filter(|_| offsets.iter().all(|&offset| offset == first));
        let queue_of = |member: usize, offset: usize| ((member + count - offset) % count) as u32;
        let queues = match offset {
            Some(offset) if is_known => (0..count).map(|n| queue_of(n, offset)).collect(),
            _ => Vec::new(),
        };
        if self.only().is_some() && queues.is_empty() && count > 1 {
            let reason = if offsets.contains(&None) {
                "packets of a bond or similar carry the queue numbers of its ports: select queues of a port"
            } else {
                "the interfaces number their queues differently: select queues of one of them"
            };
            return Err(CaptureError::Readers { reason });
        }
        Ok(Some(PacketReaders {
            count,
            distribution,
            queues,
        }))
    }

    /// Number of readers for `queues` queues.
    pub(super) fn count(&self, queues: usize) -> usize {
        match &self.queues {
            // The rings are those of the queues that are read.
            Queues::All | Queues::Only(_) => queues.min(MAX_READERS),
            Queues::Count(count) => count.get().min(MAX_READERS),
        }
    }

    /// The CPU of each of `readers` readers.
    pub(super) fn place(&self, readers: usize) -> Result<Vec<usize>, CaptureError> {
        let wait = |error: rustix::io::Errno| CaptureError::Wait {
            source: error.into(),
        };
        let allowed = sched_getaffinity(None).map_err(wait)?;
        let mut cpus = self.cpus.clone();
        if cpus.is_empty() {
            cpus.extend((0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)));
        }
        let is_denied = |&&cpu: &&usize| cpu >= CpuSet::MAX_CPU || !allowed.is_set(cpu);
        if let Some(&cpu) = cpus.iter().find(is_denied) {
            return Err(CaptureError::Cpu { cpu });
        }
        Ok(cpus.into_iter().cycle().take(readers).collect())
    }
}

/// The types of interfaces whose packets come from other interfaces and keep the queue in which those received them
/// (`bond_handle_frame`, drivers/net/bonding/bond_main.c) or lose it (`__skb_tunnel_rx`, include/net/dst.h).
const WITHOUT_QUEUES: [&str; 36] = [
    "amt",
    "bareudp",
    "batadv",
    "bond",
    "bridge",
    "dsa",
    "erspan",
    "geneve",
    "gre",
    "gretap",
    "gtp",
    "hsr",
    "ifb",
    "ip6erspan",
    "ip6gre",
    "ip6gretap",
    "ip6tnl",
    "ipip",
    "ipvlan",
    "ipvtap",
    "macsec",
    "macvlan",
    "macvtap",
    "netkit",
    "ovpn",
    "pfcp",
    "rmnet",
    "sit",
    "team",
    "vlan",
    "vrf",
    "vti",
    "vti6",
    "vxlan",
    "wireguard",
    "xfrm",
];

/// The difference between the number with which a received packet selects a member of a fanout group, and its receive
/// queue. `kind` is the type of a virtual interface. `None`: the type is in [`WITHOUT_QUEUES`].
///
/// Drivers store the queue plus one (`skb_record_rx_queue`, include/linux/skbuff.h; `fanout_demux_qm`,
/// net/packet/af_packet.c), also those of devices that have a type, such as tun and IPoIB. veth leaves the number of
/// the queue through which its peer sent the packet, which is that of its own (`veth_xmit`, drivers/net/veth.c).
pub(super) fn queue_offset(kind: Option<&str>) -> Option<usize> {
    match kind {
        Some("veth") => Some(0),
        Some(kind) if WITHOUT_QUEUES.contains(&kind) => None,
        _ => Some(1),
    }
}

/// Rejects interfaces that are down, by name. One that does not exist is left to whoever opens it.
pub(super) fn check_up<'l>(links: impl IntoIterator<Item = &'l str>) -> Result<(), CaptureError> {
    let mut netlink = Netlink::open()?;
    for name in links {
        let found = netlink.link_named(name);
        if found.is_ok_and(|link| link.up == Some(false)) {
            let link = name.to_owned();
            return Err(CaptureError::LinkDown { link });
        }
    }
    Ok(())
}

/// Whether interfaces are captured with packet rings.
pub(super) fn is_packet(options: &CaptureOptions) -> bool {
    options.mode == Mode::Mirror && options.backend != Some(Backend::XdpRingbuf)
}

/// Lets the calling thread run on `cpu` only. If that was taken from the process meanwhile, nothing changes.
pub fn pin(cpu: usize) {
    let mut only = CpuSet::new();
    only.set(cpu);
    let _ = sched_setaffinity(None, &only);
}

/// Does `work` on `cpu`, and then lets the calling thread run on the same CPUs as before.
pub fn on_cpu<T>(cpu: usize, work: impl FnOnce() -> T) -> T {
    let before = sched_getaffinity(None);
    pin(cpu);
    let done = work();
    if let Ok(before) = before {
        // The kernel ignores CPUs that the process may no longer use.
        let _ = sched_setaffinity(None, &before);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_above_others_have_no_queues_of_their_own() {
        let kinds = [
            None,
            Some("tun"),
            Some("ipoib"),
            Some("of-another-driver"),
            Some("veth"),
            Some("bond"),
            Some("vxlan"),
        ];
        let own = Some(1);
        assert_eq!(
            kinds.map(queue_offset),
            [own, own, own, own, Some(0), None, None]
        );
    }
}
