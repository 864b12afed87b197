//! Carries out changes of a running capture beside its readers.

use std::time::Duration;

use bpf::UnmatchedAction;
use ring::RingOpenError;

use super::super::account::interface_filter::hand_over_counting;
use super::super::error::CaptureError;
use super::super::plan::mode::Mode;
use super::super::plan::options::CaptureOptions;
use super::error::ChangeError;
use super::hand_over::RunOptions;
use super::member::{Member, Slot};
use super::new_interface::{InterfaceOpener, NewInterface};
use super::pending::Step;
use super::replacement::PreparedChange;
use super::requested::Change;
use super::settings::RunningSettings;

/// Interfaces that a capture can have had, one after another.
const MAX_INTERFACES: usize = 16_384;

/// Interval at which rings that were replaced are checked, until they are read.
pub const FREE: Duration = Duration::from_millis(10);

/// What changes a capture, with the privileges for it.
pub struct Controller {
    /// At least one.
    members: Vec<Member>,
    now: RunOptions,
    /// Options with which the capture began.
    capture: CaptureOptions,
    /// Mode of interfaces that are added.
    mode: Mode,
    opener: Box<dyn InterfaceOpener>,
}

impl Controller {
    /// Changes a capture of at least one reader. `capture` has the buffer of whole interfaces.
    pub fn new(
        members: Vec<Member>,
        capture: CaptureOptions,
        opener: Box<dyn InterfaceOpener>,
    ) -> Self {
        Self {
            members,
            now: RunOptions::from(&capture),
            mode: capture.mode,
            capture,
            opener,
        }
    }

    /// Frees rings that were replaced and are read; returns whether all are.
    pub fn free_dropped(&mut self) -> bool {
        let slots = self.members.iter_mut().flat_map(|one| &mut one.interfaces);
        let hand_overs = slots.filter_map(|slot| slot.hand_over.as_mut()?.as_mut().ok());
        let mut is_free = true;
        for hand_over in hand_overs {
            is_free &= hand_over.free_dropped();
        }
        is_free
    }

    /// Carries out `change`, in the network namespace of the interfaces.
    pub fn carry_out(&mut self, change: &Change) -> Result<(), ChangeError> {
        let pending: Vec<_> = (self.members.iter())
            .map(|member| member.pending.clone())
            .collect();
        let held: Option<Vec<_>> = pending.iter().map(|one| one.begin_change()).collect();
        let _held = held.ok_or(ChangeError::Over)?;
        match change {
            Change::Add(link) => self.add(link),
            Change::Remove(link) => self.remove(link),
            Change::Mode(link, mode) => self.set_mode(link.as_deref(), *mode),
            change => self.prepare(change, self.now.changed(change))?.take_over(),
        }
    }

    /// The settings in force.
    pub fn settings(&self) -> RunningSettings {
        let mode = |(_, slot): (usize, &Slot)| (slot.link.name.clone(), slot.mode);
        let modes = self.open().map(mode).collect();
        self.now.settings(&self.capture, modes)
    }

    /// The mode of the only interface.
    pub fn mode(&self) -> Mode {
        self.open().next().map_or(self.mode, |(_, slot)| slot.mode)
    }

    /// Prepares the change of an option, after which `options` hold. Call it in the network namespace of the interfaces.
    pub fn prepare(
        &mut self,
        change: &Change,
        options: RunOptions,
    ) -> Result<PreparedChange<'_>, ChangeError> {
        // The first reader carries out what concerns the rings of all.
        let slots = self.members[0].interfaces.iter();
        for hand_over in slots.filter_map(|slot| slot.hand_over.as_ref()) {
            if let Err(backend) = *hand_over
                && change.replaces(backend)
            {
                return Err(ChangeError::Fixed { backend });
            }
        }
        PreparedChange::prepare(&mut self.members, change, options, &mut self.now)
    }
}

/// Interfaces that come and go.
impl Controller {
    fn is_settling(&self) -> bool {
        self.members.iter().any(|one| one.pending.is_settling())
    }

    /// Gives each reader its step.
    fn add_steps(&self, steps: impl IntoIterator<Item = Step>) {
        for (member, step) in self.members.iter().zip(steps) {
            (member.pending).add(self.now.delivery, self.now.spin, vec![step]);
        }
    }

