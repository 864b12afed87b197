//! Flags for `rpcap`, libpcap's remote protocol: of `capture`, and of `tapline serve rpcap`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tapline::rpcap::PORT;

use super::{SandboxArgs, UserArgs};
use crate::metrics;

/// Flags of a capture from `rpcap://`.
#[derive(Args, Debug)]
pub struct RpcapArgs {
    /// With -i rpcap://: the password is the first line of FILE, which only its owner may read
    ///
    /// Without it the password is that of the URL, which other users see in the list of processes, or the value of the environment
    /// variable TAPLINE_RPCAP_PASSWORD. The protocol is not encrypted.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        help_heading = "Input"
    )]
    pub password_file: Option<PathBuf>,

    /// With -i rpcap://: receive packets in UDP datagrams instead of over TCP
    ///
    /// A capture that is too slow then loses packets on the way and counts them, and does not slow the server down.
    #[arg(hide_short_help = true, long, help_heading = "Input")]
    pub udp: bool,
}

/// Serve captures to rpcap:// clients such as Wireshark on Windows
#[derive(Args, Debug)]
pub struct ServeArgs {
    #[command(subcommand)]
    pub protocol: Protocol,
}

#[derive(Debug, Subcommand)]
pub enum Protocol {
    Rpcap(ServeRpcapArgs),
}

/// Serve captures by libpcap's remote protocol, as rpcapd does, to programs that read rpcap://
///
/// Without --password-file it listens on loopback, and accepts root, the user of the server and the user who called sudo. With
/// it, clients need the password. The protocol is not encrypted: everybody who can observe the connection can read the
/// password and the packets. At most 16 clients are served at a time. SIGINT and SIGTERM end the server.
#[derive(Args, Debug)]
pub struct ServeRpcapArgs {
    /// Where to listen; an address other than the loopback requires --password-file
    #[arg(
        long,
        value_name = "ADDR:PORT",
        default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)),
        value_parser = address,
        help_heading = "Input"
    )]
    pub listen: SocketAddr,

    /// Clients need the password in the first line of FILE, 8 bytes or more; only its owner may read FILE
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub password_file: Option<PathBuf>,

    /// Serve the counters to Prometheus at http://ADDR:PORT/metrics [default ADDR: loopback]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "[ADDR:]PORT",
        value_parser = metrics::address,
        help_heading = "Output"
    )]
    pub metrics: Option<SocketAddr>,

    /// Print JSON Lines instead of text
    #[arg(long, help_heading = "Output format")]
    pub json: bool,

    /// Print no lines about clients and captures
    #[arg(short, long, conflicts_with = "json", help_heading = "Output format")]
    pub quiet: bool,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "use ADDR:PORT, such as 127.0.0.1:2002 or [::1]:2002".to_owned())
}
