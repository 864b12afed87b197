//! Opens captures on interfaces that come up. The only part of a hotplug capture that needs privileges while it runs.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use filter::FilterWarning;
use netlink::Namespace;
use ring::{InterfaceInfo, RingOpenError};
use store::model::Interface as Description;

use super::super::account::counters::LiveCounters;
use super::super::control::error::ChangeError;
use super::super::control::handle::MemberChanges;
use super::super::control::messages::{Message, Wake};
use super::super::control::pending::PendingChanges;
use super::super::control::requested::Change as RequestedChange;
use super::super::error::{CaptureError, CaptureErrorKind};
use super::super::job::Capture;
use super::super::plan::options::CaptureOptions;
use super::changes::{ChangedMember, HotplugChanges};
use super::cooked::{self, CookedWriter};
use super::discovery::{Change, Discovery, InterfacePlace, Namespaces, Serial};
use super::member::Member;

/// Interfaces that a hotplug capture reads over its whole run.
const MAX_INTERFACES: usize = 16_384;

/// What has changed for the reader.
pub enum Event {
    /// An interface is captured. Members are numbered in the order of these events.
    Joined(Box<Joined>),
    /// The interface of this member went down or away.
    Left(u32),
    /// An interface cannot be captured, or a namespace cannot be watched.
    Refused(String, CaptureError),
    /// No namespace is left, and none can follow.
    NoNamespacesLeft,
    /// Changes cannot be waited for any more.
    Broken(io::Error),
}

/// An interface that is captured from now on.
pub struct Joined {
    pub member: Member,
    pub described: Vec<Description>,
    pub warnings: Vec<FilterWarning>,
    pub live: LiveCounters,
}

/// Follows interfaces, captures from those that come up, and changes those that are captured.
pub struct Opener {
    changes: HotplugChanges,
    /// Whether members get a common link type.
    is_cooked: bool,
    /// Names of the interfaces to capture from; empty: all.
    names: Vec<String>,
    /// Interfaces that were removed, by their names among those of all namespaces.
    removed: Vec<String>,
    discovery: Discovery,
    /// Interfaces that are up.
    up: BTreeMap<InterfacePlace, UpInterface>,
    /// The members of interfaces that are up.
    captured: BTreeMap<InterfacePlace, u32>,
    /// Interfaces that could not be captured from: each is reported once, until it goes down.
    refused: Vec<InterfacePlace>,
    /// Members that must end but have not confirmed it yet, by number.
    leaving: BTreeMap<u32, InterfacePlace>,
    /// Interfaces to open again as soon as none of their members is leaving.
    again: Vec<InterfacePlace>,
    /// The number of the next member.
    next: u32,
    ended: EndedMembers,
}

/// An interface that is up.
#[derive(Clone)]
struct UpInterface {
    /// Its name in its namespace.
    link: String,
    /// Its name among those of all namespaces.
    name: String,
    namespace: Option<Namespace>,
    namespace_name: Option<String>,
}

/// Members whose rings and programs are gone, reported by the reader so that their interfaces can join again.
#[derive(Clone, Debug)]
pub struct EndedMembers {
    numbers: Arc<Mutex<Vec<u32>>>,
    /// Wakes the thread that follows interfaces.
    wake: Wake,
}

impl EndedMembers {
    /// An empty list. Each member that is added sets `wake`.
    pub fn new(wake: Wake) -> Self {
        Self {
            numbers: Arc::default(),
            wake,
        }
    }

    fn numbers(&self) -> MutexGuard<'_, Vec<u32>> {
        // A thread that panicked here left a valid list.
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a member.
    pub fn add(&self, number: u32) {
        self.numbers().push(number);
        self.wake.set();
    }

    fn take(&self) -> Vec<u32> {
        std::mem::take(&mut *self.numbers())
    }
}

