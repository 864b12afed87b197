//! Opens the path in the options, or the fastest that the device supports.

use std::io;

use bpf::{LiveFrames, LiveFramesError};
use netlink::{Link, NetDevices};
use ring::XdpSetupError;
use rustix::io::Errno;

use super::af_xdp::XdpSocket;
use super::live_frames::LiveFramesPath;
use super::packet::{Discipline, PacketSocket, Way};
use super::transmit::Transmit;
use crate::send::options::SendPath;

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
            Self::LiveFrames(_) | Self::Discipline { .. } => return false,
        };
        let errno = Errno::from_io_error(source);
        matches!(errno, Some(Errno::PERM | Errno::ACCESS))
    }
}

/// What a way is opened for.
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
        if self.is_bulk && self.sends_live_frames() {
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
        let xdp = |is_zero_copy| XdpSocket::open(ifindex, name, queue, self.longest, is_zero_copy);
        Ok(match path {
            SendPath::LiveFrames => Box::new(LiveFramesPath::open(ifindex)?),
            SendPath::Xdp => Box::new(xdp(false)?),
            SendPath::XdpZeroCopy => Box::new(xdp(true)?),
            SendPath::Auto | SendPath::Bypass => Box::new(packet(Way::Bypass)?),
            SendPath::Qdisc => Box::new(packet(Way::Qdisc)?),
            SendPath::Timed => Box::new(packet(Way::Timed(self.discipline()?))?),
        })
    }

    /// The queueing discipline of the interface, if it sends packets at their times.
    fn discipline(&self) -> Result<Discipline, PathError> {
        let name = self.link.qdisc.clone().unwrap_or_default();
        Discipline::named(&name).ok_or(PathError::Discipline { name })
    }

    /// Whether the driver says that it sends XDP frames now, as long as any here. A kernel before Linux 6.3 does not say.
    fn sends_live_frames(&self) -> bool {
        let sends = || {
            let mut devices = NetDevices::open().ok()?;
            let index = self.link.index?;
            Some(devices.xdp(index).ok()?.transmits())
        };
        self.longest <= LiveFrames::MAX_FRAME_BYTES && sends() == Some(true)
    }
}
