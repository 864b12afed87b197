//! The counting program of one interface and direction, and its counters.

use super::classes::{ActiveClass, NAME};
use super::error::CountError;
use super::figures::Traffic;
use super::groups::GroupTable;
use super::options::CountLayer;
use super::point::CountPoint;
use crate::capture::netmask;
use bpf::count::{
    COUNTERS_PER_SLOT, ClassSlot, CountedClass, CountedFilter, CounterArray, CountingHook,
    CountingOptions, CountingProgram, Overhead, StreamTable,
};
use bpf::{LoadError, TcLink, XdpLink};
use filter::LinkType;
use filter::{Filter, FilterError, FilterErrorReason, FilterWarning};
use netlink::Netlink;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;

/// Keeps a program attached until it is dropped.
pub(super) enum Attachment {
    Xdp(XdpLink),
    Tc(TcLink),
}

impl Attachment {
    fn replace(&mut self, counting: &CountingProgram) -> io::Result<()> {
        match self {
            Self::Xdp(link) => link.replace(counting.program()),
            Self::Tc(link) => link.replace(counting.program()),
        }
    }
}

/// The kernel's tables that all points share.
#[derive(Clone, Copy, Default)]
pub(super) struct SharedTables<'a> {
    pub groups: Option<&'a GroupTable>,
    pub streams: Option<&'a StreamTable>,
}

/// A loaded counting program and its counters; not attached yet.
pub(super) struct LoadedProgram {
    pub counting: CountingHook,
    pub counters: CounterArray,
    /// The filter of each class, in the order of the classes.
    pub filters: Vec<ClassFilter>,
    /// Filter warnings, with the name of the class.
    pub warnings: Vec<(String, FilterWarning)>,
    pub program: CountingProgram,
}

/// The filter of a class at one point.
pub(super) enum ClassFilter {
    All,
    Matching(CountedFilter),
    /// The filter matches no packet here, for example `outbound` at ingress.
    Never(FilterError),
}

impl ClassFilter {
    pub fn reads_vlan_tag(&self) -> bool {
        matches!(self, Self::Matching(filter) if filter.reads_vlan_tag())
    }
}

/// One interface and direction, with its program and counters.
pub(super) struct PointCounter {
    pub point: CountPoint,
    pub target: CountedInterface,
    pub layer: CountLayer,
    pub loaded: LoadedProgram,
    pub attachment: Attachment,
    /// Whether XDP was chosen because no class reads the VLAN tags that it does not see.
    pub hides_tags: bool,
}

/// The counters of a class, at one point or in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassCounters {
    pub all: Traffic,
    pub other: Traffic,
    pub without_key: Traffic,
}

/// The counter values of a point.
pub(super) struct CounterValues(Vec<u64>);

impl CounterValues {
    pub fn of(&self, slot: ClassSlot) -> ClassCounters {
        let first = usize::from(slot.number) * COUNTERS_PER_SLOT as usize;
        let traffic = |at: usize| Traffic {
            packets: self.0.get(first + at).copied().unwrap_or(0),
            bytes: self.0.get(first + at + 1).copied().unwrap_or(0),
        };
        ClassCounters {
            all: traffic(0),
            other: traffic(2),
            without_key: traffic(4),
        }
    }
}

impl std::ops::Sub for ClassCounters {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            all: self.all - other.all,
            other: self.other - other.other,
            without_key: self.without_key - other.without_key,
        }
    }
}

impl std::ops::AddAssign for ClassCounters {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.other += other.other;
        self.without_key += other.without_key;
    }
}

impl LoadedProgram {
    /// Compiles the filters of `classes` and loads the program.
    pub fn new(
        target: &CountedInterface,
        counting: CountingHook,
        layer: CountLayer,
        classes: &[ActiveClass],
        slots: u32,
        tables: SharedTables<'_>,
    ) -> Result<Self, CountError> {
        let counters = CounterArray::create(NAME, slots * COUNTERS_PER_SLOT)?;
        let mut filters = Vec::with_capacity(classes.len());
        let mut warnings = Vec::new();
        for active in classes {
            filters.push(compile(target, counting, active, &mut warnings)?);
        }
        let program = load(
            target, counting, layer, &counters, classes, &filters, tables,
        )?;
        Ok(Self {
            counting,
            counters,
            filters,
            warnings,
            program,
        })
    }
}