impl Opener {
    /// Begins to follow `namespaces`. `options` are those of each member, without interface and limits; `reader` and `members` are
    /// what the reader follows when they change, and `ended` is what it reports. The interfaces that exist are events of the first call of
    /// [`events`](Self::events).
    pub fn new(
        mut options: CaptureOptions,
        names: Vec<String>,
        namespaces: Namespaces,
        (reader, members): (Arc<PendingChanges>, MemberChanges),
        ended: EndedMembers,
    ) -> Result<Self, CaptureError> {
        options.gather_in_kernel = None;
        Ok(Self {
            is_cooked: options.cooked,
            changes: HotplugChanges::new(options, reader, members),
            names,
            removed: Vec::new(),
            discovery: Discovery::open(namespaces)?,
            up: BTreeMap::new(),
            captured: BTreeMap::new(),
            refused: Vec::new(),
            leaving: BTreeMap::new(),
            again: Vec::new(),
            next: 0,
            ended,
        })
    }

    /// Checks that each named interface is among `described`, in each named namespace.
    pub fn check_named(&self, described: &[Description]) -> Result<(), CaptureError> {
        let captured = |link: &String| {
            let mut names = described.iter();
            names.any(|described| described.name.as_ref() == Some(link))
        };
        let links = (self.discovery.named().iter())
            .flat_map(|namespace| (self.names.iter()).map(|link| qualified(Some(namespace), link)));
        for link in links {
            if !captured(&link) {
                return Err(CaptureError::NoSuchInterface { link });
            }
        }
        Ok(())
    }

    /// Whether no namespace is left and none can follow.
    pub fn is_over(&self) -> bool {
        self.discovery.is_over()
    }

