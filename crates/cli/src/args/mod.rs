//! The command line: one module of flags per command.

mod capture;
mod columns;
mod count;
mod ctl;
mod delivery;
mod demo;
mod doctor;
mod edit;
mod ethtool;
mod extcap;
mod filter;
mod flows;
mod generate;
mod help;
mod index;
mod latency;
mod mode;
mod net;
mod net_flags;
mod netns;
mod output;
mod ping;
mod print;
mod read;
mod readers;
mod record;
mod report;
mod rpcap;
mod run;
mod sample;
mod sandbox;
mod send;
mod spool;
pub mod usage;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use capture::{BackendChoice, CaptureArgs, LossLimit, TimestampChoice, direction};
pub use columns::{ColumnFormat, PartitionArgs};
pub use count::{ClassArg, CountArgs, Split};
pub use ctl::{CtlArgs, CtlCommand, OnOff};
pub use delivery::{AUTO_BYTES, BATCH_BYTES, Delivery, DeliveryArgs, TARGET};
pub use demo::DemoArgs;
pub use doctor::DoctorArgs;
pub use edit::{CountOrTime, EditArgs, FileSplit, Stripped};
pub use ethtool::{EthtoolArgs, EthtoolCommand, SettingKind};
pub use extcap::{ExtcapArgs, RemoteArgs};
pub use filter::{Emit, FilterArgs, FilterTargetArg};
pub use flows::FlowsArgs;
pub use generate::GeneratorArgs;
pub use index::IndexArgs;
pub use latency::LatencyArgs;
pub use mode::{ModeArgs, mode};
pub use net::{BatchArgs, Color, ExplainArgs, MDB_WORDS, MonitorArgs, NetArgs, ShowArgs, VlanArgs};
pub use net_flags::{find_command, from_ip_syntax, leading_flags, translate_flags};
pub use netns::{NetnsArgs, NetnsCommand, Nsid, Process};
pub use output::{FileFormat, OutputArgs};
pub use ping::{Origin, PingArgs};
pub use print::PrintArgs;
pub use read::ReadArgs;
pub use readers::{Order, ReaderCount, ReadersArgs};
pub use record::{RecordArgs, RecordLimit};
pub use report::ReportArgs;
pub use rpcap::{Protocol, RpcapArgs, ServeArgs, ServeRpcapArgs};
pub use run::RunArgs;
pub use sample::sample;
pub use sandbox::{HelperArgs, SandboxArgs, UserArgs};
pub use send::SendArgs;
pub use spool::SpoolArgs;

/// Capture, count, send, ping and configure on the Linux network path, and account for every packet
#[derive(Debug, Parser)]
#[command(name = "tapline", version, max_term_width = 100)]
#[command(after_long_help = EXIT_STATUS, infer_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

impl Args {
    /// Parses the command line.
    ///
    /// # Errors
    /// Wrong usage, or a request for help.
    pub fn parse_line(line: Vec<OsString>) -> Result<Self, clap::Error> {
        let mut matches = help::grouped(Self::command()).try_get_matches_from(line)?;
        Self::from_arg_matches_mut(&mut matches)
    }
}

