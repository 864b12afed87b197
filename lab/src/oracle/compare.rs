//! Compares the verdicts of engines with libpcap's.

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

/// Number of substitute values to try for data that a packet lacks.
const FILLS: u32 = 8;

/// Accepted differences from libpcap. `crates/filter/DIFFERENCES.md` explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A shift by 32 or more, or an offset beyond 32 bits. Under the kernel's rules libpcap's program returns the same
    /// value as ours.
    Rules,
    /// libpcap's program rejected the packet because of a missing byte or a division by zero, before it reached the
    /// matching term. With any substitute value it would accept the packet, as ours does.
    CutForThem,
    /// As `CutForThem`, but our program rejected the packet.
    CutForUs,
    /// libpcap's program reads the offset of an inner header although it found no tunnel.
    Unset,
    /// libpcap's `protochain` loops over the packet's headers forever.
    Endless,
    /// libpcap's optimised program returns a different value than its unoptimised one, and ours agrees with the
    /// unoptimised one.
    Optimiser,
}

/// An unexplained difference between the values of two engines for one packet.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The engine that was compared with ours.
    pub engine: &'static str,
    /// Its value.
    pub value: u32,
    /// The value returned by our interpreter.
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

/// One filter expression, compiled for every engine that needs only packet bytes.
pub struct Subject {
    ours: Ours,
    theirs: Vec<Libpcap>,
}

/// Which compilers accept an expression.
pub enum Compiled {
    /// Both accept it.
    Both(Subject),
    /// Only ours accepts it. Holds libpcap's error, or `None` if libpcap was not tried.
    Ours(Subject, Option<String>),
    /// Only libpcap accepts it. Holds our error.
    Theirs(FilterError),
    /// Both reject it.
    Neither,
}

impl Subject {
    /// Options under which our program and libpcap's must agree.
    pub fn options(link: LinkType, at: FilterTarget) -> FilterOptions {
        let mut options = FilterOptions::new(link);
        options.target = at;
        options.snaplen = SNAPLEN;
        // The `pcap` crate passes this netmask to libpcap.
        options.netmask = Some(Ipv4Addr::UNSPECIFIED);
        // A handle without a capture uses the machine's address families, in native byte order.
        options.families = LoopbackFamilies::One {
            ip4: 2,
            ip6: 10,
            is_big_endian: cfg!(target_endian = "big"),
        };
        options.chain_headers = 20;
        options
    }

    /// Compiles `text` for all engines. libpcap is used only for files, where a program depends on the packet bytes
    /// alone.
    pub fn compile(text: &str, options: &FilterOptions) -> Compiled {
        let ours = ours(text, options);
        let is_asked =
            options.target == FilterTarget::File && !Libpcap::is_faulty(text, options.link);
        let theirs: Result<Vec<_>, _> = [false, true]
            .into_iter()
            .filter(|_| is_asked)
            .map(|is_optimised| Libpcap::new(text, options.link, is_optimised))
            .collect();
        let theirs = match theirs {
            // The optimiser proves that nothing matches. Keep the unoptimised program.
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

    /// Our classic program.
    pub fn classic(&self) -> &ClassicProgram {
        &self.ours.classic
    }

    /// Our eBPF program, loaded in the kernel, for targets that have one.
    pub fn test_run(&mut self) -> Option<&mut KernelTestRun> {
        self.ours.test_run.as_mut()
    }

    /// libpcap's programs: unoptimised first, then optimised.
    pub fn theirs(&self) -> &[Libpcap] {
        &self.theirs
    }

    /// Runs all of our engines and returns their common value.
    ///
    /// # Errors
    /// The first engine that differs from the interpreter.
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

    /// Compares libpcap's values with `ours` and returns the known differences.
    ///
    /// # Errors
    /// A difference without a known reason.
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
            // Before libpcap 1.11, unwritten scratch words hold arbitrary values.
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
        // If only the optimised program differs, without another reason, the optimiser is at fault.
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

    /// Returns why libpcap's program at index `place` returns another value than `ours`, if known.
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

/// One filter expression in our engines.
struct Ours {
    engines: Vec<Box<dyn Engine>>,
    classic: ClassicProgram,
    /// A coarse filter: accepts at least every packet that the other engines accept.
    coarse: ClassicProgram,
    /// The eBPF program, for targets that have one.
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

/// Whether a program that rejected the packet for missing data accepts it with every substitute value.
fn accepts_anyway(refuser: &[Instruction], packet: &Packet) -> bool {
    (0..FILLS).all(|seed| {
        let missing = Missing::Anything(seed.wrapping_mul(0x0101_4561));
        trace_with(refuser, packet, Rules::Kernel, missing).value != 0
    })
}
