//! Opens captures on interfaces that come up. The only part of a group that needs privileges while it runs.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use filter::FilterWarning;
use ring::InterfaceInfo;
use store::model::Interface as Description;

use super::super::account::counters::LiveCounters;
use super::super::error::{CaptureError, CaptureErrorKind};
use super::super::job::Capture;
use super::super::plan::options::CaptureOptions;
use super::cooked::{self, Cooker};
use super::discovery::{Change, Discovery, InterfacePlace, Namespaces, Serial};
use super::member::Member;

/// Interfaces that a group captures from over its whole run.
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
    Over,
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

/// Follows interfaces, and captures from those that come up.
pub struct Opener {
    /// The options of each member, without interface and limits.
    options: CaptureOptions,
    /// Names of the interfaces to capture from; empty: all.
    names: Vec<String>,
    discovery: Discovery,
    /// The members of interfaces that are up.
    captured: BTreeMap<InterfacePlace, u32>,
    /// Interfaces that could not be captured from: each is reported once, until it goes down.
    refused: Vec<InterfacePlace>,
    /// The number of the next member.
    next: u32,
    over: OverMembers,
}

/// Members that ended by themselves, told by the reader: their interfaces can join again.
#[derive(Clone, Debug, Default)]
pub struct OverMembers(Arc<Mutex<Vec<u32>>>);

impl OverMembers {
    fn numbers(&self) -> MutexGuard<'_, Vec<u32>> {
        // A thread that panicked here left a valid list.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a member.
    pub fn add(&self, number: u32) {
        self.numbers().push(number);
    }

    fn take(&self) -> Vec<u32> {
        std::mem::take(&mut *self.numbers())
    }
}

impl Opener {
    /// Begins to follow `namespaces`. The interfaces that exist are events of the first call of [`events`](Self::events).
    pub fn new(
        options: CaptureOptions,
        names: Vec<String>,
        namespaces: Namespaces,
    ) -> Result<Self, CaptureError> {
        Ok(Self {
            options,
            names,
            discovery: Discovery::open(namespaces)?,
            captured: BTreeMap::new(),
            refused: Vec::new(),
            next: 0,
            over: OverMembers::default(),
        })
    }

    /// Where the reader adds members that ended by themselves.
    pub fn over_members(&self) -> OverMembers {
        self.over.clone()
    }

    /// That each interface that was named is among `described`, in each namespace that was named.
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
        let over = self.over.take();
        self.captured.retain(|_, number| !over.contains(number));
        for change in self.discovery.changes() {
            match change {
                Change::Up {
                    place,
                    link,
                    namespace,
                    namespace_name,
                } => {
                    let is_wanted = self.names.is_empty() || self.names.contains(&link);
                    if !is_wanted || self.is_known(place) {
                        continue;
                    }
                    let mut options = self.options.clone().interface(&*link);
                    options.namespace = namespace;
                    let name = qualified(namespace_name.as_ref(), &link);
                    match self.open(options, &name, namespace_name.as_deref()) {
                        Ok(joined) => {
                            self.captured.insert(place, self.next);
                            self.next += 1;
                            give(Event::Joined(Box::new(joined)))?;
                        }
                        Err(error) if is_gone(&error) => {}
                        Err(error) => {
                            self.refused.push(place);
                            give(Event::Refused(name, error))?;
                        }
                    }
                }
                Change::Down(place) => {
                    self.refused.retain(|&refused| refused != place);
                    if let Some(number) = self.captured.remove(&place) {
                        give(Event::Left(number))?;
                    }
                }
                Change::NamespaceGone(serial) => {
                    for number in self.leave(serial) {
                        give(Event::Left(number))?;
                    }
                }
                Change::Refused { name, error } => give(Event::Refused(name, error))?,
            }
        }
        Ok(())
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

    fn open(
        &self,
        options: CaptureOptions,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Joined, CaptureError> {
        if self.next as usize >= MAX_INTERFACES {
            let source = io::Error::other("the capture has had too many interfaces");
            return Err(CaptureError::Wait { source });
        }
        let mut capture = Capture::open(options)?;
        if let Some(namespace) = namespace {
            let description = format!("network namespace {namespace}");
            capture.engine.rename(name, &description);
        }
        let mut described = capture.interfaces().to_vec();
        let cooked = self.cook(&mut described, &capture)?;
        Ok(Joined {
            described,
            warnings: capture.filter_warnings().to_vec(),
            live: capture.live(),
            member: Member { capture, cooked },
        })
    }

    /// Describes an interface with the common link type, and returns what its packets take to get it; `None` if they
    /// keep theirs.
    fn cook(
        &self,
        described: &mut [Description],
        capture: &Capture,
    ) -> Result<Option<(Cooker, InterfaceInfo)>, CaptureError> {
        let opened = capture.links().next().filter(|_| self.options.cooked);
        let Some(link) = opened.map(|opened| opened.link.clone()) else {
            return Ok(None);
        };
        if !cooked::supports(link.link_type) {
            return Err(CaptureError::Cooked { link: link.name });
        }
        described.iter_mut().for_each(cooked::describe);
        Ok(Some((Cooker::default(), link)))
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
