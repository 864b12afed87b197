//! Runs comparisons and counts their results.

use std::collections::BTreeMap;
use std::fmt;

use filter::{FilterTarget, LinkType};

use super::compare::{Class, Compiled, Difference, Subject};
use super::corpus::{Corpus, expressions};
use super::engine::Engine;
use super::kernel::KernelSocket;
use super::minimise::{differs, minimise};
use super::packet::Packet;
use super::packets;
use super::random::Random;
use super::test_run::KernelTestRun;
use super::text;

/// The link types to compare.
const LINKS: [LinkType; 10] = [
    LinkType::Ethernet,
    LinkType::Raw,
    LinkType::Ipv4,
    LinkType::Ipv6,
    LinkType::Null,
    LinkType::Loop,
    LinkType::LinuxSll,
    LinkType::LinuxSll2,
    LinkType::Wlan,
    LinkType::Radiotap,
];
const PLACES: [FilterTarget; 4] = [
    FilterTarget::Socket,
    FilterTarget::Xdp,
    FilterTarget::TcIngress,
    FilterTarget::TcEgress,
];
/// Maximum number of differences to keep for the report.
const MOST_SHOWN: usize = 40;

/// What to compare, and how much.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// Seed of all random choices.
    pub seed: u64,
    /// Minimum number of cases. A case is one filter and one packet in all engines.
    pub cases: u64,
    /// Packets per filter.
    pub packets: u32,
    /// Packets per filter to run in the kernel, which costs two system calls each.
    pub kernel_packets: u32,
}

/// The results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Filters that both libpcap and tapline accept.
    pub both: u64,
    /// Filters for a target on which libpcap is not tried.
    pub not_asked: u64,
    /// Filters that both reject.
    pub neither: u64,
    /// libpcap's errors for filters that only tapline accepts.
    pub only_ours: BTreeMap<String, (u64, String)>,
    /// Our errors for filters that only libpcap accepts.
    pub only_theirs: BTreeMap<String, (u64, String)>,
    /// Number of cases.
    pub cases: u64,
    /// Cases in which the packet matched.
    pub matches: u64,
    /// Number of values that each engine returned.
    pub engines: BTreeMap<&'static str, u64>,
    /// Number of differences in each class.
    pub classes: BTreeMap<Class, u64>,
    /// One example of each class: a filter and its packet.
    pub examples: BTreeMap<Class, String>,
    /// Differences without a known reason.
    pub unexplained: u64,
    /// The first of them, at most one per filter, with link type and filter.
    pub shown: Vec<(LinkType, String, Box<Difference>)>,
}

impl Campaign {
    /// Runs the campaign: first the filters of the corpus, then random ones.
    pub fn run(&self) -> Tally {
        let mut run = Run {
            random: Random::new(self.seed),
            corpus: Corpus::read(),
            kernel: KernelSocket::new(),
            tally: Tally::default(),
            campaign: *self,
        };
        for (link, text) in expressions() {
            run.filter(&text, link, FilterTarget::File);
            if run.tally.cases >= self.cases {
                break;
            }
        }
        while run.tally.cases < self.cases {
            // Half of the filters are for the most common link type.
            let link = match run.random.below(2) {
                0 => LinkType::Ethernet,
                _ => *run.random.pick(&LINKS),
            };
            let at = match run.random.below(5) {
                0 => *run.random.pick(&PLACES),
                _ => FilterTarget::File,
            };
            let text = text::expression(&mut run.random, link, at);
            run.filter(&text, link, at);
        }
        run.tally
    }
}

struct Run {
    random: Random,
    corpus: Corpus,
    kernel: KernelSocket,
    tally: Tally,
    campaign: Campaign,
}

