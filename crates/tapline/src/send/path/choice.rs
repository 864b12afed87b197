//! Opens the path in the options, or the fastest that the device supports.

use std::io;

use bpf::{LiveFrames, LiveFramesError};
use netlink::{IfIndex, Link, NetDevices, Netlink, NetlinkError, TrafficHandle};
use ring::XdpSetupError;
use rustix::io::Errno;

use super::af_xdp::{XdpKind, XdpSocket};
use super::live_frames::LiveFramesPath;
use super::packet::{Discipline, PacketSocket, QdiscMode};
use super::transmit::Transmit;
use crate::send::options::SendPath;

/// Queueing disciplines that only divide packets among others, one for each queue of the device.
const DIVIDING: [&str; 3] = ["mq", "mqprio", "multiq"];

/// Why a way to a device cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// A packet socket cannot be opened.
    #[error("cannot open a packet socket")]
    Packet(#[source] io::Error),
    /// An AF_XDP socket cannot be opened.
    #[error(transparent)]
    Xdp(#[from] XdpSetupError),
    /// The queueing discipline of the interface does not send packets at their times.
    #[error(
        "the queueing discipline {name} keeps no times (fq and etf do: 'tc qdisc replace dev IF root fq')"
    )]
    Discipline {
        /// Its name.
        name: String,
    },
    /// The device does not send frames of AF_XDP sockets at times that come with them, or the kernel does not say so.
    #[error("the device has no launch times (Linux 6.14 and a driver such as igc have them)")]
    NoLaunchTimes,
    /// The device does not send XDP frames now.
    #[error(
        "the device sends no XDP frames (a veth interface does while its peer has an XDP program or GRO)"
    )]
    NoXdpFrames,
    /// The queueing disciplines cannot be listed.
    #[error(transparent)]
    Netlink(#[from] Box<NetlinkError>),
    /// The programs of XDP live frames cannot be loaded.
    #[error(transparent)]
    LiveFrames(#[from] LiveFramesError),
}

impl PathError {
    /// Whether a privilege is missing.
    pub fn is_privilege(&self) -> bool {
        let source = match self {
            Self::Packet(source) | Self::LiveFrames(LiveFramesError::Tracepoint { source, .. }) => {
                source
            }
            Self::Xdp(error) => &error.source,
            Self::LiveFrames(LiveFramesError::Load(error)) => return error.is_privilege(),
            Self::LiveFrames(LiveFramesError::Map(error)) => &error.source,
            Self::LiveFrames(_)
            | Self::Discipline { .. }
            | Self::Netlink(_)
            | Self::NoXdpFrames
            | Self::NoLaunchTimes => return false,
        };
        let errno = Errno::from_io_error(source);
        matches!(errno, Some(Errno::PERM | Errno::ACCESS))
    }
}

/// The requirements for a path.
#[derive(Clone, Copy, Debug)]
pub struct PathRequest<'l> {
    pub link: &'l Link,
    pub name: &'l str,
    /// Queue of the interface, for AF_XDP.
    pub queue: u32,
    /// The longest frame.
    pub longest: usize,
    /// Whether packets are sent as fast as possible.
    pub is_bulk: bool,
}

