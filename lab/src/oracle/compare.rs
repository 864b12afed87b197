use std::fmt;
use std::net::Ipv4Addr;

use filter::classic::{ClassicProgram, Instruction, opcode};
use filter::{
    Filter, FilterError, FilterErrorReason, FilterOptions, FilterTarget, LinkType,
    LoopbackFamilies, NoNames,
};

use super::engine::Engine;
use super::libpcap::{Libpcap, SNAPLEN};
use super::machine::{End, Missing, Outcome, Rules, trace, trace_with};
use super::packet::Packet;
use super::test_run::KernelTestRun;

/// How many things are put in the place of what a packet lacks.
const FILLS: u32 = 8;

/// Differences from libpcap that are decided; `crates/filter/DIFFERENCES.md` explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A shift by 32 or more, or an offset beyond 32 bits: under the kernel's rules libpcap's program
    /// gives what ours gives.
    Rules,
    /// libpcap's program refused the packet for a byte that it lacks, or a division by zero, before
    /// it reached the matching term. With any value in place of the missing byte, it would accept as ours does.
    CutForThem,
    /// The same the other way round.
    CutForUs,
    /// libpcap's program reads where an inner header starts though no tunnel was found.
    Unset,
    /// libpcap's `protochain` follows the packet's headers in a circle.
    Endless,
    /// libpcap's optimised program gives another value than its unoptimised one, and ours is the
    /// latter's.
    Optimiser,
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
    ours: Ours,
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
    pub fn options(link: LinkType, at: FilterTarget) -> FilterOptions {
        let mut options = FilterOptions::new(link);
        options.target = at;
        options.snaplen = SNAPLEN;
        // The crate `pcap` gives libpcap this mask.
        options.netmask = Some(Ipv4Addr::UNSPECIFIED);
        // A handle of no capture has the families of the machine, which is little-endian.
        options.families = LoopbackFamilies::One {
            ip4: 2,
            ip6: 10,
            is_big_endian: cfg!(target_endian = "big"),
        };
        options.chain_headers = 20;
        options
    }

    /// Compiles `text` for all engines; libpcap is asked for files only, where what a program finds
    /// is in the bytes.
    pub fn compile(text: &str, options: &FilterOptions) -> Compiled {
        let ours = ours(text, options);
        let is_asked = options.target == FilterTarget::File && !Libpcap::is_faulty(text);
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
            (Ok(ours), Ok(theirs)) if is_asked => Compiled::Both(Self { ours, theirs }),
            (Ok(ours), theirs) => {
                let theirs = theirs.err();
                let subject = Self {
                    ours,
                    theirs: Vec::new(),
                };
                Compiled::Ours(subject, theirs)
            }
            (Err(error), Ok(_)) if is_asked => Compiled::Theirs(error),
            _ => Compiled::Neither,
        }
    }

    /// The classic program.
    pub fn classic(&self) -> &ClassicProgram {
        &self.ours.classic
    }

    /// The eBPF program in the kernel, at places that have one.
    pub fn test_run(&mut self) -> Option<&mut KernelTestRun> {
        self.ours.test_run.as_mut()
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
        let mut engines = self.ours.engines.iter_mut();
        let ours = engines.next().map_or(0, |engine| engine.value(packet));
        let differ = |engine, value| {
            Box::new(Difference {
                engine,
                value,
                ours,
                packet: packet.clone(),
            })
        };
        for engine in engines.filter(|engine| engine.answers(packet)) {
            let value = engine.value(packet);
            if value != ours {
                return Err(differ(engine.name(), value));
            }
        }
        let coarse = self.ours.coarse.value(packet);
        if coarse < ours {
            return Err(differ("the coarse program", coarse));
        }
        Ok(ours)
    }

    /// The names of our engines.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.ours.engines.iter().map(|engine| engine.name())
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
        let mut values = [ours; 2];
        for (engine, place) in self.theirs.iter_mut().zip(0..) {
            let outcome = trace(engine.instructions(), packet, Rules::Libpcap);
            if outcome.end == End::Lost {
                return Ok(Some(Class::Endless));
            }
            values[place] = outcome.value;
            // Words that were not written hold anything before libpcap 1.11.
            let is_sure = engine.answers(packet) && !outcome.reads_unset;
            if is_sure && engine.value(packet) != values[place] {
                return Err(Box::new(Difference {
                    engine: "the traced run of libpcap's program",
                    value: values[place],
                    ours,
                    packet: packet.clone(),
                }));
            }
        }
        let Some(place) = values.iter().position(|&value| value != ours) else {
            return Ok(None);
        };
        // Where only the optimised program differs and has no other reason, its making is to blame.
        let class = self.reason(place, packet, ours);
        match class.or((place == 1).then_some(Class::Optimiser)) {
            Some(class) => Ok(Some(class)),
            None => Err(Box::new(Difference {
                engine: self.theirs[place].name(),
                value: values[place],
                ours,
                packet: packet.clone(),
            })),
        }
    }

    /// Why libpcap's program at `place` gives another value than `ours`.
    fn reason(&self, place: usize, packet: &Packet, ours: u32) -> Option<Class> {
        let theirs = self.theirs[place].instructions();
        let outcome = trace(theirs, packet, Rules::Kernel);
        if outcome.value == ours {
            return outcome.depends_on_rules.then_some(Class::Rules);
        }
        if outcome.reads_unset {
            return Some(Class::Unset);
        }
        let mine = self.ours.classic.instructions();
        let was_refused = |end| matches!(end, End::Missing | End::Divided);
        match (trace(mine, packet, Rules::Kernel), outcome) {
            (Outcome { value: 1.., .. }, refused) if was_refused(refused.end) => {
                accepts_anyway(theirs, packet).then_some(Class::CutForThem)
            }
            (refused, Outcome { value: 1.., .. }) if was_refused(refused.end) => {
                accepts_anyway(mine, packet).then_some(Class::CutForUs)
            }
            _ => None,
        }
    }
}

