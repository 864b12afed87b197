//! The count itself: its classes, its totals, and waiting for the next event.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use abi::bpf::wait_for_programs;
use abi::clock::monotonic_ns;
use bpf::count::StreamTable;
use filter::FilterWarning;
use netlink::{Event as LinkEvent, IfIndex, Link, Netlink, Watch};

use super::attach::AttachPlan;
use super::classes::{ActiveClass, NAME, Slots, check};
use super::error::CountError;
use super::figures::{ClassTotals, CountEnd, CountInterval, CountSummary, CountTotals};
use super::groups::GroupTable;
use super::links::{CountedLink, LinkMonitor, LinkState};
use super::options::{CountClass, CountDirection, CountOptions};
use super::point::{CountPoint, PacketDirection};
use super::point_counter::{CountedInterface, PointCounter, SharedTables, reject_empty};
use super::schedule::{Schedule, WakeUp, is_readable, nanoseconds};
use super::snapshot::{Baselines, CounterSnapshot};
use super::streams::StreamTotals;
use crate::stop::{Stop, Stopper};

/// Maximum number of link events that are read before the clock is checked again: more than a socket holds.
const MAX_LINK_EVENTS: usize = 1 << 16;

/// What [`Count::next_event`] returns.
#[derive(Debug)]
#[non_exhaustive]
pub enum CountEvent {
    /// An interval has ended. The last one of a count may be shorter.
    Interval(CountInterval),
    /// An interface went down, lost its carrier, or came up again. The count continues.
    Link(CountedLink),
}

/// A running count. The kernel counts until this is dropped or the process ends.
///
/// `AsFd` gives a descriptor for event loops. When it is readable, call [`Count::next_event_timeout`] with a
/// timeout of zero until it returns `None`. It stays readable when the count has ended.
pub struct Count {
    counters: Vec<PointCounter>,
    classes: Vec<ActiveClass>,
    slots: Slots,
    baselines: Baselines,
    groups: Option<GroupTable>,
    streams: Option<StreamTable>,
    watch: Watch<Link>,
    netlink: Netlink,
    links: Vec<LinkMonitor>,
    schedule: Schedule,
    warnings: Vec<(String, FilterWarning)>,
    /// The snapshot at the end of the last interval.
    last: CounterSnapshot,
    stop: Stop,
    wake_up: WakeUp,
    /// What ends the count, until the last interval could be read.
    ending: Option<CountEnd>,
    end: Option<CountEnd>,
}

impl Count {
    /// Attaches a program to every interface and direction of `options`.
    ///
    /// All filters are compiled and all programs loaded before the first one is attached; once all are
    /// attached, they start to count together. At tc the program runs before others, which may still drop
    /// or change a packet (with clsact: after them).
    ///
    /// # Errors
    /// [`CountError`] has the interface, the class and the failed step.
    /// # Privileges
    /// `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`.
    /// # Kernel
    /// Linux 5.9; XDP with groups 5.18.
    pub fn open(options: CountOptions) -> Result<Self, CountError> {
        let stop = Stop::new().map_err(|source| CountError::Wait { source })?;
        Self::open_with_stop(options, stop)
    }

