//! Why an AF_XDP ring cannot be opened.

use std::io;

use abi::kernel::is_older_than;

use crate::error::RingOptionError;

/// The step of the setup that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum XdpSetupStep {
    /// Open an AF_XDP socket.
    Socket,
    /// Find the interface.
    Interface,
    /// Allocate the packet memory and register it.
    Memory,
    /// Allocate the rings and map them.
    Rings,
    /// Enable busy polling.
    BusyPoll,
    /// Bind to the queue.
    Bind,
    /// Bind to the queue, for sending.
    BindToSend,
    /// Enable promiscuous mode.
    Promiscuous,
    /// Open the clock behind the device's time stamps.
    Clock,
}

/// The kernel refused a step of the setup.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("cannot {}{}", self.action(), self.reason())]
pub struct XdpSetupError {
    /// The step.
    pub step: XdpSetupStep,
    /// Name of the interface.
    pub link: String,
    /// Receive queue.
    pub queue: u32,
    /// Whether zero copy was required.
    pub is_zero_copy: bool,
    /// Whether frames may take several buffers of the packet memory.
    pub is_multi_buffer: bool,
    /// The kernel's error.
    pub source: io::Error,
}

impl XdpSetupError {
    fn action(&self) -> String {
        let (link, queue) = (&self.link, self.queue);
        match self.step {
            XdpSetupStep::Socket => format!("open an AF_XDP socket for {link}"),
            XdpSetupStep::Interface => format!("get link {link}"),
            XdpSetupStep::Memory => format!("allocate the packet memory of {link}"),
            XdpSetupStep::Rings => format!("allocate the AF_XDP rings of {link}"),
            XdpSetupStep::BusyPoll => format!("turn on busy polling on {link}"),
            XdpSetupStep::Bind => format!("receive from queue {queue} of {link}"),
            XdpSetupStep::BindToSend => format!("send on queue {queue} of {link}"),
            XdpSetupStep::Clock => format!("read the clock of {link}"),
            XdpSetupStep::Promiscuous => format!("turn on promiscuous mode of {link}"),
        }
    }

    /// Why the kernel refused and what to do about it, as far as its error shows.
    fn reason(&self) -> &'static str {
        match (self.step, self.source.raw_os_error()) {
            (XdpSetupStep::Socket, Some(libc::EPERM)) => {
                " (needs CAP_NET_RAW; run with sudo or setcap)"
            }
            (XdpSetupStep::Socket, Some(libc::EAFNOSUPPORT)) => {
                " (this kernel is built without AF_XDP)"
            }
            (XdpSetupStep::Memory, Some(libc::ENOBUFS)) => {
                " (the limit of locked memory is too low: 'ulimit -l unlimited', a smaller buffer, or \
                 CAP_IPC_LOCK)"
            }
            (XdpSetupStep::Memory | XdpSetupStep::Rings, Some(libc::ENOMEM)) => {
                " (try a smaller buffer)"
            }
            (XdpSetupStep::BusyPoll, Some(libc::EPERM)) => " (busy polling needs CAP_NET_ADMIN)",
            (XdpSetupStep::BusyPoll, Some(libc::ENOPROTOOPT)) => " (busy polling needs Linux 5.11)",
            (XdpSetupStep::Bind | XdpSetupStep::BindToSend, Some(libc::EBUSY)) => {
                " (another AF_XDP socket has this queue, or had it a moment ago)"
            }
            (
                XdpSetupStep::Bind | XdpSetupStep::BindToSend,
                Some(libc::EOPNOTSUPP | libc::EINVAL),
            ) if self.is_zero_copy => " (its driver has no zero copy for this MTU: allow copying)",
            (XdpSetupStep::BindToSend, Some(libc::EINVAL))
                if self.is_multi_buffer && is_older_than((6, 6)) =>
            {
                " (frames of more than 4096 bytes need Linux 6.6, or a smaller MTU)"
            }
            (XdpSetupStep::Memory, Some(libc::EINVAL)) if is_older_than((6, 11)) => {
                " (launch times need Linux 6.14)"
            }
            // `xsk_bind`, net/xdp/xsk.c: the other reasons are options that are not used to send.
            (XdpSetupStep::BindToSend, Some(libc::EINVAL)) => " (the interface has no such queue)",
            _ => "",
        }
    }
}

/// Why an AF_XDP ring cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum XdpOpenError {
    /// The options are invalid.
    #[error(transparent)]
    Option(#[from] RingOptionError),
    /// The kernel refused a step of the setup.
    #[error(transparent)]
    Setup(#[from] XdpSetupError),
    /// The interface has no such receive queue.
    #[error("{}", no_such_queue(.link, *.queue, *.queues))]
    NoSuchQueue {
        /// Name of the interface.
        link: String,
        /// The queue in the options.
        queue: u32,
        /// Number of queues; they are numbered from 0.
        queues: u32,
    },
    /// Packets as long as the MTU take several buffers, which this kernel's sockets do not support.
    #[error(
        "cannot receive over AF_XDP from {link}: packets of its MTU {mtu} take several buffers (needs Linux 6.6, or \
         an MTU of {largest})"
    )]
    MultiBuffer {
        /// Name of the interface.
        link: String,
        /// Its MTU.
        mtu: u32,
        /// The largest MTU whose packets fit into one buffer.
        largest: u32,
    },
    /// No capture file link type is known for the interface's hardware type.
    #[error("cannot capture from {link}: its hardware type {hatype} is not supported")]
    LinkLayer {
        /// Name of the interface.
        link: String,
        /// Its hardware type (`ARPHRD_*`, `net/if_arp.h`).
        hatype: u16,
    },
}

fn no_such_queue(link: &str, queue: u32, queues: u32) -> String {
    if queues == 0 {
        format!("cannot receive over AF_XDP from {link}: it has no receive queue")
    } else {
        format!(
            "cannot receive from queue {queue} of {link}: it has {queues}, numbered from 0 \
             ('ethtool -L' sets their number)"
        )
    }
}
