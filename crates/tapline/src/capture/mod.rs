//! Capture: packets from interfaces to a consumer, every one accounted for.
//!
//! ```text
//! interface ─▶ filter ─▶ ring ─▶ Capture::run ─▶ Consumer: FileConsumer (a capture file) or yours
//!    nic, driver  filtered  ring        reader       writer          ◀─ where a packet may end
//! ```
//!
//! [`Capture::open`] opens each interface; [`Capture::run`] hands packets to a
//! [`Consumer`] until a limit, a [`Stopper`](crate::Stopper), the interface or the consumer ends
//! it. It then closes the lanes to new packets, empties them, and answers with an [`Outcome`],
//! whose [`Account`] adds up: `received = delivered + filtered + Σ lost`.
//!
//! In [`Mode::Drop`] the packets are taken from the driver, and the stack does not see them.
//!
//! The kernel runs the [`Filter`]. What of an expression it cannot hold the reader decides
//! ([`FilterPlace::Split`]), and what the reader refuses counts as filtered like the rest. Of what the
//! filter accepts the kernel can keep a [`Sampling`]; what that leaves out counts as filtered, too.

mod account;
mod attach;
mod backend;
mod buffers;
mod change;
mod close;
mod consumer;
mod control;
mod counters;
mod delivery;
mod describe;
mod error;
mod exact;
mod file;
mod filter;
mod gate;
mod holding;
mod intake;
mod job;
mod lane;
mod line;
mod live;
mod mirror;
mod mode;
mod moderation;
mod opened;
mod options;
mod outcome;
mod pause;
mod port;
mod punctual;
mod reader_time;
mod reading;
mod replace;
mod selection;
mod sockets;
mod source;
mod steer;
mod survey;
mod take_over;
mod wait;
mod wanted;
mod wish;

pub(crate) use attach::sock_filter;

pub use account::{Account, Lost};
pub use backend::Backend;
pub use change::ChangeError;
pub use consumer::{Consumer, ConsumerError};
pub use control::Control;
pub use describe::sampling_told;
pub use error::CaptureError;
pub use file::FileConsumer;
pub use filter::{Expression, Filter, FilterPlace};
pub use intake::FallBack;
pub use job::Capture;
pub use live::{Live, LiveAccount};
pub use mirror::MirrorLimit;
pub use mode::{Mode, ModeError, SHORT_SNAPLEN};
pub use opened::OpenLink;
pub use options::{DROP_BUFFER_BYTES, Limits, Options};
pub use outcome::{Ended, LinkAccount, Outcome};
pub use reader_time::ReaderTime;
pub use sockets::Sockets;
pub(crate) use wanted::{Wanted, netmask};
pub use {bpf::Others, bpf::Probability, bpf::Sampling, bpf::XdpMode, bpf::XdpPlace};
