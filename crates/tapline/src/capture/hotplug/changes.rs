//! Changes of a running hotplug capture: each reaches all of its interfaces, and those that come up later.

use std::collections::BTreeMap;
use std::sync::Arc;

use netlink::{IfIndex, Namespace, NamespaceError, Netlink};

use super::super::control::controller::Controller;
use super::super::control::error::ChangeError;
use super::super::control::hand_over::RunOptions;
use super::super::control::handle::MemberChanges;
use super::super::control::new_interface::{InterfaceOpener, NewInterface};
use super::super::control::pending::PendingChanges;
use super::super::control::requested::Change;
use super::super::control::settings::RunningSettings;
use super::super::control::shared::SharedController;
use super::super::engine::Engine;
use super::super::error::CaptureError;
use super::super::plan::mode::Mode;
use super::super::plan::options::CaptureOptions;

/// Changes the members of a hotplug capture, and keeps the options for members that join later.
pub struct HotplugChanges {
    /// Options with which the capture began.
    began: CaptureOptions,
    now: RunOptions,
    /// Mode of interfaces that come up.
    mode: Mode,
    /// The members by their numbers.
    members: BTreeMap<u32, ChangedMember>,
    /// What its reader follows.
    reader: Arc<PendingChanges>,
    /// The changes that the members follow.
    pending: MemberChanges,
}

/// A member whose capture is changed.
pub struct ChangedMember {
    controller: SharedController,
    pending: Arc<PendingChanges>,
    interface: MemberInterface,
}

/// The interface of a member, and its namespace.
#[derive(Clone)]
struct MemberInterface {
    /// Its name among those of all namespaces.
    name: String,
    index: IfIndex,
    namespace: Option<Namespace>,
    namespace_name: Option<String>,
}

/// Opens the interface of a member once more, with another back end.
struct SameInterface {
    /// Its name in its namespace.
    link: String,
    /// Its name among those of all namespaces.
    name: String,
}

impl InterfaceOpener for SameInterface {
    fn open(
        &self,
        _link: &str,
        number: u32,
        options: &CaptureOptions,
    ) -> Result<Vec<NewInterface>, CaptureError> {
        let mut new = NewInterface::open(&self.link, number, options)?;
        new.interface.link.name.clone_from(&self.name);
        Ok(vec![new])
    }
}

impl MemberInterface {
    /// Runs `work` in the namespace of the interface.
    fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        match &self.namespace {
            Some(namespace) => namespace.run(work),
            None => Ok(work()),
        }
    }

    /// Whether the interface went down or away: then its end follows.
    fn is_gone(&self) -> bool {
        let link = self.run(|| Netlink::open()?.link(self.index));
        !matches!(link, Ok(Ok(link)) if link.up == Some(true))
    }

    /// Says in which namespace a change was refused.
    fn located(&self, error: ChangeError) -> ChangeError {
        match &self.namespace_name {
            Some(namespace) => ChangeError::Namespace {
                namespace: namespace.clone(),
                error: Box::new(error),
            },
            None => error,
        }
    }
}

impl ChangedMember {
    /// The member whose capture is `engine`, of one interface that is named `name` among those of all namespaces. It has not been
    /// renamed yet.
    pub fn new(engine: &mut Engine, name: &str, namespace_name: Option<&str>) -> Option<Self> {
        let link = engine.interfaces().next()?.link.clone();
        let opener = SameInterface {
            link: link.name,
            name: name.to_owned(),
        };
        Some(Self {
            controller: engine.share_control(Box::new(opener)),
            pending: engine.pending(),
            interface: MemberInterface {
                name: name.to_owned(),
                index: IfIndex(link.index),
                namespace: engine.options.namespace.clone(),
                namespace_name: namespace_name.map(str::to_owned),
            },
        })
    }
}

impl HotplugChanges {
    /// No member yet; `began` are the options of all, `reader` has what the reader follows.
    pub fn new(began: CaptureOptions, reader: Arc<PendingChanges>, pending: MemberChanges) -> Self {
        Self {
            now: RunOptions::from(&began),
            mode: began.mode,
            began,
            members: BTreeMap::new(),
            reader,
            pending,
        }
    }

    /// The options of an interface that joins now.
    pub fn of_new_member(&self) -> CaptureOptions {
        self.now.of_new_interface(&self.began, self.mode)
    }

    /// Changes `member`, the one with `number`, from now on.
    pub fn insert(&mut self, number: u32, member: ChangedMember) {
        self.pending.add(member.pending.clone());
        self.members.insert(number, member);
    }

