use std::fmt;
use std::net::Ipv4Addr;

use filter::classic::{Ancillary, Instruction, Program, opcode};
use filter::{At, Families, Filter, FilterError, LinkType, NoNames, Options, Reason};

use super::engine::Engine;
use super::libpcap::{Libpcap, SNAPLEN};
use super::machine::{End, Outcome, Rules, trace};
use super::packet::Packet;

/// Bytes that packets cut short are made longer by.
const MORE_BYTES: usize = 512;

/// Differences from libpcap that are decided; `crates/filter/DIFFERENCES.md` explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A shift by 32 or more, or an offset beyond 32 bits: under the kernel's rules libpcap's program
    /// gives what ours gives.
    Rules,
    /// libpcap's program refused at a byte that the packet lacks, before it came to what matches;
    /// with the missing bytes, whatever they are, both accept.
    CutForThem,
    /// The same the other way round.
    CutForUs,
    /// libpcap's optimised program gives another value than its unoptimised one, and ours is the
    /// latter's.
    Optimiser,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Rules,
        Self::CutForThem,
        Self::CutForUs,
        Self::Optimiser,
    ];
}

/// Two engines that give one packet different values, for no reason known.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The engine that ours was compared with.
    pub engine: &'static str,
    /// Its value.
    pub value: u32,
    /// The value of our interpreter.
    pub ours: u32,
    /// The packet.
    pub packet: Packet,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packet = &self.packet;
        write!(
            f,
            "{} gives {}, the interpreter {}, for {} of {} bytes, {:?}: ",
            self.engine,
            self.value,
            self.ours,
            packet.bytes.len(),
            packet.original_len,
            packet.ancillary
        )?;
        packet
            .bytes
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One text in every engine that has no need of anything but bytes.
pub struct Subject {
    ours: Vec<Box<dyn Engine>>,
    classic: Program,
    theirs: Vec<Libpcap>,
}

/// What became of a text.
pub enum Compiled {
    /// Both take it.
    Both(Subject),
    /// Only we do, with what libpcap says; or libpcap was not asked.
    Ours(Subject, Option<String>),
    /// Only libpcap does.
    Theirs(FilterError),
    /// Nobody does.
    Neither,
}

impl Subject {
    /// The options under which ours and libpcap's programs are to be the same.
    pub fn options(link: LinkType, at: At) -> Options {
        let mut options = Options::new(link);
        options.at = at;
        options.snaplen = SNAPLEN;
        // The crate `pcap` gives libpcap this mask.
        options.netmask = Some(Ipv4Addr::UNSPECIFIED);
        // A handle of no capture has the families of the machine, which is little-endian.
        options.families = Families::One {
            ip4: 2,
            ip6: 10,
            is_big_endian: cfg!(target_endian = "big"),
        };
        options.chain_headers = 20;
        options
    }

    /// Compiles `text` for all engines; libpcap is asked for files only, where what a program finds
    /// is in the bytes.
    pub fn compile(text: &str, options: &Options) -> Compiled {
        let ours = ours(text, options);
        let is_asked = options.at == At::File;
        let theirs: Result<Vec<_>, _> = [false, true]
            .into_iter()
            .filter(|_| is_asked)
            .map(|is_optimised| Libpcap::new(text, options.link, is_optimised))
            .collect();
        let theirs = match theirs {
            // The optimiser finds out that nothing matches; the program that it was given stays.
            Err(said) if said.contains("rejects all packets") => {
                Libpcap::new(text, options.link, false).map(|program| vec![program])
            }
            other => other,
        };
        match (ours, theirs) {
            (Ok((ours, classic)), Ok(theirs)) => {
                let subject = Self {
                    ours,
                    classic,
                    theirs,
                };
                if is_asked {
                    Compiled::Both(subject)
                } else {
                    Compiled::Ours(subject, None)
                }
            }
            (Ok((ours, classic)), Err(said)) => {
                let theirs = Vec::new();
                let subject = Self {
                    ours,
                    classic,
                    theirs,
                };
                Compiled::Ours(subject, Some(said))
            }
            (Err(error), Ok(_)) if is_asked => Compiled::Theirs(error),
            _ => Compiled::Neither,
        }
    }

    /// The classic program.
    pub fn classic(&self) -> &Program {
        &self.classic
    }

    /// libpcap's programs: as it is first, then optimised.
    pub fn theirs(&self) -> &[Libpcap] {
        &self.theirs
    }

