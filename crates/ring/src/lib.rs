//! Receive rings across the kernel border, and their loss account.
//!
//! A [`PacketRing`] is memory shared with the kernel's packet socket: TPACKET_V3, whose blocks
//! gather many packets for one wake-up, or TPACKET_V2, a frame and a wake-up per packet. An
//! [`XdpRing`] is memory shared with an AF_XDP socket, to which an XDP program sends packets. A
//! [`RingBuffer`] is memory into which an XDP program copies packets that go on to the stack. A
//! [`Batch`] of any lends what the kernel has handed over, without a copy or a system call;
//! dropping it hands the memory back. [`Account`] says what became of every packet the ring was
//! offered. A [`Relay`] replaces a packet ring by another while packets come.
//!
//! The ring sleeps and wakes for nobody: its descriptor ([`std::os::fd::AsFd`]) becomes readable
//! when there is work, in whatever event loop its owner has. It knows nothing of files or screens.

mod account;
mod batch;
mod buffer;
mod error;
mod filter;
mod geometry;
mod options;
mod packet;
mod prefetch;
mod relay;
mod ring;
mod setup;
mod waiting;
mod xdp;

pub use account::Account;
pub use batch::{Batch, PacketSink, Packets};
pub use buffer::{BufferError, BufferOptions, BufferStep, RingBuffer};
pub use error::{OpenError, OptionError, SetupError, Step};
pub use options::{
    Backend, DEFAULT_SNAPLEN, DEFAULT_STALL, Delivery, DirectionFilter, Fanout, FanoutMode, Filter,
    Options, STALL_PPS, TimestampSource,
};
pub use packet::Packet;
pub use relay::{Relay, Successor};
pub use ring::{Link, PacketRing};
pub use setup::link_type;
pub use xdp::{BusyPoll, XdpOpenError, XdpOptions, XdpRing, XdpSetupError, XdpStep, ZeroCopy};