impl PointCounter {
    /// Loads a program that counts `classes` by `filters`.
    pub fn load(
        &self,
        classes: &[ActiveClass],
        filters: &[ClassFilter],
        tables: SharedTables<'_>,
    ) -> Result<CountingProgram, CountError> {
        let LoadedProgram {
            counting, counters, ..
        } = &self.loaded;
        load(
            &self.target,
            *counting,
            self.layer,
            counters,
            classes,
            filters,
            tables,
        )
    }

    /// Compiles the filter of a class for this point.
    pub fn compile(
        &self,
        active: &ActiveClass,
        warnings: &mut Vec<(String, FilterWarning)>,
    ) -> Result<ClassFilter, CountError> {
        let filters = compile(&self.target, self.loaded.counting, active, warnings)?;
        if self.hides_tags && filters.reads_vlan_tag() {
            return Err(CountError::VlanStripped {
                class: active.class.name.clone(),
                link: self.target.link.clone(),
            });
        }
        Ok(filters)
    }

    /// Replaces the attached program, and returns the previous one.
    pub fn replace(&mut self, program: CountingProgram) -> Result<CountingProgram, CountError> {
        replace(&mut self.attachment, &program, &self.target)?;
        Ok(std::mem::replace(&mut self.loaded.program, program))
    }

    /// Replaces the idle program by the counting one.
    pub fn start(&mut self) -> Result<(), CountError> {
        replace(&mut self.attachment, &self.loaded.program, &self.target)
    }

    pub fn read(&self) -> Result<CounterValues, CountError> {
        let counters = self.loaded.counters.read();
        counters
            .map(CounterValues)
            .map_err(|source| CountError::Read { source })
    }
}

/// Replaces a program; does nothing if the interface is gone.
fn replace(
    attachment: &mut Attachment,
    program: &CountingProgram,
    target: &CountedInterface,
) -> Result<(), CountError> {
    match attachment.replace(program) {
        Err(source) if !matches!(source.raw_os_error(), Some(libc::ENOLINK | libc::ENODEV)) => {
            Err(CountError::Replace {
                link: target.link.clone(),
                source,
            })
        }
        _ => Ok(()),
    }
}

fn load(
    target: &CountedInterface,
    place: CountingHook,
    layer: CountLayer,
    counters: &CounterArray,
    classes: &[ActiveClass],
    filters: &[ClassFilter],
    tables: SharedTables<'_>,
) -> Result<CountingProgram, CountError> {
    let options = CountingOptions {
        place,
        overhead: overhead(layer),
        counters: counters.as_fd(),
        groups: (tables.groups).map(|groups| (groups.field(), groups.as_fd())),
        streams: tables.streams.map(StreamTable::maps),
    };
    let classes: Vec<CountedClass<'_>> = (classes.iter().zip(filters))
        .filter_map(|(active, filters)| {
            let filter = match filters {
                ClassFilter::All => None,
                ClassFilter::Matching(filter) => Some(filter),
                ClassFilter::Never(_) => return None,
            };
            let slot = active.slot;
            Some(CountedClass { slot, filter })
        })
        .collect();
    CountingProgram::load(NAME, &options, &classes).map_err(|error| refused(target, error))
}

/// Loads a program that counts nothing and passes all packets.
pub(super) fn idle(
    target: &CountedInterface,
    loaded: &LoadedProgram,
) -> Result<CountingProgram, CountError> {
    let LoadedProgram {
        counting, counters, ..
    } = loaded;
    load(
        target,
        *counting,
        CountLayer::Ethernet,
        counters,
        &[],
        &[],
        SharedTables::default(),
    )
}