    /// The member with `number` ends.
    pub fn remove(&mut self, number: u32) {
        self.members.remove(&number);
    }

    /// As [`remove`](Self::remove), on request: until it has ended, the change is not complete.
    pub fn await_end(&mut self, number: u32) {
        if let Some(member) = self.members.remove(&number) {
            member.pending.await_end();
        }
    }

    /// The number of the member that is named `name`.
    pub fn named(&self, name: &str) -> Option<u32> {
        let mut members = self.members.iter();
        let found = members.find(|(_, member)| member.interface.name == name);
        found.map(|(&number, _)| number)
    }

    /// Whether rings of the member are being replaced.
    pub fn is_settling(&self, number: u32) -> bool {
        let member = self.members.get(&number);
        member.is_some_and(|member| member.pending.is_settling())
    }

    /// Frees rings that were replaced and are read; returns whether all are.
    pub fn free_dropped(&self) -> bool {
        let mut is_free = true;
        for member in self.members.values() {
            if let Some(mut controller) = member.controller.borrow() {
                is_free &= controller.free_dropped();
                member.controller.give_back(controller);
            }
        }
        is_free
    }

    /// The settings in force.
    pub fn settings(&self) -> RunningSettings {
        let mut modes = Vec::with_capacity(self.members.len());
        for member in self.members.values() {
            if let Some(controller) = member.controller.borrow() {
                let mode = controller.mode();
                member.controller.give_back(controller);
                modes.push((member.interface.name.clone(), mode));
            }
        }
        self.now.settings(&self.began, modes)
    }

    /// Changes the mode of one interface, or of all and of those that come up.
    pub fn set_mode(&mut self, name: Option<&str>, mode: Mode) -> Result<(), ChangeError> {
        if let Some(name) = name
            && self.named(name).is_none()
        {
            let link = name.to_owned();
            return Err(ChangeError::NotCaptured { link });
        }
        let is_meant =
            |member: &&ChangedMember| name.is_none_or(|name| member.interface.name == name);
        for member in self.members.values().filter(is_meant) {
            let Some(mut controller) = member.controller.borrow() else {
                continue;
            };
            let changed = match member.pending.begin_change() {
                Some(_held) => {
                    controller.set_options(self.now.clone());
                    member.interface.run(|| controller.set_mode(None, mode))
                }
                // It closes its rings.
                None => Ok(Ok(())),
            };
            member.controller.give_back(controller);
            let changed = changed.unwrap_or_else(|error| Err(CaptureError::from(error).into()));
            if let Err(error) = changed
                && !member.interface.is_gone()
            {
                return Err(member.interface.located(error));
            }
        }
        if name.is_none() {
            self.mode = mode;
        }
        Ok(())
    }

    /// Changes an option of all members: of none if one of them refuses it.
    pub fn set(&mut self, change: &Change) -> Result<(), ChangeError> {
        let members = self.members.values();
        let mut borrowed: Vec<_> = members
            .filter_map(|member| Some((member, member.controller.borrow()?)))
            .collect();
        let options = self.now.changed(change);
        let changed = set_all(&mut borrowed, change, &options);
        for (member, controller) in borrowed {
            member.controller.give_back(controller);
        }
        match changed {
            Ok(()) => {
                self.now = options;
                // A pause between two rounds of the reader depends on the delivery.
                (self.reader).add(self.now.delivery, self.now.spin, Vec::new());
                Ok(())
            }
            Err(error) => {
                if change.is_of_filter() {
                    // A member may have the new filter: with a number of its own, the filter before is another one again.
                    self.now.filter_version = options.filter_version + 1;
                }
                Err(error)
            }
        }
    }
}

/// Prepares `change` for all `members`, and then lets it take effect.
fn set_all(
    members: &mut [(&ChangedMember, Box<Controller>)],
    change: &Change,
    options: &RunOptions,
) -> Result<(), ChangeError> {
    let mut prepared = Vec::with_capacity(members.len());
    for (member, controller) in members {
        let interface = &member.interface;
        let ready = interface.run(|| controller.prepare(change, options.clone()));
        match ready.unwrap_or_else(|error| Err(CaptureError::from(error).into())) {
            Ok(ready) => prepared.push((*member, ready)),
            Err(_) if interface.is_gone() => {}
            Err(error) => return Err(interface.located(error)),
        }
    }
    for (member, ready) in prepared {
        // One that closes its rings has no use for others.
        let Some(_held) = member.pending.begin_change() else {
            continue;
        };
        match ready.take_over() {
            Err(error) if !member.interface.is_gone() => {
                return Err(member.interface.located(error));
            }
            _ => {}
        }
    }
    Ok(())
}