/// Syntax of sizes and times.
const UNITS: &str = "Sizes take k, M or G (powers of 1024); times take ns, us, ms, s, m or h.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Capture packets to a pcapng file, a pipe or the screen
    Capture(Box<CaptureArgs>),

    /// Print, filter, merge, convert and summarise capture files
    Read(Box<ReadArgs>),

    Flows(Box<FlowsArgs>),

    Report(ReportArgs),

    Index(IndexArgs),

    Ctl(CtlArgs),

    Ethtool(EthtoolArgs),

    Count(Box<CountArgs>),

    Send(Box<SendArgs>),

    Latency(LatencyArgs),

    Filter(FilterArgs),

    Ping(Box<PingArgs>),

    Doctor(DoctorArgs),

    /// Show and configure links, as 'ip link' does
    Link(Box<NetArgs>),

    /// Show and configure addresses, as 'ip address' does
    #[command(visible_alias = "address")]
    Addr(Box<NetArgs>),

    /// Show and configure routes, as 'ip route' does
    Route(Box<NetArgs>),

    /// Show and configure nexthop objects and groups, as 'ip nexthop' does
    Nexthop(Box<NetArgs>),

    /// Show and configure routing rules, as 'ip rule' does
    // ip(8) takes 'ru', which 'run' begins with, too.
    #[command(alias = "ru")]
    Rule(Box<NetArgs>),

    /// Show and configure neighbours, as 'ip neighbour' does
    #[command(visible_aliases = ["neighbour", "neighbor"])]
    Neigh(Box<NetArgs>),

    /// Show and configure forwarding entries of bridges and VXLANs, as 'bridge fdb' does
    Fdb(Box<NetArgs>),

    /// Show and configure tun and tap devices, as 'ip tuntap' does
    Tuntap(Box<NetArgs>),

    /// Show multicast addresses of links, as 'ip maddress show' does
    #[command(visible_alias = "maddress")]
    Maddr(Box<NetArgs>),

    /// Show VRFs and their tables, as 'ip vrf show' does
    Vrf(Box<NetArgs>),

    /// Show and configure VLANs of bridge ports, as 'bridge vlan' does
    Vlan(Box<VlanArgs>),

    /// Show and configure multicast groups of bridge ports, as 'bridge mdb' does
    #[command(after_help = MDB_WORDS)]
    Mdb(Box<NetArgs>),

    Netns(NetnsArgs),

    Batch(BatchArgs),

    Monitor(MonitorArgs),

    Explain(ExplainArgs),

    Run(RunArgs),

    Serve(ServeArgs),

    // Wireshark runs it; the list of commands is to fit a screen.
    #[command(hide = true)]
    Extcap(Box<ExtcapArgs>),

    Demo(DemoArgs),

    /// Removes the tc filters that the parent process leaves behind (see 'count')
    #[command(hide = true)]
    ClsactGuard,

    /// Looks up processes for the parent process (see 'capture --who')
    #[command(hide = true)]
    ProcessHelper(HelperArgs),

    /// Write manual pages and shell completions to a directory
    #[command(hide = true)]
    Generate {
        /// Where to write them
        directory: PathBuf,
    },
}

/// Parses the name of an interface or of a namespace.
fn name() -> NonEmptyStringValueParser {
    NonEmptyStringValueParser::new()
}

const EXIT_STATUS: &str = "Exit status: 0 done, 1 the job failed, 2 wrong usage, 3 missing \
privilege, 4 not supported by this kernel, driver or build.";

#[cfg(test)]
mod tests {
    use super::*;

    /// `command` and its subcommands, at any depth.
    fn each(command: &mut clap::Command, check: &mut impl FnMut(&mut clap::Command)) {
        check(command);
        for below in command.get_subcommands_mut() {
            each(below, check);
        }
    }

    #[test]
    fn short_help_of_every_command_fits_a_screen() {
        let mut command = help::grouped(Args::command());
        command.build();
        let mut long = Vec::new();
        let mut count = 0;
        each(&mut command, &mut |command| {
            let shown = command.clone().term_width(100).render_help().to_string();
            let widest = shown.lines().map(|line| line.chars().count()).max();
            let lines = shown.lines().count();
            if lines > 40 || widest > Some(100) {
                long.push((command.get_name().to_owned(), lines, widest));
            }
            count += 1;
        });
        assert!(long.is_empty(), "{long:?}");
        assert!(count > 30, "{count}");
    }

    #[test]
    fn every_argument_is_explained() {
        let mut command = Args::command();
        command.build();
        let mut missing = Vec::new();
        each(&mut command, &mut |command| {
            let shown = command.get_arguments().filter(|one| !one.is_hide_set());
            for one in shown.filter(|one| one.get_help().is_none()) {
                missing.push(format!("{} {one}", command.get_name()));
            }
        });
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = Args::command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut shown: Vec<_> = shown.map(clap::Command::get_name).collect();
        let mut grouped: Vec<_> = help::COMMANDS.concat();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }

    #[test]
    fn every_flag_is_under_a_heading() {
        let mut command = Args::command();
        command.build();
        let mut missing = Vec::new();
        each(&mut command, &mut |command| {
            for flag in command.get_arguments() {
                let is_own = !matches!(flag.get_id().as_str(), "help" | "version");
                let is_flag = !flag.is_positional() && is_own;
                if is_flag && !flag.is_hide_set() && flag.get_help_heading().is_none() {
                    missing.push(format!("{} {flag}", command.get_name()));
                }
            }
        });
        assert!(missing.is_empty(), "{missing:?}");
    }
}