fn refused(target: &CountedInterface, error: LoadError) -> CountError {
    CountError::Load {
        link: target.link.clone(),
        error,
    }
}

fn compile(
    target: &CountedInterface,
    counting: CountingHook,
    active: &ActiveClass,
    warnings: &mut Vec<(String, FilterWarning)>,
) -> Result<ClassFilter, CountError> {
    let expression = match &active.class.filter {
        None => return Ok(ClassFilter::All),
        Some(crate::Filter::Expression(expression)) if expression.text.trim().is_empty() => {
            return Ok(ClassFilter::All);
        }
        Some(crate::Filter::Expression(expression)) => expression,
        Some(crate::Filter::Program(_)) => {
            let class = active.class.name.clone();
            return Err(CountError::ProgramFilter { class });
        }
    };
    let mut options = filter::FilterOptions::new(target.link_type);
    options.target = counting.filters_at();
    options.netmask = Some(target.netmask);
    let wrong = |error| wrong(target, active, error);
    let filter = match Filter::new(&expression.text, &options, &*expression.names) {
        Err(error) if error.reason == FilterErrorReason::RejectsAll => {
            return Ok(ClassFilter::Never(error));
        }
        filter => filter.map_err(wrong)?,
    };
    let name = &active.class.name;
    warnings.extend((filter.warnings().iter()).map(|warning| (name.clone(), warning.clone())));
    let written = CountedFilter::write(&filter, counting).map_err(wrong)?;
    Ok(ClassFilter::Matching(written.with_maps(NAME)?))
}

fn wrong(target: &CountedInterface, active: &ActiveClass, error: FilterError) -> CountError {
    CountError::Filter {
        class: active.class.name.clone(),
        link: target.link.clone(),
        link_type: target.link_type,
        error: Box::new(error),
    }
}

/// Rejects a class whose filter matches no packet at any point.
pub(super) fn reject_empty<'c>(
    active: &ActiveClass,
    points: impl Iterator<Item = (&'c PointCounter, &'c ClassFilter)>,
) -> Result<(), CountError> {
    let mut refusal = Ok(());
    for (counter, filters) in points {
        let ClassFilter::Never(error) = filters else {
            return Ok(());
        };
        refusal = Err(wrong(&counter.target, active, error.clone()));
    }
    refusal
}

fn overhead(layer: CountLayer) -> Overhead {
    match layer {
        CountLayer::Ethernet => Overhead::default(),
        CountLayer::EthernetFcs => Overhead {
            is_padded: true,
            bytes: 4,
        },
        CountLayer::Wire => Overhead {
            is_padded: true,
            bytes: 4 + 8 + 12,
        },
    }
}

/// An interface to count on, as netlink describes it.
pub(super) struct CountedInterface {
    pub link: String,
    pub index: u32,
    pub link_type: LinkType,
    pub netmask: Ipv4Addr,
    /// Whether the interface strips VLAN tags before XDP.
    pub strips_tags: bool,
}

impl CountedInterface {
    pub fn find(name: &str, layer: CountLayer, netlink: &mut Netlink) -> Result<Self, CountError> {
        let link = netlink.link_named(name)?;
        let number = ring::link_type(link.hardware.unwrap_or_default());
        let link_type = number.map(LinkType::from_number);
        let known = link_type
            .filter(|&link_type| layer == CountLayer::Ethernet || link_type == LinkType::Ethernet);
        let Some(link_type) = known else {
            return Err(CountError::LinkLayer {
                link: name.to_owned(),
                hatype: link.hardware.unwrap_or_default(),
                is_known: link_type.is_some(),
            });
        };
        Ok(Self {
            link: name.to_owned(),
            index: link.ifindex().0,
            link_type,
            netmask: netmask(&link, netlink)?,
            // An interface that does not report the feature does not have it.
            strips_tags: netlink.strips_vlan_tags(link.ifname()).unwrap_or(false),
        })
    }

    pub fn is_ethernet(&self) -> bool {
        self.link_type == LinkType::Ethernet
    }
}