    /// The same as [`Count::open`], with an existing stop request.
    ///
    /// # Errors
    /// As [`Count::open`].
    pub fn open_with_stop(mut options: CountOptions, stop: Stop) -> Result<Self, CountError> {
        options.check()?;
        check(&options.classes)?;
        let mut slots = Slots::new(options.classes.len());
        let classes: Result<Vec<ActiveClass>, CountError> = std::mem::take(&mut options.classes)
            .into_iter()
            .map(|class| {
                let slot = slots.take()?;
                Ok(ActiveClass { class, slot })
            })
            .collect();
        let classes = classes?;
        let groups = options
            .by
            .map(|key| GroupTable::create(key, options.groups));
        let groups = groups.transpose()?;
        let streams = options.streams.then(|| StreamTable::create(NAME));
        let streams = streams.transpose()?;
        let plan = AttachPlan {
            options: &options,
            classes: &classes,
            slots: slots.capacity(),
            tables: SharedTables {
                groups: groups.as_ref(),
                streams: streams.as_ref(),
            },
        };
        // Subscribe before the interfaces are looked up, so that no removal is missed.
        let watch = Watch::open(Link::new())?;
        let mut netlink = Netlink::open()?;
        let mut counters = attach_all(&plan, &mut netlink)?;
        for (number, active) in classes.iter().enumerate() {
            let points = counters.iter();
            reject_empty(
                active,
                points.map(|counter| (counter, &counter.loaded.filters[number])),
            )?;
        }
        let wake_up = WakeUp::new(&[stop.as_fd(), watch.as_fd()])
            .map_err(|source| CountError::Wait { source })?;
        for counter in &mut counters {
            counter.start()?;
        }
        let schedule = Schedule::new(monotonic_ns(), options.interval, options.duration);
        let mut count = Self {
            warnings: warnings(&counters),
            links: monitored_links(&counters, schedule.start_ns),
            counters,
            classes,
            slots,
            baselines: Baselines::new(),
            groups,
            streams,
            watch,
            netlink,
            last: CounterSnapshot::default(),
            schedule,
            stop,
            wake_up,
            ending: None,
            end: None,
        };
        count.last.monotonic_ns = count.schedule.start_ns;
        count.arm()?;
        Ok(count)
    }

    /// The points where packets are counted: each interface in the order of the options, ingress first.
    pub fn points(&self) -> impl ExactSizeIterator<Item = &CountPoint> {
        self.counters.iter().map(|counter| &counter.point)
    }

    /// The interfaces in the order of the options, with their state at the last [`Count::next`].
    pub fn links(&self) -> impl ExactSizeIterator<Item = CountedLink> {
        self.links.iter().map(LinkMonitor::now)
    }

    /// Warnings about filters, with the name of the class.
    pub fn warnings(&self) -> impl ExactSizeIterator<Item = (&str, &FilterWarning)> {
        let warnings = self.warnings.iter();
        warnings.map(|(class, warning)| (class.as_str(), warning))
    }