    /// Interfaces that are captured, with their places, which are the same for all readers.
    fn open(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let slots = self.members[0].interfaces.iter().enumerate();
        slots.filter(|(_, slot)| slot.hand_over.is_some())
    }

    /// Notes the parts of an interface for the changes that follow.
    fn append(&mut self, parts: &mut [NewInterface], mode: Mode) {
        for (member, part) in self.members.iter_mut().zip(parts) {
            member.interfaces.push(Slot::of(part, mode));
        }
    }

    fn add(&mut self, link: &str) -> Result<(), ChangeError> {
        let options = self.now.of_new_interface(&self.capture, self.mode);
        if self.open().any(|(_, slot)| slot.link.name == link) {
            let link = link.to_owned();
            return Err(CaptureError::AlreadyCaptured { link }.into());
        }
        let slots = &self.members[0].interfaces;
        if slots.len() >= MAX_INTERFACES {
            return Err(ChangeError::TooManyInterfaces);
        }
        let last = slots.iter().map(|slot| slot.number).max();
        let number = last.map_or(0, |last| last + 1);
        let mut parts = self.opener.open(link, number, &options)?;
        self.append(&mut parts, options.mode);
        self.opener.added(&parts);
        self.add_steps(parts.into_iter().map(|part| Step::Add(Box::new(part))));
        Ok(())
    }

    fn remove(&mut self, link: &str) -> Result<(), ChangeError> {
        let found = self.open().find(|(_, slot)| slot.link.name == link);
        let place = found.map(|(place, _)| place);
        let link = link.to_owned();
        let Some(place) = place else {
            return Err(ChangeError::NotCaptured { link });
        };
        if self.open().count() == 1 {
            return Err(ChangeError::LastInterface { link });
        }
        if self.is_settling() {
            return Err(RingOpenError::Busy { link }.into());
        }
        self.release(place);
        self.add_steps(std::iter::repeat_with(|| Step::Remove(place)));
        Ok(())
    }

    /// Lets go of what replaces the rings of the interface at `place`, which leave.
    fn release(&mut self, place: usize) {
        for member in &mut self.members {
            if let Some(Ok(mut hand_over)) = member.interfaces[place].hand_over.take() {
                hand_over.put_to_rest();
            }
        }
    }

    /// The options of interfaces that are opened from now on.
    pub fn set_options(&mut self, now: RunOptions) {
        self.now = now;
    }

    /// Opens the interfaces once more, one after another, and leaves it to the readers to close the rings before.
    pub fn set_mode(&mut self, link: Option<&str>, mode: Mode) -> Result<(), ChangeError> {
        let options = self.now.of_new_interface(&self.capture, mode);
        let is_meant = |slot: &Slot| link.is_none_or(|link| slot.link.name == link);
        let meant = self.open().filter(|(_, slot)| is_meant(slot));
        let meant: Vec<usize> = meant.map(|(place, _)| place).collect();
        if let (Some(link), true) = (link, meant.is_empty()) {
            let link = link.to_owned();
            return Err(ChangeError::NotCaptured { link });
        }
        let is_busy = self.is_settling();
        for place in meant {
            let slot = &self.members[0].interfaces[place];
            if slot.mode == mode {
                continue;
            }
            let link = slot.link.name.clone();
            if is_busy {
                return Err(RingOpenError::Busy { link }.into());
            }
            let link_type = slot.link.link_type;
            let mut own = options.clone();
            own.required.link_type = Some(link_type);
            let mut parts = self.opener.open(&link, slot.number, &own)?;
            if (parts.iter()).any(|part| part.interface.link.link_type != link_type) {
                return Err(ChangeError::OtherLinkType { link, mode });
            }
            if own.others == UnmatchedAction::Pass {
                let members = self.members.iter();
                let before: Vec<_> = members
                    .map(|member| member.interfaces[place].filter.clone())
                    .collect();
                let next: Vec<_> = parts.iter().map(|part| part.interface.filter()).collect();
                hand_over_counting(&before, &next, mode == Mode::Drop);
            }
            self.release(place);
            self.append(&mut parts, mode);
            self.opener.exchanged(&parts);
            let parts = parts.into_iter();
            self.add_steps(parts.map(|part| Step::Exchange(place, Box::new(part))));
        }
        if link.is_none() {
            self.mode = mode;
        }
        Ok(())
    }
}
