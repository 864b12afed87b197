//! The count itself: places, classes, totals.

use std::ops::ControlFlow;

use abi::bpf::wait_for_programs;
use abi::clock::monotonic_ns;
use filter::Warning;
use netlink::{Link, Netlink, Watch};

use super::attach::Plan;
use super::class::Class;
use super::classes::{Counted, Slots, check};
use super::error::CountError;
use super::groups::GroupTable;
use super::interval::{ClassTotals, Interval, Snapshot};
use super::lane::{Lane, refuse_empty};
use super::links::{CountedLink, Watched};
use super::options::{Direction, Options};
use super::outcome::{Ended, Outcome};
use super::place::{Place, Way};
use super::reading::{Bases, Reading};
use super::target::Target;
use super::waiting::{Event, Schedule};
use crate::stop::Stop;

/// An open count: the kernel counts until this is dropped or the process ends, however it ends.
pub struct Count {
    pub(super) lanes: Vec<Lane>,
    pub(super) classes: Vec<Counted>,
    slots: Slots,
    bases: Bases,
    groups: Option<GroupTable>,
    pub(super) watch: Watch<Link>,
    pub(super) netlink: Netlink,
    pub(super) links: Vec<Watched>,
    pub(super) schedule: Schedule,
    warnings: Vec<(String, Warning)>,
    /// The reading at the end of the last interval.
    last: Reading,
}

impl Count {
    /// Puts a program on every interface and direction of `options`.
    ///
    /// Filters are compiled and programs loaded before any is attached to an interface; once all are,
    /// they begin to count together. At tc the program comes before others, which may still drop a packet
    /// or change it (by clsact: behind them).
    ///
    /// # Errors
    /// [`CountError`] says which interface, which class and which step.
    /// # Privileges
    /// `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`.
    /// # Kernel
    /// Linux 5.9, in XDP with groups 5.18.
    pub fn open(mut options: Options) -> Result<Self, CountError> {
        options.check()?;
        check(&options.classes)?;
        let mut slots = Slots::new(options.classes.len());
        let classes: Result<Vec<Counted>, CountError> = std::mem::take(&mut options.classes)
            .into_iter()
            .map(|class| {
                let slot = slots.take()?;
                Ok(Counted { class, slot })
            })
            .collect();
        let classes = classes?;
        let groups = options
            .by
            .map(|key| GroupTable::create(key, options.groups));
        let groups = groups.transpose()?;
        let plan = Plan {
            options: &options,
            classes: &classes,
            slots: slots.most(),
            groups: groups.as_ref(),
        };
        // It follows from before the interfaces are looked up: a removal is not missed.
        let watch = Watch::open(Link::new())?;
        let mut netlink = Netlink::open()?;
        let mut lanes = attach_all(&plan, &mut netlink)?;
        for (number, counted) in classes.iter().enumerate() {
            let places = lanes.iter();
            refuse_empty(
                counted,
                places.map(|lane| (lane, &lane.prepared.chosen[number])),
            )?;
        }
        for lane in &mut lanes {
            lane.start()?;
        }
        let schedule = Schedule::new(monotonic_ns(), options.interval, options.duration);
        let mut count = Self {
            warnings: warnings(&lanes),
            links: watched(&lanes, schedule.start_ns),
            lanes,
            classes,
            slots,
            bases: Bases::new(),
            groups,
            watch,
            netlink,
            last: Reading::default(),
            schedule,
        };
        count.last.monotonic_ns = count.schedule.start_ns;
        Ok(count)
    }

    /// Where packets are counted: each interface in the order of the options, in before out.
    pub fn places(&self) -> impl ExactSizeIterator<Item = &Place> {
        self.lanes.iter().map(|lane| &lane.place)
    }

    /// The interfaces in the order of the options, as they were when last looked at: at every
    /// [`Count::next`].
    pub fn links(&self) -> impl ExactSizeIterator<Item = CountedLink> {
        self.links.iter().map(Watched::now)
    }