    /// The value of all of our engines.
    ///
    /// # Errors
    /// The first that differs from the interpreter.
    pub fn ours(&mut self, packet: &Packet) -> Result<u32, Box<Difference>> {
        let mut engines = self.ours.iter_mut();
        let ours = engines.next().map_or(0, |engine| engine.value(packet));
        for engine in engines.filter(|engine| engine.answers(packet)) {
            let value = engine.value(packet);
            if value != ours {
                return Err(Box::new(Difference {
                    engine: engine.name(),
                    value,
                    ours,
                    packet: packet.clone(),
                }));
            }
        }
        Ok(ours)
    }

    /// The names of our engines.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.ours.iter().map(|engine| engine.name())
    }

    /// Compares libpcap's value with `ours`: the same, or different for a known reason.
    ///
    /// # Errors
    /// A difference without a reason.
    pub fn theirs_beside(
        &mut self,
        packet: &Packet,
        ours: u32,
    ) -> Result<Option<Class>, Box<Difference>> {
        let mut found = None;
        for place in 0..self.theirs.len() {
            let engine = &mut self.theirs[place];
            let traced = trace(engine.instructions(), packet, Rules::Libpcap).value;
            let differ = |engine, value| {
                Box::new(Difference {
                    engine,
                    value,
                    ours,
                    packet: packet.clone(),
                })
            };
            if engine.answers(packet) && engine.value(packet) != traced {
                return Err(differ("the traced run of libpcap's program", traced));
            }
            if traced == ours {
                continue;
            }
            let name = engine.name();
            let class = self.reason(place, packet, ours);
            // The first program is the reference: where only the second differs, it is to blame.
            let class = class.or((place == 1 && found.is_none()).then_some(Class::Optimiser));
            match class {
                Some(class) => found = found.or(Some(class)),
                None => return Err(differ(name, traced)),
            }
        }
        Ok(found)
    }

    /// Why libpcap's program at `place` gives another value than `ours`.
    fn reason(&self, place: usize, packet: &Packet, ours: u32) -> Option<Class> {
        let theirs = self.theirs[place].instructions();
        let outcome = trace(theirs, packet, Rules::Kernel);
        if outcome.value == ours {
            return outcome.depends_on_rules.then_some(Class::Rules);
        }
        let mine = self.classic.instructions();
        match (trace(mine, packet, Rules::Kernel), outcome) {
            (Outcome { value: 1.., .. }, refused) if refused.end == End::Missing => {
                accepts_with_more(theirs, mine, packet).then_some(Class::CutForThem)
            }
            (refused, Outcome { value: 1.., .. }) if refused.end == End::Missing => {
                accepts_with_more(mine, theirs, packet).then_some(Class::CutForUs)
            }
            _ => None,
        }
    }
}

type Ours = (Vec<Box<dyn Engine>>, Program);

fn ours(text: &str, options: &Options) -> Result<Ours, FilterError> {
    match Filter::new(text, options, &NoNames) {
        Ok(filter) => {
            let classic = filter.classic()?;
            Ok((vec![Box::new(filter), Box::new(classic.clone())], classic))
        }
        Err(FilterError {
            reason: Reason::RejectsAll,
            ..
        }) => {
            let classic = Program::new(vec![Instruction::new(opcode::RET_K, 0)]);
            let classic = classic.expect("a return is a program");
            Ok((vec![Box::new(classic.clone())], classic))
        }
        Err(error) => Err(error),
    }
}

/// Whether a program that lacked bytes of `packet` accepts it once they are there, whatever they
/// are, as `other` does; or lacks bytes further on.
fn accepts_with_more(refuser: &[Instruction], other: &[Instruction], packet: &Packet) -> bool {
    let fills = [0x00, 0xff, 0x45, 0x06].map(|byte| vec![byte; MORE_BYTES]);
    let mixed = (0..MORE_BYTES).map(|at| (at * 37 % 251) as u8).collect();
    fills.into_iter().chain([mixed]).all(|fill| {
        let mut longer = packet.clone();
        longer.bytes.extend(fill);
        longer.ancillary = Ancillary::default();
        let outcome = trace(refuser, &longer, Rules::Kernel);
        let accepts = outcome.value != 0 || outcome.end == End::Missing;
        accepts && trace(other, &longer, Rules::Kernel).value != 0
    })
}
