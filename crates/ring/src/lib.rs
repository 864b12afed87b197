//! Rings shared with the kernel: packets are received, accounted for, and sent.
//!
//! - [`PacketRing`]: a packet socket's ring. TPACKET_V3 gathers many packets in a block for one wake-up; TPACKET_V2
//!   has a frame and a wake-up per packet.
//! - [`XdpRing`]: an AF_XDP socket's ring, to which an XDP program redirects packets.
//! - [`XdpSender`]: sends frames through an AF_XDP socket.
//! - [`BpfRing`]: memory into which an XDP program copies packets.
//! - [`Batch`]: packets lent by any of them, without a copy or a system call. Dropping it returns the memory.
//! - [`RingCounters`]: accounts for every packet offered to a ring.
//! - [`DeviceClock`]: converts hardware time stamps to the time of day.
//! - [`HandoverGroup`]: replaces a packet ring by another one while packets arrive.
//! - [`RingShare`]: shares the packets of an interface among rings that can be replaced while packets arrive.
//!
//! A receive ring never sleeps. Its descriptor ([`std::os::fd::AsFd`]) becomes readable when there is work, so any event
//! loop can wait for it.

mod batch;
mod bpf;
mod clock;
mod counters;
mod cursor;
mod device_clock;
mod error;
mod header;
mod interface;
mod options;
mod packet;
mod prefetch;
mod properties;
mod pull;
mod tpacket;
mod vlan_tag;
mod xdp;

pub use batch::{Batch, PacketSink, Packets};
pub use bpf::{BpfRing, BpfRingError, BpfRingOptions, BpfRingSetupStep};
pub use counters::RingCounters;
pub use device_clock::{
    ClockLine, ClockMeasurement, ClockReadMethod, ClockTimeline, DeviceClock, DeviceClockState,
};
pub use error::{RingOpenError, RingOptionError, RingSetupError, SetupStep};
pub use interface::{InterfaceInfo, link_type};
pub use options::{
    DEFAULT_SNAPLEN, DEFAULT_STALL, DeliveryMode, DirectionFilter, Fanout, FanoutMode, RingFilter,
    RingOptions, STALL_PPS, TimestampSource, TpacketVersion,
};
pub use packet::RingPacket;
pub use tpacket::{
    BlockLayout, BlockReason, Frames, HandoverGroup, PacketRing, PreparedRing, PreparedShare,
    RingShare, ShareOptions,
};
pub use xdp::{
    BusyPoll, XdpOpenError, XdpRing, XdpRingOptions, XdpSendOptions, XdpSender, XdpSetupError,
    XdpSetupStep, XdpSnaplen, ZeroCopy,
};