    /// Readable by priority (`POLLPRI`) when namespaces may have been created or deleted.
    pub fn mounts(&self) -> Option<BorrowedFd<'_>> {
        self.discovery.mounts()
    }

    /// Readable when the interfaces of a namespace changed.
    pub fn links(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.discovery.links()
    }

    /// Passes on what has changed since the last call, until `give` refuses it. Opens interfaces, but does not wait for
    /// changes.
    ///
    /// # Errors
    /// Those of `give`.
    pub fn events<E>(&mut self, mut give: impl FnMut(Event) -> Result<(), E>) -> Result<(), E> {
        self.forget_ended();
        for change in self.discovery.changes() {
            match change {
                Change::Up {
                    place,
                    link,
                    namespace,
                    namespace_name,
                } => {
                    let interface = UpInterface {
                        name: qualified(namespace_name.as_ref(), &link),
                        link,
                        namespace,
                        namespace_name,
                    };
                    self.up.insert(place, interface.clone());
                    if self.is_wanted(&interface) && !self.is_known(place) {
                        self.join(place, &interface, &mut give)?;
                    }
                }
                Change::Down(place) => {
                    self.up.remove(&place);
                    self.refused.retain(|&refused| refused != place);
                    if let Some(number) = self.captured.remove(&place) {
                        self.leaving.insert(number, place);
                        self.changes.remove(number);
                        give(Event::Left(number))?;
                    }
                }
                Change::NamespaceGone(serial) => {
                    self.up.retain(|place, _| place.namespace != serial);
                    for number in self.leave(serial) {
                        self.changes.remove(number);
                        give(Event::Left(number))?;
                    }
                }
                Change::Refused { name, error } => give(Event::Refused(name, error))?,
            }
        }
        self.open_again(&mut give)
    }

    /// Forgets the members that have ended. If one ended by itself, its interface went down, and it may be up again by now
    /// without an event: the kernel reports the present state only, after it lost events.
    fn forget_ended(&mut self) {
        for number in self.ended.take() {
            self.leaving.remove(&number);
            self.changes.remove(number);
            let again = &mut self.again;
            self.captured.retain(|&place, captured| {
                let has_ended = *captured == number;
                if has_ended {
                    again.push(place);
                }
                !has_ended
            });
        }
    }

    /// Captures from the interfaces whose members have ended, if they are still up.
    fn open_again<E>(&mut self, give: &mut impl FnMut(Event) -> Result<(), E>) -> Result<(), E> {
        for place in std::mem::take(&mut self.again) {
            if self.is_leaving(place) {
                self.again.push(place);
                continue;
            }
            if let Some(interface) = self.up.get(&place).cloned()
                && self.is_wanted(&interface)
                && !self.is_known(place)
            {
                self.join(place, &interface, give)?;
            }
        }
        Ok(())
    }

    /// Whether a member of this interface still has its rings and programs.
    fn is_leaving(&self, place: InterfacePlace) -> bool {
        self.leaving.values().any(|&leaving| leaving == place)
    }

    /// Whether the interface is to be captured.
    fn is_wanted(&self, interface: &UpInterface) -> bool {
        (self.names.is_empty() || self.names.contains(&interface.link))
            && !self.removed.contains(&interface.name)
    }

    /// Captures from an interface, unless it has gone again.
    fn join<E>(
        &mut self,
        place: InterfacePlace,
        interface: &UpInterface,
        give: &mut impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.open(interface) {
            Ok((joined, changed)) => {
                self.captured.insert(place, self.next);
                if let Some(changed) = changed {
                    self.changes.insert(self.next, changed);
                }
                self.next += 1;
                give(Event::Joined(Box::new(joined)))
            }
            Err(error) if is_gone(&error) => Ok(()),
            // Its XDP program or its AF_XDP sockets may be the reason.
            Err(_) if self.is_leaving(place) => {
                self.again.push(place);
                Ok(())
            }
            Err(error) => {
                self.refused.push(place);
                give(Event::Refused(interface.name.clone(), error))
            }
        }
    }

    /// Whether `place` is captured or refused already.
    fn is_known(&self, place: InterfacePlace) -> bool {
        self.refused.contains(&place) || self.captured.contains_key(&place)
    }

    /// Forgets the interfaces of a namespace, and returns their members.
    fn leave(&mut self, namespace: Serial) -> Vec<u32> {
        self.refused
            .retain(|refused| refused.namespace != namespace);
        let mut left = Vec::new();
        self.captured.retain(|place, number| {
            let stays = place.namespace != namespace;
            if !stays {
                left.push(*number);
            }
            stays
        });
        left
    }

    /// Opens the capture of an interface, with what changes it.
    fn open(
        &self,
        interface: &UpInterface,
    ) -> Result<(Joined, Option<ChangedMember>), CaptureError> {
        if self.next as usize >= MAX_INTERFACES {
            let source = io::Error::other("the capture has had too many interfaces");
            return Err(CaptureError::Wait { source });
        }
        let UpInterface {
            link,
            name,
            namespace,
            namespace_name,
        } = interface;
        let mut options = self.changes.of_new_member().interface(link);
        options.namespace.clone_from(namespace);
        let mut capture = Capture::open(options)?;
        let changed = ChangedMember::new(&mut capture.engine, name, namespace_name.as_deref());
        if let Some(namespace) = namespace_name {
            let description = format!("network namespace {namespace}");
            capture.engine.rename(name, &description);
        }
        let mut described = capture.interfaces().to_vec();
        let cooked = self.cook(&mut described, &capture)?;
        let joined = Joined {
            described,
            warnings: capture.filter_warnings().to_vec(),
            live: capture.live(),
            member: Member { capture, cooked },
        };
        Ok((joined, changed))
    }

    /// Describes an interface with the common link type, and returns what converts its packets; `None` if all interfaces keep
    /// their own link types.
    fn cook(
        &self,
        described: &mut [Description],
        capture: &Capture,
    ) -> Result<Option<(CookedWriter, InterfaceInfo)>, CaptureError> {
        let opened = capture.links().next().filter(|_| self.is_cooked);
        let Some(link) = opened.map(|opened| opened.link.clone()) else {
            return Ok(None);
        };
        if !cooked::supports(link.link_type) {
            return Err(CaptureError::Cooked { link: link.name });
        }
        described.iter_mut().for_each(cooked::describe);
        Ok(Some((CookedWriter::default(), link)))
    }
}

