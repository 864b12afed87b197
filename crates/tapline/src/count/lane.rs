//! One interface and direction: its program and its counters.

use std::io;
use std::os::fd::AsFd;

use bpf::count::{
    COUNTERS_PER_SLOT, CountedClass, CountedFilter, CounterArray, CountingOptions, CountingPlace,
    CountingProgram, Overhead, Slot,
};
use bpf::{LoadError, Program, TcLink, XdpLink};
use filter::{Filter, FilterError, Reason as FilterReason, Warning};

use super::classes::Counted;
use super::error::CountError;
use super::groups::GroupTable;
use super::interval::Tally;
use super::options::Layer;
use super::place::Place;
use super::target::Target;

/// Name of programs and maps, as bpftool shows it.
pub(super) const NAME: &str = "tapline_count";

/// What holds a program at its place; it leaves with this.
pub(super) enum Attachment {
    Xdp(XdpLink),
    Tc(TcLink),
}

impl Attachment {
    fn replace(&mut self, program: &Program) -> io::Result<()> {
        match self {
            Self::Xdp(link) => link.replace(program),
            Self::Tc(link) => link.replace(program),
        }
    }
}

/// What is counted at a place, as code and counters; not attached yet.
pub(super) struct Prepared {
    pub counting: CountingPlace,
    pub counters: CounterArray,
    /// Which packets each class has, in their order.
    pub chosen: Vec<Chosen>,
    /// Of each class by name.
    pub warnings: Vec<(String, Warning)>,
    pub program: Program,
}

/// Which packets of a place a class has.
pub(super) enum Chosen {
    All,
    These(CountedFilter),
    /// None: its filter refuses all here, as one for packets that go out does where they come in.
    Nothing(FilterError),
}

impl Chosen {
    pub fn looks_at_tags(&self) -> bool {
        matches!(self, Self::These(filter) if filter.looks_at_tags())
    }
}

/// A place where packets are counted.
pub(super) struct Lane {
    pub place: Place,
    pub target: Target,
    pub layer: Layer,
    pub prepared: Prepared,
    pub attachment: Attachment,
    /// Whether XDP was chosen because no class asked about the tags that it does not see.
    pub hides_tags: bool,
}

/// The numbers of a class at one place or at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub all: Tally,
    pub other: Tally,
    pub without_key: Tally,
}

/// Counters of a place, as they stand.
pub(super) struct Raw(Vec<u64>);

impl Raw {
    pub fn of(&self, slot: Slot) -> Figures {
        let first = usize::from(slot.number) * COUNTERS_PER_SLOT as usize;
        let tally = |at: usize| Tally {
            packets: self.0.get(first + at).copied().unwrap_or(0),
            bytes: self.0.get(first + at + 1).copied().unwrap_or(0),
        };
        Figures {
            all: tally(0),
            other: tally(2),
            without_key: tally(4),
        }
    }
}

impl std::ops::Sub for Figures {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            all: self.all - other.all,
            other: self.other - other.other,
            without_key: self.without_key - other.without_key,
        }
    }
}

impl std::ops::AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.other += other.other;
        self.without_key += other.without_key;
    }
}

impl Prepared {
    /// Compiles the filters of `classes` and loads the program.
    pub fn new(
        target: &Target,
        counting: CountingPlace,
        layer: Layer,
        classes: &[Counted],
        slots: u32,
        groups: Option<&GroupTable>,
    ) -> Result<Self, CountError> {
        let counters = CounterArray::create(NAME, slots * COUNTERS_PER_SLOT)?;
        let mut chosen = Vec::with_capacity(classes.len());
        let mut warnings = Vec::new();
        for counted in classes {
            chosen.push(compile(target, counting, counted, &mut warnings)?);
        }
        let program = load(target, counting, layer, &counters, classes, &chosen, groups)?;
        Ok(Self {
            counting,
            counters,
            chosen,
            warnings,
            program,
        })
    }
}

impl Lane {
    /// The program that would count `classes`, of which each has what is `chosen`.
    pub fn load(
        &self,
        classes: &[Counted],
        chosen: &[Chosen],
        groups: Option<&GroupTable>,
    ) -> Result<Program, CountError> {
        let Prepared {
            counting, counters, ..
        } = &self.prepared;
        load(
            &self.target,
            *counting,
            self.layer,
            counters,
            classes,
            chosen,
            groups,
        )
    }

    /// Which packets of this place one class has.
    pub fn compile(
        &self,
        counted: &Counted,
        warnings: &mut Vec<(String, Warning)>,
    ) -> Result<Chosen, CountError> {
        let chosen = compile(&self.target, self.prepared.counting, counted, warnings)?;
        if self.hides_tags && chosen.looks_at_tags() {
            return Err(CountError::VlanStripped {
                class: counted.class.name.clone(),
                link: self.target.link.clone(),
            });
        }
        Ok(chosen)
    }