    /// What a reader of the filters may not expect of them, with the name of the class.
    pub fn warnings(&self) -> impl ExactSizeIterator<Item = (&str, &Warning)> {
        let warnings = self.warnings.iter();
        warnings.map(|(class, warning)| (class.as_str(), warning))
    }

    /// The classes, in their order.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = &Class> {
        self.classes.iter().map(|counted| &counted.class)
    }

    /// The totals at the end of the last interval.
    pub fn last_totals(&self) -> Snapshot {
        self.last.snapshot(&self.classes, self.schedule.start_ns)
    }

    /// The totals now. Does not touch the intervals. Cost: a system call for each place, and with groups
    /// one for 256 of them.
    ///
    /// # Errors
    /// [`CountError::Read`].
    pub fn read(&mut self) -> Result<Snapshot, CountError> {
        let reading = self.reading()?;
        Ok(reading.snapshot(&self.classes, self.schedule.start_ns))
    }

    /// Counts another class from now on; it comes last. No packet is missed by the others, or counted
    /// twice.
    ///
    /// # Errors
    /// [`CountError`]; all is as before then.
    pub fn add_class(&mut self, class: Class) -> Result<(), CountError> {
        if self.classes().any(|other| other.name == class.name) {
            return Err(CountError::ClassTwice { class: class.name });
        }
        let slot = self.slots.take()?;
        let added = self.add_counted(Counted { class, slot });
        if added.is_err() {
            self.slots.give_back(slot);
        }
        added
    }

    /// Counts the class called `name` no longer, and gives its last totals; what it counted since the
    /// last interval is in those only.
    ///
    /// # Errors
    /// As [`Count::add_class`].
    pub fn remove_class(&mut self, name: &str) -> Result<ClassTotals, CountError> {
        let position = self.classes().position(|class| class.name == name);
        let Some(position) = position else {
            let class = name.to_owned();
            return Err(CountError::NoClass { class });
        };
        let mut classes = self.classes.clone();
        let removed = classes.remove(position);
        let mut chosen = Vec::with_capacity(self.lanes.len());
        for lane in &mut self.lanes {
            chosen.push(lane.prepared.chosen.remove(position));
        }
        let changed = self.change(&classes);
        let has_changed = changed.is_ok();
        let is_quiet = has_changed && wait_for_programs().is_ok();
        let reading = match changed.and_then(|()| self.reading()) {
            Ok(reading) => reading,
            Err(error) => {
                for (lane, chosen) in self.lanes.iter_mut().zip(chosen) {
                    lane.prepared.chosen.insert(position, chosen);
                }
                if has_changed {
                    self.change(&self.classes.clone())?;
                }
                return Err(error);
            }
        };
        let totals = reading.snapshot(std::slice::from_ref(&removed), self.schedule.start_ns);
        self.classes = classes;
        self.bases.remove(&removed.slot.serial);
        self.warnings.retain(|(class, _)| class != name);
        if let Some(groups) = &mut self.groups {
            // What is not taken out belongs to no class and only takes room.
            let _ = groups.remove(removed.slot.serial);
        }
        if is_quiet {
            self.slots.give_back(removed.slot);
        }
        Ok(totals.classes.into_iter().next().unwrap_or_default())
    }

    /// Gives every interval to `take` until that breaks, or the time is over, or `stop` says so, or
    /// an interface is removed; one that goes down ends nothing ([`Count::links`]). The last interval
    /// comes too. `take` may change the classes.
    ///
    /// # Errors
    /// [`CountError::Read`].
    pub fn run<F>(&mut self, stop: &Stop, mut take: F) -> Result<Outcome, CountError>
    where
        F: FnMut(&mut Self, &Interval) -> ControlFlow<()>,
    {
        let ended = loop {
            match self.next(stop) {
                Event::Interval(interval) => {
                    if take(self, &interval).is_break() {
                        break Ended::Taker;
                    }
                }
                Event::Link(_) => {}
                Event::Ended { ended, last } => {
                    if let Some(last) = last {
                        let _ = take(self, &last);
                    }
                    break ended;
                }
            }
        };
        Ok(Outcome {
            ended,
            totals: self.last_totals(),
        })
    }
}