impl PathRequest<'_> {
    fn ifindex(&self) -> u32 {
        self.link.index.unwrap_or_default().0
    }

    /// Opens `path`, in the namespace of the calling thread. For [`SendPath::Auto`] the ways in the order in which they
    /// are to be used: the next one if the kernel refuses the one before.
    pub fn open(&self, path: SendPath) -> Result<Vec<Box<dyn Transmit>>, PathError> {
        if path != SendPath::Auto {
            return Ok(vec![self.open_one(path)?]);
        }
        let mut ways = Vec::new();
        if self.is_bulk && self.fits_live_frames() && self.sends_xdp_frames() == Some(true) {
            ways.extend(self.open_one(SendPath::LiveFrames).ok());
        }
        let xdp = (self.is_bulk).then(|| self.open_one(SendPath::Xdp).ok());
        ways.push(match xdp.flatten() {
            Some(xdp) => xdp,
            None => self.open_one(SendPath::Bypass)?,
        });
        Ok(ways)
    }

    fn open_one(&self, path: SendPath) -> Result<Box<dyn Transmit>, PathError> {
        let (ifindex, name, queue) = (self.ifindex(), self.name, self.queue);
        let packet = |way| {
            let socket = PacketSocket::open(ifindex, way, !self.is_bulk);
            socket.map_err(PathError::Packet)
        };
        let xdp = |kind| XdpSocket::open(ifindex, name, queue, self.longest, kind, !self.is_bulk);
        Ok(match path {
            SendPath::LiveFrames if self.sends_xdp_frames() == Some(false) => {
                return Err(PathError::NoXdpFrames);
            }
            SendPath::LiveFrames => Box::new(LiveFramesPath::open(ifindex)?),
            SendPath::Xdp => Box::new(xdp(XdpKind::Copy)?),
            SendPath::XdpZeroCopy => Box::new(xdp(XdpKind::ZeroCopy)?),
            SendPath::XdpTimed if !self.has_launch_times() => return Err(PathError::NoLaunchTimes),
            SendPath::XdpTimed => Box::new(xdp(XdpKind::Timed)?),
            SendPath::Auto | SendPath::Bypass => Box::new(packet(QdiscMode::Bypass)?),
            SendPath::Qdisc => Box::new(packet(QdiscMode::Qdisc)?),
            SendPath::Timed => Box::new(packet(QdiscMode::Timed(self.discipline()?))?),
        })
    }

    /// The queueing discipline that sends packets at their times: that of the interface, or those of all its queues.
    fn discipline(&self) -> Result<Discipline, PathError> {
        let root = self.link.qdisc.clone().unwrap_or_default();
        if !DIVIDING.contains(&&*root) {
            return Discipline::named(&root).ok_or(PathError::Discipline { name: root });
        }
        let of_queues = self.disciplines_of_queues().map_err(Box::new)?;
        let first = of_queues.first().and_then(|name| Discipline::named(name));
        let is_common = of_queues.iter().all(|name| Some(name) == of_queues.first());
        first.filter(|_| is_common).ok_or_else(|| {
            let name = format!("{root} ({})", of_queues.join(", "));
            PathError::Discipline { name }
        })
    }

    /// The disciplines that the one at the root has for its queues.
    fn disciplines_of_queues(&self) -> Result<Vec<String>, NetlinkError> {
        let index = self.link.index.unwrap_or_default();
        let all = Netlink::open()?.qdiscs(index)?.items;
        let root = all.iter().find(|qdisc| qdisc.parent == TrafficHandle::ROOT);
        let major = root.map(|root| root.handle.major());
        let of_queues = all.into_iter().filter(|qdisc| {
            let is_special = [TrafficHandle::ROOT, TrafficHandle::INGRESS].contains(&qdisc.parent);
            !is_special && Some(qdisc.parent.major()) == major
        });
        Ok(of_queues.map(|qdisc| qdisc.kind).collect())
    }

    /// Whether the driver says that the device sends frames of AF_XDP sockets at times that come with them.
    fn has_launch_times(&self) -> bool {
        let has = || {
            Some(
                NetDevices::open()
                    .ok()?
                    .xdp(self.link.index?)
                    .ok()?
                    .sends_at_times(),
            )
        };
        has() == Some(true)
    }

    /// Whether live frames may be as long as frames here.
    fn fits_live_frames(&self) -> bool {
        self.longest <= LiveFrames::MAX_FRAME_BYTES
    }

    /// See [`sends_xdp_frames`].
    fn sends_xdp_frames(&self) -> Option<bool> {
        sends_xdp_frames(self.link.index?)
    }
}

/// Whether the driver says that it sends XDP frames now. A kernel before Linux 6.3 does not say.
pub fn sends_xdp_frames(link: IfIndex) -> Option<bool> {
    let mut devices = NetDevices::open().ok()?;
    Some(devices.xdp(link).ok()?.transmits())
}
