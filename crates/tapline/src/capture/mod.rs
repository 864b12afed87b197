//! Capture: packets of interfaces to a function, a loop or a file, with an account of every packet.
//!
//! ```
//! let mut capture = tapline::capture("lo").filter("udp port 4431")?.packets(10).open()?;
//! # let traffic = std::net::UdpSocket::bind("127.0.0.1:0")?;
//! # for _ in 0..10 {
//! #     traffic.send_to(b"hello", "127.0.0.1:4431")?;
//! # }
//! while let Some(packet) = capture.next()? {
//!     println!("{} {}", packet.time(), packet.len());
//! }
//! println!("{}", capture.finish()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! interface ─▶ filter ─▶ ring ─▶ reader ─▶ Capture::next, Capture::run or a Consumer (a capture file)
//!    nic, driver  filtered  ring   reader     writer                  ◀─ where a packet may end
//! ```
//!
//! [`CaptureOptions`] configures a capture and [`Capture::open`] opens its rings. Then the caller pulls packets
//! ([`Capture::next`]) or has them pushed ([`Capture::run`]) until a limit, a [`Stopper`](crate::Stopper), the
//! interface or the consumer ends the capture. No more packets enter the rings then, those in them are
//! delivered, and the [`CaptureSummary`] has the [`Account`]: `received = delivered + filtered + Σ lost`.
//!
//! In [`Mode::Drop`] an XDP program takes the packets from the driver: the stack does not see them.
//!
//! The filter runs in the kernel. If the kernel cannot hold it, the reader runs the exact filter behind a coarse
//! one ([`FilterPlace::Split`]). The kernel can also sample the accepted packets ([`Sampling`]). Refused and
//! sampled-out packets count as filtered.
//!
//! | folder | subject |
//! |---|---|
//! | `plan` | options, modes, the compiled filter of an interface |
//! | `account` | counters, the account, the summary |
//! | `read` | queues, merging, the exact filter, sleeping and waking |
//! | `control` | changes while running |
//! | `backend` | packet sockets, AF_XDP, shared slots, BPF ring buffers |
//!
//! Each folder knows only those above it. `engine` joins them, `job` and `pull` are the two ways to read, and
//! `hotplug` runs a capture for each interface that comes up, `readers` runs one on each of several CPUs.

mod account;
mod backend;
mod control;
mod engine;
mod error;
mod hotplug;
mod interface;
mod job;
mod plan;
mod pull;
mod read;
mod readers;
mod recorder;
mod stamping;

pub(crate) use backend::packet::sock_filter;
pub(crate) use error::run_result;
pub(crate) use plan::interface_plan::{InterfacePlan, netmask};

/// Packets in a row that may share a time stamp, in drop mode with shared memory.
pub const PACKETS_PER_TIMESTAMP: u32 = bpf::SlotProgram::PACKETS_PER_TIMESTAMP;

pub use crate::key_log::{FollowedKeys, KeyLogCounts};
pub use crate::packet_filter::{Expression, Filter};
pub use account::counters::{LiveAccount, LiveCounters};
pub use account::loss_account::{Account, Lost};
pub use account::reader_time::ReaderTime;
pub use account::stamp_counts::TimestampCounts;
pub use account::summary::{
    CaptureSummary, Ended, InterfaceAccount, MergeSummary, OpenInterface, ReaderAccount, Sockets,
};
pub use bpf::{
    Probability, Sampling, SocketPorts, SocketPortsError, UnmatchedAction, XdpAttachError,
    XdpAttachMode, XdpMode,
};
pub use control::error::ChangeError;
pub use control::handle::Control;
pub use control::settings::RunningSettings;
pub use error::{CaptureError, CaptureErrorKind, FailedCapture};
pub use hotplug::{HotplugCapture, Namespaces};
pub use job::{Capture, PacketBatch, capture};
pub use plan::backend::{Backend, FallBack, FilterPlace};
pub use plan::description::sampling_rate;
pub use plan::mode::{MirrorLimit, Mode, ModeError, SHORT_SNAPLEN};
pub use plan::options::{CaptureOptions, DROP_BUFFER_BYTES, Limits};
pub use read::consumer::{Consumer, ConsumerError, FileConsumer, FileOwner};
pub use read::file_control::{FileAnswer, FileControl, FileControlError};
pub use readers::{OpenReader, ParallelCapture, Queues, ReaderOptions};
pub use recorder::{Recorder, RecorderFiles, RecorderOptions, RecorderTrigger};
pub use ring::{
    BlockLayout, BlockReason, BusyPoll, ClockReadMethod, DEFAULT_SNAPLEN, DeliveryMode,
    DeviceClockState, DirectionFilter, FanoutMode, Frames, RingCounters, TimestampSource,
    link_type,
};