/// Changes while it runs.
impl Opener {
    /// Carries out what `message` asks for.
    ///
    /// # Errors
    /// Those of `give`.
    pub fn answer<E>(
        &mut self,
        message: Message,
        give: &mut impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        let (change, answer) = match message {
            Message::Change(change, answer) => (change, answer),
            Message::Settings(answer) => {
                // The caller may have gone.
                let _ = answer.send(self.changes.settings());
                return Ok(());
            }
            Message::Over => return Ok(()),
        };
        self.forget_ended();
        let (changed, given) = match &change {
            RequestedChange::Add(link) => self.add(link, give),
            RequestedChange::Remove(link) => self.remove(link, give),
            RequestedChange::Mode(link, mode) => {
                (self.changes.set_mode(link.as_deref(), *mode), Ok(()))
            }
            change => (self.changes.set(change), Ok(())),
        };
        let _ = answer.send(changed);
        given
    }

    /// Frees rings that were replaced and are read; returns whether all are.
    pub fn free_dropped(&self) -> bool {
        self.changes.free_dropped()
    }

    /// Captures again from an interface that was removed, or from those of another name.
    fn add<E>(
        &mut self,
        link: &str,
        give: &mut impl FnMut(Event) -> Result<(), E>,
    ) -> (Result<(), ChangeError>, Result<(), E>) {
        let link = link.to_owned();
        if self.changes.named(&link).is_some() {
            return (Err(CaptureError::AlreadyCaptured { link }.into()), Ok(()));
        }
        let before = self.removed.len() + self.refused.len();
        self.removed.retain(|removed| *removed != link);
        // It is opened once more.
        let is_up = |place: &InterfacePlace| self.up.get(place).is_some_and(|up| up.name == link);
        self.refused.retain(|place| !is_up(place));
        if self.removed.len() + self.refused.len() == before {
            if self.names.is_empty() || self.names.contains(&link) {
                return (Err(ChangeError::Awaited { link }), Ok(()));
            }
            if link.contains('/') {
                return (Err(ChangeError::NotCaptured { link }), Ok(()));
            }
            if self.names.len() >= MAX_INTERFACES {
                return (Err(ChangeError::TooManyInterfaces), Ok(()));
            }
            self.names.push(link);
        }
        let mut refusal = Ok(());
        let mut events = Vec::new();
        let waiting: Vec<_> = (self.up.iter())
            .filter(|(place, interface)| self.is_wanted(interface) && !self.is_known(**place))
            .map(|(&place, interface)| (place, interface.clone()))
            .collect();
        for (place, interface) in waiting {
            let joined = self.join(place, &interface, &mut |event| {
                events.push(event);
                Ok::<(), std::convert::Infallible>(())
            });
            let Ok(()) = joined;
        }
        let mut given = Ok(());
        for event in events {
            match event {
                Event::Refused(_, error) if refusal.is_ok() => refusal = Err(error.into()),
                event if given.is_ok() => given = give(event),
                _ => {}
            }
        }
        (refusal, given)
    }

    /// Captures from an interface no more, also when it comes up again.
    fn remove<E>(
        &mut self,
        link: &str,
        give: &mut impl FnMut(Event) -> Result<(), E>,
    ) -> (Result<(), ChangeError>, Result<(), E>) {
        let link = link.to_owned();
        let Some(number) = self.changes.named(&link) else {
            return (Err(ChangeError::NotCaptured { link }), Ok(()));
        };
        if self.changes.is_settling(number) {
            return (Err(RingOpenError::Busy { link }.into()), Ok(()));
        }
        if self.removed.len() >= MAX_INTERFACES {
            return (Err(ChangeError::TooManyInterfaces), Ok(()));
        }
        self.removed.push(link);
        let leaving = &mut self.leaving;
        self.captured.retain(|&place, captured| {
            let stays = *captured != number;
            if !stays {
                leaving.insert(number, place);
            }
            stays
        });
        self.changes.await_end(number);
        (Ok(()), give(Event::Left(number)))
    }
}

/// The interface has gone down or away since its event.
fn is_gone(error: &CaptureError) -> bool {
    let kind = error.kind();
    matches!(
        kind,
        CaptureErrorKind::NoSuchInterface | CaptureErrorKind::InterfaceDown
    )
}

/// The name of interface `link` among those of all namespaces.
fn qualified(namespace: Option<&String>, link: &str) -> String {
    namespace.map_or_else(|| link.to_owned(), |name| format!("{name}/{link}"))
}
