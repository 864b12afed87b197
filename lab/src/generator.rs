//! Traffic for tests and benches: millions of packets a second, and exact counts.
//!
//! ```text
//! Generator ─▶ XDP program, run on live frames ─▶ redirect ─▶ veth ┃ veth ─▶ same program ─▶ stack
//!              counts its runs, numbers the frames      drops ◀────┛         counts arrivals
//! ```
//!
//! [`Generator`] has the kernel run an XDP program on copies of one frame and send what comes out
//! through a veth, without a socket. The veth's peer takes such frames only with an XDP program or
//! GRO; without one the kernel throws them away and reports success, so
//! [`Generator::attach_peer`] puts a program there. Each veth queue holds 256 frames; frames
//! beyond it are dropped and counted, and [`Generator::deliver`] sends that many again, so that an
//! exact number arrives.
//!
//! [`send_frames`] sends given frames through a packet socket: slower, any frame, each one checked.
//!
//! Call all of it on a thread inside a test host, as [`Host::run`](crate::Host::run) gives it; it
//! refuses the machine's own network.

mod frame;
mod live;
mod options;
mod pace;
mod program;
mod socket;

pub use frame::{SEQUENCE_AT, udp_frame};
pub use live::{Generator, Sent, pin_to_cpu};
pub use options::GeneratorOptions;
pub use socket::{Offered, offer_frames, send_frames};