impl Run {
    fn filter(&mut self, text: &str, link: LinkType, at: FilterTarget) {
        let note = |notes: &mut BTreeMap<String, (u64, String)>, said: String| {
            let digits = said.replace(|letter: char| letter.is_ascii_digit(), "#");
            let row = notes
                .entry(digits)
                .or_insert((0, format!("{link}: {text}")));
            row.0 += 1;
            if row.1.len() > link.to_string().len() + 2 + text.len() {
                row.1 = format!("{link}: {text}");
            }
        };
        let tally = &mut self.tally;
        let mut subject = match Subject::compile(text, &Subject::options(link, at)) {
            Compiled::Both(subject) => {
                tally.both += 1;
                subject
            }
            Compiled::Ours(subject, None) => {
                tally.not_asked += 1;
                subject
            }
            Compiled::Ours(subject, Some(said)) => {
                note(&mut tally.only_ours, said);
                subject
            }
            Compiled::Theirs(error) => {
                return note(&mut tally.only_theirs, error.reason.to_string());
            }
            Compiled::Neither => {
                tally.neither += 1;
                return;
            }
        };
        self.kernel.attach(subject.classic());
        for number in 0..self.campaign.packets {
            let asks_kernel = number < self.campaign.kernel_packets && !text.contains("ifindex");
            let packet = self.packet(link, at, asks_kernel);
            self.tally.cases += 1;
            if let Err(difference) = self.case(&mut subject, &packet, asks_kernel, text, link) {
                self.tally.unexplained += 1;
                // One difference per filter is enough.
                if self.tally.shown.len() < MOST_SHOWN {
                    let options = Subject::options(link, at);
                    let (text, packet) = minimise(text, &options, &difference.packet);
                    let difference = differs(&text, &options, &packet).unwrap_or(difference);
                    self.tally.shown.push((link, text, difference));
                }
                return;
            }
        }
    }

    fn packet(&mut self, link: LinkType, at: FilterTarget, is_for_kernel: bool) -> Packet {
        let random = &mut self.random;
        let corpus = self.corpus.of(link);
        let mut packet = if corpus.is_empty() || random.one_in(2) {
            packets::packet(random, link)
        } else {
            let mut packet = random.pick(corpus).clone();
            if random.one_in(2) {
                packets::damage(random, &mut packet);
            }
            packet
        };
        if is_for_kernel {
            packet.original_len = packet.bytes.len() as u32;
            packet.ancillary = KernelTestRun::ancillary();
        } else if at != FilterTarget::File {
            packets::know_beside(random, &mut packet);
        }
        packet
    }

    fn case(
        &mut self,
        subject: &mut Subject,
        packet: &Packet,
        asks_kernel: bool,
        text: &str,
        link: LinkType,
    ) -> Result<(), Box<Difference>> {
        let ours = subject.ours(packet)?;
        let tally = &mut self.tally;
        tally.matches += u64::from(ours != 0);
        for name in subject.names() {
            *tally.engines.entry(name).or_default() += 1;
        }
        if asks_kernel {
            let mut ask = |engine: &mut dyn Engine, expected: u32| {
                if !engine.answers(packet) {
                    return Ok(());
                }
                *tally.engines.entry(engine.name()).or_default() += 1;
                let value = engine.value(packet);
                if value == expected {
                    return Ok(());
                }
                Err(Box::new(Difference {
                    engine: engine.name(),
                    value,
                    ours,
                    packet: packet.clone(),
                }))
            };
            ask(&mut self.kernel, ours.min(packet.original_len))?;
            if let Some(test_run) = subject.test_run() {
                ask(test_run, ours)?;
            }
        }
        for engine in subject.theirs() {
            *tally.engines.entry(engine.name()).or_default() += 1;
        }
        if let Some(class) = subject.theirs_beside(packet, ours)? {
            *tally.classes.entry(class).or_default() += 1;
            let example = tally.examples.entry(class).or_default();
            if example.is_empty() || example.len() > text.len() {
                *example = format!("{link}: {text}");
            }
        }
        Ok(())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} cases, {} matches; filters: {} in both, {} without libpcap, {} in neither",
            self.cases, self.matches, self.both, self.not_asked, self.neither
        )?;
        for (name, count) in &self.engines {
            writeln!(f, "engine {name}: {count}")?;
        }
        for (class, count) in &self.classes {
            writeln!(
                f,
                "class {class:?}: {count}, such as {}",
                self.examples[class]
            )?;
        }
        for (said, (count, text)) in &self.only_ours {
            writeln!(f, "only ours, {count}: {said}: {text}")?;
        }
        for (said, (count, text)) in &self.only_theirs {
            writeln!(f, "only libpcap, {count}: {said}: {text}")?;
        }
        writeln!(f, "unexplained: {}", self.unexplained)?;
        for (link, text, difference) in &self.shown {
            writeln!(f, "{link}: {text}\n  {difference}")?;
        }
        Ok(())
    }
}