    /// Puts `program` in the place of the present one, and gives that back.
    pub fn replace(&mut self, program: Program) -> Result<Program, CountError> {
        replace(&mut self.attachment, &program, &self.target)?;
        Ok(std::mem::replace(&mut self.prepared.program, program))
    }

    /// Begins to count.
    pub fn start(&mut self) -> Result<(), CountError> {
        replace(&mut self.attachment, &self.prepared.program, &self.target)
    }

    pub fn read(&self) -> Result<Raw, CountError> {
        let counters = self.prepared.counters.read();
        counters
            .map(Raw)
            .map_err(|source| CountError::Read { source })
    }
}

/// An interface that is gone has no program.
fn replace(
    attachment: &mut Attachment,
    program: &Program,
    target: &Target,
) -> Result<(), CountError> {
    const ENODEV: i32 = 19;
    const ENOLINK: i32 = 67;
    match attachment.replace(program) {
        Err(source) if !matches!(source.raw_os_error(), Some(ENOLINK | ENODEV)) => {
            Err(CountError::Replace {
                link: target.link.clone(),
                source,
            })
        }
        _ => Ok(()),
    }
}

fn load(
    target: &Target,
    place: CountingPlace,
    layer: Layer,
    counters: &CounterArray,
    classes: &[Counted],
    chosen: &[Chosen],
    groups: Option<&GroupTable>,
) -> Result<Program, CountError> {
    let options = CountingOptions {
        place,
        overhead: overhead(layer),
        counters: counters.as_fd(),
        groups: groups.map(|groups| (groups.field(), groups.as_fd())),
    };
    let classes: Vec<CountedClass<'_>> = (classes.iter().zip(chosen))
        .filter_map(|(counted, chosen)| {
            let filter = match chosen {
                Chosen::All => None,
                Chosen::These(filter) => Some(filter),
                Chosen::Nothing(_) => return None,
            };
            let slot = counted.slot;
            Some(CountedClass { slot, filter })
        })
        .collect();
    CountingProgram::load(NAME, &options, &classes).map_err(|error| refused(target, error))
}

/// A program of `place` that counts nothing and passes all packets on.
pub(super) fn idle(target: &Target, prepared: &Prepared) -> Result<Program, CountError> {
    let Prepared {
        counting, counters, ..
    } = prepared;
    load(target, *counting, Layer::Ethernet, counters, &[], &[], None)
}

fn refused(target: &Target, error: LoadError) -> CountError {
    CountError::Load {
        link: target.link.clone(),
        error,
    }
}

fn compile(
    target: &Target,
    counting: CountingPlace,
    counted: &Counted,
    warnings: &mut Vec<(String, Warning)>,
) -> Result<Chosen, CountError> {
    let Some(expression) = &counted.class.filter else {
        return Ok(Chosen::All);
    };
    let mut options = filter::Options::new(target.link_type);
    options.at = counting.filters_at();
    options.netmask = Some(target.netmask);
    let wrong = |error| wrong(target, counted, error);
    let filter = match Filter::new(&expression.text, &options, &*expression.names) {
        Err(error) if error.reason == FilterReason::RejectsAll => {
            return Ok(Chosen::Nothing(error));
        }
        filter => filter.map_err(wrong)?,
    };
    let name = &counted.class.name;
    warnings.extend((filter.warnings().iter()).map(|warning| (name.clone(), warning.clone())));
    let written = CountedFilter::write(&filter, counting).map_err(wrong)?;
    Ok(Chosen::These(written.with_maps(NAME)?))
}

fn wrong(target: &Target, counted: &Counted, error: FilterError) -> CountError {
    CountError::Filter {
        class: counted.class.name.clone(),
        link: target.link.clone(),
        link_type: target.link_type,
        error: Box::new(error),
    }
}

/// Refuses a class that has no packets at any place.
pub(super) fn refuse_empty<'c>(
    counted: &Counted,
    places: impl Iterator<Item = (&'c Lane, &'c Chosen)>,
) -> Result<(), CountError> {
    let mut refusal = Ok(());
    for (lane, chosen) in places {
        let Chosen::Nothing(error) = chosen else {
            return Ok(());
        };
        refusal = Err(wrong(&lane.target, counted, error.clone()));
    }
    refusal
}

fn overhead(layer: Layer) -> Overhead {
    match layer {
        Layer::Ethernet => Overhead::default(),
        Layer::EthernetFcs => Overhead {
            is_padded: true,
            bytes: 4,
        },
        Layer::Wire => Overhead {
            is_padded: true,
            bytes: 4 + 8 + 12,
        },
    }
}
