//! Generates traffic for tests and benchmarks: millions of packets per second with exact counts.
//!
//! ```text
//! Generator ─▶ XDP program, run on live frames ─▶ redirect ─▶ veth ┃ veth ─▶ same program ─▶ stack
//!              counts its runs, numbers the frames      drops ◀────┛         counts arrivals
//! ```
//!
//! [`Generator`] makes the kernel run an XDP program on copies of one frame. The program redirects each copy to a veth;
//! no socket is involved. The veth's peer accepts redirected frames only if it has an XDP program or GRO. Otherwise the
//! kernel discards them and reports success, so [`Generator::attach_peer`] attaches a program to the peer. Each veth
//! queue holds 256 frames. Frames beyond that are dropped and counted; [`Generator::deliver`] resends them until an
//! exact number has arrived.
//!
//! [`send_frames`] sends the given frames through a packet socket. It is slower, but accepts any frames and checks each
//! send.
//!
//! Call these functions on a thread inside a test host, such as one started by [`Host::run`](crate::Host::run). They
//! panic in the machine's own network namespace.

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