    /// The classes, in their order.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = &CountClass> {
        self.classes.iter().map(|active| &active.class)
    }

    /// A handle that ends the count from another thread or a signal handler.
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper()
    }

    /// The totals at the end of the last interval.
    pub fn last_totals(&self) -> CountTotals {
        self.last.totals(&self.classes, self.schedule.start_ns)
    }

    /// The current totals. Does not affect the intervals. Cost: a system call for each point, and with
    /// groups one for each 256 groups.
    ///
    /// # Errors
    /// [`CountError::Read`].
    pub fn read(&mut self) -> Result<CountTotals, CountError> {
        let snapshot = self.snapshot()?;
        Ok(snapshot.totals(&self.classes, self.schedule.start_ns))
    }

    /// What has become of the stamped packets so far. Empty without [`CountOptions::streams`]. Cost: two system calls and a copy
    /// of 69 KiB for each stream.
    ///
    /// # Errors
    /// [`CountError::Read`].
    pub fn streams(&self) -> Result<StreamTotals, CountError> {
        let Some(table) = &self.streams else {
            return Ok(StreamTotals::default());
        };
        let read = table.set_clock().and_then(|()| table.read());
        let (records, others) = read.map_err(|source| CountError::Read { source })?;
        Ok(StreamTotals::of_records(&records, others))
    }

    /// Waits for the end of the interval. Returns `None` if the count has ended, after its last interval.
    ///
    /// If the caller is late, the interval is longer: no packet is missed or counted twice. An interface
    /// that goes down does not end the count; one that is removed does.
    ///
    /// # Errors
    /// [`CountError::Read`] and [`CountError::Wait`]. The next interval has the packets of one that could not be read, also at
    /// the end of the count.
    #[expect(
        clippy::should_implement_trait,
        reason = "all jobs have this name; an iterator could not return errors as well"
    )]
    pub fn next(&mut self) -> Result<Option<CountInterval>, CountError> {
        loop {
            match self.next_event()? {
                Some(CountEvent::Interval(interval)) => return Ok(Some(interval)),
                Some(CountEvent::Link(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// The same as [`Count::next`], but also returns when an interface goes down or comes up. Interfaces
    /// that are not up at the start are reported first.
    ///
    /// # Errors
    /// As [`Count::next`].
    pub fn next_event(&mut self) -> Result<Option<CountEvent>, CountError> {
        self.wait_for_event(None)
    }

    /// The same as [`Count::next_event`], but waits at most for `timeout`. `None` if nothing happened; see
    /// [`Count::has_ended`].
    ///
    /// # Errors
    /// As [`Count::next`].
    pub fn next_event_timeout(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<CountEvent>, CountError> {
        self.wait_for_event(Some(monotonic_ns().saturating_add(nanoseconds(timeout))))
    }

    /// Whether the count has ended.
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Ends the current interval now. The next one ends at its usual time.
    ///
    /// # Errors
    /// [`CountError::Read`].
    pub fn end_interval(&mut self) -> Result<CountInterval, CountError> {
        let snapshot = self.snapshot()?;
        let interval = snapshot.since(&self.last, &self.classes);
        self.last = snapshot;
        Ok(interval)
    }

    /// Passes every interval to `consume` until it breaks or the count ends. `consume` may change the classes.
    ///
    /// # Errors
    /// As [`Count::next`].
    pub fn run<F>(mut self, mut consume: F) -> Result<CountSummary, CountError>
    where
        F: FnMut(&mut Self, &CountInterval) -> ControlFlow<()>,
    {
        while let Some(interval) = self.next()? {
            if consume(&mut self, &interval).is_break() {
                self.end.get_or_insert(CountEnd::Consumer);
                break;
            }
        }
        self.finish()
    }

    /// Detaches the programs and returns the summary. If the count has not ended yet, ends the interval.
    ///
    /// # Errors
    /// [`CountError::Read`].
    pub fn finish(mut self) -> Result<CountSummary, CountError> {
        let end = if let Some(end) = self.end.take() {
            end
        } else {
            self.end_interval()?;
            self.ending.take().unwrap_or(CountEnd::Finished)
        };
        Ok(CountSummary {
            end,
            totals: self.last_totals(),
        })
    }

    /// Adds a class, which comes last. The other classes miss no packet and count none twice.
    ///
    /// # Errors
    /// [`CountError`]; the count is unchanged then.
    pub fn add_class(&mut self, class: CountClass) -> Result<(), CountError> {
        if self.classes().any(|other| other.name == class.name) {
            return Err(CountError::DuplicateClass { class: class.name });
        }
        let slot = self.slots.take()?;
        let added = self.add_counted(ActiveClass { class, slot });
        if added.is_err() {
            self.slots.give_back(slot);
        }
        added
    }

    /// Removes the class `name` and returns its final totals. They include the packets counted since
    /// the last interval, which no interval reports.
    ///
    /// # Errors
    /// As [`Count::add_class`].
    pub fn remove_class(&mut self, name: &str) -> Result<ClassTotals, CountError> {
        let position = self.classes().position(|class| class.name == name);
        let Some(position) = position else {
            let class = name.to_owned();
            return Err(CountError::UnknownClass { class });
        };
        let mut classes = self.classes.clone();
        let removed = classes.remove(position);
        let mut filters = Vec::with_capacity(self.counters.len());
        for counter in &mut self.counters {
            filters.push(counter.loaded.filters.remove(position));
        }
        let changed = self.change(&classes);
        let has_changed = changed.is_ok();
        let is_quiet = has_changed && wait_for_programs().is_ok();
        let snapshot = match changed.and_then(|()| self.snapshot()) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                for (counter, filters) in self.counters.iter_mut().zip(filters) {
                    counter.loaded.filters.insert(position, filters);
                }
                if has_changed {
                    self.change(&self.classes.clone())?;
                }
                return Err(error);
            }
        };
        let totals = snapshot.totals(std::slice::from_ref(&removed), self.schedule.start_ns);
        self.classes = classes;
        self.baselines.remove(&removed.slot.serial);
        self.warnings.retain(|(class, _)| class != name);
        if let Some(groups) = &mut self.groups {
            // Groups that cannot be removed belong to no class, and only waste space.
            let _ = groups.remove(removed.slot.serial);
        }
        if is_quiet {
            self.slots.give_back(removed.slot);
        }
        Ok(totals.classes.into_iter().next().unwrap_or_default())
    }
}

impl AsFd for Count {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake_up.as_fd()
    }
}

impl Count {
    fn wait_for_event(
        &mut self,
        deadline_ns: Option<u64>,
    ) -> Result<Option<CountEvent>, CountError> {
        let cannot_wait = |source| CountError::Wait { source };
        while self.end.is_none() {
            if let Some(end) = self.ending.take() {
                return self.end(end);
            }
            match self.link_update() {
                Some(LinkUpdate::Removed(link)) => return self.end(CountEnd::LinkRemoved { link }),
                Some(LinkUpdate::Changed(link)) => return Ok(Some(CountEvent::Link(link))),
                None => {}
            }
            if is_readable(&self.stop).map_err(cannot_wait)? {
                return self.end(CountEnd::Stopped);
            }
            let now_ns = monotonic_ns();
            if now_ns >= self.schedule.end_ns {
                return self.end(CountEnd::Duration);
            }
            if now_ns >= self.schedule.next_ns {
                self.schedule.advance(now_ns);
                self.arm()?;
                return Ok(Some(CountEvent::Interval(self.end_interval()?)));
            }
            let left_ns = deadline_ns.map(|deadline_ns| deadline_ns.saturating_sub(now_ns));
            if left_ns == Some(0) {
                return Ok(None);
            }
            self.wake_up.wait(left_ns).map_err(cannot_wait)?;
        }
        Ok(None)
    }

    /// Ends the count with its last interval. If that cannot be read, the next call tries again.
    fn end(&mut self, end: CountEnd) -> Result<Option<CountEvent>, CountError> {
        self.ending = Some(end);
        // The descriptor stays readable: an event loop learns of the end after the last interval.
        let armed = self.wake_up.arm(0);
        armed.map_err(|source| CountError::Wait { source })?;
        let interval = self.end_interval()?;
        self.end = self.ending.take();
        Ok(Some(CountEvent::Interval(interval)))
    }

    fn arm(&self) -> Result<(), CountError> {
        let armed = self.wake_up.arm(self.schedule.due_ns());
        armed.map_err(|source| CountError::Wait { source })
    }

    fn snapshot(&mut self) -> Result<CounterSnapshot, CountError> {
        let groups = self.groups.as_mut();
        CounterSnapshot::take(&self.counters, &self.classes, &self.baselines, groups)
    }

    fn add_counted(&mut self, active: ActiveClass) -> Result<(), CountError> {
        let mut baselines = Vec::with_capacity(self.counters.len());
        let mut all_filters = Vec::with_capacity(self.counters.len());
        let mut warnings = Vec::new();
        for counter in &self.counters {
            baselines.push(counter.read()?.of(active.slot));
            all_filters.push(counter.compile(&active, &mut warnings)?);
        }
        reject_empty(&active, self.counters.iter().zip(&all_filters))?;
        for (counter, filters) in self.counters.iter_mut().zip(all_filters) {
            counter.loaded.filters.push(filters);
        }
        let serial = active.slot.serial;
        let mut classes = self.classes.clone();
        classes.push(active);
        if let Err(error) = self.change(&classes) {
            for counter in &mut self.counters {
                counter.loaded.filters.pop();
            }
            return Err(error);
        }
        self.classes = classes;
        self.baselines.insert(serial, baselines);
        note(&mut self.warnings, &warnings);
        Ok(())
    }

    /// Replaces the programs at all points by programs for `classes`, or at none.
    fn change(&mut self, classes: &[ActiveClass]) -> Result<(), CountError> {
        let tables = SharedTables {
            groups: self.groups.as_ref(),
            streams: self.streams.as_ref(),
        };
        let programs: Result<Vec<_>, CountError> = (self.counters.iter())
            .map(|counter| counter.load(classes, &counter.loaded.filters, tables))
            .collect();
        let programs = programs?;
        let mut replaced = Vec::with_capacity(programs.len());
        for (counter, program) in self.counters.iter_mut().zip(programs) {
            match counter.replace(program) {
                Ok(before) => replaced.push(before),
                Err(error) => {
                    for (counter, before) in self.counters.iter_mut().zip(replaced) {
                        counter.replace(before)?;
                    }
                    return Err(error);
                }
            }
        }
        // A packet may still be between two programs of a chain, which ends where it is freed.
        if replaced.iter().any(|before| before.program_count() > 1) {
            let _ = wait_for_programs();
        }
        Ok(())
    }

    /// Whether an interface that went down is being removed. The kernel sends both notifications
    /// under a lock (`rtnl_mutex`) for which this request waits: after the answer, the removal can
    /// be read.
    ///
    /// # Source
    /// `unregister_netdevice_many_notify`, net/core/dev.c; `rtnl_getlink`, net/core/rtnetlink.c.
    fn is_leaving(&mut self, index: IfIndex) -> bool {
        let answer = self.netlink.link(index);
        answer.is_err_and(|error| error.errno() == Some(libc::ENODEV))
    }

    /// The next relevant link event.
    fn link_update(&mut self) -> Option<LinkUpdate> {
        for _ in 0..MAX_LINK_EVENTS {
            // Ignore a notification that cannot be read: the next one updates the state.
            let Ok(event) = self.watch.try_next() else {
                continue;
            };
            match event? {
                LinkEvent::Removed(link) => {
                    let mut points = self.points();
                    if let Some(point) = points.find(|point| point.index == link.ifindex().0) {
                        return Some(LinkUpdate::Removed(point.link.clone()));
                    }
                }
                LinkEvent::Added(link) | LinkEvent::Changed { after: link, .. } => {
                    let state = LinkState::of(&link);
                    let number = self.links.iter().position(|monitor| monitor.is_news(&link));
                    if let Some(number) = number
                        && !(state == LinkState::Down && self.is_leaving(link.ifindex()))
                    {
                        return Some(LinkUpdate::Changed(self.links[number].note(state)));
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// A relevant link event.
enum LinkUpdate {
    /// The interface with this name was removed.
    Removed(String),
    Changed(CountedLink),
}

fn attach_all(
    plan: &AttachPlan<'_>,
    netlink: &mut Netlink,
) -> Result<Vec<PointCounter>, CountError> {
    let CountOptions {
        interfaces,
        layer,
        direction,
        ..
    } = plan.options;
    let directions: &[PacketDirection] = match direction {
        CountDirection::In => &[PacketDirection::In],
        CountDirection::Out => &[PacketDirection::Out],
        CountDirection::Both => &[PacketDirection::In, PacketDirection::Out],
    };
    let mut counters = Vec::with_capacity(interfaces.len() * directions.len());
    for link in interfaces {
        for &direction in directions {
            let target = CountedInterface::find(link, *layer, netlink)?;
            counters.push(plan.attach(target, direction)?);
        }
    }
    Ok(counters)
}

/// The interfaces, without duplicates.
fn monitored_links(counters: &[PointCounter], now_ns: u64) -> Vec<LinkMonitor> {
    let points = counters.chunk_by(|a, b| a.point.index == b.point.index);
    let monitors = points.map(|counters| {
        let CountPoint { link, index, .. } = &counters[0].point;
        LinkMonitor::new(link.clone(), *index, now_ns)
    });
    monitors.collect()
}

/// The warnings about all filters, without duplicates.
fn warnings(counters: &[PointCounter]) -> Vec<(String, FilterWarning)> {
    let mut all = Vec::new();
    for counter in counters {
        note(&mut all, &counter.loaded.warnings);
    }
    all
}

/// Adds new warnings.
fn note(all: &mut Vec<(String, FilterWarning)>, more: &[(String, FilterWarning)]) {
    for warning in more {
        if !all.contains(warning) {
            all.push(warning.clone());
        }
    }
}