/// One text in our engines.
struct Ours {
    engines: Vec<Box<dyn Engine>>,
    classic: ClassicProgram,
    /// Lets through at least what the others do.
    coarse: ClassicProgram,
    /// The eBPF program, at places that have one.
    test_run: Option<KernelTestRun>,
}

fn ours(text: &str, options: &FilterOptions) -> Result<Ours, FilterError> {
    match Filter::new(text, options, &NoNames) {
        Ok(filter) => {
            let classic = filter.classic()?;
            let native = filter.native().expect("native code of every filter");
            let coarse = filter.coarse();
            let has_ebpf = matches!(
                options.target,
                FilterTarget::Xdp | FilterTarget::TcIngress | FilterTarget::TcEgress
            );
            let test_run = has_ebpf.then(|| KernelTestRun::load(&filter)).flatten();
            let engines: [Box<dyn Engine>; 3] = [
                Box::new(filter),
                Box::new(classic.clone()),
                Box::new(native),
            ];
            Ok(Ours {
                engines: engines.into(),
                classic,
                coarse,
                test_run,
            })
        }
        Err(FilterError {
            reason: FilterErrorReason::RejectsAll,
            ..
        }) => {
            let classic = ClassicProgram::new(vec![Instruction::new(opcode::RET_K, 0)]);
            let classic = classic.expect("a return is a program");
            Ok(Ours {
                engines: vec![Box::new(classic.clone())],
                coarse: classic.clone(),
                classic,
                test_run: None,
            })
        }
        Err(error) => Err(error),
    }
}

/// Whether a program that lacked something accepts the packet whatever it is that it lacked.
fn accepts_anyway(refuser: &[Instruction], packet: &Packet) -> bool {
    (0..FILLS).all(|seed| {
        let missing = Missing::Anything(seed.wrapping_mul(0x0101_4561));
        trace_with(refuser, packet, Rules::Kernel, missing).value != 0
    })
}
