//! Flags of captures with several readers.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tapline::capture::{FanoutMode, Queues};

/// Several readers, each on a separate CPU.
#[derive(Args, Clone, Debug, Default)]
pub struct ReadersArgs {
    /// Start a reader for each receive queue (all), N readers, or as many as there are free CPUs (auto), each on a separate CPU;
    /// or read only the queues of a list, e.g. 0,2-3. Packets are merged by time stamp [default: auto into a
    /// file from interfaces of more than 10 Gbit/s, otherwise one reader]
    ///
    /// In drop mode with a short snaplen, all starts a reader for each CPU. Packet rings share the packets by
    /// PACKET_FANOUT, see --fanout. A list selects received packets; a single queue is written as 3-3. auto is one
    /// reader unless an interface has several queues and several CPUs are free.
    #[arg(hide_short_help = true, long, value_name = "all|auto|N|LIST", value_parser = queues, help_heading = "Performance")]
    pub queues: Option<ReaderCount>,

    /// CPUs of the readers, e.g. 2,4-7. Interrupts of the receive queues are pinned to them where that is allowed, and restored
    /// at the end [default: all on which tapline may run]
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

    /// With --order queue: write the files of the readers into these directories in turn, e.g. one for each disk
    #[arg(
        hide_short_help = true,
        long,
        value_name = "DIR,DIR...",
        value_delimiter = ',',
        requires = "order",
        help_heading = "Output"
    )]
    pub stripe: Vec<PathBuf>,
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

/// Number of readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReaderCount {
    /// A number that suits the interfaces and the free CPUs.
    Automatic,
    /// A number, all queues or a list of queues.
    Fixed(Queues),
}

/// Numbers of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

fn queues(text: &str) -> Result<ReaderCount, String> {
    let wrong =
        || "use all, auto, a number of readers, or a list of queues such as 0,2-3".to_owned();
    let queues = match text {
        "auto" => return Ok(ReaderCount::Automatic),
        "all" => Queues::All,
        list if list.contains([',', '-']) => {
            let mut queues: Vec<u32> = numbers(list).ok_or_else(wrong)?;
            queues.sort_unstable();
            queues.dedup();
            Queues::Only(queues)
        }
        count => Queues::Count(count.parse::<NonZeroUsize>().map_err(|_| wrong())?),
    };
    Ok(ReaderCount::Fixed(queues))
}

/// Numbers and ranges, as in taskset(1).
fn cpus(text: &str) -> Result<CpuList, String> {
    let list = numbers(text).map(|list: Vec<u32>| list.into_iter().map(|cpu| cpu as usize));
    let list = list.ok_or_else(|| "use numbers and ranges such as 2,4-7".to_owned())?;
    Ok(CpuList(list.collect()))
}

/// Numbers and ranges, e.g. 2,4-7.
fn numbers(text: &str) -> Option<Vec<u32>> {
    // More than the kernel has CPUs (`CONFIG_NR_CPUS`), and more than any device has queues.
    let number = |text: &str| text.parse().ok().filter(|&number: &u32| number < 8192);
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = number(first).zip(number(last))?;
        if first > last {
            return None;
        }
        list.extend(first..=last);
    }
    Some(list)
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

    #[test]
    fn a_list_selects_queues_and_a_number_counts_readers() {
        let two = NonZeroUsize::new(2).expect("not zero");
        for (text, expected) in [
            ("all", Queues::All),
            ("2", Queues::Count(two)),
            ("2-2", Queues::Only(vec![2])),
            ("3,0-1,1", Queues::Only(vec![0, 1, 3])),
        ] {
            assert_eq!(queues(text), Ok(ReaderCount::Fixed(expected)), "{text}");
        }
        assert_eq!(queues("auto"), Ok(ReaderCount::Automatic));
        for wrong in ["", "0", "-1", "1,", "x", "3-2", "0-9000"] {
            assert!(queues(wrong).is_err(), "{wrong}");
        }
    }
}
