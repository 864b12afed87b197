//! Transport layer: TCP with its options, UDP.

mod tcp;
mod tcp_options;
mod udp;

pub use tcp::{Tcp, TcpFields, TcpFlags};
pub use tcp_options::{TcpOption, TcpOptions};
pub use udp::{Udp, UdpFields};