impl Count {
    fn reading(&mut self) -> Result<Reading, CountError> {
        let groups = self.groups.as_mut();
        Reading::take(&self.lanes, &self.classes, &self.bases, groups)
    }

    /// What was counted since the last interval, which ends now.
    pub(super) fn interval(&mut self) -> Result<Interval, CountError> {
        let reading = self.reading()?;
        let interval = reading.since(&self.last, &self.classes);
        self.last = reading;
        Ok(interval)
    }

    fn add_counted(&mut self, counted: Counted) -> Result<(), CountError> {
        let mut bases = Vec::with_capacity(self.lanes.len());
        let mut all_chosen = Vec::with_capacity(self.lanes.len());
        let mut warnings = Vec::new();
        for lane in &self.lanes {
            bases.push(lane.read()?.of(counted.slot));
            all_chosen.push(lane.compile(&counted, &mut warnings)?);
        }
        refuse_empty(&counted, self.lanes.iter().zip(&all_chosen))?;
        for (lane, chosen) in self.lanes.iter_mut().zip(all_chosen) {
            lane.prepared.chosen.push(chosen);
        }
        let serial = counted.slot.serial;
        let mut classes = self.classes.clone();
        classes.push(counted);
        if let Err(error) = self.change(&classes) {
            for lane in &mut self.lanes {
                lane.prepared.chosen.pop();
            }
            return Err(error);
        }
        self.classes = classes;
        self.bases.insert(serial, bases);
        note(&mut self.warnings, &warnings);
        Ok(())
    }

    /// Puts programs for `classes` in the place of the present ones, everywhere or nowhere.
    fn change(&mut self, classes: &[Counted]) -> Result<(), CountError> {
        let groups = self.groups.as_ref();
        let programs: Result<Vec<_>, CountError> = (self.lanes.iter())
            .map(|lane| lane.load(classes, &lane.prepared.chosen, groups))
            .collect();
        let programs = programs?;
        let mut replaced = Vec::with_capacity(programs.len());
        for (lane, program) in self.lanes.iter_mut().zip(programs) {
            match lane.replace(program) {
                Ok(before) => replaced.push(before),
                Err(error) => {
                    for (lane, before) in self.lanes.iter_mut().zip(replaced) {
                        lane.replace(before)?;
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

fn attach_all(plan: &Plan<'_>, netlink: &mut Netlink) -> Result<Vec<Lane>, CountError> {
    let Options {
        links,
        layer,
        direction,
        ..
    } = plan.options;
    let ways: &[Way] = match direction {
        Direction::In => &[Way::In],
        Direction::Out => &[Way::Out],
        Direction::Both => &[Way::In, Way::Out],
    };
    let mut lanes = Vec::with_capacity(links.len() * ways.len());
    for link in links {
        for &way in ways {
            let target = Target::find(link, *layer, netlink)?;
            lanes.push(plan.attach(target, way)?);
        }
    }
    Ok(lanes)
}

/// Each interface once.
fn watched(lanes: &[Lane], now_ns: u64) -> Vec<Watched> {
    let places = lanes.chunk_by(|a, b| a.place.index == b.place.index);
    let watched = places.map(|lanes| {
        let Place { link, index, .. } = &lanes[0].place;
        Watched::new(link.clone(), *index, now_ns)
    });
    watched.collect()
}

/// The warnings of all filters.
fn warnings(lanes: &[Lane]) -> Vec<(String, Warning)> {
    let mut all = Vec::new();
    for lane in lanes {
        note(&mut all, &lane.prepared.warnings);
    }
    all
}

/// Adds those that are new.
fn note(all: &mut Vec<(String, Warning)>, more: &[(String, Warning)]) {
    for warning in more {
        if !all.contains(warning) {
            all.push(warning.clone());
        }
    }
}
