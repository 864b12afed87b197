//! Flags of captures with several readers.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use tapline::capture::{FanoutMode, Queues};

/// Several readers, each on a CPU of its own.
#[derive(Args, Clone, Debug, Default)]
pub struct ReadersArgs {
    /// With -w: a reader on a CPU of its own for each receive queue (all), or N readers; their packets are merged
    /// into one file by time stamp [default: one reader]
    ///
    /// In drop mode with a short snaplen all is a reader for each CPU. Packet rings share the packets by
    /// PACKET_FANOUT, see --fanout. Such a capture cannot be changed while it runs.
    #[arg(hide_short_help = true, long, value_name = "all|N", value_parser = queues, requires = "write", help_heading = "Performance")]
    pub queues: Option<Queues>,

    /// CPUs of the readers, e.g. 2,4-7 [default: all on which tapline may run]
    #[arg(hide_short_help = true, long, value_name = "LIST", value_parser = cpus, requires = "queues", help_heading = "Performance")]
    pub cpus: Option<CpuList>,

    /// How packet rings of several readers share the packets: by receive queue, by the CPU that received them, or by
    /// flow (hash) [default: queue if there is a reader for each, otherwise hash]
    #[arg(
        hide_short_help = true,
        long,
        value_enum,
        requires = "queues",
        help_heading = "Performance"
    )]
    pub fanout: Option<FanoutArg>,

    /// Order of packets of several readers: one file, ordered by time stamp (strict), or a file for each reader
    /// (queue), named FILE-queue0 and so on [default: strict]
    #[arg(
        hide_short_help = true,
        long,
        value_enum,
        requires = "queues",
        help_heading = "Performance"
    )]
    pub order: Option<Order>,
}

/// How packet rings share packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FanoutArg {
    /// By receive queue
    Queue,
    /// By the CPU that received the packet
    Cpu,
    /// By flow hash
    Hash,
}

impl From<FanoutArg> for FanoutMode {
    fn from(mode: FanoutArg) -> Self {
        match mode {
            FanoutArg::Queue => Self::Queue,
            FanoutArg::Cpu => Self::Cpu,
            FanoutArg::Hash => Self::Hash,
        }
    }
}

/// Order of packets of several readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// One file, ordered by time stamp
    Strict,
    /// A file for each reader
    Queue,
}

/// Numbers of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

fn queues(text: &str) -> Result<Queues, String> {
    if text == "all" {
        return Ok(Queues::All);
    }
    let count: Option<NonZeroUsize> = text.parse().ok();
    count
        .map(Queues::Count)
        .ok_or_else(|| "use all or a number of readers".to_owned())
}

/// Numbers and ranges, as in taskset(1).
fn cpus(text: &str) -> Result<CpuList, String> {
    let wrong = || "use numbers and ranges such as 2,4-7".to_owned();
    // The kernel's limit (`CONFIG_NR_CPUS`).
    let cpu = |text: &str| text.parse().ok().filter(|&cpu: &usize| cpu < 8192);
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = cpu(first).zip(cpu(last)).ok_or_else(wrong)?;
        if first > last {
            return Err(wrong());
        }
        list.extend(first..=last);
    }
    Ok(CpuList(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        let list = |text: &str| cpus(text).map(|list| list.0);
        assert_eq!(list("3"), Ok(vec![3]));
        assert_eq!(list("2,4-6,1"), Ok(vec![2, 4, 5, 6, 1]));
        for wrong in ["", "x", "1-", "-1", "3-2", "1,,2", "9000", "1-2-3"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
    }
}
