//! The flags, as typed.

mod capture;
mod count;
mod delivery;
mod demo;
mod doctor;
mod filter;
mod latency;
mod mode;
mod net;
mod netns;
mod order;
mod output;
mod ping;
mod read;
mod sample;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use capture::{BackendChoice, CaptureArgs, LossLimit};
pub use count::{ClassArg, CountArgs};
pub use delivery::{Delivery, DeliveryArgs, TARGET};
pub use demo::DemoArgs;
pub use doctor::DoctorArgs;
pub use filter::{Emit, FilterArgs, Place};
pub use latency::LatencyArgs;
pub use mode::ModeArgs;
pub use net::{BatchArgs, Color, ExplainArgs, MDB_WORDS, MonitorArgs, NetArgs, ShowArgs, VlanArgs};
pub use netns::{NetnsArgs, NetnsCommand, Number, Process};
pub use order::{in_our_words, leading_flags, named, reordered};
pub use output::{FileFormat, OutputArgs};
pub use ping::{Origin, PingArgs};
pub use read::ReadArgs;

/// See every packet of the Linux network path, and account for each.
#[derive(Debug, Parser)]
#[command(name = "tapline", version, max_term_width = 100)]
#[command(after_help = EXIT_STATUS, infer_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// How sizes and times are typed.
const UNITS: &str = "Sizes take k, M or G (powers of 1024); times take ns, us, ms, s, m or h.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Packets from interfaces to a pcapng file, a pipe or the screen
    Capture(Box<CaptureArgs>),

    /// Print, filter, merge, convert and summarise capture files
    Read(Box<ReadArgs>),

    Count(Box<CountArgs>),

    Latency(LatencyArgs),

    Filter(FilterArgs),

    Ping(Box<PingArgs>),

    Doctor(DoctorArgs),

    /// Links: make, change, remove and show them, as 'ip link' does
    Link(Box<NetArgs>),

    /// Addresses of links, as 'ip address' has them, a line each
    #[command(visible_alias = "address")]
    Addr(Box<NetArgs>),

    /// Routes, as 'ip route' has them; get says how a destination is reached
    Route(Box<NetArgs>),

    /// Nexthop objects and their groups, as 'ip nexthop' has them
    Nexthop(Box<NetArgs>),

    /// Rules: which table is asked, as 'ip rule' has them
    Rule(Box<NetArgs>),

    /// Neighbours: hardware addresses of IP addresses, as 'ip neighbour' has them
    #[command(visible_aliases = ["neighbour", "neighbor"])]
    Neigh(Box<NetArgs>),

    /// Forwarding entries of bridges and VXLANs, as 'bridge fdb' has them
    Fdb(Box<NetArgs>),

    /// Tun and tap: links whose packets a program reads and writes, as 'ip tuntap' has them
    Tuntap(Box<NetArgs>),

    /// Multicast addresses that links listen to, as 'ip maddress show' has them
    #[command(visible_alias = "maddress")]
    Maddr(Box<NetArgs>),

    /// VRFs and their tables, as 'ip vrf show' has them
    Vrf(Box<NetArgs>),

    /// VLANs of the ports of bridges, as 'bridge vlan' has them
    Vlan(Box<VlanArgs>),

    /// Multicast groups behind the ports of bridges, as 'bridge mdb' has them
    #[command(after_help = MDB_WORDS)]
    Mdb(Box<NetArgs>),

    Netns(NetnsArgs),

    Batch(BatchArgs),

    Monitor(MonitorArgs),

    Explain(ExplainArgs),

    Demo(DemoArgs),

    /// Removes what the process that started it leaves at tc (see 'count')
    #[command(hide = true)]
    ClsactGuard,

    /// Manual pages and shell completions, written below a directory
    #[command(hide = true)]
    Generate {
        /// Where to write them
        directory: PathBuf,
    },
}

const EXIT_STATUS: &str = "Exit status: 0 done, 1 the job failed, 2 wrong usage, 3 missing \
privilege, 4 not supported by this kernel, driver or build.";
